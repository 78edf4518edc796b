"""Figures that commands draw where a file is named for them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from shuffledp import optional_packages
from shuffledp.cli import printing

SUFFIXES = (".pdf", ".png", ".svg")


def check(path: str) -> None:
    """Refuse a file that cannot be drawn, before anything is computed.

    Args:
        path: the file.

    Raises:
        ValueError: its suffix is that of no format of ``SUFFIXES``, it cannot be written, or matplotlib is
            missing.
    """
    if Path(path).suffix.lower() not in SUFFIXES:
        raise ValueError(f"--plot must end in {', '.join(SUFFIXES)}, got {path!r}")
    check_file("--plot", path)
    optional_packages.need("matplotlib", extra="figures")


def check_file(option: str, path: str) -> None:
    """Refuse a file that cannot be written, before anything is computed.

    Raises:
        ValueError: it cannot be; the message names the option.
    """
    from shuffledp.records import refusals

    why_not = refusals.of_file(path)
    if why_not:
        raise ValueError(f"{option} {why_not}")


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
    """Draw curves over one variable into a file, whose suffix says its format; dots mark computed points.

    Args:
        path: the file.
        x: points.
        curves: values at the points, by label of the legend. Values that are not finite are left out, and
            on a logarithmic axis those that are 0.
        labels: of the two axes.
        title: above the figure.
        level: label and height of a horizontal line.
        marks: points of vertical lines.
        logarithmic: for each axis, whether it is logarithmic; the second is only if it has a positive value.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from shuffledp.records import files

    figure = Figure(figsize=(5, 3.5), layout="constrained")
    axes = figure.subplots()
    for label, values in curves.items():
        axes.plot(x, values, marker=".", label=label)
    if level:
        axes.axhline(level[1], color="black", linestyle="--", linewidth=1, label=level[0])
    for mark in marks:
        axes.axvline(mark, color="grey", linestyle=":", linewidth=1)
    axes.set(xlabel=labels[0], ylabel=labels[1], title=title)
    if logarithmic[0]:
        axes.set_xscale("log")
    if logarithmic[1] and any(0 < value < math.inf for values in curves.values() for value in values):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.legend()
    with files.replacing(path) as temporary, rc_context({"svg.hashsalt": "shuffledp"}):
        figure.savefig(temporary, dpi=150)


def warn_of_left_out(name: str, values: Sequence[float], *, logarithmic: bool) -> None:
    """Warn of the points of a curve that the figure leaves out because they are infinite or, on a logarithmic
    axis, 0. Points that are no numbers do not count.

    Args:
        name: of the curve.
        values: at its points.
        logarithmic: whether the axis of the values is logarithmic.
    """
    infinite = sum(math.isinf(value) for value in values)
    zero = sum(value == 0 for value in values) if logarithmic else 0
    for count, words in ((infinite, "infinite"), (zero, "0, which a logarithmic axis does not have")):
        if count:
            printing.warn(f"{count} of the {len(values)} points of {name} are left out, being {words}")
