"""heed in the place of PyTorch's ``scaled_dot_product_attention``, with its gradients.

>>> import torch, heed.torch
>>> q = torch.ones(1, 2, 3, 4, dtype=torch.float64, requires_grad=True)
>>> out = heed.torch.scaled_dot_product_attention(q, q, q, is_causal=True)
>>> out.shape
torch.Size([1, 2, 3, 4])
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import torch
import torch.nn.functional
from torch import Tensor

from . import _core
from ._libraries import Torch
from ._masks import causal, keep
from ._checks import kind_of
from .errors import Error, InvalidArgument, Unsupported, WrongType, made, renamed

__all__ = ["scaled_dot_product_attention", "use"]

_OP = "scaled_dot_product_attention"
grad_enabled = torch.is_grad_enabled
is_autocast_enabled = torch.is_autocast_enabled
_GRADIENTS = ("q", "k", "v", "bias", "sink")
_NAMES = {"q": "query", "k": "key", "v": "value", "bias": "attn_mask", "mask.keep": "attn_mask",
          "keep": "attn_mask", "dropout": "dropout_p"}  # fmt: skip


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
    """``torch.nn.functional.scaled_dot_product_attention`` computed by heed, with the same meaning.

    Parameters
    ----------
    query : [..., H, Tq, D]; the axes before H are batch axes
    key : [..., H, Tk, D]; with ``enable_gqa`` [..., G, Tk, D], H a multiple of G
    value : as key, with its own last axis
    attn_mask : broadcasts to [..., H, Tq, Tk]; a boolean one says where a query *may* attend, a
        floating one is added to the scores and may require a gradient
    dropout_p : the seed is drawn from PyTorch's generator; the pattern is heed's own
    is_causal : query i sees keys 0 to i (top-left), whatever their number; not with ``attn_mask``
    scale : 1 / sqrt(D) by default

    Returns
    -------
    [..., H, Tq, Dv]. A query that sees no key gets 0, and what is masked has no influence, even
    if it is NaN.

    Raises
    ------
    ValueError, TypeError
        as ``heed.attention``; tensors have to be in the host's memory
    """
    _refuse_transforms()
    if is_autocast_enabled("cpu"):
        query, key, value = autocast(query, key, value)
    query4, key4, value4, mask4 = query, key, value, attn_mask
    if attn_mask is not None or not _is_plain(query, key, value):
        _check(query, key, value, attn_mask, is_causal, enable_gqa)
        query4, key4, value4, mask4 = _of_rank_4(query, key, value, attn_mask)
    settings: dict[str, Any] = {"scale": scale}
    if is_causal:
        settings |= {"mask": causal(), "q_offset": 0}
    if dropout_p:
        seed = int(torch.randint(2**63 - 1, (), dtype=torch.int64))
        settings |= {"dropout": dropout_p, "seed": seed}
    bias = None
    if mask4 is not None and mask4.dtype == torch.bool:
        settings["mask"] = keep(mask4)
    elif mask4 is not None:
        bias = mask4
    if dropout_p == 1:  # everything is dropped, which is a product with 0 for the gradients too
        out = (query4.sum() + key4.sum()) * 0 + value4.new_zeros(
            (*query4.shape[:3], value4.shape[3])
        )
    else:
        try:
            out = attend(query4, key4, value4, bias=bias, settings=settings)
        except Error as error:
            raise renamed(error, _NAMES) from None
    return out.reshape((*query.shape[:-1], value.shape[-1])) if query.dim() != 4 else out


@contextmanager
def use() -> Iterator[None]:
    """Inside, ``torch.nn.functional.scaled_dot_product_attention`` is heed's.

    Code that looks the function up when it calls it gets heed's; what imported it by name before
    keeps PyTorch's. It holds for all threads.
    """
    functional = torch.nn.functional
    before = functional.scaled_dot_product_attention
    functional.scaled_dot_product_attention = scaled_dot_product_attention
    try:
        yield
    finally:
        functional.scaled_dot_product_attention = before


class _Attention(torch.autograd.Function):
    """Attention of rank 4, with gradients by query, key, value, a floating mask and sinks."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, bias: Any, sink: Any,
        settings: dict[str, Any], by_token: bool, kept: list[_core.Seen] | None,
    ) -> Tensor:  # fmt: skip
        memory = _memory(query, value, by_token)
        asked = _core.Problem(query, key, value, _with_tensors(settings, bias, sink))
        # Of `out` itself, whose graph holds ctx, it would make a circle that nobody frees.
        ctx.seen = _core.attend_into(asked, memory.detach(), True, by_token)
        out = memory.transpose(1, 2) if by_token else memory
        if kept is not None:
            kept.append(ctx.seen)
        ctx.save_for_backward(query, key, value, bias, sink, out)
        return out

    @staticmethod
    def backward(ctx: Any, dout: Tensor) -> tuple[Any, ...]:
        saved = ctx.saved_tensors  # raises where one of them was written to in the meantime
        of = tuple(name for name, asked in zip(_GRADIENTS, ctx.needs_input_grad) if asked)
        with torch.no_grad():
            found = [Torch.taken(each) for each in ctx.seen.backward(dout.detach(), None, of)]
        if grad_enabled():  # create_graph: they depend on these, even where dout does not
            found = _Once.apply(len(found), *found, dout, *(t for t in saved if t is not None))
        gradients = dict(zip(of, found))
        return (*(gradients.get(name) for name in _GRADIENTS), None, None, None)


