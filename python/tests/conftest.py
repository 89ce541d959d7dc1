"""What several tests share."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import heed


PATIENCE = 300  # seconds; a machine may be busy with other things


def wait_for_a_step(folder: Path, child: subprocess.Popen) -> None:
    """Until a training that runs has written the losses of a step."""
    losses = folder / "loss.csv"
    while not losses.exists() or losses.read_text().count("\n") < 2:
        assert child.poll() is None, "the training has ended"
        time.sleep(0.05)


def pytest_addoption(parser):
    parser.addoption(
        "--long", action="store_true", help="as many random problems as a release needs"
    )


@pytest.fixture
def long(request) -> bool:
    return request.config.getoption("--long")


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def qkv(rng):
    """q [2, 4, 5, 8] over k [2, 2, 7, 8] and v [2, 2, 7, 6]: grouped heads, Tq != Tk, Dv != D."""
    shapes = (2, 4, 5, 8), (2, 2, 7, 8), (2, 2, 7, 6)
    return tuple(rng.normal(size=shape).astype(np.float32) for shape in shapes)


def peer(name: str) -> ModuleType:
    """A library beside which heed is tested. Without it the file is skipped; with $HEED_PEERS, as
    `./dev test --peers` sets it, it fails."""
    if os.environ.get("HEED_PEERS"):
        return importlib.import_module(name)
    return pytest.importorskip(name, reason=f"skipped: {name} is not installed")


@pytest.fixture(scope="session")
def page():
    """Skips where heed was built without its page."""
    try:
        heed.Session.from_weights([np.ones((1, 1, 1))]).to_html()
    except heed.errors.Unsupported as error:
        pytest.skip(f"skipped: {error}")


def snapshot(page: str) -> dict:
    """The data that a page holds."""
    begin = page.index('id="heed-snapshot">') + len('id="heed-snapshot">')
    return json.loads(page[begin : page.index("</script>", begin)])


def rows_of(table) -> list[dict]:
    return table.to_dict("records") if hasattr(table, "to_dict") else list(table)


def softmax(scores):
    """Over the last axis, in float64; 0 where every score is -inf."""
    scores = np.asarray(scores, np.float64)
    high = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(high), high, 0))
    total = weights.sum(-1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)


def formula(q, k, v, allowed=None, bias=None, scale=None, softcap=0.0):
    """Attention as its formula has it, in float64: (out, weights)."""
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    z = np.einsum("bhid,bhjd->bhij", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    z = softcap * np.tanh(z / softcap) if softcap else z
    z = z if bias is None else z + bias
    allowed = np.broadcast_to(True if allowed is None else allowed, z.shape)
    p = softmax(np.where(allowed, z, -np.inf))
    return np.einsum("bhij,bhjd->bhid", p, v), p


def program() -> Path:
    """The program `heed` of the same build: of the build tree, or the package's command."""
    build = Path(heed._core.__file__).resolve().parent.parent
    for place in (build / "heed", Path(sys.executable).parent / "heed"):
        if place.is_file():
            return place
    pytest.skip("skipped: the program heed is not built beside the extension")


def said(*arguments: str) -> str:
    """The output of the program."""
    ran = subprocess.run([program(), *arguments], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def real_model(name: str) -> Path:
    """A model that heed did not train, where this machine has it."""
    beside = Path(__file__).resolve().parents[3] / "shared/data"
    folder = Path(os.environ.get("HEED_SHARED_DATA", beside)) / "models" / name
    if not (folder / "config.json").is_file():
        pytest.skip(f"skipped: {folder} is not there ($HEED_SHARED_DATA names another place)")
    return folder


@pytest.fixture(scope="session")
def tales():
    return heed.load()


SENTENCE = "The cat sat on the mat because it was tired."


@pytest.fixture(scope="session")
def session(tales):
    return tales.look(SENTENCE)


@pytest.fixture
def llama():
    """A tiny Llama of transformers, for tests that have asked for it as a peer."""
    from architectures import DECODERS

    return DECODERS["llama"].made()


@pytest.fixture
def ids():
    from architectures import DECODERS

    return DECODERS["llama"].inputs()["input_ids"]
