"""The layers and types that a session keeps, and weights that stay in the file."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from conftest import SENTENCE

import heed


def test_kept_layers_are_those_of_the_whole_session(session):
    some = heed.look(SENTENCE, keep_layers=range(2, 4))
    assert some.keep_layers == [2, 3] and session.keep_layers is None
    np.testing.assert_array_equal(some.weights[2:4], session.weights[2:4])
    np.testing.assert_array_equal(some.logits, session.logits)


def test_a_layer_that_was_not_kept_is_an_error():
    some = heed.look(SENTENCE, keep_layers=[1, 2])
    for ask in (lambda: some.weights[0], lambda: some.attention(0), lambda: some.weights[:]):
        with pytest.raises(LookupError, match="layer is 0, expected 1 to 2: the layers that were"):
            ask()


def test_keep_layers_are_checked():
    with pytest.raises(LookupError, match=r"keep_layers is 6, expected 0 to 5 \(tales has 6 lay"):
        heed.look(SENTENCE, keep_layers=[0, 6])
    with pytest.raises(TypeError, match=r"keep_layers is an int, expected layers, as range\(8"):
        heed.look(SENTENCE, keep_layers=3)
    with pytest.raises(ValueError, match="keep_layers is empty"):
        heed.look(SENTENCE, keep_layers=[])


def test_float16_stays_within_its_bound(session):
    half = heed.look(SENTENCE, keep="float16")
    assert half.score_error > 0 and session.score_error == 0
    exact, found = session.weights[:], half.weights[:]
    seen = exact > 1e-30
    assert (np.abs(np.log(found[seen] / exact[seen])) <= 2 * half.score_error).all()
    np.testing.assert_allclose(found.sum(-1), 1, atol=1e-5)
    with pytest.raises(ValueError, match="keep is 'bf16', expected \"float32\" or \"float16\""):
        heed.look(SENTENCE, keep="bf16")


def test_a_streamed_model_gives_the_same_bits(session):
    model = heed.load("tales", stream=True)
    assert model.streams and not heed.load("tales").streams
    streamed = model.look(SENTENCE)
    np.testing.assert_array_equal(streamed.weights[:], session.weights[:])
    np.testing.assert_array_equal(streamed.logits, session.logits)
    assert pickle.loads(pickle.dumps(model)).streams
    with pytest.raises(TypeError, match="stream is a str, expected True or False"):
        heed.load("tales", stream="yes")
