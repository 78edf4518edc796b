"""One style for all figures, and saving them with the same bytes everywhere."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.records import files

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

PANEL_WIDTH, PANEL_HEIGHT = 2.4, 2.3  # inches; three panels fill the width of a page
NARROWEST = 4.4  # least width of a figure in inches, for the legend
LEGEND_ROW = 0.15  # inches
STRIP, STRIP_COLOR = 0.75, "#444444"  # height in inches of a strip with one ratio, and the ratio's colour

# The line styles of the configuration as arguments of matplotlib.
LINES = {
    "solid": "-",
    "dashed": "--",
    "dashdot": "-.",
    "dotted": ":",
    "longdash": (0, (9, 2)),
    "shortdash": (0, (2, 1.5)),
    "dashdotdot": (0, (5, 1.5, 1, 1.5, 1, 1.5)),
    "finedots": (0, (1, 0.8)),
}

# The markers of the configuration as arguments of matplotlib.
MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D"}
_MARKER_SIZE, _BETWEEN_MARKERS = 3.0, 0.12  # in points, and as a part of the diagonal of the axes
_LETTERS = 6.4  # letters of each of two labels beside each other, per inch of their common width
_CROSS, _CROSS_COLOR = "x", "#444444"  # mark of a stated number, and its colour in a legend
_BAND = 0.15  # opacity of bands
_BANDED = 3  # least number of seeds for which a deviation is drawn

_STYLE = {
    "font.family": "DejaVu Sans",
    "mathtext.fontset": "dejavusans",
    "font.size": 7.5,
    "axes.titlesize": 7.5,
    "axes.labelsize": 8,
    "legend.fontsize": 7.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.linewidth": 0.4,
    "grid.color": "#dddddd",
    "lines.linewidth": 1.4,
    "legend.frameon": False,
    "legend.handlelength": 2.7,  # a long dash and the next
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
}


@contextmanager
def style() -> Iterator[None]:
    """Within the block, draw in the project's style, whatever matplotlib's settings are."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)  # type: ignore[arg-type]  # keys of matplotlib, one by one
        yield


def save(figure: Figure, *, pdf: Path | str, png: Path | str) -> None:
    """Write a figure as PDF and PNG, without dates or versions inside, each in one step.

    ``Figure`` is used without pyplot, so no window system is needed.
    """
    with style():
        with files.replacing(pdf) as temporary:
            about = {"CreationDate": None, "Creator": None, "Producer": None}
            figure.savefig(temporary, format="pdf", metadata=about)
        with files.replacing(png) as temporary:
            figure.savefig(temporary, format="png", metadata={"Software": None})


def line(look: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``Axes.plot`` for a curve: colour, line, marker and label."""
    drawn = {"color": look["color"], "linestyle": LINES[look["line"]], "label": look["label"]}
    if "marker" in look:
        drawn |= {
            "marker": MARKERS[look["marker"]],
            "markersize": _MARKER_SIZE,
            "markevery": _BETWEEN_MARKERS,
        }
    return drawn


def legend_shape(labels: Collection[str], *, width: float) -> tuple[int, int]:
    """Return the numbers of columns and rows of a legend: two columns if every label fits into half of the
    width, which is in inches."""
    columns = 2 if max(map(len, labels)) <= _LETTERS * width else 1
    return columns, -(-len(labels) // columns)


def mark_stated(axis: Axes, x: float, y: float, *, color: str, deviation: float | None = None) -> None:
    """Mark a point that a paper states, with a bar for its standard deviation if the paper states it."""
    axis.errorbar([x], [y], yerr=deviation, fmt=_CROSS, color=color, markersize=5, capsize=2, zorder=3)


def stated_key(words: str) -> Line2D:
    """Return the entry of a legend for numbers that a paper states."""
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="none", marker=_CROSS, color=_CROSS_COLOR, label=words)


def plain_ticks(axis: XAxis | YAxis) -> None:
    """Label a logarithmic axis at 1, 2 and 5 times powers of ten, since few decades have only one or two
    powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def draw_over_seeds(
    axis: Axes, x: ArrayLike, mean: ArrayLike, deviation: ArrayLike, look: Mapping[str, Any], *, seeds: int
) -> None:
    """Draw results over seeds: from three seeds on, their mean and a band of one standard deviation to either
    side; for two seeds, both values (mean plus and minus the deviation over the root of 2); for one, its own.
    """
    mean, deviation = np.asarray(mean), np.asarray(deviation)
    if seeds == 2:
        apart = deviation / np.sqrt(2)
        axis.plot(x, mean - apart, **line(look))
        axis.plot(x, mean + apart, **{**line(look), "label": None})
        return
    axis.plot(x, mean, **line(look))
    if seeds >= _BANDED:
        axis.fill_between(
            x, mean - deviation, mean + deviation, color=look["color"], alpha=_BAND, linewidth=0
        )
