"""Sessions as files and in notebooks."""

from __future__ import annotations

import html
import shutil

import numpy as np
import pytest
from conftest import SENTENCE, said, snapshot

import heed

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="module")
def session(tales):
    return tales.look(SENTENCE)


@pytest.fixture(scope="module")
def page(session):
    try:
        return session.to_html(2, 4)
    except heed.errors.Unsupported as error:
        pytest.skip(f"skipped: {error}")


def test_text_and_json_are_files(session, tmp_path):
    session.save(tmp_path / "x.txt", who="it")
    assert (tmp_path / "x.txt").read_text() == session.to_text(who="it") + "\n"
    session.save(str(tmp_path / "x.json"), layer=1)
    assert (tmp_path / "x.json").read_text() == session.to_json(1)


def test_the_page_is_the_programs(page, tmp_path):
    file = tmp_path / "x.html"
    said("look", SENTENCE, "--layer", "2", "--head", "4", "-o", str(file))
    theirs, ours = snapshot(file.read_text()), snapshot(page)
    assert ours["view"] == theirs["view"] == "look/L2.H4/i=9/j=7"
    assert ours["held"] == theirs["held"]
    assert ours["session"] == theirs["session"]
    assert len(ours["next"]) == len(theirs["next"]) == 12


def test_without_a_head_the_page_opens_at_the_edge_that_heed_chooses(session, page):
    found = session.to_dict()
    edge = "i={query}/j={key}".format(**found["chosen"])
    view = snapshot(session.to_html())["view"]
    assert view == f"look/L{found['layer']}.H{found['head']}/{edge}"
    assert found["chosen"]["reason"] in session.to_text(width=1000)


def test_the_page_opens_at_what_was_asked(session, page, tmp_path):
    session.save(tmp_path / "x.html", who="it", to="cat", layer=1, head=3)
    assert snapshot((tmp_path / "x.html").read_text())["view"] == "look/L1.H3/i=8/j=2"
    address = "look/L0.H1+H2/i=3"
    assert snapshot(session.to_html(view=address))["view"] == address
    found = session.to_dict()  # a view without a head has the one that heed chooses
    head = f"L{found['layer']}.H{found['head']}"
    assert snapshot(session.to_html(view="grid"))["view"].startswith(f"grid/{head}")
    assert snapshot(session.to_html(view="look/i=3"))["view"].startswith("look/L")


def test_a_comparison_with_edits_holds_both_sides(session, page, tmp_path):
    address = "look/L1.H3/vs=ablate:self.L0.H1"
    session.save(tmp_path / "x.html", view=address)
    held = snapshot((tmp_path / "x.html").read_text())
    assert held["edited"]["session"]["edits"] == "ablate=self.L0.H1"
    ours, edited = (each["held"][-1]["heads"][0]["lse"] for each in (held, held["edited"]))
    assert ours != edited
    assert "edited" not in snapshot(session.to_html(view="look/L1.H3"))


@pytest.mark.parametrize(
    "asked, kind, text",
    [
        (dict(view="lok"), ValueError, "view is"),
        (dict(view="look/L9.H0"), LookupError, "layer is 9"),
        (dict(view="look/L0.H0", layer=1), ValueError, "view is given beside layer"),
        (dict(who="dog"), ValueError, "who: "),
        (dict(stack="cross"), LookupError, "stack is"),
    ],
)
def test_a_place_that_does_not_exist_is_refused(session, page, asked, kind, text):
    with pytest.raises(kind, match=text):
        session.to_html(**asked)


def test_a_head_that_does_not_exist_is_refused(session, page):
    for place, line in [((9, 0), "look: layer is 9"), ((0, -1), "look: head is -1")]:
        with pytest.raises(IndexError, match=f"{line}, expected 0 to 5"):
            session.to_html(*place)


@pytest.mark.parametrize(
    "name, given, line",
    [
        ("x.svg", "panel", "save: panel is given, expected only .*, to and view for .svg"),
        ("x.html", "top", "save: top is given, expected only layer, head, .* and view for .html"),
        ("x.txt", "view", "save: view is given, expected only .*, top and rows for .txt"),
    ],
)
def test_a_keyword_that_a_file_does_not_take_is_named(session, tmp_path, name, given, line):
    with pytest.raises(TypeError, match=line) as caught:
        session.save(tmp_path / name, **{given: "matrix"})
    assert (caught.value.op, caught.value.argument) == ("save", given)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(TypeError, match="to_html: panel is given, expected only layer"):
        session.to_html(panel="matrix")


def test_a_page_of_arrays(page, rng):
    q = rng.normal(size=(1, 2, 5, 8)).astype(np.float32)
    session = heed.Session.from_arrays(q, q, mask=heed.causal(), tokens="a b <b> d e".split())
    held = snapshot(session.to_html())
    assert [token["text"] for token in held["session"]["tokens"]] == ["a", "b", "<b>", "d", "e"]


def test_a_notebook_gets_the_page_in_a_frame(session, page):
    bundle = session._repr_mimebundle_()
    assert bundle["text/plain"] == repr(session)
    frame = bundle["text/html"]
    assert frame.startswith("<div><iframe srcdoc=") and "allow-same-origin" not in frame
    inner = html.unescape(frame[frame.index("='") + 2 : frame.index("' sandbox")])
    assert snapshot(inner)["session"]["tokens"]


def test_a_name_without_a_known_ending_is_refused(session, tmp_path):
    for name in ("x.pdf", "x"):
        with pytest.raises(ValueError, match="path is .*expected a name that ends in .html"):
            session.save(tmp_path / name)
    with pytest.raises(OSError, match="no-such"):
        session.save(tmp_path / "no-such/x.txt")
    assert list(tmp_path.iterdir()) == []


def test_a_picture_without_a_browser_says_what_to_install(session, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("HEED_BROWSER", raising=False)
    with pytest.raises(LookupError, match="svg is drawn by a browser.*html works without"):
        session.save(tmp_path / "x.svg")
    with pytest.raises(ValueError, match="theme is 'grey'"):
        session.save(tmp_path / "x.svg", theme="grey")
    with pytest.raises(ValueError, match="width is 100, expected 320 to 8192"):
        session.save(tmp_path / "x.png", width=100)


@pytest.mark.slow
@pytest.mark.skipif(not any(map(shutil.which, BROWSERS)), reason="skipped: there is no chromium")
def test_pictures_are_the_programs(session, page, tmp_path):
    asked = ("--layer", "2", "--head", "4", "--width", "1000", "--theme", "dark")
    said("look", SENTENCE, *asked, "-o", str(tmp_path / "theirs.svg"))
    session.save(tmp_path / "ours.svg", layer=2, head=4, width=1000, theme="dark")
    assert (tmp_path / "ours.svg").read_text() == (tmp_path / "theirs.svg").read_text()
    session.save(tmp_path / "ours.png", width=800)
    assert (tmp_path / "ours.png").read_bytes().startswith(b"\x89PNG")
    assert "look/L2.H4" in session.to_html(layer=2, head=4, who=5, to=3)  # after pictures, too
