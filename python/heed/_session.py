"""A session: one input read by one model, from which every attention weight can be computed."""

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
from ._session_questions import Who, answer, find, question, refuse_none
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

    A session keeps Q, K, V, the log-sum-exp and the residual stream of each layer, in memory linear
    in the length, and keeps its model alive. Weights are computed when they are asked for. Layers,
    heads and tokens are counted from 0; tokens may also be named by their text. An encoder-decoder
    has the stacks "encoder", "decoder" and "cross"; without ``stack`` the first one is meant.

    :meth:`Model.look`, :func:`heed.look` and :meth:`from_arrays` return sessions.
    """

    def __init__(self, core: _core.Session, model: Model | None = None):
        self._core = core
        self._address = ""  # the view that the page opens with; empty: the one that heed chooses
        self.model = model
        """The model; None for a session of arrays."""
        self._made: tuple[Any, ...] | None = None  # arguments of a session of arrays, for pickle

    def __reduce__(self) -> Any:
        if self._made is None:
            raise made(Unsupported, op="pickle", found="a session of a model",
                       expected="a session of arrays", hint="keep the text, and look again")  # fmt: skip
        return _session_arrays.opened, (type(self), *self._made)

    @classmethod
    def from_arrays(cls, q: Any, k: Any, v: Any = None, **settings: Any) -> Session:
        """Makes a session of attention computed elsewhere, over one sequence.

        Parameters
        ----------
        q, k, v : [1, H, Tq, D], [1, G, Tk, D] and [1, G, Tk, Dv], or without the first axis; q and
            k as they are scored (after a rotation). Or lists of such arrays, one per layer. v may
            be left out
        lse : the log-sum-exp, [1, H, Tq] or [H, Tq], or a list; computed if it is left out
        tokens, key_tokens : the texts of the queries, and of the keys if these are other tokens
        stack : "self"; or "encoder", "decoder", "cross". The default is "cross" with `key_tokens`
        name : "arrays"; the name of the model
        images : the images whose patches are tokens: one :class:`ImagePatches` or a list of at most
            64. The patches are named by their cells, "im0 r2 c5"
        settings : those of :func:`heed.attention` (``mask``, ``scale``, ``softcap``, ...), for
            every layer

        Raises
        ------
        ValueError, TypeError
            naming the argument, and the layer, that does not fit
        """
        return _session_arrays.of_arrays(cls, q, k, v, **settings)

    @classmethod
    def from_weights(cls, weights: Any, tokens: Any = None, **settings: Any) -> Session:
        """Makes a session of attention weights alone, such as those of ``output_attentions=True``.

        Weights are shown as they are; weights of 0 are shown as hidden, like masked ones. Since q,
        k and v are unknown, the views Why and Anatomy and scores of values are absent, and
        ``scores`` are the logarithms of the weights.

        Parameters
        ----------
        weights : one array per layer, [B, H, Tq, Tk] or [H, Tq, Tk], of NumPy, PyTorch (any device)
            or JAX, of any floating type; None for a layer without attention. Or a dict of such
            lists: "encoder", "decoder", "cross". Or one array [layers, B, H, Tq, Tk]
        tokens, key_tokens : the texts of the queries, and of the keys if these are other tokens
        stack : "self"; or "encoder", "decoder", "cross". The default is "cross" with `key_tokens`
        name : "weights"; the name of the model
        sequence : the index of a sequence of the batch; may be left out if there is only one
        sentence_b_start : for a pair of texts, the first token of the second
        images : as in :meth:`from_arrays`

        Raises
        ------
        ValueError, TypeError
            naming the layer that does not fit, or the place of a weight below 0 or above 1
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
        """Makes a session of computed attentions, of one sequence. ``sequence`` is its index in the
        batch, from 0; it may be left out if there is only one.

        ``stacks`` is a list of :class:`Seen`, one per layer, or a dict of such lists by the name of
        the stack: "self", "encoder", "decoder", "cross". Every layer has its own mask and scores.
        None is a layer without attention: it keeps its number.
        The other arguments are those of :meth:`from_arrays`.
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
        """The second text that an encoder read; None without one."""
        return self._core.pair

    @cached_property
    def tokens(self) -> list[Token]:
        """The tokens of the text; for an encoder-decoder those of the written text."""
        of_source = bool(self._core.key_tokens)
        text = (self._core.target or "") if of_source else self.text
        return tokens_of(self._core.tokens, text, self.pair)

    @cached_property
    def key_tokens(self) -> list[Token]:
        """The tokens of the keys if they are others, such as those of a source; else ``tokens``."""
        found = self._core.key_tokens
        return tokens_of(found, self.text, None) if found else self.tokens

    @property
    def images(self) -> list[ImagePatches]:
        """The images whose patches are tokens here."""
        return [] if self._made is None else list(self._made[-1])

    @property
    def split(self) -> int | None:
        """The index of the first token of the second text of a pair; None without a pair."""
        return self._core.split

    @property
    def keep_layers(self) -> list[int] | None:
        """The layers whose attention was kept; None: all of them."""
        return self._core.keep_layers

    @property
    def score_error(self) -> float:
        """The largest possible difference between a score here and in the pass: 0 unless queries
        and keys were kept as "float16". A weight is right within a factor of ``exp(2 *
        score_error)``."""
        return self._core.score_error

    @cached_property
    def stacks(self) -> dict[str, SessionStack]:
        return {row[0]: SessionStack(self._core, self, *row) for row in self._core.stacks}

    def stack(self, name: str | None = None) -> SessionStack:
        """Returns the stack with a name, or the first one; raises NotFound for an unknown name."""
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
        """The weights of the first stack, [layers, heads, Tq, Tk] float32; 0 where masked, and in
        layers without attention. Nothing is stored: an index such as ``s.weights[2, 4, -1]`` computes the weights that it selects, by
        NumPy's rules. ``stack(name).weights`` are those of another stack."""
        return self.stack().weights

    @property
    def scores(self) -> Weights:
        """The scores before the softmax, indexed as ``weights``; -inf where masked."""
        return self.stack().scores

    def attention(self, layer: int, stack: str | None = None) -> Seen:
        """Returns one layer's attention as a :class:`Seen`, like ``heed.attention(...,
        seen=True)``."""
        return self.stack(stack).attention(layer)

    @property
    def logits(self) -> np.ndarray | None:
        """The logits after each token, [T, vocabulary] float32. For a long text only those of the
        last token, [1, vocabulary], unless ``logits=True`` kept them all. None if the model has no
        word head."""
        found = self._core.logits
        return None if found is None else np.asarray(found)

    @property
    def hidden(self) -> np.ndarray | None:
        """The states after the last norm, [T, width] float32, if ``hidden=True`` kept them."""
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
        """Returns the keys that each token attends to, the largest weights first: a list of
        :class:`Row`.

        If ``layer`` and ``head`` are not given, heed chooses them (docs/look.md has the rule).
        ``who`` names the tokens whose rows are wanted (default: all). ``top`` is the number of keys
        listed for each row; None lists all.
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
        """Returns the row of one token; if several have the name, of the last one."""
        refuse_none(self, stack, who=who)
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
        """Returns the queries that attend to a token (if several have the name, to the last one),
        the largest weights first."""
        refuse_none(self, stack, to=to)
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
        """Returns one weight with its score, the row's log-sum-exp and its rank in the row."""
        refuse_none(self, stack, who=who, to=to)
        found = answer(self, layer, head, stack, who, to, 3)
        return Cell.of_answer(found["cells"][-1])

    def heads(self, stack: str | None = None) -> Any:
        """Returns the scores of each head on this text, averaged over its rows: a pandas DataFrame
        where pandas is installed, else a :class:`Table` with ``columns`` and ``["entropy"]``.

        There is one row per head with ``stack``, ``layer``, ``head``, the scores (docs/api.md
        defines them: "previous", "sink", "induction", ...) and the sink-adjusted scores
        ("previous_adjusted"). A pair also has the shares between both texts, and a cross-attention
        "in_order" and "peak". Heads that see no key, as in a layer without weights, have no row.
        """
        wanted = None if stack is None else self.stack(stack).name
        rows = [row for row in self._head_rows() if wanted in (None, row["stack"])]
        return table_of([row for row in rows if row.get("confidence") != 0])  # 0: it sees nothing

    def _head_rows(self) -> list[dict[str, Any]]:
        return [_flat(row) for row in json.loads(_core.heads(self._core))["heads"]]

    def next(self, top: int = 6, position: int = -1) -> NextWords:
        """Returns the ``top`` most probable words after a token, by default the last one; the
        session must have kept the token's logits. The list is empty if the model writes no text. A
        session of arrays or of a watch raises an error."""
        place = whole("next", "position", position)
        place += len(self.tokens) if place < 0 else 0
        most = whole("next", "top", top, least=1)
        words, rest, probability = _core.next_words(self._core, most, place)
        return NextWords([NextWord(*word) for word in words], rest, probability)

    def edited(self, edits: Any) -> Session:
        """Runs the same tokens again, with ``edits`` applied after those of this session; returns
        the new session. ``edits`` is one edit of ``heed.edits`` or a list of them."""
        from ._session_edits import edited

        return type(self)(edited(self._core, self.model, edits), self.model)

    # --- plots -----------------------------------------------------------------------------------

    def plot(
        self, layer: int | None = None, head: int | None = None, ax: Any = None, *,
        stack: str | None = None, **settings: Any,
    ) -> Any:  # fmt: skip
        """Draws the weights of a head with matplotlib: queries downwards, keys to the right.

        heed chooses ``layer`` and ``head`` if they are not given. Weights of 0 are blank. With more
        than 1,024 tokens a cell is the largest of several weights. ``ax`` is the axes to draw into,
        by default those of a new figure; ``settings`` go to ``ax.imshow``. Returns ``ax``.
        """
        return _plots.plot(self, layer, head, ax, stack, settings)

    def plot_heads(
        self, score: str = "previous", ax: Any = None, *, stack: str | None = None, **settings: Any
    ) -> Any:
        """Draws one score of every head, a column of :meth:`heads`, as layers by heads; returns
        ``ax``."""
        return _plots.plot_heads(self, score, ax, stack, settings)

    def plot_row(
        self, who: Who, layer: int | None = None, head: int | None = None, ax: Any = None, *,
        stack: str | None = None, **settings: Any,
    ) -> Any:  # fmt: skip
        """Draws the weights of a token's row as bars, one per key; ``settings`` go to ``ax.bar``.
        Returns ``ax``."""
        return _plots.plot_row(self, who, layer, head, ax, stack, settings)

    def plot_image_map(
        self, who: Who = -1, image: int = 0, layer: int | None = None, head: int | None = None,
        ax: Any = None, *, stack: str | None = None, **settings: Any,
    ) -> Any:  # fmt: skip
        """Draws the weights of a token on the patches of an image, over the image. ``image`` is an
        index among those of :attr:`images` whose patches are keys; ``settings`` go to
        ``ax.imshow``. Returns ``ax``."""
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
        """Returns what ``heed look`` prints: who attends to whom, the heads, the next word.

        ``who`` with ``to`` shows that one weight; ``to`` alone shows which queries attend to it. Of
        a long text only ``rows`` rows are shown: the last ones, or those around the row that heed
        chose; None shows all. ``width`` is the number of columns, by default the terminal's.
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
        """Returns what ``heed look --format json`` prints."""
        asked = question(self, layer, head, stack, who, to, top, rows)
        return _core.look_json(self._core, asked)

    def to_dict(self, layer: int | None = None, head: int | None = None, **asked: Any) -> dict:
        """Returns :meth:`to_json` as a dict."""
        return json.loads(self.to_json(layer, head, **asked))

    def to_html(self, layer: int | None = None, head: int | None = None, **asked: Any) -> str:
        """Returns the page as one HTML text, which loads nothing from the network.

        It opens at the head and the tokens (``stack``, ``who``, ``to``) that are given, or at
        ``view``, an address of the page such as ``"look/L2.H4/i=17/j=3"``.
        """
        return _core.session_html(self._core, viewed(self, layer, head, **asked))

    def save(self, path: str | Path, *, width: int = 1440, theme: str = "light",
             **asked: Any) -> None:  # fmt: skip
        """Writes a file, completely or not at all.

        The ending of its name chooses the format: ``.html`` (the page), ``.svg`` and ``.png`` (a
        picture of the page, drawn by chromium, ``width`` pixels wide, in the ``theme`` "light" or
        "dark"), ``.txt`` and ``.json`` (what ``heed look`` prints). ``asked`` may be ``layer``,
        ``head``, ``stack``, ``who`` and ``to``; for pages and pictures also ``view``; for ``.txt``
        and ``.json`` also ``top`` and ``rows``.

        Raises
        ------
        ValueError, TypeError
            for another ending, or a keyword that this format does not take
        LookupError
            if there is no browser to draw a picture
        OSError
            if the system does not allow writing the file
        """
        save(self, Path(path), width, theme, asked)

    def __repr__(self) -> str:
        return self.to_text()

    def widget(self) -> Page:
        """Returns the live page as a widget of anywidget, for layouts of widgets and for notebooks
        that only show the saved page of a session. Its ``address`` is the view that is shown, and
        may be set. Raises Unsupported if anywidget is not installed."""
        return page_of(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """The display in a notebook: the page, or the table where the page cannot be shown."""
        return shown_in_a_notebook(self)

    def _repr_html_(self) -> str:
        """The HTML for programs other than notebooks: the saved page, or the table."""
        return saved_in_a_frame(self, repr(self))

    def find(
        self, word: Who, *, stack: str | None = None, keys: bool = False, argument: str = "word"
    ) -> list[int]:
        """Returns the indices of the tokens that a word names: the tokens with this text, else the
        last token of each run of tokens that spells it. A whole number is an index, negative from
        the end. ``keys`` looks among the keys' tokens instead of the queries'."""
        return find(self, word, stack, keys, argument)


def _word(word: Who | None) -> str:
    return "" if word is None else str(word)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a head's scores, the sink-adjusted ones, and those of a pair or a cross-attention, in
    one dict."""
    adjusted = {f"{name}_adjusted": value for name, value in row.pop("adjusted", {}).items()}
    beside = {**row.pop("shares", {}), **row.pop("order", {})}
    return {**row, **adjusted, **beside}
