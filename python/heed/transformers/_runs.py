"""Calls that belong together: a prompt, and the tokens that followed it with a cache."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from .._attention import attention
from .._masks import keep
from .._seen import Seen
from ..errors import Unsupported, made
from ._calls import Call, placed
from ._edits import apply, block_of
from ._gradients import SeenWithGradients
from ._grids import Grid
from ._pattern import Pattern, settings_of
from ._rules import EVERYTHING


class Run:
    """One text in one layer: a single call, or a prompt and the tokens that followed with a
    cache."""

    def __init__(self, call: Call):
        self.calls = [call]
        self.first = call

    @classmethod
    def of(cls, calls: list[Call]) -> Run:
        run = cls(calls[0])
        run.calls = calls
        return run

    @property
    def queries(self) -> range:
        return range(self.first.queries.start, self.calls[-1].queries.stop)

    @property
    def keys(self) -> range:
        return range(self.first.keys.start, self.calls[-1].keys.stop)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The shape of the weights, [B, H, Tq, Tk]."""
        return *self.first.q.shape[:2], len(self.queries), len(self.keys)

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
        """Appends a call. Removes earlier tokens first that the call replaces (speculative
        tokens)."""
        self._take_back(call.queries.start, call.is_cross)
        known = self.keys.stop - call.keys.start
        new = {name: getattr(call, name)[:, :, known:].clone() for name in ("k", "v")}
        keys = range(self.keys.stop, max(call.keys.stop, self.keys.stop))
        self.calls.append(dataclasses.replace(call, keys=keys, **new))
        self._forget("seen", "sums", "dense", "_on_cpu")

    def _take_back(self, stop: int, is_cross: bool) -> None:
        while self.calls[-1].queries.start >= stop:
            self.calls.pop()
        last = self.calls[-1]
        left = stop - last.queries.start
        if left < len(last.queries):
            last.queries = range(last.queries.start, stop)
            for name in ("q", "out", "weights"):
                rows = getattr(last, name)
                setattr(last, name, rows if rows is None else rows[:, :, :left])
            last.sums = last.sums if last.sums is None else last.sums[..., :left]
            last.ids = last.ids if last.ids is None else last.ids[:, :left]
        if not is_cross and last.keys.stop > stop:
            last.k, last.v = (each[:, :, : stop - last.keys.start] for each in (last.k, last.v))
            last.keys = range(last.keys.start, stop)

    def _has_the_past_of(self, call: Call) -> bool:
        """Whether the call's cache still has the known keys: a beam search reorders sequences."""
        stop = min(self.keys.stop, call.queries.start if not call.is_cross else call.keys.stop)
        start = max(self.keys.start, call.keys.start)
        if call.k.shape[0] == 1:  # a single sequence cannot be reordered
            start = max(start, stop - 1)
        for known in self.calls:
            both = range(max(start, known.keys.start), min(stop, known.keys.stop))
            if both and not torch.equal(
                known.k[:, :, both.start - known.keys.start : both.stop - known.keys.start],
                call.k[:, :, both.start - call.keys.start : both.stop - call.keys.start],
            ):
                return False
        return True

    def _forget(self, *names: str) -> None:
        for name in names:
            self.__dict__.pop(name, None)

    # --- the weights -----------------------------------------------------------------------------

    @cached_property
    def _on_cpu(self) -> list[Call]:
        """The calls without their outputs. Each tensor moves once."""
        return [dataclasses.replace(call, out=None).to("cpu") for call in self.calls]

    @cached_property
    def seen(self) -> Seen:
        everything = range(len(self.queries)), range(len(self.keys))
        seen = self._part(*everything)
        graphs = [call.graph for call in self.calls]
        if None in graphs:
            return seen
        if self.dense is not None:
            return SeenWithGradients.of_graph(seen, None)
        q, k, _, settings = Run.of(graphs)._problem(*everything)
        return SeenWithGradients.of_graph(seen, (q, k, settings.get("bias"), settings.get("sink")))

    @cached_property
    def sums(self) -> Tensor:
        """The log-sum-exp and its rounding error, [2, B, H, Tq] on the host. If the function did
        not give them, they are computed here, and the output is compared with the function's."""
        if all(call.sums is not None for call in self.calls):
            sums = [call.sums.to("cpu") for call in self.calls]
            return sums[0] if len(sums) == 1 else torch.cat(sums, 3)
        if self.dense is not None:
            scores, lse = self.dense
            v = _joined(self._on_cpu, "v")
            v = v.repeat_interleave(scores.shape[1] // v.shape[1], 1).to(scores.dtype)
            self._check((scores - lse[..., None]).exp().nan_to_num(0.0) @ v, lse)
            return torch.stack([lse, torch.zeros_like(lse)])
        try:
            return self._computed()
        except Unsupported:
            if not self.first.is_guess:
                raise
            self.calls = [dataclasses.replace(call, mask=None) for call in self.calls]
            self.first = self.calls[0]
            self._forget("_on_cpu")
            return self._computed()

    def _computed(self) -> Tensor:
        q, k, v, settings = self._problem(range(len(self.queries)), range(len(self.keys)))
        out, seen = attention(q, k, v, seen=True, **settings)
        self._check(out, seen.lse)
        return torch.stack([seen.lse, seen.lse_low])

    @cached_property
    def dense(self) -> tuple[Tensor, Tensor] | None:
        """The scores [B, H, Tq, Tk] and their log-sum-exp, if the weights do not follow from q and
        k: edits changed them, or the function returned weights. Else None."""
        edits = [applied.edit.is_of_scores for call in self.calls for applied in call.edits]
        if not any(edits) and all(call.weights is None for call in self.calls):
            return None
        calls = [call.resolved() for call in self._on_cpu]
        k = _joined(calls, "k")
        parts = [_dense(dataclasses.replace(call, k=k), self.keys) for call in calls]
        scores, lse = (torch.cat(each, 2) for each in zip(*parts))
        return scores, lse

    def output(self, heads: list[int]) -> Tensor:
        """Returns the output of some heads, [B, len(heads), Tq, Dv]."""
        if all(call.out is not None for call in self.calls):
            return _joined(self.calls, "out")[:, heads]
        q, k, v, settings = self._problem(range(len(self.queries)), range(len(self.keys)))
        return attention(q, k, v, **settings)[:, heads]

    def of_one(self, sequence: int) -> Run:
        """Returns the run of one sequence of the batch, without copies."""
        run = Run.of([call.of_one(sequence) for call in self._on_cpu])
        one = slice(sequence, sequence + 1)
        run.sums = self.sums[:, one]
        run.dense = None if self.dense is None else tuple(each[one] for each in self.dense)
        return run

    @property
    def without_padding(self) -> Seen:
        """The attention from the first to the last token, without padding; for one sequence."""
        return self._part(self.rows, self._columns)

    @property
    def images(self) -> list[Grid]:
        """The images of a run of one sequence; tokens are counted as in `without_padding`."""
        return self.images_in(self.rows, self._columns)

    def images_of(self, sequence: int) -> list[Grid]:
        """Returns the images among the queries of a sequence; tokens are counted with padding."""
        found = self.images_in(range(len(self.queries)), range(len(self.keys)))
        return [each for each in found if each.of_queries and each.sequence == sequence]

    def images_in(self, rows: range, columns: range) -> list[Grid]:
        """Returns the images in some rows and columns; tokens are counted from the first of
        them."""
        found: list[Grid | None] = []
        for call in self.calls:
            from_rows = call.queries.start - self.queries.start - rows.start
            from_columns = call.queries.start - self.keys.start - columns.start
            for grid in call.images:
                if grid.of == "both" and (from_rows, len(rows)) == (from_columns, len(columns)):
                    found.append(grid.moved(from_rows, len(rows)))
                    continue
                if grid.of_queries:
                    found.append(grid.moved(from_rows, len(rows), "queries"))
                if grid.of == "both":
                    found.append(grid.moved(from_columns, len(columns), "keys"))
                elif grid.of == "keys" and call is self.first:  # later calls have the same keys
                    found.append(grid.moved(-columns.start, len(columns)))
        return [each for each in found if each is not None]

    @property
    def _columns(self) -> range:
        """The keys of one sequence without padding."""
        padding = self._padding()
        return range(len(self.keys)) if padding is None else _around(padding[0])

    @property
    def rows(self) -> range:
        """The queries of one sequence that see a key and are not padding."""
        exist = self.sums[0, 0].isfinite().any(0)
        padding = None if self.first.is_cross else self._padding()
        if padding is not None:
            first = self.queries.start - self.keys.start
            exist &= padding[0, first : first + len(self.queries)]
        return _around(exist)

    @property
    def ids(self) -> Tensor | None:
        """The token ids of the queries, [B, Tq]; None if a call had none."""
        ids = [call.ids for call in self.calls]
        return None if any(each is None for each in ids) else torch.cat(ids, 1).cpu()

    @property
    def nbytes(self) -> int:
        return sum(call.nbytes for call in self.calls)

    def _part(self, rows: range, columns: range) -> Seen:
        lse, lse_low = _cut(self.sums, 3, rows).contiguous()  # first, because it may drop the mask
        q, k, v, settings = self._problem(rows, columns)
        if self.dense is not None:
            scores = _cut(_cut(self.dense[0], 2, rows), 3, columns)
            q, k = (each[..., :1] * 0 for each in (q.to(lse), k.to(lse)))
            places = {name: settings[name] for name in ("q_offset", "key_offset")}
            return Seen.of(q, k, v.to(lse), lse=lse, lse_low=lse_low, bias=scores, **places)
        return Seen.of(q, k, v, lse=lse, lse_low=lse_low, **settings)

    def _problem(
        self, rows: range, columns: range
    ) -> tuple[Tensor, Tensor, Tensor, dict[str, Any]]:
        """Returns q, k, v and the settings of `heed.attention` for some rows and columns, on the
        host."""
        calls = [call.resolved() for call in self._on_cpu]
        q = _cut(_joined(calls, "q"), 2, rows)
        k, v = (_cut(_joined(calls, name), 2, columns) for name in ("k", "v"))
        settings = self.first.settings | self._mask_settings(calls, rows, columns)
        if any(call.bias is not None for call in calls):
            bias = _stacked([placed(_bias(call, self.keys), 0, len(self.keys), len(call.queries))
                             for call in calls])  # fmt: skip
            settings["bias"] = _cut(_cut(bias, 2, rows), 3, columns)
        sink = calls[0].sink
        return q, k, v, settings | ({} if sink is None else {"sink": sink})

    def _mask_settings(self, calls: list[Call], rows: range, columns: range) -> dict[str, Any]:
        rule, padding = calls[0].rule, self._padding()
        queries = self.queries[rows.start : rows.stop]
        keys = self.keys[columns.start : columns.stop]
        is_one = not isinstance(rule, Tensor) and all(_same(rule, each.rule) for each in calls)
        had_all = all(each.keys.stop == self.keys.stop for each in calls)
        if is_one and (had_all or rule is not EVERYTHING):
            padding = None if padding is None else _cut(padding, 1, columns)
            return settings_of(rule, padding, queries, keys)
        visible = _stacked([call.visible(self.keys) for call in calls])
        mask = keep(_cut(_cut(visible, 2, rows), 3, columns))
        return {"q_offset": queries.start, "key_offset": keys.start, "mask": mask}

    def _padding(self) -> Tensor | None:
        """Returns which keys exist, [B, Tk] of bool, combined from all calls; None if all do."""
        if all(getattr(call.mask, "padding", None) is None for call in self.calls):
            return None
        shape = self.first.k.shape[0], len(self.keys)
        padding = torch.ones(shape, dtype=torch.bool, device="cpu")
        for call in self.calls:
            if isinstance(call.mask, Pattern) and call.mask.padding is not None:
                first = call.mask.keys.start - self.keys.start
                part = call.mask.padding[:, : len(self.keys) - first]
                padding[:, first : first + part.shape[1]] = part
        return None if bool(padding.all()) else padding

    # --- the check -------------------------------------------------------------------------------

    def _check(self, out: Tensor, lse: Tensor) -> None:
        """Raises Unsupported if the function's output is not the attention of its q, k and v."""
        if any(call.out is None for call in self.calls):
            return
        wanted = _joined(self.calls, "out").to("cpu")
        sees = lse.isfinite()[..., None]  # other rows are padding, which eager does not set to 0
        difference = ((wanted.float() - out.float()).abs() * sees).nan_to_num()
        for applied in (each for call in self.calls for each in call.edits):
            if not applied.edit.is_of_scores:  # the edit changed the output, but not the weights
                difference[:, applied.heads] = 0
        difference = difference.amax().item()
        known = [call.v for call in self.calls if call.v.numel()]  # later cross calls add no keys
        largest = max((v.float().abs().amax().item() for v in known), default=0)
        if difference > _TOLERANCE[wanted.dtype] * max(largest, 1e-3):
            raise made(
                Unsupported, op="seen",
                argument=f'the output of the attention function "{self.first.function}"',
                found=f"{difference:.2g} away from softmax(q k) v",
                expected="equal to it, or returned with its weights, which are shown then",
            )  # fmt: skip


_TOLERANCE = {
    torch.float64: 1e-4, torch.float32: 1e-3, torch.float16: 0.01, torch.bfloat16: 0.05,
}  # fmt: skip
"""The tolerance relative to the largest value: several times the rounding of each type."""


def _joined(calls: list[Call], name: str) -> Tensor:
    parts = [getattr(call, name) for call in calls]
    return parts[0] if len(parts) == 1 else torch.cat(parts, 2)


def _dense(call: Call, keys: range) -> tuple[Tensor, Tensor]:
    """Returns the scores and log-sum-exp of one call. ``call`` has the keys of the whole run."""
    count = len(call.queries)
    if call.weights is not None:
        first = call.mask.keys.start if isinstance(call.mask, Pattern) else 0
        logs = call.weights.float().log()
        logs = placed(logs, first - keys.start, len(keys), count, -torch.inf)
        return logs, torch.where(logs.amax(-1) > -torch.inf, 0.0, -torch.inf)
    block = block_of(call, list(range(call.q.shape[1])), 0, count, keys)
    apply(block, list(call.edits))
    lse = block.scores.logsumexp(-1)
    return block.scores, lse if block.sink is None else lse.logaddexp(block.sink[..., 0])


def _bias(call: Call, keys: range) -> Tensor:
    if call.bias is None:
        return torch.zeros(1, 1, len(call.queries), len(keys), dtype=torch.float32, device="cpu")
    return call.bias


def _around(exist: Tensor) -> range:
    """Returns the range from the first to the last true element."""
    places = exist.nonzero()
    return range(int(places[0]), int(places[-1]) + 1) if len(places) else range(0)


def _cut(tensor: Tensor, axis: int, part: range) -> Tensor:
    """Returns a part of one axis; all of it if the tensor broadcasts along the axis."""
    return tensor if tensor.shape[axis] == 1 else tensor.narrow(axis, part.start, len(part))


def _same(rule: Any, other: Any) -> bool:
    return rule is other or (not isinstance(other, Tensor) and rule == other)


def _stacked(rows: list[Tensor]) -> Tensor:
    """Concatenates rows; batch and heads broadcast."""
    if len(rows) == 1:
        return rows[0]
    batch, heads = (max(each.shape[axis] for each in rows) for axis in (0, 1))
    return torch.cat([each.expand(batch, heads, *each.shape[2:]) for each in rows], 2)
