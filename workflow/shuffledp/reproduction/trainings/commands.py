"""The functions that the command line and the workflow's script call to train and reproduce."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import torch

from shuffledp.records import files, requests
from shuffledp.reproduction import jobs
from shuffledp.reproduction.trainings import making, progress, recorded, replay
from shuffledp.training import costs, runs
from shuffledp.training.experiment import Experiment


def make(paths: Iterable[Path | str], *, name: str, on: torch.device, root: str | None) -> None:
    """Make requested runs of one experiment, one after the other, on data that are loaded once.

    Args:
        paths: of the runs' requests, which ``requests.stage`` wrote.
        name: of the experiment.
        on: device to compute on.
        root: folder of the data; None for the default.
    """
    data, requested = None, [(path, files.read_json(path)) for path in paths]
    experiments = [Experiment.from_parameters(name, request["parameters"]) for _, request in requested]
    for (path, request), experiment in zip(requested, experiments, strict=True):
        if data is None:
            data = runs.load(experiment, root=root, on=on)
            costs.announce(name, experiments)
        label = f"{name} seed {request['parameters']['seed']}"
        making.make(
            path,
            name=name,
            checkpoint=jobs.checkpoint_of(request["outputs"][0], ".pt"),
            data=data,
            on=on,
            report=progress.lines(label, epochs=experiment.total_epochs),
        )


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
        ValueError: the device or the data are not available.
        ArithmeticError: a run diverged; the message names the round.
    """
    on = runs.device(device)
    torch.set_num_threads(threads)
    left = {}
    for seed in seeds:
        product = recorded.product(experiment, folder, seed)
        if product.is_current():
            say(f"{product.outputs[0]} is up to date")
        else:
            left[seed] = product
    if not left:
        return
    data = runs.load(experiment, root=root, on=on)
    costs.announce(experiment.name, [experiment] * len(left))
    for seed, product in left.items():
        with tempfile.TemporaryDirectory() as scratch:
            request = requests.stage(product, scratch)
            with progress.reporting(
                f"{experiment.name} seed {seed}", epochs=experiment.total_epochs
            ) as report:
                making.make(
                    request,
                    name=experiment.name,
                    checkpoint=jobs.checkpoint_of(product.outputs[0], ".pt"),
                    data=data,
                    on=on,
                    report=report,
                )
        seconds = files.read_json(product.record)["environment"]["seconds"]
        say(f"{product.outputs[0]} written after {seconds:.0f} s")


def reproduce(
    experiment: Experiment,
    *,
    seeds: Iterable[int],
    rows: int,
    stamp: bool,
    folder: str,
    root: str | None,
    say: Callable[[str], None],
) -> bool:
    """Train the first epochs of recorded runs again, and compare them with their tables.

    Args:
        experiment: whose runs are trained again.
        seeds: of the runs.
        rows: number of epochs of each, at most all.
        stamp: as for ``replay.replay``.
        folder: where the CSV files and records are.
        root: folder of the data; None for the default.
        say: prints a line.

    Returns:
        Whether all runs are reproduced.

    Raises:
        ValueError: a run has fewer epochs than ``rows``, or a table, a record or the data cannot be read.
    """
    # the data may take minutes
    replay.check_rows(experiment, rows)
    torch.set_num_threads(1)
    data = runs.load(experiment, root=root, on=torch.device("cpu"))
    again = functools.partial(
        replay.replay, experiment, folder=folder, data=data, rows=rows, stamp=stamp, say=say
    )
    return all([again(seed=seed) for seed in seeds])
