"""The number of threads that heed computes with."""

from __future__ import annotations

from . import _core
from ._checks import whole
from .errors import refused


def thread_count() -> int:
    """Returns the number of threads that all calls share: the number that was set, else
    $HEED_THREADS, else the CPUs that this process may use."""
    return _core.thread_count()


def set_thread_count(count: int) -> None:
    """Sets the number of threads for the whole process, 1 to 4096; 0 restores the default. Results
    do not depend on it."""
    number = whole("", "count", count)
    if not 0 <= number <= _core.most_threads:
        raise refused("", "count", number, f"1 to {_core.most_threads}, or 0 for the default")
    _core.set_thread_count(number)
