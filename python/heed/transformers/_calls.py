"""One recorded call of the attention function."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ..torch import hidden_or_added
from ._arguments import KNOWN, Arguments
from ._grids import Grid
from ._pattern import Pattern

_BY_SEQUENCE = ("q", "k", "v", "out", "bias", "weights", "ids")


@dataclass
class Call:
    """One recorded call. Its memory is linear in the length, except for a bias, a mask or weights
    that exist as tensors.

    Tensors stay on the device where the model computed them.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    out: Tensor | None
    """The function's output, [B, H, Tq, Dv]; None if ``sums`` is known, or with dropout."""
    sums: Tensor | None
    """The log-sum-exp and its rounding error, [2, B, H, Tq], if the function gave them."""
    mask: Tensor | None
    """A pattern, a tensor of bool or a tensor that is added; None if nothing is hidden."""
    bias: Tensor | None
    sink: Tensor | None
    weights: Tensor | None
    """The weights that a function of the user returned, [B, H, Tq, Tk]."""
    settings: dict[str, Any]
    queries: range
    """The positions of q's rows."""
    keys: range
    """The positions of k's rows. In a run, only those of keys that earlier calls did not have."""
    function: str
    is_cross: bool = False
    ids: Tensor | None = None
    """The token ids of the queries, [B, Tq]."""
    edits: tuple[Any, ...] = ()
    is_guess: bool = False
    """Whether the mask is a guess: a function of the user got no mask, but may have made one."""
    images: tuple[Grid, ...] = ()
    """The images whose patches are queries or keys of this call; tokens count from its first."""
    marks: tuple[str, ...] = ()
    """The names of a vision model's tokens that are not patches, in their order."""
    graph: Call | None = field(default=None, init=False)
    """The call's tensors with gradients. Copies do not have it."""

    @classmethod
    def of(
        cls, given: Arguments, out: Tensor, weights: Tensor | None = None, is_padded: bool = False
    ) -> Call:
        """Records a call. ``is_padded`` says that k and v are the memory of a cache that may not be
        full."""
        q, k, v = given.query, given.key, given.value
        if q.shape[0] == 1 < k.shape[0]:
            q = q.expand(k.shape[0], -1, -1, -1)
        q, k, v = (each.to(out.dtype) for each in (q, k, v))  # as autocast does
        mask = given.visible()
        if isinstance(mask, Pattern) and mask.was_opened:
            mask = mask.dense()
        queries, keys = _positions(mask, q.shape[2], k.shape[2], is_padded)
        k, v = (each[:, :, : len(keys)] for each in (k, v))
        settings = {"softcap": given.settings.get("softcap"), "scale": given.scale}
        if isinstance(given.scale, Tensor):  # one number per head
            q, settings["scale"] = q * given.scale.reshape(1, -1, 1, 1), 1.0
        sums = given.kept[0] if given.kept and not given.edits else None
        return cls(
            q, k, v,
            out=None if sums is not None or given.dropout else out.transpose(1, 2),
            sums=sums,
            mask=mask, bias=given.settings.get("position_bias"), sink=given.sink, weights=weights,
            settings={name: value for name, value in settings.items() if value is not None},
            queries=queries, keys=keys, function=given.name, edits=tuple(given.edits),
            is_guess=given.mask is None and given.name not in KNOWN,
        )  # fmt: skip

    def detached(self, is_overwritten: bool) -> Call:
        """The same without gradients. Keys and values that the model will write to are copied."""
        moved = {name: value.detach() for name, value in self._tensors()}
        if is_overwritten:
            moved |= {name: moved[name].clone() for name in ("k", "v")}
        return dataclasses.replace(self, **moved)

    def _tensors(self) -> list[tuple[str, Tensor]]:
        named = ((each.name, getattr(self, each.name)) for each in dataclasses.fields(self))
        return [(n, t) for n, t in named if isinstance(t, Tensor) and type(t) is not Pattern]

    @property
    def nbytes(self) -> int:
        tensors = (self.q, self.k, self.v, self.out, self.sums, self.weights)
        return sum(t.numel() * t.element_size() for t in tensors if t is not None)

    @property
    def rule(self) -> Any:
        """The rule of the mask; None if nothing is hidden. A tensor is its own rule."""
        return self.mask.rule if isinstance(self.mask, Pattern) else self.mask

    def to(self, device: Any) -> Call:
        """Returns the call with every tensor on a device."""
        return dataclasses.replace(self, **{n: t.to(device) for n, t in self._tensors()})

    def of_rows(self, begin: int, end: int) -> Call:
        """Returns the call with only the queries [begin, end)."""
        rows, count = slice(begin, end), len(self.queries)

        def cut(tensor: Tensor | None) -> Tensor | None:
            if tensor is None or tensor.shape[2] != count:
                return tensor
            return tensor[:, :, rows]

        mask = self.mask
        if isinstance(mask, Pattern):
            mask = Pattern(mask.shape[0], mask.queries[rows], mask.keys, mask.rule, mask.padding)
        else:
            mask = cut(mask)
        parts = {"mask": mask, "bias": cut(self.bias), "queries": self.queries[rows]}
        return dataclasses.replace(self, q=self.q[:, :, rows], **parts)

    def resolved(self) -> Call:
        """Returns the call with a pattern or a mask of bool; a mask that is added becomes bias."""
        mask, bias = self.mask, self.bias
        if isinstance(mask, Pattern) or mask is None or mask.dtype == torch.bool:
            return self
        if bias is not None:
            return dataclasses.replace(self, mask=None, bias=bias[..., : mask.shape[-1]] + mask)
        keep, bias = hidden_or_added(mask, self.q, self.k, self.settings.get("scale"))
        return dataclasses.replace(self, mask=keep, bias=bias)

    def of_one(self, sequence: int) -> Call:
        """Returns the call with only one sequence of the batch."""
        batch, one = self.q.shape[0], slice(sequence, sequence + 1)

        def cut(tensor: Tensor | None) -> Tensor | None:
            return tensor if tensor is None or tensor.shape[0] != batch else tensor[one]

        mask = self.mask.of_one(sequence) if isinstance(self.mask, Pattern) else cut(self.mask)
        parts = {name: cut(getattr(self, name)) for name in _BY_SEQUENCE}
        own = (each for each in self.images if each.sequence == sequence)
        parts["images"] = tuple(dataclasses.replace(each, sequence=0) for each in own)
        sums = None if self.sums is None else self.sums[:, one]
        return dataclasses.replace(self, mask=mask, sums=sums, **parts)

    def visible(self, keys: range) -> Tensor:
        """Returns the visible pairs, [B or 1, H or 1, Tq, len(keys)] of bool; keys that this call
        did not have are hidden."""
        if self.mask is None:
            allowed = (torch.arange(keys.start, keys.stop, device="cpu") < self.keys.stop)[None]
            return allowed.expand(len(self.queries), len(keys))[None, None]
        mask = self.mask.dense() if isinstance(self.mask, Pattern) else self.mask
        first = self.mask.keys.start if isinstance(self.mask, Pattern) else 0
        return placed(mask, first - keys.start, len(keys), len(self.queries))


