"""Figures that commands draw where a file is named for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from shuffledp import optional_packages

SUFFIXES = (".pdf", ".png", ".svg")


def check(path: str) -> None:
    """Refuse a file that cannot be drawn, before anything is computed.

    Raises:
        ValueError: its suffix is of no kind of figure, or matplotlib is missing.
    """
    if Path(path).suffix.lower() not in SUFFIXES:
        raise ValueError(f"--plot must end in {', '.join(SUFFIXES)}, got {path!r}")
    optional_packages.need("matplotlib", extra="figures")


def draw(
    path: str,
    *,
    x: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    labels: tuple[str, str],
    title: str = "",
    level: tuple[str, float] | None = None,
    marks: Sequence[float] = (),
    logarithmic: tuple[bool, bool] = (False, False),
) -> None:
    """Draw curves over one variable into a file, whose kind is that of its suffix.

    Args:
        path: the file.
        x: points.
        curves: values at the points, by what the legend says of them; what is not finite is left out.
        labels: of the two axes.
        title: above the figure.
        level: a horizontal line, and what the legend says of it.
        marks: points at which there is a vertical line.
        logarithmic: whether the axes are.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from shuffledp.records import files

    figure = Figure(figsize=(5, 3.5), layout="constrained")
    axes = figure.subplots()
    for label, values in curves.items():
        axes.plot(x, values, label=label)
    if level:
        axes.axhline(level[1], color="black", linestyle="--", linewidth=1, label=level[0])
    for mark in marks:
        axes.axvline(mark, color="grey", linestyle=":", linewidth=1)
    axes.set(xlabel=labels[0], ylabel=labels[1], title=title)
    if logarithmic[0]:
        axes.set_xscale("log")
    if logarithmic[1]:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.legend()
    with files.replacing(path) as temporary, rc_context({"svg.hashsalt": "shuffledp"}):
        figure.savefig(temporary, dpi=150)
