"""`watch`: keeps what a model's attention computes, while the model runs."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from .._checks import kind_of
from ..errors import WrongType, made
from ._calls import Call
from ._implementation import computed_by_heed, is_attention, listed, refused
from ._pattern import Pattern
from ._seen_model import SeenModel
from . import _pieces
from ._stacks import place_of, starred

_active: ContextVar[tuple[Watch, ...]] = ContextVar("heed watches", default=())


def watchers(module: nn.Module) -> list[Watch]:
    """The watches of this thread whose model has the module."""
    active = _active.get()
    return [watch for watch in active if module in watch.names] if active else []


@contextmanager
def watch(model: PreTrainedModel, tokenizer: Any = None) -> Iterator[SeenModel]:
    """Keeps what ``model``'s attention computes inside the ``with``.

    Parameters
    ----------
    model : a model of transformers. One that was loaded with another ``attn_implementation`` runs
        with "heed" meanwhile
    tokenizer : the model's, for the words of what is shown

    Yields
    ------
    SeenModel
        may be asked inside and afterwards. It has q, k, v and the log-sum-exp of every call: memory
        linear in the length.

    Raises
    ------
    NotImplementedError
        where the model's attention does not go through transformers' interface

    Calls of other threads are not kept. Watches may be nested.
    """
    if not isinstance(model, PreTrainedModel):
        found = kind_of(model)
        raise made(
            WrongType, op="watch", argument="model", found=found, expected="a model of transformers"
        )
    _pieces.check(tokenizer)
    seen = SeenModel(type(model).__name__, tokenizer)
    with ExitStack() as inside:
        inside.enter_context(computed_by_heed(model))
        watching = Watch(model, seen)
        inside.callback(watching.remove_hooks)
        token = _active.set((*_active.get(), watching))
        inside.callback(_active.reset, token)
        yield seen
        watching.check_everything_called()


class Watch:
    """One `with`: sorts the calls of a model into stacks, layers and sequences."""

    def __init__(self, model: PreTrainedModel, seen: SeenModel):
        self.model_name = type(model).__name__
        self.seen = seen
        self.names = {module: name for name, module in model.named_modules()}
        self._ids: dict[str, Tensor] = {}
        self._queries: dict[str, range] = {}
        self._counts: dict[str, int] = {}
        self._passes: dict[str, int] = {}
        self._called: set[str] = set()
        self._ran: set[str] = set()
        self._hooks = list(self._hooked(model))

    def note(self, module: nn.Module, call: Call) -> None:
        """Takes the call of one module."""
        if torch._C._current_graph_task_id() != -1:
            return  # a backward pass computes again what gradient checkpointing did not keep
        name = self.names[module]
        self._called.add(name)
        place = place_of(name, module, _is_causal(module, call))
        layer = self._layer(place.path, module)
        if place.kind == "cross":  # its queries are those of the self-attention beside it
            call.is_cross = True
            at = self._queries.get(_block(name), range(0))
            call.queries = at if len(at) == call.q.shape[2] else range(call.q.shape[2])
        else:
            self._queries[_block(name)] = call.queries
        call.ids = self._ids_of(name, call)
        self.seen._add(place, layer, call)

    def check_everything_called(self) -> None:
        """Says which attention layers ran and kept nothing."""
        far = [name for name in self._ran if not self._is_near_a_call(name)]
        silent = sorted(
            name for name in far if not any(_is_inside(o, name) for o in far if o != name)
        )
        self.seen.silent = tuple(silent)
        if silent and not self._called:
            raise refused(self.model_name, silent)
        if silent:
            warnings.warn(
                f"watch: {len(silent)} attention layers of {self.model_name} do not go through "
                f"transformers' AttentionInterface and were not seen: {listed(silent)}",
                stacklevel=4,
            )

    def remove_hooks(self) -> None:
        for hook in self._hooks:
            hook.remove()

    # --- of each call ----------------------------------------------------------------------------

    def _layer(self, path: str, module: nn.Module) -> int:
        """The module's own number, or how many calls of its kind there were in this pass. Where a
        pass goes through its layers several times, the second time are layers of their own."""
        number = getattr(module, "layer_idx", None)
        if isinstance(number, int):
            loops = self._passes.get(self.names[module], 1) - 1
            return number + loops * self._numbered(path) if loops > 0 else number
        count = self._counts.get(path, 0)
        self._counts[path] = count + 1
        return count

    def _numbered(self, path: str) -> int:
        """How many layers a pass through one stack has."""
        modules = (m for m, name in self.names.items() if starred(name) == path)
        return 1 + max(getattr(module, "layer_idx", None) or 0 for module in modules)

    def _ids_of(self, name: str, call: Call) -> Tensor | None:
        """What the nearest model around a module was given, where it has one id a query."""
        around = [prefix for prefix in self._ids if _is_inside(name, prefix)]
        for prefix in sorted(around, key=len, reverse=True):
            ids = self._ids[prefix]
            if ids.shape[1] == call.q.shape[2]:
                return ids
        return None

    # --- hooks -----------------------------------------------------------------------------------

    def _hooked(self, model: PreTrainedModel) -> Iterator[Any]:
        for module in self.names:
            if module is model or isinstance(module, PreTrainedModel):
                yield module.register_forward_pre_hook(self._begins, with_kwargs=True)
            elif is_attention(module):
                yield module.register_forward_pre_hook(self._attends)

    def _begins(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A model, or one inside of it, begins a pass."""
        if self not in _active.get():
            return
        prefix = self.names[module]
        for counts, begun in ((self._counts, starred(prefix)), (self._passes, prefix)):
            for path in [path for path in counts if _is_inside(path, begun)]:
                del counts[path]
        self._ids.pop(prefix, None)
        ids = kwargs.get("input_ids", args[0] if args else None)
        if isinstance(ids, Tensor) and ids.dim() == 2 and not ids.is_floating_point():
            self._ids[prefix] = ids

    def _attends(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        if self in _active.get():
            name = self.names[module]
            self._ran.add(name)
            self._passes[name] = self._passes.get(name, 0) + 1

    def _is_near_a_call(self, name: str) -> bool:
        return any(_is_inside(name, other) or _is_inside(other, name) for other in self._called)


def _block(name: str) -> str:
    """The layer around an attention module: "model.decoder.layers.3"."""
    return re.match(r"(.*?\.\d+(?=\.))?", name)[0]


def _is_causal(module: nn.Module, call: Call) -> bool:
    own = getattr(module, "is_causal", None)
    if own is None:
        return isinstance(call.mask, Pattern) and call.mask.is_causal
    return bool(own)


def _is_inside(name: str, prefix: str) -> bool:
    return prefix == "" or name == prefix or name.startswith(prefix + ".")
