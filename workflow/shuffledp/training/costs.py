"""About how long training takes on a CPU, before it is begun. Nothing here needs torch."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from shuffledp.training.experiment import Experiment

# Seconds of one core of a 2020s server, per message, for the network of 16 filters: measured on the runs
# under results/training/.
_DRAWN, _FULL, _NORMALS = 16e-6, 67e-6, 44e-6
_MEASURED_ON = 13_706
_ROUND = 4e-3  # seconds of a round, however few its messages
_FEATURES = {"scattering": 4, "public-half": 7, "cifar100": 20}  # minutes of one core


def core_seconds(experiment: Experiment) -> float:
    """Return about how long one run takes on one core: an estimate, good to a factor of two on most machines.

    The cost is that of the rounds and their messages. One of a single coordinate takes part of a backward
    pass; any other takes the gradient in full, and that of an l_2 randomiser a draw of d normals on top. That
    of features, which are computed once, is ``feature_minutes``.
    """
    if experiment.clip == "coordinate":
        each = _DRAWN
    else:
        drawn = experiment.randomizer.startswith("l2_") and experiment.aggregate == "sum"
        each = _FULL + (_NORMALS if drawn else 0.0)
    return experiment.rounds * (_ROUND + experiment.k * each * experiment.dimension / _MEASURED_ON)


def feature_minutes(experiment: Experiment) -> float:
    """Return about how many minutes of one core its features take, where they are not cached."""
    if experiment.features is None or experiment.data == "synthetic":
        return 0.0
    return _FEATURES[experiment.features]


def announce(name: str, runs: Iterable[Experiment]) -> None:
    """Say on standard error about how long runs of an experiment will take, before they are begun."""
    left = list(runs)
    minutes = sum(core_seconds(entry) for entry in left) / 60
    word = "run" if len(left) == 1 else "runs"
    said = f"{name}: {len(left)} {word}, some {minutes:.2g} minutes of one CPU core"
    print(said, file=sys.stderr, flush=True)
