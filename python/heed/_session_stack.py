"""The stacks of a session."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._checks import whole
from ._libraries import NumPy
from ._seen import Seen
from ._weights import KINDS, Weights

if TYPE_CHECKING:
    from ._session import Session


class SessionStack:
    """A stack of a session, the attention layers of one kind: "self", or "encoder", "decoder" and
    "cross"."""

    def __init__(
        self,
        core: _core.Session,
        session: Session,
        name: str,
        layers: int,
        layer_numbers: list[int],
        heads: int,
        kv_heads: int,
        causal: bool,
        queries: int,
        keys: int,
    ):
        self._core = core
        self.name = name
        self.layers = layers
        """How many layers there are, with those that have no attention."""
        self.layer_numbers = layer_numbers
        """The layers that have attention: [1, 3, 5] of a hybrid."""
        self.heads = heads
        self.kv_heads = kv_heads
        self.causal = causal
        self.queries = queries
        """The number of rows of each matrix, Tq."""
        self.keys = keys
        """The number of columns, Tk."""
        of_source = bool(session._core.key_tokens)
        self._tokens = (
            session.key_tokens if name == "encoder" and of_source else session.tokens,
            session.tokens if name == "decoder" else session.key_tokens,
        )

    @property
    def query_tokens(self) -> list[Any]:
        return self._tokens[0]

    @property
    def key_tokens(self) -> list[Any]:
        return self._tokens[1]

    @cached_property
    def weights(self) -> Weights:
        """The weights, [layers, heads, Tq, Tk] float32, computed when they are indexed; 0 where
        masked, and in layers without attention."""
        return self._matrices("weights")

    @cached_property
    def scores(self) -> Weights:
        """The scores before the softmax, indexed like ``weights``; -inf where masked."""
        return self._matrices("scores")

    def attention(self, layer: int) -> Seen:
        """Returns one layer's attention as a :class:`Seen`, like ``heed.attention(...,
        seen=True)``; -1 is the last layer."""
        layer = whole("session", "layer", layer)
        layer += self.layers if -self.layers <= layer < 0 else 0
        return Seen(self._core.seen(self.name, layer), NumPy())

    def _matrices(self, kind: str) -> Weights:
        def select(selected: list[list[int]]) -> np.ndarray:
            layers, heads, queries, keys = selected
            shape = [len(each) for each in selected]
            found = np.zeros(shape, np.float32)
            for place, layer in enumerate(layers if found.size else ()):
                if layer not in self.layer_numbers:
                    continue
                core = self._core.seen(self.name, layer)
                found[place] = np.asarray(core.select([[0], heads, queries, keys], KINDS[kind]))[0]
            return found

        shape = (self.layers, self.heads, self.queries, self.keys)
        return Weights(select, NumPy(), shape, ("layer", "head", "query", "key"))

    def __repr__(self) -> str:
        return (
            f"<heed.SessionStack {self.name}: {len(self.layer_numbers)} layers x "
            f"{self.heads} heads, "
            f"{self.queries} queries, {self.keys} keys>"
        )
