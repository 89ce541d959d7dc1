"""The functions of BertViz and CircuitsVis under their names, shown by heed's page."""

from __future__ import annotations

import html
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._checks import below
from ._session import Session
from ._session_arrays import as_array
from .errors import mistyped, refused

_MARKS = {"Ġ": " ", "▁": " ", "Ċ": "\n", "</w>": " "}  # of byte-level BPE, SentencePiece, BPE


def head_view(
    attention: Any = None, tokens: Any = None, sentence_b_start: int | None = None,
    prettify_tokens: bool = True, layer: int | None = None, heads: Any = None,
    encoder_attention: Any = None, decoder_attention: Any = None, cross_attention: Any = None,
    encoder_tokens: Any = None, decoder_tokens: Any = None, include_layers: Any = None,
    html_action: str = "view",
) -> SavedView | None:  # fmt: skip
    """BertViz's ``head_view``: shows these heads in the page's view Look.

    Parameters
    ----------
    attention : one array per layer, [1, H, T, T], as ``output_attentions=True`` gives them; or
        ``encoder_attention``, ``decoder_attention``, ``cross_attention`` with their tokens
    tokens : the texts of the tokens
    sentence_b_start : the first token of the second text
    prettify_tokens : whether tokenizers' marks for spaces become spaces
    layer, heads : the heads that are shown first. With a layer alone, all of its heads; with
        neither, the head that heed chooses
    include_layers : the layers to show; the others keep their numbers and are empty
    html_action : "view" shows the page in a notebook, and prints the table elsewhere; "return"
        returns an object whose ``data`` is the page as one HTML text
    """
    texts = _Texts(prettify_tokens, tokens, encoder_tokens, decoder_tokens)
    stacks = _stacks(attention, encoder_attention, decoder_attention, cross_attention)
    session = _session("head_view", stacks, texts, sentence_b_start, include_layers, None)
    first = {}
    if layer is not None or heads is not None:
        at, shown = _first(session, layer, heads, include_layers)
        session._address = f"look/L{at}." + "+".join(f"H{head}" for head in shown)
        first = {"layer": at, "head": shown[0]}
    return _shown("head_view", session, html_action, **first)


def model_view(
    attention: Any = None, tokens: Any = None, sentence_b_start: int | None = None,
    prettify_tokens: bool = True, display_mode: str = "dark", encoder_attention: Any = None,
    decoder_attention: Any = None, cross_attention: Any = None, encoder_tokens: Any = None,
    decoder_tokens: Any = None, include_layers: Any = None, include_heads: Any = None,
    html_action: str = "view",
) -> SavedView | None:  # fmt: skip
    """BertViz's ``model_view``: shows all heads of all layers in the page's view Grid.

    The arguments are those of :func:`head_view`. ``include_heads`` names the heads to show.
    ``display_mode`` has no effect: the page follows the notebook's light or dark theme.
    """
    if display_mode not in ("dark", "light"):
        raise refused("model_view", "display_mode", repr(display_mode), '"dark" or "light"')
    texts = _Texts(prettify_tokens, tokens, encoder_tokens, decoder_tokens)
    stacks = _stacks(attention, encoder_attention, decoder_attention, cross_attention)
    session = _session("model_view", stacks, texts, sentence_b_start, include_layers, include_heads)
    session._address = "grid"
    return _shown("model_view", session, html_action)


def attention_patterns(tokens: Sequence[str], attention: Any) -> Session:
    """CircuitsVis's ``attention_patterns``: returns a session of one layer, which a notebook shows.

    ``attention`` is [H, Tq, Tk], weights from 0 to 1."""
    return Session.from_weights(attention, _pretty(tokens))


def colored_tokens(
    tokens: Sequence[str], values: Any, min_value: float | None = None,
    max_value: float | None = None,
) -> ColoredTokens:  # fmt: skip
    """CircuitsVis's ``colored_tokens``: each token on the colour of its number, orange for positive
    and blue for negative numbers.

    ``min_value`` and ``max_value`` are the ends of the scale; by default the smallest and largest
    of the values and 0. A notebook shows the result; ``str(result)`` is its HTML.
    """
    numbers = as_array(values, "values")
    if numbers.shape != (len(tokens),):
        raise refused("colored_tokens", "values.shape", list(numbers.shape),
                      f"[{len(tokens)}], one number for each token")  # fmt: skip
    finite = numbers[np.isfinite(numbers)]
    least = float(min(finite.min(initial=0), 0)) if min_value is None else float(min_value)
    most = float(max(finite.max(initial=0), 0)) if max_value is None else float(max_value)
    if least > most:
        raise refused("colored_tokens", "min_value", least, f"at most {most} (max_value)")
    return ColoredTokens(list(tokens), numbers, least, most)


class SavedView:
    """A page as one file."""

    def __init__(self, session: Session):
        self.session = session
        self.data = session.to_html()

    def _repr_html_(self) -> str:
        return self.session._repr_html_()


