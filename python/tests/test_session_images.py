"""Images whose patches are tokens of a session."""

from __future__ import annotations

import base64
import io
import json
import pickle
import re
import struct
import sys
import zlib

import numpy as np
import pytest
from conftest import peer

import heed


def png(pixels):
    """The bytes of a PNG of pixels [H, W, 3]."""

    def chunk(kind, data):
        crc = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + crc

    height, width = pixels.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    parts = chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(lines)), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


PNG = png(np.arange(0, 240, 20, dtype=np.uint8).reshape(2, 2, 3))
WORDS = ["a", " cat", "?", "?", "?", "?", " sat"]


def weights_of(rng, queries, keys):
    weights = rng.random((1, 2, queries, keys)).astype(np.float32)
    return weights / weights.sum(-1, keepdims=True)


def image_of(**changed):
    return heed.ImagePatches(
        **{"tokens": [2, 3, 4, 5], "rows": 2, "columns": 2, "picture": PNG, **changed}
    )


@pytest.fixture
def session(rng):
    return heed.Session.from_weights([weights_of(rng, 7, 7)], WORDS, images=[image_of()])


def test_patches_are_named_by_their_cells(session):
    assert [token.text for token in session.tokens[1:4]] == [" cat", " im0 r0 c0", " im0 r0 c1"]
    assert session.text == "a cat sat"
    assert session.images == [image_of()]
    assert session.row("im0 r1 c0").query == 4


def test_every_way_to_a_session_takes_images(rng):
    q = rng.normal(size=(1, 2, 7, 4)).astype(np.float32)
    _, seen = heed.attention(q, q, q, seen=True)
    image = image_of(name="cat")
    for session in (
        heed.Session.from_arrays(q, q, tokens=WORDS, images=image),
        heed.Session.from_seen([seen], tokens=WORDS, images=[image]),
        pickle.loads(pickle.dumps(heed.Session.from_arrays(q, q, images=[image]))),
    ):
        assert session.images == [image]
        assert session.tokens[5].text == " im0 r1 c1"
    assert heed.Session.from_arrays(q, q).images == []


def test_scores_of_heads_say_how_much_goes_to_images(session):
    weights = np.asarray(session.weights)[0]
    outside = weights[:, [0, 1, 6]][..., 2:6]
    heads = session.heads()
    np.testing.assert_allclose(heads["image"], outside.sum(-1).mean(-1), rtol=1e-5)
    cells = outside / outside.sum(-1, keepdims=True)
    spread = np.exp(-(cells * np.log(cells)).sum(-1)) / 4
    np.testing.assert_allclose(heads["image_spread"], spread.mean(-1), rtol=1e-5)
    assert "Heads on images" in session.to_text()


def test_scores_of_images_are_absent_without_images(rng):
    session = heed.Session.from_weights([weights_of(rng, 7, 7)])
    assert "image" not in session.heads().columns
    assert "Heads on images" not in session.to_text()


def test_a_saved_page_holds_the_images(session):
    try:
        page = session.to_html()
    except heed.errors.Unsupported as error:
        pytest.skip(f"skipped: {error}")
    data = json.loads(re.search(r'id="heed-snapshot">(.*?)</script>', page, re.DOTALL)[1])
    (image,) = data["session"]["images"]
    assert image["picture"] == "data:image/png;base64," + base64.b64encode(PNG).decode()
    assert (image["rows"], image["columns"], image["tokens"]) == (2, 2, [2, 3, 4, 5])
    assert [score["name"] for score in data["about"]["scores"] if "image" in score["name"]] == [
        "image", "image_spread"]  # fmt: skip
    assert "img-src blob: data:" in page


def test_a_cross_attention_has_images_among_its_keys(rng):
    session = heed.Session.from_weights(
        {"cross": [weights_of(rng, 3, 6)]}, ["x", " y", " z"],
        images=[image_of(), image_of(tokens=[0], rows=1, columns=1, of="queries", name="q")],
    )  # fmt: skip
    assert [token.text for token in session.tokens] == [" im1 c0", " y", " z"]
    assert session.key_tokens[5].text == " im0 r1 c1"


BAD = {
    "outside": (dict(tokens=[2, 3, 4, 7]), r"images\[0\].tokens\[3\] is 7, expected -1, or 0 to 6"),
    "negative": (dict(tokens=[2, 3, -2, 5]), r"images\[0\].tokens\[2\] is -2, expected -1, or"),
    "twice": (dict(tokens=[2, 3, 4, 2]), r"tokens\[3\] is 2, expected a token of no other cell"),
    "grid": (dict(rows=3), "tokens is a list of 4, expected 3 x 2, one per cell"),
    "rows": (dict(rows=0), "rows is 0, expected at least 1"),
    "of": (dict(of="text"), "of is 'text', expected \"keys\", \"queries\" or \"both\""),
    "no format": (dict(picture=b"GIF89a"), "picture is 6 bytes of another format, expected a PNG"),
    "shape": (dict(picture=np.ones((2, 2, 4))), r"picture is \[2, 2, 4\], expected \[H, W\] or"),
    "range": (dict(picture=np.full((2, 2), 2.5)), "picture is from 2.5 to 2.5, expected 0 to 1"),
    "no number": (dict(picture=np.full((2, 2), np.nan)), "expected 0 to 1"),
    "levels": (dict(picture=np.ones((2, 2), int)), "picture is of int64, expected uint8"),
}


@pytest.mark.parametrize("name", BAD)
def test_images_that_do_not_fit(name, rng):
    changed, message = BAD[name]
    if name in ("shape", "range", "no number", "levels"):
        peer("PIL")
    with pytest.raises(ValueError, match=message):
        heed.Session.from_weights([weights_of(rng, 7, 7)], images=[image_of(**changed)])


def test_what_is_not_an_image(rng):
    weights = [weights_of(rng, 7, 7)]
    with pytest.raises(TypeError, match=r"images\[0\] is a str, expected heed.ImagePatches"):
        heed.Session.from_weights(weights, images=["cat"])
    with pytest.raises(TypeError, match="tokens is of float64, expected whole numbers"):
        image_of(tokens=[2.0, 3, 4, 5])
    with pytest.raises(TypeError, match="columns is a float, expected a whole number"):
        image_of(columns=2.0)
    image = image_of(tokens=[-1, -1, -1, 0])
    with pytest.raises(ValueError, match="images is a list of 65, expected at most 64"):
        heed.Session.from_weights(weights, images=[image] * 65)


def test_pictures_are_shrunk_to_512_pixels(rng):
    Image = peer("PIL.Image")
    pixels = rng.integers(0, 255, (300, 1200, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    for picture in (pixels, pixels / 255, Image.fromarray(pixels), file.getvalue()):
        kept = Image.open(io.BytesIO(image_of(picture=picture).picture))
        assert kept.size == (512, 128) and kept.format in ("PNG", "JPEG")


def test_small_pictures_keep_every_pixel(rng):
    Image = peer("PIL.Image")
    grey = rng.integers(0, 255, (8, 8), np.uint8)
    kept = Image.open(io.BytesIO(image_of(picture=grey).picture))
    assert kept.format == "PNG"
    np.testing.assert_array_equal(np.asarray(kept), grey)
    assert image_of().picture == PNG


def test_without_pillow_bytes_alone_are_taken(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert image_of().picture == PNG
    with pytest.raises(heed.errors.Unsupported, match="picture is a ndarray, expected the bytes"):
        image_of(picture=np.ones((2, 2)))
