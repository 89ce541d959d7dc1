"""Finds the tokens of an attention that are patches of images or frames of sound.

No model is known by its name. The convolutions of a vision or sound model give the grid of its
patches. Models that get patches as input also get their grids. In a text, the tokens of images have
an id that the config names. If the numbers do not fit together, no images are assumed.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from ._calls import Call
from ._grids import Grid, Part, placed_in
from ._layers import is_inside
from ._passes import Pass
from ._pictures import Sight

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d)
_RESAMPLES = re.compile("Perceiver|Resampler|Q-?Former|CrossAttention", re.IGNORECASE)
"""Modules between patches and text that mix patches into new tokens."""
_REMEMBERED = 8
"""The number of remembered passes of vision models: a text may have images, videos and several
towers."""


_PACKED = ("image_features", "image_sizes", "vision_feature_select_strategy", "image_newline")
"""The arguments of LLaVA-NeXT's method that joins tiles and puts a token after each row."""


class Packing:
    """Replaces a model's method ``pack_image_features`` and reports its arguments."""

    def __init__(self, module: nn.Module, told: Callable[..., None]):
        self._module, self._told = module, told
        self._before = vars(module).get("pack_image_features")
        self._pack = module.pack_image_features
        module.pack_image_features = self

    @staticmethod
    def is_of(module: nn.Module) -> bool:
        method = getattr(module, "pack_image_features", None)
        if method is None or not hasattr(module, "image_newline"):
            return False
        return isinstance(method, Packing) or tuple(inspect.signature(method).parameters) == _PACKED

    def __call__(
        self, image_features: Any, image_sizes: Any, vision_feature_select_strategy: Any = None,
        image_newline: Any = None,
    ) -> Any:  # fmt: skip
        given = image_features, image_sizes, vision_feature_select_strategy
        self._told(self._pack, given)
        return self._pack(*given, image_newline=image_newline)

    def remove(self) -> None:
        if self._before is None:
            del self._module.pack_image_features
        else:
            self._module.pack_image_features = self._before

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self._pack  # a copy of the model gets the original method


class Images:
    """Follows the passes of one model, and finds the images of each call of its attention."""

    def __init__(self, model: PreTrainedModel, names: dict[nn.Module, list[str]], sight: Sight):
        self._model, self._names, self._sight = model, names, sight
        self._passes: dict[str, Pass] = {}
        self._recent: deque[Pass] = deque(maxlen=_REMEMBERED)
        self._resamples = any(_RESAMPLES.search(type(each).__name__) for each in model.modules())

    def begun(self, prefix: str, module: nn.Module, given: dict[str, Any]) -> None:
        """Called when the model, or a model inside it, begins a pass."""
        found = Pass(module, given, self._sight)
        self._passes[prefix] = found
        if not found.is_text:
            self._recent.append(found)

    def convolved(self, module: nn.Module, given: tuple[Any, ...], output: Tensor) -> None:
        """Called after a convolution."""
        name = self._names[module][0]
        inside = next(self._around(name), None)
        if inside is not None and not inside.is_text and given:
            inside.convolved(module, given[0], output)

    def packed(self, pack: Callable[..., Any], given: tuple[Any, ...]) -> None:
        """Called when a model joins the tiles of the last vision pass, like LLaVA-NeXT."""
        features, sizes, strategy = given
        newline = torch.tensor([-1.0], dtype=torch.float64, device="cpu")
        sizes = torch.as_tensor(sizes).cpu()
        if self._recent:
            self._recent[-1].pack(
                features, lambda cells: pack(cells, sizes, strategy, image_newline=newline)[0]
            )

    def of(self, name: str, call: Call) -> tuple[tuple[Grid, ...], tuple[str, ...]]:
        """Returns the images of a call, and the names of its other tokens if these are known."""
        around = list(self._around(name))
        for inside in around:
            inside.has_attended = True
        for inside in around:
            if inside.is_text:
                return self._of_text(inside, around, call), ()
            if inside.has_grids:
                return inside.grids_of(name, call)
        return (), ()

    def _around(self, name: str) -> Iterator[Pass]:
        """Returns the passes of the models around a module, the innermost first."""
        found = [prefix for prefix in self._passes if is_inside(name, prefix)]
        return (self._passes[prefix] for prefix in sorted(found, key=len, reverse=True))

    # --- in a text -------------------------------------------------------------------------------

    def _of_text(self, text: Pass, around: list[Pass], call: Call) -> tuple[Grid, ...]:
        if call.is_cross:
            return self._of_source(call)
        if call.ids is None or not any(each.has_images for each in around):
            return ()
        key = tuple(call.ids.shape), call.ids.data_ptr()
        if key not in text.found:
            text.found[key] = tuple(self._in_ids(call.ids.cpu(), around))
        return text.found[key]

    def _of_source(self, call: Call) -> tuple[Grid, ...]:
        """Returns the images or frames that are the keys of a cross-attention."""
        batch, _, keys, _ = call.k.shape
        for seen in reversed(self._recent):
            if "grid_thw" not in seen.given and (found := seen.grids(batch, keys)):
                return tuple(dataclasses.replace(each, of="keys") for each in found)
        return ()

    def _in_ids(self, ids: Tensor, around: list[Pass]) -> Iterator[Grid]:
        for kind in ("image", "video"):
            number = getattr(self._model.config, f"{kind}_token_id", None)
            if number is None or self._resamples:
                continue
            places = (ids == number).nonzero()
            if len(places):
                yield from placed_in(places, self._parts(kind, len(places), around))

    def _parts(self, kind: str, count: int, around: list[Pass]) -> list[Part]:
        """Returns the images in their order, if they have ``count`` tokens together; else none."""
        wanted = [each.given.get(f"{kind}_grid_thw") for each in around]
        wanted = [each for each in wanted if each is not None]
        for seen in reversed(self._recent):
            given = seen.given.get("grid_thw")
            if wanted and (given is None or not torch.equal(given.cpu(), wanted[0].cpu())):
                continue
            if found := seen.merged(count):
                return found
        return []


