"""The arguments of a call of an attention function, and the mask that they mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from .._masks import causal
from ._pattern import Pattern
from ._rules import CAUSAL, EVERYTHING, Band

OF_NONE: dict[bool, dict[str, Any]] = {False: {}, True: {"mask": causal(), "q_offset": 0}}
"""The settings of a call without a mask, by whether it is causal. A causal call aligns query 0 with
key 0, like PyTorch."""

KNOWN = (
    "eager",
    "sdpa",
    "heed",
    "flex_attention",
    "flash_attention_2",
    "flash_attention_3",
    "flash_attention_4",
)


@dataclass
class Arguments:
    """One call of an attention function."""

    module: nn.Module
    function: Callable[..., Any]
    name: str
    """The name under which the function is registered."""
    query: Tensor
    key: Tensor
    value: Tensor
    mask: Any
    settings: dict[str, Any]
    pattern: Pattern | None
    """The rules that made the mask, if they are known."""
    offsets: tuple[int, int] | None
    """The positions of query 0 and key 0, if they are known without a pattern."""
    kept: list[Tensor] = field(default_factory=list)
    """A list to which the function appends its log-sum-exp, if it has one."""
    edits: list[Any] = field(default_factory=list)
    """The edits that change this call."""
    located: Any = None
    """The `Call` that the edits change, with its positions."""

    @property
    def lengths(self) -> tuple[int, int]:
        return self.query.shape[2], self.key.shape[2]

    @property
    def dropout(self) -> float:
        return float(self.settings.get("dropout") or 0.0) if self.module.training else 0.0

    @property
    def sink(self) -> Tensor | None:
        sink = self.settings.get("s_aux")
        if sink is None and self.name == "eager":  # some families read it from the module
            sink = getattr(self.module, "sinks", None)
        return sink

    @property
    def scale(self) -> float | Tensor | None:
        return self.settings.get("scaling")

    def visible(self) -> Pattern | Tensor | None:
        """Returns the mask: a pattern, a tensor of bool, or a tensor that is added to scores; None
        if nothing is hidden."""
        queries, keys = self.lengths
        if self.pattern is not None and tuple(self.pattern.shape[2:]) == (queries, keys):
            return self.pattern
        if self.mask is None or (isinstance(self.mask, Tensor) and self.mask.dim() == 2):
            return self._of_lengths(self.mask)
        if not isinstance(self.mask, Tensor):
            return self._of_blocks()
        mask = self.mask[..., :keys]
        return mask if mask.dim() == 4 else mask.expand(*(1,) * (4 - mask.dim()), *mask.shape)

    def _of_lengths(self, padding: Tensor | None) -> Pattern | None:
        """Returns the pattern of a call without a mask, or with one flag per key, the form that
        flash attention takes."""
        queries, keys = self.lengths
        batch = self.key.shape[0]
        is_flash = "flash" in self.name
        hides = self.name != "eager" and is_causal(self.settings, self.module, queries)
        window = self.settings.get("sliding_window") if is_flash and hides else None
        if padding is None and self.offsets is None and not is_flash and queries > 1:
            return Pattern(batch, range(queries), range(keys), CAUSAL, None) if hides else None
        first, first_key = self.offsets or (keys - queries, 0)
        is_last = first + 1 == first_key + keys and is_causal(self.settings, self.module, 2)
        if queries == 1 and is_last and not hides:
            hides = True  # the only query is the last: a causal mask hides nothing from it
        rule = EVERYTHING if not hides else CAUSAL if window is None else Band(window - 1, 0)
        if padding is not None:
            padding = padding[:, -keys:].bool().cpu()
        places = range(first, first + queries), range(first_key, first_key + keys)
        return Pattern(batch, *places, rule, padding)

    def _of_blocks(self) -> Tensor:
        """Returns FlexAttention's block mask as a tensor of bool."""
        from torch.nn.attention.flex_attention import create_mask

        queries, keys = self.lengths
        return create_mask(
            self.mask.mask_mod, self.key.shape[0], 1, queries, keys, device=self.key.device
        )


def is_causal(settings: dict[str, Any], module: nn.Module, queries: int) -> bool:
    """Whether a call without a mask hides later keys."""
    given = settings.get("is_causal")
    if given is None:
        given = getattr(module, "is_causal", True)
    return bool(given) and queries > 1
