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
