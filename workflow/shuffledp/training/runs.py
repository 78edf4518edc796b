"""Runs: an experiment with a seed, from the data to the rows of its epochs, with checkpoints on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from shuffledp.training import checkpoints
from shuffledp.training.data import datasets
from shuffledp.training.experiment import Experiment
from shuffledp.training.sgd import loop
from shuffledp.training.sgd.loop import Data, Row

COLUMNS = ("epoch", "round", "test_accuracy", "train_loss", "seconds")


def device(name: str) -> torch.device:
    """Return the device of that name: "cpu", "cuda", or "auto" for a GPU if there is one.

    Raises:
        ValueError: the name is unknown, or there is no GPU.
    """
    if name not in ("auto", "cpu", "cuda"):
        raise ValueError(f"device must be one of auto, cpu, cuda, got {name!r}")
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            "device 'cuda' needs a GPU that torch can use, and there is none; use 'auto' or 'cpu'"
        )
    if name == "cpu" or not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda")


def load(experiment: Experiment, *, root: Path | str | None, on: torch.device) -> Data:
    """Return the data of an experiment on a device.

    There are as many training images as clients, or all of them if clients draw theirs with replacement.
    """
    if experiment.features is not None:
        from shuffledp.training.features import extraction

        return loop.placed(extraction.load(experiment, root=root), on=on)
    clients = None if experiment.bootstrap else experiment.n
    found = datasets.load(experiment.data, root=root, clients=clients, digits=experiment.digits)
    return loop.placed(found, on=on)


def train(
    experiment: Experiment,
    *,
    seed: int,
    data: Data,
    checkpoint: Path | str | None = None,
    identity: str = "",
    report: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    """Train one run, or what is left of it.

    Args:
        experiment: what to train.
        seed: which run.
        data: as ``load`` gives it.
        checkpoint: file that is written after every epoch, and from which a run that was stopped goes on;
            None to do without. The rows of a run that was stopped differ in the seconds alone.
        identity: whatever tells this run from another; a checkpoint with a different one is not used.
        report: called with each epoch's row, those of a checkpoint included.

    Returns:
        One row an epoch, as ``loop.train`` gives them.

    Raises:
        ValueError: with the schedule of Theorem 3, if a client's gradient may be longer than the clip norm.
        ArithmeticError: the run diverged; the message names the round.
    """
    saved = _saved(checkpoint, identity)
    history = [] if saved is None else saved["history"]
    for row in history:
        report(row)
    for history, run in loop.train(experiment, seed=seed, data=data, saved=saved):
        if checkpoint is not None:
            checkpoints.save(checkpoint, {"identity": identity, "state": run.state(), "history": history})
        report(history[-1])
    return history


def columns(history: Sequence[Row]) -> dict[str, list[float]]:
    """Return the columns of the table of a run, in their order."""
    names = [*COLUMNS, *(name for name in (*loop.COUNTS, loop.EXCESS) if name in history[0])]
    return {name: [row[name] for row in history] for name in names}


def _saved(checkpoint: Path | str | None, identity: str) -> dict[str, Any] | None:
    """Return a checkpoint's content, or None if there is none of this run."""
    if checkpoint is None:
        return None
    content = checkpoints.load(checkpoint, keys=("identity", "state", "history"))
    if content is None or content["identity"] != identity:
        return None
    return {"state": content["state"], "history": list(content["history"])}
