"""One call of the attention function, as a watch keeps it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ._pattern import Pattern
from ._rules import CAUSAL, EVERYTHING


@dataclass
class Call:
    """One call, linear in the length but for a bias or a mask that the model made as a tensor."""

    q: Tensor
    k: Tensor
    v: Tensor
    lse: Tensor
    lse_low: Tensor
    mask: Tensor | None
    bias: Tensor | None
    sink: Tensor | None
    settings: dict[str, Any]
    queries: range
    """Positions of q's rows."""
    keys: range
    """Positions of k's rows. In a run, of those keys that the calls before did not have."""
    is_cross: bool = False
    ids: Tensor | None = None
    """[B, Tq] of token ids."""

    @classmethod
    def of(
        cls, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None,
        sink: Tensor | None, settings: dict[str, Any], lse: Tensor, lse_low: Tensor,
    ) -> Call:  # fmt: skip
        queries, keys = _positions(mask, settings, q.shape[2], k.shape[2])
        if len(keys) < k.shape[2]:  # memory of a static cache, which will be written to
            k, v = (each[:, :, : len(keys)].clone() for each in (k, v))
        q, k, v, lse, lse_low = (each.detach() for each in (q, k, v, lse, lse_low))
        bias, sink = (each if each is None else each.detach() for each in (bias, sink))
        return cls(q, k, v, lse, lse_low, mask, bias, sink, settings, queries, keys)

    @property
    def nbytes(self) -> int:
        return sum(t.numel() * t.element_size() for t in (self.q, self.k, self.v)) + sum(
            t.numel() * t.element_size() for t in (self.lse, self.lse_low)
        )

    @property
    def rule(self) -> Any:
        """The mask as a rule; None where nothing is hidden. A tensor is its own rule."""
        if self.mask is None:
            return CAUSAL if "mask" in self.settings else EVERYTHING
        return self.mask.rule if isinstance(self.mask, Pattern) else self.mask

    def of_one(self, sequence: int) -> Call:
        """The same of one sequence of the batch."""
        batch, one = self.q.shape[0], slice(sequence, sequence + 1)

        def cut(tensor: Tensor | None) -> Tensor | None:
            if tensor is None or tensor.dim() == 1 or tensor.shape[0] != batch:
                return tensor
            return tensor[one]

        names = ("q", "k", "v", "lse", "lse_low", "bias", "ids")
        mask = self.mask.of_one(sequence) if isinstance(self.mask, Pattern) else cut(self.mask)
        parts = {name: cut(getattr(self, name)) for name in names}
        return dataclasses.replace(self, mask=mask, **parts)

    def visible(self, keys: range) -> Tensor:
        """[B or 1, H or 1, Tq, len(keys)] of bool; keys that this call did not have are hidden."""
        if self.mask is None:
            at, of = torch.tensor(self.queries)[:, None], torch.tensor(keys)[None]
            allowed = of <= at if self.rule is CAUSAL else of < self.keys.stop
            return allowed.expand(len(self.queries), len(keys))[None, None]
        mask = self.mask.dense() if isinstance(self.mask, Pattern) else self.mask
        if mask.dtype != torch.bool:
            mask = torch.ones_like(mask, dtype=torch.bool)
        first = self.mask.keys.start if isinstance(self.mask, Pattern) else 0
        return placed(mask, first - keys.start, len(keys), len(self.queries))


def _positions(
    mask: Tensor | None, settings: dict[str, Any], queries: int, keys: int
) -> tuple[range, range]:
    """Of the queries and of the keys that exist."""
    if isinstance(mask, Pattern):
        stop = min(mask.keys.stop, mask.queries.stop) if mask.is_causal else mask.keys.stop
        return mask.queries, range(mask.keys.start, stop)
    if "q_offset" in settings:  # causal, the first ones together
        return range(queries), range(min(queries, keys))
    return range(keys - queries, keys) if keys >= queries else range(queries), range(keys)


def placed(rows: Tensor, first: int, width: int, height: int) -> Tensor:
    """Rows whose column 0 stands at ``first``, in rows of ``width``; 0 elsewhere. Of rank 4."""
    rows = rows[..., max(-first, 0) : width - first]
    first = max(first, 0)
    rows = torch.nn.functional.pad(rows, (first, width - first - rows.shape[-1]))
    return rows.expand(*(1,) * (4 - rows.dim()), *rows.shape[:-2], height, width)
