"""Models of transformers with heed's attention: logits, weights, masks, caches, gradients."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import peer

torch = peer("torch")
transformers = peer("transformers")

from architectures import ALL, DECODERS, ENCODERS, NOT_SEEN, PAIRS  # noqa: E402
from watched import watch_pass  # noqa: E402

from heed.transformers import watch  # noqa: E402

transformers.logging.set_verbosity_error()

STACKS = {
    "attentions": None, "encoder_attentions": "encoder", "decoder_attentions": "decoder",
    "cross_attentions": "cross",
}  # fmt: skip


def result(output):
    """The last thing that a model computes."""
    for name in ("logits", "last_hidden_state", "logits_per_image"):
        if getattr(output, name, None) is not None:
            return getattr(output, name)
    raise AssertionError(output.keys())


def attentions_of(output):
    """What output_attentions gives, by the name of the stack."""
    if "vision_model_output" in output:
        towers = ("vision_model", "text_model")
        return {name: output[f"{name}_output"].attentions for name in towers}
    cross_is_own = "cross_attentions" in output and output.cross_attentions
    names = {**STACKS, "attentions": "decoder"} if cross_is_own else STACKS
    return {stack: output[name] for name, stack in names.items() if output.get(name)}


def ran(model, inputs, **settings):
    """Without and with heed: two outputs, and what was seen."""
    with torch.no_grad():
        wanted = model(**inputs, output_attentions=True, **settings)
        model.set_attn_implementation("heed")
        with watch(model) as seen:
            found = model(**inputs, **settings)
    return wanted, found, seen


def assert_close(found, wanted, bound, rows=None):
    difference = abs(np.asarray(found) - np.asarray(wanted))
    if rows is not None:
        difference = difference[rows]
    assert difference.max() < bound


# --- every architecture


@pytest.mark.parametrize("name", ALL)
def test_logits_and_weights_are_eagers(name):
    model = ALL[name].made()
    wanted, found, seen = ran(model, ALL[name].inputs())
    assert_close(result(found), result(wanted), 1e-4)
    layers = 0
    for stack, attentions in attentions_of(wanted).items():
        for layer, weights in enumerate(attentions):
            assert_close(seen.attention(layer, stack).weights, weights, 1e-5)
            layers += 1
    assert layers == sum(map(len, seen.stacks.values())) > 1
    assert seen.silent == ()


@pytest.mark.parametrize("name", ALL)
def test_loaded_with_heed_it_computes_the_same(name):
    eager, ours = (ALL[name].made(each) for each in ("eager", "heed"))
    inputs = ALL[name].inputs()
    with torch.no_grad():
        assert_close(result(ours(**inputs)), result(eager(**inputs)), 1e-4)


def test_a_model_of_a_folder(tmp_path):
    model = DECODERS["llama"].made()
    model.save_pretrained(tmp_path)
    loaded = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, attn_implementation="heed")
    assert loaded.config._attn_implementation == "heed"
    inputs = DECODERS["llama"].inputs()
    with torch.no_grad():
        assert_close(loaded(**inputs).logits, model(**inputs).logits, 1e-4)


@pytest.mark.parametrize("name", [*DECODERS, *ENCODERS, *PAIRS])
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding(name, side):
    inputs = ALL[name].inputs()
    if "input_ids" not in inputs:
        pytest.skip("its input is no text")
    mask = torch.ones_like(inputs["input_ids"])
    mask[1, slice(0, 4) if side == "left" else slice(-4, None)] = 0
    wanted, found, seen = ran(ALL[name].made(), inputs | {"attention_mask": mask})
    real = slice(None) if "decoder_input_ids" in inputs else mask.bool().numpy()
    assert_close(result(found), result(wanted), 1e-4, real)
    for stack, attentions in attentions_of(wanted).items():
        rows = mask.bool().numpy() if stack in (None, "encoder") else slice(None)
        for layer, weights in enumerate(attentions):
            found = np.asarray(seen.attention(layer, stack).weights).swapaxes(1, 2)
            assert_close(found, weights.transpose(1, 2), 1e-5, rows)


@pytest.mark.parametrize("name", DECODERS)
def test_packed_sequences_do_not_see_each_other(name):
    model = DECODERS[name].made()
    ids = DECODERS[name].inputs(batch=1)["input_ids"]
    positions = torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6]])
    inputs = {"input_ids": ids, "position_ids": positions}
    if name in ("opt", "biogpt", "gpt_oss"):
        pytest.skip("its masks do not look at position_ids")
    wanted, found, seen = ran(model, inputs, use_cache=False)
    assert_close(result(found), result(wanted), 1e-4)
    for layer, weights in enumerate(wanted.attentions):
        assert_close(seen.attention(layer).weights, weights, 1e-5)
    assert (seen.attention(0).weights[0, :, 4:, :4] == 0).all()


def generated(model, inputs):
    """The tokens of a generation with eager and what its attentions were, and what was seen."""
    settings = {"max_new_tokens": 6, "min_new_tokens": 6, "do_sample": False}
    with torch.no_grad():
        wanted = model.generate(
            **inputs, **settings, output_attentions=True, return_dict_in_generate=True
        )
        model.set_attn_implementation("heed")
        with watch(model) as seen:
            found = model.generate(**inputs, **settings)
    sequences = wanted.sequences
    assert torch.equal(found[:, -6:], sequences[:, -6:])
    return wanted, found, seen


def rows_of(steps, layer):
    """The weights of a generation's steps below each other, 0 where a key was not there yet."""
    width = steps[-1][layer].shape[3]
    pads = [torch.nn.functional.pad(s[layer], (0, width - s[layer].shape[3])) for s in steps]
    return torch.cat(pads, 2)


