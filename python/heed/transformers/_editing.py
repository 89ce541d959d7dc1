"""`edit`: changes attention while a model runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from .._checks import number
from .._edited import check_keys_or_queries, check_output, places_of
from .._masks import Mask
from ..errors import (
    Error,
    InvalidArgument,
    NotFound,
    WrongType,
    made,
    mistyped,
    out_of_range,
    refused,
)
from . import _pieces
from ._arguments import Arguments
from ._calls import Call
from ._edits import Applied, Edit
from ._finding import Finder, check_words
from ._following import Following, has_past
from ._models import is_attention, unwrapped
from ._seen_model import SeenModel
from ._stacks import Place, names_of, place_of


@contextmanager
def edit(model: PreTrainedModel, tokenizer: Any = None) -> Iterator[Edits]:
    """Changes ``model``'s attention inside the ``with`` by the methods of the yielded
    :class:`Edits`.

    The model's own attention function computes; edited heads are computed again. Edits apply in the
    order in which they are given, to every pass of this thread, including generation with a cache.
    A :func:`watch` around or inside sees the edited attention. The ``tokenizer`` is needed only for
    edits that name words.

    Raises
    ------
    ValueError, IndexError, LookupError
        before a pass for an edit that cannot apply, and at the end of the ``with`` for an edit that
        never applied
    """
    inner = unwrapped(model, "edit")
    tokenizer = _pieces.tokenizer_of(tokenizer, "edit")
    edits = Edits(inner, tokenizer)
    with edits.attached():
        try:
            yield edits
        finally:
            edits.is_over = True
        edits.check_everything_applied()


class Edits(Following):
    """The edits of one ``with``.

    ``layers`` are numbers, as in ``SeenModel.stacks``, or None for all. ``heads`` are numbers, None
    for all, or pairs ``(layer, head)`` instead of ``layers``. ``who`` are queries and ``to`` are
    keys: a word of the text, a position, or a list of these; None for all. A word that occurs
    several times stands for all its occurrences. A model with several stacks needs ``stack``.
    """

    order = 1
    is_over = False
    """Whether the ``with`` has ended."""

    def __init__(self, model: PreTrainedModel, tokenizer: Any):
        super().__init__(model)
        self._model, self._tokenizer = model, tokenizer
        self._edits: list[Edit] = []
        self._passes = 0
        self._stacks = stacks_of(model, self.modules)

    # --- the edits -------------------------------------------------------------------------------

    def ablate(self, layer: Any, heads: Any = None, *, stack: str | None = None) -> None:
        """Makes the output of the heads 0."""
        self._add("ablate", layer, heads, stack)

    def remove(
        self, who: Any = None, to: Any = None, layers: Any = None, heads: Any = None, *,
        stack: str | None = None,
    ) -> None:  # fmt: skip
        """Attention knockout: hides the keys ``to`` from the queries ``who``. At least one of
        the two must be given."""
        check_keys_or_queries(who, to)
        self._add("remove", layers, heads, stack, who=who, to=to)

    def temperature(
        self, layer: Any, head: Any = None, factor: float = 1.0, *, stack: str | None = None
    ) -> None:
        """Multiplies scores by ``factor``: above 1 weights are sharper, below 1 flatter."""
        self._add("temperature", layer, head, stack, value=number("temperature", "factor", factor))

    def steer(
        self, words: Any = None, by: float = 1.0, heads: Any = None, layers: Any = None, *,
        who: Any = None, stack: str | None = None,
    ) -> None:  # fmt: skip
        """Adds ``by`` nats to the scores of the keys ``words``."""
        by = number("steer", "by", by)
        self._add("steer", layers, heads, stack, who=who, to=words, value=by)

    def mask(
        self, mask: Any, layers: Any = None, heads: Any = None, *, stack: str | None = None
    ) -> None:
        """Hides more pairs. ``mask`` is a ``heed.Mask``, an array of bool that is true where a
        query may attend, or a floating array that is added to the scores; arrays are [Tq, Tk], [H,
        Tq, Tk] or [B, H, Tq, Tk]."""
        if not isinstance(mask, Mask):
            mask = _array(mask)
        self._add("mask", layers, heads, stack, value=mask)

    def freeze(
        self, seen: SeenModel, layers: Any = None, heads: Any = None, *, who: Any = None,
        stack: str | None = None, text: int = -1,
    ) -> None:  # fmt: skip
        """Uses the weights of another run. Queries after the end of that run are not changed."""
        self._add("freeze", layers, heads, stack, who=who, value=_run_of("freeze", seen, text))

    def patch(
        self, seen: SeenModel, layer: Any, head: Any = None, what: str = "output", *,
        who: Any = None, stack: str | None = None, text: int = -1,
    ) -> None:  # fmt: skip
        """Uses the output of a head in another run (activation patching)."""
        check_output(what)
        self._add("patch", layer, head, stack, who=who, value=_run_of("patch", seen, text))

    def __repr__(self) -> str:
        return f"<heed.transformers.Edits of {self.model_name}: {', '.join(map(str, self._edits))}>"

    # --- what cannot apply -----------------------------------------------------------------------

    def _add(self, name: str, layers: Any, heads: Any, stack: str | None, **values: Any) -> None:
        if self.is_over:
            raise made(InvalidArgument, op=name, found="the `with` of these edits has ended",
                       expected="an edit inside of it")  # fmt: skip
        place, known = self._stack(name, stack)
        places, of_all = places_of(name, layers, heads)
        new = Edit(name, places, of_all, place.path, **values)
        for layer in places or {}:
            self._check_layer(name, layer, known)
        for layer, module in known.items():
            if (count := _heads_of(module)) is not None:
                new.heads_at(layer, count)
        for argument in ("who", "to"):
            check_words(name, argument, getattr(new, argument), self._tokenizer)
        if name in ("freeze", "patch"):
            for layer in places or {}:
                _layer_of_run(new, layer)
        self._edits.append(new)

    def _stack(self, name: str, stack: str | None) -> tuple[Place, dict[int, nn.Module]]:
        names = [f'"{each}"' for each in self._stacks]
        if stack is None and len(self._stacks) == 1:
            return next(iter(self._stacks.values()))
        if stack not in self._stacks:
            found = "None" if stack is None else f'"{stack}"'
            raise made(NotFound, op=name, argument="stack", found=found,
                       expected="one of " + ", ".join(names))  # fmt: skip
        return self._stacks[stack]

    def _check_layer(self, name: str, layer: int, known: dict[int, nn.Module]) -> None:
        total = _total_layers(self._model)
        if layer in known or (len(known) == 1 and 0 <= layer < total):  # a shared layer runs often
            return
        expected = "one of " + ", ".join(map(str, sorted(known)))
        raise out_of_range(name, "layer", layer, expected)

    def check_everything_applied(self) -> None:
        for each in self._edits:
            if not each.was_applied:
                why = "nothing was as it says"
                if each.name in ("remove", "steer"):
                    why = "no query in who sees a key in to"
                if self._passes == 0:
                    why = "the model did not run"
                raise refused("edit", str(each), f"never applied, since {why}",
                              "a pass inside of the `with` that it changes")  # fmt: skip

    # --- a pass ----------------------------------------------------------------------------------

    def begun(self, prefix: str, module: nn.Module, settings: dict[str, Any]) -> None:
        self._passes += 1
        ids = self.ids_given(prefix)
        if ids is None or has_past(settings):
            return
        is_pair = bool(getattr(self._model.config, "is_encoder_decoder", False))
        role = _role(prefix, is_pair)
        self._resolve(role, ids)
        target = settings.get("decoder_input_ids")
        if role == "encoder" and isinstance(target, Tensor):
            self._resolve("decoder", target)

    def _resolve(self, role: str, ids: Tensor) -> None:
        """Finds the edits' words in the text of a new pass."""
        for each in self._edits:
            for argument in ("who", "to"):
                given = getattr(each, argument)
                if given is not None and role == self._role_of(each, argument):
                    finder = Finder(each.name, argument, self._tokenizer)
                    each.found[argument] = finder.places(given, ids)
            if each.name in ("freeze", "patch") and role == self._role_of(each, "who"):
                _check_lengths(each, ids.shape[1])

    def _role_of(self, edit: Edit, argument: str) -> str:
        """Returns which text the queries (or keys) of an edit's stack belong to."""
        kind = next(place.kind for place, _ in self._stacks.values() if place.path == edit.path)
        if not getattr(self._model.config, "is_encoder_decoder", False):
            return "self"
        if kind == "cross":
            return "decoder" if argument == "who" else "encoder"
        return kind

    def called(self, module: nn.Module, compute: Callable[..., Any], given: Arguments) -> Any:
        name, layer = self.layers.of(module)
        call = Call.of(given, given.query)
        place = self.located(module, name, call)
        given.located = call
        heads = call.q.shape[1]
        for each in self._edits:
            if each.path != place.path or not (chosen := each.heads_at(layer, heads)):
                continue
            for argument, positions in (("who", call.queries), ("to", call.keys)):
                self._resolve_numbers(each, argument, positions)
            has_run = each.name in ("freeze", "patch")
            run = _layer_of_run(each, layer) if has_run else None
            given.edits.append(Applied(each, chosen, run))
        return compute(given)

    def _resolve_numbers(self, edit: Edit, argument: str, positions: range) -> None:
        """Finds the positions of an edit in a text without ids."""
        given = getattr(edit, argument)
        if given is not None and argument not in edit.found:
            ids = torch.zeros(1, positions.stop, device="cpu")
            edit.found[argument] = Finder(edit.name, argument, None).places(given, ids)


