"""A matrix of attention that is computed where it is looked at."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core

_KINDS = {"weights": 0, "scores": 1, "before_softcap": 2, "before_bias": 3, "before_mask": 4}


class Weights:
    """[B, H, Tq, Tk], float32, of which nothing is stored: an index computes what it names.

    Indices are NumPy's: ``weights[0, 3, 100:110]``, ``weights[..., -1, :]``,
    ``weights[0, [1, 4], 17]``. Memory and time are those of the smallest rows and columns that hold
    the answer. ``numpy.asarray(weights)`` computes everything.
    """

    dtype = np.dtype(np.float32)
    ndim = 4

    def __init__(self, core: _core.Seen, library: Any, kind: str, shape: tuple[int, ...]):
        self._core = core
        self._library = library
        self._kind = _KINDS[kind]
        self.shape = shape

    @property
    def nbytes(self) -> int:
        """What everything would take."""
        return 4 * int(np.prod(self.shape, dtype=np.int64))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        selected, within = _selection(index, self.shape)
        answer = self._library.taken(self._core.select(selected, self._kind))
        return answer[within]

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if copy is False:
            raise ValueError("weights are computed: there is no array to share without a copy")
        everything = [list(range(extent)) for extent in self.shape]
        return np.asarray(self._core.select(everything, self._kind), dtype=dtype)

    def __repr__(self) -> str:
        return f"<weights {list(self.shape)}, computed where they are indexed>"


def _selection(index: Any, shape: tuple[int, ...]) -> tuple[list[list[int]], tuple[Any, ...]]:
    """The rising indices of each axis that an index touches, and the index into these alone."""
    entries = _expanded(index, len(shape))
    selected: list[list[int]] = []
    within: list[Any] = []
    for entry in entries:
        if entry is None:
            within.append(None)
            continue
        axis = len(selected)
        chosen, relative = _chosen(entry, shape[axis], axis)
        selected.append(chosen)
        within.append(relative)
    return selected, tuple(within)


def _expanded(index: Any, axes: int) -> list[Any]:
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
    if used > axes:
        raise IndexError(
            f"weights: {used} indices, expected at most {axes}: batch, head, query, key"
        )
    at = next((i for i, entry in enumerate(entries) if entry is Ellipsis), len(entries))
    return entries[:at] + [slice(None)] * (axes - used) + entries[at + 1 :]


def _chosen(entry: Any, extent: int, axis: int) -> tuple[list[int], Any]:
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
            name = ("batch", "head", "query", "key")[axis]
            raise IndexError(f"weights: {name} is {number}, expected {-extent} to {extent - 1}")
    chosen, places = np.unique(np.where(array < 0, array + extent, array), return_inverse=True)
    places = places.reshape(array.shape)
    return chosen.tolist(), int(places) if array.ndim == 0 else places
