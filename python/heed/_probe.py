"""The induction probe: scores of heads on random tokens that repeat."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._checks import one_of, whole
from ._models import Model, load
from ._scored import check_model, inner_model, is_of_torch, positions_of, read
from ._tables import table_of
from .errors import refused

if TYPE_CHECKING:
    from torch import Tensor, nn

NAMES = ("previous", "sink", "duplicate", "induction")
_USUAL_PERIOD = 64


@dataclass(frozen=True)
class Probe:
    """The result of :func:`probe`: ``probe.of("induction")[layer, head]``."""

    period: int
    """The number of tokens after which a sequence repeats."""
    sequences: int
    """The number of sequences."""
    scores: np.ndarray
    """[layers, heads, 4] float64, in the order "previous", "sink", "duplicate", "induction"; NaN
    for layers without attention."""
    loss_first: float | None
    """The loss of the first half, whose tokens cannot be predicted, in nats per token; None if the
    model does not predict next tokens."""
    loss_repeated: float | None
    """The loss of the second half, whose tokens can be predicted from the repetition."""

    def of(self, name: str) -> np.ndarray:
        """Returns one score of every head, [layers, heads]."""
        if name not in NAMES:
            raise refused("probe", "name", f'"{name}"', one_of(name, NAMES))
        return self.scores[:, :, NAMES.index(name)]

    def table(self) -> Any:
        """Returns one row per head: a pandas DataFrame where pandas is installed, else a
        :class:`heed.Table`."""
        return table_of(
            [
                {"layer": layer, "head": head, **dict(zip(NAMES, scores.tolist()))}
                for layer, of_heads in enumerate(self.scores)
                for head, scores in enumerate(of_heads)
                if not np.isnan(scores[0])
            ]
        )

    def __repr__(self) -> str:
        layer, head = np.unravel_index(np.nanargmax(self.of("induction")), self.scores.shape[:2])
        said = f"{self.scores[layer, head, 3]:.2f} (layer {layer}, head {head})"
        if self.loss_first is not None:
            said += f", loss {self.loss_first:.2f}, repeated {self.loss_repeated:.2f}"
        return (
            f"<heed.heads.Probe of {self.sequences} x 2 x {self.period} tokens: largest induction "
            f"{said}>"
        )


def probe(
    model: Model | str | Path | nn.Module, *, sequences: int = 16, period: int = 0, seed: int = 0
) -> Probe:
    """Scores of every head on random tokens that are written twice (Olsson et al. 2022).

    In the second half the next token is known: the one that followed the same token before. The
    scores are mean weights over the rows of the second half: on the token before ("previous"), on
    the first token ("sink"), on the same token a period ago ("duplicate") and on the token that
    followed it ("induction"). ``heed models NAME`` shows the same.

    Parameters
    ----------
    model : a :class:`heed.Model`, or a folder or a name for :func:`heed.load`; or a model of
        transformers. For an encoder-decoder of transformers the encoder is probed
    sequences : the number of sequences
    period : the number of tokens before a sequence repeats; 0: 64, or half of the model's positions
        if that is less
    seed : the seed of the random tokens

    Raises
    ------
    ValueError
        if the model has too few positions, or a number is out of range
    """
    numbers = (
        whole("probe", "sequences", sequences, least=1),
        whole("probe", "period", period, least=0),
        whole("probe", "seed", seed, least=0),
    )
    if is_of_torch(model):
        return _probe_of_transformers(model, *numbers)
    check_model("probe", model)
    model = model if isinstance(model, Model) else load(model)
    period, count, heads, first, repeated = model._core.probe(*numbers)
    layers = 1 + max(row[0] for row in heads)
    scores = np.array([row[2:] for row in heads]).reshape(layers, -1, len(NAMES))
    losses = (first, repeated) if model.info.writes else (None, None)
    return Probe(period, count, scores, *losses)


def _probe_of_transformers(model: Any, sequences: int, period: int, seed: int) -> Probe:
    inner = inner_model(model, "probe")
    period = _period_for(inner, period)
    random = np.random.default_rng(seed)
    once = random.choice(plain_tokens(inner), (sequences, period))
    found = [_of_sequence(model, ids) for ids in np.concatenate([once, once], 1)]
    scores, losses = (np.mean(each, 0) for each in zip(*found))
    known = [None if np.isnan(loss) else float(loss) for loss in losses]
    return Probe(period, sequences, scores, *known)


def _period_for(model: Any, period: int) -> int:
    positions = positions_of(model) or 2 * max(period, _USUAL_PERIOD)
    most = positions // 2
    if most < 2:
        raise refused("probe", "model", f"of {positions} positions", "at least 4")
    if period and not 2 <= period <= most:
        raise refused("probe", "period", period, f"2 to {most} (half of the model's positions)")
    return period or min(_USUAL_PERIOD, most)


def plain_tokens(model: Any) -> np.ndarray:
    """Returns the ids that the model's config does not name as special, such as the end token."""
    config = model.config.get_text_config()
    named = [value for name, value in config.to_dict().items() if name.endswith("token_id")]
    special = [each for value in named for each in (value if isinstance(value, list) else [value])]
    return np.setdiff1d(np.arange(config.vocab_size), [id for id in special if id is not None])


def _of_sequence(model: Any, ids: np.ndarray) -> tuple[np.ndarray, tuple[float, float]]:
    """Returns the scores [layers, heads, 4] and the two losses on one sequence."""
    import torch

    given = torch.from_numpy(ids)[None].to(inner_model(model, "probe").device)
    seen, output = read(model, {"input_ids": given}, writes=False, op="probe")
    if len(seen.stacks) != 1:
        found = f"with the stacks {', '.join(seen.stacks)}"
        raise refused("probe", "model", found, "a model of one stack, such as a part of this one")
    ((stack, layers),) = seen.stacks.items()
    rows = np.arange(len(ids) // 2)
    found = {}
    for layer in layers:
        weights = np.asarray(seen.attention(layer).weights[0, :, len(rows) :])  # [H, P, 2 P]
        keys = len(rows) + rows - 1, 0 * rows, rows, rows + 1  # in the order of NAMES
        found[layer] = np.stack([weights[:, rows, each].mean(1) for each in keys], 1)
    heads = max(map(len, found.values()))
    scores = np.full((1 + max(layers), heads, len(NAMES)), np.nan)
    for layer, of_heads in found.items():
        scores[layer, : len(of_heads)] = of_heads
    return scores, _losses(getattr(output, "logits", None), given[0], stack)


def _losses(logits: Tensor | None, ids: Tensor, stack: str) -> tuple[float, float]:
    """Returns the losses of the first and of the second half, in nats per token; NaN for
    encoders."""
    if logits is None or stack != "decoder" or logits.shape[1] != len(ids):
        return np.nan, np.nan
    surprise = logits[0, :-1].double().log_softmax(-1).gather(1, ids[1:, None])[:, 0].neg()
    # The first repeated token counts with the first half: the token before it ended a period, and
    # nothing followed that token earlier.
    period = len(ids) // 2
    return float(surprise[:period].mean()), float(surprise[period:].mean())
