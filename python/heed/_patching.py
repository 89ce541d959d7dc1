"""`patching`: sweeps the outputs of heads, or edges, and measures what each changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from . import edits
from ._checks import whole
from ._edited import places_of
from ._models import Model
from ._session import Session
from ._tables import table_of
from .errors import InvalidArgument, WrongType, kind_of, made, mistyped, out_of_range, refused

Head = tuple[int, int]
"""A layer and a head in it."""


def patching(
    model: Any, clean: Any, corrupted: Any, metric: Callable[[Any], Any], *,
    edges: Any = None, heads: Any = None, layers: Iterable[int] | None = None,
    stack: str | None = None, who: Any = None, at_most: int = 1000,
    progress: Callable[[int, int], None] | None = None, **others: Any,
) -> Any:  # fmt: skip
    """Activation patching: runs ``corrupted`` once for each head, with that head's output of the
    run on ``clean``. With ``edges`` attention knockout: runs ``clean`` once without each edge.

    Parameters
    ----------
    model : a model of ``heed.load``, or of transformers, for which
        ``heed.transformers.patching`` describes the other arguments
    clean, corrupted : texts with equally many tokens, or sessions of them. With ``edges``,
        ``corrupted`` may be None
    metric : a function of a session that returns a number, such as a difference of two of its
        ``logits[-1]``
    edges : pairs ``(who, to)`` of a query and a key, each a word, a position or a list of these;
        or "all", every pair that the chosen ``heads`` see
    heads : numbers in ``layers``, or pairs ``(layer, head)``; None for all. ``(2, 0)`` are heads 2
        and 0 of every layer, ``[(2, 0)]`` is head 0 of layer 2. An edge is removed in each of them
        alone, without ``heads`` in all at once
    who : the queries whose output is replaced: words of ``corrupted``, positions, or a list of
        these; None for all
    at_most : more edges than this, in all heads, are refused before the first run
    progress : called as ``progress(done, of)``

    Returns
    -------
    A table with one row per run (a pandas.DataFrame where pandas is installed, else a
    :class:`heed.Table`): ``layer`` and ``head``, ``who`` and ``to`` of edges, the ``metric`` and
    the ``effect``. The effect is 0 if the metric is as in the run without the change and 1 if it is
    as in the other run; without ``corrupted`` it is the change of the metric. The largest effects
    come first.
    """
    asked = Asked(edges, heads, layers, stack, who, at_most)
    if not isinstance(model, Model):
        from .transformers._patching import sweep

        return sweep(model, clean, corrupted, metric, asked, progress, **others)
    if others:
        name = next(iter(others))
        raise made(WrongType, op="patching", argument=name, found="given",
                   expected="no such argument for a model of heed")  # fmt: skip
    best = _session(model, "clean", clean)
    is_of_edges = edges is not None
    is_alone = is_of_edges and corrupted is None
    worst = None if is_alone else _session(model, "corrupted", corrupted)
    if not is_of_edges:
        counts = (each.stack(stack).queries for each in (best, worst))
        check_equally_many(*counts)
    ends = Ends.of(metric, best, worst)
    weights = best.stack(stack).weights
    rows = asked.rows(_heads(best, layers, stack), lambda *place: np.asarray(weights[place]))

    def edited(row: dict[str, Any]) -> Any:
        if not is_of_edges:
            patch = edits.patch(best, row["layer"], row["head"], who=who, stack=stack)
            return worst.edited(patch)
        places = asked.places(row)
        return best.edited(edits.remove(row["who"], row["to"], heads=places, stack=stack))

    return ends.table_of(
        rows, lambda row: metric(edited(row)), is_of_edges=is_of_edges, progress=progress
    )


class Asked:
    """Which heads, or which edges, a sweep runs over."""

    def __init__(
        self, edges: Any, heads: Any, layers: Any, stack: str | None, who: Any, at_most: int
    ):
        if edges is not None and who is not None:
            raise refused("patching", "who", "given beside edges", "None: each edge has its query")
        self.edges, self.heads, self.layers, self.stack = edges, heads, layers, stack
        self.who = who
        self.at_most = whole("patching", "at_most", at_most)
        self._chosen: list[Head] = []

    def rows(
        self, known: list[Head], weights: Callable[[int, int], np.ndarray]
    ) -> list[dict[str, Any]]:
        """A row per run; ``weights`` gives [Tq, Tk] of a head."""
        self._chosen = self._of_heads(known)
        places = [{"layer": layer, "head": head} for layer, head in self._chosen]
        if self.edges is None:
            return places
        if isinstance(self.edges, str):
            return self._bounded(self._all_edges(weights))
        pairs = [_pair(each, at) for at, each in enumerate(_listed_edges(self.edges))]
        if self.heads is None:
            places = [{}]
        return self._bounded(
            [{**place, "who": who, "to": to} for place in places for who, to in pairs]
        )

    def places(self, row: dict[str, Any]) -> list[Head]:
        """The heads in which a row's edge is removed."""
        return [(row["layer"], row["head"])] if "head" in row else self._chosen

    def _of_heads(self, known: list[Head]) -> list[Head]:
        if self.heads is None:
            return known
        places, numbers = places_of("patching", None, self.heads)
        if numbers is not None:
            places = {layer: numbers for layer, _ in known}
        chosen = [(layer, head) for layer, of_layer in places.items() for head in of_layer or ()]
        for place in chosen:
            if place not in known:
                raise out_of_range("patching", "heads", place, f"(layer, head) of {_spans(known)}")
        return chosen

    def _all_edges(self, weights: Callable[[int, int], np.ndarray]) -> list[dict[str, Any]]:
        if self.edges != "all":
            raise refused("patching", "edges", repr(self.edges), '"all", or pairs (who, to)')
        if self.heads is None:
            raise refused("patching", "heads", "None", 'the heads whose edges "all" stands for')
        return [
            {"layer": layer, "head": head, "who": int(who), "to": int(to)}
            for layer, head in self._chosen
            for who, to in np.argwhere(weights(layer, head) > 0)
        ]

    def _bounded(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if len(rows) > self.at_most:
            raise refused("patching", "edges", f"{len(rows):,} runs of the model",
                          f"at most {self.at_most:,} (at_most=)")  # fmt: skip
        return rows


def _listed_edges(edges: Any) -> list[Any]:
    found = list(edges) if isinstance(edges, Iterable) else None
    if not found:
        raise refused("patching", "edges", kind_of(edges) if found is None else "empty",
                      '"all", or pairs (who, to)')  # fmt: skip
    return found


def _pair(edge: Any, at: int) -> tuple[Any, Any]:
    if isinstance(edge, str) or not hasattr(edge, "__len__") or len(edge) != 2:
        raise made(WrongType, op="patching", argument=f"edges[{at}]", found=repr(edge),
                   expected="a pair (who, to), as in (\"it\", \"cat\") or (8, 2)")  # fmt: skip
    return edge[0], edge[1]


def _spans(known: list[Head]) -> str:
    layers = sorted({layer for layer, _ in known})
    heads = 1 + max(head for _, head in known)
    return f"layers {', '.join(map(str, layers))} and heads 0 to {heads - 1}"


class Ends(NamedTuple):
    """The metric of the clean and of the corrupted run."""

    best: float
    worst: float | None

    @classmethod
    def of(cls, metric: Callable[[Any], Any], clean: Any, corrupted: Any) -> Ends:
        best = _number(metric, clean)
        worst = None if corrupted is None else _number(metric, corrupted)
        for name, end in (("clean", best), ("corrupted", worst)):
            if end is not None and not np.isfinite(end):
                raise refused("patching", "metric", f"{end} for {name}", "a finite number")
        if best == worst:
            raise refused("patching", "metric", f"{best:g} for clean and corrupted",
                          "different numbers")  # fmt: skip
        return cls(best, worst)

    def table_of(
        self, rows: list[dict[str, Any]], found: Callable[[dict[str, Any]], Any], *,
        is_of_edges: bool, progress: Callable[[int, int], None] | None,
    ) -> Any:  # fmt: skip
        """Returns the rows with each run's metric and effect, the largest effects first."""
        begin, end = (self.best, self.worst) if is_of_edges else (self.worst, self.best)
        whole_way = 1.0 if end is None else end - begin
        for done, row in enumerate(rows, 1):
            row["metric"] = float(found(row))
            row["effect"] = (row["metric"] - begin) / whole_way
            if progress is not None:
                progress(done, len(rows))
        return table_of(sorted(rows, key=lambda row: -abs(row["effect"])))


def _number(metric: Callable[[Any], Any], run: Any) -> float:
    found = metric(run)
    try:
        return float(found)
    except (TypeError, ValueError, RuntimeError):
        shape = f" of {list(found.shape)}" if hasattr(found, "shape") else ""
        raise made(
            WrongType, op="patching", argument="metric", found=kind_of(found) + shape,
            expected="a function that returns one number",
        ) from None  # fmt: skip


def check_equally_many(of_clean: int, of_corrupted: int) -> None:
    if of_clean != of_corrupted:
        raise made(
            InvalidArgument, op="patching",
            found=f"clean has {of_clean} tokens and corrupted has {of_corrupted}",
            expected="equally many",
        )  # fmt: skip


def _session(model: Model, name: str, given: Any) -> Session:
    if isinstance(given, str):
        return model.look(given)
    if isinstance(given, Session) and given.model is not None:
        return given
    raise mistyped("patching", name, given, "a text, or a session of the model")


def _heads(session: Session, layers: Iterable[int] | None, stack: str | None) -> list[Head]:
    of = session.stack(stack)
    chosen = of.layer_numbers
    if layers is not None:
        chosen = [whole("patching", "layers", each) for each in layers]
    for layer in chosen:
        if layer not in of.layer_numbers:
            raise out_of_range("patching", "layers", layer, f"0 to {of.layers - 1}")
    return [(layer, head) for layer in chosen for head in range(of.heads)]
