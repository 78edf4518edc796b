"""Bounds on epsilon along one variable, or on delta along epsilon, several panels in a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from pydantic import Field

from shuffledp.accountants.systems import dependent_variable
from shuffledp.accountants.systems import variables as all_variables
from shuffledp.records import tables
from shuffledp.reproduction.curve import Curve
from shuffledp.reproduction.figures import stated_numbers, words
from shuffledp.reproduction.figures.kind import PaperFigure
from shuffledp.reproduction.figures.left_out import Panel
from shuffledp.reproduction.figures.numbers import power_of_ten, short
from shuffledp.reproduction.figures.stated_numbers import StatedNumber
from shuffledp.reproduction.figures.style import (
    LEGEND_ROW,
    NARROWEST,
    PANEL_HEIGHT,
    PANEL_WIDTH,
    STRIP,
    STRIP_COLOR,
    line,
    plain_ticks,
    style,
)
from shuffledp.reproduction.sections.captions import Caption
from shuffledp.reproduction.sections.context import Context
from shuffledp.reproduction.sections.model import LEFT_OUT, By, Section, Target, Words
from shuffledp.reproduction.sections.panels import BoundsPanel, curves_of
from shuffledp.variables import VARIABLES

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class BoundsSection(Section):
    """One figure; it becomes <figures>/<paper>/<figure>.pdf and .png."""

    curves: Words = Field(default=[])
    """Accountants, or curves of randomisers, drawn in each panel that names none itself."""
    undrawn: Words = Field(default=[])
    """Accountants computed for the ledger and not drawn."""
    ratio: Annotated[Words, Field(min_length=2)] = LEFT_OUT
    """Curves: the ratio of the first to the largest of the others is drawn under each panel."""
    relative: str = LEFT_OUT
    """A curve: the ratio of every other one to it is drawn under each panel."""
    strip: str = "ratio"
    """Words beside the strips under the panels."""
    common_y: bool = False
    """Whether all panels have one range of the y axis."""
    stated: list[StatedNumber] = Field(default=[])
    """Numbers that the paper states, drawn as crosses."""
    delta: Target = LEFT_OUT
    """Target delta; a figure's delta holds for the panels that name none."""
    panels: Annotated[dict[str, BoundsPanel], By("panel"), Field(min_length=1)]
    """Panels, left to right."""


@dataclass(frozen=True)
class Bounds(PaperFigure):
    """One figure of bounds."""

    holds = BoundsSection
    about = "Figures of bounds"
    place = 1
    details = f"""\
Curves, computed on the CPU in double precision without randomness:

{words.CURVES}"""

    settings: BoundsSection
    looks: Mapping[str, Mapping[str, str]]
    curves: tuple[Curve, ...]

    @classmethod
    def resolve(
        cls, paper: str, name: str, settings: BoundsSection, caption: Caption, context: Context
    ) -> Self:
        """Return the figure, if each accountant has the variables that it takes."""
        at = [cls.kind, paper, name]
        if settings.ratio and settings.relative:
            raise context.fault(
                "ratio and relative share the strip under a panel; remove one", [*at, "relative"]
            )
        curves: list[Curve] = []
        for label, panel in settings.panels.items():
            plotted = panel.plotted(settings.curves)
            if not plotted:
                raise context.fault(
                    "curves must be named, by the figure or by each of its panels", [*at, "panels", label]
                )
            if settings.ratio and not set(settings.ratio) <= set(plotted):
                names = ", ".join(settings.ratio)
                raise context.fault(f"ratio must name curves of each panel, got {names}", [*at, "ratio"])
            if settings.relative and settings.relative not in plotted:
                raise context.fault(
                    f"relative must name a curve of each panel, got {settings.relative!r}", [*at, "relative"]
                )
            curves += curves_of(
                panel,
                at=[*at, "panels", label],
                plotted=settings.curves,
                undrawn=settings.undrawn,
                delta=settings.delta,
                context=context,
            )
        for index, one in enumerate(settings.stated):
            stated_numbers.check(one, curves, context, [*at, "stated", str(index)])
        names_plotted = dict.fromkeys(curve.accountant for curve in curves if curve.plotted)
        return cls(paper, name, settings, caption, context.looks(names_plotted), tuple(curves))

    @property
    def plotted(self) -> tuple[Curve, ...]:
        """The curves that the figure shows."""
        return tuple(curve for curve in self.curves if curve.plotted)

    @property
    def tables(self) -> tuple[Curve, ...]:
        """The tables of the figure, one for each curve, whether it is shown or not."""
        return self.curves

    def inputs(self, results: str) -> Sequence[str]:
        """Return the paths of the curves that are drawn."""
        return tuple(curve.path(results) for curve in self.plotted)

    def parameters(self, results: str) -> Mapping[str, Any]:
        """Return the curves of each panel, their looks, and the settings of the strips under the panels."""
        panels: dict[str, Any] = {
            name: {"variable": panel.x.variable, "title": panel.title, "curves": []}
            for name, panel in self.settings.panels.items()
        }
        for curve in self.plotted:
            panels[curve.panel]["curves"].append([curve.accountant, curve.path(results)])
        return {
            "panels": panels,
            "order": list(panels),
            "styles": self.looks,
            "ratio": self.settings.ratio,
            "relative": self.settings.relative,
            "strip": self.settings.strip,
            "common_y": self.settings.common_y,
            "stated": [one.model_dump(exclude_unset=True) for one in self.settings.stated],
        }

    def in_caption(self, results: str) -> Mapping[str, Any]:
        """Return what the caption tells: under "setting" the variables of each panel, varying and fixed, and
        under "curves" the accountants."""
        facts = {}
        for name, panel in self.settings.panels.items():
            curves = [curve for curve in self.curves if curve.panel == name]
            curve, fixed = curves[0], dict(pair for curve in curves for pair in curve.fixed)
            axis = (
                f"{dependent_variable(curve.variable)} against {curve.variable} ({len(curve.values)} points "
                f"from {short(curve.values[0])} to {short(curve.values[-1])})"
            )
            facts[name] = [*filter(None, [panel.title]), axis]
            facts[name] += [f"{key} = {short(value)}" for key, value in fixed.items()]
        by_name = {curve.accountant: curve.entry for curve in self.plotted}
        return {
            "setting": words.by_part(facts),
            "curves": words.curves(map(by_name.__getitem__, self.looks), self.looks),
        }


