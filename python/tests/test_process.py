"""heed inside a Python process: threads, forks, Ctrl-C, memory."""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import heed


def arrays(length, dtype=np.float32):
    rng = np.random.default_rng(3)
    return [rng.normal(size=(1, 2, length, 64)).astype(dtype) for _ in range(3)]


def test_other_threads_run_while_it_computes():
    q, k, v = arrays(2048, np.float64)
    counted = 0
    done = threading.Event()

    def compute():
        heed.attention(q, k, v)
        done.set()

    worker = threading.Thread(target=compute)
    worker.start()
    while not done.is_set():
        counted += 1
        time.sleep(0.001)
    worker.join()
    assert counted > 3


def test_threads_at_once_get_the_bits_of_one():
    q, k, v = arrays(200)
    wanted = heed.attention(q, k, v)
    found = []

    def compute():
        for _ in range(20):
            found.append(np.array_equal(heed.attention(q, k, v), wanted))

    workers = [threading.Thread(target=compute) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [True] * 80


def test_the_number_of_threads_changes_no_bit():
    q, k, v = arrays(300)
    before = heed.thread_count()
    try:
        outs = []
        for count in (1, 2, 3):
            heed.set_thread_count(count)
            assert heed.thread_count() == count
            outs.append(heed.attention(q, k, v))
    finally:
        heed.set_thread_count(0)
    assert heed.thread_count() == before
    assert np.array_equal(outs[0], outs[1]) and np.array_equal(outs[0], outs[2])
    with pytest.raises(ValueError, match="count is -1"):
        heed.set_thread_count(-1)


def _in_a_child(queue):
    q, k, v = arrays(300)
    queue.put(float(heed.attention(q, k, v).sum()))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_that_was_forked_while_a_thread_computes_computes_too():
    q, k, v = arrays(300)
    wanted = float(heed.attention(q, k, v).sum())
    large = arrays(1500, np.float64)
    stop = threading.Event()

    def compute():
        while not stop.is_set():
            heed.attention(*large)

    worker = threading.Thread(target=compute)
    worker.start()
    try:
        context = multiprocessing.get_context("fork")
        for _ in range(3):
            queue = context.Queue()
            child = context.Process(target=_in_a_child, args=(queue,))
            child.start()
            assert queue.get(timeout=60) == wanted
            child.join(60)
            assert child.exitcode == 0
    finally:
        stop.set()
        worker.join()


CTRL_C = """
import signal, sys, time, heed, numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
rng = np.random.default_rng(0)
q = rng.normal(size=(1, {heads}, {length}, 64))
print("computing", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(np.isfinite(heed.attention(q[:, :, :5], q[:, :, :5], q[:, :, :5])).all())
"""

CALLS = {
    "forward": "heed.attention(q, q, q)",
    "backward": "heed.attention(q, q, q, seen=True)[1].backward(q)",
    "observed": "[heed.Seen.of(q, q, lse=np.ones(q.shape[:3])).received() for _ in range(1000)]",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_ends_a_long_call(name):
    code = CTRL_C.format(call=CALLS[name], heads=64, length=6000)
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "computing\n"
    time.sleep(0.5)
    begun = time.monotonic()
    child.send_signal(signal.SIGINT)
    rest = child.stdout.read()
    took = time.monotonic() - begun
    assert rest == "interrupted\nTrue\n"
    assert child.wait() == 0
    assert took < 5


def test_a_signals_handler_that_does_not_raise_changes_nothing():
    q, k, v = arrays(1024, np.float64)
    wanted = heed.attention(q, k, v)
    calls = []
    before = signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    try:
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            assert np.array_equal(heed.attention(q, k, v), wanted)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert calls


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc to read memory from")
@pytest.mark.parametrize("what", ["plain", "seen", "errors", "masks"])
def test_10_000_calls_leak_nothing(what):
    q, k, v = (np.ones((1, 2, 16, 16), np.float32) for _ in range(3))
    keep = np.ones((16, 16), bool)

    def once():
        if what == "plain":
            heed.attention(q, k, v)
        elif what == "seen":
            _, seen = heed.attention(q, k, v, seen=True)
            seen.weights[0, 0, 0]
        elif what == "masks":
            heed.attention(q, k, v, mask=heed.keep(keep) & heed.causal(), scale=[1.0, 2.0])
        else:
            with pytest.raises(ValueError):
                heed.attention(q, k[..., :3], v)

    for _ in range(1000):
        once()
    gc.collect()
    before, references = resident(), sys.getrefcount(q)
    for _ in range(10_000):
        once()
    gc.collect()
    assert sys.getrefcount(q) == references
    assert resident() - before < 2_000_000  # a leak of one array of 2 KB a call would be 20 MB


def test_a_script_that_keeps_its_own_mask_ends_quietly(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import heed, numpy as np\n"
        "q = np.ones((1, 1, 4, 8))\n"
        "mask = heed.custom(lambda b, h, i, j: j <= i)\n"
        "out, seen = heed.attention(q, q, q, mask=mask, seen=True)\n"
    )
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_an_array_lives_as_long_as_what_looks_at_it():
    mask = heed.keep(np.tril(np.ones((64, 64), bool)))
    seen = heed.attention(*(x[:, :, :64].copy() for x in arrays(64)), mask=mask, seen=True)[1]
    del mask
    gc.collect()
    churn = [np.full((64, 64), np.nan) for _ in range(100)]
    rows = np.asarray(seen.weights).sum(-1)
    np.testing.assert_allclose(rows, 1, atol=1e-5)
    del churn


def test_memory_is_linear_in_the_length():
    """16,384 tokens: the weights alone would be 1 GB a head."""
    code = (
        "import heed, numpy as np, resource\n"
        "q = np.ones((1, 1, 16384, 8), np.float32)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "_, seen = heed.attention(q, q, q, mask=heed.band(100, 0), seen=True)\n"
        "seen.entropy(), seen.backward(q), seen.heatmap(64, 64)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    grown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(grown.stdout) < 100_000  # KB


# --- sessions ------------------------------------------------------------------------------------

LONG = "The king had a daughter and a dog. " * 12


def test_threads_look_at_once(tales):
    wanted = np.asarray(tales.look(LONG, cut="first").weights)
    found = []

    def look():
        session = tales.look(LONG, cut="first")
        found.append(np.array_equal(np.asarray(session.weights), wanted))
        found.append(len(session.heads()) == 24 and "Heads" in repr(session))

    workers = [threading.Thread(target=look) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [True] * 8


def _look_in_a_child(session, queue):
    queue.put(np.asarray(session.weights[0, 0]).tobytes())
    queue.put(heed.look(LONG, cut="first").to_json())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_the_session_too(tales):
    session = heed.look(LONG, cut="first")
    stop = threading.Event()

    def compute():
        while not stop.is_set():
            tales.look(LONG, cut="first").heads()

    worker = threading.Thread(target=compute)
    worker.start()
    try:
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        child = context.Process(target=_look_in_a_child, args=(session, queue))
        child.start()
        assert queue.get(timeout=60) == np.asarray(session.weights[0, 0]).tobytes()
        assert queue.get(timeout=60) == session.to_json()
        child.join(60)
        assert child.exitcode == 0
    finally:
        stop.set()
        worker.join()


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
    assert (ended.returncode, ended.stdout) == (0, "ending\n"), ended.stderr
    assert "terminate" not in ended.stderr and "Fatal" not in ended.stderr


TRAINING = """
import signal, sys, heed
signal.signal(signal.SIGINT, signal.default_int_handler)
print("computing", flush=True)
try:
    heed.train(folder=sys.argv[1], data=sys.argv[2], steps=100000, layers=2, width=64, block=32)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_ends_a_training_with_a_checkpoint(tmp_path):
    text, folder = tmp_path / "text.txt", tmp_path / "run"
    text.write_text(LONG * 20)
    child = subprocess.Popen([sys.executable, "-c", TRAINING, folder, text],
                             stdout=subprocess.PIPE, text=True)  # fmt: skip
    assert child.stdout.readline() == "computing\n"
    time.sleep(2)
    child.send_signal(signal.SIGINT)
    assert child.stdout.read() == "interrupted\n" and child.wait(60) == 0
    assert list(folder.glob("checkpoint-*.safetensors"))


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc to read memory from")
def test_sessions_leak_nothing(tales):
    def once():
        session = tales.look("The cat sat on the mat.")
        session.weights[0, 0], session.heads(), session.next(), session.to_json()
        tales.generate("Once", n=2).run()
        with pytest.raises(ValueError):
            session.row("dog")

    for _ in range(50):
        once()
    gc.collect()
    before = resident()
    for _ in range(500):
        once()
    gc.collect()
    assert resident() - before < 8_000_000  # a session of 7 tokens has 60 KB: all would be 30 MB
