"""Finds the model of transformers inside wrappers, and its attention modules."""

from __future__ import annotations

from typing import Any

from torch import nn
from transformers import PreTrainedModel

from ..errors import Unsupported, made, mistyped

_WRAPPERS = ("_orig_mod", "module", "base_model", "model")
"""The attributes in which torch.compile, DataParallel, PEFT and pipelines hold the model."""


def unwrapped(model: Any, op: str) -> PreTrainedModel:
    """Returns the model of transformers inside wrappers. Raises WrongType if there is none, and
    Unsupported if its attention does not go through transformers' interface."""
    inner = model
    while not isinstance(inner, PreTrainedModel):
        held = [getattr(inner, name, None) for name in _WRAPPERS]
        following = next((each for each in held if isinstance(each, nn.Module)), None)
        if following is None:
            raise mistyped(op, "model", model, "a model of transformers")
        inner = following
    if not inner._can_set_attn_implementation():
        names = [name for name, module in inner.named_modules() if is_attention(module)]
        raise not_seen(op, type(inner).__name__, names)
    return inner


def not_seen(op: str, model: str, names: list[str]) -> Exception:
    """Returns the error for a model whose layers compute attention by themselves."""
    return made(
        Unsupported, op=op, argument="model", found=f"a {model}",
        expected="a model whose attention goes through transformers' AttentionInterface",
        hint=f"these layers do not: {listed(names)}",
    )  # fmt: skip


def is_attention(module: nn.Module) -> bool:
    return "Attention" in type(module).__name__


def listed(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
