"""Trains models on text."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from . import _core
from ._models import Model, load
from ._token_batches import TokenBatches, validation_rows
from .errors import (
    Corrupt,
    FileMissing,
    InvalidArgument,
    WrongType,
    kind_of,
    made,
    mistyped,
    refused,
)

_log = logging.getLogger("heed.train")


@dataclass(frozen=True)
class TrainStep:
    """The state of a run that a callback gets after each step."""

    step: int
    """The number of steps done."""
    steps: int
    """The number of steps of the run."""
    loss: float
    """The mean loss over the step's tokens, before the update, in nats per token."""
    learning_rate: float
    gradient_norm: float
    """The norm of the whole gradient before clipping."""
    tokens_per_second: float
    seconds_left: float
    validation_loss: float | None
    """The validation loss, if an evaluation followed this step; else None."""
    save: Callable[[str], None] = field(repr=False, compare=False)

    def model(self) -> Model:
        """Returns the model as it is after this step. Call it inside the callback only.

        Later steps do not change the returned model.
        """
        with tempfile.TemporaryDirectory(prefix="heed-") as folder:
            place = Path(folder) / f"step-{self.step}"
            self.save(str(place))
            return load(place)


class Trained:
    """A run and its folder, which ``heed train --resume`` and ``train(..., resume=True)``
    continue."""

    def __init__(self, folder: Path, result: dict[str, Any] | None):
        self.folder = folder
        self.finished = result is not None
        """False if the callback ended the run; the last checkpoint is then kept."""
        self.result = result or {}

    @property
    def config(self) -> dict[str, Any]:
        """Every key of the run's configuration."""
        return json.loads(_core.stored_config(str(self.folder)))

    @cached_property
    def model(self) -> Model:
        """The model with the best validation loss so far, loaded.

        Raises
        ------
        LookupError
            if the run ended before a model was written
        """
        return load(self.folder / "model")

    @cached_property
    def losses(self) -> np.ndarray:
        """One row per step, with the columns of ``loss.csv``: ``losses["train_loss"]``. The
        validation loss is NaN at steps without an evaluation."""
        return np.genfromtxt(self.folder / "loss.csv", delimiter=",", names=True, ndmin=1)

    @property
    def loss(self) -> float:
        """The loss of the last step."""
        return float(self.losses["train_loss"][-1])

    @property
    def validation_loss(self) -> float | None:
        return self.result.get("validation_loss")

    @property
    def best_loss(self) -> float | None:
        """The lowest validation loss."""
        return self.result.get("best_loss")

    @property
    def best_step(self) -> int | None:
        return self.result.get("best_step")

    def __repr__(self) -> str:
        state = "finished" if self.finished else "not finished"
        steps = len(self.losses)
        return f"<heed.Trained {self.folder}: {steps} steps, loss {self.loss:.4f}, {state}>"


def train(
    config: Mapping[str, Any] | str | PathLike[str] | None = None,
    folder: str | PathLike[str] | None = None,
    *,
    resume: bool = False,
    on_step: Callable[[TrainStep], Any] | None = None,
    writer: Any = None,
    batches: Iterable[Any] | None = None,
    validation_batches: Iterable[Any] | None = None,
    **keys: Any,
) -> Trained:
    """Trains a model on text files, like ``heed train``, or on batches of token ids, and writes
    it into a folder.

    Parameters
    ----------
    config : a dict, or the name of a JSON file, with the keys of docs/training.md: ``data``,
        ``steps``, ``layers``, ``heads``, ``width``, ``block``, ``tokenizer``, ... ; ``keys``
        override them
    folder : the folder for run.json, loss.csv, checkpoints and ``model/``
    resume : continue from the folder's last checkpoint, with the same losses bit for bit; the
        configuration may then be left out
    on_step : called after each step with a :class:`TrainStep`, whose ``model()`` is the model at
        that step. Returning False ends the run with a checkpoint. So do an exception and Ctrl-C,
        which this call then raises
    writer : a ``torch.utils.tensorboard.SummaryWriter``, or another object with
        ``add_scalar(tag, value, step)``. It gets ``loss/train``, ``loss/validation``,
        ``learning_rate``, ``gradient_norm`` and ``tokens_per_second``, and stays open
    batches : the examples in place of ``data``: an iterable of batches of token ids, such as a
        data loader. A batch is an integer array or tensor ``[rows, tokens]`` or a list of rows,
        which may differ in length; a row has at most ``block + 1`` ids, each but the first of which
        is predicted. ``batch`` is by default the number of rows of the first batch, ``steps`` one
        pass over an iterable that has a length. A list or a loader starts again after its end; an
        iterator must last for all steps. ``tokenizer`` names a file or is left out: then
        ``vocabulary`` is the number of ids. A resumed run reads and drops the batches of the steps
        that are done, so ``batches`` should begin as it did
    validation_batches : batches to validate on, all of which are read at the start

    Raises
    ------
    ValueError, TypeError
        for a key that is unknown or out of range, or a folder that holds a run already
    RuntimeError
        if the loss is not finite
    OSError
        if the system does not allow writing the folder
    """
    if folder is None:
        raise made(InvalidArgument, op="train", argument="folder", expected="the run's folder")
    if not isinstance(config, (Mapping, str, PathLike, type(None))):
        raise mistyped("train", "config", config, "a dict, the name of a JSON file, or None")
    if on_step is not None and not callable(on_step):
        raise mistyped("train", "on_step", on_step, "a function, or None")
    if writer is not None and not callable(getattr(writer, "add_scalar", None)):
        raise mistyped("train", "writer", writer, "a SummaryWriter, or None")
    where = Path(folder)
    if batches is None and validation_batches is not None:
        raise refused("train", "validation_batches", "given without batches",
                      "both (validation_data names files)")  # fmt: skip
    stream = None if batches is None else TokenBatches(batches)
    validation = [] if validation_batches is None else validation_rows(validation_batches)
    usual = {} if stream is None else _usual_of(batches, stream)
    text, origin = _configuration(config, keys, where if resume else None, usual)
    result: Any = _core.train(text, origin, str(where), resume, _heard(on_step, writer), _log.info,
                              stream, validation)  # fmt: skip
    return Trained(where, result)


