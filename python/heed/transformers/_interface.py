"""Wraps the attention functions that models of transformers call.

While a model is watched or edited, the functions that `ALL_ATTENTION_FUNCTIONS` returns are
wrapped. The model's own function still computes. Compiled code may have been made without the
wrapper, so nothing that PyTorch compiled runs meanwhile, except FlexAttention.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface

from ._arguments import Arguments
from ._edits import edited
from ._pattern import Pattern, pattern_of
from ._pattern import mask as heed_mask


class Bystander(Protocol):
    """A watch or a set of edits, which gets the calls of attention of one model."""

    order: int
    """0 for a watch, which sees the edited call; 1 for edits."""
    modules: Any
    """A container of the model's modules."""
    offsets: dict[tuple[int, int], tuple[int, int]]
    """The positions of query 0 and key 0 of each mask in this pass, by its lengths [Tq, Tk]."""

    def called(self, module: nn.Module, compute: Callable[..., Any], arguments: Arguments) -> Any:
        """Handles a call and returns the attention function's answer; ``compute(arguments)`` calls
        the function."""


_active: ContextVar[tuple[Bystander, ...]] = ContextVar("heed bystanders", default=())
_kept: ContextVar[list[Tensor] | None] = ContextVar("heed sums", default=None)
_lock = threading.Lock()
_open = 0
_uncompiled = ExitStack()
_flex = threading.RLock()
_OWN = "_heed_pattern"  # the attribute of a mask with the pattern that it was made from


@contextmanager
def beside(bystander: Bystander) -> Iterator[None]:
    """Inside, this thread's calls of attention of the bystander's model go through the
    bystander."""
    _install()
    token = _active.set((*_active.get(), bystander))
    try:
        yield
    finally:
        _active.reset(token)
        _remove()


def is_active(bystander: Bystander) -> bool:
    return bystander in _active.get()


def bystanders(module: nn.Module) -> list[Bystander]:
    """Returns this thread's bystanders whose model has the module, the outermost first."""
    active = _active.get()
    return [each for each in active if module in each.modules] if active else []


# --- the replaced functions -----------------------------------------------------------------------

_theirs = AttentionInterface.__getitem__, AttentionInterface.get_interface
_their_masks = AttentionMaskInterface.__getitem__


@torch.compiler.disable  # a stance cannot change in a region that is compiled
def _install() -> None:
    global _open
    with _lock:
        if _open == 0:
            _uncompiled.enter_context(torch.compiler.set_stance("force_eager"))
            AttentionInterface.__getitem__ = _function
            AttentionInterface.get_interface = _function_or
            AttentionMaskInterface.__getitem__ = _mask_function
        _open += 1


@torch.compiler.disable
def _remove() -> None:
    global _open
    with _lock:
        _open -= 1
        if _open == 0:
            _uncompiled.close()
            # the classes inherit __getitem__, but define get_interface
            del AttentionInterface.__getitem__, AttentionMaskInterface.__getitem__
            AttentionInterface.get_interface = _theirs[1]


def _function(self: AttentionInterface, name: str) -> Callable[..., Any]:
    return _between(_theirs[0](self, name), name)


def _function_or(self: AttentionInterface, name: str, default: Any) -> Callable[..., Any]:
    found = _theirs[1](self, name, default)
    return _between(found, "eager") if found is default and callable(found) else found


def _between(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Returns the function wrapped by the bystanders of the calling module."""
    if not _active.get():
        return function

    @functools.wraps(function)
    def called(
        module: nn.Module, query: Tensor, key: Tensor, value: Tensor,
        attention_mask: Any = None, *others: Any, **settings: Any,
    ) -> Any:  # fmt: skip
        def compute(arguments: Arguments) -> Any:
            with _keeping(arguments.kept), _compiling(name):
                answer = function(module, query, key, value, attention_mask, *others, **settings)
            return edited(arguments, answer) if arguments.edits else answer

        around = sorted(bystanders(module), key=lambda each: each.order)
        step: Callable[[Arguments], Any] = compute
        for bystander in reversed(around):
            step = functools.partial(bystander.called, module, step)
        return step(
            Arguments(module, function, name, query, key, value, attention_mask, settings,
                      _pattern(attention_mask), _offsets(around, query, key))
        )  # fmt: skip

    return called


@contextmanager
def _keeping(sums: list[Tensor]) -> Iterator[None]:
    token = _kept.set(sums)
    try:
        yield
    finally:
        _kept.reset(token)


@contextmanager
def _compiling(name: str) -> Iterator[None]:
    """Inside, FlexAttention may compile: uncompiled it makes a [B, H, Tq, Tk] tensor. The stance is
    one for all threads, so only one thread changes it at a time."""
    if name != "flex_attention":
        yield
        return
    with _flex, torch.compiler.set_stance("default"):
        yield


def kept() -> list[Tensor] | None:
    """Returns the list to which heed's attention appends its log-sum-exp; None without a
    bystander."""
    return _kept.get()


# --- masks ----------------------------------------------------------------------------------------


def _mask_function(self: AttentionMaskInterface, name: str) -> Callable[..., Any]:
    function = _their_masks(self, name)
    if not _active.get() or function is heed_mask:
        return function

    @functools.wraps(function)
    def made(*sizes: Any, **settings: Any) -> Any:
        found = function(*sizes, **settings)
        names = ("batch_size", "q_length", "kv_length", "q_offset", "kv_offset")
        pattern = pattern_of(**{**settings, **dict(zip(names, sizes))})
        _remember(found, pattern, settings)
        return found

    return made


def _remember(mask: Any, pattern: Pattern | None, settings: dict[str, Any]) -> None:
    queries, keys = settings.get("q_length"), settings.get("kv_length")
    if queries is not None and keys is not None:
        first = int(settings.get("q_offset", 0)), int(settings.get("kv_offset", 0))
        for each in _active.get():
            each.offsets[queries, keys] = first
    if pattern is not None and mask is not None and getattr(mask, "ndim", 4) == 4:
        setattr(mask, _OWN, (pattern, _version(mask)))


def _pattern(mask: Any) -> Pattern | None:
    """Returns the pattern that made a mask, unless the model has written to the mask since."""
    if isinstance(mask, Pattern):
        return mask
    pattern, version = getattr(mask, _OWN, (None, None))
    return pattern if version == _version(mask) else None


def _version(mask: Any) -> int:
    return mask._version if isinstance(mask, Tensor) and not mask.is_inference() else 0


def _offsets(around: list[Bystander], query: Tensor, key: Tensor) -> tuple[int, int] | None:
    lengths = query.shape[2], key.shape[2]
    return next((each.offsets[lengths] for each in around if lengths in each.offsets), None)
