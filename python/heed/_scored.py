"""Models whose heads can be scored: heed's own, and those of transformers with their tokenizer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

from ._models import Model, load
from ._session import Session
from ._texts import checked
from .errors import Unsupported, WrongType, kind_of, made, refused

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedModel

    from .transformers import SeenModel

Reference = tuple[Any, ...]
"""A function that gives a worker the model, and its arguments."""


class Scored(Protocol):
    """A model whose heads can be scored on texts."""

    def session(self, text: str) -> Session: ...

    def shared(self) -> AbstractContextManager[Reference]:
        """Gives workers a way to load the model, which works inside the ``with``."""


def scored_model(model: Any, tokenizer: Any) -> Scored:
    if is_of_torch(model):
        return TransformersModel(model, tokenizer)
    check_model("score", model)
    if tokenizer is not None:
        expected = "None: a model of heed has its own tokenizer"
        raise refused("score", "tokenizer", kind_of(tokenizer), expected)
    return OwnModel(model if isinstance(model, Model) else load(model))


def check_model(op: str, model: Any) -> None:
    """Refuses what is neither a model of heed nor a name that `load` takes."""
    if not isinstance(model, (Model, str, PathLike, type(None))):
        raise made(
            WrongType, op=op, argument="model", found=kind_of(model),
            expected="a heed.Model, a folder or a name of one, or a model of transformers",
        )  # fmt: skip


def is_of_torch(model: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


class OwnModel:
    """A model that heed runs itself."""

    def __init__(self, model: Model):
        self._model = model

    @classmethod
    def loaded(cls, folder: str, dtype: str | None) -> OwnModel:
        return cls(load(folder, dtype=dtype))

    def session(self, text: str) -> Session:
        session = self._model.look(checked(text, "text"), cut="first")
        # Special tokens alone would give scores of 0 for an empty text.
        if not any(token.end > token.begin for token in session.key_tokens):
            raise _empty(text)
        return session

    @contextmanager
    def shared(self) -> Iterator[Reference]:
        yield OwnModel.loaded, str(self._model.folder), self._model._dtype


_UNKNOWN = 10**9
"""Tokenizers whose files have no maximum length report 10^30."""


class TransformersModel:
    """A model of transformers, scored by watching it."""

    def __init__(self, model: Any, tokenizer: Any):
        if tokenizer is None:
            raise made(WrongType, op="score", argument="tokenizer", found="None",
                       expected="the tokenizer of the model")  # fmt: skip
        self._model = model
        self._inner = inner_model(model)
        self._tokenizer = tokenizer

    @classmethod
    def loaded(cls, file: str) -> TransformersModel:
        import torch

        return cls(*torch.load(file, weights_only=False, mmap=True))

    def session(self, text: str) -> Session:
        text = checked(text, "text")
        lengths = positions_of(self._inner), getattr(self._tokenizer, "model_max_length", None)
        most = min((each for each in lengths if each and each < _UNKNOWN), default=None)
        cut = {"truncation": True, "max_length": most} if most else {}
        given = self._tokenizer(text, return_tensors="pt", **cut)
        special = getattr(self._tokenizer, "all_special_ids", ())
        if set(given["input_ids"][0].tolist()) <= set(special):
            raise _empty(text)
        seen, _ = read(self._model, given.to(self._inner.device), self._tokenizer)
        return seen.look()

    @contextmanager
    def shared(self) -> Iterator[Reference]:
        """Writes the model in its present state to a temporary file, which workers load."""
        import torch

        with TemporaryDirectory(prefix="heed-") as folder:
            file = str(Path(folder) / "model")
            try:
                torch.save((self._model, self._tokenizer), file)
            except Exception as error:
                raise made(
                    Unsupported, op="score", argument="model",
                    found=f"not to be pickled for the workers ({error})", expected="engine=None",
                ) from error  # fmt: skip
            yield TransformersModel.loaded, file


def read(
    model: Any, given: Any, tokenizer: Any = None, *, writes: bool = True, op: str = "score"
) -> tuple[SeenModel, Any]:
    """Watches a pass of a model of transformers without dropout. Returns the result of the watch
    and the model's output.

    An encoder-decoder writes greedily; if it cannot write, or ``writes`` is False, only its encoder
    runs.
    """
    import torch

    from .transformers import watch

    inner = inner_model(model, op)
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        with watch(model, tokenizer) as seen, torch.no_grad():
            if not inner.config.is_encoder_decoder:
                output = model(**given)
            elif writes and inner.can_generate():
                output = inner.generate(**given, do_sample=False, num_beams=1)
            else:
                output = inner.get_encoder()(**given)
    finally:
        for module in training:
            module.training = True
    return seen, output


def inner_model(model: nn.Module, op: str = "score") -> PreTrainedModel:
    """Returns the model of transformers inside a compiled model, ``DataParallel`` or PEFT."""
    from .transformers._models import unwrapped

    return unwrapped(model, op)


def positions_of(model: Any) -> int | None:
    """Returns the largest number of tokens that the model takes; None if its config does not
    say."""
    return getattr(model.config.get_text_config(), "max_position_embeddings", None)


def _empty(text: str) -> Exception:
    return refused("score", "text", repr(text[:80]), "at least one token")
