"""Attention of tensors [B, H, T, D] with gradients, and the operator ``heed::attention``.

PyTorch's tracers, transforms and tensor subclasses work on operators. ``attend`` calls the operator
if one of them is active. Otherwise it calls heed directly, which saves 20 us per call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from . import _core, _masks
from .errors import Unsupported, made

grad_enabled = torch.is_grad_enabled
_is_dynamo = torch.compiler.is_dynamo_compiling
_is_batched = torch._C._functorch.is_legacy_batchedtensor
_dispatch_modes = torch._C._len_torch_dispatch_stack
_trace = torch._C._get_tracing_state
_transform = torch._C._functorch.peek_interpreter_stack
_PLAIN = {Tensor, torch.nn.Parameter, type(None)}
_DIFFERENTIABLE = ("q", "k", "v", "bias", "sink")
_CAUSAL = _masks.causal()


def attend(
    query: Tensor, key: Tensor, value: Tensor, *, bias: Tensor | None = None,
    sink: Tensor | None = None, keep: Tensor | None = None, seed: Tensor | None = None,
    offset: int | None = None, settings: dict[str, Any], by_token: bool | None = None,
    kept: list[Tensor | None] | None = None,
) -> Tensor:  # fmt: skip
    """Returns the output, [B, H, Tq, Dv], with autograd if an input requires a gradient.

    Parameters
    ----------
    keep : boolean, true where a query may attend
    seed : the seed of dropout, an int64 tensor without axes
    offset : the position of query 0 under a causal mask; None without a causal mask
    settings : other arguments of ``heed.attention``, none of which is a tensor
    by_token : whether the memory order of the result is [B, Tq, H, Dv]; None: the query's order
    kept : a list to which [2, B, H, Tq] is appended, the log-sum-exp and its rounding error
    """
    tensors = (query, key, value, bias, sink, keep, seed)
    if not is_direct(*tensors):
        out, lse, *_ = _by_operator(tensors, offset, settings, by_token)
    elif grad_enabled() and requires_gradient(query, key, value, bias, sink):
        return _Attention.apply(*tensors, offset, settings, by_token, kept)
    else:
        arguments = _arguments(*tensors[3:], offset, settings)
        if kept is None:
            return _core.attend_tensors(query, key, value, arguments, by_token)
        out, lse, _ = _core.attend_kept(query, key, value, arguments, by_token)
    if kept is not None:
        kept.append(lse)
    return out


def is_direct(*tensors: Tensor | None) -> bool:
    """Whether heed may read the tensors directly: no tracer, transform or subclass needs to see an
    operator."""
    return (
        not _is_dynamo()
        and _PLAIN.issuperset(map(type, tensors))
        and not _dispatch_modes()
        and forward_ad._current_level < 0
        and _trace() is None
        and _transform() is None
    )


def requires_gradient(*tensors: Tensor | None) -> bool:
    return any(tensor is not None and tensor.requires_grad for tensor in tensors)


def _arguments(
    bias: Tensor | None, sink: Tensor | None, keep: Tensor | None, seed: Tensor | None,
    offset: int | None, settings: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Returns the keyword arguments of ``heed.attention``."""
    arguments = {**settings, "bias": bias, "sink": sink}
    if offset is not None:
        arguments |= {"mask": _CAUSAL, "q_offset": offset}
    if keep is not None:
        mask = arguments.get("mask")
        kept = _masks.keep(keep)
        arguments["mask"] = kept if mask is None else mask & kept
    if seed is not None:
        arguments["seed"] = int(seed)
    return arguments


# --- the gradients -------------------------------------------------------------------------------


def _save(
    ctx: Any, tensors: Any, offset: int | None, settings: dict[str, Any], output: Any
) -> None:
    ctx.save_for_backward(*tensors, *output)
    ctx.set_materialize_grads(False)
    ctx.offset, ctx.settings = offset, settings


def _backward(ctx: Any, dout: Tensor | None, *_: Any) -> tuple[Tensor | None, ...]:
    """Returns the gradients of all arguments of the forward pass, None for those without one."""
    needed = ctx.needs_input_grad
    if dout is None:
        return (None,) * len(needed)
    saved = ctx.saved_tensors  # raises if one of them was written to since the forward pass
    of = needed[: len(_DIFFERENTIABLE)]
    gradients = iter(_gradients_of(dout, of, saved, ctx.offset, ctx.settings))
    asked = tuple(next(gradients) if each else None for each in of)
    return (*asked, *(None,) * (len(needed) - len(asked)))


