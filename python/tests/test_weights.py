"""Reductions and comparisons of weights, and the arrays that they come from."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import formula

import heed
from heed import _weights


@pytest.fixture
def seen(qkv):
    return heed.attention(*qkv, mask=heed.causal(), seen=True)[1]


@pytest.mark.parametrize("part", [1, 40, 2**22])
@pytest.mark.parametrize("axis", [None, 0, 2, -1, (0, 1), (-1, 2), (0, 1, 2, 3)], ids=str)
def test_reductions_are_numpys(monkeypatch, seen, axis, part):
    monkeypatch.setattr(_weights, "_PART", part)
    everything = np.asarray(seen.weights)
    for name in ("max", "mean"):
        found, wanted = getattr(seen.weights, name)(axis), getattr(everything, name)(axis)
        assert found.shape == wanted.shape and found.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert seen.scores.max() == np.asarray(seen.scores).max()


def test_a_reduction_has_the_memory_of_a_part():
    q = np.zeros((1, 1, 20_000, 1), np.float32)  # 1.6 GB of weights
    weights = heed.Seen.of(q, q, mask=heed.band(1, 0)).weights
    computed = []
    select = weights._select
    weights._select = lambda selected: computed.append(len(selected[2])) or select(selected)
    weights[0, 0, 0, 0]
    rows = _weights._PART // 20_000
    assert weights[:, :, :5].mean() * 5 * 20_000 == pytest.approx(5)
    assert weights.mean(axis=(0, 1, 3))[7] == pytest.approx(1 / 20_000)
    assert max(computed) == rows


@pytest.mark.parametrize("axis", [4, -5, (0, 9)])
def test_an_axis_out_of_range_is_named(seen, axis):
    with pytest.raises(IndexError, match=r"axis is .*, expected -4 to 3"):
        seen.weights.mean(axis)


def test_comparisons_are_elementwise(seen):
    everything = np.asarray(seen.weights)
    np.testing.assert_array_equal(seen.weights > 0.3, everything > 0.3)
    np.testing.assert_array_equal(seen.weights <= 0.3, everything <= 0.3)
    np.testing.assert_array_equal(seen.weights == 0, everything == 0)
    assert (seen.weights >= seen.weights).all() and not (seen.weights != seen.weights).any()
    assert ((seen.weights < everything) == (everything < everything)).all()


def test_the_arrays_are_the_callers(qkv, seen):
    assert all(mine is given for mine, given in zip((seen.q, seen.k, seen.v), qkv))
    assert heed.Seen.of(*qkv[:2]).v is None


def test_the_output_of_a_head(qkv, seen):
    i, j = np.arange(5)[:, None] + 2, np.arange(7)[None]
    wanted = formula(*qkv, allowed=j <= i)[0]
    for head in (0, 3, -1):
        found = seen.head_output(head)
        assert found.shape == (2, 5, 6)
        np.testing.assert_allclose(found, wanted[:, head], atol=1e-5)
    with pytest.raises(IndexError, match="head is 4, expected -4 to 3"):
        seen.head_output(4)
    with pytest.raises(TypeError, match="head is a str, expected a whole number"):
        seen.head_output("first")
    with pytest.raises(ValueError, match="head_output: v is not given"):
        heed.Seen.of(*qkv[:2]).head_output(0)


def test_a_session_of_a_model_keeps_its_arrays_to_itself(tales):
    seen = tales.look("a cat").stack().attention(0)
    with pytest.raises(NotImplementedError, match="q: the attention of a session, expected one of"):
        seen.q
