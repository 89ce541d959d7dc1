"""Scores many texts on many workers; results of lost workers are computed again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, wait
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from ._scored import Reference, Scored

PLACE = ("stack", "layer", "head")
Answer = tuple[list[tuple[str, int, int]], list[str], np.ndarray] | str

_MOST_LOSSES = 2  # lost workers, each with this text alone, after which a text is given up
_MOST_REFUSALS = 5


class Total(Protocol):
    """Collects the answers."""

    def add(self, index: int, answer: Answer) -> None: ...


def scored(model: Scored, text: str) -> Answer:
    """Returns the scores of every head on one text, or the reason for their absence."""
    try:
        table = model.session(text)._head_rows()
    except Exception as error:
        return _said(error)
    names = [name for name in dict.fromkeys(n for row in table for n in row) if name not in PLACE]
    values = np.array([[row.get(name, np.nan) for name in names] for row in table])
    return [tuple(row[part] for part in PLACE) for row in table], names, values


@lru_cache(maxsize=2)
def _model_of_worker(reference: Reference) -> Scored:
    loaded, *arguments = reference
    return loaded(*arguments)


def _score_batch(reference: Reference, texts: Sequence[str]) -> list[Answer]:
    """Scores a batch of texts; runs on a worker."""
    model = _model_of_worker(reference)
    return [scored(model, text) for text in texts]


class Work:
    """Hands batches to an executor until every text has its answer.

    When a worker is lost, any text of the running batches may be the cause. Each of these texts is
    then computed again alone, so a text that kills its worker does not affect other texts.
    """

    def __init__(
        self,
        reference: Reference,
        texts: list[str],
        engine: Executor | Callable[[], Executor],
        batch: int,
        total: Total,
    ):
        self._reference = reference
        self._texts = texts
        self._total = total
        self._make = None if isinstance(engine, Executor) else engine
        self._engine: Any = engine if self._make is None else self._make()
        self._owned = self._make is not None
        self._batches = [
            list(range(begin, min(begin + batch, len(texts))))
            for begin in range(0, len(texts), batch)
        ][::-1]
        self._suspects: list[int] = []
        self._losses = [0] * len(texts)  # workers lost while the text ran alone
        self._running: dict[Any, list[int]] = {}
        self._alone = False  # whether a suspect is running
        self._refused = 0  # consecutive refusals of an executor

    def run(self) -> None:
        try:
            while self._batches or self._suspects or self._running:
                self._submit()
                self._collect()
        finally:
            for future in self._running:
                future.cancel()
            self._leave()

    def _submit(self) -> None:
        if self._alone and self._running:
            return
        self._alone = bool(self._suspects) and not self._running
        if self._suspects:
            if self._alone and self._handed([self._suspects[-1]]):
                self._suspects.pop()
            return
        workers = getattr(self._engine, "_max_workers", None) or 16
        while self._batches and len(self._running) < 4 * workers:
            if not self._handed(self._batches[-1]):
                return
            self._batches.pop()

    def _handed(self, indices: list[int]) -> bool:
        """Submits texts; returns False if the executor is broken (workers or connection lost)."""
        texts = [self._texts[index] for index in indices]
        try:
            future = self._engine.submit(_score_batch, self._reference, texts)
        except Exception as error:
            self._replace(error)
            return False
        self._running[future] = indices
        return True

    def _collect(self) -> None:
        if not self._running:
            return
        for future in wait(self._running, return_when=FIRST_COMPLETED).done:
            indices = self._running.pop(future)
            try:
                answers = future.result()
            except (Exception, CancelledError) as error:
                self._lost(indices, error)
                continue
            self._refused = 0
            for index, answer in zip(indices, answers):
                self._total.add(index, answer)

    def _lost(self, indices: list[int], error: BaseException) -> None:
        if not self._alone:
            self._suspects.extend(reversed(indices))
            return
        (index,) = indices
        self._losses[index] += 1
        if self._losses[index] < _MOST_LOSSES:
            self._suspects.append(index)
        else:
            self._total.add(index, f"its worker was lost each time ({_said(error)})")

    def _replace(self, error: BaseException) -> None:
        self._refused += 1
        if self._refused >= _MOST_REFUSALS:
            self._give_up(error)
            return
        self._leave()
        if self._make is not None:
            self._engine = self._make()
        else:
            from concurrent.futures import ProcessPoolExecutor  # a slow import

            workers = getattr(self._engine, "_max_workers", None) or 2
            context = getattr(self._engine, "_mp_context", None)
            self._engine = ProcessPoolExecutor(workers, mp_context=context)
        self._owned = True

    def _give_up(self, error: BaseException) -> None:
        """Keeps the answers so far and reports all other texts as failed."""
        missing = sorted(self._suspects + [index for each in self._batches for index in each])
        self._batches, self._suspects = [], []
        for index in missing:
            self._total.add(index, f"no executor took it ({_said(error)})")

    def _leave(self) -> None:
        if self._owned:
            self._engine.shutdown(wait=False, cancel_futures=True)


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
