"""Random problems beside PyTorch in float64 and its autograd, in three types; 2,000 with --long."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="skipped: PyTorch is not installed")

import heed  # noqa: E402
import heed.torch  # noqa: E402

BLOCK = 20  # problems a test
ROUNDINGS = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.bfloat16: 2.0**-9}


def pytest_generate_tests(metafunc):
    blocks = 100 if metafunc.config.getoption("--long") else 3
    metafunc.parametrize("block", range(blocks))


def problem(rng, most=90, widest=70):
    """Tensors that require gradients, and the keywords of scaled_dot_product_attention."""
    kv_heads = int(rng.integers(1, 4))
    heads = kv_heads * int(rng.integers(1, 4))
    batch, tq, tk = int(rng.integers(1, 4)), int(rng.integers(1, most)), int(rng.integers(1, most))
    d, dv = int(rng.integers(1, widest)), int(rng.integers(1, widest))
    size = float(rng.choice([0.1, 1.0, 4.0]))
    shapes = (batch, heads, tq, d), (batch, kv_heads, tk, d), (batch, kv_heads, tk, dv)
    tensors = [torch.from_numpy(size * rng.normal(size=s)).requires_grad_() for s in shapes]
    settings = {"enable_gqa": True}
    kind = rng.choice(["none", "causal", "boolean", "floating"])
    if kind == "causal":
        settings["is_causal"] = True
    if kind in ("boolean", "floating"):
        full = (batch, heads, tq, tk)[-int(rng.integers(2, 5)) :]
        shape = [n if rng.random() < 0.7 else 1 for n in full]
        values = torch.from_numpy(rng.normal(size=shape))
        settings["attn_mask"] = values > 0 if kind == "boolean" else values.requires_grad_()
    if rng.random() < 0.3:
        settings["scale"] = float(rng.normal())
    if rng.random() < 0.5:  # memory [B, T, H, D]
        tensors = [
            t.detach().transpose(1, 2).contiguous().transpose(1, 2).requires_grad_()
            for t in tensors
        ]
    return tensors, settings


def cotangent(shape):
    return torch.sin(torch.arange(shape.numel(), dtype=torch.float64)).reshape(shape)


def answers(function, tensors, settings, dtype):
    """The output, and the gradients of everything that requires one."""
    leaves = [t.detach().to(dtype).requires_grad_() for t in tensors]
    settings = dict(settings)
    mask = settings.get("attn_mask")
    if mask is not None and mask.requires_grad:
        settings["attn_mask"] = mask.detach().to(dtype).requires_grad_()
        leaves.append(settings["attn_mask"])
    out = function(*leaves[:3], **settings)
    out.backward(cotangent(out.shape).to(dtype))
    return [out.detach(), *(leaf.grad for leaf in leaves)]


def summed_terms(tensors, settings):
    """The sums of the absolute terms that each answer adds; rounding errors are shares of them."""
    q, k, v = (t.detach() for t in tensors)
    group = q.shape[1] // k.shape[1]
    k, v = (t.repeat_interleave(group, dim=1) for t in (k, v))
    scale = settings.get("scale", q.shape[-1] ** -0.5)
    mask = settings.get("attn_mask", torch.zeros(()))
    if settings.get("is_causal"):
        mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril()
    added = torch.where(mask, 0.0, -torch.inf) if mask.dtype == torch.bool else mask.detach()
    p = torch.softmax(scale * q @ k.mT + added, -1).nan_to_num(0)
    score = abs(scale) * q.abs() @ k.abs().mT + added.abs().nan_to_num(posinf=0)
    p = p * (1 + score + score.amax(-1, keepdim=True))  # a weight errs as its score and the lse do
    dout = cotangent(torch.Size((*q.shape[:3], v.shape[-1]))).abs()
    dp = dout @ v.abs().mT
    dz = p * (dp + (p * dp).sum(-1, keepdim=True))
    dq, dk, dv = abs(scale) * dz @ k.abs(), abs(scale) * dz.mT @ q.abs(), p.mT @ dout
    dk, dv = (t.unflatten(1, (-1, group)).sum(2) for t in (dk, dv))
    return [p @ v.abs(), dq, dk, dv, dz.sum_to_size(mask.shape) if mask.requires_grad else None]


def test_values_and_gradients(block):
    rng = np.random.default_rng([11, block])
    ours, theirs = (
        heed.torch.scaled_dot_product_attention,
        torch.nn.functional.scaled_dot_product_attention,
    )
    for _ in range(BLOCK):
        tensors, settings = problem(rng)
        wanted = [a.nan_to_num(0) for a in answers(theirs, tensors, settings, torch.float64)]
        terms = summed_terms(tensors, settings)
        for dtype, rounding in ROUNDINGS.items():
            found = answers(ours, tensors, settings, dtype)
            beside = answers(theirs, tensors, settings, dtype)
            for mine, other, truth, summed in zip(found, beside, wanted, terms):
                bound = 8 * (other.nan_to_num(0) - truth).abs().max() + 16 * rounding * summed
                bound = bound + 1e4 * torch.finfo(dtype).tiny  # denormals may count as 0
                worst = ((mine - truth).abs() - bound).max() if mine.numel() else 0
                assert worst <= 0, (dtype, settings, [t.shape for t in tensors])


def test_slopes(block):
    """gradcheck compares the gradients with differences of values, in float64."""
    rng = np.random.default_rng([12, block])
    tensors, settings = problem(rng, most=6, widest=5)
    mask = settings.pop("attn_mask", None)
    leaves = [*tensors, mask] if mask is not None and mask.requires_grad else tensors

    def attended(q, k, v, bias=mask):
        return heed.torch.scaled_dot_product_attention(q, k, v, attn_mask=bias, **settings)

    assert torch.autograd.gradcheck(attended, leaves)
