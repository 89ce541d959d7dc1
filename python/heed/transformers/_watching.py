"""`watch`: records a model's attention while the model runs."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from .._checks import flag, whole
from ..errors import OutOfRange, made, refused
from ._arguments import Arguments
from ._calls import Call
from ._following import Following, Hook, has_past
from ._images import CONVOLUTIONS, Images, Packing
from ._layers import is_inside
from ._models import listed, not_seen, unwrapped
from ._outputs import Pass
from ._pictures import Sight
from ._seen_model import SeenModel


@contextmanager
def watch(
    model: PreTrainedModel, tokenizer: Any = None, *, layers: Iterable[int] | None = None,
    keep: str | None = None, gradients: bool = False,
) -> Iterator[SeenModel]:  # fmt: skip
    """Records the inputs and outputs of ``model``'s attention inside the ``with``.

    The attention function that the model was loaded with computes: "sdpa", "eager", flash
    attention, FlexAttention, "heed" or one of your own, on any device.

    Parameters
    ----------
    model : a model of transformers, bare or inside ``torch.compile``, ``DataParallel`` or PEFT
    tokenizer : the model's tokenizer, for the texts of tokens; or its processor, which also knows
        the normalisation of pictures and sound
    layers : the numbers of the layers to record; default: all
    keep : a device for the recorded tensors, such as "cpu"; default: where they were computed
    gradients : whether ``attention(layer).entropy()`` and ``.received()`` have gradients, so that
        they can be part of a loss. The graph of the pass is then kept with the recorded tensors

    Yields
    ------
    SeenModel
        may be used inside and afterwards. It has q, k, v and the output of every call, in memory
        linear in the length.

    Raises
    ------
    NotImplementedError
        if the model's attention does not go through transformers' interface

    Calls in other threads are not recorded. Watches may be nested.
    """
    inner = unwrapped(model, "watch")
    chosen = None if layers is None else {whole("watch", "layers", each) for each in layers}
    if chosen is not None and not chosen:
        raise refused("watch", "layers", "empty", "the numbers of layers, or None for all")
    device = None if keep is None else _device(keep)
    seen = SeenModel(type(inner).__name__, tokenizer)
    has_gradients = flag("watch", "gradients", gradients)
    watching = Watch(inner, seen, chosen, device, Sight.of(tokenizer), has_gradients)
    with watching.attached():
        yield seen
        watching.check_everything_called()


class Watch(Following):
    """The state of one `with`: sorts the calls of a model into stacks, layers and texts."""

    order = 0

    def __init__(
        self, model: PreTrainedModel, seen: SeenModel, chosen: set[int] | None, device: Any,
        sight: Sight, has_gradients: bool,
    ):  # fmt: skip
        super().__init__(model)
        self.seen = seen
        self._images = Images(model, self.modules, sight)
        convolved = partial(self._tell, self._images.convolved)
        packed = partial(self._tell, self._images.packed)
        self._hooks += [
            module.register_forward_hook(Hook(self, convolved))
            for module in self.modules
            if isinstance(module, CONVOLUTIONS)
        ]
        self._hooks += [
            Packing(module, Hook(self, packed)) for module in self.modules if Packing.is_of(module)
        ]
        self._chosen, self._device, self._has_gradients = chosen, device, has_gradients
        self._called: set[str] = set()
        self._left_out: set[int] = set()
        self._goes_on = False
        self._pass = Pass()
        self._hooks += [model.register_forward_hook(Hook(self, self._returned), with_kwargs=True)]
        self._writes = model.can_generate()

    def begun(self, prefix: str, module: nn.Module, settings: dict[str, Any]) -> None:
        self._tell(self._images.begun, prefix, module, settings)
        if prefix == "":
            self._goes_on = has_past(settings)
            self._pass = Pass()

    def _returned(
        self, module: nn.Module, args: tuple[Any, ...], settings: dict[str, Any], output: Any
    ) -> None:
        """Records the logits after the last token, and fills the attentions that were asked for."""
        if self._chosen is None:
            self._pass.fill(output)
        logits = getattr(output, "logits", None)
        if not self._writes or not isinstance(logits, Tensor) or logits.dim() != 3:
            return
        last = _last(logits.detach(), settings.get("attention_mask"))
        last = last if self._device is None else last.to(self._device)
        self.seen._add_logits(last, goes_on=self._goes_on)

    def _tell(self, of_images: Callable[..., Any], *given: Any) -> Any:
        """Calls a function that finds images. If it fails, warns and goes on without images."""
        try:
            return of_images(*given)
        except Exception as error:
            said = f"watch: images of {self.model_name} are not shown: {error!r}"
            warnings.warn(said, stacklevel=2)
            return None

    def called(self, module: nn.Module, compute: Callable[..., Any], given: Arguments) -> Any:
        """Calls the attention function and records the call."""
        answer = compute(given)
        if torch._C._current_graph_task_id() != -1:
            return answer  # gradient checkpointing computes this again in the backward pass
        out, *others = answer if isinstance(answer, tuple) else (answer,)
        name, layer = self.layers.of(module)
        self._called.add(name)
        if self._chosen is not None and layer not in self._chosen:
            self._left_out.add(layer)
            return answer
        is_theirs = given.function.__module__.partition(".")[0] in ("transformers", "heed")
        weights = None if is_theirs else next(iter(others), None)
        call = Call.of(given, out, weights, self.is_overwritten)
        is_cut = call.k.shape[2] < given.key.shape[2]
        kept = call.detached(self.is_overwritten or is_cut)
        place = self.located(module, name, kept)
        kept.images, kept.marks = self._tell(self._images.of, name, kept) or ((), ())
        kept = kept if self._device is None else kept.to(self._device)
        if self._has_gradients and torch.is_grad_enabled():
            positions = {"queries": kept.queries, "is_cross": kept.is_cross, "mask": kept.mask}
            kept.graph = dataclasses.replace(call, **positions)
        self._pass.add(place, self.seen._add(place, layer, kept), kept)
        return answer

    def check_everything_called(self) -> None:
        """Finds attention layers that ran but were not recorded: warns, or raises if all are."""
        far = [name for name in self.ran if not self._is_near_a_call(name)]
        silent = sorted(
            name for name in far if not any(is_inside(o, name) for o in far if o != name)
        )
        self.seen.silent = tuple(silent)
        if silent and not self._called:
            raise not_seen("watch", self.model_name, silent)
        if silent:
            warnings.warn(
                f"watch: {len(silent)} attention layers of {self.model_name} do not go through "
                f"transformers' AttentionInterface and were not seen: {listed(silent)}",
                stacklevel=4,
            )
        self._check_layers()

    def _check_layers(self) -> None:
        kept = {layer for layers in self.seen.stacks.values() for layer in layers}
        if self._left_out and (missing := (self._chosen or set()) - kept):
            raise made(
                OutOfRange, op="watch", argument="layers", found=str(min(missing)),
                expected="one of " + ", ".join(map(str, sorted(kept | self._left_out))),
            )  # fmt: skip

    def _is_near_a_call(self, name: str) -> bool:
        return any(is_inside(name, other) or is_inside(other, name) for other in self._called)


def _last(logits: Tensor, padding: Any) -> Tensor:
    """Returns the logits after the last token of each sequence, without padding, [B,
    vocabulary]."""
    count = logits.shape[1]
    at = torch.full((len(logits),), count - 1, device=logits.device)
    if isinstance(padding, Tensor) and padding.dim() == 2 and padding.shape[1] == count > 1:
        places = torch.arange(count, device=padding.device)
        at = (places * padding.bool()).argmax(1).to(logits.device)
    return logits[torch.arange(len(logits), device=logits.device), at]


def _device(keep: str) -> torch.device:
    try:
        return torch.device(keep)
    except (RuntimeError, TypeError):
        raise refused("watch", "keep", repr(keep), 'a device, such as "cpu"') from None
