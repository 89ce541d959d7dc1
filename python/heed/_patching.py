"""`patching`: puts the output of each head of one run into another run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from . import edits
from ._checks import kind_of, whole
from ._models import Model
from ._session import Session
from ._tables import table_of
from .errors import InvalidArgument, OutOfRange, WrongType, made


def patching(
    model: Any, clean: Any, corrupted: Any, metric: Callable[[Any], Any], *,
    layers: Iterable[int] | None = None, stack: str | None = None,
    progress: Callable[[int, int], None] | None = None, **others: Any,
) -> Any:  # fmt: skip
    """Activation patching: runs ``corrupted`` once for each head, with that head's output from the
    run on ``clean``.

    Parameters
    ----------
    model : a model of ``heed.load``; or one of transformers, for which
        ``heed.transformers.patching`` describes the other arguments
    clean, corrupted : texts with equally many tokens, or sessions of them
    metric : a function of a session that returns a number, such as a difference of two of its
        ``logits[-1]``
    layers, stack : the layers to patch (default: all), and their stack
    progress : called as ``progress(done, of)``

    Returns
    -------
    A table with one row per head (a pandas.DataFrame where pandas is installed, else a
    :class:`heed.Table`): ``layer``, ``head``, the ``metric`` and the ``effect``. The effect is 0 if
    the metric is as in ``corrupted`` and 1 if it is as in ``clean``. The largest effects come
    first.
    """
    if not isinstance(model, Model):
        from .transformers import patching as of_transformers

        return of_transformers(model, clean, corrupted, metric, layers=layers, stack=stack,
                               progress=progress, **others)  # fmt: skip
    if others:
        name = next(iter(others))
        raise made(WrongType, op="patching", argument=name, found="given",
                   expected="only layers, stack and progress for a model of heed")  # fmt: skip
    best, worst = (_session(model, name, each) for name, each in
                   (("clean", clean), ("corrupted", corrupted)))  # fmt: skip
    ends = Ends.of(float(metric(best)), float(metric(worst)))

    def patched(layer: int, head: int) -> Any:
        return metric(worst.edited(edits.patch(best, layer, head, stack=stack)))

    return ends.table_of(_heads(best, layers, stack), patched, progress)


class Ends(NamedTuple):
    """The metric of the clean and of the corrupted run."""

    best: float
    worst: float

    @classmethod
    def of(cls, best: float, worst: float) -> Ends:
        if best == worst:
            raise made(
                InvalidArgument, op="patching", argument="metric",
                found=f"{best:g} for clean and corrupted", expected="different numbers",
            )  # fmt: skip
        return cls(best, worst)

    def table_of(
        self, heads: list[tuple[int, int]], patched: Callable[[int, int], Any],
        progress: Callable[[int, int], None] | None,
    ) -> Any:  # fmt: skip
        """Returns one row per (layer, head) with the metric of its patched run, the largest effects
        first."""
        rows = []
        for done, (layer, head) in enumerate(heads, 1):
            found = float(patched(layer, head))
            effect = (found - self.worst) / (self.best - self.worst)
            rows.append({"layer": layer, "head": head, "metric": found, "effect": effect})
            if progress is not None:
                progress(done, len(heads))
        return table_of(sorted(rows, key=lambda row: -abs(row["effect"])))


def _session(model: Model, name: str, given: Any) -> Session:
    if isinstance(given, str):
        return model.look(given)
    if isinstance(given, Session) and given.model is not None:
        return given
    raise made(WrongType, op="patching", argument=name, found=kind_of(given),
               expected="a text, or a session of the model")  # fmt: skip


def _heads(session: Session, layers: Iterable[int] | None, stack: str | None) -> list:
    of = session.stack(stack)
    if layers is None:
        chosen = list(range(of.layers))
    else:
        chosen = [whole("patching", "layers", each) for each in layers]
    for layer in chosen:
        if not 0 <= layer < of.layers:
            raise made(OutOfRange, op="patching", argument="layers", found=str(layer),
                       expected=f"0 to {of.layers - 1}")  # fmt: skip
    return [(layer, head) for layer in chosen for head in range(of.heads)]
