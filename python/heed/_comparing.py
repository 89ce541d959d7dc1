"""Two runs side by side: what changed in each head, and in the next word."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._compared_side import Side
from ._notebook import saved_in_a_frame, shown_in_a_notebook
from ._session import Session
from ._session_questions import Who
from ._tables import table_of
from .errors import Unsupported, WrongType, made, refused

_PART = 2**22  # weights compared at a time
_SEES_NOTHING = -1.0


class LogitDifference(NamedTuple):
    """The logit of one word minus that of another, after the same token of two runs."""

    words: tuple[str, str]
    """The two tokens."""
    a: float
    b: float

    @property
    def change(self) -> float:
        """The difference in run b minus the difference in run a."""
        return self.b - self.a

    def __repr__(self) -> str:
        return (
            f"LogitDifference(words={self.words!r}, a={self.a:.4g}, b={self.b:.4g}, "
            f"change={self.change:.4g})"
        )


def compare(
    a: Any, b: Any, *, words: tuple[str | int, str | int] | None = None,
    position: Who | None = None, stack: str | None = None, text: int = -1, sequence: int = 0,
    name: str = "b",
) -> Comparison:  # fmt: skip
    """Compares two runs: before and after an edit, or two texts with equally many tokens.

    Parameters
    ----------
    a, b : two sessions, or two results of ``heed.transformers.watch``, of one model and with
        equally many tokens
    words : two possible next words, whose difference of logits is computed. A word stands for the
        token with a space before it if there is one, as inside a text, else for the token itself; a
        number is a token's id
    position : the token after which words are compared; by default the last one, for models that
        write. Other positions need a session that keeps their logits
    stack, text, sequence : the part of a watch to compare, as in ``SeenModel.look``
    name : the name of run b in the page's address: letters, digits, ``-`` and ``_``

    Raises
    ------
    ValueError, TypeError
        if the runs differ in layers, heads or numbers of tokens, or a word is not one token
    """
    first, second = (
        Side(each, which, stack, text, sequence) for each, which in ((a, "a"), (b, "b"))
    )
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", name):
        raise refused("compare", "name", repr(name), "1 to 40 letters, digits, - and _")
    _check_alike(first, second)
    return Comparison(first, second, words, position, name)


class Comparison:
    """The result of :func:`compare`. In a notebook it shows the page with A, B and A - B, at the
    head that changed most; ``save`` writes the page as a file."""

    def __init__(self, a: Side, b: Side, words: Any, position: Who | None, name: str):
        self._a, self._b, self._name = a, b, name
        self._logits = _both_logits(a, b, position, is_wanted=words is not None)
        self.kl: float | None = None
        """The Kullback-Leibler divergence of the next word in b from that in a, in nats: the sum of
        p_a ln(p_a / p_b). None if the logits are not known."""
        self.logit_difference: LogitDifference | None = None
        """The difference of logits of ``words``, if these were given."""
        if self._logits is not None:
            self.kl = _divergence(*self._logits)
        if words is not None:
            self.logit_difference = self._difference(words)

    @cached_property
    def heads(self) -> Any:
        """A table with one row per head, the most changed first: a pandas.DataFrame where pandas is
        installed, else a :class:`Table`.

        The columns are ``stack``, ``layer``, ``head``, ``change``, ``largest`` and ``row``.
        ``change`` is the total variation between a row of weights in a and in b (the share of its
        weight that moved), averaged over all rows. ``largest`` is that of the row that changed
        most, and ``row`` is that row. The weight of a sink counts like that of a key. Rows that see
        no key in either run do not count. Heads with a NaN weight come first, with a change of
        NaN."""
        rows = [row for stack in self._a.session.stacks for row in self._changes(stack)]
        rows.sort(key=lambda row: (not np.isnan(row["change"]), -row["change"]))
        return table_of(rows)

    @cached_property
    def session(self) -> Session:
        """Run a, with run b beside it on its page."""
        session = Session(
            _core.compared(self._a.session._core, self._b.session._core, self._name),
            self._a.session.model,
        )
        session._address = self._address()
        return session

    def look(self) -> Session:
        """Returns the session whose page shows A, B and A - B; a notebook shows that page."""
        return self.session

    def to_html(self, **asked: Any) -> str:
        """The page as one file, as :meth:`Session.to_html` makes it."""
        return self.session.to_html(**asked)

    def save(self, path: str | Path, **asked: Any) -> None:
        """Writes ``.html``, ``.svg`` or ``.png``, as :meth:`Session.save` does."""
        if Path(path).suffix not in (".html", ".svg", ".png"):
            raise refused(
                "save", "path", repr(str(path)), "a name that ends in .html, .svg or .png"
            )
        self.session.save(path, **asked)

    def __repr__(self) -> str:
        lines = [repr(self.heads)]
        if self.kl is not None:
            lines.append(f"next word: KL(a || b) {self.kl:.4g} nats")
        if (found := self.logit_difference) is not None:
            first, second = map(repr, found.words)
            lines.append(f"logit of {first} less that of {second}: {found.a:.4g} in a, "
                         f"{found.b:.4g} in b")  # fmt: skip
        return "\n".join(lines)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return shown_in_a_notebook(self.session) | {"text/plain": repr(self)}

    def _repr_html_(self) -> str:
        return saved_in_a_frame(self.session, repr(self))

    # --- heads -----------------------------------------------------------------------------------

    def _changes(self, name: str) -> list[dict[str, Any]]:
        a, b = (side.session.stack(name) for side in (self._a, self._b))
        rows = []
        for layer in a.layer_numbers:
            moved = np.concatenate(
                [_moved(a.weights[layer, :, part], b.weights[layer, :, part])
                 for part in _parts(a.heads, a.queries, a.keys)], 1,
            )  # fmt: skip
            for head in range(a.heads):
                counted = np.flatnonzero(moved[head] != _SEES_NOTHING)
                if not counted.size:  # a head without attention
                    continue
                row = int(counted[np.argmax(moved[head, counted])])  # a NaN counts as the largest
                rows.append({
                    "stack": self._a.names.get(name, name), "layer": layer, "head": head,
                    "change": float(moved[head, counted].mean()),
                    "largest": float(moved[head, row]), "row": row,
                })  # fmt: skip
        return rows

    def _address(self) -> str:
        first = next(iter(self._rows()), None)
        if first is None:
            layer = self._a.session.stack().layer_numbers[0]
            return f"look/L{layer}.H0/vs=run:{self._name}"
        named = {shown: own for own, shown in self._a.names.items()}
        own = named.get(first["stack"], first["stack"])
        is_first = own == next(iter(self._a.session.stacks))
        place = f"L{first['layer']}.H{first['head']}"
        place = place if is_first else f"{own}.{place}"
        return f"look/{place}/i={first['row']}/vs=run:{self._name}"

    def _rows(self) -> list[dict[str, Any]]:
        table = self.heads
        return table.to_dict("records") if hasattr(table, "to_dict") else list(table)

    # --- words -----------------------------------------------------------------------------------

    def _difference(self, words: Any) -> LogitDifference:
        if isinstance(words, str) or not hasattr(words, "__len__") or len(words) != 2:
            raise made(WrongType, op="compare", argument="words", found=repr(words),
                       expected="two words")  # fmt: skip
        count = self._logits[0].shape[0]
        ids = [self._a.token(each, f"words[{at}]", count) for at, each in enumerate(words)]
        names = tuple(self._a.name(id) for id in ids)
        first, second = (float(each[ids[0]] - each[ids[1]]) for each in self._logits)
        return LogitDifference(names, first, second)


def _check_alike(a: Side, b: Side) -> None:
    shapes = [
        {name: (each.layer_numbers, each.heads, each.queries, each.keys)
         for name, each in side.session.stacks.items()}
        for side in (a, b)
    ]  # fmt: skip
    if shapes[0] == shapes[1]:
        return
    found, expected = (
        "; ".join(f"{name}: {len(layers)} layers of {heads} heads, {queries} queries, {keys} keys"
                  for name, (layers, heads, queries, keys) in shape.items())
        for shape in reversed(shapes)
    )  # fmt: skip
    raise refused("compare", "b", found, f"{expected}, as run a has")


# --- numbers --------------------------------------------------------------------------------------


def _parts(heads: int, queries: int, keys: int) -> list[slice]:
    rows = max(1, _PART // max(1, heads * keys))
    return [slice(begin, begin + rows) for begin in range(0, queries, rows)]


def _moved(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns the total variation of each row, [heads, rows]; ``_SEES_NOTHING`` if a row sees no
    key in either."""
    moved = np.abs(a - b).sum(-1, dtype=np.float64)
    sums = [each.sum(-1, dtype=np.float64) for each in (a, b)]
    moved = (moved + np.abs(sums[0] - sums[1])) / 2  # the rest is a sink's
    return np.where((sums[0] == 0) & (sums[1] == 0), _SEES_NOTHING, moved)


def _both_logits(
    a: Side, b: Side, position: Who | None, *, is_wanted: bool
) -> tuple[np.ndarray, np.ndarray] | None:
    found = [side.logits(position) for side in (a, b)]
    for side, logits in zip((a, b), found):
        if logits is None:
            if is_wanted or position is not None:
                raise made(
                    Unsupported, op="compare", argument=side.argument,
                    found="a run whose logits are not known",
                    expected="one of a model that writes: of heed.load, or watched with its head",
                )  # fmt: skip
            return None
    if found[0].shape != found[1].shape:
        raise refused("compare", "b", f"{len(found[1])} words",
                      f"{len(found[0])}, the vocabulary of run a")  # fmt: skip
    return found[0], found[1]


def _divergence(a: np.ndarray, b: np.ndarray) -> float:
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = [each - each.max() - np.log(np.exp(each - each.max()).sum()) for each in (a, b)]
        terms = np.exp(logs[0]) * (logs[0] - logs[1])
    return float(max(np.where(np.isneginf(logs[0]), 0, terms).sum(), 0.0))
