"""Masks that models of transformers hand around: rules, and tensors where a model wants one."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import peer

torch = peer("torch")
transformers = peer("transformers")

from architectures import DECODERS  # noqa: E402
from transformers import masking_utils  # noqa: E402

import heed  # noqa: E402
from heed.transformers import Pattern, attention, mask  # noqa: E402


def visible(pattern):
    """What heed makes of a pattern, [B, 1, Tq, Tk]."""
    q = torch.zeros(pattern.shape[0], 1, pattern.shape[2], 2)
    k = torch.zeros(pattern.shape[0], 1, pattern.shape[3], 2)
    _, seen = heed.attention(q, k, k, seen=True, **pattern.settings)
    return torch.from_numpy(np.asarray(seen.weights) > 0)


LEFT = torch.tensor([[1, 1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1, 1]], dtype=torch.bool)
HOLES = torch.tensor([[1, 1, 0, 1, 1, 0, 1, 1], [1, 1, 1, 1, 1, 1, 1, 0]], dtype=torch.bool)
SHORT = LEFT.flip(1)[:, :6]
PACKED = torch.tensor([[0, 1, 2, 0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5, 0, 1]])
NUMBERS = (PACKED == 0).cumsum(1) - 1

RULES = {
    "causal": masking_utils.causal_mask_function,
    "everything": masking_utils.bidirectional_mask_function,
    "window": masking_utils.sliding_window_causal_mask_function(3),
    "both sides": masking_utils.sliding_window_bidirectional_mask_function(2),
    "chunks": masking_utils.chunked_causal_mask_function(3, torch.tensor([0, 2])),
    "packed": masking_utils.packed_sequence_compatibility_function(
        masking_utils.sliding_window_causal_mask_function(3), PACKED, NUMBERS
    ),
    "packed chunks": masking_utils.packed_sequence_compatibility_function(
        masking_utils.chunked_causal_mask_function(2, torch.tensor([0, 0])), PACKED, NUMBERS
    ),
    "pictures": masking_utils.or_masks(
        masking_utils.causal_mask_function, masking_utils.blockwise_overlay(NUMBERS - 1)
    ),
}


@pytest.mark.parametrize(
    "padding", [None, LEFT, HOLES, SHORT], ids=["all", "left", "holes", "short"]
)
@pytest.mark.parametrize("name", RULES)
def test_a_rule_has_the_pairs_of_the_tensor(name, padding):
    pattern = mask(2, 8, 8, mask_function=RULES[name], attention_mask=padding)
    wanted = masking_utils.sdpa_mask(
        2, 8, 8, mask_function=RULES[name], attention_mask=padding, allow_is_causal_skip=False
    )
    assert isinstance(pattern, Pattern)
    assert torch.equal(visible(pattern), wanted)
    assert torch.equal(pattern & True, wanted)


@pytest.mark.parametrize("name", ["causal", "everything", "window", "chunks"])
def test_a_rule_behind_a_cache(name):
    sizes = {"q_length": 3, "kv_length": 6, "q_offset": torch.tensor(5), "kv_offset": 2}
    rule = {"mask_function": RULES[name], "attention_mask": LEFT}
    wanted = masking_utils.sdpa_mask(2, **sizes, **rule, allow_is_causal_skip=False)
    assert torch.equal(visible(mask(2, **sizes, **rule)), wanted)


def test_nothing_is_stored_of_a_pattern():
    pattern = mask(2, 100_000, 100_000)
    assert repr(pattern) == "<heed mask [2, 1, 100000, 100000]: band(left=-1, right=0)>"
    assert pattern.shape == (2, 1, 100_000, 100_000) and pattern.dtype == torch.bool


def test_what_needs_no_mask_gets_none():
    rule = {"mask_function": RULES["everything"], "allow_is_bidirectional_skip": True}
    assert mask(2, 8, 8, **rule) is None
    assert mask(2, 8, 8, attention_mask=torch.ones(2, 8, dtype=torch.bool), **rule) is None
    assert mask(2, 8, 8, attention_mask=LEFT, **rule) is not None


def test_a_function_of_the_users_own_is_a_tensor():
    own = masking_utils.and_masks(RULES["causal"], lambda b, h, i, j: (i + j) % 2 == 0)
    found = mask(2, 8, 8, mask_function=own, use_vmap=True)
    assert type(found) is torch.Tensor and found.shape == (2, 1, 8, 8)
    assert type(mask(2, 8, 8, mask_function=own)) is torch.Tensor


@pytest.mark.parametrize("inference", [False, True])
def test_a_model_may_look_into_it_and_write_to_it(inference):
    q, k = (torch.randn(2, 4, 8, 8) for _ in range(2))
    with torch.inference_mode(inference):
        pattern = mask(2, 8, 8, attention_mask=LEFT)
        assert pattern[1, 0, 7].tolist() == LEFT[1].tolist()
        half = pattern[:, :, :, :4]
        assert type(half) is torch.Tensor and half.shape == (2, 1, 8, 4)
        assert type(pattern.float()) is torch.Tensor
        pattern = mask(2, 8, 8, attention_mask=LEFT)
        before = attention(torch.nn.Module(), q, k, k, pattern)[0]
        pattern[:, :, 5, 4] = False
        after = attention(torch.nn.Module(), q, k, k, pattern)[0]
    assert torch.equal(before[:, :5], after[:, :5]) and not torch.equal(before[:, 5], after[:, 5])


def test_added_to_scores_it_hides():
    pattern = mask(2, 8, 8, attention_mask=LEFT)
    scores = torch.randn(2, 4, 8, 8)
    for sums in (scores + pattern, pattern + scores, scores.clone().add_(pattern)):
        assert torch.equal(sums > -1e30, pattern.dense().expand(2, 4, 8, 8))
        assert torch.equal(sums[0, 0, 7], scores[0, 0, 7])


def test_masks_that_somebody_made():
    """Of bool, and what is added, of rank 4."""
    model = DECODERS["llama"].made()
    inputs = DECODERS["llama"].inputs()
    allowed = torch.ones(11, 11, dtype=torch.bool).tril().expand(2, 1, 11, 11).clone()
    allowed[1, :, 6:, 2:4] = False
    added = torch.where(allowed, 0.0, torch.finfo(torch.float32).min)
    with torch.no_grad():
        wanted = model(**inputs, attention_mask=added).logits
        model.set_attn_implementation("heed")
        for given in (allowed, added):
            torch.testing.assert_close(
                model(**inputs, attention_mask=given).logits, wanted, atol=1e-4, rtol=0
            )


def tensors(device="cpu"):
    return [torch.zeros(1, 2, 3, 4, device=device) for _ in range(3)]


@pytest.mark.parametrize(
    "call, kind, line",
    [
        (
            lambda: mask(2, 8, 8, device="meta"),
            ValueError,
            "the input is on meta, expected the host's memory",
        ),
        (
            lambda: attention(torch.nn.Module(), *tensors("meta"), None),
            ValueError,
            "query is on meta, expected an array in the host's memory",
        ),
        (
            lambda: attention(torch.nn.Module(), tensors()[0], *tensors("meta")[:2], None),
            ValueError,
            "key is on meta, expected an array in the host's memory",
        ),
        (
            lambda: attention(torch.nn.Module(), *tensors(), None, s_aux=torch.zeros(3)),
            ValueError,
            "s_aux is f32 [3], expected a float for each of the 2 heads",
        ),
        (
            lambda: attention(torch.nn.Module(), *tensors(), torch.ones(5, 6).bool()),
            ValueError,
            "attention_mask.shape is [5, ",
        ),
        (
            lambda: attention(torch.nn.Module(), *tensors(), None, position_bias=torch.ones(5, 3)),
            ValueError,
            "position_bias.shape is [5, 3]",
        ),
    ],
)
def test_says_what_does_not_fit(call, kind, line):
    with pytest.raises(kind) as caught:
        call()
    assert line in str(caught.value)


@pytest.mark.parametrize("name", ["indices", "block_indices", "sinks", "cache"])
def test_what_would_change_the_result_is_refused(name):
    with pytest.raises(NotImplementedError, match=f"{name} is given, expected None"):
        attention(torch.nn.Module(), *tensors(), None, **{name: object()})
    attention(torch.nn.Module(), *tensors(), None, **{name: None})


def test_a_mask_copies_what_it_is_made_of():
    """A static cache adds to its position in place, and a packed batch may be filled again."""
    offset, padding, ids = torch.tensor(5), LEFT.clone(), NUMBERS.clone()
    one = mask(1, 1, 7, q_offset=offset)
    others = [
        mask(2, 8, 8, attention_mask=padding),
        mask(2, 8, 8, mask_function=masking_utils.packed_sequence_mask_function(ids)),
        mask(2, 8, 8, mask_function=masking_utils.chunked_causal_mask_function(2, ids[:, 0])),
    ]
    wanted = [mask(2, 8, 8, attention_mask=padding), *others[1:]]
    wanted = [visible(each) for each in wanted]
    offset.add_(1), padding.logical_not_(), ids.add_(torch.arange(8))
    assert one.queries == range(5, 6) and visible(one).sum() == 6
    assert one.dense().sum() == 6
    for found, before in zip(others, wanted):
        assert torch.equal(visible(found), before) and torch.equal(found.dense(), before)


@pytest.mark.parametrize("hidden", [torch.finfo(torch.float32).min, -1e9, -torch.inf])
def test_a_mask_of_large_negative_numbers_is_boolean(monkeypatch, hidden):
    monkeypatch.setattr(heed.torch, "_WORTH_READING", 1)
    given = []
    attend = heed.transformers._attention.attend
    monkeypatch.setattr(
        heed.transformers._attention, "attend",
        lambda *args, **named: given.append(named) or attend(*args, **named),
    )  # fmt: skip
    model = DECODERS["llama"].made()
    ids = torch.arange(10).reshape(2, 5)
    keep = torch.ones(2, 1, 5, 5, dtype=torch.bool).tril()
    added = torch.zeros(keep.shape).masked_fill(~keep, hidden)
    model.set_attn_implementation("heed")
    with torch.no_grad():
        wanted = model(ids).logits
        with heed.transformers.watch(model) as seen:
            torch.testing.assert_close(model(ids, attention_mask=added).logits, wanted)
    assert given and all(named["bias"] is None for named in given)
    assert all(torch.equal(named["keep"], keep) for named in given)
    assert (seen.attention(0).weights[0, 0, 1, 2:] == 0).all()


@pytest.mark.parametrize("tracer", ["trace", "export"])
def test_tracers_see_the_attention_of_a_model(tracer):
    model = DECODERS["llama"].made()
    model.set_attn_implementation("heed")

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids):
            return self.model(ids, use_cache=False).logits

    ids, others = torch.arange(10).reshape(2, 5), torch.arange(10).flip(0).reshape(2, 5)
    with torch.no_grad():
        traced = {
            "trace": lambda: torch.jit.trace(Logits(), ids),
            "export": lambda: torch.export.export(Logits(), (ids,), strict=False).module(),
        }[tracer]()
        torch.testing.assert_close(traced(others), Logits()(others))


def test_a_model_is_compiled_around_the_attention():
    model = DECODERS["llama"].made()
    model.set_attn_implementation("heed")
    ids = torch.arange(10).reshape(2, 5)
    with torch.no_grad():
        wanted = model(ids, use_cache=False).logits
        found = torch.compile(model, backend="eager")(ids, use_cache=False).logits
    torch.testing.assert_close(found, wanted)


def test_forward_mode_through_a_model():
    from torch.autograd import forward_ad

    model = DECODERS["llama"].made().double()
    x = torch.randn(1, 5, model.config.hidden_size, dtype=torch.float64)

    def tangent(implementation):
        model.set_attn_implementation(implementation)
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, torch.ones_like(x))
            return forward_ad.unpack_dual(model(inputs_embeds=dual, use_cache=False).logits).tangent

    torch.testing.assert_close(tangent("heed"), tangent("eager"))
