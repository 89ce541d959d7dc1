"""Checks of arguments that only the Python interface has."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from math import isfinite
from operator import index
from typing import Any

from .errors import mistyped, out_of_range, refused


def flag(op: str, argument: str, given: Any) -> bool:
    """Returns a flag as a bool; takes NumPy's bool too. Raises WrongType for anything else."""
    if isinstance(given, bool) or type(given).__name__ in ("bool", "bool_"):
        return bool(given)
    raise mistyped(op, argument, given, "True or False")


def whole(op: str, argument: str, number: Any, least: int | None = None) -> int:
    """Returns a whole number as an int. Raises WrongType for other types, and InvalidArgument for a
    number below ``least``."""
    try:
        value = index(number)
    except TypeError:
        raise mistyped(op, argument, number, "a whole number") from None
    if least is not None and value < least:
        raise refused(op, argument, value, f"at least {least}")
    return value


def whole_if_given(op: str, argument: str, number: Any, least: int | None = None) -> int | None:
    return None if number is None else whole(op, argument, number, least)


def number(op: str, argument: str, given: Any) -> float:
    """Returns a finite number as a float; raises an error for anything else."""
    try:
        found = float(given)
    except (TypeError, ValueError):
        raise mistyped(op, argument, given, "a number") from None
    if not isfinite(found):
        raise refused(op, argument, found, "a finite number")
    return found


def below(op: str, argument: str, number: Any, count: int) -> int:
    """Returns a whole number from 0 to ``count - 1``."""
    value = whole(op, argument, number)
    if not 0 <= value < count:
        raise out_of_range(op, argument, value, f"0 to {count - 1}")
    return value


def index_of(op: str, argument: str, number: Any, count: int, what: str = "") -> int:
    """Returns an index from 0 to ``count - 1``; ``number`` may count from the end, as -1 does.
    ``what`` follows the range in the error."""
    value = whole(op, argument, number)
    if not -count <= value < count:
        raise out_of_range(op, argument, value, f"{-count} to {count - 1}{what}")
    return value % count


def token_place(op: str, argument: str, number: Any, count: int) -> int:
    return index_of(op, argument, number, count, ", a token of the text")


def one_of(given: Any, names: Iterable[str]) -> str:
    """Returns the expected names for an error, the nearest to the given one first."""
    names = list(names)
    nearest = get_close_matches(str(given), names, 1)
    said = ", ".join(names)
    return f"{nearest[0]}, or another of {said}" if nearest else f"one of {said}"
