"""Converts texts to token ids and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import _core
from ._checks import whole
from ._texts import checked, checked_if_given, in_characters


@dataclass(frozen=True)
class Encoding:
    """A text, or a pair of them, as tokens."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    """The characters of each token, ``text[begin:end]``; for a pair in the token's own text. A
    special token that was added has no characters: begin = end."""
    texts: list[int]
    """The text of each token: 0 or 1, or -1 for a special token that belongs to neither."""

    def __len__(self) -> int:
        return len(self.ids)


class Tokenizer:
    """The tokenizer of a model (``model.tokenizer``). For an encoder-decoder that is the tokenizer
    of its input, and ``model.target_tokenizer`` that of its output.

    >>> tokenizer = heed.load().tokenizer
    >>> tokenizer.decode(tokenizer.encode("The cat sat.").ids)
    'The cat sat.'
    """

    def __init__(self, model: _core.Model, target: bool = False):
        self._core = _core.Tokenizer(model, target)

    def encode(self, text: str, pair: str | None = None, *, special: bool = True) -> Encoding:
        """Returns the tokens of a text, or of two texts as one sequence.

        ``special`` adds the tokens that the model expects around a text.

        Raises
        ------
        TypeError, ValueError
            if the text is not a str, or contains half of a surrogate pair
        """
        text, pair = checked(text, "text"), checked_if_given(pair, "pair")
        ids, spans, texts = self._core.encode(text, pair, special)
        return Encoding(ids, token_offsets(text, pair, spans, texts), texts)

    def decode(self, ids: Any, *, skip_special: bool = True) -> str:
        """Returns the text of token ids; bytes that are not a whole character become U+FFFD."""
        return self._core.decode(ids, skip_special).decode(errors="replace")

    def token(self, id: int) -> bytes:
        """Returns the bytes that one token adds to a text; for a special token its name."""
        return self._core.token(whole("tokenizer", "id", id, least=0))

    def is_special(self, id: int) -> bool:
        return self._core.is_special(whole("tokenizer", "id", id, least=0))

    def unknown_share(self, ids: Sequence[int]) -> str:
        """Returns "2 of 2 tokens are <unk>" if no token of a text is in the vocabulary, else ""."""
        unknown = self._core.unknown_token
        count = list(ids).count(unknown)
        if unknown < 0 or count == 0 or any(i != unknown and not self.is_special(i) for i in ids):
            return ""
        name = self.token(unknown).decode(errors="replace").strip()
        return f"{count} of {count} {'token is' if count == 1 else 'tokens are'} {name}"

    def find(self, piece: str) -> int | None:
        """Returns the id of an entry as the vocabulary's file writes it (``"Ġcat"``); None if there
        is no such entry."""
        found = self._core.find(checked(piece, "piece"))
        return None if found < 0 else found

    def __len__(self) -> int:
        """The number of tokens in the vocabulary."""
        return len(self._core)

    def __repr__(self) -> str:
        return f"<heed.Tokenizer of {self._core.model}, {len(self)} tokens>"


def token_offsets(
    text: str, pair: str | None, spans: list[tuple[int, int]], texts: list[int]
) -> list[tuple[int, int]]:
    """Returns the span of each token in characters of its own text."""
    first = in_characters(text, spans if pair is None else _of(spans, texts, 0))
    if pair is None:
        return first
    second = in_characters(pair, _of(spans, texts, 1))
    return [b if which == 1 else a for a, b, which in zip(first, second, texts)]


def _of(spans: list[tuple[int, int]], texts: list[int], which: int) -> list[tuple[int, int]]:
    return [span if of == which else (0, 0) for span, of in zip(spans, texts)]
