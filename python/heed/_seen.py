"""Questions about a computed attention."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._checks import index_of, whole
from ._libraries import library_of
from ._weights import Weights
from .errors import InvalidArgument, Unsupported, WrongType, kind_of, made, mistyped, refused

_EVERYTHING = (0, -1)


class Given(NamedTuple):
    """The arguments of an attention."""

    q: Any
    k: Any
    v: Any
    settings: dict[str, Any]


class Seen:
    """A computed attention, which answers questions about its weights without storing them.

    It keeps q, k, v, the output and the log-sum-exp: memory linear in the length. The arrays are
    the caller's, not copies, so do not write to them. Each answer is computed when it is asked for,
    from q and k, tile by tile, with the same scores as in the forward pass, so rows sum to 1.
    Answers are float32 arrays of q's library. Weights are those before dropout.

    ``attention(..., seen=True)`` returns one; :meth:`of` makes one of q, k and a log-sum-exp
    computed elsewhere.
    """

    def __init__(
        self, core: _core.Seen, library: Any, given: Given | None = None,
        asked: _core.Problem | None = None,
    ):  # fmt: skip
        self._core = core
        self._library = library
        self._given = given  # None for a session of a model
        self._asked = asked  # the problem, if the output has not been computed

    @classmethod
    def of(
        cls, q: Any, k: Any, v: Any = None, *, lse: Any = None, lse_low: Any = None, **settings: Any
    ) -> Seen:
        """Makes a ``Seen`` of q, k and the settings of ``attention``.

        ``lse`` and ``lse_low`` are the log-sum-exp if it was computed elsewhere; without them it is
        computed here. Without ``v`` no question that depends on values can be asked
        (``value_norm``, ``backward``).
        """
        asked = _core.Problem(q, k, k[..., :0] if v is None else v, settings)
        core = _core.Seen(asked, lse, lse_low)
        given = Given(q, k, v, settings)
        return cls(core, library_of(q), given, None if v is None else asked)

    # --- what was given --------------------------------------------------------------------------

    @property
    def q(self) -> Any:
        """The queries, [B, H, Tq, D]: the caller's array."""
        return self._arrays("q").q

    @property
    def k(self) -> Any:
        """The keys, [B, G, Tk, D]: the caller's array."""
        return self._arrays("k").k

    @property
    def v(self) -> Any:
        """The values, [B, G, Tk, Dv]: the caller's array; None if there were none."""
        return self._arrays("v").v

    def head_output(self, head: int) -> Any:
        """Returns the output of one head, its weighted sum of values before the output projection,
        [B, Tq, Dv]."""
        return self._output[..., index_of("head_output", "head", head, self.shape[1]), :, :]

    @cached_property
    def _output(self) -> Any:
        from ._attention import attention

        given = self._arrays("head_output")
        self._need_values("head_output")
        return attention(given.q, given.k, given.v, **given.settings)

    def _arrays(self, op: str) -> Given:
        if self._given is None:
            raise made(Unsupported, op=op, found="the attention of a session",
                       expected="one of arrays, or of a model that is watched")  # fmt: skip
        return self._given

    def __reduce__(self) -> Any:
        given = self._arrays("pickle")
        q, k, v, lse, lse_low = (
            each if each is None else self._library.alone(each)
            for each in (given.q, given.k, given.v, self.lse, self.lse_low)
        )
        return _again, (q, k, v, lse, lse_low, given.settings)

    # --- the matrix ------------------------------------------------------------------------------

    @cached_property
    def shape(self) -> tuple[int, int, int, int]:
        """The shape of the weights, [B, H, Tq, Tk]; for packed sequences Tq and Tk are those of the
        longest one."""
        return self._core.weights_shape

    @cached_property
    def weights(self) -> Weights:
        """The weights, [B, H, Tq, Tk], computed where they are indexed:
        ``seen.weights[0, 3, 100:110]``; 0 where masked."""
        return Weights.of(self._core, self._library, "weights", self.shape)

    @cached_property
    def scores(self) -> Weights:
        """The scores before the softmax, indexed as ``weights``; -inf where masked."""
        return Weights.of(self._core, self._library, "scores", self.shape)

    def scores_before(self, stage: str) -> Weights:
        """Scores before the "softcap", the "bias" or the "mask", at masked pairs too."""
        if stage not in ("softcap", "bias", "mask"):
            raise refused("scores_before", "stage", repr(stage), '"softcap", "bias" or "mask"')
        return Weights.of(self._core, self._library, f"before_{stage}", self.shape)

    def row(self, batch: int, head: int, query: int) -> Any:
        """The weights of one query, [Tk]."""
        return self.weights[batch, head, query]

    def column(self, batch: int, head: int, key: int) -> Any:
        """The weights of one key, [Tq]."""
        return self.weights[batch, head, :, key]

    @property
    def lse(self) -> Any:
        """The natural logarithm of the softmax's denominator, [B, H, Tq]; None without a
        softmax."""
        return self._taken(self._core.lse(False))

    @property
    def lse_low(self) -> Any:
        """The rounding error of ``lse``, [B, H, Tq]: the log-sum-exp is ``lse + lse_low``."""
        return self._taken(self._core.lse(True))

    # --- questions -------------------------------------------------------------------------------

    def entropy(self) -> Any:
        """Returns the entropy ``-sum_j p ln p`` of each query, in nats, [B, H, Tq]; the sink's term
        is included."""
        return self._ask("entropy")

    def top_k(self, k: int, *, value_norm: bool = False) -> tuple[Any, Any]:
        """Returns the ``k`` largest weights per query in descending order, and their keys: two
        arrays [B, H, Tq, k].

        Ties go to the lower key. If fewer keys are visible, the remaining keys are -1.
        """
        return self._ask("top_k", k=k, value_norm=value_norm)

    def row_max(self, *, value_norm: bool = False) -> Any:
        """Returns the largest weight of each query, [B, H, Tq]."""
        return self._ask("row_max", value_norm=value_norm)

    def expected_distance(self, *, value_norm: bool = False) -> Any:
        """Returns ``sum_j p |position of the query - position of j|``, in tokens, [B, H, Tq]."""
        return self._ask("expected_distance", value_norm=value_norm)

    def sink_share(self) -> Any:
        """Returns the weight of the sink, [B, H, Tq]."""
        return self._ask("sink_share")

    def received(self, *, all_heads: bool = False, value_norm: bool = False) -> Any:
        """Returns the sum of each key's weights over the queries, [B, H, Tk]; with ``all_heads``
        over the heads too, [B, Tk]."""
        return self._ask("received", all_heads=all_heads, value_norm=value_norm)

    def mass(self, classes: Any, *, value_norm: bool = False) -> Any:
        """Returns the weight of each query on each class of keys, [B, H, Tq, number of classes].

        ``classes`` has the class of each key, 0 or above; a key of class -1 does not count.
        """
        return self._ask("mass", classes=classes, value_norm=value_norm)

    def offset_profile(self, first: int, last: int, *, value_norm: bool = False) -> tuple[Any, Any]:
        """Returns the mean weight of visible pairs at each distance from ``first`` to ``last``, and
        the number of these pairs: two arrays [B, H, last - first + 1]. Distance 1 is the key before
        the query."""
        return self._ask("offset_profile", first=first, last=last, value_norm=value_norm)

    def heatmap(
        self, height: int, width: int, *, pool: str = "max", batches: Any = None, heads: Any = None,
        rows: Any = None, keys: Any = None, value_norm: bool = False,
    ) -> Any:  # fmt: skip
        """Returns the matrix pooled to ``height`` by ``width`` cells, [batches, heads, height,
        width].

        ``pool`` is "max", "mean" or "sum". ``batches``, ``heads``, ``rows`` and ``keys`` are pairs
        (begin, end) that select a part of the matrix. A side never has more cells than queries or
        keys.
        """
        return self._ask(
            "heatmap", height=height, width=width, pool=pool, batches=batches, heads=heads,
            rows=rows, keys=keys, value_norm=value_norm,
        )  # fmt: skip

    def head_mean(
        self, *, batches: Any = None, heads: Any = None, rows: Any = None, keys: Any = None,
        value_norm: bool = False,
    ) -> Any:  # fmt: skip
        """Returns the mean of the weights over the heads, [B, Tq, Tk] or the part that ``batches``,
        ``rows`` and ``keys`` select: quadratic in the length."""
        return self._ask(
            "head_mean", batches=batches, heads=heads, rows=rows, keys=keys, value_norm=value_norm
        )

    def observe(self, *questions: str | tuple[str, dict[str, Any]]) -> list[Any]:
        """Answers several questions in one pass over the tiles; returns a list of the answers.

        A question is the name of a method above, or (name, settings).
        ``seen.observe("entropy", ("top_k", {"k": 8}))`` equals ``[seen.entropy(), seen.top_k(8)]``
        and takes about half the time.
        """
        asked = [(each, {}) if isinstance(each, str) else each for each in questions]
        for each in asked:
            if not (isinstance(each, tuple) and len(each) == 2 and isinstance(each[1], dict)):
                raise made(WrongType, op="observe", argument="questions", found=repr(each),
                           expected="names, or pairs of a name and a dict of settings")  # fmt: skip
            name, settings = each
            for setting in settings.keys() - set(_SETTINGS.get(name, settings)):
                raise refused("observe", f"a setting of {name}", f'"{setting}"',
                              ', '.join(_SETTINGS[name]) or 'no setting')  # fmt: skip
            if settings.get("value_norm"):
                self._need_values(name)
        answers = _core.observe(self._core, [(name, _filled(s)) for name, s in asked])
        return [self._taken(answer) for answer in answers]

    # --- gradients -------------------------------------------------------------------------------

    def backward(
        self, dout: Any, *, dlse: Any = None, of: tuple[str, ...] = ("q", "k", "v")
    ) -> tuple[Any, ...]:
        """Returns gradients for the cotangent ``dout`` of the output (and ``dlse`` of ``lse``).

        ``of`` names arguments: "q", "k", "v", "bias", "sink", "alibi", "scale". The gradients are
        returned in that order, each with its argument's shape and type (``scale``: float32 [H] or
        [1]).
        """
        self._need_values("backward")
        if self._asked is not None:
            _, self._core = _core.attend_new(self._asked, True)
            self._asked = None
        answers = self._core.backward(dout, dlse, _names(of))
        return tuple(self._taken(each) for each in answers)

    def observed_backward(
        self, *, dentropy: Any = None, dreceived: Any = None, of: tuple[str, ...] = ("q", "k")
    ) -> tuple[Any, ...]:
        """Returns gradients for cotangents of ``entropy()`` [B, H, Tq] and of ``received()``
        [B, H, Tk], row-major float32 (float64 if q is), so that both can be part of a loss."""
        answers = self._core.observed_backward(dentropy, dreceived, _names(of))
        return tuple(self._taken(each) for each in answers)

    def __repr__(self) -> str:
        batch, heads, queries, keys = self.shape
        return f"<heed.Seen of batch {batch}, {heads} heads, {queries} queries, {keys} keys>"

    def _need_values(self, op: str) -> None:
        if self._given is not None and self._given.v is None:
            raise made(InvalidArgument, op=op, argument="v",
                       expected="the values, as Seen.of(q, k, v) has them")  # fmt: skip

    def _ask(self, name: str, **settings: Any) -> Any:
        return self.observe((name, settings))[0]

    def _taken(self, answer: Any) -> Any:
        if answer is None:
            return None
        if isinstance(answer, tuple):
            return tuple(self._library.taken(each) for each in answer)
        return self._library.taken(answer)


