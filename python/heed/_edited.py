"""Reads the layers, heads and words that edits of attention name, for all kinds of models."""

from __future__ import annotations

import re
from typing import Any

from ._checks import whole
from .errors import InvalidArgument, NotFound, made, mistyped, refused

Places = dict[int, list[int] | None]
"""The edited heads of each layer; None means all heads."""


def listed(given: Any) -> list[Any]:
    """Returns several values as a list, and a single value as a list of one."""
    if isinstance(given, (list, tuple, set, range)) or getattr(given, "ndim", 0) > 0:
        return [each.item() if getattr(each, "ndim", 1) == 0 else each for each in given]
    return [given]


def places_of(op: str, layers: Any, heads: Any) -> tuple[Places | None, list[int] | None]:
    """Returns the heads of each layer and None; or, for an edit of all layers, None and the heads
    in every layer (None: all)."""
    chosen = None if heads is None else listed(heads)
    if chosen is not None and not chosen:
        raise refused(op, "heads", "empty", "numbers, or None for all")
    if chosen is not None and all(isinstance(each, (tuple, list)) for each in chosen):
        if layers is not None:
            raise refused(op, "layers", "given beside pairs", "None, since each head has its layer")
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
        raise refused(op, "layers", "empty", "numbers, or None for all")
    return dict.fromkeys(numbers, chosen), None


def check_keys_or_queries(who: Any, to: Any) -> None:
    """Refuses a `remove` of every key from every query."""
    if who is None and to is None:
        raise made(
            InvalidArgument, op="remove", found="who and to are not given",
            expected="one of them; ablate removes a head's output",
        )  # fmt: skip


def check_output(what: Any) -> None:
    if what != "output":
        raise refused("patch", "what", repr(what), '"output"')


def word_places(
    op: str, argument: str, word: str, pieces: list[bytes], where: str = ""
) -> list[int]:
    """Returns the indices of the tokens in every occurrence of a word; ``pieces`` are the bytes of
    the text's tokens. Raises NotFound if the text lacks the word."""
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
