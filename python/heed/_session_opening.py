"""How a session is opened with a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from . import _core
from ._session import Session
from ._texts import checked, checked_if_given
from .errors import Error, InvalidArgument, made, refused

if TYPE_CHECKING:
    from ._models import Model


def open_session(
    model: Model,
    text: Any,
    pair: Any,
    target: Any,
    ids: Any,
    cut: str | None,
    logits: bool,
    hidden: bool,
) -> Session:
    """As :meth:`Model.look` says."""
    if (text is None) == (ids is None):
        found = "no text is given" if text is None else "text and ids are both given"
        raise made(InvalidArgument, op="look", found=found, expected="one of text and ids")
    if ids is not None:
        for name, given in (("pair", pair), ("cut", cut)):
            if given is not None:
                raise refused("look", name, "given beside ids", "a text")
        with _named("ids"):
            return Session(_core.open_ids(model._core, ids, target, logits, hidden), model)
    checked(text, "text", "look")
    pair = checked_if_given(pair, "pair", "look")
    target = checked_if_given(target, "target", "look")
    with _named("text", hint='cut="first" or cut="last" reads a part of it'):
        core = _core.open_texts(model._core, text, pair, target, cut, logits, hidden)
    return Session(core, model)


@contextmanager
def _named(name: str, hint: str = "") -> Iterator[None]:
    """What the library calls the input is an argument of that name."""
    try:
        yield
    except Error as error:
        if error.argument != "input":
            raise
        raise made(type(error), **{**error.__dict__, "argument": name, "hint": hint}) from None
