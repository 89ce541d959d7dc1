"""A replacement for PyTorch's ``scaled_dot_product_attention``, with gradients.

>>> import torch, heed.torch
>>> q = torch.ones(1, 2, 3, 4, dtype=torch.float64, requires_grad=True)
>>> out = heed.torch.scaled_dot_product_attention(q, q, q, is_causal=True)
>>> out.shape
torch.Size([1, 2, 3, 4])
"""

from __future__ import annotations

import inspect
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from numbers import Real
from types import FunctionType
from typing import Any, NoReturn

import numpy as np
import torch
import torch.nn.functional
from torch import SymBool, SymFloat, SymInt, Tensor
from torch.masked import MaskedTensor
from torch.nn.attention.bias import CausalBias, CausalVariant
from torch.overrides import handle_torch_function, has_torch_function

from . import _core
from ._checks import flag
from ._masks import causal
from ._torch_attention import attend, drawn_seed, grad_enabled, is_direct, requires_gradient
from .errors import (
    Error,
    InvalidArgument,
    OutOfRange,
    Unsupported,
    WrongType,
    kind_of,
    made,
    refused,
    renamed,
)

__all__ = ["scaled_dot_product_attention", "use"]

_OP = "scaled_dot_product_attention"
is_autocast_enabled = torch.is_autocast_enabled
_any_autocast = torch._C._is_any_autocast_enabled
_function_modes = torch._C._len_torch_function_stack
_NAMES = {"q": "query", "k": "key", "v": "value", "bias": "attn_mask", "mask.keep": "attn_mask",
          "keep": "attn_mask", "dropout": "dropout_p"}  # fmt: skip
_PREPARED = {
    hides: _core.PreparedAttention({"mask": causal(), "q_offset": 0} if hides else {}, ungrouped=True)
    for hides in (False, True)
}
"""The prepared settings of a call without a mask, by ``is_causal``."""


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Computes ``torch.nn.functional.scaled_dot_product_attention`` with heed.

    Parameters
    ----------
    query : [..., H, Tq, D]; the axes before Tq broadcast
    key : [..., H, Tk, D]; with ``enable_gqa`` [..., G, Tk, D], H a multiple of G
    value : like key, but the last axis and, with ``enable_gqa``, G may differ from the key's
    attn_mask : broadcasts to [..., H, Tq, Tk]; a boolean mask is true where a query *may* attend; a
        floating mask is added to the scores and may require a gradient. Or
        ``torch.nn.attention.bias.causal_upper_left``, ``causal_lower_right``
    dropout_p : the rate of dropout. The seed is drawn from PyTorch's generator; the pattern differs
        from PyTorch's
    is_causal : query i sees keys 0 to i (top-left), whatever their number; not with ``attn_mask``
    scale : 1 / sqrt(D) by default

    Returns
    -------
    [..., H, Tq, Dv], in the memory order of the query; contiguous if the query's last axis is not.
    A query that sees no key gets 0, and masked keys and values have no influence, even if NaN.

    Raises
    ------
    ValueError, TypeError
        like ``heed.attention``, each a RuntimeError too; tensors must be in the host's memory
    """
    options = dropout_p, is_causal, scale, enable_gqa
    if attn_mask is None and _is_simple(query, key, value, *options):
        out = _called(_PREPARED[is_causal], query, key, value, scale)
        if out is not None:
            return _ordered(out, query)
    bias = None if type(attn_mask) is CausalBias else attn_mask
    given = query, key, value, bias, *options
    if has_torch_function(given):
        return handle_torch_function(
            scaled_dot_product_attention, given, query, key, value, attn_mask=attn_mask,
            dropout_p=dropout_p, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa,
        )  # fmt: skip
    is_causal, enable_gqa = _flag("is_causal", is_causal), _flag("enable_gqa", enable_gqa)
    dropout_p = _number("dropout_p", dropout_p)
    scale = None if scale is None else _number("scale", scale)
    _check_kinds(query, key, value, attn_mask, is_causal)
    if _any_autocast() and is_autocast_enabled("cpu"):
        query, key, value = autocast(query, key, value)
    offset = 0 if is_causal else None
    if isinstance(attn_mask, CausalBias):
        attn_mask, offset = _read(attn_mask, query, key)
    others = dropout_p, offset, scale
    if _is_rank_4(query, key, value, attn_mask, enable_gqa) and not dropout_p:
        return _attended(query, key, value, attn_mask, *others)
    _check(query, key, value, attn_mask, dropout_p, enable_gqa)
    if value.numel() == 0:
        return _zeros(query, key, value)
    out = _attended(*_of_rank_4(query, key, value, attn_mask, enable_gqa), *others)
    return out.reshape(_out_shape(query, key, value, enable_gqa))


_NO_SCRIPT = f"heed.torch.{_OP} is not TorchScript, expected torch.jit.trace or torch.export"
scaled_dot_product_attention.__script_unsupported = _NO_SCRIPT  # torch.jit.script raises it


def _is_simple(
    query: Any, key: Any, value: Any, dropout_p: Any, is_causal: Any, scale: Any, enable_gqa: Any
) -> bool:
    """Whether the quick path applies: no gradient, no autocast, no tracer."""
    return (
        is_direct(query, key, value)
        and not _function_modes()
        and not _any_autocast()
        and type(dropout_p) in (float, int)
        and dropout_p == 0
        and type(is_causal) is type(enable_gqa) is bool
        and (scale is None or type(scale) is float)
        and not (grad_enabled() and requires_gradient(query, key, value))
    )


def _called(
    prepared: _core.PreparedAttention, query: Tensor, key: Tensor, value: Tensor,
    scale: float | None,
) -> Tensor | None:  # fmt: skip
    try:
        return prepared(query, key, value, scale, False)
    except (InvalidArgument, WrongType):  # the general path names the argument better
        return None


def _attended(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float,
    offset: int | None, scale: float | None,
) -> Tensor:  # fmt: skip
    """Computes attention of tensors of rank 4."""
    if query.shape[-1] == 0:  # all scores are 0
        query, key = (torch.nn.functional.pad(each, (0, 1)) for each in (query, key))
    seed = drawn_seed() if dropout_p else None
    keep, bias = hidden_or_added(mask, query, key, scale)
    settings = {"scale": scale, "dropout": dropout_p}
    try:
        out = attend(
            query, key, value, bias=bias, keep=keep, seed=seed, offset=offset, settings=settings
        )
    except Error as error:
        raise renamed(error, _NAMES) from None
    return _ordered(out, query)


def _ordered(out: Tensor, query: Tensor) -> Tensor:
    """Returns the output, made contiguous if the query's last axis is not, like PyTorch's
    function."""
    return out if query.stride(-1) == 1 else out.contiguous()


def _zeros(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Returns the result for values without elements, like PyTorch's function. Gradients are 0."""
    zeros = query.new_zeros(*query.shape[:-1], value.shape[-1])
    return sum((each[..., :0].sum() for each in (query, key, value)), zeros)


