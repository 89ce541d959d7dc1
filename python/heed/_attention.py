"""Exact attention on arrays, and which kernel computes it."""

from __future__ import annotations

from typing import Any

from . import _core
from ._checks import flag
from ._libraries import library_of
from ._plan import Plan
from ._seen import Given, Seen


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    mask: _core.Mask | None = None,
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
    out: Any = None,
    seen: bool = False,
) -> Any:
    """Computes ``out_i = sum_j p_ij v_j``, where ``p_i`` is the softmax of ``scale q_i . k_j`` over
    the keys that query i may see.

    Scores are computed in this order: similarity times ``scale``, ``softcap``, plus ``bias``, minus
    ``alibi`` times the distance. Then the mask hides pairs, the normaliser turns scores into
    weights, and dropout drops some. Memory is linear in the length. Sums are in float32 (float64
    for float64) and rounded once. The bits do not depend on the number of threads or on the rest of
    the batch.

    Arrays are NumPy's, PyTorch's, JAX's or any with ``__dlpack__`` or the buffer protocol, in the
    host's memory. Strides are taken as they are, so ``x.transpose(0, 2, 1, 3)`` of ``[B, T, H, D]``
    costs nothing. ``H`` is a multiple of ``G``, the number of key/value heads.

    Parameters
    ----------
    q : [B, H, Tq, D] of float64, float32, float16 or bfloat16; packed: [H, total, D]
    k : [B, G, Tk, D], packed [G, total, D], in pages [pages, G, P, D]; may have another type than
        q, int8 too
    v : [B, G, Tk, Dv], with the same choices
    mask : which pairs are visible: ``causal()``, ``band(left, right)``, ``keep(array)``,
        ``prefix``, ``segments``, ``blocks``, ``edges``, ``custom``, and ``&`` and ``|`` of them
    scale : one number, or one per head; 1 / sqrt(D) for "dot" and 1 otherwise by default
    bias : floating array that broadcasts to [B, H, Tq, Tk]; -inf hides
    similarity : "dot", "cosine", "gaussian" (-|q - k|^2) or "absolute" (-|q - k|_1)
    normaliser : "softmax", "sigmoid" or "none"
    softcap : scores become ``softcap tanh(score / softcap)``; 0 switches it off
    alibi : slopes [H]
    sink : logits [H], one more term in the denominator of the softmax
    dropout, seed, dropout_offset : the rate in [0, 1]; seed and offset determine the pattern
    query_length, key_begin, key_length : which queries and keys exist: one number per sequence of
        the batch or one for all; padding is never read
    q_offset, key_offset : the position of query 0 and of key 0. By default the last query has the
        position of the last key; ``q_offset=0`` aligns the first ones, like PyTorch's is_causal
    query_starts, key_starts : B + 1 ascending offsets of packed sequences
    page_table : [B, pages per row] of int32 or int64, with ``key_length``
    ring_begin : the slot of the oldest key
    k_scales, v_scales : float32 scales of int8, as ``quantise`` makes them
    kernel : the name of a kernel; ``explain`` lists them
    out : an array to write to, of the result's shape and q's type
    seen : whether to return a :class:`Seen` too

    Returns
    -------
    [B, H, Tq, Dv] of q's library and type, or ``(out, Seen)`` with ``seen=True``. A query that sees
    no key gets 0.

    Raises
    ------
    ValueError, TypeError
        with ``argument``, ``found`` and ``expected`` as attributes (``heed.errors``)
    NotImplementedError, LookupError
        for a ``kernel`` that does not support the problem, or does not exist
    """
    settings = (
        mask, scale, bias, similarity, normaliser, softcap, alibi, sink, dropout, seed,
        dropout_offset, query_length, key_length, key_begin, q_offset, key_offset,
        query_starts, key_starts, page_table, ring_begin, k_scales, v_scales, kernel,
    )  # fmt: skip
    if out is None and seen is False:
        made = _core.attend(q, k, v, settings)
        if made is not NotImplemented:
            return made
    seen = flag("attention", "seen", seen)
    library = library_of(q)
    asked = _core.Problem(q, k, v, settings)
    target = None
    if out is not None and library.is_negated(out):
        target, out = out, library.empty(out.shape, out)
    if out is None:
        shape = asked.out_shape
        out = None if shape is None else library.empty(shape, q)
    if out is None:
        memory, core = _core.attend_new(asked, seen)
        out = library.taken(memory)
    else:
        core = _core.attend_into(asked, out, seen)
    if target is not None:
        out = target.copy_(out)
    if not seen:
        return out
    given = {name: each for name, each in zip(_core.SETTINGS, settings) if each is not None}
    return out, Seen(core, library, Given(q, k, v, given))


def explain(q: Any, k: Any, v: Any, *, backward: Any = None, **settings: Any) -> Plan:
    """Returns the :class:`Plan` of a call of ``attention`` with these arguments: which kernel runs,
    why the kernels before it do not, and the cost.

    With ``backward``, a tuple of arguments such as ``("q", "k", "v")``, the plan is that of the
    backward pass for their gradients. Printing a plan shows it as a table.
    """
    asked = _core.Problem(q, k, v, settings)
    return Plan(**_core.plan(asked, None if backward is None else tuple(backward)))
