"""Batches of token ids from a data loader, as rows of int64."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from .errors import InvalidArgument, WrongType, kind_of, made, mistyped, refused

Rows = list[np.ndarray]
_EXPECTED = "token ids [rows, tokens], or a list of rows"


def rows_of(place: str, batch: Any) -> Rows:
    """The sequences of one batch: a list of rows, or an array or tensor in host memory.

    A list or tuple that holds one such array is what PyTorch's loader makes of a TensorDataset.
    """
    if isinstance(batch, Mapping):
        raise mistyped("train", place, batch, f'{_EXPECTED}, as batch["input_ids"]')
    if isinstance(batch, (list, tuple)):
        if len(batch) == 1 and getattr(batch[0], "ndim", 1) == 2:
            return list(_ids(place, batch[0], 2))
        return [_ids(f"{place}[{r}]", row, 1) for r, row in enumerate(batch)]
    return list(_ids(place, batch, 2))


def _ids(place: str, given: Any, dimensions: int) -> np.ndarray:
    try:
        array = np.asarray(given)
    except Exception as error:  # ragged lists, tensors of another device, objects of any library
        why = str(error).split(". ")[0]
        raise made(WrongType, op="train", argument=place, found=f"{kind_of(given)} ({why})",
                   expected=_EXPECTED) from error  # fmt: skip
    if array.ndim != dimensions:
        raise refused("train", place, f"{kind_of(given)} of shape {list(array.shape)}", _EXPECTED)
    if array.size and array.dtype.kind not in "iu":
        raise made(WrongType, op="train", argument=place, found=f"{array.dtype} elements",
                   expected="whole numbers, the ids of tokens")  # fmt: skip
    if array.dtype == np.uint64:  # an id that no int64 has is wrong in any vocabulary
        array = np.minimum(array, np.iinfo(np.int64).max)
    return np.ascontiguousarray(array, dtype=np.int64)


class TokenBatches:
    """The batches of an iterable, one after the other.

    One that can be iterated again, such as a list or a loader, starts again after its end.
    """

    def __init__(self, batches: Iterable[Any]):
        self._batches = batches
        self._iterator = _iterator("batches", batches)
        self._taken = 0
        self._first: Rows | None = self._next()

    @property
    def first(self) -> Rows:
        """The first batch, which the first call returns, too."""
        assert self._first is not None
        return self._first

    def __call__(self) -> Rows:
        if self._first is not None:
            rows, self._first = self._first, None
            return rows
        return self._next()

    def _next(self) -> Rows:
        try:
            batch = next(self._iterator)
        except StopIteration:
            batch = self._again()
        self._taken += 1
        return rows_of(f"batches[{self._taken - 1}]", batch)

    def _again(self) -> Any:
        if self._taken and self._iterator is not self._batches:
            self._iterator = _iterator("batches", self._batches)
            for batch in self._iterator:
                return batch
        raise made(InvalidArgument, op="train", argument="batches", expected="one for every pass",
                   found=f"at its end after {self._taken}" if self._taken else "empty")  # fmt: skip


def validation_rows(batches: Iterable[Any]) -> list[Rows]:
    """All batches of an iterable, which must end."""
    given = _iterator("validation_batches", batches)
    rows = [rows_of(f"validation_batches[{i}]", batch) for i, batch in enumerate(given)]
    if not rows:
        raise refused("train", "validation_batches", "empty", "at least one batch, or None")
    return rows


def _iterator(argument: str, batches: Any) -> Iterator[Any]:
    try:
        return iter(batches)
    except TypeError:
        raise mistyped("train", argument, batches, "an iterable of batches of token ids") from None
