"""Which stack of a model a module belongs to: the encoder, the decoder, its cross-attention."""

from __future__ import annotations

import re
from dataclasses import dataclass

from torch import nn

_CROSS = re.compile(r"cross|encoder_attn|encdec", re.IGNORECASE)


@dataclass(frozen=True)
class Place:
    """Where an attention module stands."""

    path: str
    """Its name in the model, every number of it a star: "model.layers.*.self_attn"."""
    kind: str
    """"encoder", "decoder" or "cross"."""


def place_of(name: str, module: nn.Module, is_causal: bool) -> Place:
    path = starred(name)
    return Place(path, _kind(path, module, is_causal))


def starred(name: str) -> str:
    """A module's name with every number of it a star."""
    return ".".join("*" if part.isdigit() else part for part in name.split("."))


def _kind(path: str, module: nn.Module, is_causal: bool) -> str:
    own = path.rpartition("*")[2]  # behind the layer's number
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
    """A name for each: its kind, or where it differs from others of its kind."""
    named: dict[str, Place] = {}
    for place in places:
        others = [other for other in places if other.kind == place.kind and other != place]
        named[_name(place, others) if others else place.kind] = place
    return named


def _name(place: Place, others: list[Place]) -> str:
    """The first part of its path that no other has: "vision_model"; else the whole path."""
    taken = {part for other in others for part in other.path.split(".")}
    own = [part for part in place.path.split(".") if part not in taken]
    if not own:
        return place.path
    return f"{own[0]} cross" if place.kind == "cross" else own[0]
