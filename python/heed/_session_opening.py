"""Opens a session with a model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core
from ._checks import flag, whole
from ._session import Session
from ._session_edits import edited
from ._texts import checked, checked_if_given
from .errors import Error, InvalidArgument, made, mistyped, refused

if TYPE_CHECKING:
    from ._models import Model


class Kept(NamedTuple):
    """The parts of its pass that a session keeps."""

    logits: bool
    hidden: bool
    layers: list[int] | None
    dtype: str

    @classmethod
    def checked(cls, logits: Any, hidden: Any, layers: Any, dtype: Any) -> Kept:
        if layers is not None:
            try:
                layers = list(layers)
            except TypeError:
                raise mistyped("look", "keep_layers", layers,
                               "layers, as range(8, 13), or None") from None  # fmt: skip
            layers = sorted({whole("look", "keep_layers", layer) for layer in layers})
        if dtype not in ("float32", "float16"):
            raise refused("look", "keep", repr(dtype), '"float32" or "float16"')
        return cls(flag("look", "logits", logits), flag("look", "hidden", hidden), layers, dtype)


def open_session(
    model: Model,
    text: Any,
    pair: Any,
    target: Any,
    ids: Any,
    cut: str | None,
    kept: Kept,
    edits: Any,
) -> Session:
    """Implements :meth:`Model.look`."""
    if (text is None) == (ids is None):
        found = "no text is given" if text is None else "text and ids are both given"
        raise made(InvalidArgument, op="look", found=found, expected="one of text and ids")
    if ids is not None:
        for name, given in (("pair", pair), ("cut", cut)):
            if given is not None:
                raise refused("look", name, "given beside ids", "a text")
        with _named("ids"):
            core = _core.open_ids(model._core, ids, target, *kept, edits is None)
            return Session(_with(core, model, edits), model)
    checked(text, "text", "look")
    pair = checked_if_given(pair, "pair", "look")
    target = checked_if_given(target, "target", "look")
    with _named("text", hint='cut="first" or cut="last" reads a part of it'):
        core = _core.open_texts(model._core, text, pair, target, cut, *kept, edits is None)
        core = _with(core, model, edits)
    session = Session(core, model)
    _tell_of_unknown_texts(session, target is not None)
    return session


def _with(core: _core.Session, model: Model, edits: Any) -> _core.Session:
    return core if edits is None else edited(core, model, edits)


def _tell_of_unknown_texts(session: Session, has_target: bool) -> None:
    """Warns if the vocabulary has no token of a text, like the program on stderr."""
    model = session.model
    reads_source = session.key_tokens is not session.tokens
    texts = [("text", model.tokenizer, session.key_tokens)]
    if has_target and reads_source:
        texts.append(("target", model.target_tokenizer, session.tokens))
    for name, tokenizer, tokens in texts:
        if share := tokenizer.unknown_share(
            [token.id for token in tokens if token.end > token.begin]
        ):
            warnings.warn(
                f"look: no token of the {name} is in the vocabulary ({share})", stacklevel=4
            )


@contextmanager
def _named(name: str, hint: str = "") -> Iterator[None]:
    """Gives errors of the library this function's name; renames their argument ``input`` to
    ``name``."""
    try:
        yield
    except Error as error:
        parts = dict(error.__dict__)
        if error.op == "session":
            parts["op"] = "look"
        if error.argument == "input":
            parts |= {"argument": name, "hint": hint}
        raise made(type(error), **parts) from None
