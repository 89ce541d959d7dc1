"""Writes sessions to files."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core
from ._checks import below, whole
from ._texts import checked_if_given
from .errors import WrongType, made, refused

if TYPE_CHECKING:
    from ._session import Session

_PICTURES = (".svg", ".png")
_PLACE = ("layer", "head", "stack", "who", "to")
_TAKEN = {  # the keywords of each format
    ".html": (*_PLACE, "view"),
    ".svg": (*_PLACE, "view"),
    ".png": (*_PLACE, "view"),
    ".txt": (*_PLACE, "top", "rows"),
    ".json": (*_PLACE, "top", "rows"),
}
_ONE_PICTURE = threading.Lock()  # one picture at a time, because each starts a browser


def viewed(
    session: Session,
    layer: int | None = None,
    head: int | None = None,
    *,
    stack: str | None = None,
    who: int | str | None = None,
    to: int | str | None = None,
    view: str | None = None,
    **unknown: Any,
) -> _core.Viewed:
    """Returns the view that the page opens with."""
    _check_taken("to_html", unknown, ".html")
    named = {"layer": layer, "head": head, "stack": stack, "who": who, "to": to}
    for name, value in named.items():
        if view is not None and value is not None:
            expected = "one of them: it names head and tokens itself"
            raise refused("look", "view", "given beside " + name, expected)
    if view is None and all(value is None for value in named.values()) and session._address:
        view = session._address
    of = session.stack(stack)  # or says which there are
    layer = _below("layer", layer, of.layers)
    head = _below("head", head, of.heads)
    words = ["" if word is None else str(word) for word in (who, to)]
    return _core.Viewed(checked_if_given(view, "view", "look"), stack, layer, head, *words)


def _below(name: str, given: Any, count: int) -> int | None:
    return None if given is None else below("look", name, given, count)


def save(session: Session, path: Path, width: int, theme: str, asked: dict[str, Any]) -> None:
    """Implements :meth:`Session.save`."""
    ending = path.suffix.lower()
    if ending not in _TAKEN:
        expected = "a name that ends in .html, .svg, .png, .txt or .json"
        raise refused("save", "path", f'"{path}"', expected)
    _check_taken("save", asked, ending)
    if ending in _PICTURES:
        content = _picture(session, ending[1:], width, theme, asked)
    elif ending == ".html":
        content = session.to_html(**asked).encode()
    elif ending == ".txt":
        content = (session.to_text(**asked) + "\n").encode()
    else:
        content = session.to_json(**asked).encode()
    _core.write_file(str(path), content)


def _check_taken(op: str, asked: dict[str, Any], ending: str) -> None:
    """Refuses a keyword that this format does not take."""
    *taken, last = _TAKEN[ending]
    for name in asked:
        if name not in _TAKEN[ending]:
            raise made(WrongType, op=op, argument=name, found="given",
                       expected=f"only {', '.join(taken)} and {last} for {ending}")  # fmt: skip


def _picture(session: Session, format: str, width: int, theme: str, asked: dict) -> bytes:
    if theme not in ("light", "dark"):
        raise refused("save", "theme", repr(theme), '"light" or "dark"')
    if not 320 <= whole("save", "width", width) <= 8192:
        raise refused("save", "width", width, "320 to 8192")
    opened = viewed(session, **asked)
    with _ONE_PICTURE:
        return _core.session_picture(session._core, opened, format, width, theme == "dark")
