"""Finds words and positions in token ids."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .._checks import token_place, whole
from .._edited import listed, word_places
from ..errors import InvalidArgument, made, refused
from . import _pieces


class Finder:
    """Finds words and positions in token ids."""

    def __init__(self, op: str, argument: str, tokenizer: Any):
        self._op, self._argument, self._tokenizer = op, argument, tokenizer

    def places(self, given: Any, ids: Tensor) -> Tensor:
        """Returns where the words and positions are in ``ids`` [B, T], as [B, T] of bool."""
        found = torch.zeros(ids.shape, dtype=torch.bool, device="cpu")
        for each in listed(given):
            if isinstance(each, str):
                for sequence, of_one in enumerate(ids.tolist()):
                    found[sequence, self._word(each, of_one, sequence)] = True
            else:
                found[:, token_place(self._op, self._argument, each, ids.shape[1])] = True
        return found

    def _word(self, word: str, ids: list[int], sequence: int) -> list[int]:
        """Returns the tokens of every occurrence of a word."""
        if self._tokenizer is None:
            raise refused(self._op, self._argument, repr(word),
                          "positions, since this text has no tokens")  # fmt: skip
        where = f" of sequence {sequence}" if sequence else ""
        pieces = _pieces.pieces(self._tokenizer, ids)
        return word_places(self._op, self._argument, word, pieces, where)


def check_words(
    op: str, argument: str, given: Any, tokenizer: Any, given_to: str = "edit"
) -> None:  # fmt: skip
    for each in [] if given is None else listed(given):
        if isinstance(each, str):
            if tokenizer is None:
                raise made(
                    InvalidArgument, op=op, argument=argument, found=repr(each),
                    expected=f"a position, or {given_to}(model, tokenizer) to find words",
                )  # fmt: skip
            if not each.strip():
                raise refused(op, argument, repr(each), "a word")
        else:
            whole(op, argument, each)
    if given is not None and not listed(given):
        raise refused(op, argument, "empty", "words or positions, or None for all")
