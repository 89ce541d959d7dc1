"""The page in a notebook: the widget answers what the server answers."""

from __future__ import annotations

import gc
import http.client
import json
import re
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from conftest import PATIENCE, SENTENCE, peer, program

import heed

peer("anywidget")


class Front:
    """A substitute for a notebook that handles the widget's messages."""

    def __init__(self, session, monkeypatch):
        self.page = session.widget()
        self.news = threading.Condition()
        self.heard = []
        monkeypatch.setattr(self.page, "send", self._hear)

    def _hear(self, content, buffers=None):
        with self.news:
            self.heard.append((content, b"".join(bytes(each) for each in buffers or [])))
            self.news.notify_all()

    def ask(self, name, path, method="GET", body=None):
        buffers = [] if body is None else [memoryview(json.dumps(body).encode())]
        message = {"ask": name, "method": method, "path": path}
        self.page._handle_custom_msg(message, buffers)

    def wait_for(self, fits):
        with self.news:
            assert self.news.wait_for(lambda: any(map(fits, self.heard)), PATIENCE), self.heard
        return next(each for each in self.heard if fits(each))

    def answer(self, path, method="GET", body=None):
        """Status, type and body."""
        name = f"{len(self.heard)} {path}"
        self.ask(name, path, method, body)
        self.wait_for(lambda each: each[0].get("to") == name and "end" in each[0])
        own = [each for each in self.heard if each[0].get("to") == name]
        assert own[-1][0]["end"] is True
        return own[0][0]["status"], own[0][0]["type"], b"".join(each[1] for each in own)


@pytest.fixture
def session(tales):
    return tales.look(SENTENCE)


@pytest.fixture
def front(session, monkeypatch):
    front = Front(session, monkeypatch)
    yield front
    front.page.close()


