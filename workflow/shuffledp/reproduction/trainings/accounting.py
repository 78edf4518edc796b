"""What accounts for the privacy of an experiment: systems of accountants, and their variables."""

from __future__ import annotations

from typing import Any

from shuffledp import protocols
from shuffledp.profiles import named_randomizers
from shuffledp.training.experiment import Experiment
from shuffledp.training.models import networks
from shuffledp.training.sgd.schedule import NO_RANDOMIZER, SAMPLING


def accounting(experiment: Experiment) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the systems that account for an experiment's privacy (protocol and mechanism), and for each
    its variables with delta; none if there is no delta, or no system whose rounds are those of the training.

    sigma is over the largest distance of two clipped gradients, 2 C.
    """
    checked_in = experiment.protocol == protocols.ShuffledCheckIn.name
    if (
        experiment.delta is None
        or experiment.randomizer == NO_RANDOMIZER
        or not (checked_in or experiment.protocol == SAMPLING)
    ):
        return {}
    who = (
        {"n": experiment.n, "rate": experiment.rate} if checked_in else {"n": experiment.n, "k": experiment.k}
    )
    if experiment.randomizer != "gaussian":
        pure = {**who, "eps0": experiment.eps0, "delta": experiment.delta}
        return {
            (experiment.protocol, "ldp"): pure,
            (experiment.protocol, "share"): {**pure, "share": _share(experiment)},
        }
    if not checked_in:
        return {}
    assert experiment.noise is not None  # as of every gaussian randomiser
    noisy = {**who, "sigma": experiment.noise / 2, "delta": experiment.delta}
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


def _share(experiment: Experiment) -> float | None:
    """Return the share of the high region of its pure randomiser."""
    assert experiment.eps0 is not None  # as of every pure randomiser
    named, given = named_randomizers.of_training(
        experiment.randomizer, dimension=networks.DIMENSIONS[experiment.model]
    )
    return named_randomizers.named(named, eps0=experiment.eps0, **given).share
