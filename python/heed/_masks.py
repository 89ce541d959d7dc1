"""Masks: which query may attend to which key. True means *may attend*."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core
from ._checks import whole
from ._core import Mask
from .errors import WrongType, kind_of, made

__all__ = ["Mask", "band", "blocks", "causal", "custom", "edges", "keep", "prefix", "segments"]


def causal() -> Mask:
    """Shows keys up to the query's own position; the same as ``band(-1, 0)``.

    The last query has the position of the last key. With ``attention(..., q_offset=0)`` the first
    query has the position of the first key, as with PyTorch's ``is_causal``.
    """
    return _remembered(_core.causal(), causal)


def band(left: int, right: int) -> Mask:
    """Shows keys from ``left`` before the query's own position to ``right`` after it; -1 is open.

    ``band(255, 0)`` is a causal sliding window of 256 keys.
    """
    left, right = whole("band", "left", left), whole("band", "right", right)
    return _remembered(_core.band(left, right), band, left, right)


def prefix(lengths: Any) -> Mask:
    """Shows keys at positions below ``lengths`` (one number, or one per sequence) to every query.

    ``causal() | prefix(n)`` is the mask of a prefix language model.
    """
    return _remembered(_core.prefix(lengths), prefix, lengths)


def segments(query_ids: Any, key_ids: Any = None) -> Mask:
    """Shows keys of the query's own document: ids are [T] or [B, T] of int32 or int64, or lists.

    ``key_ids`` are the ids of the keys, if the keys are other tokens than the queries.
    """
    mask = _core.segments(_ids(query_ids), _ids(key_ids))
    return _remembered(mask, segments, query_ids, key_ids)


def keep(array: Any) -> Mask:
    """Shows pairs that are true in an array of bool or uint8, which broadcasts to [B, H, Tq, Tk].

    The array is not copied: writing to it later changes the mask. A floating array is refused:
    numbers that are added to scores are a ``bias``.
    """
    return _remembered(_core.keep(array), keep, array)


def blocks(layout: Any, rows: int = 64, keys: int = 64) -> Mask:
    """Shows pairs in blocks of ``rows`` by ``keys`` that are true in ``layout``, an array of bool
    [..., ceil(Tq / rows), ceil(Tk / keys)]."""
    rows, keys = whole("blocks", "rows", rows), whole("blocks", "keys", keys)
    return _remembered(_core.blocks(layout, rows, keys), blocks, layout, rows, keys)


def edges(row_starts: Any, columns: Any) -> Mask:
    """Shows pairs along the edges of a graph in compressed sparse rows: query i sees
    ``columns[row_starts[i]:row_starts[i + 1]]``, in ascending order. Both are int32 or int64."""
    mask = _core.edges(_ids(row_starts), _ids(columns))
    return _remembered(mask, edges, row_starts, columns)


def _ids(given: Any) -> Any:
    """Returns lists as arrays. Other values pass unchanged; the C++ side refuses them by name."""
    if not isinstance(given, (list, tuple)):
        return given
    try:
        return np.asarray(given, dtype=None if given else np.int64)
    except ValueError:  # rows of several lengths
        return given


def custom(function: Callable[..., Any], name: str = "custom") -> Mask:
    """Shows pairs where ``function(batch, head, queries, keys)`` is true.

    The function gets two numbers and two integer arrays, [n, 1] and [1, m]; n and m are at most 64.
    It returns booleans that broadcast to [n, m]. It is called from several threads, one at a time.

    >>> import heed
    >>> heed.custom(lambda batch, head, queries, keys: keys % 2 == 0, name="even keys")
    even keys
    """
    if not callable(function):
        found = kind_of(function)
        raise made(
            WrongType, op="custom", argument="function", found=found, expected="a function"
        )

    def tile(b: int, h: int, row_begin: int, row_end: int, key_begin: int, key_end: int) -> Any:
        rows = np.arange(row_begin, row_end)[:, None]
        keys = np.arange(key_begin, key_end)[None, :]
        seen = np.asarray(function(b, h, rows, keys))
        if seen.dtype.kind not in "biu":  # a function without a return gives None, an object
            raise made(
                WrongType, op="custom", argument=f"the result of {name}",
                found=f"of type {seen.dtype}", expected="bool, true where a pair is seen",
            )  # fmt: skip
        return np.ascontiguousarray(np.broadcast_to(seen.astype(bool), (rows.size, keys.size)))

    return _remembered(_core.custom(tile, name), custom, function, name)


def _remembered(mask: Mask, function: Callable[..., Mask], *arguments: Any) -> Mask:
    """Returns the mask, after storing the call with which pickle makes it again."""
    mask._made = function, arguments
    return mask
