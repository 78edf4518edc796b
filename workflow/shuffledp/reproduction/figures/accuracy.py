"""Test accuracy against epsilon, mean and standard deviation over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field

from shuffledp.records import tables
from shuffledp.reproduction.figures import words
from shuffledp.reproduction.figures.kind import PaperFigure
from shuffledp.reproduction.figures.left_out import Panel
from shuffledp.reproduction.figures.style import (
    LEGEND_ROW,
    NARROWEST,
    PANEL_HEIGHT,
    PANEL_WIDTH,
    draw_over_seeds,
    mark_stated,
    stated_key,
    style,
)
from shuffledp.reproduction.sections.captions import Caption
from shuffledp.reproduction.sections.context import Context
from shuffledp.reproduction.sections.model import LEFT_OUT, By, OneOf, Section, Words
from shuffledp.reproduction.tables import Utility
from shuffledp.reproduction.trainings.accounting import FARTHEST

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class PanelSection(Section):
    """One panel: the runs of one experiment."""

    experiment: str
    """One of training.experiments, with a local randomiser and a delta, of the system of the accountants."""
    title: str
    """What the panel's title says."""
    curves: Annotated[Words, Field(min_length=1)] = LEFT_OUT
    """Accountants of this panel, whose experiment is of another system; the figure's if absent."""
    distance: Annotated[float, Field(gt=0, le=FARTHEST)] = LEFT_OUT
    """Largest distance of two gradients that is assumed, in clip norms C; sigma is the deviation of the noise
    over it. 2 if absent, which holds for all clipped gradients; with less, epsilon is no guarantee of the
    training."""


class PointSection(Section):
    """A point that the paper states."""

    panel: str
    """Panel in which it is drawn."""
    curve: str
    """Accountant in whose colour it is drawn."""
    epsilon: Annotated[float, Field(gt=0)]
    """Epsilon of the point."""
    accuracy: Annotated[float, Field(ge=0, le=100)]
    """Accuracy in percent."""
    deviation: Annotated[float, Field(ge=0)] = LEFT_OUT
    """Its standard deviation in percent; no bar if absent."""


class AccuracySection(Section):
    """One figure of test accuracy against epsilon; it becomes <figures>/<paper>/<figure>.pdf and .png."""

    curves: Words = Field(default=[])
    """Accountants whose epsilon is the x axis of a curve each, in panels that name none themselves."""
    x_scale: Annotated[str, OneOf(("linear", "log"))] = "linear"
    """Scale of the x axis; linear if absent."""
    x_limit: Annotated[float, Field(gt=0)] = LEFT_OUT
    """Largest epsilon shown; all if absent."""
    common_x: bool = False
    """Whether all panels have one range of the x axis."""
    stated: list[PointSection] = Field(default=[])
    """Points that the paper states, drawn as crosses."""
    panels: Annotated[dict[str, PanelSection], By("panel"), Field(min_length=1)]
    """Panels, left to right."""


@dataclass(frozen=True)
class Accuracy(PaperFigure):
    """One figure of accuracy against epsilon."""

    holds = AccuracySection
    about = "Figures of test accuracy against epsilon"
    place = 3
    parts = "panels"
    details = f"""\
Curves, each the same accuracies against epsilon by another accountant:

{words.CURVES}
{words.RUNS}
{words.OVER_SEEDS}"""

    settings: AccuracySection
    looks: Mapping[str, Mapping[str, str]]
    panels: tuple[Utility, ...]

    @classmethod
    def resolve(
        cls, paper: str, name: str, settings: AccuracySection, caption: Caption, context: Context
    ) -> Self:
        """Return the figure, if its experiments exist and its accountants are of their systems."""
        at = [cls.kind, paper, name]
        of_panel = {label: panel.curves or settings.curves for label, panel in settings.panels.items()}
        for label, accountants in of_panel.items():
            if not accountants:
                raise context.fault(
                    "curves must be named, by the figure or by each of its panels", [*at, "panels", label]
                )
        drawn = list(dict.fromkeys(one for accountants in of_panel.values() for one in accountants))
        for index, point in enumerate(settings.stated):
            for key, named, known in (
                ("panel", point.panel, settings.panels),
                ("curve", point.curve, of_panel.get(point.panel, drawn)),
            ):
                if named not in known:
                    raise context.fault(
                        f"{key} of what the paper states must be one of the figure's ({', '.join(known)}), "
                        f"got {named!r}",
                        [*at, "stated", str(index), key],
                    )
        for accountant in settings.curves:
            context.check_accountant(accountant, [*at, "curves"])
        panels = []
        for label, panel in settings.panels.items():
            place = [*at, "panels", label, "experiment"]
            experiment = context.accounted_for(panel.experiment, place)
            for accountant in panel.curves or ():
                context.check_accountant(accountant, [*at, "panels", label, "curves"])
            for accountant in of_panel[label]:
                context.check_system(accountant, experiment, place)
            if panel.distance is not None and experiment.noise is None:
                raise context.fault(
                    f"distance is of experiments with Gaussian noise, and {panel.experiment!r} has none; "
                    "leave it out",
                    [*at, "panels", label, "distance"],
                )
            distance = FARTHEST if panel.distance is None else panel.distance
            panels.append(Utility(paper, name, label, experiment, tuple(of_panel[label]), distance))
        return cls(paper, name, settings, caption, context.looks(drawn), tuple(panels))

    @property
    def tables(self) -> tuple[Utility, ...]:
        """The tables of the figure, one a panel."""
        return self.panels

    def parameters(self, results: str) -> Mapping[str, Any]:
        """Return the table and title of each panel, the looks of the curves, and settings of the x axis."""
        return {
            "panels": [[panel.panel, panel.path(results), list(panel.accountants)] for panel in self.panels],
            "titles": {
                panel.panel: words.titled(
                    self.settings.panels[panel.panel].title, [panel.experiment], results
                )
                for panel in self.panels
            },
            "stated": [point.model_dump(exclude_unset=True) for point in self.settings.stated],
            "curves": [[name, dict(look)] for name, look in self.looks.items()],
            "x_scale": self.settings.x_scale,
            "x_limit": self.settings.x_limit,
            "common_x": self.settings.common_x,
        }

    def in_caption(self, results: str) -> Mapping[str, Any]:
        """Return the trainings of each panel, the devices in their records, and the accountants."""
        experiments = {panel.panel: panel.experiment for panel in self.panels}
        facts = {
            name: [*words.unless_told(self.settings.panels[name].title, told), *told]
            for name, told in ((name, words.setting(one)) for name, one in experiments.items())
        }
        entries = {entry.name: entry for panel in self.panels for entry in panel.entries}
        assumed = min(panel.distance for panel in self.panels)
        proviso = f"if no two gradients are more than {assumed:g} C apart" if assumed < FARTHEST else ""
        return {
            "setting": words.by_part(facts),
            "curves": words.curves(entries.values(), self.looks, proviso=proviso),
            "runs": words.runs(experiments, results),
        }


