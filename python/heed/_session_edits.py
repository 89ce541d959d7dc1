"""Runs a session's text again under edits, after finding the words and heads that they name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core
from ._checks import below, token_place
from ._edited import listed, word_places
from .edits import Edit
from .errors import NotFound, Unsupported, made, mistyped, refused

if TYPE_CHECKING:
    from ._models import Model, StackInfo


def edited(core: _core.Session, model: Model | None, edits: Any) -> _core.Session:
    """Runs the tokens of a session under edits, which apply in their order."""
    if model is None:
        raise made(Unsupported, op="edited", found="a session of arrays",
                   expected="one of a model that heed runs")  # fmt: skip
    given = [edits] if isinstance(edits, Edit) else edits
    if not isinstance(given, Iterable) or isinstance(given, (str, dict)):
        raise mistyped("look", "edits", edits, "a list of edits, which heed.edits makes")
    given = list(given)
    for each in given:
        if not isinstance(each, Edit):
            raise mistyped("look", "edits", each, "edits, which heed.edits makes")
    text = _Text.of(core)
    return _core.edited(core, [_resolved(each, model, text) for each in given])


class _Text(NamedTuple):
    """The bytes of each token, of the written or only text and of the source."""

    tokens: list[bytes]
    source: list[bytes]

    @classmethod
    def of(cls, core: _core.Session) -> _Text:
        own, source = ([token[2] for token in each] for each in (core.tokens, core.key_tokens))
        return cls(own, source or own)

    def side(self, stack: str, *, keys: bool) -> list[bytes]:
        return self.source if stack == "encoder" or (stack == "cross" and keys) else self.tokens


def _resolved(edit: Edit, model: Model, text: _Text) -> _core.Edit:
    stack = _stack(edit, model)
    queries = _positions(edit, "who", text.side(stack.name, keys=False))
    keys = _positions(edit, "to", text.side(stack.name, keys=True))
    if edit.name in ("remove", "steer"):
        _check_visible(edit, stack, queries, keys)
    if edit.name == "steer" and keys is None:
        keys = list(range(len(text.side(stack.name, keys=True))))
    run = None if edit.run is None else edit.run._core
    return _core.Edit(edit.name, _places(edit, stack), queries, keys, edit.value, edit.mask, run)


def _stack(edit: Edit, model: Model) -> StackInfo:
    stacks = {each.name: each for each in model.info.stacks}
    if edit.stack is None and len(stacks) == 1:
        return next(iter(stacks.values()))
    if edit.stack not in stacks:
        raise made(NotFound, op=edit.name, argument="stack", found=repr(edit.stack),
                   expected="one of " + ", ".join(map(repr, stacks)))  # fmt: skip
    return stacks[edit.stack]


def _places(edit: Edit, stack: StackInfo) -> list[tuple[str, int, int]]:
    chosen = edit.places or dict.fromkeys(range(stack.layers), edit.heads)
    for layer, heads in chosen.items():
        below(edit.name, "layer", layer, stack.layers)
        for head in heads or ():
            below(edit.name, "heads", head, stack.heads)
    return [
        (stack.name, layer, head)
        for layer, heads in chosen.items()
        for head in (range(stack.heads) if heads is None else heads)
    ]


def _positions(edit: Edit, argument: str, pieces: list[bytes]) -> list[int] | None:
    """Returns the positions of words and numbers in ascending order; None for all."""
    given, count = getattr(edit, argument), len(pieces)
    if given is None:
        return None
    found: set[int] = set()
    for each in listed(given):
        if isinstance(each, str):
            if not each.strip():
                raise refused(edit.name, argument, repr(each), "a word")
            found.update(word_places(edit.name, argument, each, pieces))
            continue
        found.add(token_place(edit.name, argument, each, count))
    return sorted(found)


def _check_visible(
    edit: Edit, stack: StackInfo, queries: list[int] | None, keys: list[int] | None
) -> None:
    """Refuses an edit whose keys are all after its queries in a causal stack."""
    if stack.causal and queries is not None and keys is not None and max(queries) < min(keys):
        raise refused(edit.name, "to", f"token {min(keys)}, behind token {max(queries)}",
                      "a key that the queries see: this stack is causal")  # fmt: skip
