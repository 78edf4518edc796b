"""Making runs for the workflow: they are trained, written as a table, and recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from shuffledp.records import files, provenance, requests, tables
from shuffledp.training import runs
from shuffledp.training.experiment import Experiment
from shuffledp.training.sgd.loop import Data, Row

PACKAGES = ("torch", "numpy", "scipy")


def identity(request: Mapping[str, Any], on: torch.device) -> str:
    """Return a text that distinguishes the checkpoints of a request on a device from all others."""
    return f"{request['code']} {on.type} {request['parameters']}"


def make(
    request_path: Path | str,
    *,
    name: str,
    checkpoint: Path | str,
    on: torch.device,
    data: Data,
    report: Callable[[Row], None] = lambda row: None,
) -> None:
    """Make the product of a run: the CSV file, and the record beside it.

    Args:
        request_path: the request that ``requests.stage`` wrote.
        name: the experiment's name.
        checkpoint: as for ``runs.train``; it is removed when the product is made.
        on: device to compute on.
        data: as returned by ``runs.load`` for the experiment.
        report: as for ``runs.train``.
    """
    request = files.read_json(request_path)
    experiment = Experiment.from_parameters(name, request["parameters"])
    seed = request["parameters"]["seed"]
    begun = time.perf_counter()
    history = runs.train(
        experiment,
        seed=seed,
        data=data,
        checkpoint=checkpoint,
        identity=identity(request, on),
        report=report,
    )
    (output,) = request["outputs"]
    tables.write_table(output, runs.columns(history))
    environment = provenance.environment(packages=PACKAGES, seconds=time.perf_counter() - begun)
    hardware = torch.cuda.get_device_name(on) if on.type == "cuda" else "CPU"
    environment |= {
        "device": {"type": on.type, "name": hardware, "threads": torch.get_num_threads()},
        "training_seconds": history[-1]["seconds"],
    }
    requests.record(request_path, environment=environment)
    Path(checkpoint).unlink(missing_ok=True)
