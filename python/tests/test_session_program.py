"""A session and `heed look` say the same."""

from __future__ import annotations

import json

import numpy as np
import pytest
from conftest import SENTENCE, real_model, said

import heed


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
    assert len(table) == len(theirs) == 36
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