class ColoredTokens:
    """Tokens on colours."""

    def __init__(self, tokens: list[str], values: np.ndarray, least: float, most: float):
        self.tokens, self.values, self.range = tokens, values, (least, most)

    def _span(self, token: str, value: float) -> str:
        least, most = self.range
        end = most if value > 0 else -least
        share = min(abs(value) / end, 1) if end > 0 and np.isfinite(value) else 0
        colour = "230, 120, 20" if value > 0 else "40, 110, 220"
        text = html.escape(token.replace("\n", "⏎")) + ("<br>" if "\n" in token else "")
        return (
            f'<span title="{value:.6g}" style="background: rgba({colour}, {0.75 * share:.3f})">'
            f"{text}</span>"
        )

    def _repr_html_(self) -> str:
        least, most = self.range
        spans = map(self._span, self.tokens, self.values.tolist())
        return (
            f'<div style="white-space: pre-wrap; line-height: 1.8">{"".join(spans)}</div>'
            f"<small>from {least:.4g} (blue) over 0 to {most:.4g} (orange)</small>"
        )

    __str__ = _repr_html_

    def __repr__(self) -> str:
        pairs = zip(self.tokens, self.values.tolist())
        return " ".join(f"{token!r} {value:.3g}" for token, value in pairs)


class _Texts:
    """The tokens of queries and keys."""

    def __init__(self, prettify: bool, own: Any, encoder: Any, decoder: Any):
        self.own, self.encoder, self.decoder = (
            each if each is None or not prettify else _pretty(each)
            for each in (own, encoder, decoder)
        )


def _pretty(tokens: Sequence[str]) -> list[str]:
    """Returns the tokens with spaces instead of tokenizers' marks. If no token has a space, as with
    WordPiece, a space is put before each token that begins a word."""
    names = [str(token) for token in tokens]
    for mark, text in _MARKS.items():
        names = [name.replace(mark, text) for name in names]
    if any(" " in name for name in names):
        return names
    return [name[2:] if name.startswith("##") and len(name) > 2 else f" {name}" for name in names]


def _stacks(own: Any, encoder: Any, decoder: Any, cross: Any) -> dict[str, Any]:
    given = {"self": own, "encoder": encoder, "decoder": decoder, "cross": cross}
    return {name: each for name, each in given.items() if each is not None}


def _session(
    op: str, stacks: dict[str, Any], texts: _Texts, split: int | None, layers: Any, heads: Any
) -> Session:
    if not stacks:
        raise refused(op, "attention", "None", "weights, or encoder_, decoder_ or cross_attention")
    if "self" in stacks and len(stacks) > 1:
        raise refused(op, "attention", "given beside weights of an encoder-decoder", "one of them")
    for needs, given, argument in (
        (stacks.keys() & {"self"}, texts.own, "tokens"),
        (stacks.keys() & {"encoder", "cross"}, texts.encoder, "encoder_tokens"),
        (stacks.keys() & {"decoder", "cross"}, texts.decoder, "decoder_tokens"),
    ):
        if bool(needs) != (given is not None):
            if needs:
                raise refused(op, argument, "None", "a list, one text for each token")
            raise refused(op, argument, "given", "none: no weights have these tokens")
    kept = {name: _kept(op, name, each, layers, heads) for name, each in stacks.items()}
    is_read_alone = stacks.keys() == {"encoder"}
    queries = texts.own or (texts.encoder if is_read_alone else texts.decoder)
    keys = None if is_read_alone else texts.encoder
    return Session.from_weights(kept, queries, key_tokens=keys, sentence_b_start=split)


def _kept(op: str, name: str, layers: Any, include: Any, heads: Any) -> Any:
    """Returns the layers, None for layers that are left out, and 0 in heads that are left out."""
    argument = "attention" if name == "self" else f"{name}_attention"
    if not isinstance(layers, (list, tuple)):
        raise mistyped(op, argument, layers, "a list or a tuple, one array for each layer")
    count = len(layers)
    wanted = range(count) if include is None else _numbers(op, "include_layers", include, count)
    kept = [layer if at in wanted else None for at, layer in enumerate(layers)]
    if heads is None:
        return kept
    return [
        None if layer is None else _with_heads(op, as_array(layer, f"{argument}[{at}]"), heads)
        for at, layer in enumerate(kept)
    ]


def _with_heads(op: str, layer: np.ndarray, heads: Any) -> np.ndarray:
    if layer.ndim < 3:
        return layer  # refused later
    included = np.zeros((layer.shape[-3], 1, 1), bool)
    included[_numbers(op, "include_heads", heads, len(included))] = True
    return np.where(included, layer, 0).astype(layer.dtype, copy=False)


def _numbers(op: str, argument: str, given: Any, count: int) -> list[int]:
    return [below(op, argument, each, count) for each in given]


def _first(
    session: Session, layer: int | None, heads: Any, include: Any
) -> tuple[int, list[int]]:
    """Returns the layer and the heads that are shown first."""
    stack = session.stack()
    first = include[0] if include is not None and len(include) > 0 else stack.layer_numbers[0]
    (layer,) = _numbers("head_view", "layer", [first if layer is None else layer], stack.layers)
    shown = _numbers(
        "head_view", "heads", range(stack.heads) if heads is None else heads, stack.heads
    )
    if not shown:
        raise refused("head_view", "heads", "empty", "at least one, or None")
    return layer, shown


def _shown(op: str, session: Session, action: str, **place: int) -> SavedView | None:
    if action == "return":
        return SavedView(session)
    if action != "view":
        raise refused(op, "html_action", repr(action), '"view" or "return"')
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython() is not None:
        ipython.display.display(session)
    else:
        print(session.to_text(**place))
    return None
