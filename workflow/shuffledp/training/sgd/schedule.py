"""What an experiment's numbers say about its rounds: how many, who takes part, and the size of each step.

The code digest of every run covers this module. It reads only fields of an experiment, which are among the
parameters of the run.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from shuffledp import protocols
from shuffledp.convergence import step_size

if TYPE_CHECKING:
    from shuffledp.training.specification import Experiment

NO_RANDOMIZER = "none"
SAMPLING = "subsampled-shuffle"  # the protocol whose clients the server draws
CONSTANT, THEOREM3 = "constant", "girgis2021-theorem3"


def protocol_of(experiment: Experiment, *, seed: int) -> protocols.Protocol:
    """Return who takes part in the rounds of a run.

    Args:
        experiment: what is trained.
        seed: of the run.
    """
    kind = protocols.PROTOCOLS[experiment.protocol]
    setting = {field: getattr(experiment, field) for field in kind.settings}
    given = {field: value for field, value in setting.items() if value is not None}
    return kind(n=experiment.n, seed=seed, **given)


def rounds_per_epoch(experiment: Experiment) -> int:
    """Return how many rounds an epoch has.

    It is the number that the experiment gives. If it gives none, an epoch is one run of a protocol of
    windows, and with any other protocol it is n // k rounds, in which about as many messages are sent as
    there are clients.
    """
    if experiment.epoch_rounds is not None:
        return experiment.epoch_rounds
    if experiment.protocol == SAMPLING:
        return experiment.n // experiment.k  # type: ignore[operator]
    protocol = protocol_of(experiment, seed=0)
    return protocol.length if isinstance(protocol, protocols.Window) else experiment.n // experiment.k  # type: ignore[operator]


def total_epochs(experiment: Experiment) -> int:
    """Return the length of a run in epochs."""
    return sum(experiment.epochs)


def learning_rate(experiment: Experiment, epoch: int) -> float:
    """Return the learning rate of an epoch, counted from 1."""
    ends = accumulate(experiment.epochs)
    return next(rate for end, rate in zip(ends, experiment.learning_rates, strict=True) if epoch <= end)


def theorem3(experiment: Experiment, *, dimension: int) -> dict[str, Any]:
    """Return what the constants of Theorem 3 of girgis2021 depend on, for an experiment with its schedule.

    Args:
        experiment: one with that schedule.
        dimension: number of parameters d.

    Returns:
        The values of k, eps0, dimension, lipschitz (the clip norm, which no gradient exceeds with this
        schedule) and norm, as ``step_size.second_moment`` takes them.
    """
    return {
        "k": experiment.k,
        "eps0": experiment.eps0,
        "dimension": dimension,
        "lipschitz": experiment.clip_norm,
        "norm": 2.0,
    }


def diameter(experiment: Experiment) -> float:
    """Return D, the diameter of the ball that theta is projected to; for an experiment with a projection."""
    return 2 * experiment.projection  # type: ignore[operator]


def step(experiment: Experiment, index: int, *, dimension: int) -> float:
    """Return the step size of a round.

    Args:
        experiment: what is trained.
        index: which round, counted from 0.
        dimension: number of parameters d.
    """
    rate = learning_rate(experiment, index // rounds_per_epoch(experiment) + 1)
    if experiment.schedule == CONSTANT:
        return rate
    moment = step_size.second_moment(**theorem3(experiment, dimension=dimension))
    return rate * step_size.step(index + 1, diameter=diameter(experiment), moment=moment)
