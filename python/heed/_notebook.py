"""The display of a session in a notebook.

The output of a cell is html that holds the page as a file in a frame, so that a notebook which
nobody runs shows it: one that is opened without a kernel, a page of documentation. Where a kernel
runs and anywidget is installed, a widget without a view of its own puts the live page in its place.
(Where an output has a widget's view and html, JupyterLab takes the view, and without a kernel it
shows an error and not the html.) A notebook that is not trusted shows neither frame nor live page.
It shows the table, which the script of the output closes where it may run.
"""

from __future__ import annotations

import html
import importlib.util
import sys
from typing import TYPE_CHECKING

from . import _core
from .errors import Unsupported, made

if TYPE_CHECKING:
    from ._notebook_page import Page
    from ._session import Session

_FRAME_HEIGHT = 780  # pixels
_SAVED_BYTES = 1 << 20  # of Q, K and lse: a notebook holds many outputs
_UNTRUSTED = (
    "This notebook is not trusted: it shows this table, and not the page. To trust it, choose "
    "Trust Notebook in the command palette or the menu File, run the cell again, or type "
    "<code>jupyter trust NOTEBOOK.ipynb</code>."
)


def shown_in_a_notebook(session: Session) -> dict[str, str]:
    """What IPython asks for, by the type of its content."""
    text = repr(session)
    try:
        page = page_of(session) if _is_live() else None
    except Unsupported:  # a build without the page
        page = None
    return {"text/plain": text, "text/html": saved_in_a_frame(session, text, page)}


def page_of(session: Session) -> Page:
    """The widget of a session, which all its views share."""
    if importlib.util.find_spec("anywidget") is None:
        raise made(Unsupported, op="widget", found="anywidget is not installed",
                   hint="pip install anywidget; without it a notebook shows the saved page")  # fmt: skip
    from ._notebook_page import page_of

    return page_of(session)


def _is_live() -> bool:
    """Whether a kernel runs this and can talk to widgets."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return hasattr(shell, "kernel") and importlib.util.find_spec("anywidget") is not None


def saved_in_a_frame(session: Session, text: str, page: Page | None = None) -> str:
    """The page in a frame, where the live one finds its place, and the table for readers that show
    no frames; the table alone where there can be no page."""
    try:
        answers = page.answers if page else _core.PageAnswers(session._core)
        document = answers.html(_SAVED_BYTES, session._address)
    except Unsupported:  # weights that a file cannot hold, or a build without the page
        content = f"<pre>{html.escape(text)}</pre>"
    else:
        content = (
            f"<iframe srcdoc='{_quoted(document)}' sandbox=\"allow-scripts allow-downloads\" "
            f'style="width: 100%; height: {_FRAME_HEIGHT}px; border: 0" title="heed"></iframe>'
            f"<details open data-heed-table><summary>as text</summary><p>{_UNTRUSTED}</p>"
            f"<pre>{html.escape(text)}</pre></details>"
            # The frame is an origin of its own: it asks this script whether it is light or dark.
            f"<script>{_core.page_file('/frames.js')}</script>"
        )
    place = f' data-heed-page="{page.page}"' if page else ""
    return f"<div{place}>{content}</div>"


def _quoted(document: str) -> str:
    """As an attribute between single quotes: the many double ones of its JSON stay as they are."""
    return document.replace("&", "&amp;").replace("'", "&#39;")
