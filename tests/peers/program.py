"""Runs heed beside its peers."""

import json
import pathlib
import subprocess
import tempfile


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True)


def heed(program, *arguments):
    """What heed prints. A failure shows the command, heed's message and the checks that failed."""
    done = run(program, *arguments)
    failed = [line for line in done.stdout.splitlines() if line.startswith("failed") or " unknown" in line]
    assert done.returncode == 0, "\n".join([f"heed {' '.join(map(str, arguments))}: {done.stderr.strip()}", *failed])
    return done.stdout


def heed_array(program, model, what, *text):
    """The weights or the logits of a text, as NumPy reads them."""
    import numpy

    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "array.npy"
        heed(program, "look", *text, "--model", model, "--format", "npy", "--what", what, "-o", path)
        return numpy.load(path)


def heed_tokens(program, texts, *what):
    """What `heed tokenize` finds in each text."""
    with tempfile.TemporaryDirectory() as scratch:
        lines = pathlib.Path(scratch) / "lines"
        lines.write_text("".join(json.dumps(text) + "\n" for text in texts))
        found = heed(program, "tokenize", *what, "--lines", lines, "--json")
        return [json.loads(line) for line in found.split("\n") if line]


def joined(ids):
    """Ids as the command line takes them."""
    return ",".join(map(str, ids))
