"""The answers of a session: tokens, rows, columns, cells, words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ._tokenizer import token_offsets


@dataclass(frozen=True)
class Token:
    """One token of a session."""

    index: int
    id: int
    text: str
    """The text of the token. Bytes that are not a whole character are written as <0xE3>."""
    bytes: bytes
    begin: int
    """The token is ``text[begin:end]``, in characters. Special tokens, and all tokens of a session
    without a text, are empty: begin = end."""
    end: int
    part: int
    """The text of a pair that the token belongs to: 0 or 1, or -1 for a special token."""

    def __str__(self) -> str:
        return self.text


def tokens_of(found: Sequence[tuple], text: str, pair: str | None) -> list[Token]:
    parts = [row[5] for row in found]
    spans = [(row[3], row[4]) for row in found]
    written = all(begin == end for begin, end in spans)  # written by the model: no text was given
    places = spans if written else token_offsets(text, pair, spans, parts)
    return [
        Token(index, row[0], row[1], row[2], *place, row[5])
        for index, (row, place) in enumerate(zip(found, places))
    ]


def _number(value: float | None) -> float:
    """JSON has null for NaN."""
    return math.nan if value is None else value


@dataclass(frozen=True)
class Weight:
    """A weight and the token at its other end."""

    index: int
    token: str
    weight: float

    @classmethod
    def of(cls, each: dict[str, Any], end: str) -> Weight:
        return cls(each[end], each["token"], _number(each["weight"]))


@dataclass(frozen=True)
class Row:
    """The keys that one token attends to."""

    query: int
    token: str
    entropy: float
    """In nats."""
    attends: list[Weight]
    """The largest weights, in descending order."""
    rest_count: int
    """How many visible keys are not listed."""
    rest_weight: float

    @classmethod
    def of(cls, row: dict[str, Any]) -> Row:
        attends = [Weight.of(each, "key") for each in row["attends"]]
        rest = row["rest"]
        return cls(row["query"], row["token"], _number(row["entropy"]), attends, rest["count"],
                   _number(rest["weight"]))  # fmt: skip

    def __str__(self) -> str:
        keys = ", ".join(f"{each.token.strip()} {each.weight:.2f}" for each in self.attends)
        rest = f", +{self.rest_weight:.2f} in {self.rest_count}" if self.rest_count else ""
        return f"{self.token.strip()} -> {keys}{rest}"


@dataclass(frozen=True)
class Column:
    """The queries that attend to one token."""

    key: int
    token: str
    sum: float
    """The sum of the weights of all queries."""
    attended_by: list[Weight]
    """The largest weights, in descending order."""
    rest_count: int
    rest_weight: float

    @classmethod
    def of(cls, row: dict[str, Any]) -> Column:
        queries = [Weight.of(each, "query") for each in row["from"]]
        rest = row["rest"]
        return cls(row["key"], row["token"], _number(row["sum"]), queries, rest["count"],
                   _number(rest["weight"]))  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One weight, which is ``exp(score - lse)``."""

    query: int
    key: int
    visible: bool
    """False if the mask hides the key. ``weight`` is then 0 and the numbers below are None."""
    weight: float
    score: float | None
    lse: float | None
    rank: int | None
    """The weight's place in its row; 1 is the largest weight."""
    of: int | None
    """The number of keys that the row sees."""

    @classmethod
    def of_answer(cls, row: dict[str, Any]) -> Cell:
        return cls(row["query"], row["key"], row["visible"], _number(row["weight"]),
                   row.get("score"), row.get("lse"), row.get("rank"), row.get("of"))  # fmt: skip


@dataclass(frozen=True)
class NextWord:
    """A token that may come next."""

    id: int
    text: str
    bytes: bytes
    probability: float


class NextWords(list[NextWord]):
    """The most probable words first; ``rest_count`` others share ``rest_probability``."""

    def __init__(self, words: Sequence[NextWord], rest_count: int, rest_probability: float):
        super().__init__(words)
        self.rest_count = rest_count
        self.rest_probability = rest_probability

    def __repr__(self) -> str:
        words = ", ".join(f"{word.text!r} {word.probability:.3f}" for word in self)
        return f"[{words}, +{self.rest_probability:.3f} in {self.rest_count} others]"
