"""Sessions of attention weights computed elsewhere, without q and k.

A layer is stored as an attention whose bias is the logarithm of the weights and whose q and k are
0. All code that computes weights then gives these: e^(ln w) is w with a relative error of 1.3e-6.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _masks
from ._checks import below, whole_if_given
from ._seen import Seen
from ._session_arrays import as_array, opened, stacks_of
from .errors import refused

if TYPE_CHECKING:
    from ._session import Session

_ROUNDED = 1e-2  # tolerance for sums of bfloat16 weights


def of_weights(
    kind: type[Session],
    weights: Any,
    tokens: Any = None,
    *,
    key_tokens: Any = None,
    stack: str | None = None,
    name: str = "weights",
    sequence: int | None = None,
    sentence_b_start: int | None = None,
    images: Any = None,
) -> Session:
    """Implements :meth:`Session.from_weights`."""
    is_named = isinstance(weights, Mapping)
    seen = {
        each: _layers(layers, f"weights[{each!r}]" if is_named else "weights", sequence)
        for each, layers in stacks_of(weights, stack, key_tokens).items()
    }
    split = whole_if_given("session", "sentence_b_start", sentence_b_start)
    return opened(
        kind, seen, tokens, key_tokens, name, None, split=split, only_weights=True, images=images
    )


def _layers(given: Any, argument: str, sequence: int | None) -> list[Seen | None]:
    """Returns one attention per layer; None for a layer without attention."""
    if not isinstance(given, (list, tuple)):
        given = [given] if getattr(given, "ndim", 5) < 5 else list(given)
    layers = [
        None if each is None else _of_sequence(each, f"{argument}[{at}]", sequence)
        for at, each in enumerate(given)
    ]
    shapes = [each.shape for each in layers if each is not None]
    if not shapes:
        raise refused("session", argument, "without a layer of weights", "at least one")
    for at, each in enumerate(layers):
        if each is not None and each.shape != shapes[0]:
            raise refused("session", f"{argument}[{at}].shape", list(each.shape),
                          f"{list(shapes[0])}, as of the others")  # fmt: skip
        if each is not None:
            _check(each, f"{argument}[{at}]")
    return [None if each is None else _seen(each) for each in layers]


def _of_sequence(given: Any, argument: str, sequence: int | None) -> np.ndarray:
    """Returns the weights of one sequence, [H, Tq, Tk]."""
    array = as_array(given, argument)
    if array.ndim not in (3, 4):
        raise refused("session", f"{argument}.shape", list(array.shape),
                      "[B, H, Tq, Tk] or [H, Tq, Tk], one array for each layer")  # fmt: skip
    if array.ndim == 3:
        array = array[None]
    if sequence is None and len(array) != 1:
        raise refused("session", f"{argument}.shape", list(array.shape),
                      "a batch of 1, or sequence= of Session.from_weights")  # fmt: skip
    at = 0 if sequence is None else sequence
    return array[below("session", "sequence", at, len(array))]


def _check(weights: np.ndarray, argument: str) -> None:
    """Checks that every weight is from 0 to 1; warns about rows that do not sum to 1."""
    if weights.size == 0:
        raise refused("session", f"{argument}.shape", list(weights.shape), "nothing empty")
    wrong = ~((weights >= 0) & (weights <= 1 + _ROUNDED))
    if wrong.any():
        head, query, key = np.argwhere(wrong)[0]
        found = f"{weights[head, query, key]:.6g} at head {head}, query {query}, key {key}"
        raise refused("session", argument, found,
                      "0 to 1 (weights before dropout: model.eval(); not scores)")  # fmt: skip
    sums = weights.sum(-1, dtype=np.float64)
    seen = sums[sums > 0]
    if np.abs(seen - 1).max(initial=0) > _ROUNDED:
        warnings.warn(
            f"session: rows of {argument} sum to {seen.min():.3g} to {seen.max():.3g} and not "
            "to 1; they are shown as they are",
            stacklevel=6,
        )


def _seen(weights: np.ndarray) -> Seen:
    """Returns an attention with these weights; weights of 0 are hidden by its mask."""
    heads, queries, keys = weights.shape
    q = np.zeros((1, heads, queries, 1), np.float32)
    k = np.zeros((1, heads, keys, 1), np.float32)
    # lse = 0 makes exp(score - lse) the given weight, whatever its row sums to.
    lse = np.zeros((1, heads, queries), np.float32)
    with np.errstate(divide="ignore"):
        bias = np.log(weights[None]).astype(np.float32, copy=False)
    return Seen.of(q, k, lse=lse, bias=bias, mask=_mask(weights > 0))


def _mask(visible: np.ndarray) -> Any:
    """Returns a mask with these visible pairs; ``causal()`` if they are those of a causal mask."""
    if visible.all():
        return None
    first = visible[0]
    if (visible != first).any():
        return _masks.keep(visible[None])
    is_square = first.shape[0] == first.shape[1]
    if is_square and (first == np.tril(np.ones_like(first))).all():
        return _masks.causal()
    return _masks.keep(first[None, None])
