"""Edits of attention as data, and their application to one call.

Heads that no edit names keep the output of the model's own function. For the other heads, the
queries that an edit concerns are computed again here, one block of queries at a time, in memory
linear in the length, on the tensors' device.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .._masks import Mask
from ..errors import InvalidArgument, made, out_of_range, refused
from ._arguments import Arguments
from ._calls import Call, placed

if TYPE_CHECKING:
    from ._runs import Run

_ROWS = 128
"""The number of queries in a block."""


@dataclass
class Edit:
    """One change of some heads of some layers."""

    name: str
    places: dict[int, list[int] | None] | None
    """The heads of each layer; None: all layers, and within a layer all heads."""
    heads: list[int] | None
    """The heads in every layer, if ``places`` is None; None: all heads."""
    path: str
    """The path of its stack's modules: "model.layers.*.self_attn"."""
    who: Any = None
    to: Any = None
    value: Any = None
    was_applied: bool = False
    found: dict[str, Tensor] = field(default_factory=dict)
    """The positions for "who" and "to", [B, positions] of bool; an absent entry means all."""

    def heads_at(self, layer: int, heads: int) -> list[int]:
        if self.places is not None and layer not in self.places:
            return []
        chosen = self.heads if self.places is None else self.places[layer]
        chosen = list(range(heads)) if chosen is None else chosen
        for head in chosen:
            if not 0 <= head < heads:
                raise out_of_range(self.name, "heads", head,
                                   f"0 to {heads - 1}, the heads of layer {layer}")  # fmt: skip
        return chosen

    @property
    def is_of_scores(self) -> bool:
        return self.name not in ("ablate", "patch")

    def __str__(self) -> str:
        places = f"heads={self.heads}" if self.places is None else f"{self.places}"
        words = "".join(
            f", {n}={each!r}"
            for n, each in (("who", self.who), ("to", self.to))
            if each is not None
        )
        return f"{self.name}({places}{words})"


@dataclass
class Applied:
    """An edit of one layer."""

    edit: Edit
    heads: list[int]
    run: Run | None = None
    """For `freeze` and `patch`: the same layer of the other run."""


@dataclass
class Block:
    """The scores of some heads and queries, [B, h, rows, Tk], where h is len(heads)."""

    scores: Tensor
    sink: Tensor | None
    """The sink's logits, [B, h, rows, 1], one more term of the softmax."""
    heads: list[int]
    queries: range
    keys: range

    def chosen(self, applied: Applied) -> Tensor:
        """Returns which heads an edit changes, [1, h, 1, 1] of bool."""
        own = [head in applied.heads for head in self.heads]
        return torch.tensor(own, device=self.scores.device)[None, :, None, None]

    def pairs(self, applied: Applied) -> Tensor:
        """Returns which pairs an edit changes, as bool that broadcasts to the scores."""
        who = _at(applied.edit.found.get("who"), self.queries)
        to = _at(applied.edit.found.get("to"), self.keys)
        pairs = (who[:, None, :, None] & to[:, None, None, :]).to(self.scores.device)
        return pairs & self.chosen(applied)

    def weights(self) -> Tensor:
        if self.sink is None:
            return self.scores.softmax(-1).nan_to_num(0.0)  # a query that sees nothing gets 0
        together = torch.cat([self.scores, self.sink.to(self.scores.dtype)], -1)
        return together.softmax(-1)[..., :-1]


def _at(places: Tensor | None, positions: range) -> Tensor:
    """Returns the flags of some positions, [B or 1, len(positions)] of bool; False for positions
    after the known ones."""
    if places is None:
        return torch.ones(1, len(positions), dtype=torch.bool, device="cpu")
    known = places[:, max(positions.start, 0) : positions.stop]
    return torch.nn.functional.pad(known, (0, len(positions) - known.shape[1]))


# --- the edits of scores --------------------------------------------------------------------------


def _note(block: Block, applied: Applied, pairs: Tensor) -> None:
    """Notes that an edit applied, if it changes a visible pair. Waits for the device only until
    then."""
    edit = applied.edit
    edit.was_applied = edit.was_applied or bool((pairs & block.scores.isfinite()).any())


def _remove(block: Block, applied: Applied) -> None:
    pairs = block.pairs(applied)
    _note(block, applied, pairs)
    block.scores = block.scores.masked_fill(pairs, -math.inf)


