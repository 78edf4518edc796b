"""The systems that account for the privacy of an experiment, and their variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shuffledp import protocols
from shuffledp.profiles import named_randomizers
from shuffledp.training.experiment import Experiment
from shuffledp.training.models import networks
from shuffledp.training.sgd import schedule
from shuffledp.training.sgd.schedule import NO_RANDOMIZER

# By protocol, the function that returns who takes part, in the variables of the protocol's systems.
_WHO: dict[str, Callable[[Experiment], dict[str, Any]]] = {
    protocols.FixedSize.name: lambda one: {"n": one.n, "k": one.k},
    protocols.ShuffledCheckIn.name: lambda one: {"n": one.n, "rate": one.rate},
    protocols.FixedWindow.name: lambda one: {
        "slots": one.slots,
        "participation": 1.0 if one.participation is None else one.participation,
    },
    protocols.SlidingWindow.name: lambda one: {"slots": one.slots},
    protocols.AveragedWindow.name: lambda one: {"n": one.n, "slots": one.slots},
}

FARTHEST = 2.0  # largest distance of two clipped gradients, in clip norms


def accounting(
    experiment: Experiment, *, distance: float = FARTHEST
) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the systems that account for an experiment's privacy (protocol and mechanism), and for each
    its variables with delta; none if there is no delta, or no system whose rounds are those of the training.

    What a system counts as a round is one run of the protocol (``rounds_of_one``).

    Args:
        experiment: whose privacy it is.
        distance: what sigma of Gaussian noise is over, in clip norms: that of two clipped gradients, or a
            smaller one, of which nothing is claimed for gradients.
    """
    checked_in = experiment.protocol == protocols.ShuffledCheckIn.name
    windows = issubclass(protocols.PROTOCOLS[experiment.protocol], protocols.Window)
    if experiment.delta is None or experiment.randomizer == NO_RANDOMIZER:
        return {}
    who = _WHO[experiment.protocol](experiment)
    if experiment.randomizer != "gaussian":
        pure = {**who, "eps0": experiment.eps0, "delta": experiment.delta}
        systems = {(experiment.protocol, "ldp"): pure}
        share = None if windows else _share(experiment)
        if share is not None:
            systems[experiment.protocol, "share"] = {**pure, "share": share}
        return systems
    if not checked_in:
        return {}
    assert experiment.noise is not None  # as of every gaussian randomiser
    noisy = {**who, "sigma": experiment.noise / distance, "delta": experiment.delta}
    if experiment.delta0 is None:
        return {("distributed-check-in", "gaussian"): noisy}
    return {
        (experiment.protocol, "approximate-ldp"): {
            **who,
            "eps0": experiment.eps0,
            "delta": experiment.delta,
            "delta0": experiment.delta0,
        },
        (experiment.protocol, "gaussian"): noisy,
    }


def rounds_of_one(experiment: Experiment) -> int:
    """Return the number of rounds of training that a system counts as one: those of a run for protocols of
    windows, otherwise a single one."""
    return schedule.protocol_of(experiment, seed=0).length


def _share(experiment: Experiment) -> float | None:
    """Return the share of the blanket of the experiment's eps0-LDP randomiser; None if it is not known."""
    assert experiment.eps0 is not None  # as of every pure randomiser
    known = named_randomizers.of_training(
        experiment.randomizer, dimension=networks.DIMENSIONS[experiment.model]
    )
    if known is None:
        return None
    named, given = known
    return named_randomizers.named(named, eps0=experiment.eps0, **given).share
