"""Sessions: weights, questions, bad input, life."""

from __future__ import annotations

import gc
import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from conftest import SENTENCE

import heed

TESTS = Path(__file__).parents[2] / "tests"


# --- weights -------------------------------------------------------------------------------------


def test_weights_are_indexed_as_numpy_does(session):
    whole = np.asarray(session.weights)
    assert whole.shape == session.weights.shape == (6, 6, 12, 12)
    for index in [
        (2, 4), (2, 4, -1), (..., 3), (slice(1, 3), slice(None, None, 2)), (0, [1, 5], 7),
        ([0, 3], [2, 2]), (-1, -1, slice(None, None, -1)), np.s_[1, :, 3:5, :4],
    ]:  # fmt: skip
        np.testing.assert_array_equal(session.weights[index], whole[index])
    np.testing.assert_allclose(whole.sum(-1), 1, atol=1e-5)
    assert (whole[..., 0, 1:] == 0).all()


def test_an_index_out_of_range_names_the_axis(session):
    for index, name in [(6, "layer"), ((0, 6), "head"), ((0, 0, 12), "query")]:
        with pytest.raises(IndexError, match=f"weights: {name} is") as caught:
            session.weights[index]
        assert caught.value.argument == name


def test_scores_are_before_the_softmax(session):
    scores = session.scores[1, 2]
    weights = np.exp(scores - np.log(np.exp(scores).sum(-1, keepdims=True)))
    np.testing.assert_allclose(weights, session.weights[1, 2], atol=1e-6)


def test_a_layer_is_an_attention_that_was_seen(session):
    seen = session.attention(2)
    assert isinstance(seen, heed.Seen) and seen.shape == (1, 6, 12, 12)
    np.testing.assert_array_equal(seen.weights[0], session.weights[2])
    table = session.heads()
    entropy = np.array(seen.entropy())[0].mean(-1)
    np.testing.assert_allclose(entropy, np.asarray(table["entropy"])[12:18], atol=1e-5)
    with pytest.raises(IndexError, match="layer is 6, expected 0 to 5"):
        session.attention(6)


# --- questions -----------------------------------------------------------------------------------


def test_rows_list_the_largest_weights(session):
    rows = session.rows(2, 4, top=3)
    assert len(rows) == 12
    weights = session.weights[2, 4]
    for row in rows:
        expected = np.sort(weights[row.query, : row.query + 1])[::-1][:3]
        np.testing.assert_allclose([key.weight for key in row.attends], expected, atol=1e-6)
        rest = 1 - sum(key.weight for key in row.attends)
        assert row.rest_weight == pytest.approx(rest, abs=1e-5)
    assert session.row("it", 2, 4) == session.row(8, 2, 4)
    fresh = heed.look(SENTENCE)
    assert fresh.row("it", 2, 4) == session.row("it", 2, 4)  # without the scores of other heads
    assert len(fresh.to_dict(layer=2, head=4)["heads"]) == 36
    assert str(session.row("it", 2, 4)).startswith("it -> ")


def test_a_column_lists_who_attends(session):
    column = session.column("cat", 2, 4, top=None)
    assert column.token.strip() == "cat"
    assert column.sum == pytest.approx(session.weights[2, 4, :, column.key].sum(), abs=1e-5)
    assert len(column.attended_by) == 12 - column.key


def test_a_cell_is_a_weight_with_its_score(session):
    cell = session.cell("it", "cat", 2, 4)
    assert np.exp(cell.score - cell.lse) == pytest.approx(cell.weight, rel=1e-4)
    assert cell.visible and 1 <= cell.rank <= cell.of == cell.query + 1
    hidden = session.cell("cat", "it", 2, 4)
    assert not hidden.visible and hidden.score is None and hidden.weight == 0


def test_next_words_are_the_softmax_of_the_logits(session, tales):
    words = session.next(4)
    logits = tales.logits([token.id for token in session.tokens])[-1].astype(np.float64)
    p = np.exp(logits - logits.max())
    p /= p.sum()
    assert [word.id for word in words] == np.argsort(-p, kind="stable")[:4].tolist()
    assert sum(w.probability for w in words) + words.rest_probability == pytest.approx(1)
    assert session.next(1, position=2)[0].id == int(np.argmax(session.logits[2]))
    with pytest.raises(LookupError, match="position is 12"):
        session.next(position=12)


def test_tokens_know_their_place(tales):
    text = "Zoë saw a 猫, twice."
    session = tales.look(text)
    first, *others = session.tokens
    assert first.text == "<s>" and first.begin == first.end == 0
    assert b"".join(token.bytes for token in others).decode() == text
    for token in others:
        assert token.bytes in text[token.begin : token.end].encode()


def test_words_name_tokens(session):
    assert session.find("cat") == session.find(2) == session.find(-10)
    with pytest.raises(ValueError, match="who: .dog. is not in the text"):
        session.row("dog")
    expected = "a word of the text, or -12 to 11 .it has 12 tokens."
    with pytest.raises(ValueError, match=f"who is 12, expected {expected}"):
        session.row(12)


