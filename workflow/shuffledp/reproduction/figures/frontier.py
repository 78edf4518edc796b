"""The best test accuracy for each epsilon, over a grid of experiments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from shuffledp.records import tables
from shuffledp.reproduction.figures import words
from shuffledp.reproduction.figures.kind import PaperFigure
from shuffledp.reproduction.figures.left_out import Panel
from shuffledp.reproduction.figures.numbers import short
from shuffledp.reproduction.figures.style import LEGEND_ROW, PANEL_HEIGHT, PANEL_WIDTH, line, style
from shuffledp.reproduction.sections import study
from shuffledp.reproduction.sections.captions import Caption
from shuffledp.reproduction.sections.context import Context
from shuffledp.reproduction.studies.sweep import FOLDER, Sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Frontier(PaperFigure):
    """The figure of a large study; its section is sweep, and only the target all_sweep draws it."""

    holds = study.Study
    about = "A large study"
    place = 7
    by_request = True
    details = f"""\
Markers:

{{% for randomizer in randomizers %}}
- {{{{ randomizer }}}}
{{% endfor %}}

Curves, each the same accuracies against epsilon by another accountant:

{words.CURVES}"""

    settings: study.Study
    looks: Mapping[str, Mapping[str, str]]
    sweep: Sweep

    @classmethod
    def section(cls) -> tuple[str, Any]:
        """Return the study's key in the configuration, and its type."""
        return study.SECTION, cls.holds

    @classmethod
    def declared(cls, section: study.Study) -> Iterator[tuple[list[str], str, str, Any]]:
        """Yield the one figure of the study."""
        yield [study.SECTION], FOLDER, cls.kind, section

    @classmethod
    def resolve(
        cls, paper: str, name: str, settings: study.Study, caption: Caption, context: Context
    ) -> Self:
        """Return the figure, if the study can be trained and accounted for."""
        sweep = study.sweep(settings, context)
        return cls(paper, name, settings, caption, context.looks(settings.curves), sweep)

    def inputs(self, results: str) -> Sequence[str]:
        """Return the path of the table of points that no other point beats."""
        return self.sweep.frontier(results).outputs

    def parameters(self, results: str) -> Mapping[str, Any]:
        """Return the table, the looks of the curves, and the randomisers that have a marker each."""
        (table,) = self.inputs(results)
        return {
            "table": table,
            "curves": [[name, dict(look)] for name, look in self.looks.items()],
            "randomizers": [entry.name for entry in self.settings.grid.randomizer],
        }

    def in_caption(self, results: str) -> Mapping[str, Any]:
        """Return the settings of the trainings, and the devices in the runs' records."""
        grid, cell = self.settings.grid, self.sweep.cells[0]
        runs = [run for _, product in self.sweep.trainings(results) for run in product.outputs]
        mean = f"mean over seeds 0 to {cell.seeds - 1}" if cell.seeds > 1 else "seed 0 alone"
        setting = [
            words.trained_on(cell),
            *(f"model = {cell.model}", f"n = {short(cell.n)}", f"delta = {short(cell.delta)}"),  # type: ignore[arg-type]
            *(f"clip = {cell.clip}", f"{cell.total_epochs} epochs", mean),
            f"trained on {words.devices(runs)}",
        ]
        by_name = {cell.randomizer: cell for cell in self.sweep.cells}
        return {
            "setting": [
                f"{', '.join(setting)}.",
                f"Of all {len(self.sweep.cells)} experiments and the ends of all their epochs, those that "
                f"none beats with at most that epsilon.",
                f"The grid: eps0 = {', '.join(map(short, grid.eps0))}; k = {', '.join(map(short, grid.k))}.",
            ],
            "randomizers": [
                f"``{name}``: clip norm {short(one.clip_norm)}, learning rate {words.rates(one)}."  # type: ignore[arg-type]
                for name, one in by_name.items()
            ],
            "curves": words.curves(self.sweep.entries, self.looks),
        }


_MARKERS = ("o", "^", "s", "D")
_SIZE = 3.2
_TWO_DECADES = 100.0  # epsilons whose ratio is smaller have room for ticks between powers of ten


def draw(parameters: Mapping[str, Any]) -> Figure:
    """Draw a figure from the tables that the parameters of its product name."""
    return draw_frontier(
        tables.read_table(parameters["table"]),
        curves=dict(parameters["curves"]),
        randomizers=parameters["randomizers"],
    )


def draw_frontier(
    table: pd.DataFrame, *, curves: Mapping[str, Mapping[str, Any]], randomizers: Sequence[str]
) -> Figure:
    """Draw a step line for each accountant, and at each step a marker for the randomiser that reached it.

    Args:
        table: as returned by ``frontier.frontier``.
        curves: by accountant: color, line and label.
        randomizers: those of the grid, at most four.

    Returns:
        The figure, to be saved by ``figures.style.save``. Points where epsilon is 0 or infinite are left out,
        marked at the end of the axis, and counted in a warning.
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogLocator, NullFormatter

    markers = dict(zip(randomizers, _MARKERS, strict=False))
    with style():
        height = 1.4 * PANEL_HEIGHT + 0.3 + LEGEND_ROW * len(curves)
        figure = Figure(figsize=(2 * PANEL_WIDTH, height), layout="constrained")
        axis = figure.add_subplot()
        panel = Panel(axis, "", log_x=True, log_y=False)
        for accountant, look in curves.items():
            points = table[table["accountant"] == accountant]
            shown = panel.keep(accountant, points["epsilon"], 100 * points["accuracy"], color=look["color"])
            points = points[shown]
            x, y = points["epsilon"], 100 * points["accuracy"]
            axis.step(x, y, where="post", linewidth=1, **line(look))
            for randomizer, marker in markers.items():
                own = points["randomizer"] == randomizer
                axis.plot(
                    x[own],
                    y[own],
                    linestyle="none",
                    marker=marker,
                    markersize=_SIZE,
                    color=look["color"],
                    markeredgewidth=0,
                )
        panel.finish()
        shown = table.loc[(table["epsilon"] > 0) & np.isfinite(table["epsilon"]), "epsilon"]
        if len(shown):
            narrow = shown.max() < _TWO_DECADES * shown.min()
            axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if narrow else (1,)))
            axis.xaxis.set_major_formatter("{x:g}")
            axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_xlabel(r"central privacy $\epsilon$")
        axis.set_ylabel("test accuracy (%)")
        figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=1)
        keys = [
            Line2D([], [], linestyle="none", marker=marker, markersize=_SIZE, color="#444444", label=name)
            for name, marker in markers.items()
        ]
        figure.legend(handles=keys, loc="outside upper center", ncols=len(keys), handlelength=1)
    return figure
