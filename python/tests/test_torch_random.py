"""Random problems beside PyTorch in float64 and its autograd; 2,000 with --long."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="skipped: PyTorch is not installed")

import heed  # noqa: E402
import heed.torch  # noqa: E402

BLOCK = 20  # problems a test


def pytest_generate_tests(metafunc):
    blocks = 100 if metafunc.config.getoption("--long") else 3
    metafunc.parametrize("block", range(blocks))


def problem(rng):
    """Tensors that require gradients, and the keywords of scaled_dot_product_attention."""
    kv_heads = int(rng.integers(1, 4))
    heads = kv_heads * int(rng.integers(1, 4))
    batch, tq, tk = int(rng.integers(1, 4)), int(rng.integers(1, 90)), int(rng.integers(1, 90))
    d, dv = int(rng.integers(1, 70)), int(rng.integers(1, 70))
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


def answers(function, tensors, settings, dtype):
    leaves = [t.detach().to(dtype).requires_grad_() for t in tensors]
    settings = dict(settings)
    mask = settings.get("attn_mask")
    if mask is not None and mask.requires_grad:
        settings["attn_mask"] = mask.detach().to(dtype).requires_grad_()
        leaves.append(settings["attn_mask"])
    out = function(*leaves[:3], **settings)
    weights = torch.sin(torch.arange(out.numel(), dtype=torch.float64)).reshape(out.shape)
    (out * weights.to(dtype)).sum().backward()
    return [out.detach(), *(leaf.grad for leaf in leaves)]


def test_values_and_gradients(block):
    rng = np.random.default_rng([11, block])
    theirs = torch.nn.functional.scaled_dot_product_attention
    for _ in range(BLOCK):
        tensors, settings = problem(rng)
        wanted = [a.nan_to_num(0) for a in answers(theirs, tensors, settings, torch.float64)]
        exact = answers(heed.torch.scaled_dot_product_attention, tensors, settings, torch.float64)
        for mine, other in zip(exact, wanted):
            torch.testing.assert_close(mine, other, atol=1e-11, rtol=1e-9)
        single = answers(heed.torch.scaled_dot_product_attention, tensors, settings, torch.float32)
        reference = answers(theirs, tensors, settings, torch.float32)
        pairs = tensors[0].shape[:3].numel() * tensors[1].shape[2]
        for mine, other, truth in zip(single, reference, wanted):
            noise = 1e-7 * (pairs / truth.numel()) ** 0.5  # of a sum over what is broadcast
            bound = 8 * (other.nan_to_num(0) - truth).abs().max() + 1e-6 * truth.abs().max() + noise
            assert (mine - truth).abs().max() <= bound, (settings, [t.shape for t in tensors])
