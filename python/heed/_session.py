"""One input through one model, kept so that every attention weight can be asked for."""

from __future__ import annotations

import json
import shutil
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, _given_weights, _plots, _session_arrays
from ._answers import Cell, Column, NextWord, NextWords, Row, Token, tokens_of
from ._checks import whole
from ._notebook import page_of, saved_in_a_frame, shown_in_a_notebook
from ._session_files import save, viewed
from ._session_questions import Who, answer, find, question
from ._session_stack import SessionStack
from ._tables import table_of
from .errors import NotFound, Unsupported, made

if TYPE_CHECKING:
    from ._images import ImagePatches
    from ._models import Model
    from ._notebook_page import Page
    from ._seen import Seen
    from ._weights import Weights


class Session:
    """A text that a model has read, or attention computed elsewhere.

    It keeps Q, K, V, the log-sum-exp and the residual stream of each layer, which is linear in the
    length, and its model for as long as it lives. Weights are computed where they are asked for.
    Layers, heads and tokens are counted from 0; tokens may also be named by their text. Of an
    encoder-decoder there are the stacks "encoder", "decoder" and "cross"; where no ``stack`` is
    named, it is the first one.

    :meth:`Model.look`, :func:`heed.look` and :meth:`from_arrays` make one.
    """

    def __init__(self, core: _core.Session, model: Model | None = None):
        self._core = core
        self._address = ""  # where the page opens; empty: where heed would look first
        self.model = model
        """None where the session is of arrays."""
        self._made: tuple[Any, ...] | None = None  # what a session of arrays was made of

    def __reduce__(self) -> Any:
        if self._made is None:
            raise made(Unsupported, op="pickle", found="a session of a model",
                       expected="a session of arrays", hint="keep the text, and look again")  # fmt: skip
        return _session_arrays.opened, (type(self), *self._made)

    @classmethod
    def from_arrays(cls, q: Any, k: Any, v: Any = None, **settings: Any) -> Session:
        """A session of attention computed elsewhere, over one sequence.

        Parameters
        ----------
        q, k, v : [1, H, Tq, D], [1, G, Tk, D] and [1, G, Tk, Dv] as scored (after a rotation), the
            first axis may be missing; or lists of them, one a layer. v may be missing
        lse : [1, H, Tq] or [H, Tq], or a list; the log-sum-exp, which is computed without it
        tokens, key_tokens : names of the queries, and of the keys where these are other tokens
        stack : "self"; or "encoder", "decoder", "cross"
        name : "arrays"; what the model is called
        images : those whose patches are tokens here, one :class:`ImagePatches` or a list of at most
            64; the patches are named by their cells, "im0 r2 c5"
        settings : those of :func:`heed.attention` (``mask``, ``scale``, ``softcap``, ...), for
            every layer

        Raises
        ------
        ValueError, TypeError
            with the argument, and the layer, that does not fit
        """
        return _session_arrays.of_arrays(cls, q, k, v, **settings)

    @classmethod
    def from_weights(cls, weights: Any, tokens: Any = None, **settings: Any) -> Session:
        """A session of attention weights alone, such as ``output_attentions=True`` gives them.

        Weights are shown as they are; those that are 0 are hidden, as masked ones are. Nothing is
        known of q, k and v: Why, Anatomy and scores of values are absent, and ``scores`` are the
        logarithms of the weights.

        Parameters
        ----------
        weights : one array a layer, [B, H, Tq, Tk] or [H, Tq, Tk], of NumPy, PyTorch (any device)
            or JAX, of any floating type; None for a layer without attention. Or a dict of such
            lists: "encoder", "decoder", "cross". One array [layers, B, H, Tq, Tk] is also taken
        tokens, key_tokens : names of the queries, and of the keys where these are other tokens
        stack : "self"; or "encoder", "decoder", "cross"
        name : "weights"; what the model is called
        sequence : which sequence of a batch; may be left out where there is one
        sentence_b_start : of a pair of texts, the first token of the second
        images : as of :meth:`from_arrays`

        Raises
        ------
        ValueError, TypeError
            with the layer that does not fit, or the place of a weight below 0 or above 1
        """
        return _given_weights.of_weights(cls, weights, tokens, **settings)

    @classmethod
    def from_seen(
        cls,
        stacks: Any,
        *,
        tokens: Any = None,
        key_tokens: Any = None,
        name: str = "arrays",
        sequence: int | None = None,
        images: Any = None,
    ) -> Session:
        """A session of attentions that were seen: of one sequence, or of the one of a batch that
        ``sequence`` names, counted from 0.

        ``stacks`` is a list of :class:`Seen`, one per layer, or a dict of such lists by the name of
        the stack: "self", "encoder", "decoder", "cross". Every layer has its own mask and scores.
        None is a layer without attention: it keeps its number.
        ``images`` are as of :meth:`from_arrays`.
        """
        return _session_arrays.of_seen(cls, stacks, tokens, key_tokens, name, sequence, images)

    # --- what was read ---------------------------------------------------------------------------

    @property
    def model_name(self) -> str:
        return self._core.model

    @property
    def text(self) -> str:
        return self._core.text

    @property
    def pair(self) -> str | None:
        """The second text that an encoder read."""
        return self._core.pair

    @cached_property
    def tokens(self) -> list[Token]:
        """The tokens that were read; of an encoder-decoder those that it writes."""
        of_source = bool(self._core.key_tokens)
        text = (self._core.target or "") if of_source else self.text
        return tokens_of(self._core.tokens, text, self.pair)

    @cached_property
    def key_tokens(self) -> list[Token]:
        """The tokens of the keys if they differ, such as those of a source; else ``tokens``."""
        found = self._core.key_tokens
        return tokens_of(found, self.text, None) if found else self.tokens

    @property
    def images(self) -> list[ImagePatches]:
        """The images whose patches are tokens here."""
        return [] if self._made is None else list(self._made[-1])

    @property
    def split(self) -> int | None:
        """The first token of the second text of a pair."""
        return self._core.split

    @property
    def keep_layers(self) -> list[int] | None:
        """The layers whose attention was kept; None: all of them."""
        return self._core.keep_layers

    @property
    def score_error(self) -> float:
        """How far a score can be from the one that the pass used: 0 unless queries and keys were
        kept as "float16". A weight is then within a factor of ``exp(2 * score_error)``."""
        return self._core.score_error

    @cached_property
    def stacks(self) -> dict[str, SessionStack]:
        return {row[0]: SessionStack(self._core, self, *row) for row in self._core.stacks}

    def stack(self, name: str | None = None) -> SessionStack:
        """The attentions of one name; the first of them without one."""
        if name is None:
            return next(iter(self.stacks.values()))
        if name not in self.stacks:
            expected = f"{', '.join(self.stacks)} ({self.model_name} has no other)"
            raise made(NotFound, op="session", argument="stack", found=repr(name),
                       expected=expected)  # fmt: skip
        return self.stacks[name]

    # --- the matrices ----------------------------------------------------------------------------

    @property
    def weights(self) -> Weights:
        """The weights of the first stack, [layers, heads, Tq, Tk] float32: ``s.weights[2, 4, -1]``;
        0 where masked. Indices are NumPy's and compute what they name; ``stack(name).weights`` has
        those of another stack."""
        return self.stack().weights

    @property
    def scores(self) -> Weights:
        """The scores before the softmax, indexed as ``weights``; -inf where masked."""
        return self.stack().scores

    def attention(self, layer: int, stack: str | None = None) -> Seen:
        """One layer's attention, as ``heed.attention(..., seen=True)`` gives it."""
        return self.stack(stack).attention(layer)

    @property
    def logits(self) -> np.ndarray | None:
        """[T, vocabulary] float32; [1, vocabulary] of a long text, unless ``logits=True`` kept them
        all. None where the model has none."""
        found = self._core.logits
        return None if found is None else np.asarray(found)

    @property
    def hidden(self) -> np.ndarray | None:
        """The states behind the last norm, [T, width] float32, where ``hidden=True`` kept them."""
        found = self._core.hidden
        return None if found is None else np.asarray(found)

    # --- questions -------------------------------------------------------------------------------

    def rows(
        self,
        layer: int | None = None,
        head: int | None = None,
        *,
        stack: str | None = None,
        who: Who | None = None,
        top: int | None = 3,
    ) -> list[Row]:
        """The keys that each token attends to, the largest weights first.

        heed chooses a ``layer`` and ``head`` that are not named (docs/look.md has the rule).
        ``who`` names the tokens whose rows are wanted; ``top``
        keys of each row are listed, or all with None.
        """
        found = answer(self, layer, head, stack, who, None, top)
        return [Row.of(row) for row in found["rows"]]

    def row(
        self,
        who: Who,
        layer: int | None = None,
        head: int | None = None,
        *,
        stack: str | None = None,
        top: int | None = 3,
    ) -> Row:
        """The row of one token, the last that has the name."""
        return self.rows(layer, head, stack=stack, who=who, top=top)[-1]

    def column(
        self,
        to: Who,
        layer: int | None = None,
        head: int | None = None,
        *,
        stack: str | None = None,
        top: int | None = 3,
    ) -> Column:
        """Who attends to a token, the last that has the name: the largest weights first."""
        found = answer(self, layer, head, stack, None, to, top)
        return Column.of(found["columns"][-1])

    def cell(
        self,
        who: Who,
        to: Who,
        layer: int | None = None,
        head: int | None = None,
        *,
        stack: str | None = None,
    ) -> Cell:
        """One weight with what it comes from: its score, the row's log-sum-exp, its rank."""
        found = answer(self, layer, head, stack, who, to, 3)
        return Cell.of_answer(found["cells"][-1])

    def heads(self, stack: str | None = None) -> Any:
        """Scores of each head on this text, averaged over its rows: a pandas DataFrame where
        pandas is installed, else a small table with ``columns`` and ``["entropy"]``.

        A row a head with ``stack``, ``layer``, ``head`` and the scores (docs/api.md has the list:
        "previous", "sink", "induction", ...), then the same sink-adjusted ("previous_adjusted");
        of a pair also the shares between both texts, of a cross-attention "in_order" and "peak".
        Heads that see nothing, as those of a layer without weights, have no row.
        """
        wanted = None if stack is None else self.stack(stack).name
        rows = [row for row in self._head_rows() if wanted in (None, row["stack"])]
        return table_of([row for row in rows if row["confidence"] != 0])  # 0: it sees nothing

    def _head_rows(self) -> list[dict[str, Any]]:
        return [_flat(row) for row in json.loads(_core.heads(self._core))["heads"]]

    def next(self, top: int = 6, position: int = -1) -> NextWords:
        """The most probable next words, behind the last token or another whose logits are kept;
        none where the model writes no text; an error of arrays and of what `watch` saw."""
        place = whole("next", "position", position)
        place += len(self.tokens) if place < 0 else 0
        most = whole("next", "top", top, least=1)
        words, rest, probability = _core.next_words(self._core, most, place)
        return NextWords([NextWord(*word) for word in words], rest, probability)

    def edited(self, edits: Any) -> Session:
        """The same tokens, run again with edits after those of this session: one or a list of what
        ``heed.edits`` makes."""
        from ._session_edits import edited

        return type(self)(edited(self._core, self.model, edits), self.model)

    # --- plots -----------------------------------------------------------------------------------

    def plot(
        self, layer: int | None = None, head: int | None = None, ax: Any = None, *,
        stack: str | None = None, **settings: Any,
    ) -> Any:  # fmt: skip
        """Draws the weights of a head with matplotlib: queries downwards, keys to the right.

        heed chooses a ``layer`` and ``head`` that are not named. Weights that are 0 are blank; of
        more than 1,024 tokens a cell is the largest weight of several. ``ax`` is what it is drawn
        into, by default a new figure's; ``settings`` go to ``ax.imshow``. Returns ``ax``.
        """
        return _plots.plot(self, layer, head, ax, stack, settings)

    def plot_heads(
        self, score: str = "previous", ax: Any = None, *, stack: str | None = None, **settings: Any
    ) -> Any:
        """Draws a score of every head, a column of :meth:`heads`, as layers by heads."""
        return _plots.plot_heads(self, score, ax, stack, settings)

    def plot_row(
        self, who: Who, layer: int | None = None, head: int | None = None, ax: Any = None, *,
        stack: str | None = None, **settings: Any,
    ) -> Any:  # fmt: skip
        """Draws whom a token attends to as bars, one for each key; ``settings`` go to
        ``ax.bar``."""
        return _plots.plot_row(self, who, layer, head, ax, stack, settings)

    def plot_image_map(
        self, who: Who = -1, image: int = 0, layer: int | None = None, head: int | None = None,
        ax: Any = None, *, stack: str | None = None, **settings: Any,
    ) -> Any:  # fmt: skip
        """Draws the weights of a token on the patches of an image, over the image. ``image`` counts
        those of :attr:`images` whose patches are keys; ``settings`` go to ``ax.imshow``."""
        return _plots.plot_image_map(self, who, image, layer, head, ax, stack, settings)

    # --- as the program shows it -----------------------------------------------------------------

    def to_text(
        self,
        layer: int | None = None,
        head: int | None = None,
        *,
        stack: str | None = None,
        who: Who | None = None,
        to: Who | None = None,
        top: int | None = 3,
        rows: int | None = 64,
        width: int | None = None,
    ) -> str:
        """What ``heed look`` prints: who attends to whom, the heads, the next word.

        ``who`` with ``to`` shows that one weight; ``to`` alone who attends to it. of a long text ``rows``
        are shown: the last ones, or those around the row that heed chose; all with None. ``width``
        is the terminal's.
        """
        asked = question(self, layer, head, stack, who, to, top, rows)
        terminal = shutil.get_terminal_size((100, 24)).columns
        columns = terminal if width is None else whole("look", "width", width, 1)
        utf8 = "utf" in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
        shown = _core.Shown(columns, utf8, -1 if top is None else top, _word(who), _word(to))
        return _core.look_text(self._core, asked, shown).rstrip("\n")

    def to_json(
        self,
        layer: int | None = None,
        head: int | None = None,
        *,
        stack: str | None = None,
        who: Who | None = None,
        to: Who | None = None,
        top: int | None = 3,
        rows: int | None = None,
    ) -> str:
        """What ``heed look --format json`` prints."""
        asked = question(self, layer, head, stack, who, to, top, rows)
        return _core.look_json(self._core, asked)

    def to_dict(self, layer: int | None = None, head: int | None = None, **asked: Any) -> dict:
        """:meth:`to_json`, read."""
        return json.loads(self.to_json(layer, head, **asked))

    def to_html(self, layer: int | None = None, head: int | None = None, **asked: Any) -> str:
        """The page as one file, which loads nothing from anywhere.

        It opens at the head, and with ``stack``, ``who`` and ``to`` at the tokens, that are named;
        or at ``view``, an address of the page such as ``"look/L2.H4/i=17/j=3"``.
        """
        return _core.session_html(self._core, viewed(self, layer, head, **asked))

    def save(self, path: str | Path, *, width: int = 1440, theme: str = "light",
             **asked: Any) -> None:  # fmt: skip
        """Writes a file, which appears whole or not at all.

        The ending says what: ``.html`` (the page), ``.svg`` and ``.png`` (a picture of it, drawn by
        chromium, ``width`` pixels wide, "light" or "dark"), ``.txt`` and ``.json`` (as ``heed
        look`` prints them). ``asked`` is ``layer``, ``head``, ``stack``, ``who`` and ``to``, of
        pages and pictures ``view`` too, of ``.txt`` and ``.json`` ``top`` and ``rows``.

        Raises
        ------
        ValueError, TypeError
            for another ending, or a keyword that this kind of file does not take
        LookupError
            where there is no browser for a picture
        OSError
            where the system does not let it be written
        """
        save(self, Path(path), width, theme, asked)

    def __repr__(self) -> str:
        return self.to_text()

    def widget(self) -> Page:
        """The live page as a widget of anywidget, for layouts of widgets and for notebooks that show
        a session as the saved page alone. Its ``address`` says what is shown, and may be set."""
        return page_of(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """The display in a notebook: the page, or the table where the page cannot be shown."""
        return shown_in_a_notebook(self)

    def _repr_html_(self) -> str:
        """For what shows html outside of notebooks: the saved page, or the table."""
        return saved_in_a_frame(self, repr(self))

    def find(
        self, word: Who, *, stack: str | None = None, keys: bool = False, argument: str = "word"
    ) -> list[int]:
        """The tokens that a word names: those whose text it is, else the last ones of runs of
        tokens that spell it. A whole number is the index of one; below 0 from the end."""
        return find(self, word, stack, keys, argument)


def _word(word: Who | None) -> str:
    return "" if word is None else str(word)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """A head's scores, sink-adjusted too, with what a pair or a cross-attention has besides."""
    adjusted = {f"{name}_adjusted": value for name, value in row.pop("adjusted", {}).items()}
    beside = {**row.pop("shares", {}), **row.pop("order", {})}
    return {**row, **adjusted, **beside}
