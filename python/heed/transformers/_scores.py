"""Scores of heads of a watched model, named like the scores of a session."""

from __future__ import annotations

import torch
from torch import Tensor

from .._seen import Seen
from ._runs import Run

NAMES = ("previous", "current", "next", "sink", "distance", "entropy", "largest")
_WITHIN = NAMES[:5]
"""Scores that compare positions of queries and keys, which have no meaning between two texts."""


def scores_of(run: Run) -> list[dict[str, float]]:
    """Returns one dict per head: means over the queries of all sequences, without padding."""
    sums, counts = None, 0
    for sequence in range(run.first.q.shape[0]):
        one = run.of_one(sequence)
        if len(one.rows) == 0:
            continue
        found, count = _sums(one.without_padding)
        sums = found if sums is None else sums + found
        counts = counts + count
    if sums is None:
        sums = counts = torch.zeros(len(NAMES), run.first.q.shape[1], device="cpu")
    means = sums / counts.clamp(min=1)
    if run.first.is_cross:
        means[[NAMES.index(name) for name in _WITHIN]] = torch.nan
    return [dict(zip(NAMES, column)) for column in means.T.tolist()]


def _sums(seen: Seen) -> tuple[Tensor, Tensor]:
    """Returns, for one sequence, the sums over its queries and the numbers of queries, both
    [scores, H]. The first query does not count for `current` and `sink`: with a causal mask it sees
    only itself."""
    (near, pairs), distance, entropy, largest = seen.observe(
        ("offset_profile", {"first": -1, "last": 1}), "expected_distance", "entropy", "row_max"
    )
    weights, pairs = (near * pairs)[0].double(), pairs[0].double()  # [H, 3]
    first = seen.weights[0, :, :, 0].double()
    queries = torch.full_like(pairs[:, 0], first.shape[1])
    own = seen.weights[0, :, 0, 0].double() if first.shape[1] == seen.shape[3] else 0
    alone = torch.ones_like(queries) if first.shape[1] == seen.shape[3] else 0
    sums = (
        weights[:, 2], weights[:, 1] - own, weights[:, 0], first.sum(1) - own,
        distance[0].double().sum(1), entropy[0].double().sum(1), largest[0].double().sum(1),
    )  # fmt: skip
    counts = (
        pairs[:, 2], pairs[:, 1] - alone, pairs[:, 0], queries - alone, queries, queries, queries,
    )  # fmt: skip
    return torch.stack(sums), torch.stack(counts)
