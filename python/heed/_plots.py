"""Plots of a session by matplotlib, where it is installed."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from ._answers import Token
from ._checks import one_of, whole
from ._session_questions import Who, answer
from .errors import NotFound, Unsupported, made, out_of_range

if TYPE_CHECKING:
    from ._session import Session

_NAMED = 64  # most tokens for which an axis has labels
_CELLS = 1024  # most cells per side; in a longer text a cell is the largest weight of several
_NUMBERED = 16  # most layers or heads for which cells show their numbers
_CALLED = 5  # largest weights that a long row labels
_COLOURS = "cividis"


def plot(
    session: Session, layer: int | None, head: int | None, ax: Any, stack: str | None,
    settings: dict[str, Any],
) -> Any:  # fmt: skip
    """Implements :meth:`Session.plot`."""
    place = _place(session, layer, head, stack)
    of = session.stack(stack)
    ax = _axes(ax, _inches(of.keys), 0.85 * _inches(of.queries))
    cells = _cells(session, *place, stack)
    extent = (-0.5, of.keys - 0.5, of.queries - 0.5, -0.5)
    shown = {"cmap": _COLOURS, "vmin": 0, "interpolation": "nearest", "aspect": "equal", **settings}
    image = ax.imshow(np.where(cells > 0, cells, np.nan), extent=extent, **shown)
    _name(ax.xaxis, of.key_tokens, rotation=90)
    _name(ax.yaxis, of.query_tokens)
    ax.set(xlabel="key", ylabel="query", title=_title(session, place, stack))
    ax.figure.colorbar(image, ax=ax, label="weight", fraction=0.046, pad=0.04)
    return ax


def plot_heads(
    session: Session, score: str, ax: Any, stack: str | None, settings: dict[str, Any]
) -> Any:
    """Implements :meth:`Session.plot_heads`."""
    of = session.stack(stack)
    rows = [row for row in session._head_rows() if row["stack"] == of.name]
    known = dict.fromkeys(name for row in rows for name in row)
    names = [name for name in known if name not in ("stack", "layer", "head")]
    if score not in names:
        raise made(NotFound, op="plot_heads", argument="score", found=repr(score),
                   expected=one_of(score, names))  # fmt: skip
    ax = _axes(ax)
    layers = of.layer_numbers
    numbers = np.full((len(layers), of.heads), np.nan)
    for row in rows:
        value = row.get(score)
        numbers[layers.index(row["layer"]), row["head"]] = np.nan if value is None else value
    image = ax.imshow(numbers, **{"cmap": _COLOURS, "aspect": "equal", **settings})
    if max(numbers.shape) <= _NUMBERED:
        _number(ax, image, numbers)
    ax.set(xlabel="head", ylabel="layer", title=f"{score}, {session.model_name}")
    for axis, names in ((ax.xaxis, range(of.heads)), (ax.yaxis, layers)):
        step = 1 + len(names) // 33
        axis.set_ticks(range(0, len(names), step), names[::step])
    ax.figure.colorbar(image, ax=ax, label=score, fraction=0.046, pad=0.04)
    return ax


def plot_row(
    session: Session, who: Who, layer: int | None, head: int | None, ax: Any, stack: str | None,
    settings: dict[str, Any],
) -> Any:  # fmt: skip
    """Implements :meth:`Session.plot_row`."""
    of = session.stack(stack)
    query = session.find(who, stack=stack, argument="who")[-1]
    place = _place(session, layer, head, stack, who)
    weights = of.weights[(*place, query)]
    ax = _axes(ax, _inches(of.keys))
    ax.bar(range(of.keys), weights, **{"width": 0.8 if of.keys <= _NAMED else 1.0, **settings})
    ax.margins(x=0.01)
    _name(ax.xaxis, of.key_tokens, rotation=90)
    if of.keys > _NAMED:
        for key in np.argsort(-weights)[:_CALLED]:
            ax.annotate(f"{_text(of.key_tokens[key])} {key}", (key, weights[key]), xytext=(0, 2),
                        textcoords="offset points", ha="center", va="bottom")  # fmt: skip
    name = f"“{_text(of.query_tokens[query])}” ({query})"
    ax.set(ylabel="weight", title=f"{_title(session, place, stack)}: what {name} attends to")
    return ax


def plot_image_map(
    session: Session, who: Who, image: int, layer: int | None, head: int | None, ax: Any,
    stack: str | None, settings: dict[str, Any],
) -> Any:  # fmt: skip
    """Implements :meth:`Session.plot_image_map`."""
    of = session.stack(stack)
    reads_them = of.key_tokens is session.key_tokens
    images = [each for each in session.images if each.of != "queries" and reads_them]
    at = whole("plot_image_map", "image", image)
    if not images:
        raise made(
            NotFound, op="plot_image_map", found="no key of the stack is a patch of an image",
            expected="a session with images",
        )  # fmt: skip
    if not -len(images) <= at < len(images):
        raise out_of_range("plot_image_map", "image", at,
                           f"one of the {len(images)} images of the stack's keys")  # fmt: skip
    query = session.find(who, stack=stack, argument="who")[-1]
    place = _place(session, layer, head, stack, who)
    tokens = np.array(images[at].tokens)
    cells = np.where(tokens < 0, np.nan, of.weights[(*place, query)][tokens])
    cells = cells.reshape(images[at].rows, images[at].columns)
    name = f"“{_text(of.query_tokens[query])}” ({query})"
    title = f"{_title(session, place, stack)}: what {name} attends to"
    return draw_image_map(cells, _pixels(images[at].picture), title, ax, settings)


def _pixels(picture: bytes | None) -> np.ndarray | None:
    """Returns the pixels of a PNG or JPEG, read with Pillow, which matplotlib needs anyway."""
    if picture is None:
        return None
    _pyplot()
    from PIL import Image

    with Image.open(BytesIO(picture)) as image:
        return np.asarray(image)


def draw_image_map(
    cells: np.ndarray, picture: np.ndarray | None, title: str, ax: Any, settings: dict[str, Any]
) -> Any:
    """Draws weights over an image; the smaller a weight, the more of the image is visible."""
    ax = _axes(ax)
    rows, columns = cells.shape
    extent = (-0.5, columns - 0.5, rows - 0.5, -0.5)
    if picture is not None:
        ax.imshow(picture, extent=extent, cmap="gray", aspect="auto")
    largest = np.nanmax(cells)
    shown = {"cmap": _COLOURS, "vmin": 0, "interpolation": "nearest", "aspect": "equal"}
    if picture is not None:
        height, width = picture.shape[:2]
        share = np.nan_to_num(cells) / largest if largest > 0 else np.zeros_like(cells)
        shown |= {"alpha": 0.8 * share, "aspect": height / rows * columns / width}
    image = ax.imshow(cells, extent=extent, **{**shown, **settings})
    ax.set(xlabel="column", ylabel="row", title=title)
    ax.figure.colorbar(image, ax=ax, label="weight", fraction=0.046, pad=0.04)
    return ax


def _inches(tokens: int) -> float:
    """Returns the length of a side in inches that has room for the tokens' labels."""
    return min(max(6.4, 0.2 * tokens), 13) if tokens <= _NAMED else 6.4


