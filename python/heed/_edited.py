"""What edits of attention name: layers, heads, words. Of heed's own models and of others."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ._checks import kind_of, whole
from .errors import InvalidArgument, NotFound, WrongType, made

Places = dict[int, list[int] | None]
"""The heads of each layer; None stands for all."""


def listed(given: Any) -> list[Any]:
    """Several values as a list, one value as a list of one."""
    if isinstance(given, (list, tuple, set, range)) or getattr(given, "ndim", 0) > 0:
        return [each.item() if getattr(each, "ndim", 1) == 0 else each for each in given]
    return [given]


def places_of(op: str, layers: Any, heads: Any) -> tuple[Places | None, list[int] | None]:
    """The heads of each layer, or None for all layers and their heads."""
    chosen = None if heads is None else listed(heads)
    if chosen is not None and not chosen:
        raise made(InvalidArgument, op=op, argument="heads", found="empty",
                   expected="numbers, or None for all")  # fmt: skip
    if chosen is not None and all(isinstance(each, (tuple, list)) for each in chosen):
        if layers is not None:
            raise made(InvalidArgument, op=op, argument="layers", found="given beside pairs",
                       expected="None, since each head has its layer")  # fmt: skip
        places: Places = {}
        for layer, head in chosen:
            of_layer = places.setdefault(whole(op, "heads", layer), [])
            of_layer.append(whole(op, "heads", head))
        return places, None
    chosen = None if chosen is None else sorted({whole(op, "heads", each) for each in chosen})
    if layers is None:
        return None, chosen
    numbers = [whole(op, "layer", each) for each in listed(layers)]
    if not numbers:
        raise made(InvalidArgument, op=op, argument="layers", found="empty",
                   expected="numbers, or None for all")  # fmt: skip
    return dict.fromkeys(numbers, chosen), None


def number(op: str, argument: str, given: Any) -> float:
    """A finite number."""
    try:
        found = float(given)
    except (TypeError, ValueError):
        raise made(WrongType, op=op, argument=argument, found=kind_of(given),
                   expected="a number") from None  # fmt: skip
    if not np.isfinite(found):
        raise made(InvalidArgument, op=op, argument=argument, found=str(found),
                   expected="a finite number")  # fmt: skip
    return found


def check_output(what: Any) -> None:
    if what != "output":
        raise made(InvalidArgument, op="patch", argument="what", found=repr(what),
                   expected='"output"')  # fmt: skip


def word_places(
    op: str, argument: str, word: str, pieces: list[bytes], where: str = ""
) -> list[int]:
    """The tokens of every occurrence of a word in the text that ``pieces`` spell."""
    text, ends = "", []
    for piece in pieces:
        text += piece.decode(errors="replace")
        ends.append(len(text))
    tokens = []
    for match in re.finditer(rf"(?<!\w){re.escape(word.strip())}(?!\w)", text):
        begins = [0, *ends[:-1]]
        tokens += [
            at for at, (begin, end) in enumerate(zip(begins, ends))
            if begin < match.end() and end > match.start()
        ]  # fmt: skip
    if not tokens:
        raise made(NotFound, op=op, argument=argument, found=repr(word),
                   expected=f"a word of the text{where}: {text.strip()[:200]!r}")  # fmt: skip
    return tokens
