"""Does this code on this machine give a recorded run? Its first epochs are trained again and compared.

A record says by a digest of code which code made a run. Where code was moved or guarded since, and the run
was not trained again, replaying it is what proves that nothing changed: the rows of an epoch depend on every
draw and every step before. What was compared is kept in the record, as ``environment.proof``.
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

# Tables had ten significant digits once.
_DIGITS = 5e-10


def differences(
    experiment: Experiment, *, seed: int, data: loop.Data, table: Path | str, rows: int
) -> list[str]:
    """Train the first epochs of a run again and compare them with its table, seconds left out.

    Args:
        experiment: what was trained.
        seed: which run.
        data: as ``loop.placed`` gives it.
        table: the run's CSV file.
        rows: how many epochs to train; all at most.

    Returns:
        A line for each value that differs; empty if none does.

    Raises:
        ValueError: the table cannot be read.
    """
    kept = tables.read_table(table, needs=("epoch", "seconds")).to_dict("records")
    run = loop.train(experiment, seed=seed, data=data)
    found: list[loop.Row] = []
    for history, _ in itertools.islice(run, rows):
        found = list(history)
    return [
        f"{name} after epoch {row['epoch']:.0f}: {row[name]!r}, and {other[name]!r} in the table"
        for row, other in zip(found, kept, strict=False)
        for name in row
        if name != "seconds" and not _equal(row[name], other.get(name, math.nan))
    ]


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
    """Compare one run with its record's table, and say how it came out.

    Args:
        experiment: what was trained.
        seed: which run.
        folder: where its CSV file and record are.
        data: as ``loop.placed`` gives it.
        rows: how many epochs to train.
        stamp: whether the record of a run that is reproduced shall say that it is current, and by what proof.
        say: prints a line.

    Returns:
        Whether every value was that of the table.

    Raises:
        ValueError: the table or the record cannot be read, or ``stamp`` is set and the record's parameters or
            checksums are not those of the run: then it must be trained again.
    """
    product = recorded.product(experiment, folder, seed)
    wrong = differences(experiment, seed=seed, data=data, table=product.outputs[0], rows=rows)
    label = f"{product.outputs[0]}, {rows} of {experiment.total_epochs} epochs"
    if wrong:
        say(f"{label}: not reproduced: {wrong[0]} ({len(wrong)} values differ)")
        return False
    say(f"{label}: reproduced")
    if stamp:
        _stamp(product, rows)
    return True


def _stamp(product: Product, rows: int) -> None:
    """Let a record say that the run is that of the code as it is, and by what proof."""
    record: dict[str, Any] = files.read_json(product.record)
    request = product.request()
    if record["request"]["parameters"] != request["parameters"]:
        raise ValueError(f"{product.record} is of other parameters; train the run again")
    if record["outputs"] != checksums(product.outputs):
        raise ValueError(f"{product.outputs[0]} is not the file that was recorded; train the run again")
    record["request"] = request
    record["environment"]["proof"] = {"how": "replay", "epochs": rows, "git": provenance.git_state()}
    files.write_json(product.record, record)
