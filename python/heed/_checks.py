"""Checks of arguments that only the Python interface has."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from operator import index
from typing import Any

from .errors import WrongType, made, refused


def kind_of(value: Any) -> str:
    """The name of a value in errors: "a str", "an int"."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def flag(op: str, argument: str, given: Any) -> bool:
    """Returns a flag as a bool; takes NumPy's bool too. Raises WrongType for anything else."""
    if isinstance(given, bool) or type(given).__name__ in ("bool", "bool_"):
        return bool(given)
    raise made(
        WrongType, op=op, argument=argument, found=kind_of(given), expected="True or False"
    )


def whole(op: str, argument: str, number: Any, least: int | None = None) -> int:
    """Returns a whole number as an int. Raises WrongType for other types, and InvalidArgument for a
    number below ``least``."""
    try:
        value = index(number)
    except TypeError:
        raise made(
            WrongType, op=op, argument=argument, found=kind_of(number), expected="a whole number"
        ) from None
    if least is not None and value < least:
        raise refused(op, argument, value, f"at least {least}")
    return value


def whole_if_given(op: str, argument: str, number: Any, least: int | None = None) -> int | None:
    return None if number is None else whole(op, argument, number, least)


def one_of(given: Any, names: Iterable[str]) -> str:
    """Returns the expected names for an error, the nearest to the given one first."""
    names = list(names)
    nearest = get_close_matches(str(given), names, 1)
    said = ", ".join(names)
    return f"{nearest[0]}, or another of {said}" if nearest else f"one of {said}"
