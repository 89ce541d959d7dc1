"""A mask that models of transformers handle like a tensor, although it is a rule."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, cached_property, partial
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch import Tensor
from transformers import masking_utils as theirs

from .. import _core, _masks
from .._torch_attention import is_direct
from ..errors import InvalidArgument, made
from ._rules import EVERYTHING, Unknown, is_causal, rule_of

_ADDITIONS = (torch.ops.aten.add, torch.ops.aten.add_)


class Pattern(Tensor):
    """A tensor with the shape of a boolean mask, [B, 1, Tq, Tk], and no memory.

    A model that computes with it or reads it gets the boolean tensor, which is made at that time. A
    model that adds it to scores gets numbers that hide the masked pairs.
    """

    rule: Any
    """A rule of `_rules.py`; None hides nothing."""
    padding: Tensor | None
    """True where a key exists, [B, Tk] of bool; None if all keys exist."""
    queries: range
    keys: range
    """The positions of queries and keys."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, batch: int, queries: range, keys: range, *_: Any) -> Pattern:
        shape = (batch, 1, len(queries), len(keys))
        return Tensor._make_wrapper_subclass(cls, shape, dtype=torch.bool, device="cpu")

    def __init__(
        self,
        batch: int,
        queries: range,
        keys: range,
        rule: Any,
        padding: Tensor | None,
    ):
        self.rule, self.padding = rule, padding
        self.queries, self.keys = queries, keys
        self._made: Tensor | None = None

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The pattern as arguments of `heed.attention`."""
        return settings_of(self.rule, self.padding, self.queries, self.keys)

    @cached_property
    def prepared(self) -> _core.PreparedAttention:
        """The prepared attention for these queries and keys; valid until the pattern is opened."""
        return _core.PreparedAttention(self.settings, len(self.queries), len(self.keys))

    @property
    def is_causal(self) -> bool:
        return is_causal(self.rule)

    def of_one(self, sequence: int) -> Pattern:
        """Returns the pattern of one sequence of the batch."""
        one = slice(sequence, sequence + 1)
        rule = self.rule if self.rule is EVERYTHING else self.rule.of_one(sequence)
        padding = None if self.padding is None else self.padding[one]
        return Pattern(1, self.queries, self.keys, rule, padding)

    def dense(self) -> Tensor:
        """Returns the boolean tensor. From then on it replaces the rule, because a model may write
        to it."""
        if self._made is None:
            self._made = self._computed()
        return self._made

    def _computed(self) -> Tensor:
        mask = (
            _masks.band(-1, -1)
            if self.rule is EVERYTHING
            else self.rule.mask(self.queries, self.keys)
        )
        visible = torch.from_numpy(
            mask.to_array(tuple(self.shape), self.queries.start, self.keys.start)
        )
        return visible if self.padding is None else visible & self.padding[:, None, None, :]

    @property
    def was_opened(self) -> bool:
        return self._made is not None

    def added(self, scores: Tensor) -> Tensor:
        """Returns the mask as numbers to add to scores, for models with their own attention
        code."""
        hidden = torch.finfo(scores.dtype).min
        return torch.zeros((), dtype=scores.dtype, device="cpu").where(self.dense(), hidden)

    @classmethod
    def __torch_dispatch__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        as_tensor = Pattern.dense
        if function.overloadpacket in _ADDITIONS:
            scores = args[1] if isinstance(args[0], Pattern) else args[0]
            if isinstance(scores, Tensor) and scores.is_floating_point():
                as_tensor = partial(Pattern.added, scores=scores)
        args, kwargs = pytree.tree_map_only(Pattern, as_tensor, (args, kwargs or {}))
        return function(*args, **kwargs)

    def __repr__(self) -> str:  # type: ignore[override]
        return f"<heed mask {list(self.shape)}: {self.settings.get('mask') or 'everything'}>"


def settings_of(rule: Any, padding: Tensor | None, queries: range, keys: range) -> dict[str, Any]:
    settings: dict[str, Any] = {"q_offset": queries.start, "key_offset": keys.start}
    mask = None if rule is EVERYTHING else rule.mask(queries, keys)
    if padding is not None and (lengths := _lengths(padding)):
        settings["key_length"] = lengths
    elif padding is not None:
        kept = _masks.keep(padding[:, None, None, :])
        mask = kept if mask is None else mask & kept
    return settings if mask is None else settings | {"mask": mask}


def _lengths(padding: Tensor) -> list[int] | None:
    """Returns the number of keys of each row, if all padding is on the right and some row is full;
    else None."""
    count = padding.sum(1)
    places = torch.arange(padding.shape[1], device=padding.device)
    if count.min() == 0 or count.max() < padding.shape[1]:
        return None
    return count.tolist() if bool((padding == (places < count[:, None])).all()) else None


def mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: Any = 0,
    kv_offset: int = 0,
    mask_function: Callable[..., Any] = theirs.causal_mask_function,
    attention_mask: Tensor | None = None,
    allow_is_bidirectional_skip: bool = False,
    use_vmap: bool = False,
    device: torch.device | str = "cpu",
    config: Any = None,
    dtype: torch.dtype = torch.float32,
    **_: Any,
) -> Tensor | None:
    """The mask function that transformers' AttentionMaskInterface calls. Returns a :class:`Pattern`
    if the mask is a known rule, else a tensor; None if nothing is hidden and that is allowed."""
    sizes = batch_size, q_length, kv_length, q_offset, kv_offset
    if config is not None and not calls_the_interface(type(config)):
        return theirs.eager_mask(
            *sizes, mask_function, attention_mask, dtype, use_vmap=use_vmap, device=device,
            allow_is_bidirectional_skip=allow_is_bidirectional_skip,
        )  # fmt: skip
    if torch.device(device).type != "cpu":
        raise made(
            InvalidArgument, op='attn_implementation="heed"', argument="the input",
            found=f"on {device}", expected="the host's memory",
            hint='use model.to("cpu") or another attn_implementation',
        )  # fmt: skip
    pattern = pattern_of(*sizes, mask_function, attention_mask, use_vmap)
    if pattern is None:
        return theirs.sdpa_mask(
            *sizes, mask_function, attention_mask, allow_is_causal_skip=False, use_vmap=use_vmap,
            device=device,
        )  # fmt: skip
    if pattern.rule is EVERYTHING and pattern.padding is None and allow_is_bidirectional_skip:
        return None
    return pattern


def pattern_of(
    batch_size: int, q_length: int, kv_length: int, q_offset: Any = 0, kv_offset: int = 0,
    mask_function: Callable[..., Any] = theirs.causal_mask_function,
    attention_mask: Tensor | None = None, use_vmap: bool = False, **_: Any,
) -> Pattern | None:  # fmt: skip
    """Returns the pattern for the arguments of a mask function of transformers; None if the mask
    must be a tensor."""
    rule = _rule_for(mask_function, attention_mask, use_vmap)
    if rule is Unknown:
        return None
    queries = range(int(q_offset), int(q_offset) + q_length)
    keys = range(kv_offset, kv_offset + kv_length)
    if attention_mask is not None:
        attention_mask = attention_mask.to("cpu")
    return Pattern(batch_size, queries, keys, rule, _padding(attention_mask, keys))


def _rule_for(function: Callable[..., Any], attention_mask: Tensor | None, use_vmap: bool) -> Any:
    """Returns the rule of a mask, or Unknown if the mask must be a tensor."""
    if not is_direct() or use_vmap or (attention_mask is not None and attention_mask.dim() != 2):
        return Unknown
    try:
        return rule_of(function)
    except Unknown:
        return Unknown


@cache
def calls_the_interface(config: type) -> bool:
    """False if the models of a config have their own attention code, which adds its mask."""
    models = sys.modules.get(config.__module__.replace("configuration_", "modeling_"))
    if models is None or hasattr(models, "ALL_ATTENTION_FUNCTIONS"):
        return True
    own = (each for each in vars(models).values() if isinstance(each, type))
    return not any(
        "Attention" in each.__name__ and each.__module__ == models.__name__ for each in own
    )


def _padding(attention_mask: Tensor | None, keys: range) -> Tensor | None:
    padding = theirs.prepare_padding_mask(attention_mask, len(keys), keys.start)
    if padding is None:
        return None
    padding = padding[:, keys.start : keys.stop].bool()
    return None if bool(padding.all()) else padding.clone()  # the caller may write to its own
