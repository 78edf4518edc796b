"""The training loop: it takes an experiment, a seed and data, and gives one row for each epoch.

It reads and writes no file. The code digest of every run covers this module and, of the modules that it
imports, those that the run uses.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from shuffledp.randomizers import registry
from shuffledp.training.data import population
from shuffledp.training.models import convex
from shuffledp.training.models import registry as models
from shuffledp.training.sgd import checkin_sgd, cldp_sgd, schedule

if TYPE_CHECKING:
    from shuffledp.training.data.dataset import Dataset
    from shuffledp.training.specification import Experiment

EXCESS = "excess_risk"  # the additional column with the schedule of girgis2021's Theorem 3
COUNTS = ("skipped", "dummies", "messages")  # the additional columns of check-in protocols
Row = Mapping[str, float]


@dataclass(frozen=True)
class Data:
    """A data set on the device that computes.

    Images are float32 of shape (count, 1, 28, 28) in [0, 1], or else features of shape (count, width). Labels
    are int64 of shape (count,).
    """

    train_images: Tensor
    train_labels: Tensor
    test_images: Tensor
    test_labels: Tensor


def placed(found: Dataset, *, on: torch.device) -> Data:
    """Return a data set on a device: images scaled to [0, 1], features as they are."""
    return Data(
        _images(found.train_images, on),
        _labels(found.train_labels, on),
        _images(found.test_images, on),
        _labels(found.test_labels, on),
    )


def _images(values: Any, on: torch.device) -> Tensor:
    tensor = torch.tensor(values).to(on)
    return tensor.unsqueeze(1).to(torch.float32) / 255 if tensor.dtype == torch.uint8 else tensor


def _labels(values: Any, on: torch.device) -> Tensor:
    return torch.tensor(values).to(on).to(torch.int64)


def start(experiment: Experiment, *, seed: int, data: Data, chunk: int | None = None) -> cldp_sgd.CldpSgd:
    """Return a run that has not begun.

    Args:
        experiment: what to train.
        seed: of weights, sampling and noise.
        data: as ``placed`` gives it.
        chunk: how many clients to compute at a time; None to measure.
    """
    model = models.create(experiment.model, seed=cldp_sgd.model_seed(seed))
    models.check(model)
    randomizer = None
    if experiment.randomizer != schedule.NO_RANDOMIZER:
        randomizer = registry.create(
            experiment.randomizer,
            dimension=sum(parameter.numel() for parameter in model.parameters()),
            radius=experiment.clip_norm,  # type: ignore[arg-type]
            eps0=experiment.eps0 if experiment.noise is None else None,
            noise_multiplier=experiment.noise,
        )
        if experiment.aggregate == "clt":
            from shuffledp.randomizers.clt import GaussianLimit

            randomizer = GaussianLimit(randomizer)  # type: ignore[arg-type]
    setting = {
        "images": data.train_images,
        "labels": data.train_labels,
        "k": experiment.k,
        "randomizer": randomizer,
        "clip": experiment.clip,
        "seed": seed,
        "projection": experiment.projection,
        "regularization": experiment.regularization,
        "chunk": chunk,
    }
    if experiment.protocol == schedule.SAMPLING:
        return cldp_sgd.CldpSgd(model, **setting)  # type: ignore[arg-type]
    holds = None
    if experiment.bootstrap:
        holds = population.Bootstrap(images=data.train_images.shape[0], seed=seed)
    protocol = schedule.protocol_of(experiment, seed=seed)
    return checkin_sgd.CheckInSgd(model, **setting, protocol=protocol, holds=holds)


def train(
    experiment: Experiment, *, seed: int, data: Data, saved: Mapping[str, Any] | None = None
) -> Iterator[tuple[list[Row], cldp_sgd.CldpSgd]]:
    """Train one run, or what is left of it, epoch by epoch.

    Args:
        experiment: what to train.
        seed: which run.
        data: as ``placed`` gives it.
        saved: the "history" after some epoch and the "state" of the run then, to go on from; None to begin.

    Yields:
        After each epoch the rows so far, and the run. A row has "epoch", "round", "test_accuracy" (on the
        test images after the epoch), "train_loss" (the mean over the epoch's rounds of the participants'
        mean, nan if there were none) and "seconds" (those spent so far). With the schedule of Theorem 3 it
        has the excess risk after the epoch too, overstated by at most 1e-6. With check-in protocols it has
        ``COUNTS`` since the run began: rounds that were skipped because nobody came, dummy updates, messages
        of clients.

    Raises:
        ValueError: the schedule is that of Theorem 3, and a gradient may be longer than the clip norm.
        ArithmeticError: the run diverged; the message names the round.
    """
    run = start(experiment, seed=seed, data=data)
    excess = _excess(experiment, data) if experiment.schedule == schedule.THEOREM3 else None
    history: list[Row] = []
    if saved is not None:
        run.restore(saved["state"])
        history = list(saved["history"])
    before = history[-1]["seconds"] if history else 0.0
    begun = time.perf_counter()
    length, dimension = schedule.rounds_per_epoch(experiment), run.parameters.numel()
    for epoch in range(len(history) + 1, schedule.total_epochs(experiment) + 1):
        rounds = range((epoch - 1) * length, epoch * length)
        steps = [schedule.step(experiment, index, dimension=dimension) for index in rounds]
        losses = [run.round(index, rate=step) for index, step in zip(rounds, steps, strict=True)]
        losses = [loss for loss in losses if not math.isnan(loss)]  # of rounds with participants
        row = {
            "epoch": epoch,
            "round": rounds[-1] + 1,
            "test_accuracy": run.accuracy(data.test_images, data.test_labels),
            "train_loss": sum(losses) / len(losses) if losses else math.nan,
            "seconds": round(before + time.perf_counter() - begun, 3),
        }
        if isinstance(run, checkin_sgd.CheckInSgd):
            row |= {name: run.counts[name] for name in COUNTS}
        if excess is not None:
            row[EXCESS] = excess(run.parameters)
        history.append(row)
        yield history, run


def _excess(experiment: Experiment, data: Data) -> convex.ExcessRisk:
    ball = {"regularization": experiment.regularization, "radius": experiment.projection}
    longest = convex.lipschitz(data.train_images, **ball)  # type: ignore[arg-type]
    if experiment.clip_norm < longest:  # type: ignore[operator]
        raise ValueError(
            f"clip_norm must be at least {longest:.6g} for schedule {schedule.THEOREM3!r}, as gradients may "
            f"be that long and clipped ones have another mean, got {experiment.clip_norm:g}"
        )
    return convex.ExcessRisk(data.train_images, data.train_labels, **ball)  # type: ignore[arg-type]
