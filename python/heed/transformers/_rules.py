"""The mask functions of transformers as rules about positions."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import masking_utils as theirs

from .. import _masks

EVERYTHING = None
"""The rule that hides nothing."""


class Unknown(Exception):
    """Raised for a mask function that transformers did not make."""


@dataclass(frozen=True)
class Band:
    """Shows keys from ``left`` before the query to ``right`` after it; -1 is open."""

    left: int
    right: int

    def mask(self, queries: range, keys: range) -> _masks.Mask:
        return _masks.band(self.left, self.right)

    def of_one(self, sequence: int) -> Band:
        """Returns the rule of one sequence of the batch."""
        return self


@dataclass(frozen=True, eq=False)
class Groups:
    """Shows keys of the query's own group. Tokens with a group below 0 are in no group."""

    ids: Tensor  # [B, positions]

    def mask(self, queries: range, keys: range) -> _masks.Mask:
        of_queries = self.ids[:, queries.start : queries.stop]
        of_keys = self.ids[:, keys.start : keys.stop]
        of_keys = of_keys.masked_fill(of_keys < 0, -2)  # a token in no group does not see itself
        return _masks.segments(of_queries.contiguous(), of_keys.contiguous())

    def of_one(self, sequence: int) -> Groups:
        return Groups(self.ids[sequence : sequence + 1])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Groups) and torch.equal(self.ids, other.ids)


@dataclass(frozen=True, eq=False)
class Chunks:
    """Shows keys of the query's own chunk of ``size`` positions, counted after the left padding."""

    size: int
    left: Tensor  # [B]
    positions: Tensor | None = None  # [B, T] of packed sequences, which count from 0 each

    def mask(self, queries: range, keys: range) -> _masks.Mask:
        return _masks.segments(self._chunk_of(queries), self._chunk_of(keys))

    def of_one(self, sequence: int) -> Chunks:
        one = slice(sequence, sequence + 1)
        positions = None if self.positions is None else self.positions[one]
        return Chunks(self.size, self.left[one], positions)

    def _chunk_of(self, places: range) -> Tensor:
        if self.positions is None:
            at = torch.arange(places.start, places.stop, device="cpu")[None]
        else:
            at = self.positions[:, places.start : places.stop]
        return torch.div(at - self.left[:, None], self.size, rounding_mode="floor").contiguous()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Chunks)
            and self.size == other.size
            and (self.positions is None) == (other.positions is None)
            and (self.positions is None or torch.equal(self.positions, other.positions))
            and torch.equal(self.left, other.left)
        )


@dataclass(frozen=True)
class Both:
    rules: tuple[Any, ...]

    def mask(self, queries: range, keys: range) -> _masks.Mask:
        return functools.reduce(operator.and_, (r.mask(queries, keys) for r in self.rules))

    def of_one(self, sequence: int) -> Both:
        return Both(tuple(rule.of_one(sequence) for rule in self.rules))


@dataclass(frozen=True)
class Either:
    rules: tuple[Any, ...]

    def mask(self, queries: range, keys: range) -> _masks.Mask:
        return functools.reduce(operator.or_, (r.mask(queries, keys) for r in self.rules))

    def of_one(self, sequence: int) -> Either:
        return Either(tuple(rule.of_one(sequence) for rule in self.rules))


CAUSAL = Band(-1, 0)


def is_causal(rule: Any) -> bool:
    """Whether no query sees a key at a later position."""
    if isinstance(rule, Both):
        return any(map(is_causal, rule.rules))
    return isinstance(rule, Band) and rule.right == 0


def rule_of(function: Callable[..., Any]) -> Any:
    """Returns the rule of a mask function that transformers made; raises Unknown for any other.

    Rules hold copies of the function's tensors, because a model may write to these later.
    """
    if not _reads_this_version():
        raise Unknown
    return _rule(function)


