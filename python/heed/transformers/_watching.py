"""`watch`: keeps what a model's attention computes, while the model runs."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from .._checks import kind_of, whole
from ..errors import InvalidArgument, OutOfRange, made
from . import _pieces
from ._arguments import Arguments
from ._calls import Call
from ._interface import beside, is_active
from ._layers import Layers, is_inside
from ._models import is_attention, listed, refused, unwrapped
from ._pattern import Pattern
from ._rules import CAUSAL
from ._seen_model import SeenModel
from ._stacks import place_of


@contextmanager
def watch(
    model: PreTrainedModel, tokenizer: Any = None, *, layers: Iterable[int] | None = None,
    keep: str | None = None,
) -> Iterator[SeenModel]:  # fmt: skip
    """Keeps what ``model``'s attention is given and returns inside the ``with``.

    The attention function that the model was loaded with computes: "sdpa", "eager", flash
    attention, FlexAttention, "heed" or one of your own, on any device.

    Parameters
    ----------
    model : a model of transformers, bare or inside of ``torch.compile``, ``DataParallel`` or PEFT
    tokenizer : the model's, for the words of what is shown
    layers : the layers to keep; all by default
    keep : a device to keep tensors on, such as "cpu"; by default they stay where they were computed

    Yields
    ------
    SeenModel
        may be asked inside and afterwards. It has q, k, v and the output of every call: memory
        linear in the length.

    Raises
    ------
    NotImplementedError
        where the model's attention does not go through transformers' interface

    Calls of other threads are not kept. Watches may be nested.
    """
    inner = unwrapped(model, "watch")
    _pieces.check(tokenizer)
    chosen = None if layers is None else {whole("watch", "layers", each) for each in layers}
    if chosen is not None and not chosen:
        raise made(InvalidArgument, op="watch", argument="layers", found="empty",
                   expected="the numbers of layers, or None for all")  # fmt: skip
    device = None if keep is None else _device(keep)
    seen = SeenModel(type(inner).__name__, tokenizer)
    with ExitStack() as inside:
        watching = Watch(inner, seen, chosen, device)
        inside.callback(watching.remove_hooks)
        inside.enter_context(beside(watching))
        if inner is not model:  # code that was compiled before knows of no watch
            inside.enter_context(torch.compiler.set_stance("force_eager"))
        yield seen
        watching.check_everything_called()


class Watch:
    """One `with`: sorts the calls of a model into stacks, layers and sequences."""

    def __init__(
        self, model: PreTrainedModel, seen: SeenModel, chosen: set[int] | None, device: Any
    ):
        self.model_name = type(model).__name__
        self.seen = seen
        self.layers = Layers(model)
        self.modules = self.layers.names
        self.offsets: dict[tuple[int, int], tuple[int, int]] = {}
        self._chosen, self._device = chosen, device
        self._given: dict[str, Tensor | None] = {}
        self._queries: dict[str, range] = {}
        self._is_overwritten = False
        self._called: set[str] = set()
        self._ran: set[str] = set()
        self._left_out: set[int] = set()
        self._hooks = list(self._hooked(model))

    def called(self, module: nn.Module, compute: Callable[..., Any], given: Arguments) -> Any:
        """Calls the function and keeps the call of one module."""
        answer = compute(given)
        if torch._C._current_graph_task_id() != -1:
            return answer  # a backward pass computes again what gradient checkpointing did not keep
        if torch.compiler.is_compiling():
            return answer
        out, *others = answer if isinstance(answer, tuple) else (answer,)
        name, layer = self.layers.of(module)
        self._called.add(name)
        if self._chosen is not None and layer not in self._chosen:
            self._left_out.add(layer)
            return answer
        is_theirs = given.function.__module__.partition(".")[0] in ("transformers", "heed")
        weights = None if is_theirs else next(iter(others), None)
        call = Call.of(given, out, weights, self._is_overwritten)
        place = place_of(name, module, _is_causal(module, call))
        if place.kind == "cross":  # its queries are those of the self-attention beside it
            call.is_cross = True
            if len(call.queries) == 1 and call.rule is CAUSAL:
                call.mask = None
            at = self._queries.get(_block(name), range(0))
            call.queries = at if len(at) == call.q.shape[2] else range(call.q.shape[2])
        else:
            self._queries[_block(name)] = call.queries
        call.ids = self._ids_of(name, call)
        self.seen._add(place, layer, call if self._device is None else call.to(self._device))
        return answer

    def check_everything_called(self) -> None:
        """Says which attention layers ran and kept nothing."""
        far = [name for name in self._ran if not self._is_near_a_call(name)]
        silent = sorted(
            name for name in far if not any(is_inside(o, name) for o in far if o != name)
        )
        self.seen.silent = tuple(silent)
        if silent and not self._called:
            raise refused("watch", self.model_name, silent)
        if silent:
            warnings.warn(
                f"watch: {len(silent)} attention layers of {self.model_name} do not go through "
                f"transformers' AttentionInterface and were not seen: {listed(silent)}",
                stacklevel=4,
            )
        self._check_layers()

    def remove_hooks(self) -> None:
        for hook in self._hooks:
            hook.remove()

    # --- of each call ----------------------------------------------------------------------------

    def _check_layers(self) -> None:
        kept = {layer for layers in self.seen.stacks.values() for layer in layers}
        if self._left_out and (missing := (self._chosen or set()) - kept):
            raise made(
                OutOfRange, op="watch", argument="layers", found=str(min(missing)),
                expected="one of " + ", ".join(map(str, sorted(kept | self._left_out))),
            )  # fmt: skip

    def _ids_of(self, name: str, call: Call) -> Tensor | None:
        """What the nearest model around a module was given, where it has one id a query."""
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
        for module, names in self.modules.items():
            if module is model or isinstance(module, PreTrainedModel):
                begins = _Hook(self, self._begins)
                yield module.register_forward_pre_hook(begins, with_kwargs=True)
            elif is_attention(module):
                yield module.register_forward_pre_hook(_Hook(self, self._attends))

    def _begins(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A model, or one inside of it, begins a pass."""
        prefix = self.modules[module][0]
        self.layers.begin(prefix)
        if prefix == "":
            self.offsets.clear()
            cache = kwargs.get("past_key_values")
            self._is_overwritten = bool(getattr(cache, "is_compileable", False))
        self._given.pop(prefix, None)
        ids = kwargs.get("input_ids", args[0] if args else None)
        if isinstance(ids, Tensor) and ids.dim() == 2 and not ids.is_floating_point():
            self._given[prefix] = ids
        elif prefix and kwargs.get("inputs_embeds") is None:
            self._given[prefix] = None

    def _attends(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        self._ran.add(self.modules[module][0])
        self.layers.run(module)

    def _is_near_a_call(self, name: str) -> bool:
        return any(is_inside(name, other) or is_inside(other, name) for other in self._called)


class _Hook:
    """A hook of one watch's own thread, which a copy of the model does not have."""

    def __init__(self, watch: Any, function: Callable[..., None]):
        self._watch, self._function = watch, function

    def __call__(self, *given: Any) -> None:
        if self._watch is not None and is_active(self._watch):
            self._function(*given)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Hook:
        return _Hook(None, self._function.__func__)


def _device(keep: str) -> torch.device:
    try:
        return torch.device(keep)
    except (RuntimeError, TypeError):
        raise made(InvalidArgument, op="watch", argument="keep", found=repr(keep),
                   expected='a device, such as "cpu"') from None  # fmt: skip


def _block(name: str) -> str:
    """The layer around an attention module: "model.decoder.layers.3"."""
    return re.match(r"(.*?\.\d+(?=\.))?", name)[0]


def _is_causal(module: nn.Module, call: Call) -> bool:
    own = getattr(module, "is_causal", None)
    if own is None:
        return isinstance(call.mask, Pattern) and call.mask.is_causal
    return bool(own)
