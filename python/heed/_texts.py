"""Checks texts for the library, and converts byte offsets from it to characters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .errors import InvalidArgument, made, mistyped


def checked(text: Any, argument: str, op: str = "") -> str:
    """Returns the text; raises an error unless it is a str that UTF-8 can encode."""
    if not isinstance(text, str):
        raise mistyped(op, argument, text, "a str")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        found = f"not valid Unicode: character {error.start} is half of a surrogate pair"
        raise made(InvalidArgument, op=op, argument=argument, found=found) from None
    return text


def checked_if_given(text: Any, argument: str, op: str = "") -> str | None:
    return None if text is None else checked(text, argument, op)


def in_characters(text: str, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Converts spans of bytes [begin, end) in the text's UTF-8 to characters: ``text[begin:end]``.

    A token that is a part of a character gets the whole character.
    """
    data = np.frombuffer(text.encode(), np.uint8)
    begun = np.concatenate([[0], np.cumsum((data & 0xC0) != 0x80)])  # characters before each byte
    return [_span(begun, begin, end) for begin, end in spans]


def _span(begun: np.ndarray, begin: int, end: int) -> tuple[int, int]:
    last = len(begun) - 1
    first = int(begun[min(begin + 1, last)]) - 1 if begin < last else int(begun[last])
    return first, int(begun[end]) if end > begin else first
