"""Runs: an experiment with a seed, from the data to the CSV file, with checkpoints on the way."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from shuffledp import files, provenance, tables
from shuffledp.randomizers import registry
from shuffledp.training import checkin_sgd, checkpoints, cldp_sgd, convex, datasets, models, population
from shuffledp.training.experiment import NONE, SAMPLING, THEOREM3, Experiment

PACKAGES = ("torch", "numpy", "scipy")
COLUMNS = ("epoch", "round", "test_accuracy", "train_loss", "seconds")
EXCESS = "excess_risk"  # one more, with the schedule of girgis2021's Theorem 3
COUNTS = ("skipped", "dummies", "messages")  # three more, of check-in protocols
Row = Mapping[str, float]


@dataclass(frozen=True)
class Data:
    """A data set on the device that computes: images (count, 1, 28, 28) in [0, 1] or features
    (count, width), labels int64."""

    train_images: Tensor
    train_labels: Tensor
    test_images: Tensor
    test_labels: Tensor


def device(name: str) -> torch.device:
    """Return the device of that name: "cpu", "cuda", or "auto" for a GPU if there is one, TF32 off.

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
    # with ten bits of the products a clipped gradient could be longer than the clip norm
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    return torch.device("cuda")


def load(experiment: Experiment, *, root: Path | str | None, on: torch.device) -> Data:
    """Return the experiment's data on a device: as many training images as clients, or all of them where the
    clients' are drawn from them."""
    if experiment.features is not None:
        from shuffledp.training import features

        rows = features.load(experiment, root=root)
        return Data(
            torch.tensor(rows.train_images).to(on),
            _labels(rows.train_labels, on),
            torch.tensor(rows.test_images).to(on),
            _labels(rows.test_labels, on),
        )
    clients = None if experiment.bootstrap else experiment.n
    found = datasets.load(experiment.data, root=root, clients=clients, digits=experiment.digits)
    return Data(
        _images(found.train_images, on),
        _labels(found.train_labels, on),
        _images(found.test_images, on),
        _labels(found.test_labels, on),
    )


def _images(values: Any, on: torch.device) -> Tensor:
    return torch.tensor(values).to(on).unsqueeze(1).to(torch.float32) / 255


def _labels(values: Any, on: torch.device) -> Tensor:
    return torch.tensor(values).to(on).to(torch.int64)


