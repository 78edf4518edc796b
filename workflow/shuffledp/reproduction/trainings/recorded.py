"""Runs as products of the workflow: their folders, the code that decides them, and whether they exist."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from shuffledp.records.product import Product
from shuffledp.training.experiment import Experiment
from shuffledp.training.models import networks
from shuffledp.training.sgd.schedule import NO_RANDOMIZER, SAMPLING, THEOREM3

# Modules behind a run that do not decide its numbers: the first refuses arguments or returns them unchanged.
# The others say in which module a name is defined, and the run's product names that module itself.
_DECIDE_NOTHING = ("shuffledp.checks", "shuffledp.training.models.networks", "shuffledp.randomizers.names")
# Modules that the training loop imports, with the condition under which a run uses them.
_USED: dict[str, Callable[[Experiment], bool]] = {
    "shuffledp.protocols": lambda run: run.protocol != SAMPLING,
    "shuffledp.training.sgd.checkin_sgd": lambda run: run.protocol != SAMPLING,
    "shuffledp.training.data.population": lambda run: run.bootstrap,
    "shuffledp.training.models.convex": lambda run: run.schedule == THEOREM3,
    "shuffledp.convergence.step_size": lambda run: run.schedule == THEOREM3,
    "shuffledp.randomizers.registry": lambda run: run.randomizer != NO_RANDOMIZER,
    "shuffledp.randomizers.clt": lambda run: run.aggregate == "clt",
}


def folder(experiment: Experiment, results: str) -> str:
    """Return the folder of an experiment's runs."""
    return f"{results}/training/{experiment.name}"


def runs(experiment: Experiment, results: str) -> tuple[str, ...]:
    """Return the paths of the histories of all seeds."""
    return tuple(f"{folder(experiment, results)}/seed{seed}.csv" for seed in range(experiment.seeds))


def missing(experiment: Experiment, results: str) -> tuple[int, ...]:
    """Return the seeds of which no history exists, or no record of it."""
    paths = [Path(run) for run in runs(experiment, results)]
    return tuple(
        seed for seed, path in enumerate(paths) if not (path.exists() and path.with_suffix(".json").exists())
    )


def is_trained(experiment: Experiment, results: str) -> bool:
    """Return whether the histories of all seeds exist, with their records."""
    return not missing(experiment, results)


def product(experiment: Experiment, folder: str, seed: int) -> Product:
    """Return one run as a product of the workflow: ``folder``/seed<k>.csv with its record."""
    modules = ["shuffledp.training.sgd.loop", "shuffledp.training.data.dataset"]
    modules.append(f"shuffledp.training.models.{networks.MODULES[experiment.model]}")
    if experiment.randomizer != NO_RANDOMIZER:
        modules.append(f"shuffledp.randomizers.{experiment.randomizer}")
    if experiment.features is not None:
        modules += experiment.feature_modules
    if experiment.data == "synthetic":
        modules.append("shuffledp.training.data.synthetic")
    return Product(
        record=f"{folder}/seed{seed}.json",
        parameters=experiment.parameters(seed),
        modules=tuple(modules),
        outputs=(f"{folder}/seed{seed}.csv",),
        without=(*_DECIDE_NOTHING, *(module for module, used in _USED.items() if not used(experiment))),
    )
