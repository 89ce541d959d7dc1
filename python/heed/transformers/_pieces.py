"""Finds the bytes that each token adds to a text."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from ..errors import mistyped

_WINDOW = 4
"""The number of tokens before a token that are decoded with it, instead of the whole text."""
_PARTS = ("image_processor", "feature_extractor", "image_mean", "sampling_rate")
"""Attributes by which processors of images and of sound are recognised."""
_BYTE = re.compile("<0x([0-9A-F]{2})>")  # of vocabularies that spell rare characters in bytes


def pieces(tokenizer: Any, ids: list[int]) -> list[bytes]:
    """Returns the bytes of each token, which together spell the text: ``" cat"`` for ``"Ġcat"``,
    for ``"▁cat"``, and for ``"cat"`` of a vocabulary of words. For special tokens these are their
    names."""
    names = tokenizer.convert_ids_to_tokens(ids)
    special = set(getattr(tokenizer, "all_special_ids", ()))
    letters = _letters() if _is_byte_level(tokenizer) else None
    found = []
    for at, (id, name) in enumerate(zip(ids, names)):
        if id in special:
            found.append(str(name).encode())
        elif letters is not None and all(letter in letters for letter in name):
            found.append(bytes(letters[letter] for letter in name))
        elif (byte := _BYTE.fullmatch(str(name))) is not None:
            found.append(bytes([int(byte[1], 16)]))
        else:
            found.append(_added(tokenizer, ids[max(0, at - _WINDOW) : at + 1]).encode())
    return found


def tokenizer_of(given: Any, op: str = "watch") -> Any:
    """Returns a tokenizer, or the tokenizer of a processor; None if it has none."""
    own = getattr(given, "tokenizer", given)
    if own is None or hasattr(own, "convert_ids_to_tokens"):
        return own
    if any(hasattr(given, name) for name in _PARTS):
        return None
    raise mistyped(op, "tokenizer", given, "a tokenizer or a processor of transformers, or None")


def _added(tokenizer: Any, ids: list[int]) -> str:
    """Returns what the last id adds to the text of the ids before it. Names of tokens do not show
    where spaces are ("##ly" joins, "cat" is a word), but the tokenizer's decoder knows."""
    before, after = _decoded(tokenizer, ids[:-1]), _decoded(tokenizer, ids)
    return after[len(before) :] if after.startswith(before) else after.removeprefix(" ")


def _decoded(tokenizer: Any, ids: list[int]) -> str:
    if not hasattr(tokenizer, "decode"):
        return "".join(f" {each}" for each in tokenizer.convert_ids_to_tokens(ids))
    return tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)


def _is_byte_level(tokenizer: Any) -> bool:
    if hasattr(tokenizer, "byte_decoder"):
        return True
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return "ByteLevel(" in repr(getattr(backend, "decoder", None))


@cache
def _letters() -> dict[str, int]:
    """Returns the byte of each letter in GPT-2's code: printable bytes are themselves, the others
    are letters from U+0100 on, in ascending order."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {chr(byte): byte for byte in printable}
    return letters | {chr(256 + at): byte for at, byte in enumerate(others)}
