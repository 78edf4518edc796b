"""Tries of learning rates on a held-out part of the training set; the test set is not used."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from shuffledp.records import provenance, requests, tables
from shuffledp.reproduction import jobs
from shuffledp.reproduction.trainings import making, tries
from shuffledp.reproduction.trainings.learning_rates import SEED, Tuning
from shuffledp.training import costs, runs
from shuffledp.training.sgd.cldp_sgd import DivergenceError
from shuffledp.training.sgd.loop import Data, Row


def tune(
    tuning: Tuning,
    *,
    data: Data,
    checkpoints: Sequence[Path],
    identity: str,
    say: Callable[[str], None],
) -> list[Row]:
    """Return a row for each learning rate, as of ``tries.result``; with halving also "epochs", its length.

    Args:
        tuning: the learning rates to try.
        data: as returned by ``runs.load`` for the experiment.
        checkpoints: one file for each try, from which a killed try goes on; they are not removed.
        identity: text that distinguishes these tries from others.
        say: called with one line for each try.
    """
    parts = tries.split(data, tuning.held_out, seed=SEED)
    left, rows = list(range(len(tuning.tries))), {}  # type: ignore[var-annotated]
    for count, epochs in tuning.stages:
        left = sorted(left, key=lambda at: -_height(rows.get(at)))[:count]
        for at in sorted(left):
            entry = replace(tuning.tries[at], epochs=(epochs,))
            try:
                history = runs.train(
                    entry, seed=SEED, data=parts, checkpoint=checkpoints[at], identity=identity
                )
            except DivergenceError:
                history = None
            rows[at] = tries.result(entry.learning_rates[0], history)
            if tuning.halving:
                rows[at]["epochs"] = epochs  # type: ignore[index]
            rate, accuracy = entry.learning_rates[0], rows[at]["accuracy"]
            after = f" after {epochs} epochs" if tuning.halving else ""
            say(f"{entry.name}: learning rate {rate:g}, held-out accuracy {accuracy:.4f}{after}")
    return [rows[at] for at in range(len(tuning.tries))]


def _height(row: Row | None) -> float:
    """Return the number by which tries are ranked: accuracy, or less than any accuracy if a try diverged."""
    return -1.0 if row is None or math.isnan(row["accuracy"]) else row["accuracy"]


def make(
    tuning: Tuning,
    *,
    results: str,
    device: str,
    threads: int,
    root: Path | str | None,
    say: Callable[[str], None],
) -> None:
    """Make the table of tries and its record, unless they are up to date; a killed try goes on.

    Args:
        tuning: the learning rates to try.
        results: folder of the results.
        device: "auto", "cpu" or "cuda".
        threads: CPU threads.
        root: folder of the data; None for the default.
        say: prints a line.

    Raises:
        ValueError: the device or the data are not available, or there are too few images to hold out.
    """
    product = tuning.product(results)
    if product.is_current():
        say(f"{product.outputs[0]} is up to date")
        return
    on = runs.device(device)
    torch.set_num_threads(threads)
    begun = time.perf_counter()
    data = runs.load(tuning.experiment, root=root, on=on)
    costs.announce(f"tuning {tuning.experiment.name}", tuning.longest)
    checkpoints = [
        jobs.checkpoint_of(product.outputs[0], f"-{number}.pt") for number in range(len(tuning.tries))
    ]
    identity = making.identity(product.request(), on)
    rows = tune(tuning, data=data, checkpoints=checkpoints, identity=identity, say=say)
    tables.write_table(product.outputs[0], {name: [row[name] for row in rows] for name in rows[0]})
    environment = provenance.environment(packages=making.PACKAGES, seconds=time.perf_counter() - begun)
    with tempfile.TemporaryDirectory() as scratch:
        staged = requests.stage(product, scratch)
        requests.record(staged, environment={**environment, "device": {"type": on.type}})
    for checkpoint in checkpoints:
        checkpoint.unlink(missing_ok=True)
    say(f"{product.outputs[0]} written")
