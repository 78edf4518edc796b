"""What the command line and the workflow's script call: train, show how far it is, write the product."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable

import torch

from shuffledp import files, jobs, provenance
from shuffledp.training import progress, runs
from shuffledp.training.experiment import Experiment


def train(
    experiment: Experiment,
    *,
    seeds: Iterable[int],
    device: str,
    threads: int,
    folder: str,
    root: str | None,
    say: Callable[[str], None],
) -> None:
    """Make the runs of an experiment that are not made yet, one after the other.

    Args:
        experiment: what to train.
        seeds: which runs.
        device: "auto", "cpu" or "cuda".
        threads: CPU threads.
        folder: where the CSV files and records go.
        root: folder of the data; None for the default.
        say: prints a line.

    Raises:
        ValueError: device or data are not to be had.
        ArithmeticError: a run diverged; the message names the round.
    """
    on = runs.device(device)
    torch.set_num_threads(threads)
    data = None
    for seed in seeds:
        product = experiment.product(folder, seed)
        if product.is_current():
            say(f"{product.outputs[0]} is up to date")
            continue
        if data is None:
            data = runs.load(experiment, root=root, on=on)
        with tempfile.TemporaryDirectory() as scratch:
            request = provenance.stage(product, scratch)
            with progress.reporting(
                f"{experiment.name} seed {seed}", epochs=experiment.total_epochs
            ) as report:
                runs.make(
                    request,
                    name=experiment.name,
                    checkpoint=jobs.checkpoint_of(product.outputs[0], ".pt"),
                    data=data,
                    on=on,
                    report=report,
                )
        seconds = files.read_json(product.record)["environment"]["seconds"]
        say(f"{product.outputs[0]} written after {seconds:.0f} s")
