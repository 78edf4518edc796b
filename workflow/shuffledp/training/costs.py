"""Estimates of how long training will take on a CPU. Nothing here needs torch."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from shuffledp.training.experiment import Experiment

# Seconds of one core, fitted to the records under results/training/: to the mean of each experiment's runs,
# their sum, and the worst of the ratios. Those runs shared a server of the 2020s with others, and some took
# three times as long as the fastest of the same setting.
_ROUND = 7.1e-3  # of a round, however few its messages
_CONVOLUTIONS = 1.02e-4  # of a message, if the network has any
_PARAMETER = 9.7e-9  # of a message, for each parameter
_COORDINATE = 0.29  # share of a message that has one coordinate alone: part of a backward pass
# Factor by which the mean of an experiment's recorded runs may differ from the estimate. Two experiments do
# not count, girgis2021-theorem3 and fashion-fig6: they were trained where ten other processes shared two
# cores, and took three and eight times the estimate.
WITHIN = 2.5
_FEATURES = {"scattering": 4, "public-half": 7, "cifar100": 20}  # minutes of one core


def core_seconds(experiment: Experiment) -> float:
    """Return about how long one run takes on one core: within a factor of ``WITHIN`` of what is recorded.
    Left out of that are two experiments that were recorded on a crowded machine, where they took up to eight
    times as long as this says.

    The cost is that of the rounds and their messages. A message takes the gradient of one image, or part of
    it where the client sends one coordinate alone. Features are computed once and not counted here; see
    ``feature_minutes``.
    """
    each = _PARAMETER * experiment.dimension
    if experiment.model.startswith("mnist_cnn"):
        each += _CONVOLUTIONS
    if experiment.clip == "coordinate":
        each *= _COORDINATE
    assert experiment.k is not None  # checked experiments have one, given or from the protocol
    return experiment.rounds * (_ROUND + experiment.k * each)


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
