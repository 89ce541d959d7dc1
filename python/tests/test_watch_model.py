"""`heed.transformers.watch` and what is around it: the model, threads, errors."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest
from conftest import peer

torch = peer("torch")
transformers = peer("transformers")

from architectures import DECODERS, OTHERS, PAIRS  # noqa: E402
from watched import close, watch_pass, weights_of  # noqa: E402

from heed.transformers import watch  # noqa: E402


def test_the_model_is_left_as_it_is(llama, ids):
    functions = transformers.AttentionInterface.get_interface
    clip = OTHERS["clip"].made("sdpa")
    with pytest.raises(ZeroDivisionError), watch(clip), watch(llama):
        assert clip.config.vision_config._attn_implementation == "sdpa"
        assert llama.config._attn_implementation == "eager"
        raise ZeroDivisionError
    assert not llama._forward_pre_hooks and not clip._forward_pre_hooks
    assert transformers.AttentionInterface.get_interface is functions
    assert "__getitem__" not in vars(transformers.AttentionInterface)


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
    seen = watch_pass(model, ids)
    wanted = weights_of(model, 1, input_ids=ids)
    del model
    gc.collect()
    assert close(seen.attention(1).weights, wanted)


def test_what_nobody_holds_is_freed_at_once(llama, ids):
    gc.disable()
    try:
        seen = watch_pass(llama, ids)
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
    seen = watch_pass(llama, ids)
    with pytest.raises(kind) as caught:
        ask(seen)
    assert line in str(caught.value)


def test_of_several_stacks_one_is_named():
    model = PAIRS["bart"].made()
    seen = watch_pass(model, **PAIRS["bart"].inputs())
    with pytest.raises(
        LookupError,
        match='this model has the stacks "encoder", "decoder" and "cross": pass stack="decoder"',
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
