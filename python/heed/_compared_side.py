"""One of the two runs that `heed.compare` compares."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ._checks import whole
from ._session import Session
from ._session_questions import Who
from .errors import NotFound, made, mistyped, refused


class Side:
    """A run as a session, with the names of its stacks and its words."""

    def __init__(self, given: Any, argument: str, stack: str | None, text: int, sequence: int):
        self.argument = argument
        self.names: dict[str, str] = {}
        """The stacks' names in the table of heads, where they differ from the session's names."""
        if isinstance(given, Session):
            if stack is not None:
                raise refused("compare", "stack", "given beside sessions", "None: all their stacks")
            self.session = given
            self._tokenizer = None if given.model is None else given.model.target_tokenizer
            return
        if not _is_seen_model(given):
            raise mistyped("compare", argument, given,
                           "a heed.Session, or what heed.transformers.watch yields")  # fmt: skip
        self.session = given.look(sequence, stack, text)
        self._tokenizer = given._tokenizer
        for name in self.session.stacks:
            shown = stack or next(iter(given.stacks)) if name == "self" else name
            self.names[name] = shown
        found = given.logits(text)
        self.last = None if found is None else found[sequence].double().cpu().numpy()

    @property
    def is_session(self) -> bool:
        return not hasattr(self, "last")

    def logits(self, position: Who | None) -> np.ndarray | None:
        """Returns the logits after one token, [vocabulary]; None if the run has no logits."""
        if not self.is_session:
            if position is not None:
                raise refused("compare", "position", repr(position),
                              "None: a watch keeps the logits of the last token")  # fmt: skip
            return self.last
        model = self.session.model
        if model is None or (position is None and not model.info.writes):
            return None
        logits, count = self.session.logits, len(self.session.tokens)
        if logits is None:
            return None
        at = count - 1 if position is None else self.session.find(position, argument="position")[-1]
        row = at - (count - len(logits))
        if row < 0:
            raise made(NotFound, op="compare", argument="position", found=repr(position),
                       expected="the last: logits=True keeps those of every token")  # fmt: skip
        return logits[row].astype(np.float64)

    def token(self, word: Any, argument: str, count: int) -> int:
        """Returns the id of a word, which must be a single token."""
        if not isinstance(word, str):
            id = whole("compare", argument, word)
            if not 0 <= id < count:
                raise refused("compare", argument, id, f"0 to {count - 1}, a token's id")
            return id
        if self._tokenizer is None:
            raise refused("compare", argument, repr(word), "a token's id: the run has no tokenizer")
        for text in (f" {word}", word) if not word[:1].isspace() else (word,):
            ids = self._ids(text)
            if len(ids) == 1:
                return ids[0]
        pieces = ", ".join(repr(self.name(id)) for id in ids)
        raise refused("compare", argument, f"{word!r}: {pieces}", "a word that is one token")

    def _ids(self, text: str) -> list[int]:
        if self.is_session:
            return self._tokenizer.encode(text, special=False).ids
        return self._tokenizer(text, add_special_tokens=False)["input_ids"]

    def name(self, id: int) -> str:
        if self._tokenizer is None:
            return f"#{id}"
        if self.is_session:
            return self._tokenizer.token(id).decode(errors="replace")
        return self._tokenizer.decode([id])


def _is_seen_model(given: Any) -> bool:
    module = sys.modules.get("heed.transformers")  # without the import no SeenModel exists
    return module is not None and isinstance(given, module.SeenModel)
