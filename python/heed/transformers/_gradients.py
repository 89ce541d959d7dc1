"""Answers about weights with gradients, so that a loss can use them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .._seen import Seen
from ..errors import Unsupported, made

_NAMES = ("q", "k", "bias", "sink")


class SeenWithGradients(Seen):
    """An attention whose ``entropy()`` and ``received()`` have gradients; other answers do not."""

    _graph: tuple[Tensor | None, ...] | None
    """q, k, bias and sink with their graphs; None if an edit changed the scores."""

    @classmethod
    def of_graph(cls, seen: Seen, graph: tuple[Tensor | None, ...] | None) -> SeenWithGradients:
        made = cls(seen._core, seen._library, seen._given, seen._asked)
        made._graph = graph
        return made

    def entropy(self) -> Tensor:
        """Returns :meth:`heed.Seen.entropy` with gradients."""
        return self._with_gradients("entropy")

    def received(self, *, all_heads: bool = False, value_norm: bool = False) -> Tensor:
        """Returns :meth:`heed.Seen.received` with gradients; ``value_norm`` is not supported."""
        if value_norm:
            raise made(Unsupported, op="received", argument="value_norm", found="True",
                       expected="False in a watch with gradients")  # fmt: skip
        found = self._with_gradients("received")
        return found.sum(1) if all_heads else found

    def __reduce__(self) -> Any:
        return Seen.__reduce__(self)

    def _with_gradients(self, name: str) -> Tensor:
        if self._graph is None:
            raise made(Unsupported, op=name, found="a layer whose scores are edited",
                       expected="one without edits, in a watch with gradients")  # fmt: skip
        return _Asked.apply(self, name, *self._graph)


class _Asked(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, seen: Seen, name: str, *graph: Tensor | None) -> Tensor:
        ctx.seen, ctx.name = seen, name
        ctx.types = [each is not None and each.dtype for each in graph]
        return getattr(Seen, name)(seen)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, cotangent: Tensor) -> tuple[Any, ...]:
        wanted = tuple(n for n, needs in zip(_NAMES, ctx.needs_input_grad[2:]) if needs)
        accumulator = torch.float64 if torch.float64 in ctx.types else torch.float32
        asked = {f"d{ctx.name}": cotangent.to(accumulator).contiguous()}
        found = dict(zip(wanted, ctx.seen.observed_backward(**asked, of=wanted))) if wanted else {}
        grads = (found[n].to(t) if n in found else None for n, t in zip(_NAMES, ctx.types))
        return None, None, *grads