def _again(q: Any, k: Any, v: Any, lse: Any, lse_low: Any, settings: dict[str, Any]) -> Seen:
    return Seen.of(q, k, v, lse=lse, lse_low=lse_low, **settings)


_PART = ("batches", "heads", "rows", "keys")
_SETTINGS = {  # of each question
    "entropy": (),
    "sink_share": (),
    "row_max": ("value_norm",),
    "expected_distance": ("value_norm",),
    "top_k": ("k", "value_norm"),
    "received": ("all_heads", "value_norm"),
    "mass": ("classes", "value_norm"),
    "offset_profile": ("first", "last", "value_norm"),
    "heatmap": ("height", "width", "pool", *_PART, "value_norm"),
    "head_mean": (*_PART, "value_norm"),
}


def _names(of: Any) -> tuple[str, ...]:
    if not hasattr(of, "__iter__"):
        raise mistyped("attention_backward", "of", of, 'names, as in ("q", "k")')
    return (of,) if isinstance(of, str) else tuple(of)


def _filled(settings: dict[str, Any]) -> dict[str, Any]:
    """Returns the settings with the defaults that the C++ side needs."""
    filled = {"value_norm": False, "all_heads": False, "pool": "max", **settings}
    for part in _PART:
        given = filled.get(part)
        filled[part] = _EVERYTHING if given is None else given
    if "classes" in filled:
        filled["classes"] = classes = _classes(filled["classes"])
        filled["count"] = int(classes.max()) + 1
    return filled


def _classes(given: Any) -> np.ndarray:
    """Returns the class of each key as int64; at least one key must have a class of 0 or above."""
    try:
        classes = np.asarray(given)
    except ValueError:  # lists of unlike lengths
        classes = np.asarray(None)
    if classes.size == 0:
        raise refused("mass", "classes", "empty", "a class for each key")
    if classes.ndim == 0 or classes.dtype.kind not in "biu":
        found = f"an array of {classes.dtype}" if classes.ndim else kind_of(given)
        raise made(WrongType, op="mass", argument="classes", found=found,
                   expected="whole numbers, one for each key")  # fmt: skip
    if classes.max() < 0:
        raise refused("mass", "classes", "below 0 at every key", "at least one class from 0 on")
    if classes.min() < -1:
        key = int(classes.argmin())
        raise refused("mass", f"classes[{key}]", classes.min(), "-1, or a class from 0 on")
    return classes.astype(np.int64)
