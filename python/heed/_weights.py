"""A matrix of attention that is computed where it is looked at."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core
from .errors import OutOfRange, made

KINDS = {"weights": 0, "scores": 1, "before_softcap": 2, "before_bias": 3, "before_mask": 4}


Axes = tuple[str, ...]
_AXES: Axes = ("batch", "head", "query", "key")
Axis = int | tuple[int, ...] | None
_PART = 2**22
"""Weights that are computed at a time where all of them are reduced: 16 MiB."""


class Weights:
    """[B, H, Tq, Tk], float32, of which nothing is stored: an index computes what it names. The
    weights of a session have their layers in the place of the batch, those of a watch before it.

    Indices are NumPy's: ``weights[0, 3, 100:110]``, ``weights[..., -1, :]``,
    ``weights[0, [1, 4], 17]``. Memory and time are those of the smallest rows and columns that hold
    the answer. ``numpy.asarray(weights)`` computes everything, and so does a comparison such as
    ``weights > 0.5``; ``max`` and ``mean`` compute everything in parts.
    """

    dtype = np.dtype(np.float32)

    def __init__(
        self,
        select: Callable[[list[list[int]]], Any],
        library: Any,
        shape: tuple[int, ...],
        axes: Axes = _AXES,
    ):
        self._select = select
        self._library = library
        self._axes = axes
        self.shape = shape
        self.ndim = len(shape)

    @classmethod
    def of(cls, core: _core.Seen, library: Any, kind: str, shape: tuple[int, ...]) -> Weights:
        """The weights of an attention that was seen."""
        number = KINDS[kind]
        return cls(lambda selected: core.select(selected, number), library, shape)

    @property
    def nbytes(self) -> int:
        """What everything would take."""
        return 4 * int(np.prod(self.shape, dtype=np.int64))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        selected, within = _selection(index, self.shape, self._axes)
        answer = self._library.taken(self._select(selected))
        return answer[within]

    def selected(self, selected: list[list[int]]) -> np.ndarray:
        """What rising indices of each axis name, as an array of NumPy."""
        return np.asarray(self._select(selected))

    def max(self, axis: Axis = None) -> Any:
        """The largest, of everything or along ``axis`` as NumPy's ``max`` takes it."""
        return self._reduced(axis, np.maximum, -np.inf)

    def mean(self, axis: Axis = None) -> Any:
        """The mean, of everything or along ``axis`` as NumPy's ``mean`` takes it."""
        return self._reduced(axis, np.add, 0)

    def _reduced(self, axis: Axis, join: np.ufunc, start: float) -> Any:
        """The mean where ``join`` adds. Computed in parts, whose memory is linear in the length."""
        axes, _ = _chosen(range(self.ndim) if axis is None else np.array(axis), self.ndim, "axis")
        kept = tuple(1 if each in axes else extent for each, extent in enumerate(self.shape))
        found = np.full(kept, start, np.float64)
        *outer, heads, queries, keys = self.shape
        rows = max(1, _PART // max(1, heads * keys))
        for place in np.ndindex(*outer):
            for begin in range(0, queries, rows):
                of_queries = range(queries)[begin : begin + rows]
                first = (range(at, at + 1) for at in place)
                part = *first, range(heads), of_queries, range(keys)
                weights = np.asarray(self._select([list(each) for each in part]), np.float64)
                at = tuple(
                    slice(None) if each in axes else slice(of.start, of.stop)
                    for each, of in enumerate(part)
                )
                found[at] = join(found[at], join.reduce(weights, tuple(axes), keepdims=True))
        if join is np.add:
            found /= math.prod(self.shape[each] for each in axes)
        return self._library.taken(found.squeeze(tuple(axes)).astype(self.dtype))[()]

    def __lt__(self, other: Any) -> Any:
        return self[...] < _computed(other)

    def __le__(self, other: Any) -> Any:
        return self[...] <= _computed(other)

    def __gt__(self, other: Any) -> Any:
        return self[...] > _computed(other)

    def __ge__(self, other: Any) -> Any:
        return self[...] >= _computed(other)

    def __eq__(self, other: Any) -> Any:
        return self[...] == _computed(other)

    def __ne__(self, other: Any) -> Any:
        return self[...] != _computed(other)

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if copy is False:
            raise ValueError("weights are computed: there is no array to share without a copy")
        everything = [list(range(extent)) for extent in self.shape]
        return np.asarray(self._select(everything), dtype=dtype)

    def __repr__(self) -> str:
        return f"<weights {list(self.shape)}, computed where they are indexed>"


def _computed(other: Any) -> Any:
    return other[...] if isinstance(other, Weights) else other


def _selection(
    index: Any, shape: tuple[int, ...], axes: Axes
) -> tuple[list[list[int]], tuple[Any, ...]]:
    """The rising indices of each axis that an index touches, and the index into these alone."""
    entries = _expanded(index, axes)
    selected: list[list[int]] = []
    within: list[Any] = []
    for entry in entries:
        if entry is None:
            within.append(None)
            continue
        axis = len(selected)
        chosen, relative = _chosen(entry, shape[axis], axes[axis])
        selected.append(chosen)
        within.append(relative)
    return selected, tuple(within)


def _expanded(index: Any, axes: Axes) -> list[Any]:
    """One entry an axis (and None for new axes): ellipses filled, boolean arrays as numbers."""
    entries: list[Any] = []
    for entry in index if isinstance(index, tuple) else (index,):
        if entry is None or entry is Ellipsis or isinstance(entry, (slice, int, np.integer)):
            entries.append(entry)
            continue
        array = np.asarray(entry)
        entries.extend(array.nonzero() if array.dtype == bool else [array])
    ellipses = sum(entry is Ellipsis for entry in entries)
    if ellipses > 1:
        raise IndexError("weights: an index can have one ellipsis ('...')")
    used = sum(entry is not None and entry is not Ellipsis for entry in entries)
    if used > len(axes):
        raise IndexError(
            f"weights: {used} indices, expected at most {len(axes)}: {', '.join(axes)}"
        )
    at = next((i for i, entry in enumerate(entries) if entry is Ellipsis), len(entries))
    return entries[:at] + [slice(None)] * (len(axes) - used) + entries[at + 1 :]


def _chosen(entry: Any, extent: int, axis: str) -> tuple[list[int], Any]:
    """The indices that one entry touches, rising, and the entry among these."""
    if isinstance(entry, slice):
        touched = range(extent)[entry]
        rises = touched.step > 0
        return list(touched if rises else reversed(touched)), slice(None, None, 1 if rises else -1)
    array = np.asarray(entry)
    if array.size == 0:
        return [], np.zeros(array.shape, np.int64)
    if array.dtype.kind not in "iu":
        raise IndexError(
            f"weights: an index is {entry!r}, expected whole numbers, slices or booleans"
        )
    for number in (int(array.min()), int(array.max())):
        if not -extent <= number < extent:
            raise made(OutOfRange, op="weights", argument=axis, found=str(number),
                       expected=f"{-extent} to {extent - 1}")  # fmt: skip
    chosen, places = np.unique(np.where(array < 0, array + extent, array), return_inverse=True)
    places = places.reshape(array.shape)
    return chosen.tolist(), int(places) if array.ndim == 0 else places
