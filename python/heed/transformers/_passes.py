"""One pass of one model inside a watched model, and the grids of its patches or frames."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import Any

from torch import Tensor, nn

from ._calls import Call
from ._grids import Grid, Part, block_order, numbered, side_of_blocks
from ._pictures import Sight, joined, of_patches, of_source

_MARKS = {
    "cls_token": "[CLS]", "class_embedding": "[CLS]", "distillation_token": "[DIST]",
    "register_tokens": "[REG]", "detection_tokens": "[DET]",
}  # fmt: skip
"""Parameters that are tokens themselves, and these tokens' names, in the order of the tokens."""
_TEXT = ("input_ids", "inputs_embeds", "decoder_input_ids", "decoder_inputs_embeds")
_SIZES = ("grid_thw", "spatial_shapes", "image_grid_thw", "video_grid_thw", "aspect_ratio_mask")
_SEEN = ("pixel_values", "pixel_values_videos", "mm_encoder_outputs")
_REORDERED = ("mask_ratio", "mask_unit_size")
"""Entries of configs whose models do not keep the order of the patches (ViTMAE, Hiera)."""


class Pass:
    """One pass of one model: the sizes in its arguments, and those of its convolutions' outputs."""

    def __init__(self, module: nn.Module, given: dict[str, Any], sight: Sight):
        self.given = {name: given[name] for name in _SIZES if isinstance(given.get(name), Tensor)}
        self.is_text = any(given.get(name) is not None for name in _TEXT)
        self.has_images = any(_is_given(given.get(name)) for name in _SEEN)
        self.has_attended = False
        self.found: dict[Any, Any] = {}
        self._module, self._sight = module, sight
        self._sizes: list[tuple[int, int, int]] = []
        self._source = None if self.is_text else _pixels(given)
        self._is_sound = False
        self._stride = 1
        self._parts: list[Part] = []
        self._taken: Counter[str] = Counter()

    @property
    def has_grids(self) -> bool:
        known = self._sizes or {"grid_thw", "spatial_shapes"} & self.given.keys()
        return bool(known) and not any(hasattr(self._config, each) for each in _REORDERED)

    @property
    def _config(self) -> Any:
        return self._module.config

    def convolved(self, module: nn.Module, source: Tensor, output: Tensor) -> None:
        if self.has_attended and isinstance(module, nn.Conv1d):
            return  # this convolution mixes neighbouring tokens instead of making tokens
        if output.dim() == source.dim() == len(module.kernel_size) + 2:
            if not self._sizes:
                self._source, self._is_sound = source.detach(), isinstance(module, nn.Conv1d)
            rows = 1 if output.dim() == 3 else output.shape[2]
            self._sizes.insert(0, (output.shape[0], rows, output.shape[-1]))
            self._stride *= module.stride[-1]
            self.found.clear()

    def grids_of(self, name: str, call: Call) -> tuple[tuple[Grid, ...], tuple[str, ...]]:
        """Returns the images of a call inside this model, and the names of its other tokens."""
        (batch, _, queries, _), keys = call.q.shape, call.k.shape[2]
        start = self._taken[name]
        self._taken[name] += queries
        key = batch, queries, keys, start if "grid_thw" in self.given else 0
        if key not in self.found:
            of_keys = self.grids(batch, keys, start)
            if queries == keys:
                found = of_keys
            else:
                found = [dataclasses.replace(g, of="queries") for g in self.grids(batch, queries)]
                found += [dataclasses.replace(g, of="keys") for g in of_keys]
            marks = self._names(queries, found) if queries == keys else ()
            self.found[key] = tuple(found), marks
        return self.found[key]

    def grids(self, batch: int, count: int, start: int = 0) -> list[Grid]:
        """Returns the images among ``count`` tokens of each sequence; a packed sequence begins at
        token ``start``."""
        if not self.has_grids:
            return []
        if "grid_thw" in self.given:
            return [each for frame in self._frames if (each := frame.moved(-start, count))]
        if "spatial_shapes" in self.given:
            sizes = self.given["spatial_shapes"].tolist()
            if len(sizes) != batch or any(h * w > count for h, w in sizes):
                return []
            return [
                Grid(at, rows, columns, numbered(rows * columns), picture=self._picture(at))
                for at, (rows, columns) in enumerate(sizes)
            ]
        return self._convolved_grids(batch, count)

    def merged(self, count: int) -> list[Part]:
        """Returns the images in the form that a text has them (one token per merged block), if they
        have ``count`` tokens together; else none."""
        if not self.has_grids or "spatial_shapes" in self.given:
            return []
        parts = self._parts
        if "grid_thw" in self.given:
            side = getattr(self._config, "spatial_merge_size", 1)
            parts = [Part.of(each.smaller(side)) for each in self._frames]
        if parts:
            return parts if sum(each.count for each in parts) == count else []
        for images, rows, columns in self._sizes:
            side = side_of_blocks(rows, columns, count / images)
            if side and not self._is_sound:
                grids = self._of_sizes(images, images, rows, columns, 0, rows * columns)
                return [Part.of(each.smaller(side)) for each in grids]
        return []

    def pack(self, features: list[Tensor], pack: Callable[[list[Tensor]], Any]) -> None:
        """Records how a model joins the tiles of images, whose ``features`` are [tiles, patches,
        C].

        Calls ``pack`` with the numbers of cells instead of features; it puts -1 after each row.
        """
        images, rows, columns = self._sizes[0] if self._sizes else (0, 0, 0)
        counts = [len(each) for each in features]
        if sum(counts) != images or any(each.shape[1] != rows * columns for each in features):
            return
        cells = numbered(images * rows * columns).double()
        packed = pack(list(cells.reshape(images, rows * columns, 1).split(counts)))
        tiles = self._of_sizes(images, images, rows, columns, 0, rows * columns)
        pictures = [each.picture for each in tiles]
        self._parts = [_of_rows(each.flatten().long(), rows, columns, pictures) for each in packed]

    # --- from convolutions -----------------------------------------------------------------------

    def _convolved_grids(self, batch: int, count: int) -> list[Grid]:
        """Returns the grids of the last convolution whose number of cells fits the tokens."""
        for images, rows, columns in self._sizes:
            if images % batch or count % (images // batch):
                continue
            per_image = count // (images // batch)
            first = self._first(per_image - rows * columns)
            if first is not None:
                found = self._of_sizes(batch, images, rows, columns, first, per_image)
                hidden = self.given.get("aspect_ratio_mask")  # tiles that are only padding
                shown = [True] * images if hidden is None else hidden.flatten().bool().tolist()
                return [each for each, is_shown in zip(found, shown, strict=True) if is_shown]
        return []

    def _of_sizes(
        self, batch: int, images: int, rows: int, columns: int, first: int, per_image: int
    ) -> list[Grid]:
        tiles = images // batch
        return [
            Grid(
                at // tiles, rows, columns,
                first + (at % tiles) * per_image + numbered(rows * columns),
                picture=self._picture(at), name=self._name(at % tiles, tiles),
            )
            for at in range(images)
        ]  # fmt: skip

    def _name(self, at: int, tiles: int) -> str:
        if self._is_sound:
            return self._sight.length_of_frames(self._source, self._stride)
        return f"tile {at}" if tiles > 1 else ""

    def _first(self, others: int) -> int | None:
        """Returns the token of the first patch, if ``others`` tokens are not patches; None if this
        number does not fit the model."""
        behind = self._marks.count("[DET]")
        before = len(self._marks) - behind
        if others == before + behind:
            return before
        is_padded = hasattr(self._config, "max_num_tiles")  # Mllama, to a multiple of 8
        if is_padded and before <= others < before + 8:
            return before
        return 0 if others == 0 else None

    @cached_property
    def _marks(self) -> list[str]:
        """The names of the tokens that are not patches, in their order."""
        found = {}
        for path, parameter in self._module.named_parameters():
            name = path.rpartition(".")[2]
            if name in _MARKS:
                found[name] = parameter.shape[-2] if parameter.dim() > 1 else 1
        return [mark for name, mark in _MARKS.items() for _ in range(found.get(name, 0))]

    def _names(self, count: int, grids: list[Grid]) -> tuple[str, ...]:
        """Returns the names of a sequence's tokens that are not patches, in their order."""
        if not self._sizes or not grids:
            return ()
        own = [each for each in grids if each.sequence == 0]
        others = count - sum(len(each.tokens) for each in own)
        if others == len(self._marks):
            return tuple(self._marks)
        return ()

    # --- from given grids ------------------------------------------------------------------------

    @cached_property
    def _frames(self) -> list[Grid]:
        """The grid of each image or video frame; tokens are counted in the packed sequence."""
        side = getattr(self._config, "spatial_merge_size", 1)
        window = 0
        if hasattr(self._config, "fullatt_block_indexes"):  # its other layers see windows
            window = self._config.window_size // side // self._config.patch_size
        sizes = self.given["grid_thw"].tolist()
        frames, start = [], 0
        for at, (times, rows, columns) in enumerate(sizes):
            for time in range(times):
                tokens = start + block_order(rows, columns, side, window).argsort()
                name = f"frame {time}" if times > 1 else ""
                if times > 1 and len(sizes) > 1:
                    name = f"video {at} {name}"
                frames.append(Grid(0, rows, columns, tokens, name=name))
                start += rows * columns
        patch = getattr(self._config, "patch_size", None)
        pictures = of_patches(self._source, frames, side, patch, self._sight)
        return [dataclasses.replace(g, picture=p) for g, p in zip(frames, pictures, strict=True)]

    def _picture(self, at: int) -> Tensor | None:
        if "pictures" not in self.__dict__:
            self.pictures = of_source(self._source, self.given.get("spatial_shapes"), self._sight)
        return self.pictures[at] if at < len(self.pictures) else None


def _of_rows(cells: Tensor, rows: int, columns: int, pictures: list[Tensor | None]) -> Part:
    """Returns the grids of one image whose tokens are ``cells`` [tokens] of tiles: first the whole
    image as one tile, then the joined tiles row by row, with -1 at the end of each row."""
    count, whole = len(cells), rows * columns
    picture = pictures[int(cells[0]) // whole]
    first = Grid(0, rows, columns, numbered(whole), picture=picture, name="whole")
    height = int((cells[whole:] < 0).sum())
    if cells[whole] < 0:  # a single tile, followed by one token
        return Part(count, [dataclasses.replace(first, name="")])
    tokens = whole + numbered(count - whole).reshape(height, -1)[:, :-1]
    picture = joined(cells[tokens], rows, columns, pictures)
    joint = Grid(0, height, tokens.shape[1], tokens.flatten(), picture=picture, name="tiles")
    return Part(count, [first, joint])


def _is_given(value: Any) -> bool:
    return value is not None and not (isinstance(value, dict) and not value)


def _pixels(given: dict[str, Any]) -> Tensor | None:
    """Returns the floating input of a model that reads no text."""
    found = (v for v in given.values() if isinstance(v, Tensor) and v.is_floating_point())
    return next(found, None)
