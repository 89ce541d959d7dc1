"""Masks: who may attend to whom. True means *may attend*."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core
from ._checks import kind_of, whole
from ._core import Mask
from .errors import WrongType, made

__all__ = ["Mask", "band", "blocks", "causal", "custom", "edges", "keep", "prefix", "segments"]


def causal() -> Mask:
    """No key after the query's own position: ``band(-1, 0)``.

    The last query stands where the last key does; with ``attention(..., q_offset=0)`` the first
    ones stand together, as with PyTorch's ``is_causal``.
    """
    return _remembered(_core.causal(), causal)


def band(left: int, right: int) -> Mask:
    """Keys from ``left`` before the query's own position to ``right`` behind it; -1 is open.

    ``band(255, 0)`` is a causal sliding window of 256 keys.
    """
    left, right = whole("band", "left", left), whole("band", "right", right)
    return _remembered(_core.band(left, right), band, left, right)


def prefix(lengths: Any) -> Mask:
    """Keys at a position below ``lengths`` (one number, or one a batch), for every query.

    ``causal() | prefix(n)`` is the mask of a prefix language model.
    """
    return _remembered(_core.prefix(lengths), prefix, lengths)


def segments(query_ids: Any, key_ids: Any = None) -> Mask:
    """Keys of the query's own document: ids are [T] or [B, T] of int32 or int64, or lists.

    ``key_ids`` are those of the keys where they are not the same tokens as the queries.
    """
    mask = _core.segments(_ids(query_ids), _ids(key_ids))
    return _remembered(mask, segments, query_ids, key_ids)


def keep(array: Any) -> Mask:
    """Pairs that are true in an array of bool or uint8, which broadcasts to [B, H, Tq, Tk].

    The array is not copied: what is written to it later changes the mask. A floating array is
    refused, since values that are added are a ``bias``.
    """
    return _remembered(_core.keep(array), keep, array)


def blocks(layout: Any, rows: int = 64, keys: int = 64) -> Mask:
    """Pairs whose block is true in ``layout``, [..., ceil(Tq / rows), ceil(Tk / keys)] of bool."""
    rows, keys = whole("blocks", "rows", rows), whole("blocks", "keys", keys)
    return _remembered(_core.blocks(layout, rows, keys), blocks, layout, rows, keys)


def edges(row_starts: Any, columns: Any) -> Mask:
    """The edges of a graph in compressed sparse rows: query i sees
    ``columns[row_starts[i]:row_starts[i + 1]]``, which rise. Both int32 or int64."""
    mask = _core.edges(_ids(row_starts), _ids(columns))
    return _remembered(mask, edges, row_starts, columns)


def _ids(given: Any) -> Any:
    """Lists as arrays; anything but a list of whole numbers is passed on, and rejected by its name."""
    if not isinstance(given, (list, tuple)):
        return given
    try:
        return np.asarray(given, dtype=None if given else np.int64)
    except ValueError:  # rows of several lengths
        return given


def custom(function: Callable[..., Any], name: str = "custom") -> Mask:
    """Pairs where ``function(batch, head, queries, keys)`` is true.

    It gets two numbers and two integer arrays, [n, 1] and [1, m], and returns what broadcasts to
    [n, m]; a tile has at most 64 by 64 pairs. It is called from several threads, one at a time.

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
        if seen.dtype.kind not in "biu":  # what forgot to return gives an object, None
            raise made(
                WrongType, op="custom", argument=f"the result of {name}",
                found=f"of type {seen.dtype}", expected="bool, true where a pair is seen",
            )  # fmt: skip
        return np.ascontiguousarray(np.broadcast_to(seen.astype(bool), (rows.size, keys.size)))

    return _remembered(_core.custom(tile, name), custom, function, name)


def _remembered(mask: Mask, function: Callable[..., Mask], *arguments: Any) -> Mask:
    """The mask, which pickle makes again by calling the function."""
    mask._made = function, arguments
    return mask
