"""Scores of a model's heads over many texts.

>>> scores = heed.heads.score(heed.load(), ["The cat sat.", "A dog ran home."])
>>> scores.count
2
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._checks import flag, whole
from ._copy_scores import copy_scores
from ._many_texts import PLACE, Answer, Work, scored
from ._models import Model
from ._probe import Probe, probe
from ._scored import scored_model
from ._students_t import quantile
from ._tables import table_of
from .errors import InvalidArgument, WrongType, kind_of, made, refused

if TYPE_CHECKING:
    from torch import nn

__all__ = ["CorpusScores", "FailedText", "Probe", "copy_scores", "probe", "score"]

SHARES = ("previous", "current", "next", "sink")
"""The scores that are shares of a row's weight, which can be compared with each other."""
_WITHIN_1 = (*SHARES, "elsewhere", "normalised_entropy", "confidence", "local", "duplicate",
             "induction", "delimiter", "same_word", "value_sink", "coverage", "in_order",
             "peak")  # fmt: skip
"""Scores from 0 to 1."""


@dataclass(frozen=True)
class FailedText:
    """A text that was left out."""

    index: int
    text: str
    """Its beginning."""
    reason: str


@dataclass
class CorpusScores:
    """Scores of every head over many texts. Parts are merged by ``a + b`` or ``sum(parts)``."""

    heads: list[tuple[str, int, int]]
    """(stack, layer, head) of each row of the arrays."""
    names: list[str]
    """The names of the scores, which are the columns of the arrays."""
    count: int = 0
    """The number of texts that were scored; each counts once."""
    sum: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    """The sums of the scores over the texts, [heads, scores] float64."""
    sum_of_squares: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    """The sums of the squared scores, [heads, scores] float64."""
    failed: list[FailedText] = field(default_factory=list)
    values: list[np.ndarray | None] = field(default_factory=list, repr=False)
    """The scores of each text; None for a text that failed."""

    @property
    def per_text(self) -> np.ndarray:
        """The scores of each text, [texts, heads, scores] float64; NaN for a text that failed."""
        if sum(each is not None for each in self.values) != self.count:
            raise made(InvalidArgument, op="per_text", found="scores that were not kept by text",
                       expected="score(..., per_text=True)")  # fmt: skip
        missing = np.full(self.sum.shape, np.nan)
        kept = [missing if each is None else each for each in self.values]
        return np.array(kept).reshape(len(kept), *self.sum.shape)

    @property
    def mean(self) -> np.ndarray:
        """The mean over the texts, [heads, scores] float64."""
        return self.sum / self.count if self.count else np.full(self.sum.shape, np.nan)

    @property
    def std(self) -> np.ndarray:
        """The standard deviation over the texts (divided by n - 1), [heads, scores] float64."""
        if self.count < 2:
            return np.full(self.sum.shape, np.nan)
        squares = self.sum_of_squares - self.sum**2 / self.count
        return np.sqrt(np.maximum(squares, 0) / (self.count - 1))

    def interval(self, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Returns the lower and upper ends of the confidence interval of the mean over all such
        texts: two arrays [heads, scores].

        The interval is ``mean +- t std / sqrt(count)`` with Student's t of ``count - 1`` degrees of
        freedom. For scores from 0 to 1 the ends are clipped to that range. With fewer than two
        texts the ends are NaN.
        """
        if not 0 < confidence < 1:
            raise refused("interval", "confidence", confidence, "above 0 and below 1")
        t = quantile(confidence, self.count - 1) if self.count > 1 else np.nan
        half = t * self.std / np.sqrt(max(self.count, 1))
        low, high = self.mean - half, self.mean + half
        for column, name in enumerate(self.names):
            if name.removesuffix("_adjusted") in _WITHIN_1:
                low[:, column] = low[:, column].clip(min=0)
                high[:, column] = high[:, column].clip(max=1)
        return low, high

    def roles(
        self, threshold: float = 0.4, *, confidence: float = 0.95, probe: Probe | None = None
    ) -> Any:
        """Returns what each head does, with the runner-up: a table with one row per head.

        ``role`` is the largest of the shares ("previous", "current", "next", "sink"), or "none" if
        the lower end of its confidence interval, ``low``, does not reach the threshold. ``score``
        is the mean of that share; ``runner_up`` and ``runner_up_score`` are the second largest.

        With the ``probe`` of the same model, ``induction`` is the head's score in the probe. If
        that reaches the threshold, the role is "induction": on other texts such a head has little
        to do.
        """
        induction = self._induction(probe)
        shares = [self.names.index(name) for name in SHARES if name in self.names]
        low, high = (bound[:, shares] for bound in self.interval(confidence))
        mean = self.mean[:, shares]
        rows: list[dict[str, Any]] = []
        for row, place in enumerate(self.heads):
            first, second = np.argsort(-mean[row], kind="stable")[:2]
            role = self.names[shares[first]] if low[row, first] >= threshold else "none"
            rows.append(
                dict(zip(PLACE, place))
                | {
                    "role": "induction" if induction.get(place, 0) >= threshold else role,
                    "largest": self.names[shares[first]],
                    "score": float(mean[row, first]),
                    "low": float(low[row, first]),
                    "high": float(high[row, first]),
                    "runner_up": self.names[shares[second]],
                    "runner_up_score": float(mean[row, second]),
                }
                | ({"induction": induction.get(place, np.nan)} if induction else {})
            )
        return table_of(rows)

    def _induction(self, probe: Probe | None) -> dict[tuple[str, int, int], float]:
        """Returns the probe's induction score of each head, by (stack, layer, head)."""
        if probe is None:
            return {}
        _check("probe", probe, isinstance(probe, Probe), "what heed.heads.probe gives, or None",
               op="roles")  # fmt: skip
        stack = self.heads[0][0] if self.heads else ""
        found = {
            (stack, layer, head): float(value)
            for (layer, head), value in np.ndenumerate(probe.of("induction"))
            if not np.isnan(value)
        }
        if found.keys() != {place for place in self.heads if place[0] == stack}:
            raise refused("roles", "probe", "of other heads", "a probe of the same model")
        return found

    def table(self, interval: float | None = None) -> Any:
        """Returns one row per head: its place, the mean of each score, and the standard deviation
        as a column with ``_std`` behind the score's name.

        ``interval=0.95`` adds the ends of the 95 % confidence interval, with ``_low`` and
        ``_high``.
        """
        columns = {"": self.mean, "_std": self.std}
        if interval is not None:
            columns["_low"], columns["_high"] = self.interval(interval)
        return table_of(
            [
                dict(zip(PLACE, place))
                | {
                    name + ending: float(values[row, column])
                    for column, name in enumerate(self.names)
                    for ending, values in columns.items()
                }
                for row, place in enumerate(self.heads)
            ]
        )

    def __add__(self, other: CorpusScores) -> CorpusScores:
        """Returns the scores over the texts of both. Failed texts keep the indices of their own
        lists."""
        if not isinstance(other, CorpusScores):
            return NotImplemented
        if not self.count or not other.count:
            scored = self if self.count else other
            return CorpusScores(
                scored.heads, scored.names, scored.count, scored.sum, scored.sum_of_squares,
                self.failed + other.failed, self.values + other.values,
            )  # fmt: skip
        if self.heads != other.heads or self.names != other.names:
            raise refused("heads", "other", "of other heads", "scores of the same model")
        return CorpusScores(
            self.heads, self.names, self.count + other.count, self.sum + other.sum,
            self.sum_of_squares + other.sum_of_squares, self.failed + other.failed,
            self.values + other.values,
        )  # fmt: skip

    def __radd__(self, other: Any) -> CorpusScores:
        """Adds to 0, with which ``sum(parts)`` begins."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __repr__(self) -> str:
        left_out = f", {len(self.failed)} left out" if self.failed else ""
        return f"<heed.heads.CorpusScores of {len(self.heads)} heads, {self.count} texts{left_out}>"


def score(
    model: Model | str | Path | nn.Module,
    texts: Iterable[str],
    *,
    tokenizer: Any = None,
    engine: Executor | Callable[[], Executor] | None = None,
    batch: int = 8,
    progress: Callable[[int, int], Any] | None = None,
    per_text: bool = True,
) -> CorpusScores:
    """Scores every head over many texts; each text counts once.

    Parameters
    ----------
    model : a :class:`heed.Model`, or a folder or a name for :func:`heed.load`; or a model of
        transformers, which :func:`heed.transformers.watch` watches
    texts : each is read like ``model.look(text, cut="first")``; with transformers, the tokenizer
        truncates it to the model's positions. An encoder-decoder of transformers writes greedily,
        as its ``generation_config`` says
    tokenizer : the tokenizer of a model of transformers
    engine : None computes in this process. An executor of ``concurrent.futures``, such as a
        ``ProcessPoolExecutor`` or Dask's ``client.get_executor()``, computes in its workers. A
        function that returns an executor is called again if that executor breaks. Each worker loads
        the model once, from its folder; a model of transformers from a temporary file, so workers
        on other machines need a shared $TMPDIR
    batch : the number of texts that a worker gets at once
    progress : called as ``progress(done, of)`` with the number of finished texts and of all texts
    per_text : whether to keep the scores of each text: 8 bytes per text, head and score

    Returns
    -------
    :class:`CorpusScores`. Texts are added in their order, so the result has the same bits whatever
    the engine. A text that fails, for example one without a token, is left out and listed in
    ``failed`` with the reason. Results that a lost worker had not delivered are computed again; if
    the executor itself is broken, in a new process pool. A text that loses its worker every time is
    left out, too.
    """
    whole("score", "batch", batch, least=1)
    _check("texts", texts, isinstance(texts, Iterable) and not isinstance(texts, (str, bytes)),
           "texts, such as a list of str")  # fmt: skip
    _check("engine", engine, engine is None or isinstance(engine, Executor) or callable(engine),
           "an executor of concurrent.futures, such as a ProcessPoolExecutor or Dask's "
           "client.get_executor(), a function that makes one, or None")  # fmt: skip
    _check("progress", progress, progress is None or callable(progress), "a function, or None")
    listed = list(texts)
    total = _Total(listed, progress, flag("score", "per_text", per_text))
    given = scored_model(model, tokenizer)
    if engine is None:
        for index, text in enumerate(listed):
            total.add(index, scored(given, text))
    else:
        with given.shared() as reference:
            Work(reference, listed, engine, batch, total).run()
    return total.scores


def _check(
    argument: str, given: Any, holds: bool, expected: str, *, op: str = "score"
) -> None:  # fmt: skip
    if not holds:
        found = kind_of(given)
        raise made(WrongType, op=op, argument=argument, found=found, expected=expected)


class _Total:
    """Adds the answers in the order of the texts, whatever the order in which they arrive."""

    def __init__(
        self, texts: list[str], progress: Callable[[int, int], Any] | None, per_text: bool
    ):
        self.scores = CorpusScores([], [])
        self._keeps = per_text
        self._texts = texts
        self._progress = progress
        self._early: dict[int, Answer] = {}
        self._next = 0
        self._done = 0

    def add(self, index: int, answer: Answer) -> None:
        self._early[index] = answer
        while self._next in self._early:
            self._count(self._next, self._early.pop(self._next))
            self._next += 1
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, len(self._texts))

    def _count(self, index: int, answer: Answer) -> None:
        scores = self.scores
        values = None
        if not isinstance(answer, str):
            heads, names, values = answer
            if not scores.count:
                scores.heads, scores.names = heads, names
                scores.sum, scores.sum_of_squares = np.zeros_like(values), np.zeros_like(values)
            elif (heads, names) != (scores.heads, scores.names):
                answer, values = "its heads or scores are not those of the texts before", None
        if values is None:
            beginning = str(self._texts[index])[:80]
            scores.failed.append(FailedText(index, beginning, str(answer)))
        else:
            scores.count += 1
            scores.sum += values
            scores.sum_of_squares += values**2
        if self._keeps:
            scores.values.append(values)
