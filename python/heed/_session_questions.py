"""Asks questions about a session; tokens are given by text or index."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._checks import index_of, whole_if_given
from ._texts import checked
from .errors import refused

if TYPE_CHECKING:
    from ._session import Session

Who = int | str


def _index_if_given(session: Session, what: str, number: int | None, count: int) -> int | None:
    has = f" ({session.model_name} has {count} {what}{'' if count == 1 else 's'})"
    return None if number is None else index_of("look", what, number, count, has)


def question(
    session: Session,
    layer: int | None,
    head: int | None,
    stack: str | None,
    who: Who | None,
    to: Who | None,
    top: int | None,
    rows: int | None = None,
    scored: bool = True,
) -> _core.Question:
    """Returns a checked question for the library. Without ``scored``, a question about a named head
    does not compute the scores of all heads."""
    layer = whole_if_given("look", "layer", layer)
    head = whole_if_given("look", "head", head)
    if (layer is not None or head is not None) and (stack is not None or len(session.stacks) == 1):
        of = session.stack(stack)
        layer = _index_if_given(session, "layer", layer, of.layers)
        head = _index_if_given(session, "head", head, of.heads)
    top = whole_if_given("look", "top", top, least=1)
    rows = whole_if_given("look", "rows", rows, least=1)
    queries = [] if who is None else find(session, who, stack, False, "who")
    keys = [] if to is None else find(session, to, stack, True, "to")
    cells, columns = (keys, []) if who is not None else ([], keys)
    top, rows = (-1 if most is None else most for most in (top, rows))
    return _core.Question(stack, layer, head, top, queries, cells, columns, rows, scored)


def answer(
    session: Session,
    layer: int | None,
    head: int | None,
    stack: str | None,
    who: Who | None,
    to: Who | None,
    top: int | None,
) -> dict[str, Any]:
    """Returns the rows, columns or cells of one head."""
    asked = question(session, layer, head, stack, who, to, top, scored=False)
    return json.loads(_core.look_json(session._core, asked))


def find(session: Session, word: Who, stack: str | None, keys: bool, argument: str) -> list[int]:
    """Implements :meth:`Session.find`."""
    if isinstance(word, str):
        checked(word, argument)
        other = {"who": "to", "to": "who"}.get(argument, f"keys={not keys}")
        return _core.find_word(session._core, word, argument, other, stack, keys)
    of = session.stack(stack)
    count = of.keys if keys else of.queries
    if not isinstance(word, (int, np.integer)) or not -count <= word < count:
        tokens = f"{count} token{'s' if count != 1 else ''}"
        expected = f"a word of the text, or {-count} to {count - 1} (it has {tokens})"
        raise refused("session", argument, repr(word), expected)
    return [int(word) % count]


def refuse_none(session: Session, stack: str | None, **words: Who) -> None:
    """Refuses None as one token: elsewhere it means all tokens."""
    for argument, word in words.items():
        if word is None:
            find(session, word, stack, argument == "to", argument)
