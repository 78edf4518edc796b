"""Test accuracy against rounds, with several experiments in a panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field

from shuffledp.records import recorded_tables
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
from shuffledp.reproduction.sections.context import LINES, Context
from shuffledp.reproduction.sections.model import LEFT_OUT, By, Color, OneOf, Section
from shuffledp.reproduction.studies.over_seeds import accuracies
from shuffledp.reproduction.trainings import recorded
from shuffledp.training.experiment import Experiment

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class LineSection(Section):
    """One line: the runs of one experiment."""

    experiment: str
    """One of training.experiments."""
    label: str
    """Legend entry."""
    color: Color
    """Colour, as #rrggbb."""
    line: Annotated[str, OneOf(LINES)]
    """Line style."""


class PanelSection(Section):
    """One panel."""

    title: str
    """What the panel's title says."""
    lines: Annotated[list[LineSection], Field(min_length=1)]
    """Its lines: objects with experiment, label, color and line (as under styles)."""


class StatedAccuracy(Section):
    """An accuracy that the paper states."""

    panel: str
    """Panel in which it is drawn."""
    experiment: str
    """Experiment of the line in whose colour it is drawn."""
    accuracy: Annotated[float, Field(ge=0, le=100)]
    """Accuracy in percent."""
    rounds: Annotated[float, Field(gt=0)] = LEFT_OUT
    """After how many rounds; a line across the panel if absent."""


class ProgressSection(Section):
    """One figure of test accuracy against rounds; it becomes <figures>/<paper>/<figure>.pdf and .png, with
    the lines whose experiments are trained."""

    panels: Annotated[dict[str, PanelSection], By("panel"), Field(min_length=1)]
    """Panels, left to right."""
    stated: list[StatedAccuracy] = Field(default=[])
    """Accuracies that the paper states."""


@dataclass(frozen=True)
class Line:
    """The runs of one experiment."""

    panel: str
    look: Mapping[str, str]
    experiment: Experiment


@dataclass(frozen=True)
class Progress(PaperFigure):
    """One figure of accuracy against rounds."""

    holds = ProgressSection
    about = "Figures of test accuracy against rounds"
    place = 6
    parts = "lines"
    details = f"{words.RUNS}\n{words.OVER_SEEDS}"

    settings: ProgressSection
    lines: tuple[Line, ...]

    @classmethod
    def resolve(
        cls, paper: str, name: str, settings: ProgressSection, caption: Caption, context: Context
    ) -> Self:
        """Return the figure, if its experiments exist."""
        known, lines = {entry.name: entry for entry in context.experiments}, []
        for label, panel in settings.panels.items():
            for index, line in enumerate(panel.lines):
                if line.experiment not in known:
                    raise context.fault(
                        f"experiment must be one of training.experiments ({', '.join(known)}), got "
                        f"{line.experiment!r}",
                        [cls.kind, paper, name, "panels", label, "lines", str(index), "experiment"],
                    )
                look = {"color": line.color, "line": line.line, "label": line.label}
                lines.append(Line(label, look, known[line.experiment]))
        for index, point in enumerate(settings.stated):
            of_panel = [line.experiment.name for line in lines if line.panel == point.panel]
            for key, named, of in (
                ("panel", point.panel, list(settings.panels)),
                ("experiment", point.experiment, of_panel),
            ):
                if named not in of:
                    raise context.fault(
                        f"{key} of what the paper states must be one of {', '.join(of)}, got {named!r}",
                        [cls.kind, paper, name, "stated", str(index), key],
                    )
        return cls(paper, name, settings, caption, tuple(lines))

    def inputs(self, results: str) -> Sequence[str]:
        """Return the paths of the runs, each once."""
        runs = (run for line in self.lines for run in recorded.runs(line.experiment, results))
        return tuple(dict.fromkeys(runs))

    def parameters(self, results: str) -> Mapping[str, Any]:
        """Return the lines with their runs, and the titles."""
        colors = {(line.panel, line.experiment.name): line.look["color"] for line in self.lines}
        # a panel without any trained experiment has no lines, and is left out
        of_panels: dict[str, list[Experiment]] = {}
        for line in self.lines:
            of_panels.setdefault(line.panel, []).append(line.experiment)
        return {
            "stated": [
                {**point.model_dump(exclude_unset=True), "color": colors[point.panel, point.experiment]}
                for point in self.settings.stated
                if (point.panel, point.experiment) in colors  # of the lines that are trained
            ],
            "lines": [
                [line.panel, dict(line.look), list(recorded.runs(line.experiment, results))]
                for line in self.lines
            ],
            "titles": {
                name: words.titled(self.settings.panels[name].title, experiments, results)
                for name, experiments in of_panels.items()
            },
        }

    def in_caption(self, results: str) -> Mapping[str, Any]:
        """Return the settings of each line's training, and the devices in the runs' records."""
        several = len({line.panel for line in self.lines}) > 1
        named = {
            f"{line.panel}, {label}" if several else label: line
            for line in self.lines
            for label in [words.plain(line.look["label"])]
        }
        facts = {name: words.setting(line.experiment) for name, line in named.items()}
        experiments = {name: line.experiment for name, line in named.items()}
        return {
            "setting": words.by_part(facts, "All lines", "Panel" if several else "Line"),
            "runs": words.runs(experiments, results, "All lines", "Panel" if several else "Line"),
        }


