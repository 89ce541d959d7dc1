"""What heed keeps of memory in a Python process, and for how long."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys

import numpy as np
import pytest

import heed


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc to read memory from")
@pytest.mark.parametrize("what", ["plain", "seen", "errors", "masks"])
def test_3_000_calls_leak_nothing(what):
    q, k, v = (np.ones((1, 2, 16, 16), np.float32) for _ in range(3))
    keep = np.ones((16, 16), bool)

    def once():
        if what == "plain":
            heed.attention(q, k, v)
        elif what == "seen":
            _, seen = heed.attention(q, k, v, seen=True)
            seen.weights[0, 0, 0]
        elif what == "masks":
            heed.attention(q, k, v, mask=heed.keep(keep) & heed.causal(), scale=[1.0, 2.0])
        else:
            with pytest.raises(ValueError):
                heed.attention(q, k[..., :3], v)

    for _ in range(1000):
        once()
    gc.collect()
    before, references = resident(), sys.getrefcount(q)
    for _ in range(3_000):
        once()
    gc.collect()
    assert sys.getrefcount(q) == references
    assert resident() - before < 2_000_000  # a leak of one array of 2 KB per call would be 6 MB


def test_an_array_lives_as_long_as_what_looks_at_it(rng):
    mask = heed.keep(np.tril(np.ones((64, 64), bool)))
    seen = heed.attention(*rng.normal(size=(3, 1, 2, 64, 64)), mask=mask, seen=True)[1]
    del mask
    gc.collect()
    churn = [np.full((64, 64), np.nan) for _ in range(100)]
    rows = np.asarray(seen.weights).sum(-1)
    np.testing.assert_allclose(rows, 1, atol=1e-5)
    del churn


def test_memory_is_linear_in_the_length():
    """16,384 tokens: the weights alone would be 1 GB a head."""
    code = (
        "import heed, numpy as np, resource\n"
        "q = np.ones((1, 1, 16384, 8), np.float32)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "_, seen = heed.attention(q, q, q, mask=heed.band(100, 0), seen=True)\n"
        "seen.entropy(), seen.backward(q), seen.heatmap(64, 64)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    grown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(grown.stdout) < 100_000  # KB


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc to read memory from")
def test_sessions_leak_nothing(tales):
    def once():
        session = tales.look("The cat sat on the mat.")
        session.weights[0, 0], session.heads(), session.next(), session.to_json()
        tales.generate("Once", n=2).run()
        with pytest.raises(ValueError):
            session.row("dog")

    for _ in range(200):  # until the allocator has what it takes, on a busy machine too
        once()
    gc.collect()
    before = resident()
    for _ in range(500):
        once()
    gc.collect()
    assert resident() - before < 8_000_000  # a session of 7 tokens has 60 KB: all would be 30 MB
