"""The standard probe: what heads do on random tokens that repeat themselves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ._checks import whole
from ._models import Model, load
from ._tables import table_of

NAMES = ("previous", "sink", "duplicate", "induction")


@dataclass(frozen=True)
class Probe:
    """What :func:`probe` found: ``probe.of("induction")[layer, head]``."""

    period: int
    """After how many tokens the sequences repeat."""
    sequences: int
    scores: np.ndarray
    """[layers, heads, 4] float64, in the order "previous", "sink", "duplicate", "induction"."""
    loss_first: float | None
    """Nats per token of the tokens that nothing announces; None where the model writes no text."""
    loss_repeated: float | None
    """The loss of the tokens that the repetition announces."""

    def of(self, name: str) -> np.ndarray:
        """One score of every head, [layers, heads]."""
        if name not in NAMES:
            raise ValueError(f'probe: name is "{name}", expected one of {", ".join(NAMES)}')
        return self.scores[:, :, NAMES.index(name)]

    def table(self) -> Any:
        """A row a head: a pandas DataFrame where pandas is installed, else a small table."""
        layers, heads, _ = self.scores.shape
        return table_of(
            [
                {"layer": layer, "head": head, **dict(zip(NAMES, self.scores[layer, head].tolist()))}
                for layer in range(layers)
                for head in range(heads)
            ]
        )

    def __repr__(self) -> str:
        layer, head = np.unravel_index(self.of("induction").argmax(), self.scores.shape[:2])
        said = f"{self.scores[layer, head, 3]:.2f} (layer {layer}, head {head})"
        if self.loss_first is not None:
            said += f", loss {self.loss_first:.2f}, repeated {self.loss_repeated:.2f}"
        return (
            f"<heed.heads.Probe of {self.sequences} x 2 x {self.period} tokens: largest induction "
            f"{said}>"
        )


def probe(
    model: Model | str | Path, *, sequences: int = 16, period: int = 0, seed: int = 0
) -> Probe:
    """Scores of every head on random tokens that are written twice (Olsson et al. 2022).

    In the second half the answer is known: the token that followed the same token before comes
    again. The scores are means over the rows of the second half, of the weight on the token before
    ("previous"), on the first token ("sink"), on the same token a period ago ("duplicate") and on
    the one that followed it ("induction"). ``heed models NAME`` shows the same.

    Parameters
    ----------
    model : a :class:`heed.Model`, or a folder or a name for :func:`heed.load`
    sequences : how many of them
    period : tokens before a sequence repeats; 0: 64, or half of the model's positions
    seed : of the tokens

    Raises
    ------
    ValueError
        where the model is too short for it, or a number is out of range
    """
    model = model if isinstance(model, Model) else load(model)
    found = model._core.probe(
        whole("probe", "sequences", sequences, least=1),
        whole("probe", "period", period, least=0),
        whole("probe", "seed", seed, least=0),
    )
    period, count, heads, first, repeated = found
    layers = 1 + max(row[0] for row in heads)
    scores = np.array([row[2:] for row in heads]).reshape(layers, -1, len(NAMES))
    losses = (first, repeated) if model.info.writes else (None, None)
    return Probe(period, count, scores, *losses)
