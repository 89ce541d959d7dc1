"""Weights on images: maps, shares, and the images of a session."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .._checks import whole
from .._images import ImagePatches
from .._seen import Seen
from ..errors import out_of_range, refused
from ._grids import Grid
from ._runs import Run

_ROWS = 128  # queries whose scores are in memory at once
_MOST = 64  # images of a session


def image_map(run: Run, head: int, token: int, image: int) -> tuple[np.ndarray, Grid]:
    """Implements :meth:`SeenModel.image_map`; also returns the image's grid."""
    seen, grid = run.without_padding, _image(run, image)
    _, heads, queries, _ = seen.shape
    head = _within("head", head, heads)
    weights = np.asarray(seen.weights[0, head, _within("token", token, queries)])
    tokens = grid.tokens.numpy()
    cells = np.where(tokens >= 0, weights[tokens], np.nan)
    return cells.reshape(grid.rows, grid.columns).astype(np.float32), grid


def shares_of(run: Run) -> list[dict[str, float]]:
    """Returns one dict per head with the columns of :meth:`SeenModel.image_share`."""
    seen, images = run.without_padding, run.images
    _, heads, queries, keys = seen.shape
    is_patch = _among(keys, [each for each in images if each.of_keys])
    is_query = _among(queries, [each for each in images if each.of_queries])
    mass = torch.as_tensor(seen.mass((~is_patch).long().numpy()))[0].double()
    mass = torch.nn.functional.pad(mass, (0, 2 - mass.shape[-1]))  # [H, Tq, 2], also without text
    sees, spread = _spread(seen, is_patch.nonzero().flatten().tolist())
    counted = sees & ~is_query if bool((~is_query).any()) else sees  # [H, Tq]
    found = []
    for head in range(heads):
        of_head = mass[head, counted[head]], spread[head, counted[head]]
        (image, text), own = (each.mean(0) for each in of_head)
        found.append({"image": float(image), "text": float(text), "spread": float(own)})
    return found


def patches_of(images: list[Grid], pictures: Any) -> list[ImagePatches]:
    """Returns the images of a session, with their own pictures or with ``pictures``."""
    shown = [each.picture for each in images]
    if pictures is not None:
        shown = list(pictures) if isinstance(pictures, (list, tuple)) else [pictures]
    if len(shown) != len(images):
        found = f"{len(shown)} picture{'s' * (len(shown) != 1)}"
        raise refused("look", "image", found, f"{len(images)}, as many as there are images")
    if len(images) > _MOST:
        said = f"look: only the first {_MOST} of {len(images)} images are shown"
        warnings.warn(said, stacklevel=3)
    return [
        ImagePatches(grid.tokens, grid.rows, grid.columns, picture, grid.name, grid.of)
        for grid, picture in list(zip(images, shown, strict=True))[:_MOST]
    ]


def marked(run: Run) -> list[str] | None:
    """Returns the names of a vision model's tokens; None if the tokens that are not patches have no
    known names."""
    marks = list(run.first.marks)
    if not marks:
        return None
    is_patch = _among(len(run.queries), run.images).tolist()
    return [f" #{at}" if patch else f" {marks.pop(0)}" for at, patch in enumerate(is_patch)]


def _spread(seen: Seen, keys: list[int]) -> tuple[Tensor, Tensor]:
    """Returns whether each query sees one of the keys, and the share of the visible ones over which
    its weights are spread; both are [H, Tq]."""
    parts = []
    for begin in range(0, seen.shape[2], _ROWS):
        scores = torch.from_numpy(np.asarray(seen.scores[0, :, begin : begin + _ROWS][..., keys]))
        visible = scores.isfinite().sum(-1)
        logs = scores.double().log_softmax(-1)
        entropy = -(logs.exp() * logs).nan_to_num().sum(-1)
        parts.append((visible > 0, entropy.exp() / visible))
    sees, spread = (torch.cat(each, 1) for each in zip(*parts))
    return sees, spread


def _among(count: int, images: list[Grid]) -> Tensor:
    """Returns which tokens belong to images, [count] of bool."""
    found = torch.zeros(count, dtype=torch.bool, device="cpu")
    for each in images:
        found[each.tokens[each.tokens >= 0]] = True
    return found


def _image(run: Run, image: int) -> Grid:
    images = [each for each in run.images if each.of_keys]
    return images[_within("image", image, len(images))]


def _within(argument: str, given: int, count: int) -> int:
    at = whole("image_map", argument, given)
    if not -count <= at < count:
        expected = f"{-count} to {count - 1}" if count > 1 else "0, the only one"
        raise out_of_range("image_map", argument, at, expected)
    return at % count
