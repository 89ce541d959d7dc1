"""Text that a model writes."""

from __future__ import annotations

import json
import shutil
import signal
import threading

import pytest
from conftest import real_model, said

import heed

PROMPT = "Once upon a time"


def generated(*arguments: str) -> dict:
    return json.loads(said("generate", PROMPT, "--json", "--dtype", "f32", *arguments))


@pytest.mark.parametrize(
    "options, settings",
    [
        (("-n", "12", "--temperature", "0"), {"n": 12, "temperature": 0}),
        (("-n", "12", "--seed", "7"), {"n": 12, "seed": 7}),
        (
            ("-n", "12", "--temperature", "1.2", "--top-k", "20", "--top-p", "0.9", "--min-p",
             "0.01", "--repetition-penalty", "1.2"),
            {"n": 12, "temperature": 1.2, "top_k": 20, "top_p": 0.9, "min_p": 0.01,
             "repetition_penalty": 1.2},
        ),
        (("-n", "30", "--stop", "."), {"n": 30, "stop": "."}),
        (("-n", "8", "--beams", "3"), {"n": 8, "beams": 3}),
        (("-n", "8", "--temperature", "0", "--cache-dtype", "i8"),
         {"n": 8, "temperature": 0, "cache_dtype": "int8"}),
    ],
)  # fmt: skip
def test_it_is_the_programs(tales, options, settings):
    theirs = generated(*options)
    writing = tales.generate(PROMPT, **settings)
    tokens = list(writing)
    assert writing.text == theirs["text"] == "".join(token.text for token in tokens)
    assert writing.stopped == theirs["stopped"]
    assert [token.id for token in tokens] == [token["id"] for token in theirs["tokens"]]
    assert [t.bytes.decode() for t in tokens] == [token["text"] for token in theirs["tokens"]]
    for ours, token in zip(tokens, theirs["tokens"]):
        assert ours.probability == pytest.approx(token["probability"], rel=1e-4)
        assert ours.entropy == pytest.approx(token["entropy"], rel=1e-4)
    if "beams" in settings:
        assert writing.scores == [pytest.approx(theirs["score"], rel=1e-5)]


@pytest.fixture
def folder(tales, tmp_path):
    """The built-in model with a generation_config.json of the test's."""

    def made(**config):
        path = tmp_path / "model"
        shutil.copytree(tales.folder, path)
        (path / "generation_config.json").write_text(json.dumps(config))
        return path

    return made


@pytest.mark.parametrize(
    "options, settings",
    [
        ((), {}),
        (("--beams", "2"), {"beams": 2}),
        (("--seed", "3"), {"seed": 3}),
        (("--temperature", "0", "--no-repeat-ngram", "0"), {"temperature": 0, "no_repeat_ngram": 0}),
        (("--repetition-penalty", "1", "--stop", ","), {"repetition_penalty": 1.0, "stop": ","}),
        (("--length-penalty", "0.2"), {"length_penalty": 0.2}),
    ],
)  # fmt: skip
def test_it_follows_the_folder_as_the_program_does(folder, options, settings):
    path = folder(num_beams=3, no_repeat_ngram_size=2, repetition_penalty=1.4, temperature=0.5,
                  length_penalty=2.0, stop_strings=[" he"])  # fmt: skip
    theirs = generated("-n", "12", "--model", str(path), *options)
    writing = heed.load(path).generate(PROMPT, n=12, **settings)
    assert writing.run() == theirs["text"]
    assert [token.id for token in writing.tokens] == [token["id"] for token in theirs["tokens"]]
    assert writing.stopped == theirs["stopped"]
    score = theirs.get("score")
    assert writing.scores[0] == (None if score is None else pytest.approx(score, rel=1e-5))


def test_a_folder_may_ask_for_greedy_texts(folder, tales):
    greedy = heed.load(folder(do_sample=False)).generate(PROMPT, n=10)
    assert greedy.run() == tales.generate(PROMPT, n=10, temperature=0).run()
    assert tales.generate(PROMPT, n=10, beams=1).run() == greedy.text