def start(experiment: Experiment, *, seed: int, data: Data, chunk: int | None = None) -> cldp_sgd.CldpSgd:
    """Return a run that has not begun.

    Args:
        experiment: what to train.
        seed: of weights, sampling and noise.
        data: as ``load`` gives it.
        chunk: how many clients to compute at a time; None to measure.
    """
    model = models.create(experiment.model, seed=cldp_sgd.model_seed(seed))
    models.check(model)
    randomizer = None
    if experiment.randomizer != NONE:
        randomizer = registry.create(
            experiment.randomizer,
            dimension=sum(parameter.numel() for parameter in model.parameters()),
            radius=experiment.clip_norm,
            eps0=experiment.eps0 if experiment.noise is None else None,
            noise_multiplier=experiment.noise,
        )
        if experiment.aggregate == "clt":
            from shuffledp.randomizers.clt import GaussianLimit

            randomizer = GaussianLimit(randomizer)
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
    if experiment.protocol == SAMPLING:
        return cldp_sgd.CldpSgd(model, **setting)
    holds = None
    if experiment.bootstrap:
        holds = population.Bootstrap(images=data.train_images.shape[0], seed=seed)
    return checkin_sgd.CheckInSgd(model, **setting, protocol=experiment.who(seed), holds=holds)


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
        checkpoint: file that is written after every epoch, and that a run which was killed goes on from;
            None for neither. What comes out is the same with and without a kill, but for the seconds.
        identity: whatever tells this run from another; a checkpoint with a different one is not used.
        report: called with each epoch's row, those of a checkpoint included.

    Returns:
        One row an epoch: ``COLUMNS``. Accuracy is on the test images after the epoch, the loss the mean over
        the epoch's rounds of the participants' mean (nan if there were none), the seconds those spent so far.
        With the schedule of Theorem 3 the excess risk after the epoch too, overstated by at most 1e-6. With
        check-in protocols ``COUNTS`` too, since the run began: rounds that were skipped because nobody came,
        dummy updates, messages of clients.

    Raises:
        ValueError: with that schedule, if a client's gradient may be longer than the clip norm.
        ArithmeticError: the run diverged; the message names the round.
    """
    run = start(experiment, seed=seed, data=data)
    excess = _excess(experiment, data) if experiment.schedule == THEOREM3 else None
    history: list[Row] = []
    saved = _saved(checkpoint, identity)
    if saved is not None:
        run.restore(saved["state"])
        history = saved["history"]
        for row in history:
            report(row)
    before = history[-1]["seconds"] if history else 0.0
    begun = time.perf_counter()
    for epoch in range(len(history) + 1, experiment.total_epochs + 1):
        first = (epoch - 1) * experiment.rounds_per_epoch
        rounds = range(first, first + experiment.rounds_per_epoch)
        losses = [run.round(index, rate=experiment.step(index)) for index in rounds]
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
        if checkpoint is not None:
            checkpoints.save(checkpoint, {"identity": identity, "state": run.state(), "history": history})
        report(row)
    return history


def _excess(experiment: Experiment, data: Data) -> convex.ExcessRisk:
    ball = {"regularization": experiment.regularization, "radius": experiment.projection}
    longest = convex.lipschitz(data.train_images, **ball)
    if experiment.clip_norm < longest:
        raise ValueError(
            f"clip_norm must be at least {longest:.6g} for schedule {THEOREM3!r}, as gradients may be that "
            f"long and clipped ones have another mean, got {experiment.clip_norm:g}"
        )
    return convex.ExcessRisk(data.train_images, data.train_labels, **ball)


def identity(request: Mapping[str, Any], on: torch.device) -> str:
    """Return what tells the checkpoints of a request on a device from those of any other."""
    return f"{request['code']} {on.type} {request['parameters']}"


def _saved(checkpoint: Path | str | None, identity: str) -> dict[str, Any] | None:
    """Return a checkpoint's content, or None if there is none of this run."""
    if checkpoint is None:
        return None
    content = checkpoints.load(checkpoint, keys=("identity", "state", "history"))
    if content is None or content["identity"] != identity:
        return None
    return {"state": content["state"], "history": list(content["history"])}


def make(
    request_path: Path | str,
    *,
    name: str,
    checkpoint: Path | str,
    root: Path | str | None = None,
    on: torch.device,
    data: Data | None = None,
    report: Callable[[Row], None] = lambda row: None,
) -> None:
    """Make the product of a run: the CSV file, and the record beside it.

    Args:
        request_path: the request that ``provenance.stage`` wrote.
        name: the experiment's name.
        checkpoint: as for ``train``; removed once the product is made.
        root: folder of the data.
        on: device to compute on.
        data: the data, if it is loaded already.
        report: as for ``train``.
    """
    request = files.read_json(request_path)
    experiment = Experiment.from_parameters(name, request["parameters"])
    seed = request["parameters"]["seed"]
    begun = time.perf_counter()
    history = train(
        experiment,
        seed=seed,
        data=load(experiment, root=root, on=on) if data is None else data,
        checkpoint=checkpoint,
        identity=identity(request, on),
        report=report,
    )
    (output,) = request["outputs"]
    columns = [*COLUMNS, *(name for name in (*COUNTS, EXCESS) if name in history[0])]
    tables.write_table(output, {column: [row[column] for row in history] for column in columns})
    environment = provenance.environment(packages=PACKAGES, seconds=time.perf_counter() - begun)
    hardware = torch.cuda.get_device_name(on) if on.type == "cuda" else "CPU"
    environment |= {
        "device": {"type": on.type, "name": hardware, "threads": torch.get_num_threads()},
        "training_seconds": history[-1]["seconds"],
    }
    provenance.record(request_path, environment=environment)
    Path(checkpoint).unlink(missing_ok=True)
