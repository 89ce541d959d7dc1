"""The command `heed` of an installed package."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import heed

COMMAND = Path(sys.executable).parent / "heed"
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("heed_program") is None,
    reason="skipped: the package is not installed with its program",
)


def test_types_came_with_the_package():
    package = Path(heed.__file__).parent
    assert (package / "py.typed").exists()
    assert "class Seen" in (package / "_core.pyi").read_text()


def test_the_notices_came_with_the_package():
    files = importlib.metadata.files("heed-attention") or []
    names = {file.name for file in files if "licenses" in file.parts}
    assert {"LICENSE", "THIRD_PARTY.md", "nanobind.txt", "robin_map.txt"} <= names


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False)


def test_it_is_of_the_same_version():
    assert heed.__version__ in run("--version").stdout


def test_it_finds_the_models_that_came_with_it():
    said = run("look", "The cat sat.")
    assert said.returncode == 0, said.stderr


def test_it_has_the_page(tmp_path):
    page = tmp_path / "page.html"
    assert run("look", "The cat sat.", "--format", "html", "-o", str(page)).returncode == 0
    assert page.stat().st_size > 50_000


def test_its_exit_status_comes_through():
    said = run("look", "--no-such-option")
    assert said.returncode == 2 and "--no-such-option" in said.stderr
