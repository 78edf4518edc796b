"""Excess risk against rounds beside the bound of Theorem 3 of girgis2021, and epsilon of the rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np

from shuffledp.convergence import girgis2021_convergence
from shuffledp.records import recorded_tables
from shuffledp.reproduction.figures import words
from shuffledp.reproduction.figures.kind import PaperFigure
from shuffledp.reproduction.figures.left_out import Panel
from shuffledp.reproduction.figures.numbers import power_of_ten, short
from shuffledp.reproduction.figures.style import PANEL_HEIGHT, PANEL_WIDTH, style
from shuffledp.reproduction.sections.captions import Caption
from shuffledp.reproduction.sections.context import Context
from shuffledp.reproduction.sections.model import LEFT_OUT, Count, Section
from shuffledp.reproduction.trainings import recorded
from shuffledp.training.experiment import Experiment
from shuffledp.training.sgd.schedule import THEOREM3

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Rounds = Annotated[int, Count(1, 1_000_000_000)]


class ConvergenceSection(Section):
    """One figure; it becomes <figures>/<paper>/<figure>.pdf and .png once its experiment is trained."""

    experiment: str
    """Name of an experiment with the schedule girgis2021-theorem3 and a delta."""
    stated_to: Rounds = LEFT_OUT
    """Largest number of rounds of which the theorem is drawn; that of the runs if absent."""


@dataclass(frozen=True)
class Convergence(PaperFigure):
    """One figure of excess risk against Theorem 3 of girgis2021."""

    holds = ConvergenceSection
    about = "Figures of excess risk against Theorem 3 of girgis2021"
    place = 4
    details = words.RUNS

    settings: ConvergenceSection
    experiment: Experiment

    @classmethod
    def resolve(
        cls, paper: str, name: str, settings: ConvergenceSection, caption: Caption, context: Context
    ) -> Self:
        """Return the figure, if its experiment exists and has the steps of the theorem."""
        fitting = {
            entry.name: entry
            for entry in context.experiments
            if entry.schedule == THEOREM3 and entry.delta is not None
        }
        if settings.experiment not in fitting:
            raise context.fault(
                f"experiment must be one with schedule {THEOREM3!r} and a delta ({', '.join(fitting)}), got "
                f"{settings.experiment!r}",
                [cls.kind, paper, name, "experiment"],
            )
        return cls(paper, name, settings, caption, fitting[settings.experiment])

    def with_runs(self, results: str) -> Self | None:
        """Return the figure if the runs of its experiment are recorded, and None otherwise."""
        return self if recorded.is_trained(self.experiment, results) else None

    def inputs(self, results: str) -> Sequence[str]:
        """Return the paths of the runs."""
        return recorded.runs(self.experiment, results)

    def parameters(self, results: str) -> Mapping[str, Any]:
        """Return the runs, and the arguments of the theorem."""
        experiment = self.experiment
        return {
            "runs": list(recorded.runs(experiment, results)),
            "theorem": {
                **experiment.theorem3,
                "n": experiment.n,
                "delta": experiment.delta,
                "diameter": experiment.diameter,
            },
            "stated_to": self.settings.stated_to,
            "made": ", ".join(words.made(results, experiment)),
        }

    def in_caption(self, results: str) -> Mapping[str, Any]:
        """Return the settings of the training, and the devices in the runs' records."""
        experiment = self.experiment
        numbers = {
            "d": experiment.dimension,
            "L": experiment.clip_norm,
            "D": experiment.diameter,
            "mu": experiment.regularization,
        }
        digits = f", digits {' and '.join(map(str, experiment.digits))} alone" if experiment.digits else ""
        facts = words.setting(experiment)
        facts[0] = f"{words.DATA[experiment.data]}{digits}"
        facts += [f"{key} = {short(value)}" for key, value in numbers.items()]  # type: ignore[arg-type]
        return {
            "setting": [
                *words.by_part({"": facts}),
                "Panel a: excess risk against rounds, the mean of the runs and the band from the smallest to "
                "the largest, and L D, the most that any point of the ball can miss the minimum by.",
                "Panel b: epsilon against rounds by Theorem 1 and Lemma 1, an upper bound.",
            ],
            "runs": words.runs({"": experiment}, results),
        }


