"""The functions that the tests of `heed.torch` compare, and tensors for them."""

from __future__ import annotations

import torch

import heed.torch

theirs = torch.nn.functional.scaled_dot_product_attention
ours = heed.torch.scaled_dot_product_attention


def made(*shape, dtype=torch.float64, seed=0):
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def qkv(*batch, tq=5, tk=7, d=8, dv=6, dtype=torch.float64):
    shapes = (*batch, tq, d), (*batch, tk, d), (*batch, tk, dv)
    return [made(*shape, dtype=dtype, seed=seed) for seed, shape in enumerate(shapes)]


def close(found, wanted, atol=1e-12):
    torch.testing.assert_close(found, wanted, atol=atol, rtol=1e-9)


def masks(tq=5, tk=7):
    bias = made(tq, tk, seed=9)
    return {
        "none": {},
        "causal": {"is_causal": True},
        "boolean": {"attn_mask": bias > -0.5},
        "floating": {"attn_mask": bias},
    }