# --- masks ---------------------------------------------------------------------------------------


def hidden_or_added(
    mask: Tensor | None, query: Tensor, key: Tensor, scale: float | None
) -> tuple[Tensor | None, Tensor | None]:
    """Returns a mask as a boolean mask and None, or as None and a bias that is added to the scores.

    Eager code hides pairs with large negative numbers. If no score can compensate them, the weights
    are exactly 0, and a boolean mask gives the same result without an addition.
    """
    if mask is None or mask.dtype == torch.bool:
        return mask, None
    if mask.requires_grad or mask.numel() < _WORTH_READING or not is_direct(query, key, mask):
        return None, mask
    visible = mask == 0
    rest = mask.masked_fill(visible, -torch.inf)
    if not rest.amax() < -_reach(query, key, scale):
        return None, mask
    is_seen = visible.any(-1)
    if not (is_seen | (rest.amax(-1) == -torch.inf)).all():  # a row hidden by finite numbers alone
        return None, mask
    return visible, None


_WORTH_READING = 64 * 64
"""The number of elements above which reading a mask is cheaper than adding it in each head."""


def _reach(query: Tensor, key: Tensor, scale: float | None) -> float:
    """Returns how far below the row's largest score any score has weight 0 (Cauchy-Schwarz)."""
    with torch.no_grad():
        norms = [each.float().norm(dim=-1).amax().item() for each in (query, key)]
    scale = query.shape[-1] ** -0.5 if scale is None else abs(scale)
    return 2 * scale * norms[0] * norms[1] + 800  # exp(-800) is 0 in float64 too


