"""Arguments that come from Python alone."""

from __future__ import annotations

from operator import index
from typing import Any

from .errors import WrongType, made, refused


def whole(op: str, argument: str, number: Any, least: int | None = None) -> int:
    """A whole number."""
    try:
        value = index(number)
    except TypeError:
        found = f"a {type(number).__name__}"
        raise made(
            WrongType, op=op, argument=argument, found=found, expected="a whole number"
        ) from None
    if least is not None and value < least:
        raise refused(op, argument, value, f"at least {least}")
    return value


def whole_if_given(op: str, argument: str, number: Any, least: int | None = None) -> int | None:
    return None if number is None else whole(op, argument, number, least)
