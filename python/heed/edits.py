"""Edits of attention as data, for models that heed runs: ``model.look(text, edits=[...])``.

They have the names, the arguments and the meaning of the methods of
:class:`heed.transformers.Edits`. ``layers`` are numbers, or None for all. ``heads`` are numbers,
None for all, or pairs ``(layer, head)`` in place of ``layers``. ``who`` are queries and ``to``
keys: a word of the text, its position, or a list of these; None for all. A word that occurs several times
stands for all of these. ``stack`` names the "encoder", "decoder" or "cross" of a model that has
these.

    from heed import edits
    session = model.look(text, edits=[edits.remove(who="it", to="cat"), edits.ablate(2, [0, 3])])
    heed.compare(model.look(text), session)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _edited
from ._checks import kind_of
from ._edited import Places, check_output, number, places_of
from ._masks import Mask, keep
from ._session import Session
from .errors import InvalidArgument, Unsupported, WrongType, made

__all__ = ["Edit", "ablate", "freeze", "mask", "patch", "remove", "steer", "temperature"]


@dataclass(frozen=True, eq=False)
class Edit:
    """One change of some heads, which the functions of this module make."""

    name: str
    places: Places | None
    """The heads of each layer; None stands for all layers."""
    heads: list[int] | None
    """The heads of every layer, where ``places`` is None."""
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
    """The output of the heads is 0."""
    return _edit("ablate", layer, heads, stack)


def remove(
    who: Any = None, to: Any = None, layers: Any = None, heads: Any = None, *,
    stack: str | None = None,
) -> Edit:  # fmt: skip
    """Attention knockout: the queries ``who`` do not see the keys ``to``."""
    return _edit("remove", layers, heads, stack, who=who, to=to)


def temperature(
    layer: Any, head: Any = None, factor: float = 1.0, *, stack: str | None = None
) -> Edit:
    """Scores are multiplied by ``factor``: above 1 weights are sharper, below 1 flatter. Where
    scores have a softcap, all heads of a layer have one factor."""
    return _edit("temperature", layer, head, stack, value=number("temperature", "factor", factor))


def steer(
    words: Any = None, by: float = 1.0, heads: Any = None, layers: Any = None, *, who: Any = None,
    stack: str | None = None,
) -> Edit:  # fmt: skip
    """``by`` is added to the scores of the keys ``words``, in nats. With ``who``, and where scores
    have a bias of their own, a layer takes memory for all its pairs."""
    by = number("steer", "by", by)
    return _edit("steer", layers, heads, stack, who=who, to=words, value=by)


def mask(mask: Any, layers: Any = None, heads: Any = None, *, stack: str | None = None) -> Edit:
    """Hides pairs too: a ``heed.Mask``, or an array of bool that is true where a query may attend,
    [Tq, Tk] or [1, H, Tq, Tk]."""
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
            raise made(WrongType, op="mask", argument="mask", found=kind_of(mask),
                       expected="a heed.Mask or an array of bool")  # fmt: skip
        mask = keep(array)
    return _edit("mask", layers, heads, stack, mask=mask)


def freeze(
    run: Session, layers: Any = None, heads: Any = None, *, stack: str | None = None
) -> Edit:
    """The weights are those of another run of the same model, of as many tokens. Heads that share
    their keys are frozen together."""
    return _edit("freeze", layers, heads, stack, run=_run("freeze", run))


def patch(
    run: Session, layer: Any, head: Any = None, what: str = "output", *, who: Any = None,
    stack: str | None = None,
) -> Edit:  # fmt: skip
    """The output of a head is that of another run, of as many tokens (activation patching)."""
    check_output(what)
    return _edit("patch", layer, head, stack, who=who, run=_run("patch", run))


def _edit(name: str, layers: Any, heads: Any, stack: str | None, **values: Any) -> Edit:
    for argument in ("who", "to"):
        given = values.get(argument)
        if given is not None and not _edited.listed(given):
            raise made(InvalidArgument, op=name, argument=argument, found="empty",
                       expected="words or positions, or None for all")  # fmt: skip
    return Edit(name, *places_of(name, layers, heads), stack, **values)


def _run(op: str, run: Any) -> Session:
    if isinstance(run, Session):
        return run
    raise made(WrongType, op=op, argument="run", found=kind_of(run), expected="a heed.Session")
