"""Edits of attention as data, for models that heed runs: ``model.look(text, edits=[...])``.

The functions have the names, the arguments and the meaning of the methods of
:class:`heed.transformers.Edits`. ``layers`` are numbers, or None for all. ``heads`` are numbers,
None for all, or pairs ``(layer, head)`` instead of ``layers``: ``(2, 0)`` are heads 2 and 0,
``[(2, 0)]`` is head 0 of layer 2. ``who`` are queries and ``to`` are keys: a word of the text, a
position, or a list of these; None for all. A word that occurs several times stands for all its
occurrences. ``stack`` is "encoder", "decoder" or "cross" for a model that has these.

    from heed import edits
    session = model.look(text, edits=[edits.remove(who="it", to="cat"), edits.ablate(2, [0, 3])])
    heed.compare(model.look(text), session)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _edited
from ._checks import number
from ._edited import Places, check_keys_or_queries, check_output, places_of
from ._masks import Mask, keep
from ._session import Session
from .errors import Unsupported, made, mistyped, refused

__all__ = ["Edit", "ablate", "freeze", "mask", "patch", "remove", "steer", "temperature"]


@dataclass(frozen=True, eq=False)
class Edit:
    """One change of some heads, made by the functions of this module."""

    name: str
    places: Places | None
    """The heads of each layer; None: all layers."""
    heads: list[int] | None
    """The heads in every layer, if ``places`` is None; None: all heads."""
    stack: str | None = None
    who: Any = None
    to: Any = None
    value: float = 0.0
    mask: Mask | None = None
    run: Session | None = None

    def __repr__(self) -> str:
        where = f"heads={self.heads}" if self.places is None else f"{self.places}"
        given = (("stack", self.stack), ("who", self.who), ("to", self.to), ("mask", self.mask))
        said = "".join(f", {name}={each!r}" for name, each in given if each is not None)
        value = f", {self.value:g}" if self.name in ("temperature", "steer") else ""
        return f"{self.name}({where}{said}{value})"


def ablate(layer: Any, heads: Any = None, *, stack: str | None = None) -> Edit:
    """Makes the output of the heads 0."""
    return _edit("ablate", layer, heads, stack)


def remove(
    who: Any = None, to: Any = None, layers: Any = None, heads: Any = None, *,
    stack: str | None = None,
) -> Edit:  # fmt: skip
    """Attention knockout: hides the keys ``to`` from the queries ``who``. At least one of the two
    must be given."""
    check_keys_or_queries(who, to)
    return _edit("remove", layers, heads, stack, who=who, to=to)


def temperature(
    layer: Any, head: Any = None, factor: float = 1.0, *, stack: str | None = None
) -> Edit:
    """Multiplies scores by ``factor``: above 1 weights are sharper, below 1 flatter. If scores have
    a softcap, all heads of a layer must have the same factor."""
    return _edit("temperature", layer, head, stack, value=number("temperature", "factor", factor))


def steer(
    words: Any = None, by: float = 1.0, heads: Any = None, layers: Any = None, *, who: Any = None,
    stack: str | None = None,
) -> Edit:  # fmt: skip
    """Adds ``by`` nats to the scores of the keys ``words``. With ``who``, or if scores have a bias
    of their own, a layer takes memory quadratic in the length."""
    by = number("steer", "by", by)
    return _edit("steer", layers, heads, stack, who=who, to=words, value=by)


def mask(mask: Any, layers: Any = None, heads: Any = None, *, stack: str | None = None) -> Edit:
    """Hides more pairs: those where ``mask`` is false. It is a ``heed.Mask``, or an array of bool,
    [Tq, Tk] or [1, H, Tq, Tk], that is true where a query may attend."""
    if not isinstance(mask, Mask):
        try:
            array = np.asarray(mask)
        except (TypeError, ValueError, RuntimeError):
            array = np.asarray(None)
        if array.dtype.kind == "f":
            raise made(
                Unsupported, op="mask", argument="mask", found="floating numbers",
                expected="a heed.Mask or an array of bool; steer adds to scores",
            )  # fmt: skip
        if array.dtype != bool:
            raise mistyped("mask", "mask", mask, "a heed.Mask or an array of bool")
        mask = keep(array)
    return _edit("mask", layers, heads, stack, mask=mask)


def freeze(
    run: Session, layers: Any = None, heads: Any = None, *, stack: str | None = None
) -> Edit:
    """Uses the weights of another run of the same model with equally many tokens. Heads that share
    their keys must be frozen together."""
    return _edit("freeze", layers, heads, stack, run=_run("freeze", run))


def patch(
    run: Session, layer: Any, head: Any = None, what: str = "output", *, who: Any = None,
    stack: str | None = None,
) -> Edit:  # fmt: skip
    """Uses the output of a head in another run with equally many tokens (activation patching)."""
    check_output(what)
    return _edit("patch", layer, head, stack, who=who, run=_run("patch", run))


def _edit(name: str, layers: Any, heads: Any, stack: str | None, **values: Any) -> Edit:
    for argument in ("who", "to"):
        given = values.get(argument)
        if given is not None and not _edited.listed(given):
            raise refused(name, argument, "empty", "words or positions, or None for all")
    return Edit(name, *places_of(name, layers, heads), stack, **values)


def _run(op: str, run: Any) -> Session:
    if isinstance(run, Session):
        return run
    raise mistyped(op, "run", run, "a heed.Session")
