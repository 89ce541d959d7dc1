"""The live page of a session as a widget, which answers the page's requests by messages."""

from __future__ import annotations

import atexit
import json
import threading
import uuid
import weakref
from collections import OrderedDict
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from . import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._session import Session

_WORKERS = 4  # answers computed at once; each may use every thread of heed
_KEPT = 8  # sessions kept alive because their page was used last
_STOPPED = "The session of this page was let go. Run the cell again to see the live page."


class Page(anywidget.AnyWidget):
    """The live page of a session (:meth:`heed.Session.widget`).

    Each view has its own selection. ``address`` is the view shown last, such as
    ``"#look/L2.H4/i=17"``; setting it moves all views there. An address that the session does not
    have is an error.
    """

    _esm = _core.page_file("/notebook.js")
    _css = _core.page_file("/app.css")
    address = traitlets.Unicode("").tag(sync=True)
    page = traitlets.Unicode("").tag(sync=True)  # the name by which outputs refer to it

    def __init__(self, session: Session):
        self.answers = _core.PageAnswers(session._core)
        self._answering: dict[str, _Answering] = {}
        # On a thread: closing waits for answers, and one of them may have collected the session.
        self._session = weakref.ref(session, lambda _: _run_alone(self.close))
        super().__init__(page=uuid.uuid4().hex)
        self.on_msg(self._hear)
        if session._address:
            self.address = "#" + session._address
        _open.add(self)

    @traitlets.validate("address")
    def _checked(self, proposal: Any) -> str:
        address, session = proposal["value"], self._session()
        is_pages_own = "address" in self._property_lock  # set by the page itself
        if address and session is not None and not is_pages_own:
            _core.check_address(session._core, address)
        return address

    @property
    def session(self) -> Session | None:
        """The session; None once it was collected."""
        return self._session()

    def close(self) -> None:
        """Ends the page; views that are still shown say so."""
        if self not in _open:
            return
        _open.discard(self)
        _shown.pop(self, None)
        self.tell({"stopped": _STOPPED}, [])
        for answering in list(self._answering.values()):
            answering.asking.cancel()
        self.answers.close()
        super().close()

    def tell(self, message: dict[str, Any], buffers: list[bytes]) -> None:
        if self.comm is not None:
            self.send(message, buffers)

    def forget(self, name: str) -> None:
        """Removes the request with this name, which has been answered."""
        self._answering.pop(name, None)

    def _hear(self, _: Any, message: dict[str, Any], buffers: list[Any]) -> None:
        """Handles a message of the page: {"ask": name, "method", "path"}, with a body as its
        buffer, or {"cancel": name}."""
        if "cancel" in message and message["cancel"] in self._answering:
            self._answering[message["cancel"]].asking.cancel()
        if "ask" not in message:
            return
        _keep(self)
        body = bytes(buffers[0]) if buffers else b""
        answering = _Answering(self, message["ask"], (message["method"], message["path"], body))
        self._answering[message["ask"]] = answering
        (_run_alone if answering.is_stream else _workers.run)(answering)


class _Answering:
    """One request that is being answered. The answer is sent in messages {"to": name, "status",
    "type"} with parts of the body as buffers; the last has {"end": whether it is complete}."""

    def __init__(self, page: Page, name: str, asked: tuple[str, str, bytes]):
        self._page = page
        self._name = name
        self._asked = asked
        self._head: dict[str, Any] = {}
        self._pieces: list[bytes] = []
        self._is_untold = True
        self.asking = _core.Asking()
        # An event stream lasts as long as the work that it reports.
        self.is_stream = "/events" in asked[1]

    def __call__(self) -> None:
        try:
            whole = self._page.answers.answer(*self._asked, self._begin, self._take, self.asking)
        except Exception as error:
            whole = self._is_untold
            if whole:
                self._begin(500, "application/json; charset=utf-8")
                failed = {"error": {"code": "failed", "message": str(error)}}
                self._pieces = [json.dumps(failed).encode()]
        finally:
            self._page.forget(self._name)
        self._send({"end": whole})

    def _begin(self, status: int, kind: str) -> None:
        self._head = {"status": status, "type": kind}

    def _take(self, piece: bytes) -> None:
        self._pieces.append(piece)
        if self.is_stream:
            self._send({})

    def _send(self, more: dict[str, Any]) -> None:
        pieces, self._pieces = self._pieces, []
        head, self._head = self._head, {}
        self._is_untold = False
        if not self.asking.cancelled:
            self._page.tell({"to": self._name, **head, **more}, pieces)


class _Workers:
    """Threads that compute answers; they end with the process."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._guard = threading.Lock()
        self._count = 0

    def run(self, task: Callable[[], None]) -> None:
        self._tasks.put(task)
        with self._guard:
            if self._count < _WORKERS:
                self._count += 1
                _run_alone(self._work)

    def _work(self) -> None:
        while True:
            self._tasks.get()()


def _run_alone(task: Callable[[], None]) -> None:
    threading.Thread(target=task, name="heed page", daemon=True).start()


_workers = _Workers()
_open: set[Page] = set()
_shown: OrderedDict[Page, Session] = OrderedDict()


def page_of(session: Session) -> Page:
    """Returns the session's page; makes it if there is none."""
    page = session.__dict__.get("_page")
    if page is None or page not in _open:
        page = session.__dict__["_page"] = Page(session)
    _keep(page)
    return page


def _keep(page: Page) -> None:
    """Keeps the session of a page that was used alive, and releases the one used longest ago."""
    session = page.session
    if session is None:
        return
    _shown[page] = session
    _shown.move_to_end(page)
    while len(_shown) > _KEPT:
        _shown.popitem(last=False)


@atexit.register
def _end() -> None:
    """Closes all pages before the interpreter ends, so that no thread returns to Python later."""
    for page in list(_open):
        page.answers.close()