def _read(bias: CausalBias, query: Tensor, key: Tensor) -> tuple[Tensor | None, int | None]:
    """Returns a causal bias as (None, the position of query 0), or as (a mask tensor, None)."""
    found, expected = [bias.seq_len_q, bias.seq_len_kv], [query.shape[-2], key.shape[-2]]
    if found != expected:
        _refuse("attn_mask", f"a causal bias of {found}", f"{expected} (query's and key's lengths)")
    if torch.jit.is_tracing():  # it would record the number as a constant
        return bias._materialize(), None
    is_lower_right = bias.variant == CausalVariant.LOWER_RIGHT
    return None, bias.seq_len_kv - bias.seq_len_q if is_lower_right else 0


# --- autocast ------------------------------------------------------------------------------------


def autocast(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Returns the tensors in the type of ``torch.autocast``, like PyTorch's function inside it."""
    kind = torch.get_autocast_dtype("cpu")
    return tuple(
        tensor.to(kind) if tensor.is_floating_point() and tensor.dtype != torch.float64 else tensor
        for tensor in tensors
    )


# --- checks --------------------------------------------------------------------------------------


_PYTORCHS = {
    False: "Explicit attn_mask should not be set when is_causal=True",
    True: "CausalBias should not be used with causal=True",
}
"""PyTorch's messages, which other code may look for."""


def _refuse(argument: str, found: Any, expected: str) -> NoReturn:
    raise refused(_OP, argument, found, expected)


def _refuse_kind(argument: str, found: str, expected: str) -> NoReturn:
    raise made(WrongType, op=_OP, argument=argument, found=found, expected=expected)


def _flag(argument: str, given: Any) -> bool:
    return bool(given) if isinstance(given, SymBool) else flag(_OP, argument, given)


def _number(argument: str, given: Any) -> Any:
    """Returns a float or a symbolic number. Like PyTorch's function, takes a tensor without
    axes."""
    if isinstance(given, (SymInt, SymFloat)):
        return given
    if isinstance(given, Tensor):
        return _number_of(argument, given)
    if not isinstance(given, (Real, np.bool_)):
        _refuse_kind(argument, kind_of(given), "a number")
    return float(given)


def _number_of(argument: str, tensor: Tensor) -> float:
    if tensor.dim() > 0 or tensor.is_complex():
        found = f"a tensor of shape {list(tensor.shape)} and {tensor.dtype}"
        _refuse_kind(argument, found, "a number")
    if grad_enabled() and tensor.requires_grad:  # the gradient would be lost
        in_place = ", or query scaled by the tensor" if argument == "scale" else ""
        _refuse_kind(argument, "a tensor that requires grad", f"a number{in_place}")
    return float(tensor)


def _check_tensor(name: str, given: Any) -> None:
    if not isinstance(given, Tensor):
        _refuse_kind(name, kind_of(given), "a tensor of PyTorch")
    if isinstance(given, MaskedTensor):
        _refuse_kind(name, "a MaskedTensor", "a tensor with a boolean attn_mask")
    if given.is_nested:
        raise made(
            Unsupported, op=_OP, argument=name, found="a nested tensor",
            expected="a padded tensor with a boolean attn_mask",
        )  # fmt: skip


def _check_kinds(query: Any, key: Any, value: Any, mask: Any, is_causal: bool) -> None:
    """Checks that the arguments are PyTorch tensors and can be combined."""
    _check_tensor("query", query)
    _check_tensor("key", key)
    _check_tensor("value", value)
    if mask is not None:
        _check_tensor("attn_mask", mask)
    if mask is not None and is_causal:
        raise made(
            InvalidArgument, op=_OP, argument="attn_mask", found="given beside is_causal",
            expected="one of them", hint=_PYTORCHS[isinstance(mask, CausalBias)],
        )  # fmt: skip


def _check(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float, gqa: bool
) -> None:
    for name, tensor in {"query": query, "key": key, "value": value}.items():
        if tensor.dim() < 2:
            _refuse(f"{name}.shape", list(tensor.shape), "at least two axes")
        if tensor.dtype != query.dtype:
            _refuse_kind(name, str(tensor.dtype), f"{query.dtype} (query's)")
    _check_axis("key", key, -1, query.shape[-1], "query's head size")
    _check_axis("value", value, -2, key.shape[-2], "key's length")
    if not 0 <= dropout_p <= 1:
        _refuse("dropout_p", dropout_p, "from 0 to 1")
    if value.numel() == 0:  # PyTorch's function then accepts any number of heads and any mask
        return
    _check_heads(query, key, value, gqa)
    try:
        _batch_and_heads(query, key, value, gqa=gqa)
    except ValueError:
        shapes = [list(tensor.shape) for tensor in (query, key, value)]
        _refuse("query, key and value", f"of {shapes}", "axes before the last two that broadcast")
    if mask is not None:
        _check_mask(mask, query, key, gqa)


def _check_axis(name: str, tensor: Tensor, axis: int, expected: int, of: str) -> None:
    if tensor.shape[axis] != expected:
        _refuse(f"{name}.shape[{tensor.dim() + axis}]", tensor.shape[axis], f"{expected} ({of})")


def _check_heads(query: Tensor, key: Tensor, value: Tensor, gqa: bool) -> None:
    heads = _heads(query)
    for name, tensor in (("key", key), ("value", value)):
        found = _heads(tensor)
        if gqa and min(query.dim(), tensor.dim()) < 3:
            raise made(
                OutOfRange, op=_OP, argument=f"{name}.shape", found=str(list(tensor.shape)),
                expected="an axis of heads in query, key and value, as enable_gqa is True",
            )  # fmt: skip
        if gqa and (found == 0 or heads % found):
            _refuse(f"{name}.shape[-3]", found, f"a divisor of {heads} (query's heads)")
        if not gqa and found != heads and 1 not in (found, heads):
            _refuse(f"{name}.shape[-3]", found, f"{heads} (query's heads), as enable_gqa is False")


def _check_mask(mask: Tensor, query: Tensor, key: Tensor, gqa: bool) -> None:
    if mask.dtype not in (torch.bool, torch.float32, query.dtype):
        floats = "" if query.dtype == torch.float32 else "torch.float32 or "
        expected = f"torch.bool or {floats}{query.dtype} (query's)"
        _refuse_kind("attn_mask", str(mask.dtype), expected)
    scores = (*_batch_and_heads(query, key, gqa=gqa), query.shape[-2], key.shape[-2])
    own = scores[len(scores) - mask.dim() :]
    if mask.dim() > len(scores) or any(n not in (1, m) for n, m in zip(mask.shape, own)):
        _refuse("attn_mask.shape", list(mask.shape), f"a shape that broadcasts to {list(scores)}")


# --- shapes --------------------------------------------------------------------------------------


def _is_rank_4(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, gqa: bool) -> bool:
    """Whether all tensors have rank 4 and only the mask broadcasts; takes a few microseconds."""
    of_q, of_k, of_v = query.shape, key.shape, value.shape
    return (
        len(of_q) == len(of_k) == len(of_v) == 4
        and of_q[0] == of_k[0] == of_v[0]
        and of_k[1:3] == of_v[1:3]
        and of_q[3] == of_k[3] > 0
        and (of_q[1] == of_k[1] or gqa and of_k[1] > 0 and of_q[1] % of_k[1] == 0)
        and query.dtype == key.dtype == value.dtype
        and (mask is None or (mask.dim() == 2 and mask.shape == (of_q[2], of_k[2])
                              and mask.dtype in (torch.bool, query.dtype)))
    )  # fmt: skip


def _heads(tensor: Tensor) -> int:
    return tensor.shape[-3] if tensor.dim() > 2 else 1


def _batch_and_heads(query: Tensor, *tensors: Tensor, gqa: bool) -> tuple[int, ...]:
    """Returns the broadcast axes before the last two."""
    heads = (query.shape[-3],) if gqa else ()
    each = ((*t.shape[:-3], *heads) if gqa else t.shape[:-2] for t in tensors)
    return _broadcast(query.shape[:-2], *each)


def _broadcast(*shapes: Any) -> tuple[int, ...]:
    """Replaces torch.broadcast_shapes, which takes 10 us where attention of a short text takes
    15."""
    rank = max(map(len, shapes))
    common = [1] * rank
    for shape in shapes:
        for axis, extent in enumerate(shape, rank - len(shape)):
            if extent != 1 and common[axis] not in (1, extent):
                raise ValueError(f"{list(shape)} does not broadcast")
            common[axis] = extent if common[axis] == 1 else common[axis]
    return tuple(common)


def _out_shape(query: Tensor, key: Tensor, value: Tensor, gqa: bool) -> tuple[int, ...]:
    return (*_batch_and_heads(query, key, value, gqa=gqa), query.shape[-2], value.shape[-1])


def _of_rank_4(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, gqa: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Returns the tensors and the mask with one batch axis, after broadcasting the axes before the
    last two."""
    axes = _batch_and_heads(query, key, value, gqa=gqa)
    *batch, heads = axes or (1,)
    groups = _heads(key) if _heads(key) == _heads(value) else heads

    def flat(tensor: Tensor, heads: int) -> Tensor:
        if tensor.dim() == 4 == len(batch) + 3 and tensor.shape[:2] == (batch[0], heads):
            return tensor
        if gqa and tensor.shape[-3] != heads:
            tensor = tensor.repeat_interleave(heads // tensor.shape[-3], -3)
        full = tensor.expand(*batch, heads, *tensor.shape[-2:])
        return full.reshape(math.prod(batch), heads, *tensor.shape[-2:])

    if mask is not None and mask.dim() < 2:
        mask = torch.atleast_2d(mask)
    if mask is not None and mask.dim() > 3 and len(batch) > 1:
        full = mask.expand(*batch, *mask.shape[-3:])
        mask = full.reshape(math.prod(batch), *mask.shape[-3:])
    return flat(query, heads), flat(key, groups), flat(value, groups), mask


# --- replaces PyTorch's functions ----------------------------------------------------------------


_lock = threading.Lock()
_uses = 0
"""The number of active ``use()`` contexts in all threads."""
_before: dict[str, Any] = {}
"""PyTorch's functions and its fast-path setting, which ``use()`` replaced."""


@contextmanager
def use() -> Iterator[None]:
    """Replaces ``torch.nn.functional.scaled_dot_product_attention`` by heed's inside the ``with``.

    Code that looks up the function when it calls it gets heed's. Code that imported the function by
    name before keeps PyTorch's. ``torch.nn.MultiheadAttention`` and ``TransformerEncoder`` use
    heed's too, with ``need_weights=True`` and in evaluation. The replacement applies to all threads
    and lasts until the last of several overlapping contexts ends.
    """
    _replace()
    try:
        yield
    finally:
        _put_back()


def _replace() -> None:
    global _uses
    with _lock:
        if _uses == 0:
            _before["fast"] = torch.backends.mha.get_fastpath_enabled()
            torch.backends.mha.set_fastpath_enabled(False)  # it does not call the function
            for name, own in _OWN.items():
                _before[name] = getattr(torch.nn.functional, name)
                setattr(torch.nn.functional, name, own)
        _uses += 1


def _put_back() -> None:
    global _uses
    with _lock:
        _uses -= 1
        if _uses == 0:
            torch.backends.mha.set_fastpath_enabled(_before["fast"])
            for name, own in _OWN.items():
                if getattr(torch.nn.functional, name) is own:  # keep another library's replacement
                    setattr(torch.nn.functional, name, _before[name])


_multi_head_attention = torch.nn.functional.multi_head_attention_forward
_signature = inspect.signature(_multi_head_attention)


@wraps(_multi_head_attention)
def _with_weights(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor | None]:
    """Calls multi_head_attention_forward; if it is asked for weights, heed computes them."""
    given = _signature.bind(*args, **kwargs)
    given.apply_defaults()
    arguments = given.arguments
    if not arguments["need_weights"]:
        return _multi_head_attention(*args, **kwargs)
    arguments["need_weights"] = False
    out, _ = _attending(*given.args, **given.kwargs)
    weights = _seen.weights
    _seen.weights = None
    if arguments["average_attn_weights"]:
        weights = weights.mean(dim=1)
    return out, weights if arguments["query"].dim() == 3 else weights.squeeze(0)


_with_weights.__script_unsupported = _NO_SCRIPT
_seen = threading.local()
"""The weights of the current call of each thread."""


def _attended_and_seen(query: Tensor, key: Tensor, value: Tensor, *others: Any) -> Tensor:
    """Stores the weights [B, H, Tq, Tk] with gradients, by appending unit vectors to the values."""
    units = torch.eye(key.shape[-2], dtype=key.dtype, device=key.device).expand(*key.shape[:-1], -1)
    both = scaled_dot_product_attention(query, key, torch.cat([value, units], -1), *others)
    out, _seen.weights = both.split([value.shape[-1], key.shape[-2]], -1)
    return out


_attending = FunctionType(
    _multi_head_attention.__code__,
    {**vars(torch.nn.functional), _OP: _attended_and_seen},
    argdefs=_multi_head_attention.__defaults__,
)
"""A copy of multi_head_attention_forward that calls ``_attended_and_seen``."""
_attending.__globals__["multi_head_attention_forward"] = _attending  # for tensor subclasses

_OWN = {
    _OP: scaled_dot_product_attention,
    "multi_head_attention_forward": _with_weights,
}
