"""`heed.transformers.watch` over a cache: a prompt, and the tokens that follow."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import peer

torch = peer("torch")
peer("transformers")

from architectures import DECODERS  # noqa: E402
from watched import close, weights_of  # noqa: E402

from heed.transformers import watch  # noqa: E402


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
    of_logits = 4 * seen.logits(0).numel() + 4 * seen.logits(1).numel()
    assert seen.nbytes == 2 * 2 * 15 * 4 * (2 * 32 + 2 * 16) + of_logits


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
    llama.set_attn_implementation("eager" if added else "sdpa")  # eager would add True as 1
    with watch(llama) as seen, torch.no_grad():
        cache = llama(ids[:, :6], attention_mask=given[:, :, :6, :6], use_cache=True)
        llama(
            ids[:, 6:], attention_mask=given[:, :, 6:], past_key_values=cache.past_key_values,
            position_ids=torch.arange(6, 11)[None],
        )  # fmt: skip
    llama.set_attn_implementation("eager")
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
