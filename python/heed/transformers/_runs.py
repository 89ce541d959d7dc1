"""Calls that belong together: a prompt, and the tokens that followed in its cache."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from .._masks import keep
from .._seen import Seen
from ._calls import Call, placed
from ._pattern import Pattern, settings_of

_ABOUT_MASKS = ("mask", "q_offset", "key_offset", "key_length", "dropout", "seed")


class Run:
    """A sequence: one call, or a prompt and the tokens that followed in its cache."""

    def __init__(self, call: Call):
        self.calls = [call]
        self.first = call

    @property
    def queries(self) -> range:
        return range(self.first.queries.start, self.calls[-1].queries.stop)

    @property
    def keys(self) -> range:
        return range(self.first.keys.start, self.calls[-1].keys.stop)

    def is_continued_by(self, call: Call) -> bool:
        begin = call.queries.start
        return (
            self.queries.start < begin <= self.queries.stop
            and call.keys.start <= self.keys.stop
            and call.k.shape[:2] == self.first.k.shape[:2]
            and (call.bias is None) == (self.first.bias is None)
            and self._has_the_past_of(call)
        )

    def add(self, call: Call) -> None:
        """Appends a call; what it takes back (tokens that were only tried) goes first."""
        self._cut(call.queries.start, call.is_cross)
        known = self.keys.stop - call.keys.start
        new = {name: getattr(call, name)[:, :, known:].clone() for name in ("k", "v")}
        keys = range(self.keys.stop, max(call.keys.stop, self.keys.stop))
        self.calls.append(dataclasses.replace(call, keys=keys, **new))
        self.__dict__.pop("seen", None)

    def _cut(self, stop: int, is_cross: bool) -> None:
        while self.calls[-1].queries.start >= stop:
            self.calls.pop()
        last = self.calls[-1]
        left = stop - last.queries.start
        if left < len(last.queries):
            last.queries = range(last.queries.start, stop)
            last.q, last.lse, last.lse_low = (
                each[:, :, :left] for each in (last.q, last.lse, last.lse_low)
            )
            last.ids = last.ids if last.ids is None else last.ids[:, :left]
        if not is_cross and last.keys.stop > stop:
            last.k, last.v = (each[:, :, : stop - last.keys.start] for each in (last.k, last.v))
            last.keys = range(last.keys.start, stop)

    def _has_the_past_of(self, call: Call) -> bool:
        """Whether the cache still has the keys of before: a beam search puts others there."""
        stop = min(self.keys.stop, call.queries.start if not call.is_cross else call.keys.stop)
        start = max(self.keys.start, call.keys.start)
        if call.k.shape[0] == 1:  # one sequence has no other to be mixed up with
            start = max(start, stop - 1)
        for known in self.calls:
            both = range(max(start, known.keys.start), min(stop, known.keys.stop))
            if both and not torch.equal(
                known.k[:, :, both.start - known.keys.start : both.stop - known.keys.start],
                call.k[:, :, both.start - call.keys.start : both.stop - call.keys.start],
            ):
                return False
        return True

    # --- looking ---------------------------------------------------------------------------------

    def of_one(self, sequence: int) -> Run:
        """One sequence of the batch, without copies."""
        run = Run(self.first.of_one(sequence))
        run.calls = [run.first, *(call.of_one(sequence) for call in self.calls[1:])]
        return run

    @cached_property
    def seen(self) -> Seen:
        q, k, v, lse, lse_low = (
            self.joined(name) for name in ("q", "k", "v", "lse", "lse_low")
        )  # fmt: skip
        settings = {n: s for n, s in self.first.settings.items() if n not in _ABOUT_MASKS}
        settings |= self._mask_settings()
        return Seen.of(
            q, k, v, lse=lse, lse_low=lse_low, bias=self._bias(), sink=self.first.sink, **settings
        )

    @property
    def ids(self) -> Tensor | None:
        """[B, Tq] of token ids, where every call had some."""
        ids = [call.ids for call in self.calls]
        return None if any(each is None for each in ids) else torch.cat(ids, 1)

    @property
    def exist(self) -> Tensor:
        """[B, Tq] of bool: queries that see somebody and are no padding themselves."""
        exist = self.joined("lse").isfinite().any(1)
        padding = None if self.first.is_cross else self._padding()
        if padding is None:
            return exist
        return exist & padding[:, self.queries.start - self.keys.start :][:, : len(self.queries)]

    @property
    def nbytes(self) -> int:
        return sum(call.nbytes for call in self.calls)

    def joined(self, name: str) -> Tensor:
        """One of q, k, v, lse and lse_low, of all calls."""
        parts = [getattr(call, name) for call in self.calls]
        return parts[0] if len(parts) == 1 else torch.cat(parts, 2)

    def _mask_settings(self) -> dict[str, Any]:
        rule = self.first.rule
        at = {"q_offset": self.queries.start, "key_offset": self.keys.start}
        if not isinstance(rule, Tensor) and all(_same(rule, each.rule) for each in self.calls):
            return settings_of(rule, self._padding(), self.queries, self.keys)
        if len(self.calls) == 1 and rule.dtype != torch.bool:
            return at
        rows = [call.visible(self.keys) for call in self.calls]
        return at | {"mask": keep(_stacked(rows))}

    def _padding(self) -> Tensor | None:
        """[B, Tk], put together of what each call said about the keys that it had."""
        if all(getattr(call.mask, "padding", None) is None for call in self.calls):
            return None
        padding = torch.ones(self.first.k.shape[0], len(self.keys), dtype=torch.bool)
        for call in self.calls:
            if isinstance(call.mask, Pattern) and call.mask.padding is not None:
                first = call.mask.keys.start - self.keys.start
                part = call.mask.padding[:, : len(self.keys) - first]
                padding[:, first : first + part.shape[1]] = part
        return None if bool(padding.all()) else padding

    def _bias(self) -> Tensor | None:
        if self.first.bias is None:
            return None
        return _stacked(
            [placed(call.bias, 0, len(self.keys), len(call.queries)) for call in self.calls]
        )


def _same(rule: Any, other: Any) -> bool:
    return rule is other or (not isinstance(other, Tensor) and rule == other)


def _stacked(rows: list[Tensor]) -> Tensor:
    """Rows below each other; batch and heads broadcast."""
    if len(rows) == 1:
        return rows[0]
    batch, heads = (max(each.shape[axis] for each in rows) for axis in (0, 1))
    return torch.cat([each.expand(batch, heads, *each.shape[2:]) for each in rows], 2)
