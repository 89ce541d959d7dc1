"""A matrix of attention that is computed when it is indexed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core
from .errors import out_of_range

KINDS = {"weights": 0, "scores": 1, "before_softcap": 2, "before_bias": 3, "before_mask": 4}


Axes = tuple[str, ...]
_AXES: Axes = ("batch", "head", "query", "key")
Axis = int | tuple[int, ...] | None
_PART = 2**22
"""The number of weights computed at a time in a reduction over all of them: 16 MiB."""


class Weights:
    """An array [B, H, Tq, Tk] of float32 that is not stored: an index computes the part that it
    selects. The weights of a session are [layers, H, Tq, Tk], those of a watch
    [layers, B, H, Tq, Tk].

    Indices are NumPy's: ``weights[0, 3, 100:110]``, ``weights[..., -1, :]``,
    ``weights[0, [1, 4], 17]``. Memory and time are those of the rows and columns that contain the
    answer. ``numpy.asarray(weights)`` and comparisons such as ``weights > 0.5`` compute everything;
    ``max`` and ``mean`` compute everything in parts.
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
        """Returns the matrix of a computed attention; ``kind`` is a key of KINDS."""
        number = KINDS[kind]
        return cls(lambda selected: core.select(selected, number), library, shape)

    @property
    def nbytes(self) -> int:
        """The bytes that the whole array would take."""
        return 4 * int(np.prod(self.shape, dtype=np.int64))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        selected, within = _selection(index, self.shape, self._axes)
        answer = self._library.taken(self._select(selected))
        return answer[within]

    def selected(self, selected: list[list[int]]) -> np.ndarray:
        """Computes the part with these ascending indices of each axis, as a NumPy array."""
        return np.asarray(self._select(selected))

    def max(self, axis: Axis = None) -> Any:
        """Returns the largest weight of all or along ``axis``, like NumPy's ``max``."""
        return self._reduced(axis, np.maximum, -np.inf)

    def mean(self, axis: Axis = None) -> Any:
        """Returns the mean weight of all or along ``axis``, like NumPy's ``mean``."""
        return self._reduced(axis, np.add, 0)

    def _reduced(self, axis: Axis, join: np.ufunc, start: float) -> Any:
        """Reduces in parts, in memory linear in the length. If ``join`` adds, the result is the
        mean."""
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
    """Returns the indices of each axis that an index touches, ascending, and the index within
    these."""
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
    """Returns one entry per axis (and None for new axes): ellipses are filled, and boolean arrays
    become numbers."""
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
    """Returns the indices that one entry touches, ascending, and the entry relative to these."""
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
            raise out_of_range("weights", axis, number, f"{-extent} to {extent - 1}")
    chosen, places = np.unique(np.where(array < 0, array + extent, array), return_inverse=True)
    places = places.reshape(array.shape)
    return chosen.tolist(), int(places) if array.ndim == 0 else places
