"""A panel of bounds: the variable along x, the fixed values, and the resulting curves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field, create_model

from shuffledp.accountants import named
from shuffledp.accountants.systems import System, dependent_variable, variables
from shuffledp.reproduction.curve import Curve
from shuffledp.reproduction.sections.axes import Axis, check_range, points
from shuffledp.reproduction.sections.context import Context
from shuffledp.reproduction.sections.model import LEFT_OUT, OneOf, Points, Section, Target, Words, fields_of
from shuffledp.variables import OF_QUESTIONS, OF_SYSTEMS, VARIABLES


class AxisSection(Axis):
    """What varies along the x axis, and its points."""

    variable: Annotated[str, OneOf(tuple(one.name for one in (*OF_SYSTEMS, *OF_QUESTIONS)))]
    """What varies. Along epsilon, delta is drawn; else epsilon."""
    points: Points
    """Number of points, equally spaced on a logarithmic axis, along epsilon on a linear one; values of
    variables that are whole numbers are rounded to such; at most 10 000, since each is computed, stored and
    drawn."""


class _Axes(Section):
    title: str = ""
    """Words above the panel's setting."""
    x: AxisSection
    """What varies along the x axis, and its points."""


_Fixed = create_model("_Fixed", __base__=_Axes, **fields_of((*OF_SYSTEMS, VARIABLES["rounds"])))


class BoundsPanel(_Fixed):  # type: ignore[valid-type, misc]  # its fields are those of the table of variables
    """One panel: the variable on the x axis, and what else its accountants take, fixed; for accountants of
    the subsampled shuffle the other four of n, k, eps0, rounds and delta."""

    delta: Target = LEFT_OUT
    """Target delta; a figure's delta holds for the panels that name none."""
    curves: Words = LEFT_OUT
    """Accountants, or curves of randomisers, drawn in this panel, in place of those of the figure."""
    undrawn: Words = Field(default=[])
    """Accountants computed for the ledger in this panel only, and not drawn."""

    def plotted(self, of_figure: Sequence[str]) -> Sequence[str]:
        """Return the accountants that are plotted: the panel's own, or else those of the figure."""
        return of_figure if self.curves is None else self.curves

    def fixed(self) -> dict[str, float]:
        """Return the variables that the panel itself fixes."""
        given = {name: getattr(self, name, None) for name in variables()}
        return {name: float(value) for name, value in given.items() if value is not None}


def curves_of(
    panel: BoundsPanel,
    *,
    at: Sequence[str],
    plotted: Sequence[str],
    undrawn: Sequence[str],
    delta: float | None,
    context: Context,
) -> list[Curve]:
    """Return the curves of a panel.

    Args:
        panel: its section.
        at: key of the panel.
        plotted: accountants that are plotted if the panel names none.
        undrawn: accountants of the figure that are computed and not plotted.
        delta: of the figure, for panels that need one and name none.
        context: of the configuration.

    Returns:
        A curve for each accountant.

    Raises:
        ValueError: an accountant is unknown, named twice, or lacks a variable; or a fixed variable is used by
            no accountant.
    """
    *figure, _, label = at
    variable, given = panel.x.variable, panel.fixed()
    if variable in given:
        raise context.fault(f"{variable} varies along x and cannot be fixed too; remove one", [*at, variable])
    if delta is not None and variable != "epsilon":
        given.setdefault("delta", delta)
    values = points(panel.x, variable, panel.x.points, context, [*at, "x"])
    check_range(given, variable, values, context, at)
    own_curves = [*(at if panel.curves is not None else figure), "curves"]
    wanted = [(name, own_curves) for name in panel.plotted(plotted)]
    wanted += [(name, [*figure, "undrawn"]) for name in undrawn]
    wanted += [(name, [*at, "undrawn"]) for name in panel.undrawn]
    twice = [name for name, times in Counter(name for name, _ in wanted).items() if times > 1]
    if twice:
        raise context.fault(f"{twice[0]!r} is named twice among curves and undrawn; name it once", figure)
    found = []
    for accountant, place in wanted:
        is_plotted, own = place[-1] == "curves", context.randomizers.get(accountant, {})
        if own and dependent_variable(variable) == "delta":
            raise context.fault(
                f"{variable} cannot vary for {accountant!r}, which is of a randomiser; vary another variable",
                [*at, "x", "variable"],
            )
        context.check_accountant(accountant, place, plotted=is_plotted)
        fixed = _taken(accountant, named.description(accountant, **own).system, variable, given, at, context)
        key = (figure[-2], figure[-1], label)
        found.append(Curve(*key, accountant, variable, values, fixed, is_plotted, tuple(own.items())))
    used = {key for curve in found for key, _ in curve.fixed}
    idle = [key for key in given if key not in used]
    if idle:
        raise context.fault(
            f"{idle[0]} is fixed here and no accountant of the panel takes it; remove it", [*at, idle[0]]
        )
    return found


def _taken(
    accountant: str,
    system: System,
    variable: str,
    given: Mapping[str, float],
    at: Sequence[str],
    context: Context,
) -> tuple[tuple[str, float], ...]:
    """Return those of the panel's fixed variables that an accountant takes."""
    wanted = system.curve_variables(variable)
    if variable not in wanted:
        raise context.fault(
            f"{variable} does not vary for {accountant!r}, which takes {', '.join(wanted)}",
            [*at, "x", "variable"],
        )
    missing = [name for name in wanted if name not in given and name != variable]
    if missing:
        raise context.fault(
            f"the panel must fix {', '.join(missing)}, since only {variable} varies and {accountant!r} "
            f"takes them",
            at,
        )
    return tuple((name, given[name]) for name in wanted if name != variable)
