"""Finds and loads models like the program, reads texts with them and generates text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from . import _core
from ._checks import flag, one_of
from ._generation import Generation, generate
from ._session import Session
from ._session_opening import Kept, open_session
from ._tokenizer import Tokenizer
from .errors import WrongType, made, mistyped, refused

_TYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}


def _built_in_models() -> Path:
    """Returns the folder of built-in models: of the installed package, else of the build tree."""
    root = Path(_core.__file__).resolve().parent.parent
    places = [root / "heed_program/share/heed/models", root / "share/heed/models"]
    return next((place for place in places if place.is_dir()), places[0])


_core.set_built_in_models(str(_built_in_models()))


@dataclass(frozen=True)
class StackInfo:
    """The shape of a stack, the attention layers of one kind: "self", or "encoder", "decoder" and
    "cross"."""

    name: str
    layers: int
    heads: int
    kv_heads: int
    causal: bool


@dataclass(frozen=True)
class ModelInfo:
    """A model's shape. ``layers``, ``heads``, ``kv_heads`` and ``causal`` describe its first stack.

    ``kv_heads`` is the number of key/value heads, ``width`` the size of the residual stream,
    ``head_dim`` the head size, and ``vocabulary`` the number of tokens.
    """

    family: str
    title: str
    layers: int
    heads: int
    kv_heads: int
    width: int
    head_dim: int
    vocabulary: int
    positions: int
    """The longest text, in tokens."""
    parameters: int
    causal: bool
    writes: bool
    """Whether it predicts next tokens: it is a decoder or an encoder-decoder."""
    reads_source: bool
    """Whether it is an encoder-decoder."""
    stacks: tuple[StackInfo, ...]


@dataclass(frozen=True)
class FoundModel:
    """A model that ``load`` finds by its name. ``by_name`` is False if an earlier model has the
    same name: load it by its folder. ``about`` is the first paragraph of its card."""

    name: str
    folder: Path
    built_in: bool
    by_name: bool
    about: str


class Model:
    """A loaded model (:func:`heed.load`). It may be used from several threads at once."""

    def __init__(self, core: _core.Model, dtype: str | None, stream: bool | None = None):
        self._core = core
        self._dtype = dtype
        self._stream = stream

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_again, (str(self.folder), self._dtype, self._stream)

    @property
    def streams(self) -> bool:
        """Whether weights stay in the file until they are needed."""
        return self._core.streams

    @property
    def name(self) -> str:
        return self._core.name

    @property
    def folder(self) -> Path:
        return Path(self._core.folder)

    @property
    def built_in(self) -> bool:
        return self._core.built_in

    @cached_property
    def info(self) -> ModelInfo:
        parts = self._core.info
        stacks = tuple(StackInfo(**stack) for stack in parts.pop("stacks"))
        return ModelInfo(**parts, stacks=stacks)

    @cached_property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer of the text that the model reads; None if its folder has none."""
        return Tokenizer(self._core) if self._core.has_tokenizer else None

    @cached_property
    def target_tokenizer(self) -> Tokenizer | None:
        """The tokenizer of the text that the model writes; None if its folder has none."""
        return Tokenizer(self._core, target=True) if self._core.has_tokenizer else None

    def logits(self, ids: Any, source: Any = None) -> np.ndarray:
        """Returns the logits after each token, [T, vocabulary] float32.

        ``ids`` are token ids. For an encoder-decoder they are the ids that it writes, and
        ``source`` are the ids that it reads.
        """
        return np.asarray(self._core.logits(ids, source))

    def look(
        self,
        text: str | None = None,
        *,
        pair: str | None = None,
        target: Any = None,
        ids: Any = None,
        cut: str | None = None,
        logits: bool = False,
        hidden: bool = False,
        edits: Any = None,
        keep_layers: Iterable[int] | None = None,
        keep: str = "float32",
    ) -> Session:
        """Reads a text and returns a :class:`Session`, from which any attention weight can be
        computed.

        Parameters
        ----------
        text : the text to read; for an encoder-decoder the source
        pair : a second text, for an encoder
        target : the text that an encoder-decoder writes (ids, if ``ids`` is given); without it, the
            model writes one itself
        ids : token ids instead of a text
        cut : if the text has more tokens than the model has positions, read its "first" or its
            "last" tokens
        logits : keep the logits of every position, even for a long text
        hidden : keep the states after the last norm
        edits : changes of attention during the pass, a list made by ``heed.edits``
        keep_layers : keep the attention of these layers only, ``range(8, 13)``. The others are run
            but not kept, and asking for one raises LookupError
        keep : the type in which queries, keys and values are kept: "float16" takes half of the
            memory and changes weights a little (:attr:`Session.score_error`)

        Raises
        ------
        ValueError
            if the text has more tokens than the model has positions, if the model does not read a
            pair or write a target, or if an edit cannot apply
        RuntimeError
            if there is not enough memory; raised before the pass, and names what would fit
        """
        kept = Kept.checked(logits, hidden, keep_layers, keep)
        return open_session(self, text, pair, target, ids, cut, kept, edits)

    def chat_text(self, messages: list[dict[str, Any]], *, add_generation_prompt: bool = True,
                  template: str | None = None, **variables: Any) -> str:  # fmt: skip
        """Returns the text that the model's chat template makes of messages.

        The text contains its special tokens, so encode it with ``special=False``. :meth:`generate`
        takes the messages themselves.

        Parameters
        ----------
        messages : the conversation, [{"role": "user", "content": "Why?"}]
        add_generation_prompt : whether the beginning of the answer is added
        template : a Jinja template instead of the model's own
        variables : further variables of the template: tools=, enable_thinking=

        Raises
        ------
        FileNotFoundError
            if the model has no template; names the files that were looked for
        ValueError
            if the template refuses the messages, or uses something that heed does not support;
            names file and line
        """
        given = {
            "messages": messages, "add_generation_prompt": add_generation_prompt, **variables
        }  # fmt: skip
        return self._core.chat_text(json.dumps(given), template or "")

    def generate(self, prompt: Any, **settings: Any) -> Generation:
        """Continues a prompt, token by token; an encoder-decoder reads the prompt and writes an
        answer. Leaving the loop ends the work.

        Settings that are not given here come from the folder's ``generation_config.json`` (beams,
        sampling, penalties, stop texts, forced and suppressed tokens), else they have the defaults
        below. A setting of sampling (temperature to min_p, seed) or ``beams`` overrides the file's
        choice between search and sampling. A warning names keys that heed does not follow.

        Parameters
        ----------
        prompt : a text, token ids, or a chat ([{"role": "user", "content": "Why?"}], which the
            model's chat template turns into a text); or a list of them, continued side by side
        n : 200; the largest number of tokens for each prompt
        temperature : 0.8; 0 takes the most probable token each time
        top_k, top_p, min_p : sample only from the ``top_k`` most probable tokens (at least 1), from
            the most probable ones that together have probability ``top_p``, or from those with at
            least ``min_p`` times the largest probability; None: no such limit, unless the file
            has one
        repetition_penalty : 1; above 1, tokens that occurred become less probable
        no_repeat_ngram : 0; above 0, no sequence of this many tokens occurs twice
        seed : 0; the same seed gives the same text, whatever else is in the list
        stop : a text, or several; generation ends before it
        stop_at_end : True; False treats the end token like any other
        beams : search for the most probable text with this many texts side by side (1: the most
            probable token each time), with ``length_penalty`` (1) and ``early_stopping`` (False,
            True or "never")
        cache_dtype : "float32"; the type in which keys and values are kept: "float16", "bfloat16",
            "int8"

        Returns
        -------
        A :class:`Generation`: iterate over it, or call ``run()`` for the whole text.

        Raises
        ------
        ValueError, TypeError
            for a setting that is out of range, or that would have no effect beside the others
        """
        return generate(self, prompt, settings)

    def __repr__(self) -> str:
        info = self.info
        stacks = ", ".join(
            ("" if each.name == "self" else f"{each.name} ") + f"{each.layers} x {each.heads} heads"
            for each in info.stacks
        )
        return f"<heed.Model {self.name}: {info.title}, {stacks}, {info.parameters:,} parameters>"


def load(name: str | Path | None = None, *, dtype: str | None = "float32",
         stream: bool | None = None) -> Model:  # fmt: skip
    """Loads a model from a folder in Hugging Face's layout, from a GGUF file, or by its name.

    Parameters
    ----------
    name : a folder, a GGUF file, or a name that is looked up in $HEED_MODELS, ./models, the stores
        of Hugging Face, Ollama, LM Studio and llama.cpp, and among the built-in models; None is the
        built-in model
    dtype : the type in which weights are held: "float32", "float16", "bfloat16", or None for the
        file's type
    stream : leave weights in the file and read each matrix when it is needed, which takes little
        memory and more time; None: only if the weights do not fit into memory

    Raises
    ------
    LookupError
        if no model has the name; lists the known ones
    ValueError, OSError
        if the folder is not a model's, or cannot be read; names file and tensor
    """
    if not isinstance(name, (str, PathLike, type(None))):
        raise mistyped("load", "name", name, "a folder, a name, or None")
    if dtype is not None and dtype not in _TYPES:
        expected = '"float32", "float16", "bfloat16" or None, the file\'s own'
        raise refused("load", "dtype", repr(dtype), expected)
    held = None if dtype is None else _TYPES[dtype]
    if stream is not None:
        stream = flag("load", "stream", stream)
    return Model(_core.load("" if name is None else str(name), held, stream), dtype, stream)


def _load_again(folder: str, dtype: str | None, stream: bool | None = None) -> Model:
    return load(folder, dtype=dtype, stream=stream)


def models() -> list[FoundModel]:
    """Lists the models that ``load`` finds by name, in the order in which it looks."""
    return [
        FoundModel(name, Path(folder), built_in, by_name, about)
        for name, folder, built_in, by_name, about in _core.list_models()
    ]


@lru_cache(maxsize=3)
def _loaded(folder: str) -> Model:
    return load(folder)


_SETTINGS = tuple(signature(Model.look).parameters)[2:]
"""The keywords of `Model.look`, without self and text."""


def look(text: str | None = None, *, model: Model | str | Path | None = None,
         **settings: Any) -> Session:  # fmt: skip
    """Reads a text with a built-in model, or with ``model``, and shows who attends to whom: calls
    :meth:`Model.look` and returns its :class:`Session`.

    Without ``model`` the built-in encoder reads a ``pair`` or a text with a gap (``[MASK]``), and
    the built-in translator a ``target``, if these models are installed.

    >>> session = heed.look("The cat sat on the mat because it was tired.")
    >>> session.weights.shape
    (6, 6, 12, 12)
    """
    for name in settings:
        if name not in _SETTINGS:
            raise made(WrongType, op="look", argument=name, found="given",
                       expected=one_of(name, ("model", *_SETTINGS)))  # fmt: skip
    if model is None:
        given = (settings.get(name) is not None for name in ("pair", "target"))
        model = _loaded(_core.built_in_model("" if text is None else str(text), *given))
    elif not isinstance(model, Model):
        model = load(model)
    return model.look(text, **settings)
