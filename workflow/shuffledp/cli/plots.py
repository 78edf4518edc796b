"""What the option ``--plot`` draws: epsilon, delta or an answer against one variable."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import click

from shuffledp.cli import drawing, options, printing, selection
from shuffledp.cli.errors import with_options
from shuffledp.variables import VARIABLES


def epsilon(
    plot: options.Plot, randomizer: str | None, given: dict[str, Any], chosen: Mapping[str, str | None]
) -> None:
    """Draw epsilon by the selected accountant, and the largest lower bound if no accountant is named."""
    points = plot.points()
    rows = [{**given, plot.variable: point} for point in points]
    entry, _, _ = selection.accountant(randomizer, rows[0], chosen)
    own = [selection.accountant(randomizer, row, chosen)[1] for row in rows] if randomizer else rows
    curves = {entry.name: [float(entry.epsilon(**row)) for row in own]}
    printing.warn_of_little(*zip(rows, curves[entry.name], strict=True))
    if randomizer is None and chosen["--accountant"] is None:
        from shuffledp.accountants import brackets, registry

        below = registry.bounds("lower", protocol=entry.protocol, mechanism=entry.mechanism)
        if below:
            found = [brackets.attempts(below, **row)[0] for row in rows]
            curves["largest lower bound"] = [
                max((float(columns["epsilon"]) for _, columns in answers), default=0.0) for answers in found
            ]
    _draw(plot, VARIABLES["epsilon"].label, curves)


def delta(
    plot: options.Plot, randomizer: str | None, given: dict[str, Any], chosen: Mapping[str, str | None]
) -> None:
    """Draw delta by the selected accountant."""
    found, guarantees = [], []
    for point in plot.points():
        row = {**given, plot.variable: point}
        asked = row.pop("epsilon")
        entry, _, by_name = selection.accountant(randomizer, row, chosen)
        from shuffledp.accountants import calibration

        found.append(calibration.delta_at(**by_name, eps=asked, **row))
        guarantees.append(({**row, "delta": found[-1]}, asked))
    printing.warn_of_little(*guarantees)
    _draw(plot, VARIABLES["delta"].label, {entry.name: found}, tiny=True)


def answers(
    plot: options.Plot,
    target_eps: float,
    randomizer: str | None,
    given: dict[str, Any],
    chosen: Mapping[str, str | None],
) -> None:
    """Draw the value of the variable that is left out, at the points where there is one.

    Raises:
        ValueError: there is none at any point; the message is that of the first.
    """
    found, guarantees, without = [], [], []
    for point in plot.points():
        row = {**given, plot.variable: point}
        unknown = selection.left_out(randomizer, row, chosen)
        entry, _, by_name = selection.accountant(randomizer, row, chosen, but=unknown)
        from shuffledp.accountants import calibration

        try:
            answer = float(calibration.solve(**by_name, unknown=unknown, target_eps=target_eps, **row))
        except ValueError as error:
            without.append((point, error))
            found.append(math.nan)
            continue
        found.append(answer)
        guarantees.append(({**row, unknown: answer}, target_eps))
    if without:
        point, why = without[0]
        if not guarantees:
            raise why
        printing.warn(
            f"{len(without)} of the {len(found)} points of {entry.name} are left out, having no answer; at "
            f"{plot.variable}={point:g}: {with_options(str(why))}"
        )
    printing.warn_of_little(*guarantees)
    _draw(plot, VARIABLES[unknown].label, {entry.name: found}, tiny=unknown == "delta")


def _draw(plot: options.Plot, label: str, curves: Mapping[str, list[float]], *, tiny: bool = False) -> None:
    """Draw curves against the variable that varies, and print the file and what it shows."""
    low, high = plot.span
    drawing.draw(
        plot.path,
        x=plot.points(),
        curves=curves,
        labels=(VARIABLES[plot.variable].label, label),
        logarithmic=(low > 0 and high > 10 * low, tiny),
    )
    for name, values in curves.items():
        drawing.warn_of_left_out(name, values, logarithmic=tiny)
    click.echo(f"{plot.path}: {', '.join(curves)}, from {low:g} to {high:g}")
