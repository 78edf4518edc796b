"""Features of colour images: computed once, kept in a file, and read by every run of an experiment."""

from __future__ import annotations

import functools
import hashlib
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp import optional_packages
from shuffledp.records import digest, files
from shuffledp.training import checkpoints, costs
from shuffledp.training.data import cifar, colour_images, synthetic
from shuffledp.training.data.dataset import Dataset, of_clients
from shuffledp.training.experiment import Experiment
from shuffledp.training.features import pretraining, scattering

CACHE = "resources/features"
Arrays = dict[str, NDArray[Any]]

log = logging.getLogger(__name__)


def load(experiment: Experiment, *, root: Path | str | None = None, cache: Path | str = CACHE) -> Dataset:
    """Return features and labels in place of images: client i holds training row i.

    They are read from the cache, whose files are checked, or else computed and put there.

    Args:
        experiment: one with features.
        root: folder of the data.
        cache: folder of the features.

    Raises:
        ValueError: data or packages are missing, a file of the cache is not what was written, or there are
            fewer rows than clients.
    """
    path = stem(experiment, cache=cache)
    table, record = path.with_suffix(".npz"), path.with_suffix(".json")
    if not (table.exists() and record.exists()):
        made = _computed(experiment, root, path)
        with files.replacing(table) as temporary, open(temporary, "wb") as stream:
            np.savez(stream, allow_pickle=False, **made)
        files.write_json(record, {"about": _about(experiment), "sha256": files.sha256(table)})
        path.with_suffix(".pt").unlink(missing_ok=True)
    written = files.read_json(record)
    if not isinstance(written, dict) or written.get("sha256") != files.sha256(table):
        raise ValueError(f"{table} and {record.name} are not what was written; delete both and run again")
    with np.load(table) as found:
        kept = {name: found[name] for name in found.files}
    available = kept["train"].shape[0]
    if experiment.n > available and not experiment.bootstrap:
        raise ValueError(
            f"n must be at most {available}, the private training images of {experiment.data} with features "
            f"{experiment.features!r}, got {experiment.n}"
        )
    found = Dataset(kept["train"], kept["train_labels"], kept["test"], kept["test_labels"])
    return of_clients(found, None if experiment.bootstrap else experiment.n)


def stem(experiment: Experiment, *, cache: Path | str = CACHE) -> Path:
    """Return where the features of an experiment are kept, without a suffix; all that decides them counts."""
    about = json.dumps(_about(experiment), sort_keys=True).encode()
    return Path(cache) / f"{experiment.data}-{experiment.features}-{hashlib.sha256(about).hexdigest()[:16]}"


def _about(experiment: Experiment) -> Mapping[str, Any]:
    """Return all that decides the features."""
    return {
        "data": experiment.data,
        "features": experiment.features,
        "sums": experiment.sums,
        "code": digest.code_digest(experiment.feature_modules),
        "count": experiment.n if experiment.data == "synthetic" else None,
    }


def _computed(experiment: Experiment, root: Path | str | None, stem: Path) -> Arrays:
    data = _images(experiment, root)
    train, test = colour_images.floats(data.train_images), colour_images.floats(data.test_images)
    labels = data.train_labels
    log.info(
        "computing features %s of %s, some %g minutes of one CPU core",
        experiment.features,
        experiment.data,
        costs.feature_minutes(experiment),
    )
    if experiment.features == "scattering":
        optional_packages.need("kymatio", extra="scattering")
        rows = [scattering.features(part) for part in (train, test)]
    else:
        if experiment.features == "public-half":
            public, (train, labels) = pretraining.apart(train, labels)
        else:
            other = _public(experiment, root)
            public = colour_images.floats(other.train_images), other.train_labels
        checkpoint = stem.with_suffix(".pt")
        assert experiment.features is not None  # only these have features
        rows = pretraining.rows(
            public,
            (train, test),
            epochs=1 if experiment.data == "synthetic" else pretraining.EPOCHS[experiment.features],
            saved=checkpoints.load(checkpoint, keys=("network", "optimizer", "source", "epoch")),
            save=functools.partial(checkpoints.save, checkpoint),
            say=log.info,
        )
    return {
        "train": rows[0].numpy(),
        "train_labels": labels,
        "test": rows[1].numpy(),
        "test_labels": data.test_labels,
    }


def _images(experiment: Experiment, root: Path | str | None) -> Dataset:
    if experiment.data != "synthetic":
        return cifar.load(experiment.data, root=root)
    halves = 2 if experiment.features == "public-half" else 1
    return _coloured(halves * experiment.n + 20)  # of a class of odd size the private half has one image more


def _public(experiment: Experiment, root: Path | str | None) -> Dataset:
    return cifar.load("cifar100", root=root) if experiment.data != "synthetic" else _coloured(400)


def _coloured(count: int) -> Dataset:
    return Dataset(**synthetic.coloured(count))