def _rule(function: Callable[..., Any]) -> Any:
    if function is theirs.causal_mask_function:
        return CAUSAL
    if function is theirs.bidirectional_mask_function:
        return EVERYTHING
    maker = getattr(function, "__qualname__", "").partition(".")[0]
    if getattr(function, "__module__", "") != theirs.__name__ or maker not in _READERS:
        raise Unknown
    names = function.__code__.co_freevars
    held = dict(zip(names, (cell.cell_contents for cell in function.__closure__ or ())))
    try:
        return _READERS[maker](held)
    except KeyError as error:  # another version holds other variables
        raise Unknown from error


# --- readers, by the name of the maker: they read the variables of its closure --------------------


def _and_masks(held: dict[str, Any]) -> Any:
    rules = [_rule(each) for each in held["mask_functions"]]
    rules = [rule for rule in rules if rule is not EVERYTHING]
    return Both(tuple(rules)) if len(rules) > 1 else rules[0] if rules else EVERYTHING


def _or_masks(held: dict[str, Any]) -> Any:
    rules = [_rule(each) for each in held["mask_functions"]]
    return EVERYTHING if EVERYTHING in rules else Either(tuple(rules))


def _remapped(held: dict[str, Any]) -> Any:
    """Reads a rule for packed sequences, in each of which positions count from 0. Differences of
    positions within a sequence stay the same, so bands do not change."""
    rule = _rule(held["mask_function"])
    if isinstance(rule, Both):
        return Both(tuple(_at_positions(each, held["position_ids"]) for each in rule.rules))
    return _at_positions(rule, held["position_ids"])


def _copied(tensor: Tensor) -> Tensor:
    return tensor.to("cpu", copy=True)


def _at_positions(rule: Any, positions: Tensor) -> Any:
    if isinstance(rule, Chunks):
        return Chunks(rule.size, rule.left, _copied(positions))
    if rule is EVERYTHING or isinstance(rule, Band):
        return rule
    raise Unknown


_READERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "and_masks": _and_masks,
    "or_masks": _or_masks,
    "sliding_window_overlay": lambda held: Band(held["sliding_window"] - 1, -1),
    "sliding_window_bidirectional_overlay": lambda held: Band(*[held["sliding_window"]] * 2),
    "chunked_overlay": lambda held: Chunks(held["chunk_size"], _copied(held["left_padding"])),
    "blockwise_overlay": lambda held: Groups(_copied(held["block_sequence_ids"])),
    "packed_sequence_mask_function": lambda held: Groups(_copied(held["packed_sequence_mask"])),
    "remap_positions_for_packed_sequence": _remapped,
}


# --- check: another version of transformers may use other variables -------------------------------


def _samples() -> list[Callable[..., Any]]:
    ids = torch.tensor([[0, 0, 0, 1, 1, 2, 2]])
    window = theirs.sliding_window_causal_mask_function(2)
    chunks = theirs.chunked_causal_mask_function(3, torch.tensor([0]))
    packed = torch.tensor([[0, 1, 2, 0, 1, 0, 1]]), ids
    return [
        window,
        theirs.sliding_window_bidirectional_mask_function(2),
        theirs.chunked_causal_mask_function(3, torch.tensor([2])),
        theirs.or_masks(window, theirs.blockwise_overlay(ids - 1)),
        theirs.packed_sequence_compatibility_function(window, *packed),
        theirs.packed_sequence_compatibility_function(chunks, *packed),
    ]


@functools.cache
def _reads_this_version() -> bool:
    """Whether small masks of this version of transformers equal the masks of their rules."""
    try:
        with torch.device("cpu"):
            return all(map(_agrees, _samples()))
    except (Unknown, AttributeError, TypeError):
        return False


def _agrees(sample: Callable[..., Any]) -> bool:
    places = range(7)
    wanted = theirs.sdpa_mask(1, 7, 7, mask_function=sample, allow_is_causal_skip=False)
    found = _rule(sample).mask(places, places).to_array((1, 1, 7, 7), q_offset=0)
    return bool((torch.from_numpy(found) == wanted).all())
