"""The operators besides attention, with their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._checks import number, whole
from ._libraries import library_of


def _taken(like: Any, *arrays: Any) -> Any:
    library = library_of(like)
    taken = tuple(None if each is None else library.taken(each) for each in arrays)
    return taken if len(taken) > 1 else taken[0]


def rope(
    x: Any,
    *,
    rotary_dim: int = 0,
    pairs: str = "halves",
    base: float = 10000.0,
    offset: Any = None,
    positions: Any = None,
    cosines: Any = None,
    sines: Any = None,
) -> Any:
    """Rotary position embedding of ``x`` [B, H, T, D] (Su et al. 2021); returns the same shape.

    Pair n of a row at position p is rotated by ``p base^(-2 n / R)``. ``rotary_dim`` is R, the
    number of rotated elements (0: all D). ``pairs`` is "halves" (n and n + R/2, as in Llama) or
    "neighbours" (2 n and 2 n + 1). Token t is at position ``offset + t``, or ``positions[b, t]``
    (int32 or int64). ``cosines`` and ``sines``, [P, R/2] by position or [B, T, R/2], replace
    ``base``.
    """
    return _rotated(x, rotary_dim, pairs, base, offset, positions, cosines, sines, None)


def rope_backward(
    x: Any,
    dy: Any,
    *,
    rotary_dim: int = 0,
    pairs: str = "halves",
    base: float = 10000.0,
    offset: Any = None,
    positions: Any = None,
    cosines: Any = None,
    sines: Any = None,
) -> Any:
    """Returns dx, the gradient of ``rope`` for the cotangent ``dy``: the inverse rotation."""
    return _rotated(x, rotary_dim, pairs, base, offset, positions, cosines, sines, dy)


def _rotated(x: Any, rotary_dim: Any, pairs: Any, base: Any, *others: Any) -> Any:
    rotary_dim, base = whole("rope", "rotary_dim", rotary_dim), number("rope", "base", base)
    return _taken(x, _core.rope(x, rotary_dim, str(pairs), base, *others))


def layer_norm(x: Any, weight: Any, bias: Any, epsilon: float = 1e-5) -> Any:
    """``(x - mean) / sqrt(variance + epsilon) * weight + bias`` over the trailing axes of
    ``weight`` (Ba et al. 2016). All three are floating arrays of one type."""
    return _taken(x, _core.layer_norm(x, weight, bias, number("layer_norm", "epsilon", epsilon)))


def layer_norm_backward(x: Any, weight: Any, bias: Any, dy: Any, epsilon: float = 1e-5) -> Any:
    """Returns ``(dx, dweight, dbias)``; gradients of 16-bit weights are float32."""
    epsilon = number("layer_norm_backward", "epsilon", epsilon)
    return _taken(x, *_core.layer_norm_backward(x, weight, bias, epsilon, dy))


def rms_norm(x: Any, weight: Any, epsilon: float = 1e-5) -> Any:
    """``x / sqrt(mean(x^2) + epsilon) * weight`` over the trailing axes of ``weight`` (Zhang &
    Sennrich 2019)."""
    return _taken(x, _core.rms_norm(x, weight, number("rms_norm", "epsilon", epsilon)))


def rms_norm_backward(x: Any, weight: Any, dy: Any, epsilon: float = 1e-5) -> Any:
    """Returns ``(dx, dweight)``; the gradient of 16-bit weights is float32."""
    epsilon = number("rms_norm_backward", "epsilon", epsilon)
    return _taken(x, *_core.rms_norm_backward(x, weight, epsilon, dy))


def softmax(x: Any, axis: int = -1) -> Any:
    """``exp(x - max) / sum(exp(x - max))`` over ``axis``."""
    return _taken(x, _core.softmax(x, whole("softmax", "axis", axis)))


def softmax_backward(y: Any, dy: Any, axis: int = -1) -> Any:
    """Returns dx, ``y (dy - sum(y dy))``, for ``y = softmax(x)``."""
    return _taken(y, _core.softmax_backward(y, dy, whole("softmax_backward", "axis", axis)))


def merge(
    out_a: Any,
    lse_a: Any,
    out_b: Any,
    lse_b: Any,
    *,
    lse_low_a: Any = None,
    lse_low_b: Any = None,
    sink: Any = None,
) -> Any:
    """Joins attention over two parts of the keys; returns ``(out, lse, lse_low)``.

    Each part is attention of the same queries over some of the keys, without a sink; ``sink`` is
    added once. If positions matter (bands, ALiBi, dropout), compute each part with the whole's
    ``q_offset`` and its own ``key_offset``.
    """
    a, b = (out_a, lse_a, lse_low_a), (out_b, lse_b, lse_low_b)
    return _taken(out_a, *_core.merge(a, b, sink))


def merge_backward(
    out_a: Any,
    lse_a: Any,
    out_b: Any,
    lse_b: Any,
    merged: tuple[Any, Any, Any],
    dout: Any,
    *,
    dlse: Any = None,
    lse_low_a: Any = None,
    lse_low_b: Any = None,
    sink: Any = None,
) -> Any:
    """Returns ``(dout_a, dlse_a, dout_b, dlse_b, dsink)`` for cotangents of the result of
    ``merge``, which is passed as ``merged``.

    ``Seen.backward`` of a part takes its two cotangents.
    """
    a, b = (out_a, lse_a, lse_low_a), (out_b, lse_b, lse_low_b)
    return _taken(out_a, *_core.merge_backward(a, b, sink, tuple(merged), (dout, dlse)))


def quantise(x: Any) -> Any:
    """Returns ``(values, scales)``: int8 with one float32 scale per 32 consecutive elements of a
    row. ``attention`` takes them as ``k`` and ``k_scales``, or ``v`` and ``v_scales``."""
    return _taken(x, *_core.quantise(x))


def dequantise(values: Any, scales: Any) -> Any:
    """Returns ``value * scale`` in float32, the numbers with which attention over int8 computes."""
    return _taken(values, _core.dequantise(values, scales))


def message_passing(x: Any, row_starts: Any, columns: Any, *, scale: Any = None) -> Any:
    """Attention on a graph: ``y_i = sum_j softmax_j(scale x_i . x_j) x_j`` over the neighbours
    ``columns[row_starts[i]:row_starts[i + 1]]`` of node i; ``x`` is [N, C].

    ``scale`` is 1 / sqrt(C) by default. A node without neighbours gets 0.
    """
    return _taken(x, _core.message_passing(x, row_starts, columns, scale, None))


def message_passing_backward(
    x: Any, row_starts: Any, columns: Any, dy: Any, *, scale: Any = None
) -> Any:
    """Returns dx, the gradient of ``x`` as query, key and value together."""
    return _taken(x, _core.message_passing(x, row_starts, columns, scale, dy))


def random_projection(features: int, width: int, seed: int, dtype: Any = np.float32) -> np.ndarray:
    """Returns normally distributed rows [features, width], orthogonal within each block of
    ``width`` rows, for ``linear_attention(features="random_exponential", projection=...)``."""
    sizes = [whole("random_projection", name, given) for name, given in
             (("features", features), ("width", width), ("seed", seed))]  # fmt: skip
    return np.asarray(_core.random_projection(*sizes, np.dtype(dtype) == np.float64))