def test_what_is_not_followed_is_warned_of(folder):
    model = heed.load(folder(typical_p=0.5, guidance_scale=2.0))
    with pytest.warns(UserWarning, match="asks for typical_p, guidance_scale, which heed does not"):
        model.generate(PROMPT, n=1)


def test_a_folders_number_that_is_out_of_range_is_named_with_its_file(folder):
    model = heed.load(folder(temperature=-1))
    with pytest.raises(ValueError, match=r"generation_config.json: line 1, column \d+: temperature is -1"):
        model.generate(PROMPT)
    assert model.generate(PROMPT, n=2, temperature=0).run()


def test_run_goes_to_the_end(tales):
    writing = tales.generate(PROMPT, n=10, temperature=0)
    assert writing.stopped is None and writing.text == ""
    text = writing.run()
    assert text == writing.text and writing.stopped == "length" and len(writing.tokens) == 10
    assert list(writing) == []
    assert "10 tokens, ended" in repr(writing)


def test_leaving_the_loop_ends_the_work(tales):
    writing = tales.generate(PROMPT, n=400, stop_at_end=False)
    for _ in writing:
        if len(writing.tokens) == 3:
            break
    assert len(writing.tokens) == 3 and writing.stopped is None
    writing.close()
    assert list(writing) == [] and len(writing.tokens) == 3
    assert [token.row for token in writing.tokens] == [0, 0, 0]


def test_prompts_side_by_side_get_the_texts_that_they_get_alone(tales):
    prompts = [PROMPT, "The king had a daughter", "A dog"]
    together = tales.generate(prompts, n=10, seed=3)
    texts = together.run()
    assert {token.row for token in together.tokens} == {0, 1, 2}
    assert texts == [tales.generate(each, n=10, seed=3).run() for each in prompts]
    assert together.stopped == ["length"] * 3


def test_ids_are_prompts_too(tales):
    ids = tales.tokenizer.encode(PROMPT).ids
    assert tales.generate(ids, n=5).run() == tales.generate(PROMPT, n=5).run()
    assert tales.generate([ids, PROMPT], n=5).run() == [tales.generate(ids, n=5).run()] * 2


def test_an_encoder_decoder_answers():
    folder = real_model("aren-transliteration")
    model = heed.load(folder)
    for settings in ({"temperature": 0}, {"beams": 4}):
        writing = model.generate(["آ ت ز م و ن", "آ ز ا"], n=20, **settings)
        assert [text.split() for text in writing.run()] == [list("atzmon"), list("azza")]
        assert writing.stopped == ["end", "end"]


def test_a_character_of_several_tokens_comes_as_a_whole(tales):
    prompt = tales.tokenizer.encode("猫").ids
    writing = tales.generate(prompt, n=20, temperature=2.0, seed=5)
    for token in writing:
        token.text.encode()
    assert writing.text == "".join(token.text for token in writing.tokens)


