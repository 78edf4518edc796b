"""Monte Carlo estimates of the shuffled Gaussian's profile beside the exact one, and their accuracy."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from pydantic import Field

from shuffledp.profiles import shuffled_gaussian
from shuffledp.records import tables
from shuffledp.reproduction.figures.kind import PaperFigure
from shuffledp.reproduction.figures.left_out import Panel
from shuffledp.reproduction.figures.numbers import power_of_ten, short
from shuffledp.reproduction.figures.style import PANEL_HEIGHT, PANEL_WIDTH, style
from shuffledp.reproduction.sections.axes import Axis, points
from shuffledp.reproduction.sections.captions import Caption
from shuffledp.reproduction.sections.context import Context
from shuffledp.reproduction.sections.model import Count, Points, Section, Unique
from shuffledp.reproduction.tables import Simulation
from shuffledp.variables import SEEDS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_MOST_NUMBERS = 1_000_000_000_000
_LARGEST_EXPONENT = 700


class EpsilonSection(Axis):
    """Where delta is estimated, evenly spaced."""

    first: Annotated[float, Field(ge=0)] = Field(alias="from")
    """First value."""
    last: Annotated[float, Field(gt=0, le=_LARGEST_EXPONENT)] = Field(alias="to")
    """Last value; at most 700, since beyond it e^epsilon is no double."""
    points: Points
    """Number of values; at most 10 000, since each is estimated, stored and drawn."""


class SimulationSection(Section):
    """A figure of Monte Carlo estimates, with the exact profile."""

    sigma: Annotated[float, Field(ge=0.1, le=1000)]
    """Standard deviation of Gaussian noise on records in [0, 1]."""
    clients: Annotated[list[Annotated[int, Count(1, 1000)]], Unique(), Field(min_length=1, max_length=100)]
    """Numbers of clients, each a table of its own, <results>/<paper>/<figure>/n<clients>/monte-carlo.csv; at
    most 100 of them, since each is a simulation of hours; none above 1 000, since each point is as many
    numbers."""
    epsilon: EpsilonSection
    """Where delta is estimated, evenly spaced."""
    points: Annotated[int, Count(2, _MOST_NUMBERS)]
    """Points of each Monte Carlo estimate; at most 1e12 over the largest number of clients, since each is as
    many numbers, of which some 10^7 are drawn a second."""
    half_width: Annotated[float, Field(ge=0.1)]
    """Half the width of the cube on which points are uniform; at most 700 sigma^2, since beyond it what is
    averaged is no double."""
    seed: Annotated[int, Count(0, SEEDS.most)]
    """Seed of the random numbers; at most 2^53, since it is stored in JSON, whose numbers are doubles."""


@dataclass(frozen=True)
class MonteCarlo(PaperFigure):
    """One figure of Monte Carlo estimates beside the exact profile."""

    holds = SimulationSection
    about = "Figures of Monte Carlo estimates of the shuffled Gaussian"
    place = 5
    details = "Computed on the CPU in double precision; seed {{ seed }}.\n"

    settings: SimulationSection
    panels: tuple[Simulation, ...]

    @classmethod
    def resolve(
        cls, paper: str, name: str, settings: SimulationSection, caption: Caption, context: Context
    ) -> Self:
        """Return the figure, if epsilon increases and its simulations end in reasonable time."""
        here = [cls.kind, paper, name]
        widest, most = _LARGEST_EXPONENT * settings.sigma**2, _MOST_NUMBERS // max(settings.clients)
        if settings.half_width > widest:
            raise context.fault(
                f"half_width must be at most {widest:g} for sigma = {settings.sigma:g}, since beyond it what "
                f"is averaged is no double, got {settings.half_width:g}",
                [*here, "half_width"],
            )
        if settings.points > most:
            raise context.fault(
                f"points must be at most {most:g} for {max(settings.clients)} clients, since each is as many "
                f"numbers, of which some 10^7 are drawn a second, got {settings.points:g}",
                [*here, "points"],
            )
        along, at = settings.epsilon, [*here, "epsilon"]
        panels = [
            Simulation(
                paper,
                name,
                f"n{n}",
                n=n,
                sigma=settings.sigma,
                eps=points(along, "epsilon", along.points, context, at),
                points=settings.points,
                half_width=settings.half_width,
                seed=settings.seed,
            )
            for n in settings.clients
        ]
        return cls(paper, name, settings, caption, tuple(panels))

    @property
    def tables(self) -> tuple[Simulation, ...]:
        """The tables of the figure, one for each number of clients."""
        return self.panels

    def parameters(self, results: str) -> Mapping[str, Any]:
        """Return the paths of the tables."""
        return {"tables": list(self.inputs(results))}

    def in_caption(self, results: str) -> Mapping[str, Any]:
        """Return the settings of the simulations."""
        panel, clients = self.panels[0], [one.n for one in self.panels]
        return {
            "setting": [
                f"All panels: sigma = {short(panel.sigma)}, {len(panel.eps)} values of epsilon from "
                f"{short(panel.eps[0])} to {short(panel.eps[-1])}.",
                f"Panel a: delta for n = {', '.join(map(str, clients))}. Lines: exact, as two certified "
                f"bounds. Points: Monte Carlo estimates from {short(panel.points)} points each, uniform on "
                f"the cube [-L, L]^n with L = {short(panel.half_width)}; two standard errors to either side.",
                "Panel b: as many points drawn from M(X'); the estimates over the exact delta.",
                f"Panel c: the standard error for n = {max(clients)}, over the exact delta, by the way in "
                "which the points were drawn; ways that never met a point with a value are left out.",
            ],
            "seed": panel.seed,
        }


_SHOWN = {"uniform": "uniform on the cube", "one": "drawn from $M(X')$"}
_ERRORS = {
    "uniform": ("#c84f00", "o", _SHOWN["uniform"]),
    "zeros": ("#58b4e8", "s", "drawn from $M(X)$"),
    "one": ("#004c9c", "^", _SHOWN["one"]),
}
_FINE = 4  # points of the exact line for each estimate
_WHISKERS = 2  # length of error bars in standard errors
_EXACT = 0.7  # width of the exact lines
_MARKERS = ("o", "^", "s", "v", "D", "X", "P")  # by number of clients, since colours may be alike in grey
_ROOM = 20.0  # upper end of the axis over the largest value, with room for the legend
_TWO_DIGITS = 0.05 / 9.9  # least size of half a unit of the second digit, relative to the value


def draw(parameters: Mapping[str, Any]) -> Figure:
    """Draw a figure from the tables that the parameters of its product name."""
    return draw_simulation([tables.read_table(path) for path in parameters["tables"]])


def draw_simulation(tables: Sequence[pd.DataFrame]) -> Figure:
    """Draw three panels: estimates from a cube beside the exact profile, estimates by the other sampling
    divided by it, and the relative standard errors for the most clients.

    Args:
        tables: one for each number of clients, with the columns n, sigma, sampling, epsilon, estimate,
            standard_error and points.

    Returns:
        The figure, to be saved by ``figures.style.save``. Lines are certified bounds for the two data sets,
        lower and upper; error bars have two standard errors to either side. Estimates of 0, and values that
        are not finite, are left out, marked at the end of the axis, and counted in a warning.
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    with style():
        figure = Figure(figsize=(3 * PANEL_WIDTH, PANEL_HEIGHT + 0.75), layout="constrained")
        axes = figure.subplots(1, 3)
        for axis, name, (sampling, label) in zip(axes, "ab", _SHOWN.items(), strict=False):
            panel = Panel(axis, name, log_x=False, log_y=name == "a")
            for table, look in zip(tables, looks_of(len(tables)), strict=True):
                rows = table[table.sampling == sampling]
                (_draw_profile if name == "a" else _draw_over_exact)(axis, panel, rows, look)
            panel.finish()
            axis.set_title(f"({name}) points {label}")
        axes[0].set_ylabel(r"$\delta$")
        axes[1].set_ylabel("estimate over exact")
        axes[1].axhline(1, color="#444444", linewidth=_EXACT)
        most = max(tables, key=lambda table: table.n.iloc[0])
        _draw_errors(axes[2], most)
        for axis in axes:
            axis.set_xlabel(r"$\epsilon$")
        handles, labels = axes[0].get_legend_handles_labels()
        exact = Line2D([], [], color="#444444", linewidth=_EXACT)
        figure.legend(
            [exact, *handles], ["exact", *labels], loc="outside lower center", ncols=min(len(tables) + 1, 8)
        )
        axes[2].set_ylim(top=_ROOM * axes[2].get_ylim()[1])
        axes[2].legend(loc="upper left", fontsize=6.5)
    return figure


