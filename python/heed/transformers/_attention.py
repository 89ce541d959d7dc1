"""The attention function that models of transformers call."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .. import _core
from .._torch_attention import attend, drawn_seed, grad_enabled, is_direct, requires_gradient
from ..errors import Error, Unsupported, made, renamed
from ..torch import autocast, hidden_or_added, is_autocast_enabled
from ._arguments import OF_NONE
from ._arguments import is_causal as hides
from ._interface import kept
from ._pattern import Pattern

_NAMES = {
    "q": "query", "k": "key", "v": "value", "mask.keep": "attention_mask", "sink": "s_aux",
    "scale": "scaling",
}  # fmt: skip
_REFUSED = {"sinks", "indices", "block_indices", "cache"}
"""Arguments that change the result and that heed does not support."""
_PREPARED = {hides: _core.PreparedAttention(of) for hides, of in OF_NONE.items()}


def attention(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | Tensor | None = None,
    dropout: float = 0.0,
    is_causal: bool | None = None,
    position_bias: Tensor | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """The attention function that transformers' AttentionInterface calls.

    ``query`` is [B, H, Tq, D], ``key`` and ``value`` are [B, G, Tk, D]; the result is [B, Tq, H,
    D]. ``attention_mask`` describes sliding windows, padding and packed sequences: a
    :class:`Pattern`, a tensor of bool, or a tensor that is added to scores.
    """
    if others and not _REFUSED.isdisjoint(others):
        _refuse(others)
    if is_autocast_enabled("cpu"):
        query, key, value = autocast(query, key, value)
    if type(scaling) is Tensor:  # one number per head (isinstance asks a metaclass)
        query, scaling = query * scaling.reshape(1, -1, 1, 1), 1.0
    keeping = kept()
    is_plain = position_bias is None is s_aux and not (softcap or dropout or keeping is not None)
    is_plain = is_plain and is_direct(query, key, value)
    if is_plain and not (grad_enabled() and requires_gradient(query, key, value)):
        prepared = _prepared(attention_mask, is_causal, module, query.shape[2])
        if prepared is not None:
            try:
                out = prepared(query, key, value, scaling, True)
            except Error as error:
                raise renamed(error, _NAMES) from None
            if out is not None:  # None: the lengths are not those that it was prepared for
                return out, None
    settings = {"scale": scaling, "softcap": softcap, "dropout": dropout}
    return _attend(
        module,
        query,
        key,
        value,
        attention_mask,
        is_causal,
        position_bias,
        s_aux,
        settings,
        keeping,
    )


def _prepared(
    mask: Tensor | None, is_causal: bool | None, module: torch.nn.Module, queries: int
) -> _core.PreparedAttention | None:
    if type(mask) is Pattern:  # isinstance asks Tensor's metaclass
        return None if mask.was_opened else mask.prepared
    if mask is not None:
        return None
    return _PREPARED[hides({"is_causal": is_causal}, module, queries)]


def _attend(
    module: torch.nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None,
    is_causal: bool | None, position_bias: Tensor | None, sink: Tensor | None,
    given: dict[str, Any], kept: list[Tensor] | None,
) -> tuple[Tensor, None]:  # fmt: skip
    sequences, _, keys, _ = key.shape
    batch, _, queries, _ = query.shape
    if batch == 1 < sequences:
        query = query.expand(sequences, -1, -1, -1)
    mask, settings = _rule(mask, is_causal, module, queries, keys)
    settings |= {name: value for name, value in given.items() if value is not None}
    added = None if isinstance(mask, Pattern) else mask
    keep, bias = hidden_or_added(added, query, key, settings.get("scale"))
    if position_bias is not None:
        keep, bias = _with_bias(added, position_bias[..., :keys])
    seed = drawn_seed() if given["dropout"] else None
    try:
        out = attend(
            query, key, value, bias=bias, sink=sink, keep=keep, seed=seed, settings=settings,
            by_token=True, kept=kept,
        )  # fmt: skip
    except Error as error:
        bias_name = "attention_mask" if position_bias is None else "position_bias"
        raise renamed(error, _NAMES | {"bias": bias_name, "keep": "attention_mask"}) from None
    return out.transpose(1, 2), None


def _rule(
    mask: Tensor | None, is_causal: bool | None, module: torch.nn.Module, queries: int, keys: int
) -> tuple[Tensor | None, dict[str, Any]]:
    """Returns the mask, and the settings of `heed.attention` that describe it. A tensor needs
    none."""
    if isinstance(mask, Pattern):
        if len(mask.queries) == queries and len(mask.keys) == keys and not mask.was_opened:
            return mask, mask.settings.copy()
        mask = mask.dense()
    if mask is None:
        return None, OF_NONE[hides({"is_causal": is_causal}, module, queries)].copy()
    return mask[..., :keys], {}


def _with_bias(mask: Tensor | None, bias: Tensor) -> tuple[Tensor | None, Tensor]:
    """Returns the boolean mask or None, and the sum of the position bias and an added mask."""
    if mask is None or mask.dtype == torch.bool:
        return mask, bias
    return None, bias + mask


def _refuse(others: dict[str, Any]) -> None:
    for name in sorted(_REFUSED & others.keys()):
        if others[name] is not None:
            raise made(
                Unsupported, op='attn_implementation="heed"', argument=name, found="given",
                expected="None", hint="load this model with another attn_implementation",
            )  # fmt: skip
