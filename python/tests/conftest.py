"""What several tests share."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

import numpy as np
import pytest


def pytest_addoption(parser):
    parser.addoption(
        "--long", action="store_true", help="as many random problems as a release needs"
    )


@pytest.fixture
def long(request) -> bool:
    return request.config.getoption("--long")


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def qkv(rng):
    """q [2, 4, 5, 8] over k [2, 2, 7, 8] and v [2, 2, 7, 6]: grouped heads, Tq != Tk, Dv != D."""
    shapes = (2, 4, 5, 8), (2, 2, 7, 8), (2, 2, 7, 6)
    return tuple(rng.normal(size=shape).astype(np.float32) for shape in shapes)


def peer(name: str) -> ModuleType:
    """A library beside which heed is tested. Without it the file is skipped; with $HEED_PEERS, as
    `./dev test --peers` sets it, it fails."""
    if os.environ.get("HEED_PEERS"):
        return importlib.import_module(name)
    return pytest.importorskip(name, reason=f"skipped: {name} is not installed")


def formula(q, k, v, allowed=None, bias=None, scale=None, softcap=0.0):
    """Attention as its formula has it, in float64: (out, weights)."""
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    z = np.einsum("bhid,bhjd->bhij", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    z = softcap * np.tanh(z / softcap) if softcap else z
    z = z if bias is None else z + bias
    allowed = np.broadcast_to(True if allowed is None else allowed, z.shape)
    z = np.where(allowed, z, -np.inf)
    high = np.where(np.isfinite(z.max(-1, keepdims=True)), z.max(-1, keepdims=True), 0)
    p = np.exp(z - high)
    total = p.sum(-1, keepdims=True)
    p = np.divide(p, total, out=np.zeros_like(p), where=total > 0)
    return np.einsum("bhij,bhjd->bhid", p, v), p
