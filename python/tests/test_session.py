"""Sessions: what `heed look` shows, from Python."""

from __future__ import annotations

import gc
import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from conftest import SENTENCE, formula, real_model, said

import heed

TESTS = Path(__file__).parents[2] / "tests"


@pytest.fixture(scope="module")
def session(tales):
    return tales.look(SENTENCE)


def looked(*arguments: str) -> dict:
    return json.loads(said("look", SENTENCE, "--format", "json", *arguments))


def assert_same(ours, theirs, place="$"):
    """Numbers within a few roundings of float32, all else equal."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), place
        for key in theirs:
            assert_same(ours[key], theirs[key], f"{place}.{key}")
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), place
        for index, (a, b) in enumerate(zip(ours, theirs)):
            assert_same(a, b, f"{place}[{index}]")
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-5, abs=1e-6), place
    else:
        assert ours == theirs, place


# --- both faces say the same ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, asked",
    [
        ((), {}),
        (("--layer", "2", "--head", "4"), {"layer": 2, "head": 4}),
        (("--layer", "1", "--top", "all"), {"layer": 1, "top": None}),
        (("--who", "it"), {"who": "it"}),
        (("--who", "it", "--to", "cat"), {"who": "it", "to": "cat"}),
        (("--to", "cat", "--top", "5"), {"to": "cat", "top": 5}),
        (("--rows", "2"), {"rows": 2}),
    ],
)
def test_json_is_the_programs(session, options, asked):
    assert_same(session.to_dict(**asked), looked(*options))


@pytest.mark.parametrize(
    "options, asked",
    [((), {}), (("--who", "it", "--to", "cat"), {"who": "it", "to": "cat"}),
     (("--to", "cat"), {"to": "cat"}), (("--rows", "3"), {"rows": 3})],
)  # fmt: skip
def test_text_is_the_programs(session, options, asked, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    theirs = said("look", SENTENCE, *options).rstrip("\n")
    ours = session.to_text(**asked, width=120)
    assert ours == theirs.replace("--rows all shows", "rows=None shows")


def test_repr_is_the_table(session):
    assert repr(session) == session.to_text()
    assert "Who attends to whom" in repr(session)


def test_weights_are_the_programs(session, tmp_path):
    said("look", SENTENCE, "-o", str(tmp_path / "weights.npy"))
    theirs = np.load(tmp_path / "weights.npy")
    np.testing.assert_allclose(np.asarray(session.weights), theirs, rtol=0, atol=2e-7)


def test_logits_and_states_are_the_programs(tales, tmp_path):
    session = tales.look(SENTENCE, logits=True, hidden=True)
    for what, ours in (("logits", session.logits), ("hidden", session.hidden)):
        file = str(tmp_path / f"{what}.npy")
        said("look", SENTENCE, "--what", what, "-o", file)
        np.testing.assert_allclose(ours, np.load(file), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(session.logits, tales.logits([t.id for t in session.tokens]),
                               atol=1e-5)  # fmt: skip


def test_heads_are_the_programs(session):
    table = session.heads()
    theirs = looked()["heads"]
    assert len(table) == len(theirs) == 24
    for name in ("layer", "head", "previous", "sink", "entropy", "elsewhere"):
        np.testing.assert_allclose(table[name], [head[name] for head in theirs], atol=1e-6)
    adjusted = [head["adjusted"]["induction"] for head in theirs]
    np.testing.assert_allclose(table["induction_adjusted"], adjusted, atol=1e-6)
    assert "next" not in table.columns  # nobody looks ahead here


@pytest.mark.parametrize("name", ["stories260k", "makemore-induction"])
def test_real_models_agree_with_the_program(name, tmp_path):
    folder = real_model(name)
    text = "emma.olivia.emma.oliv" if name.startswith("makemore") else "Once upon a time, there was"
    session = heed.load(folder).look(text)
    asked = ("--model", str(folder), "--format")
    theirs = json.loads(said("look", text, *asked, "json"))
    assert_same(session.to_dict(), theirs)
    said("look", text, *asked, "npy", "-o", str(tmp_path / "weights.npy"))
    wanted = np.load(tmp_path / "weights.npy")
    np.testing.assert_allclose(np.asarray(session.weights), wanted, rtol=0, atol=1e-6)


def test_an_encoder_decoder_has_three_stacks():
    folder = real_model("aren-transliteration")
    session = heed.load(folder).look("آ ت ز م و ن")
    assert list(session.stacks) == ["encoder", "decoder", "cross"]
    assert [t.text.strip() for t in session.key_tokens] == ["آ", "ت", "ز", "م", "و", "ن"]
    written = "".join(token.text for token in session.tokens[1:]).split()
    assert "".join(written) == "atzmon"
    for name, stack in session.stacks.items():
        assert len(stack.query_tokens) == stack.queries and len(stack.key_tokens) == stack.keys
        whole = np.asarray(stack.weights)
        np.testing.assert_allclose(whole.sum(-1), 1, atol=1e-5)
        theirs = json.loads(said("look", "آ ت ز م و ن", "--model", str(folder), "--stack", name,
                                 "--format", "json"))  # fmt: skip
        assert_same(session.to_dict(stack=name), theirs)
    assert "in_order" in session.heads("cross").columns
    with pytest.raises(LookupError, match="'self', expected encoder, decoder, cross"):
        session.stack("self")


def test_a_target_is_read_as_it_is_given():
    model = heed.load(real_model("aren-transliteration"))
    session = model.look("آ ت ز م و ن", target="a t s")
    assert [t.text.strip() for t in session.tokens[1:]] == ["a", "t", "s"]
    with pytest.raises(ValueError, match="pair is given"):
        model.look("آ", pair="ت")


# --- weights -------------------------------------------------------------------------------------


def test_weights_are_indexed_as_numpy_does(session):
    whole = np.asarray(session.weights)
    assert whole.shape == session.weights.shape == (4, 6, 12, 12)
    for index in [
        (2, 4), (2, 4, -1), (..., 3), (slice(1, 3), slice(None, None, 2)), (0, [1, 5], 7),
        ([0, 3], [2, 2]), (-1, -1, slice(None, None, -1)), np.s_[1, :, 3:5, :4],
    ]:  # fmt: skip
        np.testing.assert_array_equal(session.weights[index], whole[index])
    np.testing.assert_allclose(whole.sum(-1), 1, atol=1e-5)
    assert (whole[..., 0, 1:] == 0).all()


def test_an_index_out_of_range_names_the_axis(session):
    for index, name in [(4, "layer"), ((0, 6), "head"), ((0, 0, 12), "query")]:
        with pytest.raises(IndexError, match=f"weights: {name} is"):
            session.weights[index]


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
    with pytest.raises(LookupError, match="layer is 4, expected 0 to 3"):
        session.attention(4)


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
    assert session.row("it", 2, 4) == session.row(7, 2, 4)
    fresh = heed.look(SENTENCE)
    assert fresh.row("it", 2, 4) == session.row("it", 2, 4)  # without the scores of other heads
    assert len(fresh.to_dict(layer=2, head=4)["heads"]) == 24
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
    assert b"".join(token.bytes for token in session.tokens).decode() == text
    for token in session.tokens:
        assert token.bytes in text[token.begin : token.end].encode()


def test_words_name_tokens(session):
    assert session.find("cat") == session.find(1) == session.find(-11)
    with pytest.raises(ValueError, match="who: .dog. is no word of the text"):
        session.row("dog")
    with pytest.raises(ValueError, match="who is 12, expected a word of the text, or -12 to 11"):
        session.row(12)


BAD = {
    "nothing": (lambda m: m.look(), ValueError, "look: no text is given, expected one of"),
    "both": (lambda m: m.look("a", ids=[1]), ValueError, "text and ids are both given"),
    "no text": (lambda m: m.look(5), TypeError, "look: text is a int, expected a str"),
    "ids": (lambda m: m.look(ids=[99999]), ValueError, "ids is 99999, expected 0 to"),
    "no ids": (lambda m: m.look(ids=[]), ValueError, "ids is empty"),
    "pair": (lambda m: m.look("a", pair="b"), ValueError, "pair is given, expected none: tales"),
    "target": (lambda m: m.look("a", target="b"), ValueError, "target is given, expected none"),
    "long": (
        lambda m: m.look("a cat " * 2000),
        ValueError,
        "text is 4001 tokens, expected at most 256 .*; cut=.first. or",
    ),
    "cut": (lambda m: m.look("a", cut="middle"), ValueError, 'cut is "middle"'),
    "layer": (lambda m: m.look("a").rows(9), LookupError, "layer is 9, expected 0 to 3"),
    "head": (lambda m: m.look("a").rows(0, 6), LookupError, "head is 6, expected 0 to 5"),
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


# --- arrays --------------------------------------------------------------------------------------


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
    assert "mine" in repr(session) and session.next() == []
    assert session.logits is None


def test_arrays_of_several_layers_without_values(rng):
    q = [rng.normal(size=(2, 5, 8)) for _ in range(3)]  # float64, no batch axis
    k = [rng.normal(size=(2, 7, 8)) for _ in range(3)]
    session = heed.Session.from_arrays(q, k, scale=0.5, stack="cross")
    assert session.weights.shape == (3, 2, 5, 7)
    for layer in range(3):
        wanted = formula(q[layer][None], k[layer][None], k[layer][None], scale=0.5)[1]
        np.testing.assert_allclose(session.weights[layer], wanted[0], atol=1e-5)
    assert len(session.key_tokens) == 7 and session.stack().name == "cross"


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
    "a number": (dict(k=2), TypeError, "k is a int, expected an array"),
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
        UserWarning, match=r"the target is in the vocab.*\(1 of 1 tokens is \[UNK\]\)"
    ):
        model.look("the", target="b")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.look("cat b", target="b cat")