def looks_of(count: int) -> list[dict[str, str]]:
    """Return colours and markers for ``count`` numbers of clients, in their order."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    colors = map(to_hex, colormaps["viridis"](np.linspace(0, 0.9, count)))
    markers = itertools.cycle(_MARKERS)
    return [{"color": color, "marker": marker} for color, marker in zip(colors, markers, strict=False)]


def _exact(table: pd.DataFrame, eps: np.ndarray) -> list[np.ndarray]:
    setting: dict[str, Any] = {
        "n": int(table.n.iloc[0]),
        "sigma": float(table.sigma.iloc[0]),
        "direction": "forward",
    }
    return [np.asarray(shuffled_gaussian(eps, **setting, bound=bound)) for bound in ("lower", "upper")]


def _draw_profile(axis: Axes, panel: Panel, table: pd.DataFrame, look: Mapping[str, Any]) -> None:
    eps = np.linspace(table.epsilon.min(), table.epsilon.max(), _FINE * (len(table) - 1) + 1)
    for bound in _exact(table, eps):
        seen = bound > 0  # where it is 0, the estimates at the same epsilons are marked
        axis.plot(eps[seen], bound[seen], color=look["color"], linewidth=_EXACT)
    _draw_points(axis, panel, table, table.estimate, table.standard_error, look)


def _draw_over_exact(axis: Axes, panel: Panel, table: pd.DataFrame, look: Mapping[str, Any]) -> None:
    exact = _exact(table, table.epsilon.to_numpy())[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        _draw_points(axis, panel, table, table.estimate / exact, table.standard_error / exact, look)


def _draw_points(
    axis: Axes,
    panel: Panel,
    table: pd.DataFrame,
    value: pd.Series,
    error: pd.Series,
    look: Mapping[str, Any],
) -> None:
    shown = panel.keep(f"n = {table.n.iloc[0]:g}", table.epsilon, value, color=look["color"])
    axis.errorbar(
        table.epsilon[shown],
        value[shown],
        yerr=_WHISKERS * error[shown],
        linestyle="none",
        markersize=2.5,
        elinewidth=0.8,
        capsize=1.2,
        **look,
        label=f"$n = {table.n.iloc[0]:g}$",
    )


def _draw_errors(axis: Axes, table: pd.DataFrame) -> None:
    points = table.points.iloc[0]
    panel = Panel(axis, "c", log_x=False, log_y=True)
    for sampling, (color, marker, label) in _ERRORS.items():
        rows = table[table.sampling == sampling]
        if len(rows):
            eps = rows.epsilon.to_numpy()
            with np.errstate(divide="ignore", invalid="ignore"):
                relative = rows.standard_error.to_numpy() / _exact(rows, eps)[1]
            shown = panel.keep(sampling, eps, relative, color=color)
            axis.plot(
                eps[shown],
                relative[shown],
                color=color,
                marker=marker,
                markersize=2.5,
                label=label,
            )
    panel.finish()
    axis.axhline(_TWO_DIGITS / _WHISKERS, color="#444444", linestyle=":", label="two digits, as stated")
    axis.set_title(rf"(c) $n = {table.n.iloc[0]:g}$, ${power_of_ten(points)}$ points")
    axis.set_ylabel("standard error, relative")
