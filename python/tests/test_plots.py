"""Plots of sessions with matplotlib."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from conftest import SENTENCE, peer

import heed


@pytest.fixture
def plt():
    matplotlib = peer("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def test_a_head_has_its_weights_and_its_tokens(plt, tales):
    session = tales.look(SENTENCE)
    _, mine = plt.subplots()
    ax = session.plot(1, 2, mine)
    assert ax is mine and ax.get_title() == "L1.H2"
    drawn = ax.images[0].get_array()
    np.testing.assert_allclose(np.ma.filled(drawn, 0), session.weights[1, 2])
    assert drawn.mask[0, 1] and not drawn.mask[1, 0]
    assert len(ax.get_xticks()) == len(session.tokens)
    ax.figure.canvas.draw()


def test_a_head_that_is_not_named_is_chosen(plt, tales):
    session = tales.look(SENTENCE)
    asked = session.to_dict()
    assert session.plot().get_title() == f"L{asked['layer']}.H{asked['head']}"


def test_a_long_text_is_drawn_in_cells(plt, rng):
    q = rng.normal(size=(1, 1, 2000, 4)).astype(np.float32)
    ax = heed.Session.from_arrays(q, q, mask=heed.causal()).plot(0, 0)
    assert ax.images[0].get_array().shape == (1024, 1024)
    assert ax.images[0].get_extent() == [-0.5, 1999.5, 1999.5, -0.5]


def test_a_score_of_all_heads(plt, tales):
    session = tales.look(SENTENCE)
    ax = session.plot_heads("previous")
    wanted = np.asarray(session.heads()["previous"]).reshape(6, 6)
    np.testing.assert_allclose(np.ma.filled(ax.images[0].get_array(), 0), wanted)
    assert len(ax.texts) == 36
    with pytest.raises(LookupError, match="score is 'inducion', expected induction, or another of"):
        session.plot_heads("inducion")
    with pytest.raises(LookupError, match="plot_heads: score is 'nothing', expected one of"):
        session.plot_heads("nothing")


def test_a_row_has_a_bar_for_each_key(plt, tales):
    session = tales.look(SENTENCE + " It cost $5.")
    ax = session.plot_row("$", 1, 2)
    query = session.find("$")[-1]
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(heights, session.weights[1, 2, query])
    ax.figure.canvas.draw()  # a dollar sign is no formula
    with pytest.raises(ValueError, match="who"):
        session.plot_row(10_000)


def test_without_matplotlib_it_says_what_is_missing(tales, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(heed.errors.Unsupported, match="matplotlib is not installed"):
        tales.look("A cat.").plot()
