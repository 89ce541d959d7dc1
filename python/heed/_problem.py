"""The arguments of attention, in the order in which the C++ side takes them."""

from __future__ import annotations

from typing import Any

from . import _core


def problem(
    q: Any,
    k: Any,
    v: Any,
    *,
    mask: Any = None,
    scale: Any = None,
    bias: Any = None,
    similarity: str = "dot",
    normaliser: str = "softmax",
    softcap: float = 0.0,
    alibi: Any = None,
    sink: Any = None,
    dropout: float = 0.0,
    seed: int | None = None,
    dropout_offset: int = 0,
    query_length: Any = None,
    key_length: Any = None,
    key_begin: Any = None,
    q_offset: Any = None,
    key_offset: Any = None,
    query_starts: Any = None,
    key_starts: Any = None,
    page_table: Any = None,
    ring_begin: Any = None,
    k_scales: Any = None,
    v_scales: Any = None,
    kernel: str | None = None,
) -> _core.Problem:
    settings = (
        mask, scale, bias, similarity, normaliser, softcap, alibi, sink, dropout, seed,
        dropout_offset, query_length, key_length, key_begin, q_offset, key_offset, query_starts,
        key_starts, page_table, ring_begin, k_scales, v_scales, kernel,
    )  # fmt: skip
    return _core.Problem(q, k, v, settings)