def _steer(block: Block, applied: Applied) -> None:
    pairs = block.pairs(applied)
    _note(block, applied, pairs)
    block.scores = block.scores + applied.edit.value * pairs


def _temperature(block: Block, applied: Applied) -> None:
    applied.edit.was_applied = True
    scaled = block.scores * applied.edit.value
    block.scores = torch.where(block.chosen(applied), scaled, block.scores)


def _mask(block: Block, applied: Applied) -> None:
    given = _of_block(applied.edit.value, block).to(block.scores.device)
    chosen = block.chosen(applied)
    if given.dtype == torch.bool:
        hidden = ~given & chosen
        _note(block, applied, hidden)
        block.scores = block.scores.masked_fill(hidden, -math.inf)
    else:
        applied.edit.was_applied = applied.edit.was_applied or bool((given != 0).any())
        block.scores = torch.where(chosen, block.scores + given, block.scores)


def _of_block(mask: Any, block: Block) -> Tensor:
    batch, heads = block.scores.shape[:2]
    if isinstance(mask, Mask):
        shape = (batch, max(block.heads) + 1, len(block.queries), len(block.keys))
        array = mask.to_array(shape, block.queries.start, block.keys.start)
        return torch.from_numpy(array)[:, block.heads]
    rows, columns = mask.shape[-2:]
    if block.queries.stop > rows or block.keys.stop > columns:
        raise made(
            InvalidArgument, op="mask", argument="mask", found=f"{rows} x {columns}",
            expected=f"at least {block.queries.stop} x {block.keys.stop}, the queries and keys",
            hint="heed.causal(), heed.band(...) and others have no size",
        )  # fmt: skip
    mask = mask[(None,) * (4 - mask.dim())]
    mask = mask if mask.shape[1] == 1 else mask[:, block.heads]
    return mask[..., block.queries.start : block.queries.stop, block.keys.start : block.keys.stop]


def _freeze(block: Block, applied: Applied) -> None:
    run = applied.run
    rows = range(
        max(block.queries.start, run.queries.start), min(block.queries.stop, run.queries.stop)
    )
    if not rows:
        return
    at = range(rows.start - run.queries.start, rows.stop - run.queries.start)
    theirs = torch.as_tensor(run.seen.weights[:, applied.heads, at.start : at.stop])
    theirs = _widened(theirs, run.keys, block.keys, applied.edit)
    logs = theirs.to(block.scores).log()
    within = slice(rows.start - block.queries.start, rows.stop - block.queries.start)
    heads = [block.heads.index(head) for head in applied.heads]
    who = _at(applied.edit.found.get("who"), rows).to(logs.device)[:, None, :, None]
    block.scores = _put(block.scores, heads, within, logs, who)
    if block.sink is not None:
        rest = (1 - theirs.sum(-1, keepdim=True)).clamp(min=0).to(block.sink).log()
        block.sink = _put(block.sink, heads, within, rest, who)
    applied.edit.was_applied = True


def _widened(weights: Tensor, keys: range, wanted: range, edit: Edit) -> Tensor:
    """Returns weights over the ``wanted`` keys, 0 for keys that the run did not have."""
    first = keys.start - wanted.start
    cut = weights[..., max(-first, 0) : len(wanted) - first]
    if not torch.allclose(cut.sum(-1), weights.sum(-1), atol=1e-5):
        raise refused(edit.name, "seen", f"a run with weights on keys up to {keys.stop - 1}",
                      f"keys from {wanted.start} to {wanted.stop - 1}, as this text has")  # fmt: skip
    first = max(first, 0)
    return torch.nn.functional.pad(cut, (first, len(wanted) - first - cut.shape[-1]))


def _put(into: Tensor, heads: list[int], rows: slice, values: Tensor, who: Tensor) -> Tensor:
    """Returns a copy with ``values`` in some heads and rows, where ``who`` is true."""
    into = into.clone()
    part = into[:, :, rows]
    part[:, heads] = torch.where(who, values, part[:, heads])
    return into


_OF_SCORES: dict[str, Callable[[Block, Applied], None]] = {
    "remove": _remove, "steer": _steer, "temperature": _temperature, "mask": _mask,
    "freeze": _freeze,
}  # fmt: skip


# --- one call -------------------------------------------------------------------------------------


