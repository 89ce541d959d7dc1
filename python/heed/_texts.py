"""Texts on their way into the library, and places in them on their way out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ._checks import kind_of
from .errors import InvalidArgument, WrongType, made


def checked(text: Any, argument: str, op: str = "") -> str:
    """The text, which has to be a str that UTF-8 can hold."""
    if not isinstance(text, str):
        raise made(
            WrongType, op=op, argument=argument, found=kind_of(text), expected="a str"
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        found = f"not valid Unicode: character {error.start} is half of a surrogate pair"
        raise made(InvalidArgument, op=op, argument=argument, found=found) from None
    return text


def checked_if_given(text: Any, argument: str, op: str = "") -> str | None:
    return None if text is None else checked(text, argument, op)


def in_characters(text: str, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Bytes [begin, end) of the text's UTF-8 as characters: ``text[begin:end]``.

    A token that is a part of a character has the whole of it.
    """
    data = np.frombuffer(text.encode(), np.uint8)
    begun = np.concatenate([[0], np.cumsum((data & 0xC0) != 0x80)])  # characters before a byte
    return [_span(begun, begin, end) for begin, end in spans]


def _span(begun: np.ndarray, begin: int, end: int) -> tuple[int, int]:
    last = len(begun) - 1
    first = int(begun[min(begin + 1, last)]) - 1 if begin < last else int(begun[last])
    return first, int(begun[end]) if end > begin else first