def draw(parameters: Mapping[str, Any]) -> Figure:
    """Draw a figure from the tables that the parameters of its product name."""
    panels: dict[str, list[Any]] = {name: [] for name in parameters["titles"]}
    for panel, look, paths in parameters["lines"]:
        runs = [recorded_tables.read(path, needs=("round", "test_accuracy")) for path in paths]
        panels[panel].append((look, runs))
    return draw_progress(panels, titles=parameters["titles"], stated=parameters["stated"])


def draw_progress(
    panels: Mapping[str, Sequence[tuple[Mapping[str, Any], Sequence[pd.DataFrame]]]],
    *,
    titles: Mapping[str, str],
    stated: Sequence[Mapping[str, Any]] = (),
) -> Figure:
    """Draw one panel for each comparison: accuracy against rounds of each experiment.

    Args:
        panels: the lines of each panel: looks (color, line, label), and the runs, one table for each seed.
        titles: by panel.
        stated: accuracies that the paper states: panel, accuracy in percent, color, and the rounds if the
            paper names them.

    Returns:
        The figure; for lines and bands see ``style.draw_over_seeds``. Points that are infinite or nan are
        left out, marked at the end of the axis, and counted in a warning.
    """
    from matplotlib.figure import Figure

    with style():
        width = max(PANEL_WIDTH * len(panels), NARROWEST)
        rows = max(len(lines) + sum(one["panel"] == name for one in stated) for name, lines in panels.items())
        height = PANEL_HEIGHT + 0.4 + LEGEND_ROW * rows
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, (name, lines) in zip(axes, panels.items(), strict=True):
            panel = Panel(axis, name, log_x=False, log_y=False)
            for look, runs in lines:
                rounds, mean, deviation = accuracies(runs)
                shown = panel.keep(look["label"], rounds, mean, color=look["color"])
                own = rounds[shown], 100 * mean[shown], 100 * deviation[shown]
                draw_over_seeds(axis, *own, look, seeds=len(runs))
            panel.finish()
            for point in stated:
                if point["panel"] == name:
                    _draw_stated(axis, point)
            axis.set_title((f"({name}) " if len(panels) > 1 else "") + titles[name])
            axis.set_xlabel("rounds")
            handles, _ = axis.get_legend_handles_labels()
            if any(point["panel"] == name and "rounds" in point for point in stated):
                handles.append(stated_key("stated in the paper for the line of that colour"))
            axis.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.2))
        axes[0].set_ylabel("test accuracy (%)")
    return figure


def _draw_stated(axis: Axes, point: Mapping[str, Any]) -> None:
    if "rounds" in point:
        mark_stated(axis, point["rounds"], point["accuracy"], color=point["color"])
        return
    words = f"{point['accuracy']:g}%, stated in the paper\nfor the line of that colour"
    axis.axhline(point["accuracy"], color=point["color"], linewidth=0.7, linestyle=(0, (1, 3)), label=words)
