"""What a head does on the whole, as a few numbers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ._runs import Run

NAMES = ("previous", "current", "first", "distance", "entropy", "largest")
_WITHIN = ("previous", "current", "first", "distance")
"""Those that compare positions of queries and keys."""


def scores_of(run: Run, is_cross: bool) -> list[dict[str, float]]:
    """One dict a head: means over the queries that exist."""
    seen = run.seen
    distance, entropy, largest = seen.observe("expected_distance", "entropy", "row_max")
    first = seen.weights[..., 0]
    counts = run.exist[:, None, :]  # [B, 1, Tq]
    numbers = {
        "first": _mean(first, counts), "distance": _mean(distance, counts),
        "entropy": _mean(entropy, counts), "largest": _mean(largest, counts),
    }  # fmt: skip
    numbers |= {"previous": _at(seen, 1, counts), "current": _at(seen, 0, counts)}
    if is_cross:
        numbers |= {name: torch.full_like(numbers["entropy"], torch.nan) for name in _WITHIN}
    heads = range(numbers["entropy"].shape[0])
    return [{name: float(numbers[name][head]) for name in NAMES} for head in heads]


def _mean(values: Tensor, counts: Tensor) -> Tensor:
    """Over batch and queries, [H]."""
    kept = torch.where(counts, values.double(), 0)
    return kept.sum((0, 2)) / counts.sum()


def _at(seen: Any, distance: int, counts: Tensor) -> Tensor:
    """The mean weight at a distance, of the pairs that are visible, [H]."""
    mean, pairs = seen.offset_profile(distance, distance)
    total = pairs.sum((0, 2)).clamp(min=1)
    return (mean.double() * pairs).sum((0, 2)) / total
