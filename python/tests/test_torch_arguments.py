"""heed beside PyTorch's attention: which arguments it takes, and how it refuses the others."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="skipped: PyTorch is not installed")

import heed  # noqa: E402
import heed.torch  # noqa: E402
from attended import close, made, masks, ours, qkv, theirs  # noqa: E402


# --- numbers -------------------------------------------------------------------------------------


def test_a_scale_that_requires_grad_is_refused():
    q, k, v = qkv(2, 3)
    scale = torch.tensor(0.5, requires_grad=True)
    with pytest.raises(RuntimeError, match="scale is a tensor that requires grad"):
        ours(q, k, v, scale=scale)
    for name in ("scale", "softcap", "dropout"):
        with pytest.raises(ValueError, match=f"{name} is a tensor that requires grad"):
            heed.attention(q, k, v, seed=1, **{name: scale})
    with pytest.raises(ValueError, match="scale is a tensor that requires grad"):
        heed.attention(q, k, v, scale=[scale] * 3)
    close(ours(q, k, v, scale=scale.detach()), ours(q, k, v, scale=0.5))
    with torch.no_grad():
        close(heed.attention(q, k, v, softcap=scale), heed.attention(q, k, v, softcap=0.5))


WRONG = {
    "is_causal": ["no", 1, 0, None, 1.0, [], torch.tensor(True)],
    "enable_gqa": ["no", 1, None, torch.tensor(True)],
    "dropout_p": [None, "a", 1j, [0.5], np.array(0.5), torch.tensor([0.5]),
                  torch.tensor(0.5, requires_grad=True)],
    "scale": ["a", "1", 1j, (0.5,), np.array([0.5]), torch.tensor([0.5]), torch.tensor([0.5, 1.0])],
}  # fmt: skip


@pytest.mark.parametrize("name, given", [(name, each) for name in WRONG for each in WRONG[name]])
def test_flags_and_numbers_of_another_type_are_refused(name, given):
    tensors = qkv(2, 3)
    with pytest.raises(TypeError):
        theirs(*tensors, **{name: given})
    with pytest.raises(TypeError, match=f"{name} is .*, expected (True or False|a number)") as caught:
        ours(*tensors, **{name: given})
    assert isinstance(caught.value, heed.errors.WrongType) and caught.value.argument == name


NUMBERS = [True, 1, np.float16(1), np.float64(1), np.int64(1), np.True_, torch.tensor(1.0),
           torch.tensor(1), torch.tensor(True)]  # fmt: skip


@pytest.mark.parametrize("one", NUMBERS, ids=repr)
def test_numbers_of_any_kind(one):
    tensors = qkv(2, 3)
    close(ours(*tensors, scale=one), theirs(*tensors, scale=one))
    close(ours(*tensors, dropout_p=one), theirs(*tensors, dropout_p=one))
    close(ours(*tensors, dropout_p=not one), theirs(*tensors))


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), ()], ids=str)
def test_head_size_0(shape):
    q, k, v = (t.requires_grad_() for t in qkv(*shape, d=0))
    close(ours(q, k, v, masks()["floating"]["attn_mask"]), theirs(q, k, v, masks()["floating"]["attn_mask"]))
    ours(q, k, v).sum().backward()
    assert q.grad.shape == q.shape
    close(v.grad, torch.full_like(v, 5 / 7))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_everything_dropped(dtype):
    q, k, v = (t.to(dtype).mul(300).requires_grad_() for t in qkv(2, 3))
    bias = torch.zeros(5, 7, dtype=dtype, requires_grad=True)
    out = ours(q, k, v, bias, dropout_p=1.0)
    assert out.dtype == dtype and out.shape == (2, 3, 5, 6) and (out == 0).all()
    out.sum().backward()
    assert all((t.grad == 0).all() for t in (q, k, v, bias))
    with pytest.raises(ValueError, match=r"key.shape\[3\] is 7, expected 8"):
        ours(q, k[..., :7], v, dropout_p=1.0)
    with pytest.raises(ValueError, match=r"attn_mask.shape is \[5, 6\]"):
        ours(q, k, v, bias[:, :6], dropout_p=1.0)


# --- shapes --------------------------------------------------------------------------------------

BROADCAST = [
    ((5, 8), (2, 3, 7, 8), (2, 3, 7, 6)),
    ((1, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 6)),
    ((3, 5, 8), (2, 1, 7, 8), (2, 3, 7, 6)),
    ((4, 1, 3, 5, 8), (2, 3, 7, 8), (2, 1, 7, 6)),
    ((2, 1, 5, 8), (2, 1, 7, 8), (2, 3, 7, 6)),
    ((5, 8), (7, 8), (3, 7, 6)),
    ((1, 1, 1, 5, 8), (7, 8), (2, 1, 1, 7, 6)),
    ((0, 3, 5, 8), (1, 3, 7, 8), (1, 7, 6)),
]


@pytest.mark.parametrize("shapes", BROADCAST, ids=str)
@pytest.mark.parametrize("has_mask", [False, True])
def test_all_axes_before_the_last_two_broadcast(shapes, has_mask):
    mask = {"attn_mask": made(5, 7, seed=8)} if has_mask else {}
    answers = []
    for function in (ours, theirs):
        tensors = [made(*s, seed=i).requires_grad_() for i, s in enumerate(shapes)]
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            out = function(*tensors, **mask)
            out.square().sum().backward()
        answers.append([out, *(t.grad for t in tensors)])
    for mine, other in zip(*answers):
        close(mine, other)


@pytest.mark.parametrize(
    "shape, of",
    [((3, 1, 5, 7), (3, 2)), ((3, 1, 1, 5, 7), (3, 2, 4)), ((2, 4, 5, 1), (3, 2, 4)), ((4, 1, 7), (3, 2, 4)),
     ((1, 7), (2,)), ((2, 5, 7), (2,)), ((3, 2, 1, 1, 7), (3, 2, 4))],
    ids=str,
)  # fmt: skip
def test_masks_that_broadcast(shape, of):
    tensors = qkv(*of)
    mask = made(*shape)
    close(ours(*tensors, mask), theirs(*tensors, mask))
    close(ours(*tensors, mask > -1), theirs(*tensors, mask > -1).nan_to_num(0))


@pytest.mark.parametrize("shape", [(), (1,), (7,)], ids=str)
@pytest.mark.parametrize("batch", [(), (3,), (2, 3), (2, 3, 4)], ids=str)
def test_masks_of_less_than_two_axes(shape, batch):
    tensors = qkv(*batch)
    mask = made(*shape)
    answers = []
    for function in (ours, theirs):
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            bias = mask.clone().requires_grad_()
            out = function(*(t.requires_grad_() for t in tensors), bias)
            answers.append([out, *torch.autograd.grad(out.square().sum(), [*tensors, bias])])
            for visible in (mask > -1, mask > 9):
                answers[-1].append(function(*tensors, visible).nan_to_num(0))
    for mine, other in zip(*answers):
        close(mine, other)


def test_masks_that_do_not_broadcast_are_refused():
    for shape in ((1, 3, 5, 7), (2, 5, 7), (4, 7), (5,), (0,)):
        with pytest.raises(RuntimeError, match="attn_mask.shape is"):
            ours(*qkv(3), made(*shape))
        with pytest.raises(RuntimeError):
            theirs(*qkv(3), made(*shape))
    with pytest.raises(RuntimeError, match="attn_mask.shape is"):
        ours(*qkv(1, 3), made(2, 3, 5, 7))


@pytest.mark.parametrize("heads", [(8, 2, 4), (8, 4, 2), (6, 3, 2), (8, 8, 1), (4, 1, 4)], ids=str)
@pytest.mark.parametrize("batch", [(), (2,), (2, 3)], ids=str)
def test_key_and_value_may_have_different_head_counts(heads, batch):
    shapes = zip(heads, (5, 7, 7), (8, 8, 6))
    tensors = [made(*batch, *s, seed=i) for i, s in enumerate(shapes)]
    close(ours(*tensors, enable_gqa=True), theirs(*tensors, enable_gqa=True))


def test_grouped_heads_that_broadcast():
    tensors = made(8, 5, 8), made(2, 2, 7, 8, seed=1), made(1, 4, 7, 6, seed=2)
    close(ours(*tensors, enable_gqa=True), theirs(*tensors, enable_gqa=True))


EMPTY = [
    ((0, 0, 0), False), ((0, 0, 0), True), ((8, 0, 0), False), ((8, 0, 0), True), ((1, 0, 0), False),
    ((8, 2, 0), True), ((8, 8, 0), False), ((0, 8, 8), True), ((0, 1, 1), False), ((1, 0, 1), False),
]  # fmt: skip


@pytest.mark.parametrize("heads, enable_gqa", EMPTY, ids=str)
@pytest.mark.parametrize("batch", [(), (2,), (3, 2), (0,)], ids=str)
@pytest.mark.parametrize("name", masks())
def test_no_heads(heads, enable_gqa, batch, name):
    mask = {key: each if each is True else each.float() > 0 for key, each in masks()[name].items()}
    answers = []
    for function in (ours, theirs):
        shapes = zip(heads, (5, 7, 7), (8, 8, 6))
        tensors = [made(*batch, *s, seed=i).requires_grad_() for i, s in enumerate(shapes)]
        out = function(*tensors, enable_gqa=enable_gqa, **mask)
        answers.append([out, *torch.autograd.grad(out.sum(), tensors)])
    for mine, other in zip(*answers):
        close(mine, other)


def test_no_heads_of_values_have_tangents_of_0():
    q, k, v = made(2, 8, 5, 8), made(2, 0, 7, 8), made(2, 0, 7, 6)
    out, tangent = torch.func.jvp(lambda q: ours(q, k, v), (q,), (q,))
    close(torch.stack([out, tangent]), torch.zeros(2, 2, 8, 5, 6, dtype=q.dtype))


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("has_mask", [False, True])
def test_the_output_has_the_memory_order_of_the_query(requires_grad, dtype, has_mask):
    mask = torch.ones(5, 5, dtype=torch.bool) if has_mask else None
    by_token = made(2, 5, 3, 8, dtype=torch.float32).to(dtype).transpose(1, 2).requires_grad_(requires_grad)
    by_head = by_token.detach().contiguous().requires_grad_(requires_grad)
    for q in (by_token, by_head):
        out = ours(q, q, q, mask)
        assert out.stride() == theirs(q, q, q, mask).stride()
    assert ours(by_token, by_head, by_head, mask).transpose(1, 2).view(2, 5, 24).shape == (2, 5, 24)
    assert ours(by_head, by_token, by_token, mask).view(6, 5, 8).shape == (6, 5, 8)


@pytest.mark.parametrize("order", permutations(range(4)), ids=str)
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", masks())
def test_the_output_can_be_viewed_as_pytorchs_in_every_order_of_memory(order, requires_grad, name):
    shape = 2, 3, 5, 8
    memory = made(*(shape[axis] for axis in order))
    q = memory.permute(*(order.index(axis) for axis in range(4))).requires_grad_(requires_grad)
    k, v = made(2, 3, 7, 8), made(2, 3, 7, 8)
    out, wanted = ours(q, k, v, **masks()[name]), theirs(q, k, v, **masks()[name])
    if q.stride(-1) != 1:
        assert out.stride() == wanted.stride() and out.is_contiguous()
    elif q.stride(1) < q.stride(2):
        assert out.transpose(1, 2).view(2, 5, 24).shape == (2, 5, 24)
    else:
        assert out.is_contiguous()
    close(out, wanted)


# --- errors --------------------------------------------------------------------------------------


ERRORS = {
    "a mask beside is_causal": lambda q, k, v: ours(q, k, v, torch.ones(5, 7) > 0, is_causal=True),
    "types": lambda q, k, v: ours(q.float(), k, v),
    "rank": lambda q, k, v: ours(q[0, 0, 0], k, v),
    "head size": lambda q, k, v: ours(q[..., :7], k, v),
    "key's length": lambda q, k, v: ours(q, k[:, :, :3], v),
    "heads": lambda q, k, v: ours(q, k[:, :2], v[:, :2]),
    "batch": lambda q, k, v: ours(q.expand(2, 3, 5, 8), k.expand(2, 3, 7, 8)[:, :, :], made(3, 3, 7, 6)),
    "integers": lambda q, k, v: ours(q.int(), k.int(), v.int()),
    "a mask of float64 beside float32": lambda q, k, v: ours(q.float(), k.float(), v.float(), made(5, 7)),
    "a mask of uint8": lambda q, k, v: ours(q, k, v, torch.ones(5, 7, dtype=torch.uint8)),
    "a complex mask": lambda q, k, v: ours(q, k, v, torch.ones(5, 7, dtype=torch.complex64)),
    "complex": lambda q, k, v: ours(*(torch.complex(t, t).conj() for t in (q, k, v))),
    "dropout": lambda q, k, v: ours(q, k, v, dropout_p=1.5),
    "grouped heads": lambda q, k, v: ours(q, k[:, :2], v[:, :2], enable_gqa=True),
    "nothing": lambda q, k, v: ours(None, k, v),
    "is_causal": lambda q, k, v: ours(q, k, v, is_causal=torch.tensor(True)),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_runtime_errors(name):
    with pytest.raises(RuntimeError) as caught:
        ERRORS[name](*qkv(1, 3))
    assert isinstance(caught.value, heed.errors.Error), caught.value


def test_every_error_of_heed_is_a_runtime_error():
    kinds = [each for each in vars(heed.errors).values() if isinstance(each, type)]
    assert all(issubclass(kind, RuntimeError) for kind in kinds if issubclass(kind, Exception))
    with pytest.raises(RuntimeError):
        heed.attention(np.ones((1, 1, 1, 2)), np.ones((1, 1, 1, 3)), np.ones((1, 1, 1, 3)))


# --- masks that are added ------------------------------------------------------------------------


@pytest.mark.parametrize("hidden", [torch.finfo(torch.float32).min, -1e9, -1e18, -torch.inf])
def test_large_negative_numbers_hide(monkeypatch, hidden):
    monkeypatch.setattr(heed.torch, "_WORTH_READING", 1)
    q, k, v = qkv(2, 3, dtype=torch.float32)
    visible = made(2, 1, 5, 7) > 0
    visible[..., 0] = True
    added = torch.zeros(2, 1, 5, 7).masked_fill(~visible, hidden)
    keep, bias = heed.torch.hidden_or_added(added, q, k, None)
    assert bias is None and torch.equal(keep, visible)
    close(ours(q, k, v, added), theirs(q, k, v, added), atol=2e-6)
    v[:, :, 3] = torch.nan  # nothing of a hidden value is seen
    seen = visible[..., 3].expand(2, 3, 5)
    assert torch.equal(ours(q, k, v, added).isnan().any(-1), seen)


def test_other_numbers_are_added(monkeypatch):
    monkeypatch.setattr(heed.torch, "_WORTH_READING", 1)
    q, k, _ = qkv(2, 3, dtype=torch.float32)
    low = torch.finfo(torch.float32).min
    mask = torch.zeros(5, 7)
    mask[:, 5:] = low
    assert heed.torch.hidden_or_added(mask, q, k, None)[1] is None
    for change in (lambda m: m[2].fill_(low), lambda m: m[2, 5].fill_(-5), lambda m: m[2, 5].fill_(torch.nan),
                   lambda m: m[1, 1].fill_(0.1)):  # fmt: skip
        other = mask.clone()
        change(other)
        assert heed.torch.hidden_or_added(other, q, k, None) == (None, other)
    assert heed.torch.hidden_or_added(mask, q * 1e20, k * 1e20, None)[0] is None
    assert heed.torch.hidden_or_added(mask.requires_grad_(), q, k, None)[0] is None