_COLUMNS = 3  # largest number of panels in a row
_SHORT = 46  # letters up to which two labels fit beside each other under three panels
_ABOVE_ONE = 0.2  # height above 1 of the strip of a ratio that is 1 everywhere
_RELATIVE = 1.2  # height of a strip with several ratios, in inches
_DECADE = 10.0  # values whose ratio is smaller are drawn on a linear axis, whose ticks can be read


def _setting(tables: Iterable[pd.DataFrame], variable: str) -> str:
    """Return the fixed variables of a panel in words, from the columns of its tables."""
    columns = {name: table[name].iloc[0] for table in tables for name in all_variables() if name in table}
    fixed = {
        name: float(columns[name])
        for name in all_variables()
        if name in columns and name not in (variable, dependent_variable(variable))
    }
    # k means the categories of k-ary randomised response in panels where it is not the clients per round
    symbols = {"categories": "k"} if "k" not in fixed else {}
    words = [
        f"${symbols.get(name, VARIABLES[name].tex)} = {power_of_ten(value)}$" for name, value in fixed.items()
    ]
    if "n" in fixed and "k" in fixed:
        words[1] += rf" ($\gamma = {power_of_ten(fixed['k'] / fixed['n'])}$)"
    return ", ".join(words[:2]) + "\n" + ", ".join(words[2:])


def draw(parameters: Mapping[str, Any]) -> Figure:
    """Draw a figure from the tables that the parameters of its product name."""
    panels = {
        name: {
            accountant: tables.read_table(path) for accountant, path in parameters["panels"][name]["curves"]
        }
        for name in parameters["order"]
    }
    return draw_bounds(
        panels,
        variables={name: panel["variable"] for name, panel in parameters["panels"].items()},
        styles=parameters["styles"],
        titles={name: panel["title"] for name, panel in parameters["panels"].items()},
        ratio=parameters["ratio"],
        relative=parameters["relative"],
        strip_label=parameters["strip"],
        common_y=parameters["common_y"],
        stated=parameters["stated"],
    )


