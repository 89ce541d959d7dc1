"""Generates text with a model, token by token."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Number
from typing import TYPE_CHECKING, Any

from . import _core
from ._texts import checked
from ._checks import whole
from .errors import Error, mistyped, refused, renamed

if TYPE_CHECKING:
    from ._models import Model

_SETTINGS = frozenset({
    "n", "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "no_repeat_ngram", "seed",
    "stop", "stop_at_end", "beams", "length_penalty", "early_stopping", "cache_dtype",
})  # fmt: skip
_STOPPING = {True: "true", False: "false", "never": "never"}
_CACHE_TYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int8": "i8"}


@dataclass(frozen=True, slots=True)
class GeneratedToken:
    """One token that a model wrote."""

    text: str
    """The text that it adds. Empty while a character is incomplete, or while a stop text may have
    begun."""
    id: int
    probability: float
    """Its probability in the model's own distribution, before penalty, temperature and filters."""
    entropy: float
    """The entropy of that distribution, in nats."""
    bytes: bytes
    """The text of the token alone."""
    row: int
    """The index of its prompt."""


class Generation(Iterator[GeneratedToken]):
    """An iterator of the tokens that a model writes (:meth:`Model.generate`).

    Nothing is computed between two tokens, so leaving the loop ends the work. With several prompts
    each step gives one token for every text that is not finished, in the order of the prompts.
    """

    def __init__(self, core: _core.Generation, single: bool):
        self._core: _core.Generation | None = core
        self._single = single
        self._waiting: list[GeneratedToken] = []
        self._state = core.texts
        self._lock = threading.Lock()
        self.tokens: list[GeneratedToken] = []
        """The tokens that were yielded so far."""

    def __next__(self) -> GeneratedToken:
        with self._lock:
            while not self._waiting:
                self._step()
            token = self._waiting.pop(0)
            self.tokens.append(token)
            return token

    def _step(self) -> None:
        if self._core is None:
            raise StopIteration
        try:
            found: Any = self._core.step()
            self._state = self._core.texts
        except BaseException:
            self._core = None  # in the middle of a token
            raise
        if found is None:
            self._core = None  # and its cache
            return
        self._waiting = [
            GeneratedToken(text, id, probability, entropy, data, row)
            for row, id, text, data, probability, entropy in found
        ]

    def run(self) -> Any:
        """Generates to the end. Returns the text; for several prompts, the list of texts."""
        for _ in self:
            pass
        return self.text if self._single else self.texts

    def close(self) -> None:
        """Ends the work and frees its memory; the text so far stays available."""
        with self._lock:
            self._core = None
            self._waiting = []

    @property
    def text(self) -> str:
        """The first prompt's text so far, without prompt, special tokens and stop text."""
        return self._state[0][0]

    @property
    def texts(self) -> list[str]:
        """The text so far of every prompt, as in :attr:`text`."""
        return [text for text, _, _ in self._state]

    @property
    def stopped(self) -> Any:
        """Why the text ended: "end", "stop", "length" or "positions"; None while it is not
        finished. A list if there were several prompts."""
        reasons = [reason for _, reason, _ in self._state]
        return reasons[0] if self._single else reasons

    @property
    def scores(self) -> list[float | None]:
        """The score of each text in a beam search, log-probability / tokens ** length_penalty; None
        without beams."""
        return [score for _, _, score in self._state]

    def __repr__(self) -> str:
        state = "going on" if self._core is not None else "ended"
        return f"<heed.Generation of {len(self._state)}, {len(self.tokens)} tokens, {state}>"


def generate(model: Model, prompt: Any, given: dict[str, Any]) -> Generation:
    """Implements :meth:`Model.generate`."""
    prompts, single = _prompts(model, prompt)
    settings = _settings(given)
    try:
        core = _core.Generation(model._core, prompts, settings)
    except Error as error:
        raise renamed(error, {"most_tokens": "n"}) from None
    file, keys = core.not_followed
    if keys:
        asked = ", ".join(keys)
        warnings.warn(f"{file} asks for {asked}, which heed does not follow", stacklevel=3)
    return Generation(core, single)


def _prompts(model: Model, prompt: Any) -> tuple[list[Any], bool]:
    """Returns the prompts as a list, and whether a single one was given."""
    is_list = isinstance(prompt, (list, tuple))
    if not is_list or not any(isinstance(each, (str, list, tuple)) for each in prompt):
        return [_prompt(model, prompt)], True
    return [_prompt(model, each) for each in prompt], False


def _prompt(model: Model, given: Any) -> Any:
    """Returns a text, or token ids in a form that the C++ extension reads."""
    if isinstance(given, (list, tuple)) and given and isinstance(given[0], dict):
        text = model.chat_text(list(given))
        assert model.tokenizer is not None  # without one there is no chat
        return model.tokenizer.encode(text, special=False).ids
    if given is None or isinstance(given, Number):
        raise mistyped("generate", "prompt", given, "a str, a list of ids, or a list of messages")
    return checked(given, "prompt", "generate") if isinstance(given, str) else given


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in given.items() if value is not None}
    unknown = given.keys() - _SETTINGS
    if unknown:
        raise TypeError(f"generate() got an unexpected keyword argument {sorted(unknown)[0]!r}")
    if "top_k" in given:  # None means all tokens; 0 does not
        given["top_k"] = whole("generate", "top_k", given["top_k"], least=1)
    if "stop" in given:
        stop = [given["stop"]] if isinstance(given["stop"], str) else given["stop"]
        if not isinstance(stop, Iterable):
            raise mistyped("generate", "stop", stop, "a str, or a list of them")
        given["stop"] = [checked(each, "stop", "generate") for each in stop]
    for name, known in (("early_stopping", _STOPPING), ("cache_dtype", _CACHE_TYPES)):
        if name in given:
            given[name] = _word(name, given[name], known)
    return given


def _word(name: str, given: Any, known: dict[Any, str]) -> str:
    if given not in known:
        expected = ", ".join(repr(each) for each in known)
        raise refused("generate", name, repr(given), f"one of {expected}")
    return known[given]
