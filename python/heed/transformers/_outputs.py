"""Fills `output_attentions=True` if the attention function returns no weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ._calls import Call
from ._runs import Run
from ._stacks import Place

_KINDS = {
    "attentions": ("decoder", "encoder"),
    "encoder_attentions": ("encoder",),
    "decoder_attentions": ("decoder",),
    "cross_attentions": ("cross",),
}
"""The kinds of stacks whose weights a field of an output may hold."""


@dataclass
class _Part:
    """The queries of one call in a run."""

    run: Run
    queries: range
    keys: int
    like: Tensor

    @classmethod
    def of(cls, run: Run, call: Call) -> _Part:
        return cls(run, call.queries, call.keys.stop, call.q)

    def weights(self) -> Tensor:
        """Returns the weights, [B, H, Tq, Tk], in the form of eager attention."""
        first, keys = self.run.queries.start, self.keys - self.run.keys.start
        rows = slice(self.queries.start - first, self.queries.stop - first)
        return torch.as_tensor(self.run.seen.weights[:, :, rows, :keys]).to(self.like)


class LazyAttentions(Sequence):
    """The weights of each layer of a pass, computed when a layer is indexed."""

    def __init__(self, parts: list[_Part]):
        self._parts = parts

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return LazyAttentions(self._parts[at])
        return self._parts[at].weights()

    def __repr__(self) -> str:
        return f"<attentions of {len(self)} layers, computed where they are indexed>"


class Pass:
    """The calls of one pass of a model."""

    def __init__(self) -> None:
        self._parts: dict[Place, list[_Part]] = {}

    def add(self, place: Place, run: Run, call: Call) -> None:
        self._parts.setdefault(place, []).append(_Part.of(run, call))

    def fill(self, output: Any) -> None:
        """Fills the empty attention fields of an output, if exactly one stack fits the field."""
        for name, kinds in _KINDS.items():
            if name not in getattr(output, "keys", list)() or not _is_empty(output[name]):
                continue
            stacks = [parts for place, parts in self._parts.items() if place.kind in kinds]
            if len(stacks) == 1:
                setattr(output, name, LazyAttentions(stacks[0]))


def _is_empty(attentions: Any) -> bool:
    is_list = isinstance(attentions, (list, tuple))
    return is_list and all(each is None for each in attentions)
