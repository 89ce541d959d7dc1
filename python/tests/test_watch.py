"""What `heed.transformers.watch` keeps of a model, and what can be asked of it."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import peer, rows_of

torch = peer("torch")
transformers = peer("transformers")

from architectures import ALL, DECODERS, ENCODERS, OTHERS, PAIRS  # noqa: E402
from watched import close, watch_pass, weights_of  # noqa: E402

import heed  # noqa: E402
from heed.transformers import SeenModel, watch  # noqa: E402


def test_an_attention_is_what_heed_attention_gives(llama, ids):
    seen = watch_pass(llama, ids)
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
    assert repr(seen) == "<heed.transformers.SeenModel of LlamaForCausalLM: 2 decoder layers>"


def test_memory_is_linear_in_the_length():
    model = DECODERS["gpt2"].made()
    kept = []
    for length in (16, 32, 64):
        seen = watch_pass(model, DECODERS["gpt2"].inputs(length=length)["input_ids"])
        kept.append(seen.nbytes - 4 * seen.logits().numel())
    # 2 sequences, 2 layers: q, k, v and the output, of 32 numbers each
    assert kept == [2 * 2 * length * 4 * 4 * 32 for length in (16, 32, 64)]


def test_stacks_and_layers_have_names():
    stacks = {}
    for name in ("gpt2", "bert", "albert", "marian", "clip", "vit"):
        model = ALL[name].made()
        seen = watch_pass(model, **ALL[name].inputs())
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


def test_layers_that_a_pass_goes_through_twice_are_layers_of_their_own(llama, ids):
    once = llama.model.layers
    llama.model.layers = torch.nn.ModuleList([*once, *once])
    llama.config.num_hidden_layers = 4
    with watch(llama) as seen, torch.no_grad():
        llama(ids, use_cache=False)
        llama(ids[:, :5], use_cache=False)
    assert seen.stacks == {"decoder": [0, 1, 2, 3]}
    for layer in range(4):
        wanted = weights_of(llama, layer, input_ids=ids, use_cache=False)
        assert close(seen.attention(layer, text=0).weights, wanted)
        assert seen.attention(layer, text=1).shape[2] == 5
        with pytest.raises(LookupError, match="text is 2"):
            seen.attention(layer, text=2)


def test_tokens_are_words_where_there_is_a_tokenizer(llama, ids):
    class Tokenizer:
        def convert_ids_to_tokens(self, ids):
            return [f"word{each}" for each in ids]

    seen = watch_pass(llama, ids, tokenizer=Tokenizer())
    assert seen.tokens()[1][:2] == [f" word{each}" for each in ids[1, :2].tolist()]
    with pytest.raises(TypeError, match="watch: tokenizer is a str, expected a tokenizer"):
        with watch(llama, "gpt2"):
            pass
    pictures = OTHERS["vit"].made()
    seen = watch_pass(pictures, **OTHERS["vit"].inputs())
    assert seen.tokens() is None


def test_heads_have_scores(llama, ids):
    mask = torch.ones_like(ids)
    mask[1, :4] = 0
    seen = watch_pass(llama, ids, attention_mask=mask)
    rows = rows_of(seen.heads())
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


def test_heads_have_the_induction_of_a_session(llama):
    ids = torch.tensor([[5, 6, 7, 8, 5, 6, 7, 8, 9, 5, 5, 6], list(range(20, 32))])
    seen = watch_pass(llama, ids[:1])
    found = [row["induction"] for row in rows_of(seen.heads())]
    assert close(np.array(found), np.array([r["induction"] for r in rows_of(seen.look().heads())]))
    weights = weights_of(llama, 1, input_ids=ids[:1])[0, 2]
    follows = {3: [], 4: [1], 5: [2], 6: [3], 7: [4], 9: [1, 5], 10: [1, 5], 11: [2, 6]}
    assert found[4 + 2] == pytest.approx(
        np.mean([weights[row, keys].sum() for row, keys in follows.items() if keys]), abs=1e-5
    )
    with watch(llama) as both, torch.no_grad():
        llama(ids)  # nothing repeats in the second sequence
    assert close(np.array([row["induction"] for row in rows_of(both.heads())]), np.array(found))
    mask = torch.ones(1, 12, dtype=torch.int64)
    mask[0, :4] = 0
    padded = watch_pass(llama, ids[:1], attention_mask=mask)
    wanted = [row["induction"] for row in rows_of(padded.look().heads())]
    assert close(np.array([row["induction"] for row in rows_of(padded.heads())]), np.array(wanted))
    none = watch_pass(llama, ids[1:])
    assert all(np.isnan(row["induction"]) for row in rows_of(none.heads()))
    model, inputs = PAIRS["marian"].made(), PAIRS["marian"].inputs()
    seen = watch_pass(model, **inputs)
    assert {row["stack"] for row in rows_of(seen.heads()) if np.isnan(row["induction"])} >= {"cross"}


def test_heads_of_an_encoder_leave_padding_out():
    model = ENCODERS["bert"].made()
    inputs = ENCODERS["bert"].inputs()
    inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    inputs["attention_mask"][1, 7:] = 0
    seen = watch_pass(model, **inputs)
    rows = rows_of(seen.heads())
    weights = weights_of(model, 0, **inputs)[:, 1]
    parts = [weights[0], weights[1, :7, :7]]
    following = np.concatenate([part.diagonal(1) for part in parts]).mean()
    assert rows[1]["next"] == pytest.approx(following, abs=1e-5)
    entropy = sum(-(part * np.log(part)).sum() for part in parts) / 18
    assert rows[1]["entropy"] == pytest.approx(entropy, abs=1e-5)


def test_heads_of_a_translation():
    model = PAIRS["marian"].made()
    seen = watch_pass(model, **PAIRS["marian"].inputs())
    rows = rows_of(seen.heads())
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

    monkeypatch.setattr("heed._session.Session", Session)
    model = PAIRS["marian"].made()
    inputs = PAIRS["marian"].inputs()
    inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    inputs["attention_mask"][1, 8:] = 0
    seen = watch_pass(model, **inputs)
    seen.look(sequence=1)
    assert list(given["stacks"]) == ["encoder", "decoder", "cross"]
    assert given["tokens"] == [f" {id}" for id in inputs["decoder_input_ids"][1].tolist()]  # ids stand apart
    assert given["key_tokens"] == [f" {id}" for id in inputs["input_ids"][1, :8].tolist()]
    whole = np.asarray(seen.attention(1, "cross").weights)[1:, :, :, :8]
    assert close(given["stacks"]["cross"][1].weights, whole, 1e-7)
