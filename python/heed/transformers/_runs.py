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
        self._take_back(call.queries.start, call.is_cross)
        known = self.keys.stop - call.keys.start
        new = {name: getattr(call, name)[:, :, known:].clone() for name in ("k", "v")}
        keys = range(self.keys.stop, max(call.keys.stop, self.keys.stop))
        self.calls.append(dataclasses.replace(call, keys=keys, **new))
        self.__dict__.pop("seen", None)

    def _take_back(self, stop: int, is_cross: bool) -> None:
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

    @cached_property
    def seen(self) -> Seen:
        return self._part(range(len(self.queries)), range(len(self.keys)))

    def of_one(self, sequence: int) -> Run:
        """One sequence of the batch, without copies."""
        run = Run(self.first.of_one(sequence))
        run.calls = [run.first, *(call.of_one(sequence) for call in self.calls[1:])]
        return run

    @property
    def without_padding(self) -> Seen:
        """Of a run of one sequence, from its first to its last token."""
        padding = self._padding()
        keys = range(len(self.keys)) if padding is None else _around(padding[0])
        return self._part(self.rows, keys)

    @property
    def rows(self) -> range:
        """The queries of one sequence that see somebody and are no padding themselves."""
        exist = self.joined("lse")[0].isfinite().any(0)
        padding = None if self.first.is_cross else self._padding()
        if padding is not None:
            first = self.queries.start - self.keys.start
            exist &= padding[0, first : first + len(self.queries)]
        return _around(exist)

    @property
    def ids(self) -> Tensor | None:
        """[B, Tq] of token ids, where every call had some."""
        ids = [call.ids for call in self.calls]
        return None if any(each is None for each in ids) else torch.cat(ids, 1)

    @property
    def nbytes(self) -> int:
        return sum(call.nbytes for call in self.calls)

    def joined(self, name: str) -> Tensor:
        """One of q, k, v, lse and lse_low, of all calls."""
        parts = [getattr(call, name) for call in self.calls]
        return parts[0] if len(parts) == 1 else torch.cat(parts, 2)

    def _part(self, rows: range, columns: range) -> Seen:
        q, lse, lse_low = (_cut(self.joined(name), 2, rows) for name in ("q", "lse", "lse_low"))
        lse, lse_low = lse.contiguous(), lse_low.contiguous()
        k, v = (_cut(self.joined(name), 2, columns) for name in ("k", "v"))
        settings = {n: s for n, s in self.first.settings.items() if n not in _ABOUT_MASKS}
        settings |= self._mask_settings(rows, columns)
        if self.first.bias is not None:
            settings["bias"] = _cut(_cut(self._bias(), 2, rows), 3, columns)
        return Seen.of(q, k, v, lse=lse, lse_low=lse_low, sink=self.first.sink, **settings)

    def _mask_settings(self, rows: range, columns: range) -> dict[str, Any]:
        rule, padding = self.first.rule, self._padding()
        queries = self.queries[rows.start : rows.stop]
        keys = self.keys[columns.start : columns.stop]
        if not isinstance(rule, Tensor) and all(_same(rule, each.rule) for each in self.calls):
            padding = None if padding is None else _cut(padding, 1, columns)
            return settings_of(rule, padding, queries, keys)
        settings = {"q_offset": queries.start, "key_offset": keys.start}
        if len(self.calls) == 1 and rule.dtype != torch.bool:
            return settings  # it is the bias
        visible = _stacked([call.visible(self.keys) for call in self.calls])
        return settings | {"mask": keep(_cut(_cut(visible, 2, rows), 3, columns))}

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

    def _bias(self) -> Tensor:
        width = len(self.keys)
        return _stacked([placed(each.bias, 0, width, len(each.queries)) for each in self.calls])


def _around(exist: Tensor) -> range:
    """From the first to the last that is true."""
    places = exist.nonzero()
    return range(int(places[0]), int(places[-1]) + 1) if len(places) else range(0)


def _cut(tensor: Tensor, axis: int, part: range) -> Tensor:
    """A part of one axis, unless the tensor broadcasts along it."""
    return tensor if tensor.shape[axis] == 1 else tensor.narrow(axis, part.start, len(part))


def _same(rule: Any, other: Any) -> bool:
    return rule is other or (not isinstance(other, Tensor) and rule == other)


def _stacked(rows: list[Tensor]) -> Tensor:
    """Rows below each other; batch and heads broadcast."""
    if len(rows) == 1:
        return rows[0]
    batch, heads = (max(each.shape[axis] for each in rows) for axis in (0, 1))
    return torch.cat([each.expand(batch, heads, *each.shape[2:]) for each in rows], 2)