_BOUND, _RUNS, _MOST = "#c84f00", "#004c9c", "#444444"
_BEYOND = 40  # number of points at which the theorem is drawn beyond the runs


def draw(parameters: Mapping[str, Any]) -> Figure:
    """Draw a figure from the tables that the parameters of its product name."""
    runs = [recorded_tables.read(path, needs=("round", "excess_risk")) for path in parameters["runs"]]
    return draw_convergence(
        runs, theorem=parameters["theorem"], stated_to=parameters["stated_to"], made=parameters["made"]
    )


def draw_convergence(
    runs: Sequence[pd.DataFrame],
    *,
    theorem: Mapping[str, Any],
    stated_to: float | None = None,
    made: str = "",
) -> Figure:
    """Draw both parts of the theorem beside each other.

    Args:
        runs: one table for each seed, with the columns round and excess_risk, all of the same rounds.
        theorem: the arguments of ``girgis2021_convergence`` besides the rounds.
        stated_to: largest number of rounds of which the theorem is drawn; None for that of the runs.
        made: words on the runs, for the title of the first panel.

    Returns:
        The figure, to be saved by ``figures.style.save``. The line is the mean over seeds, the band from the
        smallest to the largest. Points that an axis cannot show are left out, marked at its end, and counted
        in a warning.

    Raises:
        ValueError: the runs have different rounds.
    """
    from matplotlib.figure import Figure

    rounds = runs[0]["round"].to_numpy()
    if any(not np.array_equal(table["round"], rounds) for table in runs):
        raise ValueError("runs must have the same rounds; train the seeds with one configuration")
    excess = np.stack([table["excess_risk"].to_numpy() for table in runs])
    told = rounds
    if stated_to is not None and stated_to > rounds[-1]:
        beyond = np.unique(np.geomspace(rounds[-1], stated_to, _BEYOND).round())[1:]
        told = np.concatenate([rounds, beyond.astype(rounds.dtype)])
    stated = girgis2021_convergence(told, **theorem)
    with style():
        figure = Figure(figsize=(2.6 * PANEL_WIDTH, PANEL_HEIGHT + 0.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        panel = Panel(left, "a", log_x=True, log_y=True)
        risk, epsilon = np.asarray(stated.excess_risk), np.asarray(stated.epsilon)
        shown = panel.keep("Theorem 3", told, risk, color=_BOUND)
        left.plot(
            told[shown],
            risk[shown],
            color=_BOUND,
            linestyle="--",
            label="Theorem 3, bound",
        )
        most = theorem["lipschitz"] * theorem["diameter"]
        left.axhline(most, color=_MOST, linestyle=":", label="$L D$, which nothing exceeds")
        shown = panel.keep("mean of the runs", rounds, excess.mean(0), color=_RUNS)
        some, excess = rounds[shown], excess[:, shown]
        left.plot(
            some, excess.mean(0), color=_RUNS, label=f"mean of {len(runs)} runs (band: smallest to largest)"
        )
        left.fill_between(some, excess.min(0), excess.max(0), color=_RUNS, alpha=0.3, linewidth=0)
        panel.finish()
        left.set_ylabel(r"excess risk $F(\theta_T) - F(\theta^*)$")
        left.set_title(
            rf"(a) $d = {theorem['dimension']}$, $L = {theorem['lipschitz']:g}$, "
            rf"$D = {theorem['diameter']:g}$" + (f"\n{made}" if made else "")
        )
        panel = Panel(right, "b", log_x=True, log_y=True)
        shown = panel.keep("Theorem 1", told, epsilon, color=_RUNS)
        right.plot(told[shown], epsilon[shown], color=_RUNS, label="Theorem 1, privacy")
        panel.finish()
        right.set_ylabel(r"central privacy $\epsilon$")
        right.set_title(
            rf"(b) $n = {power_of_ten(theorem['n'])}$, $k = {power_of_ten(theorem['k'])}$, "
            rf"$\epsilon_0 = {theorem['eps0']:g}$, $\delta = {power_of_ten(theorem['delta'])}$"
        )
        for axis in (left, right):
            axis.set_xlabel("rounds $T$")
        left.legend(loc="center right")
    return figure