def _usual_of(batches: Any, stream: TokenBatches) -> dict[str, int]:
    """The keys that batches decide where they are not given."""
    usual = {"batch": len(stream.first)}
    if hasattr(batches, "__len__"):
        usual["steps"] = len(batches)
    return usual


def _heard(
    on_step: Callable[[TrainStep], Any] | None, writer: Any
) -> Callable[[dict[str, Any]], Any]:
    def heard(said: dict[str, Any]) -> Any:
        step = TrainStep(**said)
        if writer is not None:
            _write_scalars(writer, step)
        return None if on_step is None else on_step(step)

    return heard


def _write_scalars(writer: Any, step: TrainStep) -> None:
    scalars = {
        "loss/train": step.loss,
        "loss/validation": step.validation_loss,
        "learning_rate": step.learning_rate,
        "gradient_norm": step.gradient_norm,
        "tokens_per_second": step.tokens_per_second,
    }
    for tag, value in scalars.items():
        if value is not None:
            writer.add_scalar(tag, value, step.step)


def _configuration(
    config: Any, keys: dict[str, Any], resumed: Path | None, usual: dict[str, int]
) -> tuple[str, str]:
    """The configuration as JSON, and the file that it is from (empty: it is from none).

    ``usual`` has values for keys that are not given.
    """
    origin = ""
    if config is None and resumed is not None and (resumed / "run.json").exists():
        config = json.loads(_core.stored_config(str(resumed)))
    elif config is None and resumed is not None and not keys:
        expected = "the folder of a run that could be resumed"
        raise made(FileMissing, op="train", argument="folder", found=str(resumed),
                   expected=expected)  # fmt: skip
    elif isinstance(config, (str, PathLike)):
        origin = str(config)
        if Path(config).exists() and not Path(config).is_file():  # a pipe would block
            raise made(Corrupt, op="train", file=origin, found="a folder, a pipe or a device",
                       expected="a file")  # fmt: skip
        text = Path(config).read_text(encoding="utf-8")
        if not keys and not usual:
            return text, origin
        config = json.loads(text)
        origin = ""
    merged = {**(config or {}), **keys}
    accumulate = merged.get("accumulate", 1)
    if "steps" in usual and isinstance(accumulate, int) and accumulate > 0:
        usual["steps"] = max(1, usual["steps"] // accumulate)
    merged = {**usual, **merged}
    if isinstance(merged.get("data"), (str, PathLike)):
        merged["data"] = [merged["data"]]
    return "{" + ", ".join(_entry(name, value) for name, value in merged.items()) + "}", origin


def _entry(name: Any, value: Any) -> str:
    """Returns one key of the configuration as JSON."""
    try:
        written = json.dumps(value, default=_plain, allow_nan=False)
    except TypeError as error:
        raise made(WrongType, op="train", argument=str(name), found=str(error),
                   expected="a number, a text, texts, True or False") from None  # fmt: skip
    except ValueError:  # of a float that JSON cannot hold
        raise refused("train", str(name), value, "a finite number") from None
    return f"{json.dumps(str(name))}: {written}"


def _plain(value: Any) -> Any:
    if isinstance(value, PathLike):
        return str(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(kind_of(value))
