"""Making the tables of Monte Carlo estimates, with checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp.profiles import monte_carlo
from shuffledp.profiles.monte_carlo import SAMPLINGS, Sums
from shuffledp.records import files, provenance, requests, tables

MODULES = ("shuffledp.profiles.monte_carlo", "shuffledp.records.tables")
PACKAGES = ("numpy", "pandas")

Report = Callable[[int], None]


def experiments(parameters: Mapping[str, Any]) -> dict[str, monte_carlo.Experiment]:
    """Return the estimates that a table holds, by sampling.

    Raises:
        ValueError: a parameter is out of range.
    """
    keys = ("n", "sigma", "points", "half_width", "seed")
    setting = {key: parameters[key] for key in keys}
    return {one: monte_carlo.experiment(parameters["eps"], sampling=one, **setting) for one in SAMPLINGS}


def make(
    request_path: Path | str,
    *,
    checkpoint: Path | str,
    workers: int = 1,
    report: Report = lambda done: None,
) -> None:
    """Make the product of a simulation: a table of estimates by every sampling, and the record beside it.

    Args:
        request_path: the request that ``requests.stage`` wrote.
        checkpoint: file that is written after every batch, from which an interrupted run goes on. It is
            removed when the product is made. The table does not depend on interruptions.
        workers: threads.
        report: called with the number of finished batches of all samplings together.
    """
    request = files.read_json(request_path)
    identity = {"code": request["code"], "parameters": request["parameters"]}
    begun = time.perf_counter()
    found = _saved(checkpoint, identity)
    wanted = experiments(request["parameters"])
    report(sum(sums.batches for sums in found.values()))
    for sampling, setting in wanted.items():
        for sums in monte_carlo.batches(setting, after=found.get(sampling), workers=workers):
            found[sampling] = sums
            _save(checkpoint, identity, found)
            report(sum(one.batches for one in found.values()))
    (output,) = request["outputs"]
    tables.write_table(output, _table(wanted, found))
    environment = provenance.environment(packages=PACKAGES, seconds=time.perf_counter() - begun)
    requests.record(request_path, environment=environment)
    Path(checkpoint).unlink(missing_ok=True)


def _table(
    wanted: Mapping[str, monte_carlo.Experiment], found: Mapping[str, Sums]
) -> dict[str, list[float | str]]:
    columns: dict[str, list[float | str]] = {}
    for sampling, setting in wanted.items():
        sums = found[sampling]
        rows = {
            "n": setting.n,
            "sigma": setting.sigma,
            "sampling": sampling,
            "epsilon": setting.eps.tolist(),
            "estimate": sums.estimate.tolist(),
            "standard_error": sums.standard_error.tolist(),
            "points": sums.points,
            "L": setting.half_width if sampling == "uniform" else np.nan,
        }
        for name, value in rows.items():
            columns.setdefault(name, []).extend(
                value if isinstance(value, list) else [value] * setting.eps.size
            )
    return columns


def _save(checkpoint: Path | str, identity: Mapping[str, Any], found: Mapping[str, Sums]) -> None:
    sums = {
        sampling: [one.batches, one.points, one.values.tolist(), one.squares.tolist()]
        for sampling, one in found.items()
    }
    files.write_json(checkpoint, {"identity": identity, "sums": sums})


def _saved(checkpoint: Path | str, identity: Mapping[str, Any]) -> dict[str, Sums]:
    """Return the sums in the checkpoint, if there is one of this simulation."""
    if not Path(checkpoint).exists():
        return {}
    content = files.read_json(checkpoint)
    if content.get("identity") != identity:
        return {}
    return {
        sampling: Sums(batches, points, np.array(values), np.array(squares))
        for sampling, (batches, points, values, squares) in content["sums"].items()
    }