def _axes(given: Any, width: float = 6.4, height: float = 4.8) -> Any:
    if given is not None:
        return given
    plt = _pyplot()
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise made(Unsupported, op="plot", found="matplotlib is not installed",
                   hint="pip install matplotlib") from None  # fmt: skip
    return plt


def _place(
    session: Session, layer: int | None, head: int | None, stack: str | None, who: Who | None = None
) -> tuple[int, int]:
    """Returns layer and head; heed chooses those that are None."""
    found = answer(session, layer, head, stack, who, None, 1)
    return found["layer"], found["head"]


def _cells(session: Session, layer: int, head: int, stack: str | None) -> np.ndarray:
    of = session.stack(stack)
    if max(of.queries, of.keys) <= _CELLS:
        return of.weights[layer, head]
    height, width = min(of.queries, _CELLS), min(of.keys, _CELLS)
    return of.attention(layer).heatmap(height, width, heads=(head, head + 1))[0, 0]


def _title(session: Session, place: tuple[int, int], stack: str | None) -> str:
    layer, head = place
    name = f"L{layer}.H{head}"
    return name if len(session.stacks) == 1 else f"{session.stack(stack).name} {name}"


def _text(token: Token) -> str:
    """Returns a token's label for matplotlib, in which a dollar sign would begin a formula."""
    return (token.text.strip(" ▁").replace("\n", "⏎") or "·").replace("$", r"\$")


def _name(axis: Any, tokens: list[Token], rotation: int = 0) -> None:
    if len(tokens) > _NAMED:
        return
    axis.set_ticks(range(len(tokens)), [_text(token) for token in tokens], rotation=rotation)


def _number(ax: Any, image: Any, numbers: np.ndarray) -> None:
    for (layer, head), value in np.ndenumerate(numbers):
        if np.isnan(value):
            continue
        red, green, blue, _ = image.cmap(image.norm(value))
        is_light = 0.3 * red + 0.59 * green + 0.11 * blue > 0.5
        ax.text(head, layer, f"{value:.2f}", ha="center", va="center", fontsize="x-small",
                color="black" if is_light else "white")  # fmt: skip