def _gradients_of(
    dout: Tensor, of: Any, saved: Any, offset: int | None, settings: dict[str, Any]
) -> Any:
    if _is_batched(dout):
        return _of_each(dout, lambda row: _gradients_of(row, of, saved, offset, settings))
    if not grad_enabled() and is_direct(dout, *saved):
        return _computed_gradients(of, dout, saved, offset, settings)
    keep = _visible(saved, settings)
    if _is_dual(dout, *saved):
        check_formula(settings)
        return _formula_gradients(of, dout, saved[:5], keep, offset, settings)
    others = offset, *_numbers(settings), list(of)  # the operator has second derivatives
    return _applied(_Gradients, _gradients)(dout, *saved[:5], keep, *saved[6:], *others)


def _of_each(batched: Tensor, function: Callable[[Tensor], Any]) -> list[Tensor]:
    """Applies the function to each cotangent of ``torch.autograd.grad(..., is_grads_batched=True)``
    and stacks the results."""
    level = torch._C._vmapmode_increment_nesting() - 1
    torch._C._vmapmode_decrement_nesting()
    found = [function(row) for row in torch._remove_batch_dim(batched, level, 0, 0)]
    return [torch._add_batch_dim(torch.stack(each), 0, level) for each in zip(*found)]


def _computed_gradients(
    of: Any, dout: Tensor, saved: Any, offset: int | None, settings: dict[str, Any]
) -> list[Tensor]:
    query, key, value, *others, out, lse, out_low = saved
    if out_low is not None and out_low.numel() == 0:  # an operator returns tensors, never None
        out_low = None
    arguments = _arguments(*others, offset, settings)
    names = tuple(name for name, each in zip(_DIFFERENTIABLE, of) if each)
    return _core.attend_backward(query, key, value, arguments, (out, lse, out_low), dout, names)


