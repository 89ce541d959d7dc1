"""`heed.compare`: what differs between two runs."""

from __future__ import annotations


import numpy as np
import pytest
from conftest import SENTENCE, rows_of, snapshot, softmax

import heed
from heed import edits


@pytest.fixture(scope="module")
def runs(tales):
    a = tales.look(SENTENCE, logits=True)
    return a, a.edited([edits.remove(who="it", to="cat", layers=2), edits.ablate(3, 1)])


def test_the_change_of_a_head_is_the_weight_that_moved(runs):
    a, b = runs
    rows = rows_of(heed.compare(a, b).heads)
    assert len(rows) == 36
    assert sorted(rows, key=lambda row: -row["change"]) == rows
    moved = abs(np.asarray(a.weights) - np.asarray(b.weights)).sum(-1) / 2
    for row in rows:
        of_head = moved[row["layer"], row["head"]]
        assert row["change"] == pytest.approx(of_head.mean(), abs=1e-6)
        assert row["largest"] == pytest.approx(of_head[row["row"]], abs=1e-6)
        assert row["largest"] == pytest.approx(of_head.max(), abs=1e-6)
    assert {row["layer"] for row in rows if row["change"] > 1e-4} == {2, 3, 4, 5}


def test_a_head_with_a_nan_comes_first(rng):
    q, k = (rng.normal(size=(1, 2, 5, 8)).astype(np.float32) for _ in range(2))
    broken = q.copy()
    broken[0, 1, 3, 0] = np.nan
    sessions = (heed.Session.from_arrays(each, k, tokens=list("abcde")) for each in (q, broken))
    rows = rows_of(heed.compare(*sessions).heads)
    assert [row["head"] for row in rows] == [1, 0]
    assert np.isnan(rows[0]["change"]) and rows[0]["row"] == 3
    assert rows[1]["change"] == 0


def test_the_next_word_is_compared(runs, tales):
    a, b = runs
    found = heed.compare(a, b, words=("he", " she"))
    p, q = (softmax(each.logits[-1]) for each in (a, b))
    assert found.kl == pytest.approx((p * np.log(p / q)).sum(), rel=1e-4)
    he, she = (tales.tokenizer.encode(word, special=False).ids[0] for word in (" he", " she"))
    assert found.logit_difference.words == (" he", " she")
    assert found.logit_difference.a == pytest.approx(a.logits[-1, he] - a.logits[-1, she], rel=1e-5)
    change = found.logit_difference.b - found.logit_difference.a
    assert found.logit_difference.change == change
    assert f"change={change:.4g})" in repr(found.logit_difference)
    assert f"KL(a || b) {found.kl:.4g} nats" in repr(found)
    same = heed.compare(a, b, words=(he, she)).logit_difference
    assert same == found.logit_difference
    earlier = heed.compare(a, b, position="it")
    p, q = (softmax(each.logits[8]) for each in (a, b))
    assert earlier.kl == pytest.approx((p * np.log(p / q)).sum(), rel=1e-4)
    assert heed.compare(a, a).kl == 0


def page_of(compared, **asked) -> dict:
    try:
        return snapshot(compared.to_html(**asked))
    except heed.errors.Unsupported as error:
        pytest.skip(f"skipped: {error}")


def test_a_saved_page_holds_both_runs(runs, tmp_path):
    a, b = runs
    found = heed.compare(a, b, name="removed")
    held = page_of(found)
    first = rows_of(found.heads)[0]
    place = f"look/L{first['layer']}.H{first['head']}/i={first['row']}"
    assert held["view"] == f"{place}/vs=run:removed"
    assert held["edited"]["session"]["session"] == "run-removed"
    ours, theirs = (each["held"][-1]["heads"][0] for each in (held, held["edited"]))
    assert ours != theirs
    assert page_of(found, view="look/L0.H0").get("edited") is None
    found.save(tmp_path / "x.html")
    assert snapshot((tmp_path / "x.html").read_text())["view"] == held["view"]
    with pytest.raises(ValueError, match="save: path is"):
        found.save(tmp_path / "x.txt")
    with pytest.raises(NotImplementedError, match="vs is"):
        a.to_html(view="look/L0.H0/vs=run:removed")


