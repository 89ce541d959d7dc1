"""The outputs of a pass that is watched: `output_attentions`, logits, the weights of all layers."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import peer

torch = peer("torch")
transformers = peer("transformers")

from architectures import ALL, MORE  # noqa: E402
from watched import close, watch_pass  # noqa: E402

import heed  # noqa: E402
from heed.transformers import SeenModel, watch  # noqa: E402

EVERY = ALL | MORE
FIELDS = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")


@pytest.mark.parametrize("name", ["llama", "bert", "marian", "t5", "jamba"])
def test_attentions_that_are_asked_for_are_eagers(name):
    inputs = EVERY[name].inputs()
    with torch.no_grad():
        wanted = EVERY[name].made("eager")(**inputs, output_attentions=True)
        model = EVERY[name].made("sdpa")
        with watch(model):
            found = model(**inputs, output_attentions=True)
            plain = model(**inputs)
    asked = [each for each in FIELDS if wanted.get(each) is not None]
    assert asked
    for field in asked:
        assert len(found[field]) == len(wanted[field])
        for layer, weights in enumerate(wanted[field]):
            assert found[field][layer].dtype == weights.dtype
            assert close(found[field][layer], weights.numpy())
    assert found[asked[0]] is getattr(found, asked[0])
    assert plain.get("attentions") is None


def test_attentions_of_generation_are_those_of_each_step():
    ids = torch.arange(1, 8)[None]  # 0 is padding
    settings = dict(max_new_tokens=3, min_new_tokens=3, do_sample=False, use_cache=True,
                    return_dict_in_generate=True, output_attentions=True)  # fmt: skip
    wanted = ALL["llama"].made("eager").generate(ids, **settings)
    model = ALL["llama"].made("sdpa")
    with watch(model):
        found = model.generate(ids, **settings)
    for step, layers in enumerate(wanted.attentions):
        for layer, weights in enumerate(layers):
            assert close(found.attentions[step][layer], weights.numpy())


@pytest.fixture
def seen(llama):
    seen = watch_pass(llama, torch.arange(8).reshape(2, 4))
    return seen


@pytest.fixture(scope="module")
def llama():
    return ALL["llama"].made("sdpa")


def test_weights_of_all_layers_are_those_of_each(seen):
    layers = [np.asarray(seen.attention(layer).weights) for layer in seen.stacks["decoder"]]
    whole = np.stack(layers)
    assert seen.weights.shape == whole.shape
    assert close(np.asarray(seen.weights), whole, 1e-9)
    for index in [(1, 0, 2), (slice(None), 1, 0, -1), (..., 0), ([1, 0], 0, 1)]:
        found = seen.weights[index]
        assert isinstance(found, torch.Tensor)
        np.testing.assert_array_equal(found.numpy(), whole[index])
    np.testing.assert_allclose(seen.weights.mean((0, 1)).numpy(), whole.mean((0, 1)), atol=1e-6)
    np.testing.assert_array_equal(seen.weights.max(0).numpy(), whole.max(0))
    with pytest.raises(IndexError, match="weights: batch is 2"):
        seen.weights[0, 2]


def test_weights_of_several_stacks_are_asked_for_by_name():
    model = ALL["marian"].made("sdpa")
    seen = watch_pass(model, **ALL["marian"].inputs())
    with pytest.raises(LookupError, match="stack="):
        _ = seen.weights
    found = seen.weights_of("cross")
    np.testing.assert_array_equal(found[1], seen.attention(1, "cross").weights[...])


def test_logits_are_those_behind_the_last_token(llama, tmp_path):
    ids = torch.arange(8).reshape(2, 4)
    with watch(llama) as seen, torch.no_grad():
        first = llama(ids).logits[:, -1]
        padding = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
        second = llama(ids, attention_mask=padding).logits
    assert torch.equal(seen.logits(0), first)
    assert torch.equal(seen.logits(), torch.stack([second[0, 3], second[1, 1]]))
    with pytest.raises(IndexError, match="text is 2"):
        seen.logits(2)
    seen.save(tmp_path / "run.safetensors")
    again = SeenModel.load(tmp_path / "run.safetensors")
    assert torch.equal(again.logits(0), first)


def test_logits_of_what_is_generated_replace_those_of_the_prompt(llama):
    ids = torch.arange(1, 8)[None]  # 0 is padding
    with watch(llama) as seen:
        written = llama.generate(ids, max_new_tokens=3, min_new_tokens=3, do_sample=False)
    with torch.no_grad():
        wanted = llama(written[:, :-1]).logits[:, -1]
    assert close(seen.logits(), wanted.numpy(), 1e-4)
    with pytest.raises(IndexError, match="text is 1, expected -1 to 0"):
        seen.logits(1)


def test_models_that_do_not_write_have_no_logits():
    model = ALL["bert"].made("sdpa")
    seen = watch_pass(model, **ALL["bert"].inputs())
    assert seen.logits() is None and isinstance(seen, heed.transformers.SeenModel)
