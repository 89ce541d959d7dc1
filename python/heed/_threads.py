"""How many threads heed computes with."""

from __future__ import annotations

from . import _core
from ._checks import whole


def thread_count() -> int:
    """Threads that calls use together: what was set, $HEED_THREADS, or the CPUs of this process."""
    return _core.thread_count()


def set_thread_count(count: int) -> None:
    """Sets it for the whole process; 0 returns to the default. Results do not depend on it."""
    _core.set_thread_count(whole("", "count", count, least=0))