def _role(prefix: str, is_pair: bool) -> str:
    if not is_pair:
        return "self"
    return "decoder" if "decoder" in prefix.split(".")[-1] else "encoder"


# --- layers and heads -----------------------------------------------------------------------------


def stacks_of(
    model: PreTrainedModel, modules: dict[nn.Module, list[str]]
) -> dict[str, tuple[Place, dict[int, nn.Module]]]:
    """Returns each stack's place and its layers by number, before the model has run."""
    from ._layers import Layers, is_inside

    layers = Layers(model)
    attending = {m: names for m, names in modules.items() if is_attention(m)}
    every = [name for names in attending.values() for name in names]
    found: dict[Place, dict[int, nn.Module]] = {}
    for module, names in attending.items():
        if any(other != names[0] and is_inside(other, names[0]) for other in every):
            continue
        causal = getattr(module, "is_causal", None)
        causal = model.can_generate() if causal is None else bool(causal)
        place = place_of(names[0], module, causal)
        for name in names:
            found.setdefault(place, {})[layers.number(name)] = module
    return {name: (place, found[place]) for name, place in names_of(list(found)).items()}


def _heads_of(module: nn.Module) -> int | None:
    for name in ("num_attention_heads", "num_heads", "n_heads", "num_attn_heads", "n_head"):
        for owner in (module, getattr(module, "config", None)):
            if isinstance(count := getattr(owner, name, None), int):
                return count
    return None


