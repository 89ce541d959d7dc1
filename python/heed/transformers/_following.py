"""Follows a model through its passes, and finds the layer, stack, positions and ids of each
call."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn
from transformers import PreTrainedModel

from ._calls import Call
from ._interface import beside, is_active
from ._layers import Layers, is_inside
from ._models import is_attention
from ._pattern import Pattern
from ._rules import CAUSAL
from ._stacks import Place, place_of


class Following:
    """The common part of a watch and a set of edits."""

    def __init__(self, model: PreTrainedModel):
        self.model_name = type(model).__name__
        self.layers = Layers(model)
        self.modules = self.layers.names
        self.offsets: dict[tuple[int, int], tuple[int, int]] = {}
        self.is_overwritten = False
        """Whether k and v are the memory of a cache that the model will overwrite."""
        self.ran: set[str] = set()
        self._given: dict[str, Tensor | None] = {}
        self._queries: dict[str, range] = {}
        self._last = range(0)
        self._hooks = list(self._hooked(model))

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Inside, the model's calls of attention in this thread come to this object."""
        try:
            with beside(self):
                yield
        finally:
            for hook in self._hooks:
                hook.remove()

    def located(self, module: nn.Module, name: str, call: Call) -> Place:
        """Returns the stack of a call; sets the call's positions and ids."""
        place = place_of(name, module, _is_causal(module, call))
        if place.kind == "cross":  # its queries are those of the self-attention beside or before it
            call.is_cross = True
            if len(call.queries) == 1 and call.rule is CAUSAL:
                call.mask = None
            at = self._queries.get(_block(name), self._last)
            call.queries = at if len(at) == call.q.shape[2] else range(call.q.shape[2])
        else:
            self._queries[_block(name)] = call.queries
            self._last = call.queries
        call.ids = self._ids_of(name, call)
        return place

    def begun(self, prefix: str, module: nn.Module, settings: dict[str, Any]) -> None:
        """Called when the model, or a model inside it, begins a pass."""

    def ids_given(self, prefix: str) -> Tensor | None:
        """Returns the token ids that a model got in its current pass, or None."""
        return self._given.get(prefix)

    def _ids_of(self, name: str, call: Call) -> Tensor | None:
        """Returns the token ids of the nearest model around a module that has one id per query."""
        around = [prefix for prefix in self._given if is_inside(name, prefix)]
        for prefix in sorted(around, key=len, reverse=True):
            ids = self._given[prefix]
            if ids is None:  # it was given pictures, sound or states
                return None
            if ids.shape[1] == call.q.shape[2]:
                return ids
        return None

    # --- hooks -----------------------------------------------------------------------------------

    def _hooked(self, model: PreTrainedModel) -> Iterator[Any]:
        for module in self.modules:
            if module is model or isinstance(module, PreTrainedModel):
                begins = Hook(self, self._begins)
                yield module.register_forward_pre_hook(begins, with_kwargs=True)
            elif is_attention(module):
                yield module.register_forward_pre_hook(Hook(self, self._attends))

    def _begins(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        prefix = self.modules[module][0]
        self.layers.begin(prefix)
        if prefix == "":
            self.offsets.clear()
            cache = kwargs.get("past_key_values")
            self.is_overwritten = bool(getattr(cache, "is_compileable", False))
        self._given.pop(prefix, None)
        ids = kwargs.get("input_ids", args[0] if args else None)
        if isinstance(ids, Tensor) and ids.dim() == 2 and not ids.is_floating_point():
            self._given[prefix] = ids
        elif prefix and kwargs.get("inputs_embeds") is None:
            self._given[prefix] = None
        self.begun(prefix, module, _named(module, args, kwargs))

    def _attends(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        self.ran.add(self.modules[module][0])
        self.layers.run(module)


class Hook:
    """A hook that acts in one thread, and not in copies of the model."""

    def __init__(self, owner: Any, function: Callable[..., None] | None):
        self._owner, self._function = owner, function

    def __call__(self, *given: Any) -> None:
        if self._function is not None and is_active(self._owner):
            self._function(*given)

    def __deepcopy__(self, memo: dict[int, Any]) -> Hook:
        return Hook(None, None)


def has_past(settings: dict[str, Any]) -> bool:
    """Whether a pass continues from a cache."""
    cache = settings.get("past_key_values")
    length = getattr(cache, "get_seq_length", lambda: 0)()
    return int(length) > 0


def _block(name: str) -> str:
    """Returns the name of the layer around an attention module: "model.decoder.layers.3"."""
    return re.match(r"(.*?\.\d+(?=\.))?", name)[0]


def _is_causal(module: nn.Module, call: Call) -> bool:
    own = getattr(module, "is_causal", None)
    if own is None:
        return isinstance(call.mask, Pattern) and call.mask.is_causal
    return bool(own)


def _named(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a model by name, including positional ones."""
    if not args:
        return kwargs
    names = [name for name in inspect.signature(module.forward).parameters if name != "self"]
    return {**dict(zip(names, args)), **kwargs}