def draw(parameters: Mapping[str, Any]) -> Figure:
    """Draw a figure from the tables that the parameters of its product name."""
    return draw_accuracy(
        {name: tables.read_table(path) for name, path, _ in parameters["panels"]},
        titles=parameters["titles"],
        curves=dict(parameters["curves"]),
        of_panel={name: accountants for name, _, accountants in parameters["panels"]},
        x_scale=parameters["x_scale"],
        x_limit=parameters["x_limit"],
        common_x=parameters["common_x"],
        stated=parameters["stated"],
    )


def draw_accuracy(
    panels: Mapping[str, pd.DataFrame],
    *,
    titles: Mapping[str, str],
    curves: Mapping[str, Mapping[str, Any]],
    of_panel: Mapping[str, Sequence[str]] | None = None,
    x_scale: str = "linear",
    x_limit: float | None = None,
    common_x: bool = False,
    stated: Sequence[Mapping[str, Any]] = (),
) -> Figure:
    """Draw one panel for each experiment: accuracy against epsilon by each accountant.

    Args:
        panels: tables of ``accuracy_against_epsilon.privacy_utility`` by panel.
        titles: by panel.
        curves: by accountant: color, line and label.
        of_panel: accountants by panel; None if each panel has all.
        x_scale: "linear" or "log".
        x_limit: largest epsilon shown; None for all.
        common_x: whether all panels have one range of the x axis.
        stated: points that the paper states: panel, curve, epsilon, accuracy in percent, and its deviation
            where the paper gives one.

    Returns:
        The figure; for lines and bands see ``style.draw_over_seeds``. Points where epsilon is infinite, nan
        or, on a logarithmic axis, 0 are left out, marked at the end of the axis, and counted in a warning.
    """
    from matplotlib.figure import Figure

    with style():
        width = max(PANEL_WIDTH * len(panels), NARROWEST)
        labels = {look["label"] for look in curves.values()}
        height = PANEL_HEIGHT + 0.6 + LEGEND_ROW * (len(labels) + bool(stated))
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(1, len(panels), sharex=common_x, sharey=True, squeeze=False)[0]
        for axis, (name, table) in zip(axes, panels.items(), strict=True):
            percent, spread = 100 * table["accuracy"], 100 * table["deviation"]
            panel = Panel(axis, name, log_x=x_scale == "log", log_y=False)
            for accountant in curves if of_panel is None else of_panel[name]:
                look = curves[accountant]
                shown = panel.keep(accountant, table[accountant], percent, color=look["color"])
                own = table[accountant][shown], percent[shown], spread[shown]
                draw_over_seeds(axis, *own, look, seeds=int(table["seeds"].iloc[0]))
            for point in stated:
                if point["panel"] == name:
                    look, bar = curves[point["curve"]], point.get("deviation")
                    mark_stated(axis, point["epsilon"], point["accuracy"], color=look["color"], deviation=bar)
            panel.finish()
            if x_limit is not None:
                axis.set_xlim(0 if x_scale == "linear" else None, x_limit)
            label = f"({name}) " if len(panels) > 1 else ""
            axis.set_title(label + titles[name])
            axis.set_xlabel(r"central privacy $\epsilon$")
        axes[0].set_ylabel("test accuracy (%)")
        entries: dict[str, Any] = {}
        for axis in axes:
            entries |= dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
        if stated:
            bars = ", with its standard deviation" if any("deviation" in point for point in stated) else ""
            cross = stated_key(f"stated in the paper for the curve of that colour{bars}")
            entries[str(cross.get_label())] = cross
        figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=1)
    return figure
