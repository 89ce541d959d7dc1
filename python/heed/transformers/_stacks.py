"""Finds the stack of an attention module: the encoder, the decoder or its cross-attention."""

from __future__ import annotations

import re
from dataclasses import dataclass

from torch import nn

_CROSS = re.compile(r"cross|encoder_attn|encdec", re.IGNORECASE)


@dataclass(frozen=True)
class Place:
    """The place of an attention module in a model, the same for all layers of a stack."""

    path: str
    """The module's name with every number replaced by a star: "model.layers.*.self_attn"."""
    kind: str
    """"encoder", "decoder" or "cross"."""


def place_of(name: str, module: nn.Module, is_causal: bool) -> Place:
    path = starred(name)
    return Place(path, _kind(path, module, is_causal))


def starred(name: str) -> str:
    """Returns a module's name with every number replaced by a star."""
    return ".".join("*" if part.isdigit() else part for part in name.split("."))


def _kind(path: str, module: nn.Module, is_causal: bool) -> str:
    own = path.rpartition("*")[2]  # after the layer's number
    if _CROSS.search(own) or "Cross" in type(module).__name__:
        return "cross"
    if getattr(module, "is_cross_attention", False):
        return "cross"
    if getattr(module, "is_decoder", False):
        return "decoder"
    for part in path.split("."):
        if "decoder" in part or "encoder" in part:
            return "decoder" if "decoder" in part else "encoder"
    return "decoder" if is_causal else "encoder"


def names_of(places: list[Place]) -> dict[str, Place]:
    """Returns a name for each place: its kind, or if others have this kind, the part of its path
    that differs."""
    named: dict[str, Place] = {}
    for place in places:
        others = [other for other in places if other.kind == place.kind and other != place]
        named[_name(place, others) if others else place.kind] = place
    return named


def _name(place: Place, others: list[Place]) -> str:
    """Returns the first part of a path that no other has, such as "vision_model"; else the path."""
    taken = {part for other in others for part in other.path.split(".")}
    own = [part for part in place.path.split(".") if part not in taken]
    if not own:
        return place.path
    return f"{own[0]} cross" if place.kind == "cross" else own[0]
