"""The tokens of an image: a grid of cells, each with its token."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Grid:
    """An image of one sequence, a frame of a video, or the frames of a sound (one row)."""

    sequence: int
    rows: int
    columns: int
    tokens: Tensor
    """The token of each cell, row by row, [rows * columns] of int64; -1 for a cell without one."""
    of: str = "both"
    """Whether the tokens are "queries", "keys" or "both"."""
    picture: Tensor | None = None
    """[H, W] or [H, W, 3] of uint8."""
    name: str = ""

    @property
    def of_keys(self) -> bool:
        return self.of != "queries"

    @property
    def of_queries(self) -> bool:
        return self.of != "keys"

    def labels(self, image: int) -> dict[int, str]:
        """Returns the names of the image's tokens in a session, such as " im0 r2 c5"; ``image`` is
        the image's number."""
        place = f" im{image} " + ("" if self.rows == 1 else "r{} ") + "c{}"
        named = {}
        for cell, token in enumerate(self.tokens.tolist()):
            row, column = divmod(cell, self.columns)
            named[token] = place.format(*((column,) if self.rows == 1 else (row, column)))
        named.pop(-1, None)
        return named

    def moved(self, by: int, count: int, of: str | None = None) -> Grid | None:
        """Returns the grid with ``by`` added to its tokens, without tokens outside [0, count); None
        if no token is left."""
        tokens = torch.where(self.tokens < 0, -1, self.tokens + by)
        tokens[(tokens < 0) | (tokens >= count)] = -1
        is_left = bool((tokens >= 0).any())
        return dataclasses.replace(self, tokens=tokens, of=of or self.of) if is_left else None

    def smaller(self, side: int) -> Grid:
        """Returns the grid with one token per block of ``side`` by ``side`` cells, counted from
        0."""
        rows, columns = self.rows // side, self.columns // side
        return dataclasses.replace(
            self, rows=rows, columns=columns, tokens=numbered(rows * columns)
        )


def numbered(count: int) -> Tensor:
    """Returns the numbers from 0 to ``count``, on the CPU, where the tokens of grids are."""
    return torch.arange(count, device="cpu")


def block_order(rows: int, columns: int, side: int, window: int = 0) -> Tensor:
    """Returns the cell of each token, for a model that reads blocks of ``side`` by ``side`` cells
    one after the other. A ``window`` is a square of ``window`` by ``window`` blocks; 0: none."""
    cells = np.arange(rows * columns)
    row, column = cells // columns, cells % columns
    keys = [row // side, column // side, row % side, column % side]
    if window:
        keys = [row // (side * window), column // (side * window), *keys]
    return torch.from_numpy(np.lexsort(keys[::-1]))


def side_of_blocks(rows: int, columns: int, tokens: float) -> int:
    """Returns the side of the square blocks that turn a grid into ``tokens``; 0 if none do."""
    side = isqrt(round(rows * columns / tokens)) if tokens >= 1 else 0
    fits = side and rows % side == columns % side == 0
    return side if fits and tokens * side**2 == rows * columns else 0


@dataclass(frozen=True)
class Part:
    """The tokens of one image in a text: how many they are, and the grids among them."""

    count: int
    grids: list[Grid]

    @classmethod
    def of(cls, grid: Grid) -> Part:
        return cls(len(grid.tokens), [grid])


def placed_in(places: Tensor, parts: list[Part]) -> Iterator[Grid]:
    """Yields the grids of the parts with their tokens in a text. ``places`` [tokens, 2] are pairs
    (sequence, token) in order. Yields nothing if the numbers do not fit."""
    counts = [each.count for each in parts]
    if sum(counts) != len(places):
        return
    of_parts = places.split(counts)
    if any(bool((each[:, 0] != each[0, 0]).any()) for each in of_parts):
        return  # a part would belong to two sequences
    for part, own in zip(parts, of_parts, strict=True):
        for grid in part.grids:
            tokens = torch.where(grid.tokens < 0, -1, own[grid.tokens, 1])
            yield dataclasses.replace(grid, sequence=int(own[0, 0]), tokens=tokens)
