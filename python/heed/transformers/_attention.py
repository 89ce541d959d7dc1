"""The attention function that models of transformers call."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .._masks import causal, keep
from ..errors import Error, Unsupported, made, renamed
from ..torch import attend
from ._calls import Call
from ._pattern import Pattern
from ._watching import watchers

_NAMES = {
    "q": "query", "k": "key", "v": "value", "mask.keep": "attention_mask", "sink": "s_aux",
    "scale": "scaling",
}  # fmt: skip
_REFUSED = {"sinks", "indices", "block_indices", "cache"}
"""Arguments that change the result, of families that heed does not know."""


def attention(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    is_causal: bool | None = None,
    position_bias: Tensor | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """What transformers' AttentionInterface calls.

    ``query`` is [B, H, Tq, D], ``key`` and ``value`` [B, G, Tk, D]; the result is [B, Tq, H, D]. A
    sliding window, padding and packed sequences come with ``attention_mask``, which is a
    :class:`Pattern`, a tensor of bool or a tensor that is added.
    """
    if others and not _REFUSED.isdisjoint(others):
        _refuse(others)
    sequences, _, keys, _ = key.shape
    batch, _, queries, _ = query.shape
    if batch == 1 < sequences:
        query = query.expand(sequences, -1, -1, -1)
    mask, settings, added = _visible(attention_mask, is_causal, module, queries, keys)
    bias = added if position_bias is None else _bias(position_bias, added, keys)
    if scaling is not None:
        settings["scale"] = scaling
    if softcap is not None:
        settings["softcap"] = softcap
    if dropout > 0:
        settings |= {"dropout": dropout, "seed": int(torch.randint(2**63 - 1, ()))}
    watching = watchers(module)
    kept: list[Any] | None = [] if watching else None
    try:
        out = attend(
            query, key, value, bias=bias, sink=s_aux, settings=settings, by_token=True, kept=kept
        )
    except Error as error:
        bias_name = "position_bias" if added is None else "attention_mask"
        raise renamed(error, _NAMES | {"bias": bias_name}) from None
    for watch in watching:
        watch.note(module, Call.of(query, key, value, mask, bias, s_aux, settings, kept[0]))
    return out, None


def _visible(
    mask: Tensor | None, is_causal: bool | None, module: torch.nn.Module, queries: int, keys: int
) -> tuple[Tensor | None, dict[str, Any], Tensor | None]:
    """The mask, what says it to heed, and what is added to the scores."""
    if type(mask) is Pattern:  # isinstance asks Tensor's metaclass
        if len(mask.queries) == queries and len(mask.keys) == keys and not mask.was_opened:
            return mask, mask.settings.copy(), None
        mask = mask.dense()
    if mask is None:  # the first query and the first key stand together, as PyTorch has it
        if is_causal is None:
            is_causal = getattr(module, "is_causal", True)
        return None, {"mask": causal(), "q_offset": 0} if is_causal and queries > 1 else {}, None
    mask = mask[..., :keys]
    return (mask, {"mask": keep(mask)}, None) if mask.dtype == torch.bool else (mask, {}, mask)


def _bias(position_bias: Tensor, added: Tensor | None, keys: int) -> Tensor:
    position_bias = position_bias[..., :keys]
    return position_bias if added is None else position_bias + added


def _refuse(others: dict[str, Any]) -> None:
    for name in sorted(_REFUSED & others.keys()):
        if others[name] is not None:
            raise made(
                Unsupported, op='attn_implementation="heed"', argument=name, found="given",
                expected="None", hint="load this model with another attn_implementation",
            )  # fmt: skip
