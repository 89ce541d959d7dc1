"""`heed.transformers.watch` over attention functions of several kinds, and models inside of others."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from conftest import peer

torch = peer("torch")
transformers = peer("transformers")

from architectures import DECODERS, PAIRS  # noqa: E402
from watched import close, watch_pass, weights_of  # noqa: E402

from heed.transformers import edit, watch  # noqa: E402

masking = transformers.masking_utils
sdpa = transformers.AttentionInterface()["sdpa"]


def registered(function, name, mask=masking.eager_mask):
    transformers.AttentionInterface.register(name, function)
    if mask is not None:
        transformers.AttentionMaskInterface.register(name, mask)
    return name


def half_of_a_head(module, q, k, v, mask, scaling=None, **_):
    """Eager, with the weights of head 1 halved."""
    k, v = (each.repeat_interleave(q.shape[1] // each.shape[1], 1) for each in (k, v))
    p = (q @ k.mT * scaling + mask).softmax(-1)
    p = p * torch.tensor([1, 0.5, 1, 1])[:, None, None]
    return (p @ v).transpose(1, 2), p


def test_weights_that_a_function_returns_are_shown(llama, ids):
    llama.set_attn_implementation(registered(half_of_a_head, "half"))
    with watch(llama) as seen, torch.no_grad():
        llama(ids)
        wanted = llama(ids, output_attentions=True).attentions[1].numpy()
    found = np.asarray(seen.attention(1).weights)
    assert close(found, wanted)
    np.testing.assert_allclose(found[:, 1].sum(-1), 0.5, atol=1e-5)
    np.testing.assert_allclose(found[:, 2].sum(-1), 1, atol=1e-5)


def test_weights_that_a_function_does_not_return_are_not_made_up(llama, ids):
    llama.set_attn_implementation(
        registered(lambda *given, **more: (half_of_a_head(*given, **more)[0], None), "silent half")
    )
    seen = watch_pass(llama, ids)
    with pytest.raises(NotImplementedError) as caught:
        seen.attention(1)
    assert 'the attention function "silent half" is 0.' in str(caught.value)


@pytest.mark.parametrize("hides", [True, False])
def test_a_function_without_a_mask_is_seen_as_it_computes(llama, ids, hides):
    """transformers gives no mask to a function that has no mask function of its own."""

    def own(module, q, k, v, mask, scaling=None, **_):
        k, v = (each.repeat_interleave(q.shape[1] // each.shape[1], 1) for each in (k, v))
        out = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=hides, scale=scaling
        )
        return out.transpose(1, 2), None

    llama.set_attn_implementation(registered(own, f"own {hides}", mask=None))
    seen = watch_pass(llama, ids)
    assert (seen.attention(0).weights[0, 0, 2, 5] == 0) == hides


def flash(module, q, k, v, mask, scaling=None, sliding_window=None, is_causal=None, **_):
    """A kernel that takes the padding of each key and a window, as flash attention does."""
    places = torch.arange(k.shape[2])
    at = places[-q.shape[2] :, None]
    visible = (places <= at) & (places > at - (sliding_window or 10**6))
    visible = visible if mask is None else visible & mask[:, None, None].bool()
    bias = torch.zeros(visible.shape).masked_fill(~visible, -torch.inf).expand(len(q), 1, -1, -1)
    k, v = (each.repeat_interleave(q.shape[1] // each.shape[1], 1) for each in (k, v))
    op = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    out, _ = op(q, k, v, 0.0, False, attn_mask=bias, scale=scaling)
    return out.transpose(1, 2), None


@pytest.mark.parametrize("name", ["llama", "mistral"])
@pytest.mark.parametrize("padded", [False, True])
def test_masks_as_flash_attention_has_them(name, padded):
    inputs = DECODERS[name].inputs()
    inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    if padded:
        inputs["attention_mask"][1, :3] = 0
    eager, model = DECODERS[name].made(), DECODERS[name].made()
    masks = masking.flash_attention_mask
    name = registered(flash, "my flash attention", masks)
    model.config._attn_implementation_internal = name  # else it is looked for among the kernels
    seen = watch_pass(model, **inputs)
    found, wanted = np.asarray(seen.attention(1).weights), weights_of(eager, 1, **inputs)
    real = inputs["attention_mask"].bool().numpy()
    assert abs(found.swapaxes(1, 2) - wanted.swapaxes(1, 2))[real].max() < 1e-5
    assert len(seen.heads()) == 8


@pytest.mark.slow
def test_flex_attention(ids):
    model = DECODERS["llama"].made("flex_attention")
    seen = watch_pass(model, ids)
    wanted = weights_of(DECODERS["llama"].made(), 1, input_ids=ids)
    assert close(seen.attention(1).weights, wanted)


@pytest.mark.parametrize("name", ["llama", "mistral"])
def test_a_generation_of_sdpa_is_one_text(name):
    model = DECODERS[name].made("sdpa")
    ids = DECODERS[name].inputs(batch=1)["input_ids"]
    with watch(model) as seen, torch.no_grad():
        found = model.generate(ids, max_new_tokens=6, min_new_tokens=6, do_sample=False)
    wanted = weights_of(DECODERS[name].made(), 1, input_ids=found[:, :-1])
    assert close(seen.attention(1).weights, wanted)


def test_a_translation_of_sdpa_grows_its_stacks():
    inputs = PAIRS["marian"].inputs()
    inputs.pop("decoder_input_ids")
    model = PAIRS["marian"].made("sdpa")
    with watch(model) as seen, torch.no_grad():
        found = model.generate(**inputs, max_new_tokens=5, min_new_tokens=5, do_sample=False)
    with torch.no_grad():
        wanted = PAIRS["marian"].made()(
            **inputs, decoder_input_ids=found[:, :-1], output_attentions=True
        )
    for stack in ("encoder", "decoder", "cross"):
        weights = wanted[f"{stack}_attentions"][1].numpy()
        assert close(seen.attention(1, stack).weights, weights)


def test_a_scale_for_each_head(ids):
    def scaled(module, q, k, v, mask, scaling=None, **others):
        scales = torch.tensor([0.1, 0.2, 0.3, 0.4])
        name = "heed" if module.config._attn_implementation == "scaled" else "sdpa"
        return transformers.AttentionInterface()[name](
            module, q, k, v, mask, scaling=scales, **others
        )

    model = DECODERS["llama"].made()
    model.set_attn_implementation(registered(scaled, "scaled", masking.sdpa_mask))
    with torch.no_grad():
        found = model(ids).logits

    def by_hand(module, q, k, v, mask, scaling=None, **others):
        scales = torch.tensor([0.1, 0.2, 0.3, 0.4])[:, None, None]
        return sdpa(module, q * scales, k, v, mask, scaling=1.0, **others)

    model.set_attn_implementation(registered(by_hand, "by hand", masking.sdpa_mask))
    with torch.no_grad():
        assert (model(ids).logits - found).abs().max() < 1e-4


# --- what is kept


def test_some_layers_are_kept(llama, ids):
    with watch(llama, layers=[1]) as seen, torch.no_grad():
        llama(ids)
    assert seen.stacks == {"decoder": [1]}
    assert close(seen.attention(1).weights, weights_of(llama, 1, input_ids=ids))
    with pytest.raises(IndexError, match="watch: layers is 7, expected one of 0, 1"):
        with watch(llama, layers=[1, 7]), torch.no_grad():
            llama(ids)


def test_a_place_to_keep_is_a_device(llama, ids):
    with watch(llama, keep="cpu") as seen, torch.no_grad():
        llama(ids)
    assert close(seen.attention(1).weights, weights_of(llama, 1, input_ids=ids))
    with pytest.raises(ValueError, match="watch: keep is 'here', expected a device"):
        with watch(llama, keep="here"):
            pass


# --- models inside of others


def test_wrappers_are_taken_off(llama, ids):
    class Peft(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.base_model = torch.nn.Module()
            self.base_model.model = model

        def forward(self, *given):
            return self.base_model.model(*given)

    for wrapped in (torch.nn.DataParallel(llama), Peft(llama)):
        seen = watch_pass(wrapped, ids)
        assert close(seen.attention(1).weights, weights_of(llama, 1, input_ids=ids))


def compiled(model, how):
    if how == "whole":
        return torch.compile(model, backend="eager")
    if how == "forward":
        model.forward = torch.compile(model.forward, backend="eager")
    else:
        (model if how == "in place" else model.model.layers[1]).compile(backend="eager")
    return model


@pytest.mark.parametrize("how", ["whole", "in place", "forward", "one layer"])
def test_a_compiled_model_is_watched_and_edited(how, llama, ids):
    wanted = weights_of(llama, 1, input_ids=ids)
    model = compiled(llama, how)
    with torch.no_grad():
        before = model(ids).logits  # compiled without a watch
        with watch(model) as seen:
            model(ids)
        with edit(model) as edits:
            edits.ablate(1)
            assert not torch.equal(model(ids).logits, before)
    assert close(seen.attention(1).weights, wanted)


def test_generation_that_compiles_is_watched_and_edited(llama, ids):
    settings = {"max_new_tokens": 4, "min_new_tokens": 4, "do_sample": False}
    with watch(llama) as plain:
        llama.generate(ids, **settings)
    config = transformers.CompileConfig(backend="eager", mode=None)
    config._compile_all_devices = True  # as it does on a GPU
    settings |= {"cache_implementation": "static", "compile_config": config}
    before = llama.generate(ids, **settings)
    with watch(llama) as seen:
        llama.generate(ids, **settings)
    assert close(seen.attention(1).weights, np.asarray(plain.attention(1).weights))
    with edit(llama) as edits:
        edits.ablate(None)
        assert not torch.equal(llama.generate(ids, **settings), before)


def test_a_copy_of_a_watched_model_is_not_watched(llama, ids):
    with watch(llama) as seen, torch.no_grad():
        twin = copy.deepcopy(llama)
        twin(ids)
        assert seen.stacks == {}
        llama(ids)
    assert seen.stacks == {"decoder": [0, 1]}
    with torch.no_grad():
        twin(ids)
    assert len(seen._runs.popitem()[1][0]) == 1


# --- questions


def test_the_last_layer_is_minus_one(llama, ids):
    seen = watch_pass(llama, ids)
    assert seen.attention(-1) is seen.attention(1)


def test_a_sequence_that_is_not_there_is_said(llama, ids):
    seen = watch_pass(llama, ids[:1])
    with pytest.raises(
        IndexError, match="look: sequence is 3, expected 0, the only one of the batch"
    ):
        seen.look(3)


def test_heads_of_nothing_are_said(llama):
    with watch(llama) as seen:
        pass
    with pytest.raises(ValueError, match="a LlamaForCausalLM that did not run"):
        seen.heads()