def test_sessions_of_arrays_are_compared_without_words(rng):
    weights = [rng.dirichlet(np.ones(5), (2, 5)) for _ in range(2)]
    a, b = (heed.Session.from_weights([each, None], list("abcde")) for each in weights)
    found = heed.compare(a, b)
    rows = rows_of(found.heads)
    assert {row["layer"] for row in rows} == {0} and found.kl is None
    moved = abs(weights[0] - weights[1]).sum(-1) / 2
    by_head = {row["head"]: row["change"] for row in rows}
    np.testing.assert_allclose([by_head[0], by_head[1]], moved.mean(-1), atol=1e-5)
    assert page_of(found)["edited"]["session"]["session"] == "run-b"
    assert "KL" not in repr(found) and found._repr_html_()


@pytest.mark.parametrize(
    "asked, kind, text",
    [
        (dict(words=("he",)), TypeError, "words is"),
        (dict(words="he"), TypeError, "words is"),
        (
            dict(words=("he", "antidisestablishment")),
            ValueError,
            r"words\[1\] is .*, expected a word",
        ),
        (dict(words=(0, 10**6)), ValueError, r"words\[1\] is 1000000"),
        (dict(name="a b"), ValueError, "name is 'a b'"),
        (dict(position="dog"), ValueError, "position: .dog. is not in the text"),
        (dict(stack="self"), ValueError, "stack is given beside sessions"),
    ],
)
def test_bad_input_is_named(runs, asked, kind, text):
    with pytest.raises(kind, match=text):
        heed.compare(*runs, **asked)


def test_other_shapes_are_refused(runs, tales):
    a, _ = runs
    with pytest.raises(ValueError, match="b is self: 6 layers of 6 heads, .*, as run a has"):
        heed.compare(a, tales.look("The cat sat."))
    with pytest.raises(TypeError, match="b is an int, expected a heed.Session"):
        heed.compare(a, 3)
    arrays = heed.Session.from_weights(list(np.asarray(a.weights)))
    with pytest.raises(NotImplementedError, match="b is a run whose logits are not known"):
        heed.compare(a, arrays, words=("he", "she"))


# --- models of transformers -----------------------------------------------------------------------


def test_runs_of_transformers_are_compared_with_their_own_numbers():
    from conftest import peer

    torch = peer("torch")
    peer("transformers")
    from architectures import ALL, MORE

    from heed.transformers import edit, watch

    for name in ("llama", "jamba"):
        model = (ALL | MORE)[name].made("sdpa")
        ids = torch.arange(1, 10)[None]
        with torch.no_grad(), watch(model) as a:
            first = model(ids).logits[0, -1]
        layer = a.stacks["decoder"][0]
        with torch.no_grad(), edit(model) as e, watch(model) as b:
            e.remove(who=-1, to=[2, 3], layers=layer, heads=1)
            second = model(ids).logits[0, -1]
        found = heed.compare(a, b, words=(5, 7))
        rows = rows_of(found.heads)
        assert {row["layer"] for row in rows} == set(a.stacks["decoder"])
        moved = {(row["layer"], row["head"]): row for row in rows}
        assert moved[layer, 0]["change"] < 1e-6 < moved[layer, 1]["change"]
        assert moved[layer, 1]["row"] == 8 and moved[layer, 1]["stack"] == "decoder"
        assert found.kl == pytest.approx(
            float((first.softmax(0) * (first.log_softmax(0) - second.log_softmax(0))).sum()),
            abs=1e-6,
        )
        assert found.logit_difference.words == ("#5", "#7")
        assert found.logit_difference.b == pytest.approx(float(second[5] - second[7]), abs=1e-5)
        assert page_of(found)["edited"]["session"]["session"] == "run-b"
        with pytest.raises(ValueError, match="position is 3, expected None"):
            heed.compare(a, b, position=3)
        with pytest.raises(ValueError, match=r"words\[0\] is 'he', expected a token's id"):
            heed.compare(a, b, words=("he", "she"))