def _total_layers(model: PreTrainedModel) -> int:
    config = model.config
    configs = [config, *(getattr(config, name, None) for name in config.sub_configs)]
    names = ("num_hidden_layers", "encoder_layers", "decoder_layers", "num_layers")
    counts = (getattr(each, name, None) for each in configs for name in names)
    return max((count for count in counts if isinstance(count, int)), default=0)


# --- other runs -----------------------------------------------------------------------------------


def _run_of(op: str, seen: Any, text: int) -> tuple[SeenModel, int]:
    if not isinstance(seen, SeenModel):
        raise mistyped(op, "seen", seen, "what heed.transformers.watch yields")
    seen.check_ran()
    return seen, text


def _layer_of_run(edit: Edit, layer: int) -> Any:
    seen, text = edit.value
    try:
        return seen.run_at(edit.path, layer, text)
    except Error as error:
        raise made(type(error), op=edit.name, argument=f"seen, {error.argument}",
                   found=error.found, expected=error.expected) from None  # fmt: skip


def _check_lengths(edit: Edit, count: int) -> None:
    seen, text = edit.value
    layer = next(iter(edit.places or {}), None)
    known = len(seen.run_at(edit.path, layer, text).queries)
    if count > known:
        raise refused(edit.name, "seen", f"a run of {known} tokens", f"{count}, as this text has")


# --- values ---------------------------------------------------------------------------------------


def _array(mask: Any) -> Tensor:
    try:
        array = torch.as_tensor(mask)
    except (TypeError, ValueError, RuntimeError):
        raise mistyped("mask", "mask", mask, "a heed.Mask or an array") from None
    if array.dtype != torch.bool and not array.is_floating_point():
        raise made(WrongType, op="mask", argument="mask", found=f"an array of {array.dtype}",
                   expected="bool, or floating numbers that are added")  # fmt: skip
    if not 2 <= array.dim() <= 4:
        raise refused("mask", "mask", f"{array.dim()} axes",
                      "[Tq, Tk], [H, Tq, Tk] or [B, H, Tq, Tk]")  # fmt: skip
    return array
