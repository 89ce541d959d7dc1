"""Which attention a model runs with, while it is watched and afterwards."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel

from ..errors import Unsupported, made

_lock = threading.Lock()
_switched: weakref.WeakKeyDictionary[nn.Module, list[Any]] = weakref.WeakKeyDictionary()
"""Of each model that is watched: how many watches it has, and what its configs said before."""


@contextmanager
def computed_by_heed(model: PreTrainedModel) -> Iterator[None]:
    """Inside, the model's attention is heed's; the last of several watches puts back what was."""
    with _lock:
        entry = _switched.get(model)
        if entry is None:
            entry = _switched[model] = [0, _switch(model)]
        entry[0] += 1
    try:
        yield
    finally:
        with _lock:
            entry[0] -= 1
            if entry[0] == 0:
                del _switched[model]
                _restore(entry[1])


def _switch(model: PreTrainedModel) -> list[tuple[Any, Any]]:
    """Makes heed the implementation; returns what the configs said before."""
    models = [each for each in model.modules() if isinstance(each, PreTrainedModel)]
    if not model._can_set_attn_implementation():
        names = [name for name, module in model.named_modules() if is_attention(module)]
        raise refused(type(model).__name__, names)
    configs = list(_configs(model))
    before = [(config, config._attn_implementation) for config in configs]
    if any(implementation != "heed" for _, implementation in before):
        model.set_attn_implementation("heed")
    if all(each._can_set_attn_implementation() for each in models):
        for config in configs:  # some layers hold a config that no model has
            config._attn_implementation_internal = "heed"
    return before


def _configs(model: PreTrainedModel) -> Iterator[PreTrainedConfig]:
    """All configs inside of the model, each once."""
    waiting = [getattr(module, "config", None) for module in model.modules()]
    known: set[int] = set()
    while waiting:
        config = waiting.pop()
        if not isinstance(config, PreTrainedConfig) or id(config) in known:
            continue
        known.add(id(config))
        waiting += [getattr(config, name, None) for name in config.sub_configs]
        yield config


def _restore(before: list[tuple[Any, Any]]) -> None:
    for config, implementation in before:
        config._attn_implementation_internal = implementation


def refused(model: str, names: list[str]) -> Exception:
    return made(
        Unsupported, op="watch", argument="model", found=f"a {model}",
        expected="a model whose attention goes through transformers' AttentionInterface",
        hint=f"these layers do not: {listed(names)}",
    )  # fmt: skip


def is_attention(module: nn.Module) -> bool:
    return "Attention" in type(module).__name__


def listed(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
