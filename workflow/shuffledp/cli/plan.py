"""The command that accounts for a deployment of several phases, which a file describes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shuffledp.cli import drawing, printing
from shuffledp.cli.options import as_json

if TYPE_CHECKING:
    from shuffledp.accountants import Plan

_TABLE = ("phase", "what", "rounds", "epsilon >=", "epsilon <=", "left")


@click.command("plan")
@click.argument("deployment", metavar="FILE")
@click.option("--plot", metavar="FILE", help="Draw epsilon over the rounds: .pdf, .png or .svg.")
@click.option(
    "--csv",
    metavar="FILE",
    help="Write a table of epsilon over the rounds: up to 12 of each phase, and its last one always.",
)
@as_json
def plan(deployment: str, plot: str | None, csv: str | None, as_json: bool) -> None:
    """Print what several phases cost together.

    FILE (YAML) holds delta and phases and, if wanted, a budget, the size of a group of users, and the number
    of records of each user. A phase is a system's variables (n, k, eps0, ...) with rounds, or a release with
    known epsilon and delta, or noise with sigma and sensitivity. The command prints epsilon after each phase,
    from below and from above, what is left of the budget, and how many further rounds of the last phase fit.
    All phases must be for the same neighbours.
    """
    if plot is not None:
        drawing.check(plot)
    if csv is not None:
        drawing.check_file("--csv", csv)
    from shuffledp.accountants import Plan, PlanError
    from shuffledp.records import yaml_files

    yaml_files.refuse_repeated(yaml_files.parsed(deployment, yaml_files.composed), deployment)
    try:
        found = Plan.read(yaml_files.with_numbers(yaml_files.parsed(deployment)))
        rows = found.spent()
        further = found.further_rounds() if found.budget is not None else None
    except PlanError as error:
        raise ValueError(f"{_where(deployment, error.place)}: {error}") from error
    curve = {name: column.tolist() for name, column in found.curve().items()} if plot or csv else {}
    if csv is not None:
        from shuffledp.records import tables

        tables.write_table(csv, curve)
    if plot is not None:
        _draw(plot, found, curve)
    about = {"delta": found.delta} | ({} if found.clients is None else {"n": found.clients})
    printing.warn_of_little((about, rows[-1].upper))
    if as_json:
        printing.as_json(
            {
                "delta": found.delta,
                "budget": found.budget,
                "group": found.group,
                "records": found.records,
                "neighbours": None if found.neighbours is None else str(found.neighbours),
                "bounds": found.bounds,
                "phases": [row._asdict() for row in rows],
                "further_rounds": further,
            }
        )
        return
    _print(found, rows, further)


def _print(found: Plan, rows: list[Any], further: int | None) -> None:
    from shuffledp import rounding

    about = [f"delta={found.delta:.15g}"]
    about += [f"neighbours by {found.neighbours}"] if found.neighbours else []
    about += [f"groups of {found.differing} records"] if found.differing > 1 else []
    click.echo("; ".join(about))
    printing.table(
        _TABLE,
        [
            [
                row.phase,
                row.what,
                str(row.rounds),
                rounding.shown(row.lower, "lower"),
                rounding.shown(row.upper, "upper"),
                "" if row.left is None else rounding.shown(row.left, "lower"),
            ]
            for row in rows
        ],
    )
    for bound in found.bounds:
        click.echo(f"bound used: {bound}")
    if found.budget is not None:
        last = found.phases[-1].name
        fit = "any number of further rounds fits" if further is None else f"{further} further rounds fit"
        click.echo(f"of {last!r}, {fit} into the budget epsilon = {found.budget:.15g}")


def _draw(path: str, found: Plan, curve: dict[str, list[float]]) -> None:
    ends, so_far = [], 0
    for phase in found.phases[:-1]:
        so_far += phase.rounds
        ends.append(float(so_far))
    drawing.draw(
        path,
        x=curve["rounds"],
        curves={"upper bound": curve["epsilon_upper"], "lower bound": curve["epsilon_lower"]},
        labels=("rounds", r"$\epsilon$"),
        title=f"delta = {found.delta:g}",
        level=None if found.budget is None else ("budget", found.budget),
        marks=ends,
    )


def _where(name: str, place: tuple[str | int, ...]) -> str:
    """Return the file's name and the line of a place in it, or of the innermost part that contains it."""
    from shuffledp.records import yaml_files

    root = yaml_files.parsed(name, yaml_files.composed)
    lines = (yaml_files.line(root, place[:depth]) for depth in range(len(place), 0, -1))
    line = next(filter(None, lines), None)
    return name if line is None else f"{name} line {line}"


COMMANDS = (plan,)
