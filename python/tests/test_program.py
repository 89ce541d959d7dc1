"""The command `heed` of an installed package: the program, inside of the interpreter's process."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from conftest import PATIENCE, wait_for_a_step

import heed

COMMAND = Path(sys.executable).parent / "heed"
VERBS = ("look", "serve", "generate", "train", "attend", "explain", "check", "bench", "tokenize",
         "models", "convert", "embed", "evaluate")  # fmt: skip
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("heed_program") is None,
    reason="skipped: the package is not installed with its program",
)


def run(*arguments: str, **settings) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *arguments], capture_output=True, text=True, check=False, **settings
    )


# --- what came with it ---------------------------------------------------------------------------


def test_types_came_with_the_package():
    package = Path(heed.__file__).parent
    assert (package / "py.typed").exists()
    assert "class Seen" in (package / "_core.pyi").read_text()


def test_the_notices_came_with_the_package():
    files = importlib.metadata.files("heed-attention") or []
    names = {file.name for file in files if "licenses" in file.parts}
    assert {"LICENSE", "THIRD_PARTY.md", "nanobind.txt", "robin_map.txt"} <= names
    assert "Highway" in run("--licences").stdout


def test_it_is_of_the_same_version():
    assert run("--version").stdout == f"heed {heed.__version__}\n"


def test_it_finds_the_models_that_came_with_it():
    said = run("look", "The cat sat.")
    assert said.returncode == 0, said.stderr


def test_it_has_the_page(tmp_path):
    page = tmp_path / "page.html"
    assert run("look", "The cat sat.", "--format", "html", "-o", str(page)).returncode == 0
    assert page.stat().st_size > 50_000


# --- every command -------------------------------------------------------------------------------


def test_these_are_its_commands():
    listed = re.findall(r"^  ([a-z]+) ", run("--help").stdout, re.M)
    assert sorted(listed) == sorted(VERBS)
    assert run().stdout == run("--help").stdout


@pytest.mark.parametrize("verb", VERBS)
def test_a_command_tells_its_arguments(verb):
    said = run(verb, "--help")
    assert (said.returncode, said.stderr) == (0, "")
    assert f"Usage: heed {verb}" in said.stdout


def test_it_generates():
    said = run("generate", "Once upon a time", "-n", "5", "--json")
    assert len(json.loads(said.stdout)["tokens"]) == 5
    ours = heed.load().generate("Once upon a time", n=5).run()
    assert json.loads(said.stdout)["text"] == ours


def test_it_is_a_module_too():
    said = subprocess.run([sys.executable, "-m", "heed", "tokenize", "The cat.", "--json"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert said.stdout == run("tokenize", "The cat.", "--json").stdout


def test_arguments_are_bytes():
    text = b"caf\xc3\xa9 \xff"
    said = subprocess.run([COMMAND, "tokenize", text], capture_output=True, check=False)
    assert said.returncode == 2 and b"UTF-8" in said.stderr
    said = run("tokenize", "café", "--json")
    assert json.loads(said.stdout)["tokens"][-1]["end"] == len("café".encode())


# --- how it ends ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, status, line",
    [(("look", "--no-such-option"), 2, "--no-such-option"),
     (("no-such-command",), 2, "unknown command"),
     (("look", "The cat.", "--model", "nowhere"), 2, "nowhere"),
     (("look", "The cat.", "--format", "npy", "-o", "/dev/full"), 1, "/dev/full")],
)  # fmt: skip
def test_its_exit_status_comes_through(arguments, status, line):
    said = run(*arguments)
    assert said.returncode == status
    assert line in said.stderr and said.stderr.count("\n") == 1 and "Traceback" not in said.stderr


def test_a_reader_that_leaves_ends_it_quietly():
    writer = f"{COMMAND} bench --help; {COMMAND} look 'The cat sat.' --rows all"
    said = subprocess.run(["bash", "-c", f"({writer}) | head -1; exit ${{PIPESTATUS[0]}}"],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert said.stderr == "" and said.stdout.count("\n") == 1
    assert said.returncode in (0, 128 + signal.SIGPIPE)


def test_it_leaves_when_nobody_reads():
    endless = subprocess.Popen(
        [COMMAND, "generate", "Once", "-n", "250", "--temperature", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    endless.stdout.read(1)
    endless.stdout.close()
    assert endless.wait(PATIENCE) == -signal.SIGPIPE and endless.stderr.read() == b""
    endless.stderr.close()


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_stopped(sent):
    server = subprocess.Popen([COMMAND, "serve", "--port", "0", "--text", "The cat sat."],
                              stdout=subprocess.PIPE, text=True)  # fmt: skip
    try:
        address = re.search(r"http://\S+", server.stdout.readline()).group()
        with urllib.request.urlopen(address, timeout=PATIENCE) as page:
            assert page.status == 200 and b"<html" in page.read().lower()
        server.send_signal(sent)
        assert server.wait(PATIENCE) in (0, 130)
    finally:
        server.kill()
        server.stdout.close()


def test_ctrl_c_leaves_a_checkpoint_of_a_training(tmp_path):
    text, folder = tmp_path / "text.txt", tmp_path / "run"
    text.write_text("The king had a daughter and a dog. " * 300)
    train = ("train", "--data", str(text), "-o", str(folder), "--layers", "1", "--width", "32")
    child = subprocess.Popen([COMMAND, *train, "--steps", "100000"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    wait_for_a_step(folder, child)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=PATIENCE)
    assert child.returncode == 130
    files = folder.glob("checkpoint-*.safetensors")
    kept = [int(re.search(r"\d+", file.name)[0]) for file in files]
    written = np.genfromtxt(folder / "loss.csv", delimiter=",", names=True, ndmin=1)
    assert max(kept) == written["step"][-1] > 0  # of the last step, not of the last round number