def _positions(
    mask: Tensor | None, queries: int, keys: int, is_padded: bool
) -> tuple[range, range]:
    """Returns the positions of the queries and of the keys that exist."""
    if isinstance(mask, Pattern):
        stop = min(mask.keys.stop, mask.queries.stop) if mask.is_causal else mask.keys.stop
        return mask.queries, range(mask.keys.start, max(stop, mask.keys.start))
    if is_padded and mask is not None:  # memory of a static cache that is not full
        seen = mask if mask.dtype == torch.bool else mask == 0
        some = seen.flatten(0, -2).any(0).nonzero()
        keys = int(some[-1]) + 1 if len(some) else keys
    return range(keys - queries, keys) if keys >= queries else range(queries), range(keys)


def placed(rows: Tensor, first: int, width: int, height: int, fill: float = 0) -> Tensor:
    """Puts rows into rows of ``width`` with their column 0 at ``first`` and ``fill`` elsewhere;
    returns a tensor of rank 4."""
    rows = rows[..., max(-first, 0) : width - first]
    first = max(first, 0)
    ends = (first, width - first - rows.shape[-1])
    rows = torch.nn.functional.pad(rows, ends, value=fill)
    return rows.expand(*(1,) * (4 - rows.dim()), *rows.shape[:-2], height, width)
