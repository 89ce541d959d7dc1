"""The display of a session in a notebook.

The output of a cell is HTML with the saved page in a frame, so that it is also shown without a
kernel and in documentation made from the notebook. If a kernel runs and anywidget is installed, a
widget without a view of its own replaces the saved page by the live one. (If an output has both a
widget's view and HTML, JupyterLab takes the view, and without a kernel shows an error instead of
the HTML.) A notebook that is not trusted shows neither: it shows the table. Where scripts may run,
the output's script closes the table.
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
_SAVED_BYTES = 1 << 20  # of Q, K and lse per output: a notebook has many outputs
_UNTRUSTED = (
    "This notebook is not trusted: it shows this table, and not the page. To trust it, choose "
    "Trust Notebook in the command palette or the menu File, run the cell again, or type "
    "<code>jupyter trust NOTEBOOK.ipynb</code>."
)


def shown_in_a_notebook(session: Session) -> dict[str, str]:
    """Returns the output of a cell by MIME type, as IPython asks for it."""
    text = repr(session)
    try:
        page = page_of(session) if _is_live() else None
    except Unsupported:  # a build without the page
        page = None
    return {"text/plain": text, "text/html": saved_in_a_frame(session, text, page)}


def page_of(session: Session) -> Page:
    """Returns the session's widget, which all its views share."""
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
    """Returns HTML with the page in a frame, which the live page may replace, and the table for
    viewers that show no frames; the table alone if no page is possible."""
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
            # The frame is another origin: it asks this script for the light or dark theme.
            f"<script>{_core.page_file('/frames.js')}</script>"
        )
    place = f' data-heed-page="{page.page}"' if page else ""
    if page and session._address:
        place += f' data-heed-address="#{session._address}"'
    return f"<div{place}>{content}</div>"


def _quoted(document: str) -> str:
    """Escapes a document for an attribute in single quotes: its many double quotes stay as they
    are."""
    return document.replace("&", "&amp;").replace("'", "&#39;")
