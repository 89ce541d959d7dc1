"""Scores of heads over many texts with models of transformers."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="skipped: PyTorch is not installed")
transformers = pytest.importorskip("transformers", reason="skipped: transformers is not installed")

import heed  # noqa: E402
import heed.transformers  # noqa: E402

TEXTS = ["The cat sat on the mat.", "A dog ran home.", "The king had a daughter. She was kind."]


@pytest.fixture(scope="module")
def llama(tales):
    """The built-in model, as transformers reads it."""
    model = transformers.AutoModelForCausalLM.from_pretrained(tales.folder, dtype=torch.float32)
    return model, transformers.AutoTokenizer.from_pretrained(tales.folder)


@pytest.fixture(scope="module")
def wanted(llama):
    return heed.heads.score(llama[0], TEXTS, tokenizer=llama[1])


def test_the_scores_are_those_of_heeds_own_model(tales, wanted):
    own = heed.heads.score(tales, TEXTS)
    assert (wanted.count, wanted.heads, wanted.names) == (own.count, own.heads, own.names)
    # heed's own models weigh a value after the output projection, which a watch does not see.
    same = [at for at, name in enumerate(own.names) if not name.startswith("value_")]
    np.testing.assert_allclose(wanted.per_text[:, :, same], own.per_text[:, :, same], atol=1e-4)


def test_texts_that_fail_are_named(llama, wanted):
    model, tokenizer = llama
    found = heed.heads.score(model, [*TEXTS, "", None], tokenizer=tokenizer)
    assert [failed.index for failed in found.failed] == [3, 4]
    assert "text is '', expected at least one token" in found.failed[0].reason
    np.testing.assert_array_equal(found.sum, wanted.sum)


def test_a_long_text_is_cut(llama):
    model, tokenizer = llama
    found = heed.heads.score(model, ["The cat sat on the mat. " * 200], tokenizer=tokenizer)
    assert found.count == 1 and found.failed == []


def test_dropout_is_off_and_the_mode_is_put_back(llama, wanted):
    model, tokenizer = llama
    model.train()
    model.lm_head.eval()
    try:
        model.config.attention_dropout = 0.5
        found = heed.heads.score(model, TEXTS, tokenizer=tokenizer)
        assert model.training and model.model.layers[0].training and not model.lm_head.training
    finally:
        model.config.attention_dropout = 0.0
        model.eval()
    np.testing.assert_array_equal(found.sum, wanted.sum)


def test_threads_give_the_same_bits(llama, wanted):
    model, tokenizer = llama
    with ThreadPoolExecutor(2) as engine:
        found = heed.heads.score(model, TEXTS, tokenizer=tokenizer, engine=engine, batch=1)
    assert found.sum.tobytes() == wanted.sum.tobytes()


@pytest.mark.slow
def test_processes_give_the_same_bits(llama, wanted):
    model, tokenizer = llama
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as engine:
        found = heed.heads.score(model, TEXTS, tokenizer=tokenizer, engine=engine, batch=1)
    assert found.failed == [] and found.sum.tobytes() == wanted.sum.tobytes()


def test_workers_see_the_model_as_it_is_now(llama, wanted):
    model, tokenizer = llama
    layer = model.model.layers[0].self_attn
    before = layer.q_proj.weight.detach().clone()
    with torch.no_grad():
        layer.q_proj.weight.zero_()
    try:
        with ThreadPoolExecutor(1) as engine:
            found = heed.heads.score(model, TEXTS, tokenizer=tokenizer, engine=engine)
    finally:
        layer.q_proj.weight.data.copy_(before)
    uniform = found.mean[:6, found.names.index("normalised_entropy")]
    np.testing.assert_allclose(uniform, 1, atol=1e-5)


def test_a_model_that_cannot_be_sent_is_refused(llama):
    model, tokenizer = llama
    hook = model.register_forward_hook(lambda *_: None)
    try:
        with ThreadPoolExecutor(1) as engine, pytest.raises(NotImplementedError, match="engine=Non"):
            heed.heads.score(model, TEXTS, tokenizer=tokenizer, engine=engine)
    finally:
        hook.remove()


def test_an_encoder_decoder_writes(llama):
    _, tokenizer = llama
    config = transformers.T5Config(
        d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=len(tokenizer),
        decoder_start_token_id=0,
    )  # fmt: skip
    model = transformers.T5ForConditionalGeneration(config)
    model.generation_config.update(max_new_tokens=4, min_new_tokens=4)
    found = heed.heads.score(model, TEXTS, tokenizer=tokenizer)
    assert found.count == 3 and {stack for stack, *_ in found.heads} == {"encoder", "decoder", "cross"}
    is_cross = [stack == "cross" for stack, *_ in found.heads]
    assert (~np.isnan(found.mean[:, found.names.index("coverage")]) == is_cross).all()


def test_the_probe_is_about_that_of_heeds_own_model(tales, llama):
    own, found = heed.heads.probe(tales), heed.heads.probe(llama[0])
    assert (found.period, found.sequences) == (own.period, own.sequences)
    # Other random tokens: means over 1024 rows.
    np.testing.assert_allclose(found.scores, own.scores, atol=0.05)
    assert abs(found.loss_first - own.loss_first) < 0.5
    assert abs(found.loss_repeated - own.loss_repeated) < 0.2
    assert heed.heads.probe(llama[0]).scores.tobytes() == found.scores.tobytes()


def test_the_probe_by_hand(llama):
    model, _ = llama
    found = heed.heads.probe(model, sequences=1, period=3, seed=2)
    special = {model.config.bos_token_id, model.config.eos_token_id, model.config.pad_token_id}
    plain = [id for id in range(model.config.vocab_size) if id not in special]
    once = np.random.default_rng(2).choice(plain, (1, 3))
    ids = torch.from_numpy(np.concatenate([once, once], 1))
    with heed.transformers.watch(model) as seen, torch.no_grad():
        logits = model(ids).logits
    weights = np.asarray(seen.attention(4).weights[0, 5])
    wanted = [np.mean([weights[3 + row, key] for row, key in enumerate(keys)])
              for keys in ([2, 3, 4], [0, 0, 0], [0, 1, 2], [1, 2, 3])]  # fmt: skip
    np.testing.assert_allclose(found.scores[4, 5], wanted, atol=1e-6)
    losses = torch.nn.functional.cross_entropy(logits[0, :-1], ids[0, 1:], reduction="none")
    assert found.loss_first == pytest.approx(float(losses[:3].mean()), rel=1e-4)
    assert found.loss_repeated == pytest.approx(float(losses[3:].mean()), rel=1e-4)


def test_the_probe_of_an_encoder():
    config = transformers.BertConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        vocab_size=50, max_position_embeddings=40,
    )  # fmt: skip
    found = heed.heads.probe(transformers.BertModel(config), sequences=2)
    assert found.period == 20 and found.scores.shape == (2, 2, 4) and found.loss_first is None
    assert len(found.table()) == 4


def test_a_model_inside_of_another(llama, wanted):
    model, tokenizer = llama
    outer = torch.nn.DataParallel(model)
    found = heed.heads.score(outer, TEXTS, tokenizer=tokenizer)
    np.testing.assert_array_equal(found.sum, wanted.sum)
    assert heed.heads.probe(outer, sequences=1, period=4).scores.shape == (6, 6, 4)


def test_bad_input(llama):
    model, tokenizer = llama
    with pytest.raises(TypeError, match="tokenizer is None, expected the tokenizer of the model"):
        heed.heads.score(model, TEXTS)
    with pytest.raises(TypeError, match="model is a Linear"):
        heed.heads.score(torch.nn.Linear(2, 2), TEXTS, tokenizer=tokenizer)
    with pytest.raises(ValueError, match="period is 900, expected 2 to 256"):
        heed.heads.probe(model, period=900)


# --- copying --------------------------------------------------------------------------------------


def copying(name):
    common = dict(vocab_size=50, bos_token_id=0, eos_token_id=0, pad_token_id=0)
    if name == "gpt2":
        config = transformers.GPT2Config(n_embd=32, n_layer=2, n_head=4, **common)
    else:
        config = transformers.LlamaConfig(
            hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            intermediate_size=64, **common,
        )  # fmt: skip
    torch.manual_seed(1)
    return transformers.AutoModelForCausalLM.from_config(config).eval()


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_copy_scores_follow_the_value_to_the_vocabulary(name):
    model = copying(name)
    ids = torch.tensor([[3, 9, 27, 9, 40], [1, 2, 3, 4, 5]])
    with heed.transformers.watch(model) as seen, torch.no_grad():
        model(ids)
    table = heed.heads.copy_scores(model, ids=ids)
    assert len(table) == 8 and list(table.columns) == ["layer", "head", "copy"]
    for at, (layer, head) in enumerate(np.ndindex(2, 4)):
        if name == "gpt2":
            projection = model.transformer.h[layer].attn.c_proj.weight
        else:
            projection = model.model.layers[layer].self_attn.o_proj.weight.T
        v = seen.attention(layer).v
        v = v[:, head // (4 // v.shape[1])]  # Llama has two heads of values
        logits = v @ projection[8 * head : 8 * head + 8] @ model.lm_head.weight.T
        below = (logits < logits.gather(2, ids[..., None])).sum(2) / 49
        assert table["copy"][at] == pytest.approx(float(below.mean()), abs=1e-6)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_head_that_copies_has_a_copy_score_of_1(name):
    model = copying(name)
    with torch.no_grad():
        vocabulary = torch.linalg.qr(torch.randn(50, 32))[0] * 3
        model.lm_head.weight.copy_(vocabulary)
        attention = (model.transformer.h if name == "gpt2" else model.model.layers)[1]
        attention = attention.attn if name == "gpt2" else attention.self_attn
        projection = attention.c_proj.weight if name == "gpt2" else attention.o_proj.weight.T
        seen_ids = torch.tensor([[7, 11, 13, 17]])
        with heed.transformers.watch(model) as seen:
            model(seen_ids)
        v = seen.attention(1).v
        values = v[0, 2 if name == "gpt2" else 1]
        projection[16:24] = torch.linalg.pinv(values) @ (vocabulary[seen_ids[0]] * 5)
    table = heed.heads.copy_scores(model, ids=seen_ids)
    scores = np.asarray(table["copy"]).reshape(2, 4)
    assert scores[1, 2] == 1
    again = heed.heads.copy_scores(model, seed=3)
    assert np.array_equal(again["copy"], heed.heads.copy_scores(model, seed=3)["copy"])


def test_copy_scores_say_what_they_cannot_find():
    with pytest.raises(TypeError, match="copy_scores: model is a str, expected a model of transf"):
        heed.heads.copy_scores("tales")
    bare = transformers.GPT2Model(transformers.GPT2Config(n_embd=32, n_layer=2, n_head=4))
    with pytest.raises(NotImplementedError, match=r"copy_scores: model is a GPT2Model without an"):
        heed.heads.copy_scores(bare)
    model = copying("llama")
    with pytest.raises(ValueError, match=r"copy_scores: ids is \[1, 2\] of torch.float32"):
        heed.heads.copy_scores(model, ids=[0.5, 1.5])
    attention = model.model.layers[1].self_attn
    attention.o_proj = torch.nn.Sequential(attention.o_proj)
    with pytest.raises(NotImplementedError, match="layer 1, a LlamaAttention with q_proj, .* named o_proj"):
        heed.heads.copy_scores(model)
