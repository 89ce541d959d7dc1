"""How many threads heed computes with."""

from __future__ import annotations

from . import _core
from ._checks import whole
from .errors import refused


def thread_count() -> int:
    """Threads that calls use together: what was set, $HEED_THREADS, or the CPUs of this process."""
    return _core.thread_count()


def set_thread_count(count: int) -> None:
    """Sets it for the whole process, 1 to 4096; 0 returns to the default. Results do not depend on
    it."""
    number = whole("", "count", count)
    if not 0 <= number <= _core.most_threads:
        raise refused("", "count", number, f"1 to {_core.most_threads}, or 0 for the default")
    _core.set_thread_count(number)
