"""Which tokens of an attention are patches of images or frames of sound.

Nothing here knows a model by its name. The convolutions of a vision or sound model show the grid of
its patches; models that get patches are given their grids as an argument; the tokens of a text that
stand for images have an id of their own in the config. Numbers that do not fit together mean that
nothing is known, and then there are no images.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter, deque
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from ._calls import Call
from ._grids import Grid, block_order, placed_in, side_of_blocks
from ._layers import is_inside
from ._pictures import Sight, of_patches, of_source

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d)
_MARKS = {
    "cls_token": "[CLS]", "class_embedding": "[CLS]", "distillation_token": "[DIST]",
    "register_tokens": "[REG]", "detection_tokens": "[DET]",
}  # fmt: skip
"""Parameters that are tokens of their own, and their names."""
_TEXT = ("input_ids", "inputs_embeds", "decoder_input_ids", "decoder_inputs_embeds")
_SIZES = ("grid_thw", "spatial_shapes", "image_grid_thw", "video_grid_thw", "aspect_ratio_mask")
_SEEN = ("pixel_values", "pixel_values_videos", "mm_encoder_outputs")
_REORDERED = ("mask_ratio", "mask_unit_size")
"""Entries of configs whose models do not keep the order of the patches (ViTMAE, Hiera)."""
_RESAMPLES = re.compile("Perceiver|Resampler|Q-?Former|CrossAttention", re.IGNORECASE)
"""Modules between the patches and the text that mix patches to other tokens."""
_REMEMBERED = 8
"""The last passes of vision models: a text may have images, videos and several towers."""


class Images:
    """Follows the passes of one model, and finds the images of each call of its attention."""

    def __init__(self, model: PreTrainedModel, names: dict[nn.Module, list[str]], sight: Sight):
        self._model, self._names, self._sight = model, names, sight
        self._passes: dict[str, _Pass] = {}
        self._recent: deque[_Pass] = deque(maxlen=_REMEMBERED)
        self._resamples = any(_RESAMPLES.search(type(each).__name__) for each in model.modules())

    def begun(self, prefix: str, module: nn.Module, given: dict[str, Any]) -> None:
        """A model, or one inside of it, begins a pass."""
        found = _Pass(module, given, self._sight)
        self._passes[prefix] = found
        if not found.is_text:
            self._recent.append(found)

    def convolved(self, module: nn.Module, given: tuple[Any, ...], output: Tensor) -> None:
        """A convolution ran."""
        name = self._names[module][0]
        inside = next(self._around(name), None)
        if inside is not None and not inside.is_text and given:
            inside.convolved(module, given[0], output)

    def of(self, name: str, call: Call) -> tuple[tuple[Grid, ...], tuple[str, ...]]:
        """The images of a call, and the names of its other tokens where these are known."""
        around = list(self._around(name))
        for inside in around:
            inside.has_attended = True
        for inside in around:
            if inside.is_text:
                return self._of_text(inside, around, call), ()
            if inside.has_grids:
                return inside.grids_of(name, call)
        return (), ()

    def _around(self, name: str) -> Iterator[_Pass]:
        """The models around a module, the innermost first."""
        found = [prefix for prefix in self._passes if is_inside(name, prefix)]
        return (self._passes[prefix] for prefix in sorted(found, key=len, reverse=True))

    # --- in a text -------------------------------------------------------------------------------

    def _of_text(self, text: _Pass, around: list[_Pass], call: Call) -> tuple[Grid, ...]:
        if call.is_cross:
            return self._of_source(call)
        if call.ids is None or not any(each.has_images for each in around):
            return ()
        key = tuple(call.ids.shape), call.ids.data_ptr()
        if key not in text.found:
            text.found[key] = tuple(self._in_ids(call.ids.cpu(), around))
        return text.found[key]

    def _of_source(self, call: Call) -> tuple[Grid, ...]:
        """The images or frames that the keys of a cross-attention are."""
        batch, _, keys, _ = call.k.shape
        for seen in reversed(self._recent):
            if "grid_thw" not in seen.given and (found := seen.grids(batch, keys)):
                return tuple(dataclasses.replace(each, of="keys") for each in found)
        return ()

    def _in_ids(self, ids: Tensor, around: list[_Pass]) -> Iterator[Grid]:
        for kind in ("image", "video"):
            number = getattr(self._model.config, f"{kind}_token_id", None)
            if number is None or self._resamples:
                continue
            places = (ids == number).nonzero()
            if len(places):
                yield from placed_in(places, self._parts(kind, len(places), around))

    def _parts(self, kind: str, count: int, around: list[_Pass]) -> list[Grid]:
        """The images whose tokens together are ``count``, in their order."""
        wanted = [each.given.get(f"{kind}_grid_thw") for each in around]
        wanted = [each for each in wanted if each is not None]
        for seen in reversed(self._recent):
            given = seen.given.get("grid_thw")
            if wanted and (given is None or not torch.equal(given.cpu(), wanted[0].cpu())):
                continue
            if found := seen.merged(count):
                return found
        return []


class _Pass:
    """One pass of one model: what it was given, and what its convolutions made of it."""

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
            return  # mixes neighbours, and makes no tokens
        if not self._sizes:
            self._source, self._is_sound = source.detach(), isinstance(module, nn.Conv1d)
        if output.dim() == source.dim() == len(module.kernel_size) + 2:
            rows = 1 if output.dim() == 3 else output.shape[2]
            self._sizes.insert(0, (output.shape[0], rows, output.shape[-1]))
            self._stride *= module.stride[-1]
            self.found.clear()

    def grids_of(self, name: str, call: Call) -> tuple[tuple[Grid, ...], tuple[str, ...]]:
        """Of the queries and keys of a call inside of this model."""
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
        """The images of ``count`` tokens in each sequence of a batch."""
        if not self.has_grids:
            return []
        if "grid_thw" in self.given:
            return [each for frame in self._frames if (each := frame.moved(-start, count))]
        if "spatial_shapes" in self.given:
            sizes = self.given["spatial_shapes"].tolist()
            if len(sizes) != batch or any(h * w > count for h, w in sizes):
                return []
            return [
                Grid(at, rows, columns, torch.arange(rows * columns), picture=self._picture(at))
                for at, (rows, columns) in enumerate(sizes)
            ]
        return self._convolved_grids(batch, count)

    def merged(self, count: int) -> list[Grid]:
        """The images as a text has them, whose tokens together are ``count``."""
        if not self.has_grids or "spatial_shapes" in self.given:
            return []
        if "grid_thw" in self.given:
            side = getattr(self._config, "spatial_merge_size", 1)
            parts = [each.smaller(side) for each in self._frames]
            return parts if sum(len(each.tokens) for each in parts) == count else []
        for images, rows, columns in self._sizes:
            side = side_of_blocks(rows, columns, count / images)
            if side and not self._is_sound:
                grids = self._of_sizes(images, images, rows, columns, 0, rows * columns)
                return [each.smaller(side) for each in grids]
        return []

    # --- from convolutions -----------------------------------------------------------------------

    def _convolved_grids(self, batch: int, count: int) -> list[Grid]:
        """The last convolution whose cells are the tokens."""
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
                first + (at % tiles) * per_image + torch.arange(rows * columns),
                picture=self._picture(at), name=self._name(at % tiles, tiles),
            )
            for at in range(images)
        ]  # fmt: skip

    def _name(self, at: int, tiles: int) -> str:
        if self._is_sound:
            return self._sight.length_of_frames(self._source, self._stride)
        return f"tile {at}" if tiles > 1 else ""

    def _first(self, others: int) -> int | None:
        """The first patch's token, where ``others`` is how many tokens are no patches."""
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
        """The names of the tokens that are no patches, in their order."""
        found = {}
        for path, parameter in self._module.named_parameters():
            name = path.rpartition(".")[2]
            if name in _MARKS:
                found[name] = parameter.shape[-2] if parameter.dim() > 1 else 1
        return [mark for name, mark in _MARKS.items() for _ in range(found.get(name, 0))]

    def _names(self, count: int, grids: list[Grid]) -> tuple[str, ...]:
        """The names of all tokens but the patches of a sequence, in their order."""
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
        """Of every image or frame of video: the token of each cell in the whole packed sequence."""
        side = getattr(self._config, "spatial_merge_size", 1)
        window = 0
        if hasattr(self._config, "fullatt_block_indexes"):  # its other layers see windows
            window = self._config.window_size // side // self._config.patch_size
        sizes = self.given["grid_thw"].tolist()
        frames, start = [], 0
        for at, (times, rows, columns) in enumerate(sizes):
            for time in range(times):
                tokens = torch.empty(rows * columns, dtype=torch.int64)
                tokens[block_order(rows, columns, side, window)] = start + torch.arange(rows * columns)
                name = f"frame {time}" if times > 1 else ""
                if times > 1 and len(sizes) > 1:
                    name = f"video {at} {name}"
                frames.append(Grid(0, rows, columns, tokens, name=name))
                start += rows * columns
        pictures = of_patches(self._source, frames, side, self._config.patch_size, self._sight)
        return [dataclasses.replace(g, picture=p) for g, p in zip(frames, pictures, strict=True)]

    def _picture(self, at: int) -> Tensor | None:
        if "pictures" not in self.__dict__:
            self.pictures = of_source(self._source, self.given.get("spatial_shapes"), self._sight)
        return self.pictures[at] if at < len(self.pictures) else None


def _is_given(value: Any) -> bool:
    return value is not None and not (isinstance(value, dict) and not value)


def _pixels(given: dict[str, Any]) -> Tensor | None:
    """What a model without text reads."""
    found = (v for v in given.values() if isinstance(v, Tensor) and v.is_floating_point())
    return next(found, None)