class _Once(torch.autograd.Function):
    """Hands gradients on, and refuses to differentiate them again."""

    @staticmethod
    def forward(ctx: Any, count: int, *tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(tensor.view_as(tensor) for tensor in tensors[:count])

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> NoReturn:
        raise made(
            Unsupported, op="heed.torch", found="a gradient is differentiated again",
            expected="first derivatives alone",
            hint="PyTorch's own attention has second ones, under "
            "torch.nn.attention.sdpa_kernel(SDPBackend.MATH)",
        )  # fmt: skip


def attend(
    query: Tensor, key: Tensor, value: Tensor, *, bias: Tensor | None = None,
    sink: Tensor | None = None, settings: dict[str, Any], by_token: bool = False,
    kept: list[_core.Seen] | None = None,
) -> Tensor:  # fmt: skip
    """Attention of rank 4, with autograd where an input requires a gradient.

    ``settings`` are the other arguments of ``heed.attention``. With ``by_token`` the result is
    [B, Tq, H, Dv]. ``kept`` gets what the weights are computed from.
    """
    if grad_enabled() and requires_gradient(query, key, value, bias, sink):
        out = _Attention.apply(query, key, value, bias, sink, settings, by_token, kept)
        return out.transpose(1, 2) if by_token else out
    settings = _with_tensors(settings, bias, sink)
    if kept is None:
        return _core.attend_tensors(query, key, value, settings, by_token)
    memory = _memory(query, value, by_token)
    asked = _core.Problem(query, key, value, settings)
    kept.append(_core.attend_into(asked, memory, True, by_token))
    return memory


def autocast(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors in the type of ``torch.autocast``, as PyTorch's function takes them there."""
    kind = torch.get_autocast_dtype("cpu")
    return tuple(
        tensor.to(kind) if tensor.is_floating_point() and tensor.dtype != torch.float64 else tensor
        for tensor in tensors
    )


def requires_gradient(*tensors: Tensor | None) -> bool:
    return any(tensor is not None and tensor.requires_grad for tensor in tensors)


def _with_tensors(
    settings: dict[str, Any], bias: Tensor | None, sink: Tensor | None
) -> dict[str, Any]:
    if bias is None and sink is None:
        return settings
    return {**settings, "bias": bias, "sink": sink}


def _memory(query: Tensor, value: Tensor, by_token: bool) -> Tensor:
    batch, heads, tokens, _ = query.shape
    first, second = (tokens, heads) if by_token else (heads, tokens)
    return query.new_empty((batch, first, second, value.shape[-1]))


def _refuse_transforms() -> None:
    """vmap, grad and their like show tensors without memory."""
    if torch._C._functorch.peek_interpreter_stack() is not None:
        raise NotImplementedError(
            f"heed.torch.{_OP} does not run inside torch.func's transforms (vmap, grad, jvp); give "
            "it a mapped axis as a batch axis, of which query, key and value may have any number"
        )


def _is_plain(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Rank 4 with one batch, as many heads and one type: the common case, which costs no more."""
    try:
        of_q, of_k, of_v = query.shape, key.shape, value.shape
    except AttributeError:  # a list
        return False
    return (
        len(of_q) == len(of_k) == len(of_v) == 4
        and of_q[0] == of_k[0] == of_v[0]
        and of_q[1] == of_k[1] == of_v[1]
        and query.dtype == key.dtype == value.dtype
        and type(query.dtype) is torch.dtype
    )


def _refuse(argument: str, found: Any, expected: str) -> NoReturn:
    raise made(InvalidArgument, op=_OP, argument=argument, found=str(found), expected=expected)


def _check(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool, gqa: bool
) -> None:
    tensors = {"query": query, "key": key, "value": value}
    for name, tensor in (tensors if mask is None else tensors | {"attn_mask": mask}).items():
        if not isinstance(tensor, Tensor):
            found = kind_of(tensor)
            raise made(WrongType, op=_OP, argument=name, found=found, expected="a tensor of PyTorch")
    for name, tensor in tensors.items():
        if tensor.dim() < 2:
            _refuse(f"{name}.shape", list(tensor.shape), "at least two axes")
        if tensor.dtype != query.dtype:
            _refuse(name, tensor.dtype, f"{query.dtype} (query's)")
    if mask is not None and is_causal:
        _refuse("attn_mask", "given beside is_causal", "one of them")
    heads = _heads(query)
    for name, tensor in (("key", key), ("value", value)):
        found = _heads(tensor)
        if gqa and (found == 0 or heads % found):
            _refuse(f"{name}.shape[-3]", found, f"a divisor of {heads} (query's heads)")
        if not gqa and found != heads and 1 not in (found, heads):
            _refuse(f"{name}.shape[-3]", found, f"{heads} (query's heads), as enable_gqa is False")


def _heads(tensor: Tensor) -> int:
    return tensor.shape[-3] if tensor.dim() > 2 else 1


def _of_rank_4(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """The same with one batch axis. Batch axes broadcast, and heads where one of them is 1."""
    if query.dim() == key.dim() == value.dim() == 4 and (mask is None or mask.dim() <= 4):
        same_batch = query.shape[0] == key.shape[0] == value.shape[0]
        if same_batch and query.shape[1] >= key.shape[1] == value.shape[1]:
            return query, key, value, mask
    tensors = (query, key, value) if mask is None else (query, key, value, mask)
    batch = torch.broadcast_shapes(*(t.shape[:-3] for t in tensors))
    most = max(map(_heads, (key, value)))

    def flat(tensor: Tensor) -> Tensor:
        while tensor.dim() < 3:
            tensor = tensor.unsqueeze(0)
        heads = most if tensor.shape[-3] == 1 and tensor is not mask else tensor.shape[-3]
        full = tensor.expand(*batch, heads, *tensor.shape[-2:])
        return full.reshape(-1, heads, *tensor.shape[-2:])

    if mask is not None and mask.dim() > 3:
        mask = flat(mask)
    return flat(query), flat(key), flat(value), mask
