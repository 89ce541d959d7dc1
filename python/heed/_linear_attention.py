"""Attention without a softmax: a state of fixed size replaces the keys."""

from __future__ import annotations

from typing import Any

from . import _core
from ._operators import _taken

_DEFAULTS = {
    "state": None,
    "decay": None,
    "beta": None,
    "rule": "sum",
    "features": "identity",
    "feature_scale": 1.0,
    "projection": None,
    "scale": 1.0,
    "causal": True,
    "normalised": False,
}


def linear_attention(q: Any, k: Any, v: Any, **settings: Any) -> tuple[Any, Any]:
    """Returns ``(out, state)``: ``out_t = scale phi(q_t)^T S_t`` with a state ``S`` of [F, Dv].

    Parameters
    ----------
    q, k, v : [B, H, Tq, D], [B, G, T, D], [B, G, T, Dv], H a multiple of G
    state : [B, G, F, Dv], the state before the first token; 0 by default. Pass the returned state
        to continue the sequence
    rule : "sum" (Katharopoulos et al. 2020), "gated" (Yang et al. 2023), "delta" (Schlag et al.
        2021) or "gated_delta" (Yang et al. 2024)
    decay : logarithm of the gates' factor, [B, G, T, F] or [B, G, T, 1]
    beta : step size of the delta rules, [B, G, T] or [B, 1, T]
    features : phi: "identity", "elu_plus_one", "relu" or "random_exponential" (with ``projection``,
        [F, D], and ``feature_scale``, which multiplies q and k first)
    scale : 1 by default
    causal : whether query t sees the state at t; otherwise every query sees the last state
    normalised : whether to divide by the sum of the weights; the state then has one more column
    """
    return _taken(q, *_core.linear_attention(_settings(q, k, v, settings)))


def linear_attention_backward(
    q: Any, k: Any, v: Any, dout: Any, *, dstate: Any = None, **settings: Any
) -> tuple[Any, ...]:
    """Returns the gradients ``(dq, dk, dv, dstate)``, then those of ``decay`` and of ``beta`` where
    the rule has them, for the cotangents ``dout`` of the output and ``dstate`` of the returned
    state."""
    asked = _settings(q, k, v, settings)
    return _taken(q, *_core.linear_attention_backward(asked, dout, dstate))


def _settings(q: Any, k: Any, v: Any, settings: dict[str, Any]) -> dict[str, Any]:
    unknown = settings.keys() - _DEFAULTS.keys()
    if unknown:
        raise TypeError(f"linear_attention: unexpected keyword argument {sorted(unknown)[0]!r}")
    return {**_DEFAULTS, **settings, "q": q, "k": k, "v": v}
