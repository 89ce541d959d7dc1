"""heed inside a Python process: threads, forks, Ctrl-C."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import PATIENCE, wait_for_a_step

import heed


def arrays(length, dtype=np.float32):
    rng = np.random.default_rng(3)
    return [rng.normal(size=(1, 2, length, 64)).astype(dtype) for _ in range(3)]


def test_other_threads_run_while_it_computes():
    """As often as it takes: on a busy machine this thread may not be woken during a call."""
    q, k, v = arrays(2048, np.float64)
    counted = 0
    stop = threading.Event()

    def count():
        nonlocal counted
        while not stop.wait(0.001):
            counted += 1

    worker = threading.Thread(target=count)
    worker.start()
    most = 0
    for _ in range(1000):
        before = counted
        heed.attention(q, k, v)
        most = max(most, counted - before)
        if most > 3:
            break
    stop.set()
    worker.join()
    assert most > 3


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
    for count in (-1, 4097, 99999):
        with pytest.raises(ValueError, match=f"count is {count}, expected 1 to 4096, or 0 for the"):
            heed.set_thread_count(count)
    assert heed.thread_count() == before
    with pytest.raises(TypeError, match="count is a str, expected a whole number"):
        heed.set_thread_count("two")


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
            assert queue.get(timeout=PATIENCE) == wanted
            child.join(PATIENCE)
            assert child.exitcode == 0
    finally:
        stop.set()
        worker.join()


CTRL_C = """
import signal, sys, time, heed, numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
rng = np.random.default_rng(0)
q = rng.normal(size=(1, {heads}, {length}, 64))
try:
    print("computing", flush=True)
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


def cpu_seconds(child):
    """The state of a running process."""
    with open(f"/proc/{child.pid}/stat") as file:
        user, system = file.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_ends_a_long_call(name):
    code = CTRL_C.format(call=CALLS[name], heads=64, length=6000)
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "computing\n"
    before = cpu_seconds(child)
    while cpu_seconds(child) < before + 0.5:
        time.sleep(0.01)
    sent = cpu_seconds(child)
    child.send_signal(signal.SIGINT)
    assert child.stdout.read() == "interrupted\nTrue\n"
    _, status, used = os.wait4(child.pid, 0)
    assert status == 0
    assert used.ru_utime + used.ru_stime - sent < 5  # not of the clock: the machine may be busy


def test_a_signals_handler_that_does_not_raise_changes_nothing():
    q, k, v = arrays(1024, np.float64)
    wanted = heed.attention(q, k, v)
    calls = []
    before = signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    try:
        while len(calls) < 5:
            assert np.array_equal(heed.attention(q, k, v), wanted)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


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


# --- sessions ------------------------------------------------------------------------------------

LONG = "The king had a daughter and a dog. " * 12


def test_threads_look_at_once(tales):
    wanted = np.asarray(tales.look(LONG, cut="first").weights)
    found = []

    def look():
        session = tales.look(LONG, cut="first")
        found.append(np.array_equal(np.asarray(session.weights), wanted))
        found.append(len(session.heads()) == 36 and "Heads" in repr(session))

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
        assert queue.get(timeout=PATIENCE) == np.asarray(session.weights[0, 0]).tobytes()
        assert queue.get(timeout=PATIENCE) == session.to_json()
        child.join(PATIENCE)
        assert child.exitcode == 0
    finally:
        stop.set()
        worker.join()


TRAINING = """
import signal, sys, heed
signal.signal(signal.SIGINT, signal.default_int_handler)
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
    wait_for_a_step(folder, child)
    child.send_signal(signal.SIGINT)
    assert child.stdout.read() == "interrupted\n" and child.wait(PATIENCE) == 0
    assert list(folder.glob("checkpoint-*.safetensors"))
