"""Models and tokenizers: found, loaded, asked."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from conftest import SENTENCE, real_model, said

import heed


def test_the_built_in_model_came_with_the_package(tales):
    assert tales.built_in and tales.name == "tales"
    assert tales.info.layers == 6 and tales.info.heads == 6
    assert tales.info.stacks == (heed._models.StackInfo("self", 6, 6, 6, True),)
    assert "tales" in repr(tales) and "6 x 6 heads" in repr(tales)


def test_models_are_those_that_the_program_finds():
    theirs = {model["name"]: model for model in json.loads(said("models", "--json"))}
    for model in heed.models():
        assert theirs[model.name]["built_in"] == model.built_in
        assert theirs[model.name]["about"] == model.about


def test_the_shape_is_what_the_program_says(tales):
    (theirs,) = (m for m in json.loads(said("models", "--json")) if m["name"] == "tales")
    for key in ("family", "layers", "heads", "width", "vocabulary", "positions", "parameters"):
        assert theirs[key] == getattr(tales.info, key), key


def test_a_name_that_nothing_has_is_a_lookup_error():
    with pytest.raises(LookupError, match="'no-such', neither a folder nor a known name") as error:
        heed.load("no-such")
    assert error.value.argument == "model"


@pytest.mark.parametrize("name, kind", [(3, "an int"), (b"tales", "a bytes"), (True, "a bool")])
def test_what_is_no_name_is_a_type_error(name, kind):
    with pytest.raises(TypeError, match=f"load: name is {kind}, expected a folder, a name"):
        heed.load(name)


def test_a_folder_without_a_model_names_the_file(tmp_path):
    with pytest.raises(heed.errors.Error, match="config.json"):
        heed.load(tmp_path)


@pytest.mark.parametrize("dtype", ["f32", "float64", 5])
def test_a_type_that_weights_are_not_held_in_is_refused(dtype):
    with pytest.raises(ValueError, match="dtype is .*, expected .float32."):
        heed.load(dtype=dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", None])
def test_weights_of_other_types_give_nearly_the_same_logits(tales, dtype):
    ids = tales.tokenizer.encode(SENTENCE).ids
    wanted = tales.logits(ids)
    found = heed.load(dtype=dtype).logits(ids)
    assert found.shape == wanted.shape == (len(ids), tales.info.vocabulary)
    assert np.abs(found - wanted).max() < (0.5 if dtype == "bfloat16" else 0.1)


def test_a_model_is_pickled_as_its_folder(tales):
    again = pickle.loads(pickle.dumps(heed.load(dtype="bfloat16")))
    assert again.folder == tales.folder and again._dtype == "bfloat16"


def test_logits_of_ids_that_are_none():
    model = heed.load()
    with pytest.raises(ValueError, match="ids is -1"):
        model.logits([-1])
    with pytest.raises(ValueError, match="50000"):
        model.logits([50_000])
    with pytest.raises(TypeError, match="ids"):
        model.logits("no ids")
    with pytest.raises(ValueError, match="source is given"):
        model.logits([1], source=[2])


def test_tokens_and_places(tales):
    text = "Zoë's cat: “sat” 猫!"
    encoding = tales.tokenizer.encode(text, special=False)
    assert len(encoding) == len(encoding.ids) == len(encoding.offsets)
    assert tales.tokenizer.decode(encoding.ids) == text
    whole = b"".join(tales.tokenizer.token(id) for id in encoding.ids)
    assert whole.decode() == text
    for id, (begin, end) in zip(encoding.ids, encoding.offsets):
        data = tales.tokenizer.token(id)
        assert data in text[begin:end].encode()  # of a part of a character the whole of it


def test_tokens_are_those_of_the_program(tales):
    theirs = json.loads(said("tokenize", SENTENCE, "--json"))
    ours = tales.tokenizer.encode(SENTENCE, special=False)
    assert theirs["ids"] == ours.ids
    assert [(token["begin"], token["end"]) for token in theirs["tokens"]] == ours.offsets


def test_a_vocabulary_can_be_asked(tales):
    tokenizer = tales.tokenizer
    assert len(tokenizer) == tales.info.vocabulary
    assert tokenizer.find("no such piece at all") is None
    id = tokenizer.encode("the", special=False).ids[0]
    assert tokenizer.token(id) == b"the" and not tokenizer.is_special(id)
    with pytest.raises(ValueError, match="ids is 99999999, expected 0 to"):
        tokenizer.decode([99999999])


@pytest.mark.parametrize("text", [None, 5, b"bytes"])
def test_what_is_no_text_is_a_type_error(tales, text):
    with pytest.raises(TypeError, match="text is an? .*, expected a str"):
        tales.tokenizer.encode(text)


def test_half_of_a_surrogate_pair_is_refused(tales):
    with pytest.raises(ValueError, match="text is not valid Unicode: character 2"):
        tales.tokenizer.encode("ab\ud800")


def test_a_model_without_a_tokenizer_takes_ids():
    model = heed.load(real_model("gpt-nano-sort"))
    assert model.tokenizer is None
    with pytest.raises(ValueError, match="no tokenizer"):
        model.look("text")
    session = model.look(ids=[0, 1, 2, 1])
    assert [token.text for token in session.tokens] == ["#0", "#1", "#2", "#1"]
    np.testing.assert_allclose(np.asarray(session.weights).sum(-1), 1, atol=1e-5)
    assert model.logits([0, 1, 2]).shape == (3, 3)