@pytest.fixture
def server(monkeypatch, tmp_path):
    """The program that serves the same text: asks it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    command = [program(), "serve", "--port", "0", "--text", SENTENCE]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    host, token = re.search(r"http://([^/]+)/\?token=(\w+)", child.stdout.readline()).groups()

    def answer(path, method="GET", body=None):
        connection = http.client.HTTPConnection(host, timeout=PATIENCE)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request(method, path, body and json.dumps(body), headers)
        found = connection.getresponse()
        return found.status, found.getheader("Content-Type") or "", found.read()

    yield answer
    child.terminate()
    child.wait()


def scored(answer, session):
    """Until every head has its scores."""
    answer(f"/api/v1/sessions/{session}/events")


def test_answers_are_the_servers_byte_for_byte(front, server):
    posted = [
        each("/api/v1/sessions", "POST", {"text": SENTENCE}) for each in (front.answer, server)
    ]
    ours, theirs = (json.loads(each[2])["session"] for each in posted)
    for each, name in ((front.answer, ours), (server, theirs)):
        scored(each, name)
    places = ["self/1/3/row/7", "self/1/3/row/2?end=5&top_p=0.5", "self/0/2/column/3",
              "self/2/1/marginals", "self/2/1/cell/9/4", "self/1/edges?heads=0,3",
              "self/heads", "self/heads?layer=1", "self/next?position=3", "self/lens?end=3",
              "self/1/3/tile/0/0/0", "self/1/3/tile/0/0/0?as=f32&q=score", "self/1/3/rows?begin=0&end=5",
              "events?layer=1", "export?format=html&view=look/L1.H3/i%3D7", ""]  # fmt: skip
    wrong = ["self/9/3/row/7", "self/1/3/row/700", "self/1/3/row/x", "self/1/3/rows?begin=0&begin=1",
             "self/1/3/tile/0/0/0?as=f64", "cross/0/0/row/0", "nothing", "export?format=html&view=%C3%A4"]  # fmt: skip
    for place in places + wrong:
        found = front.answer(f"/api/v1/sessions/{ours}/{place}".rstrip("/"))
        wanted = server(f"/api/v1/sessions/{theirs}/{place}".rstrip("/"))
        same = (wanted[0], wanted[1], wanted[2].replace(theirs.encode(), ours.encode()))
        if "html" not in wanted[1]:  # which says what the server begins with
            assert found == same, place
        assert found[:2] == same[:2], place
        assert (found[0] == 200) == (place in places), place


def test_a_path_that_does_not_exist_is_an_answer_with_an_error(front):
    for path, method, status, code in (
        ("/api/v1/none", "GET", 404, "not_found"),
        ("/api/v1/sessions/none", "GET", 404, "unknown_session"),
        ("/api/v1/models", "POST", 405, "bad_request"),
        ("/api/v1/sessions", "POST", 400, "bad_request"),
        ("", "GET", 404, "not_found"),
        ("\0?%", "\n", 404, "not_found"),
    ):
        found, kind, body = front.answer(path, method)
        assert (found, kind) == (status, "application/json; charset=utf-8")
        assert json.loads(body)["error"]["code"] == code


def test_another_text_is_run_by_the_sessions_model(front, tales):
    status, _, body = front.answer("/api/v1/sessions", "POST", {"text": "Once upon a time"})
    other = json.loads(body)
    assert status == 201 and len(other["tokens"]) == len(tales.look("Once upon a time").tokens)


def test_a_session_of_arrays_answers_and_runs_nothing_else(rng, monkeypatch):
    q = rng.normal(size=(1, 2, 6, 8)).astype(np.float32)
    session = heed.Session.from_arrays(q, q, softcap=3.0)
    front = Front(session, monkeypatch)
    about = json.loads(front.answer("/api/v1/models")[2])
    posted = front.answer("/api/v1/sessions", "POST", {"text": about["text"]})
    name = json.loads(posted[2])["session"]
    rows = front.answer(f"/api/v1/sessions/{name}/self/0/1/rows?begin=0&end=6")[2]
    assert np.array_equal(np.frombuffer(rows, np.float32).reshape(6, 6), session.weights[0, 1])
    assert front.answer("/api/v1/sessions", "POST", {"text": "other"})[0] == 400
    front.page.close()


def test_a_session_of_ids_shows_itself(tales, monkeypatch):
    session = tales.look(ids=tales.tokenizer.encode(SENTENCE).ids)
    front = Front(session, monkeypatch)
    about = json.loads(front.answer("/api/v1/models")[2])
    posted = json.loads(front.answer("/api/v1/sessions", "POST", {"text": about["text"]})[2])
    assert [each["text"] for each in posted["tokens"]] == [each.text for each in session.tokens]
    front.page.close()


def test_a_request_that_is_cancelled_stops(rng, monkeypatch):
    """A mask of the caller's is asked for every tile: it says how far the work has come."""
    asked, goes_on = [], threading.Event()

    def visible(batch, head, queries, keys):
        asked.append(1)
        goes_on.wait()
        return queries >= keys

    q = rng.normal(size=(1, 1, 3000, 8)).astype(np.float32)

    def opened():
        goes_on.set()
        return Front(heed.Session.from_arrays(q, q, lse=np.zeros((1, 1, 3000), np.float32),
                                              mask=heed.custom(visible, name="slow")), monkeypatch)  # fmt: skip

    path = "/api/v1/sessions/arrays/self/0/0/marginals"
    front = opened()
    asked.clear()
    front.answer(path)
    whole = len(asked)
    front.page.close()
    front = opened()
    asked.clear()
    goes_on.clear()
    front.ask("long", path)
    while not asked:
        time.sleep(0.01)
    front.page._handle_custom_msg({"cancel": "long"}, [])
    goes_on.set()
    front.page.close()
    assert len(asked) < whole
    assert not [each for each in front.heard if each[0].get("to") == "long"]


