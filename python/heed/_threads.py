"""How many threads heed computes with."""

from __future__ import annotations

from . import _core
from .errors import InvalidArgument, made


def thread_count() -> int:
    """Threads that calls use together: what was set, $HEED_THREADS, or the CPUs of this process."""
    return _core.thread_count()


def set_thread_count(count: int) -> None:
    """Sets it for the whole process; 0 returns to the default. Results do not depend on it."""
    if count < 0:
        raise made(InvalidArgument, argument="count", found=str(count), expected="0 or more")
    _core.set_thread_count(count)
