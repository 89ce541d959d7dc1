"""Sessions as files."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core
from ._checks import whole, whole_if_given
from ._texts import checked_if_given
from .errors import refused

if TYPE_CHECKING:
    from ._session import Session

_PICTURES = (".svg", ".png")
_ONE_PICTURE = threading.Lock()  # at a time: each has a browser


def viewed(
    session: Session,
    layer: int | None = None,
    head: int | None = None,
    *,
    stack: str | None = None,
    who: int | str | None = None,
    to: int | str | None = None,
    view: str | None = None,
) -> _core.Viewed:
    """What the page opens at."""
    named = {"layer": layer, "head": head, "stack": stack, "who": who, "to": to}
    for name, value in named.items():
        if view is not None and value is not None:
            expected = "one of them: it names head and tokens itself"
            raise refused("look", "view", "given beside " + name, expected)
    if stack is not None:
        session.stack(stack)  # or says which there are
    layer = whole_if_given("look", "layer", layer)
    head = whole_if_given("look", "head", head)
    words = ["" if word is None else str(word) for word in (who, to)]
    return _core.Viewed(checked_if_given(view, "view", "look"), stack, layer, head, *words)


def save(session: Session, path: Path, width: int, theme: str, asked: dict[str, Any]) -> None:
    """As :meth:`Session.save` says."""
    ending = path.suffix.lower()
    if ending in _PICTURES:
        content = _picture(session, ending[1:], width, theme, asked)
    elif ending == ".html":
        content = session.to_html(**asked).encode()
    elif ending == ".txt":
        content = (session.to_text(**asked) + "\n").encode()
    elif ending == ".json":
        content = session.to_json(**asked).encode()
    else:
        expected = "a name that ends in .html, .svg, .png, .txt or .json"
        raise refused("save", "path", f'"{path}"', expected)
    _core.write_file(str(path), content)


def _picture(session: Session, format: str, width: int, theme: str, asked: dict) -> bytes:
    if theme not in ("light", "dark"):
        raise refused("save", "theme", repr(theme), '"light" or "dark"')
    if not 320 <= whole("save", "width", width) <= 8192:
        raise refused("save", "width", width, "320 to 8192")
    opened = viewed(session, **asked)
    with _ONE_PICTURE:
        return _core.session_picture(session._core, opened, format, width, theme == "dark")