def block_of(call: Call, heads: list[int], begin: int, end: int, keys: range) -> Block:
    """Returns the scores of some heads and queries before any edit. ``call`` must be resolved."""
    part = call.of_rows(begin, end)
    dtype = torch.float64 if call.q.dtype == torch.float64 else torch.float32
    group = call.q.shape[1] // call.k.shape[1]
    k = call.k[:, [head // group for head in heads]].to(dtype)
    q = part.q[:, heads].to(dtype)
    scores = q @ k.mT * call.settings.get("scale", q.shape[-1] ** -0.5)
    if cap := call.settings.get("softcap"):
        scores = cap * torch.tanh(scores / cap)
    if part.bias is not None:
        bias = part.bias if part.bias.shape[1] == 1 else part.bias[:, heads]
        scores = scores + placed(bias, 0, len(keys), end - begin).to(dtype)
    if part.mask is not None or part.keys.stop < keys.stop:
        visible = part.visible(keys).to(scores.device)
        visible = visible if visible.shape[1] == 1 else visible[:, heads]
        scores = scores.masked_fill(~visible, -math.inf)
    sink = None
    if call.sink is not None:
        sink = call.sink.reshape(-1)[heads].to(dtype)[None, :, None, None]
        sink = sink.expand(scores.shape[0], -1, scores.shape[2], 1)
    return Block(scores, sink, heads, part.queries, keys)


def apply(block: Block, edits: list[Applied]) -> None:
    for applied in edits:
        if applied.edit.is_of_scores:
            _OF_SCORES[applied.edit.name](block, applied)


def edited(given: Arguments, answer: Any) -> Any:
    """Returns the answer of an attention function with the call's edits applied."""
    out, *others = answer if isinstance(answer, tuple) else (answer,)
    call = given.located.resolved()
    out = out.clone()  # [B, Tq, H, D]
    weights = others[0].clone() if others and isinstance(others[0], Tensor) else None
    of_scores = [each for each in given.edits if each.edit.is_of_scores]
    heads = sorted({head for each in of_scores for head in each.heads})
    which = torch.tensor(heads, dtype=torch.int64, device="cpu")
    for begin in range(0, len(call.queries) if heads else 0, _ROWS):
        end = min(begin + _ROWS, len(call.queries))
        rows = _concerned(of_scores, call.queries[begin:end])
        if len(rows) == 0:
            continue
        block = block_of(call, heads, begin, end, call.keys)
        apply(block, of_scores)
        found = block.weights()[:, :, rows]
        if weights is not None:
            part = weights[:, :, begin:end, : found.shape[-1]]
            part[:, which[:, None], rows] = found.to(weights.dtype)
        if given.dropout:
            found = torch.nn.functional.dropout(found, given.dropout)
        group = call.q.shape[1] // call.v.shape[1]
        v = call.v[:, [head // group for head in heads]].to(found.dtype)
        part = out[:, begin:end]
        part[:, rows[:, None], which] = (found @ v).transpose(1, 2).to(out.dtype)
    for applied in given.edits:
        if not applied.edit.is_of_scores:
            _of_output(out, applied, call.queries)
    return (out, weights, *others[1:]) if isinstance(answer, tuple) else out


def _concerned(edits: list[Applied], queries: range) -> Tensor:
    """Returns the indices of the queries that any edit concerns."""
    some = torch.zeros(len(queries), dtype=torch.bool, device="cpu")
    for applied in edits:
        some |= _at(applied.edit.found.get("who"), queries).any(0)
    return some.nonzero()[:, 0]


def _of_output(out: Tensor, applied: Applied, queries: range) -> None:
    """Applies an edit of outputs to ``out`` [B, Tq, H, D], in place."""
    if applied.edit.name == "ablate":
        out[:, :, applied.heads] = 0
        applied.edit.was_applied = True
        return
    run = applied.run
    rows = range(max(queries.start, run.queries.start), min(queries.stop, run.queries.stop))
    if not rows:
        return
    at = slice(rows.start - run.queries.start, rows.stop - run.queries.start)
    theirs = run.output(applied.heads)[:, :, at].transpose(1, 2).to(out)
    within = slice(rows.start - queries.start, rows.stop - queries.start)
    part = out[:, within]
    who = _at(applied.edit.found.get("who"), rows).to(out.device)[:, :, None, None]
    part[:, :, applied.heads] = torch.where(who, theirs, part[:, :, applied.heads])
    applied.edit.was_applied = True
