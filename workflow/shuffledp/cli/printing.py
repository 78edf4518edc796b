"""How commands print: settings in a line, tables, brackets and warnings, and the same as JSON."""

from __future__ import annotations

import json
import math
import operator
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from shuffledp.accountants import Accountant, Bracket

# The keys that describe an accountant in JSON.
FIELDS = (
    "name",
    "kind",
    "scope",
    "protocol",
    "mechanism",
    "neighbours",
    "citation",
    "theorem",
    "needs",
    "label",
    "note",
)
SIGN = {"upper": "<=", "estimate": "~", "lower": ">="}

# In a narrow terminal these long columns stand below their row, in this order and form.
_LONG = {"citation": "{}: ", "theorem": "{}", "needs": "; needs {}", "words": "{}"}
_LEAST = 30  # width of a paragraph in columns, even if the terminal has fewer
_INDENT = 4
_HEAD = 2  # lines of a table above its rows
_LITTLE = 20.0  # epsilon above which there is a warning


def described(entry: Accountant) -> dict[str, Any]:
    """Return an accountant as JSON describes it."""
    own = {"neighbours": str(entry.system.neighbours), "needs": list(entry.needs)}
    return {field: own[field] if field in own else getattr(entry, field) for field in FIELDS}


def side(entry: Accountant) -> str:
    """Return an accountant's kind and, if it bounds something other than epsilon, its scope."""
    return entry.kind if entry.scope == "epsilon" else f"{entry.kind} ({entry.scope})"


def source(entry: Accountant) -> str:
    """Return an accountant's name, kind and theorem in a few words."""
    return f"{entry.name} [{side(entry)}; {entry.citation}: {entry.theorem}]"


def in_words(setting: Mapping[str, float]) -> str:
    """Return a setting in a line."""
    return ", ".join(f"{name}={value:.15g}" for name, value in setting.items())


def digits(value: float) -> str:
    """Return an answer of ``calibration`` with all its digits, trailing zeros included."""
    from shuffledp import rounding

    return f"{value:g}" if value in (0, 1) else f"{value:#.{rounding.DIGITS}g}"


def bracket_in_words(found: Bracket, *, joined: str) -> str:
    """Return a bracket in a line.

    Args:
        found: the bracket.
        joined: what stands between the names of the bounds at its ends.
    """
    from shuffledp import rounding

    low, high = rounding.shown(found.lower, "lower"), rounding.shown(found.upper, "upper")
    ratio = f", ratio {rounding.shown(found.ratio, 'upper', digits=4)}" if math.isfinite(found.ratio) else ""
    return f"epsilon in [{low}, {high}] by {joined.join(found.names)}{ratio}"


def bracket_as_json(found: Bracket | None) -> dict[str, Any] | None:
    """Return a bracket as JSON describes it."""
    if found is None:
        return None
    return {
        "lower": found.lower,
        "upper": found.upper,
        "ratio": found.ratio,
        "names": dict(zip(("lower", "upper"), found.names, strict=True)),
        "neighbours": str(found.neighbours),
    }


def warn_of_little(*guarantees: tuple[Mapping[str, float], float]) -> None:
    """Warn of guarantees that hold but promise little; of several guarantees only of the worst.

    Args:
        guarantees: pairs of a setting, of which n and delta count, and epsilon; a figure has several.
    """
    where = "in the figure, " if len(guarantees) > 1 else ""
    large = [(one["n"] * one["delta"], one) for one, _ in guarantees if "n" in one and "delta" in one]
    share, worst = max(large, key=operator.itemgetter(0), default=(0.0, {}))
    if share >= 1:
        warn(
            f"{where}delta = {worst['delta']:g} is at least 1/n = {1 / worst['n']:g}: a mechanism that "
            "publishes the record of a random client whole would pass; take a delta far below 1/n"
        )
    epsilons = [epsilon for _, epsilon in guarantees]
    if any(map(math.isinf, epsilons)):
        warn(f"{where}epsilon = inf is no guarantee: no finite bound was found here")
    largest = max(filter(math.isfinite, epsilons), default=0.0)
    if largest > _LITTLE:
        from shuffledp import rounding

        shown = rounding.shown(largest, "upper", digits=4)
        warn(
            f"{where}epsilon = {shown} promises next to nothing: what is published may be "
            f"e^{shown} times as likely with one record as with another"
        )


def warn(message: str) -> None:
    """Print a warning on stderr, where it does not mix with the answer."""
    click.echo(f"Warning: {message}", err=True)


def width() -> int | None:
    """Return how many columns the terminal has; None if standard output is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def paragraph(text: str, *, indent: int = 0) -> None:
    """Print a text, wrapped to the width of the terminal; in one line if there is no terminal."""
    room = width()
    spaces = " " * indent
    if room is None:
        click.echo(spaces + text)
        return
    # options are not broken at their hyphens
    lines = textwrap.wrap(
        text, max(room, _LEAST), initial_indent=spaces, subsequent_indent=spaces, break_on_hyphens=False
    )
    click.echo("\n".join(lines))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table with one line for each row.

    In a terminal that is too narrow for it, the columns of ``_LONG`` stand below their row.
    """
    room = width()
    whole = _padded(columns, rows)
    if room is None or max(map(len, whole)) <= room:
        click.echo("\n".join(whole))
        return
    told = [index for index, column in enumerate(columns) if column in _LONG]
    kept = [index for index, column in enumerate(columns) if column not in _LONG]
    short = _padded([columns[index] for index in kept], [[row[index] for index in kept] for row in rows])
    click.echo("\n".join(short[:_HEAD]))
    for line, row in zip(short[_HEAD:], rows, strict=True):
        click.echo(line)
        if told:
            below = "".join(_LONG[columns[index]].format(row[index]) for index in told if row[index])
            paragraph(below, indent=_INDENT)


def _padded(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table: its head in ``_HEAD`` lines, then the rows."""
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    padded = [
        "   ".join(cell.ljust(wide) for cell, wide in zip(cells, widths, strict=True)).rstrip()
        for cells in (columns, *rows)
    ]
    return [padded[0], "-" * max(map(len, padded)), *padded[1:]]


def as_json(content: Any) -> None:
    """Print the answer of a command as JSON."""
    click.echo(json.dumps(_finite(content), indent=2, allow_nan=False))


def _finite(content: Any) -> Any:
    """Return the content with strings or null in place of numbers that are not finite, which JSON has not.

    ``float``, ``pandas.to_numeric`` and R's ``as.numeric`` read "inf" and "-inf" as numbers, and jq orders
    strings above all numbers, whereas it orders null below them.
    """
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_finite(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None if math.isnan(content) else str(content)
    return content
