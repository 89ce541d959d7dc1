"""Sessions of anybody's attention: from arrays, and from what `heed.attention` saw."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from conftest import formula

import heed


def test_arrays_are_looked_at(rng):
    q, k, v = (rng.normal(size=(1, h, 6, 8)).astype(np.float32) for h in (4, 2, 2))
    words = "one two three four five six".split()
    session = heed.Session.from_arrays(q, k, v, mask=heed.causal(), tokens=words, name="mine")
    allowed = np.tril(np.ones((6, 6), bool))
    wanted = formula(q, k, v, allowed)[1]
    np.testing.assert_allclose(session.weights[0], wanted[0], atol=1e-6)
    assert [token.text for token in session.tokens] == words
    assert session.model is None and session.model_name == "mine"
    assert session.row("six").query == 5
    assert "mine" in repr(session) and "unknown" in session.to_text()
    with pytest.raises(heed.errors.Unsupported, match="next: the session holds attention alone"):
        session.next()
    assert session.logits is None


def test_a_nan_shows_in_every_answer(rng):
    q, k = (rng.normal(size=(1, 2, 5, 8)).astype(np.float32) for _ in range(2))
    q[0, 0, 3, 0] = np.nan
    session = heed.Session.from_arrays(q, k, mask=heed.causal(), tokens=list("abcde"))
    row = session.row(3, 0, 0)
    assert np.isnan(row.entropy) and all(np.isnan(each.weight) for each in row.attends)
    assert "nan" in str(row) and not np.isnan(session.row(2, 0, 0).entropy)
    heads = session.heads()
    assert list(heads["head"]) == [0, 1]
    for name in ("confidence", "elsewhere", "entropy", "previous_adjusted"):
        assert list(np.isnan(heads[name])) == [True, False], name
    assert " (nan)" not in session.to_text()  # heed chooses another edge


def test_one_token_is_named(rng):
    q = rng.normal(size=(1, 1, 3, 4)).astype(np.float32)
    session = heed.Session.from_arrays(q, q, tokens=list("abc"))
    for ask in (session.row, session.column, lambda none: session.cell("a", none)):
        with pytest.raises(ValueError, match="is None, expected a word of the text, or -3 to 2"):
            ask(None)
    with pytest.raises(heed.errors.OutOfRange, match="layer is -2, expected -1 to 0"):
        session.row("a", layer=-2)


def test_arrays_of_several_layers_without_values(rng):
    q = [rng.normal(size=(2, 5, 8)) for _ in range(3)]  # float64, no batch axis
    k = [rng.normal(size=(2, 7, 8)) for _ in range(3)]
    session = heed.Session.from_arrays(q, k, scale=0.5, stack="cross")
    assert session.weights.shape == (3, 2, 5, 7)
    for layer in range(3):
        wanted = formula(q[layer][None], k[layer][None], k[layer][None], scale=0.5)[1]
        np.testing.assert_allclose(session.weights[layer], wanted[0], atol=1e-5)
    assert len(session.key_tokens) == 7 and session.stack().name == "cross"


def test_keys_with_words_of_their_own_are_another_text(rng):
    q, k = (rng.normal(size=(1, 2, length, 8)).astype(np.float32) for length in (4, 6))
    session = heed.Session.from_arrays(q, k, tokens=list("abcd"), key_tokens=list("uvwxyz"))
    assert session.stack().name == "cross"
    # No distance in tokens between two texts.
    assert "in order: mean weight" in session.to_text() and " tokens to " not in session.to_text()
    weights = session.weights
    given = heed.Session.from_weights([weights[0]], list("abcd"), key_tokens=list("uvwxyz"))
    assert given.stack().name == "cross"


def test_a_given_log_sum_exp_is_believed(rng):
    q = rng.normal(size=(1, 1, 4, 8)).astype(np.float32)
    _, seen = heed.attention(q, q, q, seen=True)
    session = heed.Session.from_arrays(q, q, lse=np.asarray(seen.lse) + 1)
    np.testing.assert_allclose(session.weights[0].sum(-1), np.exp(-1), rtol=1e-5)


def test_attentions_that_were_seen_become_a_session(rng):
    layers = []
    keep = np.tril(rng.random((6, 6)) < 0.7) | np.eye(6, dtype=bool)
    for mask in (heed.causal(), heed.keep(keep), heed.band(2, 0)):
        q = rng.normal(size=(1, 2, 6, 8)).astype(np.float32)
        layers.append(heed.attention(q, q, q, mask=mask, softcap=5.0, seen=True)[1])
    wanted = np.concatenate([np.asarray(seen.weights) for seen in layers])
    session = heed.Session.from_seen(layers, tokens="a b c d e f".split())
    del layers, keep
    gc.collect()
    np.testing.assert_allclose(np.asarray(session.weights), wanted, atol=1e-6)
    assert len(session.heads()) == 6


BAD_ARRAYS = {
    "batch": (dict.fromkeys("qk", np.ones((2, 1, 3, 4), np.float32)), ValueError, "layer 0: q is"),
    "tokens": (dict(tokens=["a"]), ValueError, "tokens is a list of 1, expected none, or 3"),
    "lists": (dict(q=[np.ones((1, 1, 3, 4))]), ValueError, "k is one array, expected a list"),
    "lse": (dict(lse=np.ones((1, 1, 2), np.float32)), ValueError, "lse"),
    "stack": (dict(stack="other"), ValueError, 'stack is "other"'),
    "normaliser": (dict(normaliser="sigmoid"), NotImplementedError, "normaliser"),
    "no array": (dict(q="text"), TypeError, "q is a str, expected an array"),
    "a number": (dict(k=2), TypeError, "k is an int, expected an array"),
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_arrays_that_do_not_fit(name):
    changed, kind, text = BAD_ARRAYS[name]
    arrays = {"q": np.ones((1, 1, 3, 4), np.float32), "k": np.ones((1, 1, 3, 4), np.float32)}
    with pytest.raises(kind, match=text):
        heed.Session.from_arrays(**{**arrays, **changed})


def test_one_sequence_of_a_batch_that_was_seen(rng):
    """With padding, a mask and a bias of its own; nothing of the other sequences is in it."""
    q, k, v = (rng.normal(size=(3, 2, 6, 8)).astype(np.float32) for _ in range(3))
    keep = np.tril(rng.random((3, 1, 6, 6)) < 0.6) | np.eye(6, dtype=bool)
    bias = rng.normal(size=(3, 1, 6, 6)).astype(np.float32)
    seen = heed.attention(
        q, k, v, mask=heed.keep(keep), bias=bias, key_length=[6, 4, 6], q_offset=0, seen=True
    )[1]
    wanted = np.asarray(seen.weights)[1]
    session = heed.Session.from_seen([seen], sequence=1)
    del seen, keep, bias
    gc.collect()
    np.testing.assert_allclose(np.asarray(session.weights)[0, :, :, :4], wanted[..., :4], atol=1e-6)


def test_a_sequence_that_a_batch_has_not():
    seen = heed.attention(*[np.ones((2, 1, 3, 4), np.float32)] * 3, seen=True)[1]
    with pytest.raises(LookupError, match="session: sequence is 2, expected 0 to 1"):
        heed.Session.from_seen([seen], sequence=2)
    with pytest.raises(LookupError, match="sequence is -1"):
        heed.Session.from_seen([seen], sequence=-1)
    with pytest.raises(ValueError, match="layer 0: q is"):
        heed.Session.from_seen([seen])


def test_keys_without_names_are_numbered(rng):
    q, k = (rng.normal(size=(1, 2, length, 8)).astype(np.float32) for length in (5, 7))
    session = heed.Session.from_arrays(q, k, tokens=list("abcde"))
    assert [token.text for token in session.tokens] == list("abcde")
    assert [token.text.strip() for token in session.key_tokens] == [f"#{at}" for at in range(7)]
    assert session.weights.shape == (1, 2, 5, 7)