BAD = {
    "nothing": (lambda m: m.look(), ValueError, "look: no text is given, expected one of"),
    "both": (lambda m: m.look("a", ids=[1]), ValueError, "text and ids are both given"),
    "logits": (lambda m: m.look("a", logits="yes"), TypeError, "logits is a str, expected True or"),
    "width": (lambda m: m.look("a").to_text(width=0), ValueError, "width is 0, expected at least 1"),
    "no text": (lambda m: m.look(5), TypeError, "look: text is an int, expected a str"),
    "ids": (lambda m: m.look(ids=[99999]), ValueError, "ids is 99999, expected 0 to"),
    "no ids": (lambda m: m.look(ids=[]), ValueError, "ids is empty"),
    "pair": (lambda m: m.look("a", pair="b"), ValueError, "pair is given, expected none: tales"),
    "target": (lambda m: m.look("a", target="b"), ValueError, "target is given, expected none"),
    "long": (
        lambda m: m.look("a cat " * 2000),
        ValueError,
        "text is 4002 tokens, expected at most 512 .*; cut=.first. or",
    ),
    "cut": (lambda m: m.look("a", cut="middle"), ValueError, 'cut is "middle"'),
    "layer": (lambda m: m.look("a").rows(9), IndexError, "layer is 9, expected -6 to 5 .tales"),
    "head": (lambda m: m.look("a").rows(0, 6), IndexError, "head is 6, expected -6 to 5 .tales"),
    "stack": (lambda m: m.look("a").rows(stack="cross"), LookupError, "stack is .*cross"),
    "top": (lambda m: m.look("a").rows(top=0), ValueError, "top is 0, expected at least 1"),
    "no layer": (lambda m: m.look("a").rows("x"), TypeError, "layer is a str, expected a whole"),
    "next": (lambda m: m.look("a").next(0), ValueError, "next: top is 0, expected at least 1"),
    "below": (lambda m: m.look("a").next(-3), ValueError, "next: top is -3, expected at least 1"),
    "words": (lambda m: m.look("a").next("x"), TypeError, "next: top is a str, expected a whole"),
    "token": (lambda m: m.tokenizer.token("x"), TypeError, "id is a str, expected a whole number"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(tales, name):
    call, kind, text = BAD[name]
    with pytest.raises(kind, match=text):
        call(tales)


def test_a_text_that_is_too_long_is_cut(tales):
    text = "a cat " * 2000
    for cut in ("first", "last"):
        session = tales.look(text, cut=cut)
        assert len(session.tokens) <= tales.info.positions
        assert session.text in text


def test_a_text_of_no_token_of_the_vocabulary_is_told_of(tmp_path):
    folder = shutil.copytree(TESTS / "models/golden/marian", tmp_path / "translator")
    words = json.loads((TESTS / "text/tokenizers/words.json").read_text())
    words["post_processor"] = None
    words["model"]["vocab"] |= {f"word{id}": id for id in range(7, 61)}
    (folder / "tokenizer.json").write_text(json.dumps(words))
    model = heed.load(folder)
    with pytest.warns(
        UserWarning, match=r"the text is in the vocab.*\(2 of 2 tokens are \[UNK\]\)"
    ):
        model.look("b c", target="the")
    with pytest.warns(
        UserWarning, match=r"the target is in the vocab.*\(1 of 1 token is \[UNK\]\)"
    ):
        model.look("the", target="b")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.look("cat b", target="b cat")


# --- its life ------------------------------------------------------------------------------------


def test_a_session_keeps_its_model():
    model = heed.load()
    session = model.look(SENTENCE)
    core = session._core
    seen = session.attention(1)
    del model, session
    gc.collect()
    assert json.loads(heed._core.heads(core))["heads"]
    del core
    gc.collect()
    np.testing.assert_allclose(np.asarray(seen.weights).sum(-1), 1, atol=1e-5)


def test_look_uses_the_built_in_model(session):
    again = heed.look(SENTENCE)
    assert again.model_name == "tales"
    np.testing.assert_array_equal(again.weights[0, 0], session.weights[0, 0])
    assert heed.look(SENTENCE, model="tales").model_name == "tales"


def test_two_texts_are_read_by_the_built_in_models_for_them():
    if "masks" not in {model.name for model in heed.models() if model.built_in}:
        pytest.skip("the wheel has tales alone")
    assert heed.look("A cat.", pair="A dog.").model_name == "masks"
    assert heed.look("The old [MASK] sat down.").model_name == "masks"
    translation = heed.look("A cat.", target="\u732b")
    assert translation.model_name == "enja"
    way = "not in the target; to names a word of the source"
    with pytest.raises(ValueError, match=f"who: .cat. is in the source, {way}"):
        translation.row("cat", layer=0, head=0, stack="cross")


def test_negative_layers_and_heads_count_from_the_end():
    session = heed.look(SENTENCE)
    assert session.row("it", -1, -2) == session.row("it", 5, 4)
    assert session.cell("it", "cat", -6, -6) == session.cell("it", "cat", 0, 0)
    assert session.rows(-1, -1) == session.rows(5, 5)
    last = session.attention(5).weights[0, 0]
    assert np.array_equal(session.attention(-1).weights[0, 0], last)
    with pytest.raises(IndexError, match="layer is -7, expected -6 to 5"):
        session.row("it", -7, 0)
