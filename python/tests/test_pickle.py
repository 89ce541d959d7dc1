"""Attentions, masks and sessions that go through pickle: to a file, or to another process."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import heed


def again(thing):
    return pickle.loads(pickle.dumps(thing))


def even(batch, head, queries, keys):
    return keys % 2 == 0


MASKS = {
    "causal": lambda: heed.causal(),
    "band": lambda: heed.band(3, 1),
    "prefix": lambda: heed.prefix([2, 5]),
    "segments": lambda: heed.segments([0, 0, 0, 1, 1, 1, 1]),
    "segments of keys": lambda: heed.segments(np.arange(7), key_ids=np.arange(7) // 2),
    "keep": lambda: heed.keep(np.eye(7, dtype=bool)),
    "blocks": lambda: heed.blocks(np.eye(4, dtype=bool), rows=2, keys=2),
    "edges": lambda: heed.edges([*range(8)], [0] * 7),
    "custom": lambda: heed.custom(even, name="even keys"),
    "both": lambda: heed.causal() & heed.keep(np.eye(7, dtype=bool)),
    "either": lambda: heed.band(1, 0) | heed.prefix(2) & heed.band(2, 2),
}


@pytest.mark.parametrize("name", MASKS)
def test_masks(name):
    mask = MASKS[name]()
    found = again(mask)
    assert repr(found) == repr(mask)
    shape = 2, 1, 7, 7
    np.testing.assert_array_equal(found.to_array(shape), mask.to_array(shape))


def test_a_mask_that_cannot_be_pickled_says_why():
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(heed.custom(lambda *_: True))


def test_an_attention_that_was_seen(qkv, rng):
    mask = heed.causal() & heed.keep(rng.random((5, 7)) < 0.9)
    out, seen = heed.attention(*qkv, mask=mask, scale=0.3, softcap=2.0, seen=True)
    found = again(seen)
    np.testing.assert_array_equal(found.weights[...], seen.weights[...])
    np.testing.assert_array_equal(found.head_output(1), out[:, 1])
    for mine, wanted in zip(found.backward(out), seen.backward(out)):
        np.testing.assert_array_equal(mine, wanted)


def test_the_log_sum_exp_of_somebody_else_is_kept(qkv):
    q, k, _ = qkv
    seen = heed.Seen.of(q, k)
    other = heed.Seen.of(q, k, lse=seen.lse + 1)
    np.testing.assert_array_equal(again(other).weights[...], other.weights[...])
    assert again(other).v is None


def test_a_view_of_a_tensor_takes_its_own_memory_alone(qkv):
    torch = pytest.importorskip("torch", reason="skipped: PyTorch is not installed")
    packed = torch.randn(1, 3, 64, 4, 16)
    q, k, v = packed.transpose(2, 3).unbind(1)
    _, seen = heed.attention(q, k, v, seen=True)
    found = again(seen)
    assert torch.equal(found.weights[...], seen.weights[...])
    assert len(pickle.dumps(seen)) < 1.2 * packed.nbytes


def test_a_session_of_arrays(rng):
    q, k, v = (rng.normal(size=(2, 4, 6, 8)).astype(np.float32) for _ in range(3))
    session = heed.Session.from_arrays(
        list(q), list(k), list(v), mask=heed.causal(), tokens=iter("abcdef"), name="mine"
    )
    found = again(session)
    assert (found.model_name, found.tokens) == ("mine", session.tokens)
    np.testing.assert_array_equal(found.stack().weights[...], session.stack().weights[...])


def test_a_session_of_a_model_is_refused(tales):
    session = tales.look("a cat")
    with pytest.raises(NotImplementedError, match="pickle: a session of a model, expected a session"):
        pickle.dumps(session)
    with pytest.raises(NotImplementedError, match="pickle: the attention of a session"):
        pickle.dumps(session.stack().attention(0))


def test_what_a_watch_saw():
    torch = pytest.importorskip("torch", reason="skipped: PyTorch is not installed")
    transformers = pytest.importorskip("transformers", reason="skipped: transformers is missing")
    import heed.transformers

    config = transformers.GPT2Config(
        n_embd=32, n_layer=2, n_head=4, vocab_size=50, bos_token_id=0, eos_token_id=0
    )
    model = transformers.GPT2LMHeadModel(config).eval()
    padding = torch.tensor([[1] * 9, [0] * 4 + [1] * 5])
    with heed.transformers.watch(model) as seen, torch.no_grad():
        model(torch.arange(18).view(2, 9), attention_mask=padding)
    layer = seen.attention(1)
    np.testing.assert_allclose(
        np.einsum("bij,bjd->bid", layer.weights[:, 2], layer.v[:, 2]), layer.head_output(2), atol=1e-5
    )
    found = again(seen)
    assert found.stacks == seen.stacks and found.tokens() == seen.tokens()
    np.testing.assert_array_equal(found.attention(1).weights[...], layer.weights[...])
    assert again(seen.look(sequence=1)).tokens == seen.look(sequence=1).tokens