WINDOWED = ("mistral", "gemma2", "gemma3", "gpt_oss", "cohere2", "starcoder2", "llama4")


@pytest.mark.parametrize("name", DECODERS)
def test_a_generation_grows_one_sequence(name):
    inputs = DECODERS[name].inputs()
    inputs["attention_mask"] = mask = torch.ones_like(inputs["input_ids"])
    mask[1, :3] = 0
    wanted, found, seen = generated(DECODERS[name].made(), inputs)
    assert torch.equal(torch.tensor(seen.tokens()), found[:, :-1])  # the last one is never read
    real = torch.nn.functional.pad(mask, (0, 5), value=1).bool().numpy()
    for layer in range(2):
        weights = np.asarray(seen.attention(layer).weights)
        assert weights.shape == (2, 4, 16, 16)
        if name in WINDOWED and layer < 1 or name in ("mistral", "starcoder2"):
            continue  # caches that forget: test_watch.py
        weights_of_steps = rows_of(wanted.attentions, layer).transpose(1, 2)
        assert_close(weights.swapaxes(1, 2), weights_of_steps, 1e-5, real)


@pytest.mark.parametrize("name", PAIRS)
def test_a_translation_grows_decoder_and_cross_attention(name):
    inputs = PAIRS[name].inputs()
    inputs.pop("decoder_input_ids")
    wanted, _, seen = generated(PAIRS[name].made(), inputs)
    for layer in range(2):
        weights = rows_of(wanted.decoder_attentions, layer)
        assert_close(seen.attention(layer, "decoder").weights, weights, 1e-5)
        weights = rows_of(wanted.cross_attentions, layer)
        assert_close(seen.attention(layer, "cross").weights, weights, 1e-5)
        weights = wanted.encoder_attentions[layer]
        assert_close(seen.attention(layer, "encoder").weights, weights, 1e-5)
    assert seen.tokens("cross") == seen.tokens("decoder")


TRAINED = (
    "gpt2", "llama", "gemma2", "gpt_oss", "bert", "albert", "t5", "marian", "vit", "wav2vec2",
)  # fmt: skip


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("name", TRAINED)
def test_gradients_are_eagers(name, watched):
    gradients = []
    for implementation in ("eager", "heed"):
        model = ALL[name].made(implementation)
        model.train()
        for module in model.modules():  # its pattern is heed's own
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
            for rate in ("dropout", "attention_dropout"):
                if isinstance(getattr(module, rate, None), float):
                    setattr(module, rate, 0.0)
        inputs = ALL[name].inputs()
        if watched and implementation == "heed":
            with watch(model):
                output = model(**inputs)
        else:
            output = model(**inputs)
        result(output).square().mean().backward()
        gradients.append({n: p.grad for n, p in model.named_parameters() if p.grad is not None})
    wanted, found = gradients
    assert wanted.keys() == found.keys()
    for parameter, gradient in wanted.items():
        assert_close(found[parameter], gradient, 1e-4 * max(1, gradient.abs().max()))


def test_dropout_is_drawn_from_pytorchs_seed():
    model = DECODERS["llama"].made("heed")
    model.config.attention_dropout = 0.5
    for layer in model.model.layers:
        layer.self_attn.attention_dropout = 0.5
    model.train()
    inputs = DECODERS["llama"].inputs()

    def logits():
        torch.manual_seed(1)
        return model(**inputs).logits

    first = logits()
    assert torch.equal(first, logits())
    assert not torch.equal(first, model(**inputs).logits)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_other_types(dtype):
    model = DECODERS["gemma2"].made().to(dtype)
    wanted, found, seen = ran(model, DECODERS["gemma2"].inputs())
    assert found.logits.dtype == dtype
    bound = 2e-6 if dtype == torch.float64 else 0.05  # eager's softmax is of float32
    assert_close(found.logits.float(), wanted.logits.float(), bound)
    weights = wanted.attentions[1].float()
    assert_close(seen.attention(1).weights, weights, bound)


# --- what does not go through the interface


@pytest.mark.parametrize("name", NOT_SEEN)
def test_a_model_with_an_attention_of_its_own_is_named(name):
    model = NOT_SEEN[name].made()
    with pytest.raises(NotImplementedError, match=f"model is a {NOT_SEEN[name].model}") as caught:
        with watch(model):
            model(**NOT_SEEN[name].inputs())
    assert "these layers do not: " in str(caught.value)
    assert model.config._attn_implementation == "eager"


@pytest.mark.parametrize("name", [name for name in NOT_SEEN if name not in ("falcon", "gptj")])
def test_an_attention_of_its_own_computes_what_it_did(name):
    eager, ours = (NOT_SEEN[name].made(each) for each in ("eager", "heed"))
    inputs = NOT_SEEN[name].inputs()
    inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    inputs["attention_mask"][1, :4] = 0
    with torch.no_grad():
        assert torch.equal(ours(**inputs).logits, eager(**inputs).logits)


def test_a_layer_of_its_own_is_named():
    """The pooling head of SigLIP is PyTorch's."""
    config = ALL["siglip_vision"].config | {"vision_use_head": True}
    model = transformers.SiglipVisionModel(transformers.SiglipVisionConfig(**config)).eval()
    with pytest.warns(
        UserWarning, match="1 attention layers of SiglipVisionModel .* head.attention"
    ):
        seen = watch_pass(model, **ALL["siglip_vision"].inputs())
    assert [name.endswith("head.attention") for name in seen.silent] == [True]
    assert list(seen.stacks) == ["encoder"]
