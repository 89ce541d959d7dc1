"""What `heed.transformers.watch` keeps of a model, and what can be asked of it."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest
from conftest import peer

torch = peer("torch")
transformers = peer("transformers")

from architectures import ALL, DECODERS, ENCODERS, OTHERS, PAIRS  # noqa: E402

import heed  # noqa: E402
from heed.transformers import SeenModel, watch  # noqa: E402


@pytest.fixture
def llama():
    return DECODERS["llama"].made()


@pytest.fixture
def ids():
    return DECODERS["llama"].inputs()["input_ids"]


def weights_of(model, layer, **inputs):
    with torch.no_grad():
        return model(**inputs, output_attentions=True).attentions[layer].numpy()


def close(found, wanted, bound=1e-5):
    return np.asarray(found).shape == wanted.shape and abs(np.asarray(found) - wanted).max() < bound


# --- the object


def test_an_attention_is_what_heed_attention_gives(llama, ids):
    with watch(llama) as seen, torch.no_grad():
        llama(ids)
    attention = seen.attention(1)
    assert isinstance(seen, SeenModel) and isinstance(attention, heed.Seen)
    weights = np.asarray(attention.weights)
    assert close(weights, weights_of(llama, 1, input_ids=ids))
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    assert close(attention.entropy(), -(weights * logs).sum(-1))
    assert isinstance(attention.weights[0, 3, 9], torch.Tensor)
    assert attention.top_k(2)[1].shape == (2, 4, 11, 2)
    dout = torch.ones(2, 4, 11, 8)
    assert [each.shape[1] for each in attention.backward(dout)] == [4, 2, 2]
    assert seen.attention(1) is attention


def test_what_it_says_of_itself(llama, ids):
    with watch(llama) as seen, torch.no_grad():
        assert repr(seen) == "<heed.transformers.SeenModel of LlamaForCausalLM: nothing ran>"
        llama(ids)
    assert repr(seen) == "<heed.transformers.SeenModel of LlamaForCausalLM: 2 layers of decoder>"


def test_memory_is_linear_in_the_length():
    model = DECODERS["gpt2"].made()
    kept = []
    for length in (16, 32, 64):
        with watch(model) as seen, torch.no_grad():
            model(DECODERS["gpt2"].inputs(length=length)["input_ids"])
        kept.append(seen.nbytes)
    # 2 sequences, 2 layers: q, k and v of 32 numbers and two numbers a head
    assert kept == [2 * 2 * length * 4 * (3 * 32 + 2 * 4) for length in (16, 32, 64)]


def test_stacks_and_layers_have_names():
    stacks = {}
    for name in ("gpt2", "bert", "albert", "marian", "clip", "vit"):
        model = ALL[name].made()
        with watch(model) as seen, torch.no_grad():
            model(**ALL[name].inputs())
        stacks[name] = seen.stacks
    assert stacks == {
        "gpt2": {"decoder": [0, 1]},
        "bert": {"encoder": [0, 1]},
        "albert": {"encoder": [0, 1]},
        "marian": {"encoder": [0, 1], "decoder": [0, 1], "cross": [0, 1]},
        "clip": {"text_model": [0, 1], "vision_model": [0, 1]},
        "vit": {"encoder": [0, 1]},
    }


def test_a_decoder_that_reads_an_encoder():
    """BERT in both places, as EncoderDecoderModel has it."""
    model = transformers.EncoderDecoderModel(
        encoder=transformers.BertModel(transformers.BertConfig(**ENCODERS["bert"].config)),
        decoder=transformers.BertLMHeadModel(
            transformers.BertConfig(
                **ENCODERS["bert"].config, is_decoder=True, add_cross_attention=True
            )
        ),
    ).eval()
    model.set_attn_implementation("eager")
    with torch.no_grad():
        inputs = PAIRS["bart"].inputs()
        wanted = model(**inputs, output_attentions=True)
        with watch(model) as seen:
            model(**inputs)
    for stack in ("encoder", "decoder", "cross"):
        for layer, weights in enumerate(wanted[f"{stack}_attentions"]):
            assert close(seen.attention(layer, stack).weights, weights.numpy())


def test_a_picture_in_a_text():
    """Its tokens see each other, and the layers of the text stay one stack."""
    text = DECODERS["gemma3"].config
    config = transformers.Gemma3Config(
        text_config=text, vision_config=OTHERS["vit"].config | {"vision_use_head": False},
        image_token_id=98, mm_tokens_per_image=4,
    )  # fmt: skip
    model = transformers.Gemma3ForConditionalGeneration(config).eval()
    model.set_attn_implementation("eager")
    ids = torch.arange(10, 30)[None]
    ids[0, 5:9] = 98
    inputs = {
        "input_ids": ids, "pixel_values": OTHERS["vit"].inputs(batch=1)["pixel_values"],
        "attention_mask": torch.ones_like(ids), "token_type_ids": (ids == 98).long(),
    }  # fmt: skip
    with torch.no_grad():
        wanted = model(**inputs, output_attentions=True)
        with watch(model) as seen:
            found = model(**inputs)
    assert close(found.logits, wanted.logits.numpy(), 1e-4)
    assert seen.stacks == {"encoder": [0, 1], "decoder": [0, 1]}
    for layer in range(2):
        weights = wanted.attentions[layer].numpy()
        assert close(seen.attention(layer, "decoder").weights, weights)
        assert (weights[0, :, 5, 5:9] > 0).all()


def test_each_text_of_one_watch_is_kept(llama, ids):
    with watch(llama) as seen, torch.no_grad():
        llama(ids[:1])
        llama(ids[1:, :7])
    assert close(seen.attention(0, text=0).weights, weights_of(llama, 0, input_ids=ids[:1]))
    assert close(seen.attention(0).weights, weights_of(llama, 0, input_ids=ids[1:, :7]))
    assert seen.tokens(text=-2) == ids[:1].tolist()
    with pytest.raises(LookupError, match="text is 2, expected -2 to 1"):
        seen.attention(0, text=2)


def test_tokens_are_words_where_there_is_a_tokenizer(llama, ids):
    class Tokenizer:
        def convert_ids_to_tokens(self, ids):
            return [f"word {each}" for each in ids]

    with watch(llama, Tokenizer()) as seen, torch.no_grad():
        llama(ids)
    assert seen.tokens()[1][:2] == [f"word {each}" for each in ids[1, :2].tolist()]
    pictures = OTHERS["vit"].made()
    with watch(pictures) as seen, torch.no_grad():
        pictures(**OTHERS["vit"].inputs())
    assert seen.tokens() is None


def test_heads_have_scores(llama, ids):
    mask = torch.ones_like(ids)
    mask[1, :4] = 0
    with watch(llama) as seen, torch.no_grad():
        llama(ids, attention_mask=mask)
    table = seen.heads()
    rows = table if isinstance(table, list) else table.to_dict("records")
    assert len(rows) == 2 * 4
    weights = weights_of(llama, 1, input_ids=ids, attention_mask=mask)[:, 2]
    real = [weights[0], weights[1, 4:]]
    row = rows[4 + 2]
    assert (row["stack"], row["layer"], row["head"]) == ("decoder", 1, 2)
    entropy = sum(-(w * np.log(np.where(w > 0, w, 1))).sum() for w in real) / 18
    assert row["entropy"] == pytest.approx(entropy, abs=1e-5)
    assert row["largest"] == pytest.approx(sum(w.max(1).sum() for w in real) / 18, abs=1e-5)
    parts = [weights[0], weights[1, 4:, 4:]]

    def mean(cells):
        return pytest.approx(np.concatenate([cells(part) for part in parts]).mean(), abs=1e-5)

    assert row["previous"] == mean(lambda part: part.diagonal(-1))
    assert row["current"] == mean(lambda part: part.diagonal()[1:])
    assert row["sink"] == mean(lambda part: part[1:, 0])
    distance = abs(np.subtract.outer(np.arange(11), np.arange(11)))
    assert row["distance"] == mean(lambda part: (part * distance[: len(part), : len(part)]).sum(1))
    assert row["next"] == 0


def test_heads_of_an_encoder_leave_padding_out():
    model = ENCODERS["bert"].made()
    inputs = ENCODERS["bert"].inputs()
    inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    inputs["attention_mask"][1, 7:] = 0
    with watch(model) as seen, torch.no_grad():
        model(**inputs)
    table = seen.heads()
    rows = table if isinstance(table, list) else table.to_dict("records")
    weights = weights_of(model, 0, **inputs)[:, 1]
    parts = [weights[0], weights[1, :7, :7]]
    following = np.concatenate([part.diagonal(1) for part in parts]).mean()
    assert rows[1]["next"] == pytest.approx(following, abs=1e-5)
    entropy = sum(-(part * np.log(part)).sum() for part in parts) / 18
    assert rows[1]["entropy"] == pytest.approx(entropy, abs=1e-5)


def test_heads_of_a_translation():
    model = PAIRS["marian"].made()
    with watch(model) as seen, torch.no_grad():
        model(**PAIRS["marian"].inputs())
    table = seen.heads()
    rows = table if isinstance(table, list) else table.to_dict("records")
    assert [row["stack"] for row in rows] == ["encoder"] * 8 + ["decoder"] * 8 + ["cross"] * 8
    assert np.isnan(rows[-1]["previous"]) and rows[-1]["entropy"] > 0
    assert len(seen.heads("cross")) == 8


def test_a_look_is_a_session_of_one_sequence(monkeypatch):
    """What is handed to heed.Session."""
    given = {}

    class Session:
        @staticmethod
        def from_seen(stacks, **settings):
            given.update(settings, stacks=stacks)

    monkeypatch.setattr(heed, "Session", Session, raising=False)
    model = PAIRS["marian"].made()
    inputs = PAIRS["marian"].inputs()
    inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    inputs["attention_mask"][1, 8:] = 0
    with watch(model) as seen, torch.no_grad():
        model(**inputs)
    seen.look(sequence=1)
    assert list(given["stacks"]) == ["encoder", "decoder", "cross"]
    assert given["tokens"] == inputs["decoder_input_ids"][1].tolist()
    assert given["key_tokens"] == inputs["input_ids"][1, :8].tolist()
    whole = np.asarray(seen.attention(1, "cross").weights)[1:, :, :, :8]
    assert close(given["stacks"]["cross"][1].weights, whole, 1e-7)


# --- caches


def test_the_past_of_a_static_cache_is_kept(llama, ids):
    settings = {"max_new_tokens": 5, "min_new_tokens": 5, "do_sample": False}
    with watch(llama) as seen, torch.no_grad():
        found = llama.generate(
            ids[:1], cache_implementation="static", disable_compile=True, **settings
        )
        first = np.asarray(seen.attention(0).weights)
        llama.generate(ids[1:], cache_implementation="static", disable_compile=True, **settings)
    wanted = weights_of(llama, 0, input_ids=found[:, :-1])
    assert close(first, wanted) and close(seen.attention(0, text=0).weights, wanted)
    assert seen.nbytes < 2 * 2 * 15 * 4 * (32 + 2 * 16 + 2 * 4) * 1.01


@pytest.mark.parametrize("implementation", ["dynamic", "static"])
def test_keys_that_left_a_window_stay(implementation):
    model = DECODERS["mistral"].made()
    ids = DECODERS["mistral"].inputs(batch=1)["input_ids"]
    with watch(model) as seen, torch.no_grad():
        found = model.generate(
            ids, max_new_tokens=12, min_new_tokens=12, do_sample=False,
            cache_implementation=implementation, disable_compile=True,
        )  # fmt: skip
    assert seen.attention(1).shape == (1, 4, 22, 22)
    assert close(seen.attention(1).weights, weights_of(model, 1, input_ids=found[:, :-1]))


def test_a_beam_search_begins_anew_where_beams_change_places(llama, ids):
    with watch(llama) as seen, torch.no_grad():
        llama.generate(ids, num_beams=3, max_new_tokens=6, min_new_tokens=6)
    queries = [run.queries for run in seen._runs[next(iter(seen._runs))][1]]
    assert queries[0].start == 0 and queries[-1].stop == 16
    last = seen.attention(1)
    assert last.shape[2] == len(queries[-1]) and last.shape[3] == 16
    sums = np.asarray(last.weights).sum(-1)
    np.testing.assert_allclose(sums, 1, atol=1e-5)


def test_tokens_that_were_only_tried_are_taken_back(llama, ids):
    with watch(llama) as seen, torch.no_grad():
        cache = llama(ids[:, :6], use_cache=True).past_key_values
        llama(ids[:, :3] + 1, past_key_values=cache)
        cache.crop(-3)
        llama(ids[:, 6:], past_key_values=cache)
    assert seen.tokens() == ids.tolist()
    assert close(seen.attention(1).weights, weights_of(llama, 1, input_ids=ids))


def test_a_prompt_in_parts(llama, ids):
    with watch(llama) as seen, torch.no_grad():
        cache = llama(ids[:, :4], use_cache=True).past_key_values
        llama(ids[:, 4:9], past_key_values=cache)
        llama(ids[:, 9:], past_key_values=cache)
    assert close(seen.attention(1).weights, weights_of(llama, 1, input_ids=ids))


@pytest.mark.parametrize("added", [False, True])
def test_a_prompt_in_parts_with_masks_of_ones_own(llama, ids, added):
    allowed = torch.ones(11, 11, dtype=torch.bool).tril().expand(2, 1, 11, 11).clone()
    allowed[1, :, 5:, 2:4] = False
    mask = torch.where(allowed, 0.0, torch.finfo(torch.float32).min)
    given = mask if added else allowed
    with watch(llama) as seen, torch.no_grad():
        cache = llama(ids[:, :6], attention_mask=given[:, :, :6, :6], use_cache=True)
        llama(
            ids[:, 6:], attention_mask=given[:, :, 6:], past_key_values=cache.past_key_values,
            position_ids=torch.arange(6, 11)[None],
        )  # fmt: skip
    wanted = weights_of(llama, 1, input_ids=ids, attention_mask=mask)
    assert close(seen.attention(1).weights, wanted)


def test_a_watch_may_begin_behind_a_prompt(llama, ids):
    with torch.no_grad():
        cache = llama(ids[:, :6], use_cache=True).past_key_values
        with watch(llama) as seen:
            llama(ids[:, 6:], past_key_values=cache)
    wanted = weights_of(llama, 1, input_ids=ids)[:, :, 6:]
    assert close(seen.attention(1).weights, wanted)


def test_beams_are_eagers(llama, ids):
    settings = {"num_beams": 3, "max_new_tokens": 6, "min_new_tokens": 6}
    with torch.no_grad():
        wanted = llama.generate(ids, **settings)
        llama.set_attn_implementation("heed")
        assert torch.equal(llama.generate(ids, **settings), wanted)


def test_guesses_from_the_prompt(llama):
    ids = torch.tensor([[5, 6, 7, 8, 5, 6, 7, 8, 5, 6, 7]])
    with watch(llama) as seen, torch.no_grad():
        found = llama.generate(
            ids, prompt_lookup_num_tokens=3, max_new_tokens=8, min_new_tokens=8, do_sample=False
        )
    tokens = torch.tensor(seen.tokens())
    length = seen.attention(1).shape[2]
    assert length >= 18 and torch.equal(tokens[:, :18], found[:, :18])
    wanted = weights_of(llama, 1, input_ids=tokens)
    assert close(seen.attention(1).weights, wanted)


# --- around the model


def test_a_model_loaded_otherwise_is_put_back(llama, ids):
    with watch(llama):
        assert llama.config._attn_implementation == "heed"
    assert llama.config._attn_implementation == "eager"
    clip = OTHERS["clip"].made("sdpa")
    with pytest.raises(ZeroDivisionError), watch(clip):
        assert clip.config.vision_config._attn_implementation == "heed"
        raise ZeroDivisionError
    assert clip.config.vision_config._attn_implementation == "sdpa"
    assert clip.text_model.config._attn_implementation == "sdpa"
    assert not llama._forward_pre_hooks and not clip._forward_pre_hooks


def test_what_ran_before_an_exception_stays(llama, ids):
    with pytest.raises(ZeroDivisionError), watch(llama) as seen, torch.no_grad():
        llama(ids)
        raise ZeroDivisionError
    assert close(seen.attention(0).weights, weights_of(llama, 0, input_ids=ids))
    with torch.no_grad():
        llama(ids)
    assert seen.stacks == {"decoder": [0, 1]} and len(seen._runs.popitem()[1][0]) == 1


def test_watches_may_be_nested(llama, ids):
    other = DECODERS["gpt2"].made()
    with torch.no_grad(), watch(llama) as outer:
        llama(ids)
        with watch(llama) as inner, watch(other) as of_other:
            llama(ids[:, :5])
            other(ids)
        llama(ids[:, :3])
    lengths = [outer.attention(0, text=text).shape[2] for text in range(3)]
    assert lengths == [11, 5, 3]
    assert inner.attention(0).shape[2] == 5
    assert of_other.attention(0).shape[2] == 11
    assert llama.config._attn_implementation == "eager"


def test_threads_do_not_mix(llama):
    texts = [torch.randint(3, 90, (1, length)) for length in range(4, 12)]
    found = [None] * len(texts)

    def look(index):
        with watch(llama) as seen, torch.no_grad():
            for _ in range(3):
                llama(texts[index])
        found[index] = seen

    threads = [threading.Thread(target=look, args=(index,)) for index in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seen, text in zip(found, texts):
        assert len(next(iter(seen._runs.values()))[0]) == 3
        for again in range(3):
            wanted = weights_of(llama, 1, input_ids=text)
            assert close(seen.attention(1, text=again).weights, wanted)
    assert llama.config._attn_implementation == "eager"


def test_inference_mode(llama, ids):
    with watch(llama) as seen, torch.inference_mode():
        llama(ids)
    assert close(seen.attention(1).weights, weights_of(llama, 1, input_ids=ids))
    assert len(seen.heads()) == 8


def test_what_was_seen_outlives_the_model(ids):
    model = DECODERS["llama"].made()
    with watch(model) as seen, torch.no_grad():
        model(ids)
    wanted = weights_of(model, 1, input_ids=ids)
    del model
    gc.collect()
    assert close(seen.attention(1).weights, wanted)


def test_what_nobody_holds_is_freed_at_once(llama, ids):
    gc.disable()
    try:
        with watch(llama) as seen, torch.no_grad():
            llama(ids)
        of_the_watch = weakref.ref(seen)
        del seen
        assert of_the_watch() is None
    finally:
        gc.enable()


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_what_checkpointing_computes_again_is_not_seen_again(llama, ids):
    llama.train()
    llama.gradient_checkpointing_enable()
    with watch(llama) as seen:
        llama(ids, labels=ids).loss.backward()
    (runs,) = seen._runs.values()
    assert [len(each) for each in runs.values()] == [1, 1]
    assert llama.model.layers[0].self_attn.q_proj.weight.grad.abs().max() > 0


def test_without_a_watch_nothing_is_kept(llama, ids):
    llama.set_attn_implementation("heed")

    def living():
        gc.collect()
        return sum(type(each) is torch.Tensor for each in gc.get_objects())

    with torch.no_grad():
        llama(ids)
        before = living()
        for _ in range(20):
            llama(ids)
    assert living() <= before


@pytest.mark.parametrize(
    "ask, kind, line",
    [
        (lambda seen: seen.attention(2), LookupError, "seen: layer is 2, expected one of 0, 1"),
        (
            lambda seen: seen.attention(0, stack="cross"),
            LookupError,
            'seen: stack is "cross", expected one of "decoder"',
        ),
        (lambda seen: seen.heads("encoder"), LookupError, 'stack is "encoder", expected one of'),
    ],
)
def test_what_is_not_there_is_named(llama, ids, ask, kind, line):
    with watch(llama) as seen, torch.no_grad():
        llama(ids)
    with pytest.raises(kind) as caught:
        ask(seen)
    assert line in str(caught.value)


def test_of_several_stacks_one_is_named():
    model = PAIRS["bart"].made()
    with watch(model) as seen, torch.no_grad():
        model(**PAIRS["bart"].inputs())
    with pytest.raises(
        LookupError,
        match='stack is not given, expected one of "encoder", "decoder", "cross"',
    ):
        seen.attention(0)


def test_a_model_that_did_not_run_is_said(llama):
    with watch(llama) as seen:
        pass
    with pytest.raises(ValueError, match="a LlamaForCausalLM that did not run, expected a forward"):
        seen.attention(0)


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match="model is a Linear, expected a model of transformers"):
        with watch(torch.nn.Linear(2, 2)):
            pass
