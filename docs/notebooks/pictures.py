"""How the notebooks draw: the page's colours, no boxes, labels at the marks instead of legends.

Every function draws one row of panels. Without matplotlib they draw nothing, and the numbers that
the cells print stand alone.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

try:
    import matplotlib.pyplot as plt
    from matplotlib.font_manager import get_font_names
    from matplotlib_inline.backend_inline import set_matplotlib_formats
except ImportError:
    plt = None
    print("matplotlib is not installed: the notebook runs without its pictures", file=sys.stderr)

GROUND, INK, SECOND, HAIRLINE = "#fdfdfb", "#16181d", "#5a606a", "#c6c8c6"
ACCENT = "#d55e00"
COLOURS = ["#0072b2", "#009e73", "#cc79a7", "#e69f00", "#5a606a"]
DASHES = ["-", (0, (6, 3)), (0, (2, 2)), (0, (8, 2, 2, 2)), "-"]

if plt is not None:
    set_matplotlib_formats("retina")
    plt.rcParams.update(
        {
            "font.family": ["Inter"] if "Inter" in get_font_names() else ["DejaVu Sans"],
            "font.size": 9, "axes.titlesize": 9, "axes.titleweight": 600, "axes.titlelocation": "left",
            "axes.titlepad": 8, "axes.labelcolor": SECOND, "text.color": INK, "axes.edgecolor": HAIRLINE,
            "xtick.color": HAIRLINE, "ytick.color": HAIRLINE, "xtick.labelcolor": SECOND,
            "ytick.labelcolor": SECOND, "xtick.labelsize": 8, "ytick.labelsize": 8,
            "figure.facecolor": GROUND, "axes.facecolor": GROUND, "savefig.facecolor": GROUND,
            "axes.spines.top": False, "axes.spines.right": False, "lines.linewidth": 1.5,
        }
    )  # fmt: skip


def short(number: float) -> str:
    """As the page writes a share: .17, and <.01."""
    if 0 < abs(number) < 0.005:
        return "<.01"
    return f"{number:.2f}".replace("0.", ".", 1).replace("-", "−")


def _panels(count: int, width: float, height: float, **settings: Any) -> list[Any]:
    _, axes = plt.subplots(1, count, figsize=(width, height), layout="constrained", **settings)
    return list(np.atleast_1d(axes))


def matrices(
    panels: Mapping[str, Any],
    rows: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    *,
    numbers: bool = True,
    height: float = 2.6,
) -> None:
    """Weights from 0 to 1, dark is low; what is masked (NaN) is the background. A row attends to a
    column. A panel is an array, or (array, rows, keys) with names of its own."""
    if plt is None:
        return
    for axes, (title, panel) in zip(_panels(len(panels), 8.5, height), panels.items()):
        weights, row_names, key_names = panel if isinstance(panel, tuple) else (panel, rows, keys)
        weights = np.asarray(weights, float)
        axes.imshow(weights, cmap="cividis", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
        axes.set_title(title)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        for axis, names in ((axes.yaxis, row_names), (axes.xaxis, key_names)):
            axis.set_ticks(range(len(names)) if names is not None else [], names or [])
        if key_names is not None and max(map(len, key_names)) * len(key_names) > 18:
            axes.tick_params(axis="x", rotation=90)
        if numbers:
            for (row, key), weight in np.ndenumerate(weights):
                if weight >= 0.005:
                    axes.text(key, row, short(weight), ha="center", va="center", fontsize=7,
                              color="white" if weight < 0.55 else INK)  # fmt: skip
    plt.show()


def lines(
    panels: Mapping[str, Mapping[str, tuple[Any, Any]]],
    x: str = "",
    y: str = "",
    *,
    log: str = "",
    height: float = 2.8,
    marks: Mapping[str, float] | None = None,
    top: float | None = None,
    accent: Sequence[str] = (),
) -> None:
    """Curves, each with its name at its end; ``log`` names logarithmic axes ("x", "y", "xy");
    ``marks`` are labelled vertical lines; a name in ``accent`` has the accent's colour; a name that
    begins with "." is drawn as points."""
    if plt is None:
        return
    for axes, (title, series) in zip(_panels(len(panels), 8.5, height), panels.items()):
        axes.set(title=title, xlabel=x, ylabel=y)
        axes.set_xscale("log" if "x" in log else "linear")
        axes.set_yscale("log" if "y" in log else "linear")
        ends: list[tuple[float, float, str, str]] = []
        count = 0
        for name, (across, up) in series.items():
            if name.startswith("."):
                axes.plot(across, up, ".", color=HAIRLINE, markersize=4)
                continue
            shown = name in accent
            colour = ACCENT if shown else COLOURS[count % len(COLOURS)]
            axes.plot(across, up, color=colour, ls="-" if shown else DASHES[count % len(DASHES)])
            count += not shown
            ends.append((across[-1], up[-1], name, colour))
        if top is not None:
            axes.set_ylim(0, top)
        for name, place in (marks or {}).items():
            axes.axvline(place, color=HAIRLINE, lw=1, zorder=0)
            axes.annotate(name, (place, 1), xycoords=("data", "axes fraction"), xytext=(3, -8),
                          textcoords="offset points", fontsize=8, color=SECOND)  # fmt: skip
        _name_ends(axes, ends)
    plt.show()


def _name_ends(axes: Any, ends: list[tuple[float, float, str, str]]) -> None:
    """Names beside the ends of curves, moved apart where they would overlap."""
    low, high = axes.get_ylim()
    logarithmic = axes.get_yscale() == "log"
    places = [np.log(end[1] / low) / np.log(high / low) if logarithmic
              else (end[1] - low) / (high - low) for end in ends]  # fmt: skip
    least = 0.085
    taken = -np.inf
    for index in np.argsort(places, kind="stable"):
        taken = max(places[index], taken + least)
        _, _, name, colour = ends[index]
        axes.annotate(name, (1, taken), xycoords="axes fraction", xytext=(4, 0), va="center",
                      textcoords="offset points", fontsize=8, color=colour)  # fmt: skip


def histograms(
    panels: Mapping[str, Mapping[str, Any]], x: str = "", *, span: float, height: float = 2.4
) -> None:
    """Densities on one scale from -span to span, with their names at the right."""
    if plt is None:
        return
    edges = np.linspace(-span, span, 121)
    middles = (edges[1:] + edges[:-1]) / 2
    for axes, (title, series) in zip(_panels(len(panels), 8.5, height), panels.items()):
        axes.set(title=title, xlabel=x, yticks=[])
        axes.spines["left"].set_visible(False)
        for index, (name, values) in enumerate(series.items()):
            density, _ = np.histogram(values, edges, density=True)
            axes.plot(middles, density, color=COLOURS[index], ls=DASHES[index])
            axes.text(0.62, 0.9 - 0.13 * index, name, transform=axes.transAxes, fontsize=8,
                      color=COLOURS[index])  # fmt: skip
    plt.show()


def bars(
    panels: Mapping[str, Mapping[str, tuple[float, float, float]]],
    *,
    threshold: float | None = None,
    height: float = 3.6,
) -> None:
    """Shares from 0 to 1 as bars with their intervals, (share, low, high); those whose interval lies
    above the threshold have the accent's colour."""
    if plt is None:
        return
    for axes, (title, rows) in zip(_panels(len(panels), 8.5, height), panels.items()):
        axes.set(title=title, xlim=(0, 1), ylim=(len(rows) - 0.4, -0.6))
        axes.spines["bottom"].set_visible(False)
        axes.set_xticks([])
        axes.tick_params(length=0)
        axes.set_yticks(range(len(rows)), list(rows))
        for place, (share, low, high) in enumerate(rows.values()):
            reached = threshold is not None and low >= threshold
            axes.barh(place, share, 0.55, color=ACCENT if reached else SECOND)
            axes.plot([low, high], [place, place], color=INK, lw=1)
            axes.text(max(share, high) + 0.02, place, short(share), va="center", fontsize=8)
        if threshold is not None:
            axes.axvline(threshold, color=HAIRLINE, lw=1, ls=(0, (2, 2)), zorder=0)
    plt.show()


