"""One style for all figures, and the way to save them as the same bytes everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from shuffledp.records import files

PANEL_WIDTH, PANEL_HEIGHT = 2.4, 2.3  # inches; three panels fill the width of a page
NARROWEST = 4.4  # inches, for the legend
LEGEND_ROW = 0.15  # inches

# The line styles of the configuration, as matplotlib takes them.
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

_BAND = 0.15  # opacity

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
    """Draw in the project's style, whatever the reader's matplotlib is set to."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def save(figure: Figure, *, pdf: Path | str, png: Path | str) -> None:
    """Write both forms of a figure, without dates or versions inside, each in one step.

    ``Figure`` is used without pyplot, so no window system is ever asked for.
    """
    with style():
        with files.replacing(pdf) as temporary:
            about = {"CreationDate": None, "Creator": None, "Producer": None}
            figure.savefig(temporary, format="pdf", metadata=about)
        with files.replacing(png) as temporary:
            figure.savefig(temporary, format="png", metadata={"Software": None})


def draw_band(
    axis: Axes, x: ArrayLike, mean: ArrayLike, deviation: ArrayLike, look: Mapping[str, Any]
) -> None:
    """Draw a mean over seeds, and a band of one standard deviation to either side."""
    mean, deviation = np.asarray(mean), np.asarray(deviation)
    axis.plot(x, mean, color=look["color"], linestyle=LINES[look["line"]], label=look["label"])
    axis.fill_between(x, mean - deviation, mean + deviation, color=look["color"], alpha=_BAND, linewidth=0)


def power_of_ten(value: float) -> str:
    """Return a number for use inside mathtext: in powers of ten if it is 1000 or more, or below 0.001."""
    value = float(f"{value:.3g}")
    if 1e-3 < abs(value) < 1e3 or value == 0:
        return f"{value:g}"
    mantissa, exponent = f"{value:.2e}".split("e")
    factor = "" if float(mantissa) == 1 else rf"{float(mantissa):g} \cdot "
    return f"{factor}10^{{{int(exponent)}}}"
