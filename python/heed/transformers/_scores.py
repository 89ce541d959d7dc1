"""Scores of heads of a watched model, named like the scores of a session."""

from __future__ import annotations

import torch
from torch import Tensor

from .._seen import Seen
from ._runs import Run

NAMES = ("previous", "current", "next", "sink", "distance", "entropy", "largest")
_ROWS = 128  # queries per step
_WITHIN = NAMES[:5]
"""Scores that compare positions of queries and keys, which have no meaning between two texts."""


def scores_of(run: Run) -> list[dict[str, float]]:
    """Returns one dict per head: means over the queries of all sequences, without padding."""
    sums, counts = None, 0
    heads = run.first.q.shape[1]
    induction = pairs = torch.zeros(heads, dtype=torch.float64, device="cpu")
    for sequence in range(run.first.q.shape[0]):
        one = run.of_one(sequence)
        if len(one.rows) == 0:
            continue
        seen = one.without_padding
        found, count = _sums(seen)
        if (ids := _ids(run, one, sequence)) is not None:
            of_one, pairs_of_one = _induction(seen, ids)
            induction, pairs = induction + of_one, pairs + pairs_of_one
        sums = found if sums is None else sums + found
        counts = counts + count
    if sums is None:
        sums = counts = torch.zeros(len(NAMES), heads, device="cpu")
    means = sums / counts.clamp(min=1)
    if run.first.is_cross:
        means[[NAMES.index(name) for name in _WITHIN]] = torch.nan
    means = torch.cat([means, (induction / pairs)[None]])  # NaN where nothing repeats
    return [dict(zip((*NAMES, "induction"), column)) for column in means.T.tolist()]


def _ids(run: Run, one: Run, sequence: int) -> Tensor | None:
    """Returns the ids of a sequence of text without padding; None if they are not known or if the
    keys are other tokens."""
    ids = run.ids
    if run.first.is_cross or ids is None or ids.shape[0] != run.first.q.shape[0] or one.images:
        return None
    of_one = ids[sequence, one.rows.start : one.rows.stop].to("cpu")
    return of_one if len(of_one) == one.without_padding.shape[3] else None


def _induction(seen: Seen, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Returns, for one sequence, the sum of the weights on tokens that followed the query's token
    elsewhere, and the number of queries that see such a key; both [H]. The token after the query
    does not count as evidence."""
    sums = counts = torch.zeros(seen.shape[1], dtype=torch.float64, device="cpu")
    before = ids[:-1]
    keys = torch.arange(1, len(ids), device="cpu")
    _, kinds, occurrences = ids.unique(return_inverse=True, return_counts=True)
    rows = (occurrences[kinds] > 1).nonzero()[:, 0]
    for part in rows.split(_ROWS):
        follows = (ids[part][:, None] == before) & (keys != part[:, None] + 1)
        follows &= keys != part[:, None]
        which = part.tolist()
        visible = follows & seen.scores[0, :, which, 1:].isfinite()
        weights = seen.weights[0, :, which, 1:].double()
        sums = sums + (weights * visible).sum((1, 2))
        counts = counts + visible.any(2).sum(1)
    return sums, counts


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