def attends(
    panels: Mapping[str, tuple[Sequence[str], Sequence[str], Any]],
    *,
    who: int | str | None = None,
    least: float = 0.05,
    height: float = 3.4,
) -> None:
    """Who attends to whom: queries left, keys right, an arc for each weight from ``least`` on, as
    wide as the weight. The row ``who``, an index or a word, is in colour, with its numbers."""
    if plt is None:
        return
    for axes, (title, (queries, keys, weights)) in zip(
        _panels(len(panels), 8.5, height), panels.items()
    ):
        weights = np.asarray(weights, float)
        pinned = list(queries).index(who) if isinstance(who, str) else who
        axes.set(title=title, xlim=(-0.9, 1.9), ylim=(max(weights.shape) - 0.4, -0.6))
        axes.set_axis_off()
        bend = np.linspace(0, 1, 30)
        smooth = 3 * bend**2 - 2 * bend**3
        for (query, key), weight in np.ndenumerate(weights):
            if weight < least:
                continue
            mine = query == pinned
            axes.plot(bend, query + (key - query) * smooth, solid_capstyle="round",
                      color=COLOURS[0] if pinned is None or mine else SECOND,
                      lw=max(1.0, 6 * weight) if pinned is None or mine else max(0.5, 4 * weight),
                      alpha=min(1, 0.45 + 0.5 * weight**0.5) if pinned is None or mine
                      else 0.1 + 0.22 * weight**0.5)  # fmt: skip
            if mine:
                axes.text(1.85, key, short(weight), ha="right", va="center", fontsize=8)
        for place, name in enumerate(queries):
            axes.text(-0.06, place, name, ha="right", va="center",
                      color=ACCENT if place == pinned else INK,
                      fontweight=600 if place == pinned else 400)  # fmt: skip
        for place, name in enumerate(keys):
            axes.text(1.06, place, name, va="center")
    plt.show()


def page(session: Any, **asked: Any) -> Any:
    """heed's page of a session, as a picture that chromium draws."""
    from IPython.display import Image

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.png"
        try:
            session.save(file, width=1180, **asked)
        except LookupError as error:
            print(f"no picture of the page: {error}", file=sys.stderr)
            return None
        return Image(data=_few_colours(file), width=860)


def _few_colours(file: Path) -> bytes:
    """The picture with 128 colours, a fraction of its bytes; pillow comes with matplotlib."""
    try:
        from PIL import Image
    except ImportError:
        return file.read_bytes()
    with Image.open(file) as picture:
        palette = picture.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    palette.save(file, optimize=True)
    return file.read_bytes()
