"""An interpreter that ends while threads of the script are in heed."""

from __future__ import annotations

import subprocess
import sys

import pytest

DAEMON = """
import sys, tempfile, threading, time, heed
model = heed.load()
begun = threading.Event()
folder = tempfile.TemporaryDirectory()
text = folder.name + "/text.txt"
with open(text, "w") as file:
    file.write("the cat sat on the mat. " * 100)
def work():
    while True:
        {work}
        begun.set()
threads = [threading.Thread(target=work, daemon=True) for _ in range({threads})]
for thread in threads:
    thread.start()
begun.wait()
print("ending", flush=True)
"""

DAEMONS = {
    "look": "model.look('The cat sat on the mat. ' * 30, cut='first').heads()",
    "generate": "model.generate('Once', n=50, stop_at_end=False).run()",
    "attention": "heed.attention(*[__import__('numpy').ones((1, 4, 1000, 64))] * 3)",
    "pages": "model.look('The cat sat.').to_text()",
    "train": "heed.train(folder=folder.name, data=text, steps=9000, width=16, heads=2, resume=True,"
    " on_step=lambda said: begun.set())",
}


@pytest.mark.parametrize("name", DAEMONS)
def test_an_interpreter_ends_while_threads_compute(name):
    code = DAEMON.format(work=DAEMONS[name], threads=1 if name == "train" else 3)
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "ending\n", "")


# Threads that lose the GIL again and again where C++ calls Python: between a computation and the
# exception that says its error, and in an array that says in Python where its memory is.
CALLED_BACK = """
import sys, threading, heed, numpy as np
sys.setswitchinterval(1e-6)
class Shared:
    def __init__(self, array):
        self.array = array
    def __dlpack__(self, **settings):
        return self.array.__dlpack__()
    def __dlpack_device__(self):
        return self.array.__dlpack_device__()
{arrays}
begun = threading.Event()
def work():
    while True:
        try:
            heed.attention(*arrays)
        except (ValueError, RuntimeError):
            pass
        begun.set()
for _ in range(8):
    threading.Thread(target=work, daemon=True).start()
begun.wait()
"""

ARRAYS = {
    "errors": "arrays = [np.ones((1, 1, 2, size)) for size in (1, 2, 3)]",
    "shared": "arrays = [Shared(np.ones((1, 1, 2, 4), np.float32)) for _ in range(3)]",
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_interpreter_ends_while_threads_are_called_back(name):
    code = CALLED_BACK.format(arrays=ARRAYS[name])
    for _ in range(5):  # each crashed more often than not
        ended = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
        )
        assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr
