"""Models: found and loaded as the program does, then looked at and written with."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from . import _core
from ._checks import flag, kind_of
from ._generation import Generation, generate
from ._session import Session
from ._session_opening import Kept, open_session
from ._tokenizer import Tokenizer
from .errors import WrongType, made, refused

_TYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}


def _built_in_models() -> Path:
    """Beside an installed package; else in the build tree."""
    root = Path(_core.__file__).resolve().parent.parent
    places = [root / "heed_program/share/heed/models", root / "share/heed/models"]
    return next((place for place in places if place.is_dir()), places[0])


_core.set_built_in_models(str(_built_in_models()))


@dataclass(frozen=True)
class StackInfo:
    """The attentions of one name: "self", or "encoder", "decoder" and "cross"."""

    name: str
    layers: int
    heads: int
    kv_heads: int
    causal: bool


@dataclass(frozen=True)
class ModelInfo:
    """A model's shape. ``layers``, ``heads``, ``kv_heads``, ``causal`` are of its first stack."""

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
    """Whether it predicts next tokens: a decoder, alone or behind an encoder."""
    reads_source: bool
    """Whether it is an encoder-decoder."""
    stacks: tuple[StackInfo, ...]


@dataclass(frozen=True)
class FoundModel:
    """A model that ``load`` finds by its name, or by its folder where another has the name."""

    name: str
    folder: Path
    built_in: bool
    by_name: bool
    about: str


class Model:
    """A model that is loaded (:func:`heed.load`). It may be used from several threads at once."""

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
        """The tokenizer of the text that the model reads; None where its folder has none."""
        return Tokenizer(self._core) if self._core.has_tokenizer else None

    @cached_property
    def target_tokenizer(self) -> Tokenizer | None:
        """The tokenizer of the text that the model writes."""
        return Tokenizer(self._core, target=True) if self._core.has_tokenizer else None

    def logits(self, ids: Any, source: Any = None) -> np.ndarray:
        """The logits behind each token, [T, vocabulary] float32.

        ``ids`` are token ids; of an encoder-decoder those that it writes, and ``source`` those that
        it reads.
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
        """Reads a text and keeps what every attention weight follows from.

        Parameters
        ----------
        text : what is read; of an encoder-decoder the source
        pair : a second text that an encoder reads beside it
        target : what an encoder-decoder writes (with ``ids``, as ids); without one, what it writes
            by itself
        ids : token ids in the place of a text
        cut : of a text with more tokens than the model has positions, read the "first" or the
            "last" ones
        logits : keep the logits of every position even of a long text
        hidden : keep the states behind the last norm
        edits : what the pass does otherwise, a list of what ``heed.edits`` makes
        keep_layers : keep the attention of these layers alone, ``range(8, 13)``; the others are
            run and not kept, and asking for one raises LookupError
        keep : the type in which queries, keys and values are kept: "float16" takes half of the
            memory and changes weights a little (:attr:`Session.score_error`)

        Raises
        ------
        ValueError
            where the text has more tokens than the model has positions, or the model is not of the
            kind that reads a pair or writes a target; where an edit cannot apply
        RuntimeError
            where memory does not suffice, before it is taken: it names what would fit
        """
        kept = Kept.checked(logits, hidden, keep_layers, keep)
        return open_session(self, text, pair, target, ids, cut, kept, edits)

    def chat_text(self, messages: list[dict[str, Any]], *, add_generation_prompt: bool = True,
                  template: str | None = None, **variables: Any) -> str:  # fmt: skip
        """The text that the model's chat template makes of messages.

        Its special tokens are a part of it, so encode it with ``special=False``. :meth:`generate`
        takes the messages themselves.

        Parameters
        ----------
        messages : the conversation, [{"role": "user", "content": "Why?"}]
        add_generation_prompt : whether the beginning of the answer is added
        template : a Jinja template in place of the model's own
        variables : what else the template reads: tools=, enable_thinking=

        Raises
        ------
        FileNotFoundError
            where the model has no template: it names what was sought
        ValueError
            where the template refuses the messages, or asks for what heed does not have: it names
            file and line
        """
        given = {
            "messages": messages, "add_generation_prompt": add_generation_prompt, **variables
        }  # fmt: skip
        return self._core.chat_text(json.dumps(given), template or "")

    def generate(self, prompt: Any, **settings: Any) -> Generation:
        """Continues a prompt, or answers it where the model is an encoder-decoder: an iterator of
        tokens. Leaving the loop ends the work.

        What is not given here is as the folder's ``generation_config.json`` says (beams, sampling,
        penalties, stop texts, forced and suppressed tokens), else the default. A setting that
        chooses tokens (temperature to min_p, seed), or ``beams``, takes the place of the file's
        choice between searching and sampling. A warning names keys that heed does not follow.

        Parameters
        ----------
        prompt : a text, token ids, or a chat ([{"role": "user", "content": "Why?"}], which the
            model's template writes); or a list of them, which are written side by side
        n : 200; tokens at most, of each prompt
        temperature : 0.8; 0 takes the likeliest token each time
        top_k, top_p, min_p : only the most probable tokens, as many (at least 1), or with so much
            of the probability together, or with at least that share of the likeliest one's; None
            is all of them, unless the file says otherwise
        repetition_penalty : 1; above it tokens that occurred become less probable
        no_repeat_ngram : 0; above it no sequence of so many tokens comes twice
        seed : 0; the same seed gives the same text, whatever else is in the list
        stop : a text, or several, before which to end
        stop_at_end : True; False treats the end token as any other
        beams : a search for the most probable text with as many side by side (1: the likeliest
            token each time), with ``length_penalty`` (1) and ``early_stopping`` (False, True or
            "never")
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
    name : a folder, a GGUF file, or a name that is looked for in $HEED_MODELS, ./models, the
        stores of Hugging Face, Ollama, LM Studio and llama.cpp and among the built-in models;
        None is the built-in model
    dtype : in which type weights are held: "float32", "float16", "bfloat16", or None for the file's
    stream : leave weights in the file and read each matrix when it is needed, which takes little
        memory and more time; None: where weights do not fit into memory

    Raises
    ------
    LookupError
        where nothing has the name: it says what there is
    ValueError, OSError
        where the folder is not a model's, or cannot be read: it names file and tensor
    """
    if not isinstance(name, (str, PathLike, type(None))):
        raise made(WrongType, op="load", argument="name", found=kind_of(name),
                   expected="a folder, a name, or None")  # fmt: skip
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
    """The models that ``load`` finds by name, in the order in which it looks."""
    return [
        FoundModel(name, Path(folder), built_in, by_name, about)
        for name, folder, built_in, by_name, about in _core.list_models()
    ]


@lru_cache(maxsize=3)
def _loaded(folder: str) -> Model:
    return load(folder)


def look(text: str | None = None, *, model: Model | str | Path | None = None,
         **settings: Any) -> Session:  # fmt: skip
    """Who attends to whom in a text: :meth:`Model.look` of a built-in model, or of another.

    Without ``model`` a ``pair``, or a text with a gap (``[MASK]``), is read by the built-in encoder
    and a ``target`` by the built-in translator, where these came with heed.

    >>> session = heed.look("The cat sat on the mat because it was tired.")
    >>> session.weights.shape
    (6, 6, 12, 12)
    """
    if model is None:
        given = (settings.get(name) is not None for name in ("pair", "target"))
        model = _loaded(_core.built_in_model("" if text is None else str(text), *given))
    elif not isinstance(model, Model):
        model = load(model)
    return model.look(text, **settings)
