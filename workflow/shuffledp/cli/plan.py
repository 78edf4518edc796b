"""The command that accounts for a deployment of several phases, read from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from shuffledp import optional_packages
from shuffledp.cli import drawing, printing
from shuffledp.cli.options import as_json

if TYPE_CHECKING:
    import yaml

    from shuffledp.accountants import Plan

_TABLE = ("phase", "what", "rounds", "epsilon >=", "epsilon <=", "left")


class _File(NamedTuple):
    """A file of keys and values that knows its lines."""

    content: Any
    root: yaml.Node | None


@click.command("plan")
@click.argument("deployment", metavar="FILE")
@click.option("--plot", metavar="FILE", help="Draw epsilon over all rounds: .pdf, .png or .svg.")
@click.option("--csv", metavar="FILE", help="Write epsilon over all rounds as a table.")
@as_json
def plan(deployment: str, plot: str | None, csv: str | None, as_json: bool) -> None:
    """Print what several phases cost together.

    FILE (YAML) holds delta, phases, and as one likes budget and group. A phase is a system's variables (n,
    k, eps0, ...) with rounds; or a release with known epsilon and delta; or noise with sigma and
    sensitivity. Printed are epsilon after each phase, from below and from above, what is left of the budget,
    and how many further rounds of the last phase fit. All phases must be for the same neighbours.
    """
    if plot is not None:
        drawing.check(plot)
    optional_packages.need("yaml", extra="workflow")
    read = _read(deployment)
    from shuffledp.accountants import Plan, PlanError

    try:
        found = Plan.read(read.content)
        rows = found.spent()
        further = found.further_rounds() if found.budget is not None else None
    except PlanError as error:
        raise ValueError(f"{_where(deployment, read.root, error.place)}: {error}") from error
    curve = {name: column.tolist() for name, column in found.curve().items()} if plot or csv else {}
    if csv is not None:
        _write(csv, curve)
    if plot is not None:
        _draw(plot, found, curve)
    printing.warn_of_little({}, rows[-1].upper)
    if as_json:
        printing.as_json(
            {
                "delta": found.delta,
                "budget": found.budget,
                "group": found.group,
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
    about += [f"groups of {found.group} records"] if found.group > 1 else []
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


def _write(path: str, curve: dict[str, list[float]]) -> None:
    from shuffledp.records import files

    rows = [",".join(curve)]
    rows += [",".join(f"{value:.17g}" for value in row) for row in zip(*curve.values(), strict=True)]
    files.write_text(path, "\n".join(rows) + "\n")


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


def _read(name: str) -> _File:
    """Return the content of a YAML file.

    Raises:
        ValueError: it cannot be read, or a key stands twice in one place.
    """
    import yaml

    try:
        text = Path(name).read_text(encoding="utf-8")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        content = yaml.safe_load(text)
    except OSError as error:
        raise ValueError(f"{name} cannot be read ({error.strerror}); check the path") from None
    except yaml.MarkedYAMLError as error:
        line = f" line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ValueError(f"{name}{line} is not valid YAML: {error.problem}") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{name} is not valid YAML: {error}") from None
    _refuse_repeated(name, root)
    return _File(content, root)


def _refuse_repeated(name: str, node: Any) -> None:
    import yaml

    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_repeated(name, item)
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                raise ValueError(f"{name} line {key.start_mark.line + 1}: key {key.value!r} stands twice")
            seen.add(key.value)
            _refuse_repeated(name, value)


def _where(name: str, node: Any, place: tuple[str | int, ...]) -> str:
    """Return the file and, as far as it has what is meant, the line."""
    import yaml

    line = None
    for key in place:
        if isinstance(node, yaml.SequenceNode) and isinstance(key, int):
            node = node.value[key]
            line = node.start_mark.line + 1
        elif isinstance(node, yaml.MappingNode):
            found = next(((at, value) for at, value in node.value if at.value == str(key)), None)
            if found is None:
                break
            line, node = found[0].start_mark.line + 1, found[1]
    return name if line is None else f"{name} line {line}"


COMMANDS = (plan,)
