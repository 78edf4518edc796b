"""Reproducing recorded runs: their first epochs are trained again by this code, on this machine, and
compared.

A record has a digest of the code that made a run. If the code has been moved or guarded since, and the run
was not trained again, replaying it proves that nothing has changed, since the row of an epoch depends on
every random draw and every step before. The record keeps what was compared, as ``environment.proof``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shuffledp.records import files, provenance, tables
from shuffledp.records.product import Product, checksums
from shuffledp.reproduction.trainings import recorded
from shuffledp.training.experiment import Experiment
from shuffledp.training.sgd import loop

# Older tables have ten significant digits.
_DIGITS = 5e-10


def check_rows(experiment: Experiment, rows: int) -> None:
    """Make sure that a run has so many epochs to compare.

    Raises:
        ValueError: it has fewer, or none is asked for.
    """
    if not 1 <= rows <= experiment.total_epochs:
        raise ValueError(
            f"epochs must be 1 to {experiment.total_epochs}, those of a run of {experiment.name}, got {rows}"
        )


def compare(
    experiment: Experiment, *, seed: int, data: loop.Data, table: Path | str, rows: int
) -> tuple[int, list[str]]:
    """Train the first epochs of a run again and compare them with its table, seconds left out.

    Args:
        experiment: of the run.
        seed: of the run.
        data: as returned by ``loop.placed``.
        table: the run's CSV file.
        rows: number of epochs to train, at most all.

    Returns:
        The number of epochs that were compared, and one line for each value that differs. If the rows of the
        table are not those of the run's epochs, that is the only difference, and nothing is trained.

    Raises:
        ValueError: the run has fewer epochs than ``rows``, or the table cannot be read.
    """
    check_rows(experiment, rows)
    kept = tables.read_table(table, needs=("epoch", "seconds")).to_dict("records")
    last = experiment.total_epochs
    # a table that was cut off would agree with the epochs that it still has
    if [row["epoch"] for row in kept] != list(range(1, last + 1)):
        return 0, [f"the table's rows ({len(kept)}) are not those of epochs 1 to {last}"]
    run = loop.train(experiment, seed=seed, data=data)
    found: list[loop.Row] = []
    for history, _ in itertools.islice(run, rows):
        found = list(history)
    wrong = [
        f"{name} after epoch {row['epoch']:.0f}: {row[name]!r}, and {other[name]!r} in the table"
        for row, other in zip(found, kept[: len(found)], strict=True)
        for name in row
        if name != "seconds" and not _equal(row[name], other.get(name, math.nan))
    ]
    return len(found), wrong


def _equal(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_DIGITS) or (math.isnan(one) and math.isnan(other))


def replay(
    experiment: Experiment,
    *,
    seed: int,
    folder: str,
    data: loop.Data,
    rows: int,
    stamp: bool,
    say: Callable[[str], None],
) -> bool:
    """Train the first epochs of one run again, compare them with its table, and print the result.

    Args:
        experiment: of the run.
        seed: of the run.
        folder: of its CSV file and record.
        data: as returned by ``loop.placed``.
        rows: number of epochs to train, at most all.
        stamp: whether to make the record of a run that is reproduced current, with the proof.
        say: prints a line.

    Returns:
        Whether every value is equal to that of the table.

    Raises:
        ValueError: the run has fewer epochs than ``rows``, the table or the record cannot be read, or
            ``stamp`` is set and the record's parameters or checksums are not those of the run: then it must
            be trained again.
    """
    product = recorded.product(experiment, folder, seed)
    count, wrong = compare(experiment, seed=seed, data=data, table=product.outputs[0], rows=rows)
    label = f"{product.outputs[0]}, {count} of {experiment.total_epochs} epochs"
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        say(f"{label}: not reproduced: {wrong[0]}{more}")
        return False
    say(f"{label}: reproduced")
    if stamp:
        _stamp(product, count)
    return True


def _stamp(product: Product, rows: int) -> None:
    """Write the present code's digest into a record, and what was compared as the proof."""
    record: dict[str, Any] = files.read_json(product.record)
    request = product.request()
    if record["request"]["parameters"] != request["parameters"]:
        raise ValueError(f"{product.record} is of other parameters; train the run again")
    if record["outputs"] != checksums(product.outputs):
        raise ValueError(f"{product.outputs[0]} is not the file that was recorded; train the run again")
    record["request"] = request
    record["environment"]["proof"] = {"how": "replay", "epochs": rows, "git": provenance.git_state()}
    files.write_json(product.record, record)