def draw_bounds(
    panels: Mapping[str, Mapping[str, pd.DataFrame]],
    *,
    variables: Mapping[str, str],
    styles: Mapping[str, Mapping[str, Any]],
    titles: Mapping[str, str] | None = None,
    ratio: Sequence[str] | None = None,
    relative: str | None = None,
    strip_label: str = "ratio",
    common_y: bool = False,
    stated: Sequence[Mapping[str, Any]] = (),
) -> Figure:
    """Draw one panel for each entry of ``panels``, on logarithmic axes.

    The x axis of epsilon is linear, and so is a y axis whose values span less than a decade.

    Args:
        panels: tables of curves by panel and by accountant, with the columns of
            ``accountants.evaluation.evaluate``.
        variables: by panel, the column on the x axis.
        styles: by accountant: color, line and label.
        titles: by panel, words above its setting; none if empty.
        ratio: accountants; the ratio of the first's curve to the largest of the others is drawn in a strip
            under each panel.
        relative: an accountant; the ratio of every other curve to its curve is drawn there instead.
        strip_label: words beside the strips.
        common_y: whether all panels have one range of the y axis.
        stated: numbers that the paper states: panel, curve, the place ("at"), and the value, or how many
            "times" the curve "over" the number is.

    Returns:
        The figure, to be saved by ``figures.style.save``. Settings in titles come from the tables. Points
        where epsilon (or delta) is 0, infinite or nan are left out, marked at the end of the axis, and
        counted in a warning.
    """
    from matplotlib.figure import Figure

    columns = 2 if len(panels) == 4 else min(len(panels), _COLUMNS)
    width = max(PANEL_WIDTH * columns, NARROWEST)
    rows = -(-len(panels) // columns)
    strip = STRIP if ratio else _RELATIVE if relative else 0.0
    heights = [PANEL_HEIGHT, strip] * rows if strip else [1] * rows
    with style():
        labels = {styles[accountant]["label"] for curves in panels.values() for accountant in curves}
        short = max(map(len, labels)) <= _SHORT
        legend_columns = 2 if columns == _COLUMNS and short else 1
        legend_rows = -(-(len(labels) + bool(stated)) // legend_columns)
        height = rows * (PANEL_HEIGHT + strip) + 0.15 + LEGEND_ROW * legend_rows
        figure = Figure(figsize=(width, height), layout="constrained")
        grid = figure.add_gridspec(len(heights), columns, height_ratios=heights)
        axes = []
        for index, (name, curves) in enumerate(panels.items()):
            row, column = divmod(index, columns)
            axis = figure.add_subplot(grid[row * (2 if strip else 1), column])
            axes.append(axis)
            variable = variables[name]
            _draw_panel(axis, name, curves, variable, styles)
            for one in stated:
                if one["panel"] == name:
                    stated_numbers.draw(axis, one, curves, variable, styles[one["curve"]]["color"])
            label = f"({name}) " if len(panels) > 1 else ""
            words = (titles or {}).get(name, "")
            axis.set_title(label + (f"{words}\n" if words else "") + _setting(curves.values(), variable))
            lowest = axis
            if strip:
                lowest = figure.add_subplot(grid[row * 2 + 1, column], sharex=axis)
                if ratio:
                    _draw_ratio(lowest, name, curves, variable, ratio)
                elif relative:
                    _draw_relative(lowest, name, curves, variable, styles, relative)
                axis.tick_params(labelbottom=False)
            lowest.set_xlabel(VARIABLES[variable].label)
            if column == 0:
                axis.set_ylabel(VARIABLES[dependent_variable(variable)].label)
                if strip:
                    lowest.set_ylabel(strip_label)
        if common_y:
            lows, highs = zip(*(axis.get_ylim() for axis in axes), strict=True)
            for axis in axes:
                axis.set_ylim(min(lows), max(highs))
        entries = {
            str(drawn.get_label()): drawn
            for axis in axes
            for drawn in axis.get_lines()
            if not str(drawn.get_label()).startswith("_")
        }
        if stated:
            cross = stated_numbers.key(stated)
            entries[str(cross.get_label())] = cross
        figure.legend(
            entries.values(),
            entries.keys(),
            loc="outside lower center",
            ncols=legend_columns,
        )
    return figure


def _draw_panel(
    axis: Axes,
    name: str,
    curves: Mapping[str, pd.DataFrame],
    variable: str,
    styles: Mapping[str, Mapping[str, Any]],
) -> None:
    column = dependent_variable(variable)
    panel = Panel(axis, name, log_x=variable != "epsilon", log_y=True)
    for accountant, table in curves.items():
        look = styles[accountant]
        shown = table[panel.keep(accountant, table[variable], table[column], color=look["color"])]
        axis.plot(shown[variable], shown[column], **line(look))
    panel.finish()
    drawn = np.concatenate([curve.get_ydata() for curve in axis.get_lines()])
    if drawn.size and drawn.max() < _DECADE * drawn.min():
        axis.set_yscale("linear")
    if variable == "eps0":
        plain_ticks(axis.xaxis)


def _draw_relative(
    axis: Axes,
    name: str,
    curves: Mapping[str, pd.DataFrame],
    variable: str,
    styles: Mapping[str, Mapping[str, Any]],
    relative: str,
) -> None:
    column = dependent_variable(variable)
    panel = Panel(axis, f"{name}, ratio", log_x=variable != "epsilon", log_y=False)
    for accountant, table in curves.items():
        if accountant != relative:
            look, over = styles[accountant], table[column] / curves[relative][column]
            shown = panel.keep(f"{accountant} over {relative}", table[variable], over, color=look["color"])
            axis.plot(table[variable][shown], over[shown], **line(look))
    panel.finish()
    if variable == "eps0":
        plain_ticks(axis.xaxis)


def _draw_ratio(
    axis: Axes, name: str, curves: Mapping[str, pd.DataFrame], variable: str, ratio: Sequence[str]
) -> None:
    column = dependent_variable(variable)
    upper = curves[ratio[0]]
    over = upper[column] / np.max([curves[other][column] for other in ratio[1:]], axis=0)
    panel = Panel(axis, f"{name}, ratio", log_x=variable != "epsilon", log_y=False)
    shown = panel.keep(" over ".join(ratio), upper[variable], over, color=STRIP_COLOR)
    axis.plot(upper[variable][shown], over[shown], color=STRIP_COLOR)
    panel.finish()
    if variable == "eps0":
        plain_ticks(axis.xaxis)
    values = np.asarray(axis.get_lines()[0].get_ydata()).tolist()
    highest = max(values, default=1.0)
    axis.set_ylim(min([1.0, *values]), highest + (0.2 * abs(highest - 1) or _ABOVE_ONE))
    axis.ticklabel_format(axis="y", useOffset=False)