def test_a_closed_page_says_so_and_lets_its_session_go(tales, monkeypatch):
    session = tales.look(SENTENCE)
    front = Front(session, monkeypatch)
    front.answer("/api/v1/models")
    gone = weakref.ref(session)
    monkeypatch.setattr("heed._notebook_page._KEPT", 1)
    other = tales.look("Another text")
    kept = other.widget()
    del session
    gc.collect()
    assert gone() is None
    front.wait_for(lambda each: "let go" in each[0].get("stopped", ""))
    front.wait_for(lambda each: front.page.comm is None or front.page.comm._closed)
    front.ask("late", "/api/v1/models")  # of a view that has not heard of it yet: no error
    kept.close()


def test_a_session_keeps_its_model_for_its_page(monkeypatch):
    model = heed.load()
    front = Front(model.look(SENTENCE), monkeypatch)
    del model
    gc.collect()
    assert front.answer("/api/v1/sessions", "POST", {"text": "Once upon"})[0] == 201
    front.page.close()


def test_views_of_one_session_share_a_page_until_it_is_closed(session):
    first = session.widget()
    assert session.widget() is first and first.session is session
    first.close()
    second = session.widget()
    assert second is not first
    second.close()


def test_a_place_that_the_session_does_not_have_is_refused(session):
    page = session.widget()
    page.address = "#look/L2.H3/i=7"
    for wrong in ("#look/L9.H3", "#look/L2.H3/i=99", "#nowhere/L0.H0", "nonsense"):
        with pytest.raises((ValueError, LookupError)) as caught:
            page.address = wrong
        assert "expected" in str(caught.value), wrong
        assert page.address == "#look/L2.H3/i=7"
    page.address = "#look/L9.H3/x=Another text"  # a link to something else
    page.set_state({"address": "#look/L7.H0"})  # the page itself, which shows another model
    assert page.address == "#look/L7.H0"
    page.close()


def test_an_interpreter_that_ends_while_a_page_waits_does_not_hang():
    script = f"""
import heed, json
session = heed.look({SENTENCE!r} * 8)
page = session.widget()
page._handle_custom_msg({{"ask": "1", "method": "POST", "path": "/api/v1/sessions"}},
                        [json.dumps({{"text": "the cat sat. " * 200}}).encode()])
name = heed._core.PageAnswers(session._core)
page._handle_custom_msg({{"ask": "2", "method": "GET", "path": "/api/v1/models"}}, [])
print("ends")
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                         timeout=PATIENCE, check=False)  # fmt: skip
    assert (ran.returncode, ran.stdout.strip(), ran.stderr) == (0, "ends", "")


def test_a_cell_shows_the_saved_page_where_the_live_one_finds_its_place(session, monkeypatch):
    monkeypatch.setattr("heed._notebook._is_live", lambda: True)
    html = session._repr_mimebundle_()["text/html"]
    assert html.startswith(f'<div data-heed-page="{session.widget().page}"><iframe srcdoc=')
    monkeypatch.setattr(session, "_address", "look/L1.H2")
    named = f'<div data-heed-page="{session.widget().page}" data-heed-address="#look/L1.H2"><iframe'
    assert session._repr_mimebundle_()["text/html"].startswith(named)
    assert "<details open" in html and "application/vnd.jupyter" not in session._repr_mimebundle_()
    session.widget().close()


def test_without_anywidget_a_cell_shows_the_saved_page_and_widget_says_what_is_missing(
    session, monkeypatch
):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert session._repr_mimebundle_()["text/html"].startswith("<div><iframe srcdoc=")
    with pytest.raises(NotImplementedError, match="anywidget is not installed.*pip install"):
        session.widget()


def test_the_saved_page_of_a_cell_is_bounded(tales, rng):
    long = tales.look("The king had a daughter, and he loved her. " * 60, cut="first")
    q = [rng.normal(size=(1, 8, 512, 64)).astype(np.float32) for _ in range(8)]
    arrays = heed.Session.from_arrays(q, q, mask=heed.causal())
    for session in (long, arrays):
        assert len(session._repr_mimebundle_()["text/html"]) < 2_700_000