class _Attention(torch.autograd.Function):
    """Attention with gradients, without an operator."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, bias: Any, sink: Any, keep: Any,
        seed: Any, offset: int | None, settings: dict[str, Any], by_token: bool | None,
        kept: list[Tensor | None] | None,
    ) -> Tensor:  # fmt: skip
        arguments = _arguments(bias, sink, keep, seed, offset, settings)
        output = _core.attend_kept(query, key, value, arguments, by_token)
        _save(ctx, (query, key, value, bias, sink, keep, seed), offset, settings, output)
        if kept is not None:
            kept.append(output[1])
        return output[0]

    backward = staticmethod(_backward)


# --- the formula, for tangents and second derivatives --------------------------------------------


def _formula(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, sink: Tensor | None,
    keep: Tensor | None, offset: int | None, scale: float | None, softcap: float,
) -> Tensor:  # fmt: skip
    """Computes attention with PyTorch's functions, which have derivatives of any kind and order."""
    kind = torch.float64 if query.dtype == torch.float64 else torch.float32
    q, k, v = (each.to(kind) for each in (query, key, value))
    k, v = (each.repeat_interleave(q.shape[1] // each.shape[1], 1) for each in (k, v))
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    visible = scores.new_ones(scores.shape[-2:], dtype=torch.bool)
    if offset is not None:
        visible = visible.tril(offset)
    if keep is not None:
        visible = visible & keep
    if bias is not None:
        visible = visible & (bias != -torch.inf)
        scores = scores + bias.where(visible, 0)
    scores = scores.masked_fill(~visible, torch.finfo(kind).min)
    if sink is not None:
        of_sink = sink.to(kind)[:, None, None].expand(*scores.shape[:-1], 1)
        scores = torch.cat([scores, of_sink], -1)
    weights = scores.softmax(-1)[..., : k.shape[2]]
    return (weights.masked_fill(~visible, 0) @ v).to(query.dtype)


def _formula_gradients(
    of: Any, dout: Tensor, inputs: Any, keep: Tensor | None, offset: int | None,
    settings: dict[str, Any],
) -> tuple[Tensor, ...]:  # fmt: skip
    """Returns the gradients of the inputs that ``of`` selects, computed by the formula."""
    _, scale, softcap = _numbers(settings)

    def attended(*asked: Tensor) -> Tensor:
        given = iter(asked)
        every = (next(given) if each else tensor for each, tensor in zip(of, inputs))
        return _formula(*every, keep, offset, scale, softcap)

    asked = [tensor for each, tensor in zip(of, inputs) if each]
    return torch.func.vjp(attended, *asked)[1](dout)


def check_formula(settings: dict[str, Any]) -> None:
    if settings.get("dropout") not in (None, 0, 1):
        raise made(
            Unsupported, op="heed.torch", argument="dropout_p", found=str(settings["dropout"]),
            expected="0 or 1 for forward-mode and second derivatives",
        )  # fmt: skip


def _is_dual(*tensors: Tensor | None) -> bool:
    """Whether forward-mode differentiation needs a tangent of the result."""
    if forward_ad._current_level < 0:
        return False
    if _transform() is not None:
        return True
    given = (tensor for tensor in tensors if tensor is not None)
    return any(forward_ad.unpack_dual(tensor).tangent is not None for tensor in given)


# --- the operator --------------------------------------------------------------------------------

_TENSORS = "Tensor query, Tensor key, Tensor value, Tensor? bias, Tensor? sink, Tensor? keep, Tensor? seed"
_NUMBERS = "SymInt? offset, float dropout, float? scale, float softcap"


def _numbers(settings: dict[str, Any]) -> tuple[float, float | None, float]:
    return settings.get("dropout") or 0.0, settings.get("scale"), settings.get("softcap") or 0.0


def _named(dropout: float, scale: float | None, softcap: float) -> dict[str, Any]:
    return {"dropout": dropout, "scale": scale, "softcap": softcap}


def _by_operator(
    tensors: Any, offset: int | None, settings: dict[str, Any], by_token: bool | None
) -> Any:
    query, key, value, bias, sink, _, seed = tensors
    keep = _visible(tensors, settings)
    dropout, scale, softcap = _numbers(settings)
    if _is_dual(*tensors):
        check_formula(settings)
        out = _formula(query, key, value, bias, sink, keep, offset, scale, softcap)
        return out, None
    if by_token is None:
        by_token = 1 not in query.shape[1:3] and query.stride(1) < query.stride(2)
    return _applied(_Attended, _operator)(
        query, key, value, bias, sink, keep, seed, offset, dropout, scale, softcap, by_token
    )


def drawn_seed() -> Tensor:
    """Draws the seed of a dropout from PyTorch's generator for the CPU."""
    return torch.randint(2**63 - 1, (), dtype=torch.int64, device="cpu")


def _visible(tensors: Any, settings: dict[str, Any]) -> Tensor | None:
    """Returns one boolean mask that includes the mask rules and lengths of ``settings``."""
    query, key, *_ = tensors
    keep = tensors[5]
    mask, lengths = settings.get("mask"), settings.get("key_length")
    if mask is not None:
        shape = (query.shape[0], 1, query.shape[2], key.shape[2])
        places = settings.get("q_offset"), settings.get("key_offset") or 0
        visible = torch.from_numpy(mask.to_array(shape, *places))
        keep = visible if keep is None else visible & keep
    if lengths is not None:
        places = torch.arange(key.shape[2], device="cpu")
        exists = places < torch.tensor(lengths, device="cpu").view(-1, 1, 1, 1)
        keep = exists if keep is None else exists & keep
    if settings.get("dropout") == 1:
        keep = torch.zeros(1, 1, dtype=torch.bool, device="cpu")
    return keep


@torch.library.custom_op(
    "heed::attention", mutates_args=(), device_types="cpu",
    schema=f"({_TENSORS}, {_NUMBERS}, bool by_token) -> (Tensor, Tensor, Tensor)",
)  # fmt: skip
def _operator(
    query: Tensor, key: Tensor, value: Tensor, bias: Any, sink: Any, keep: Any, seed: Any,
    offset: int | None, dropout: float, scale: float | None, softcap: float, by_token: bool,
) -> Any:  # fmt: skip
    """Returns (out, lse, out_low), like ``_core.attend_kept``."""
    settings = _named(dropout, scale, softcap)
    arguments = _arguments(bias, sink, keep, seed, offset, settings)
    out, lse, low = _core.attend_kept(query, key, value, arguments, by_token)
    return out, lse, query.new_empty(0) if low is None else low


@_operator.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, *others: Any) -> Any:
    batch, heads, queries, _ = query.shape
    is_narrow = query.dtype.itemsize == 2
    shape = batch, heads, queries, value.shape[3]
    if others[-1]:
        out = query.new_empty((batch, queries, heads, value.shape[3])).transpose(1, 2)
    else:
        out = query.new_empty(shape)
    kind = torch.float32 if is_narrow else query.dtype
    lse = query.new_empty((2, *shape[:3]), dtype=kind)
    return out, lse, query.new_empty(shape if is_narrow else (0,))


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    *tensors, offset, dropout, scale, softcap, _ = inputs
    _save(ctx, tensors, offset, _named(dropout, scale, softcap), output)
    ctx.mark_non_differentiable(*output[1:])


@torch.library.custom_op(
    "heed::attention_backward", mutates_args=(), device_types="cpu",
    schema=f"(Tensor dout, {_TENSORS}, Tensor out, Tensor lse, Tensor? out_low, "
    f"{_NUMBERS}, bool[] of) -> Tensor[]",
)  # fmt: skip
def _gradients(dout: Tensor, *given: Any) -> list[Tensor]:
    *saved, offset, dropout, scale, softcap, of = given
    with torch.no_grad():
        return _computed_gradients(of, dout, saved, offset, _named(dropout, scale, softcap))


@_gradients.register_fake
def _(dout: Tensor, *given: Any) -> list[Tensor]:
    others = (t if t is None else t.new_empty(t.shape) for t in given[3:5])
    memory = (*map(torch.empty_like, given[:3]), *others)
    return [each for each, asked in zip(memory, given[-1]) if asked]


def _setup_second(ctx: Any, inputs: Any, output: Any) -> None:
    dout, *given = inputs
    *saved, ctx.offset, dropout, scale, softcap, ctx.of = given
    ctx.settings = _named(dropout, scale, softcap)
    ctx.save_for_backward(dout, *saved[:6])


def _second(ctx: Any, cotangents: list[Tensor]) -> tuple[Tensor | None, ...]:
    """Returns the derivatives of the gradients, computed by the formula."""
    check_formula(ctx.settings)
    *given, keep = ctx.saved_tensors
    places = [place for place, tensor in enumerate(given) if tensor is not None]

    def first(*present: Tensor) -> tuple[Tensor, ...]:
        every = given.copy()
        for place, tensor in zip(places, present):
            every[place] = tensor
        return _formula_gradients(ctx.of, every[0], every[1:], keep, ctx.offset, ctx.settings)

    found = torch.func.vjp(first, *(given[place] for place in places))[1](tuple(cotangents))
    gradients = dict(zip(places, found))
    return tuple(gradients.get(place) for place in range(len(ctx.needs_input_grad)))


def _one_by_one(operator: Callable[..., Any]) -> Callable[..., Any]:
    """Returns an operator for vmap, which calls ``operator`` for each element of the mapped
    axis."""

    def mapped(info: Any, in_dims: Any, *given: Any) -> Any:
        def at(index: int) -> Any:
            pairs = zip(given, in_dims)
            return (t.select(d, index) if isinstance(d, int) else t for t, d in pairs)

        calls = [operator(*at(index)) for index in range(info.batch_size)]
        stacked = [torch.stack(each) for each in zip(*calls)]
        kind = type(calls[0])
        return kind(stacked), kind([0] * len(stacked))

    return mapped


# torch.func's transforms need functions with a setup_context; they refuse operators with gradients.


class _Attended(torch.autograd.Function):
    forward = staticmethod(_operator)
    setup_context = staticmethod(_setup)
    backward = staticmethod(_backward)

    @staticmethod
    def vmap(info: Any, in_dims: Any, *given: Any) -> Any:
        return _one_by_one(_Attended.apply)(info, in_dims, *given)


class _Gradients(torch.autograd.Function):
    setup_context = staticmethod(_setup_second)

    @staticmethod
    def forward(*given: Any) -> tuple[Tensor, ...]:
        return tuple(_gradients(*given))

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor | None, ...]:
        return _second(ctx, list(cotangents))

    @staticmethod
    def vmap(info: Any, in_dims: Any, *given: Any) -> Any:
        return _one_by_one(_Gradients.apply)(info, in_dims, *given)


def _applied(function: Any, operator: Any) -> Any:
    return operator if _is_dynamo() or _transform() is None else function.apply


_operator.register_autograd(_backward, setup_context=_setup)
_operator.register_vmap(_one_by_one(torch.ops.heed.attention))
_gradients.register_autograd(_second, setup_context=_setup_second)
_gradients.register_vmap(_one_by_one(torch.ops.heed.attention_backward))