BAD = {
    "n": (dict(n=0), ValueError, "n is 0, expected at least 1"),
    "temperature": (dict(temperature=-1), ValueError, "temperature is -1"),
    "top_k": (dict(top_k=0), ValueError, "top_k is 0, expected at least 1$"),
    "top_k below": (dict(top_k=-1), ValueError, "top_k is -1, expected at least 1$"),
    "top_k kind": (dict(top_k=2.5), TypeError, "top_k is a float, expected a whole number"),
    "top_p": (dict(top_p=2), ValueError, "top_p is 2"),
    "kind": (dict(top_p="much"), TypeError, "top_p is much, expected a number"),
    "seed": (dict(seed=-1), TypeError, "seed is -1, expected a whole number from 0"),
    "stop": (dict(stop=""), ValueError, "stop is empty"),
    "no effect": (dict(temperature=0, top_p=0.5), ValueError, "top_p is without effect, expected "
                  "a temperature above 0"),
    "search": (dict(beams=2, temperature=1.0), ValueError, "temperature is without effect, "
               "expected no beams"),
    "no search": (dict(length_penalty=2.0), ValueError, "expected beams above 1 beside it"),
    "cache": (dict(cache_dtype="f4"), ValueError, "cache_dtype is 'f4', expected one of 'float32'"),
    "unknown": (dict(temprature=1), TypeError, "unexpected keyword argument 'temprature'"),
    "prompt": (dict(prompt=5.5), TypeError, "prompt is a float, expected"),
    "number": (dict(prompt=5), TypeError, "prompt is an int, expected a str, a list of ids, or a list of messages"),
    "numbers": (dict(prompt=["a", 5]), TypeError, "prompt is an int, expected a str"),
    "no prompt": (dict(prompt=None), TypeError, "prompt is a NoneType, expected a str, a list of ids"),
    "no stop": (dict(stop=5), TypeError, "stop is an int, expected a str, or a list of them"),
    "empty": (dict(prompt=[]), ValueError, "prompt is empty"),
    "surrogate": (dict(prompt="\ud800"), ValueError, "prompt is not valid Unicode"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input(tales, name):
    settings, kind, text = BAD[name]
    with pytest.raises(kind, match=text):
        tales.generate(**{"prompt": PROMPT, **settings})


def test_without_a_top_k_all_tokens_may_come(tales):
    everything = tales.info.vocabulary
    drawn = tales.generate(PROMPT, n=10, seed=2, top_k=None).run()
    assert drawn == tales.generate(PROMPT, n=10, seed=2, top_k=everything).run()


def test_a_generation_keeps_its_model():
    writing = heed.load().generate(PROMPT, n=5)
    assert len(list(writing)) == 5


def test_two_threads_may_take_from_one_generation(tales):
    writing = tales.generate(PROMPT, n=60, temperature=0)
    taken = []
    threads = [threading.Thread(target=lambda: taken.extend(writing)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 60
    assert writing.text == tales.generate(PROMPT, n=60, temperature=0).run()


def test_ctrl_c_ends_a_generation(tales):
    class Stop(Exception):
        pass

    def handler(*_):
        raise Stop

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    writing = tales.generate([PROMPT] * 8, n=400, stop_at_end=False)
    try:
        with pytest.raises(Stop):
            while True:
                writing.run()
                writing = tales.generate([PROMPT] * 8, n=400, stop_at_end=False)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


CHAT = (
    "{{ '<s>' }}{% for m in messages %}{{ m.role }}: {{ m.content | trim }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)


@pytest.fixture(scope="module")
def chatty(tmp_path_factory):
    """The built-in model with a chat template."""
    folder = tmp_path_factory.mktemp("models") / "chatty"
    shutil.copytree(next(each.folder for each in heed.models() if each.name == "tales"), folder)
    (folder / "chat_template.jinja").write_text(CHAT)
    return heed.load(folder)


def test_a_chat_is_the_text_of_its_template(chatty):
    messages = [{"role": "user", "content": " Who is the king? "}]
    text = chatty.chat_text(messages)
    assert text == "<s>user: Who is the king?\nassistant:"
    unanswered = chatty.chat_text(messages, add_generation_prompt=False)
    assert unanswered == text.removesuffix("assistant:")
    assert chatty.chat_text(messages, template="{{ messages | length }}") == "1"
    ids = chatty.tokenizer.encode(text, special=False).ids
    written = chatty.generate(messages, n=8, seed=1)
    written.run()
    of_ids = chatty.generate(ids, n=8, seed=1)
    of_ids.run()
    assert written.text == of_ids.text
    both = chatty.generate([messages, messages], n=4, temperature=0)
    both.run()
    assert len(both.texts) == 2 and both.texts[0] == both.texts[1]


def test_a_model_without_a_chat_template_says_so(tales):
    with pytest.raises(FileNotFoundError, match="has no chat template, expected chat_template.jinja"):
        tales.chat_text([{"role": "user", "content": "Why?"}])
