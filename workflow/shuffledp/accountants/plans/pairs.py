"""The pairs behind accountants: what one round leaks, to be added up with rounds of other settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from shuffledp import numerics
from shuffledp.accountants import blankets, via_pld
from shuffledp.accountants.registry import Accountant
from shuffledp.accountants.shuffle import dropouts
from shuffledp.accountants.subsampled_shuffle import clones, randomized_response
from shuffledp.checkin import liew2022
from shuffledp.checkin.distributed import check_in_losses
from shuffledp.pld.outcomes import Outcomes
from shuffledp.profiles.four_kinds import kinds_outcomes
from shuffledp.profiles.joint_clones import joint_outcomes
from shuffledp.profiles.krr import krr_lattice

Pairs = Sequence[Outcomes]
_Of = Callable[[dict[str, Any], float], Pairs]


def _kinds(setting: dict[str, Any], nats: float) -> Pairs:
    return [kinds_outcomes(**{**setting, "k": setting.get("k", setting["n"])}, nats=nats)]


def _window(reports: int, participation: float, eps0: float, nats: float) -> Pairs:
    if participation == 0:  # nothing is learnt
        return [Outcomes(np.ones(1), np.zeros(1))]
    absent = reports * (1 - participation) / participation
    return [joint_outcomes(absent=absent, k=reports, eps0=eps0, nats=nats)]


def _three_symbols(setting: dict[str, Any], nats: float) -> Pairs:
    return randomized_response.three_symbols_pairs(**{"k": setting["n"], **setting})


def _two_symbols(setting: dict[str, Any], nats: float) -> Pairs:
    return randomized_response.two_symbols_pairs(**{"k": setting["n"], **setting})


_PAIRS: Mapping[str, _Of] = {
    "clones-joint-pld": _kinds,
    "clones-pld": lambda setting, nats: [clones.outcomes(**setting, nats=nats)],
    "shuffle-clones": _kinds,
    "dropouts-clones": lambda setting, nats: dropouts.upper_pairs(**setting, nats=nats),
    "check-in-joint-pld": _kinds,
    "check-in-pld": lambda setting, nats: [liew2022.check_in_outcomes(**setting)],
    **{name: _kinds for known in blankets.NAMES.values() for name in known.values()},
    "krr-weak": lambda setting, nats: [krr_lattice(**setting, adversary="weak", nats=nats)],
    "krr-strong": lambda setting, nats: [krr_lattice(**setting, adversary="strong", nats=nats)],
    "fixed-window-clones": lambda setting, nats: _window(
        setting["slots"], setting["participation"], setting["eps0"], nats
    ),
    "sliding-window-clones": lambda setting, nats: _window(setting["slots"], 1.0, setting["eps0"], nats),
    "averaged-window-clones": lambda setting, nats: _window(setting["n"], 1.0, setting["eps0"], nats),
    "distributed-check-in-pld": lambda setting, nats: check_in_losses(**setting, bound="upper", nats=nats),
    "krr3-lower": _three_symbols,
    "rr2-lower": _two_symbols,
    "shuffle-krr3-lower": _three_symbols,
    "shuffle-rr2-lower": _two_symbols,
    "dropouts-krr3-lower": lambda setting, nats: dropouts.three_symbols_pairs(**setting),
    "dropouts-rr2-lower": lambda setting, nats: dropouts.two_symbols_pairs(**setting),
    "check-in-krr3-lower": lambda setting, nats: [liew2022.check_in_lower_outcomes(**setting)],
    "check-in-rr2-lower": lambda setting, nats: liew2022.check_in_two_symbols_outcomes(**setting),
    "distributed-check-in-lower": lambda setting, nats: check_in_losses(**setting, bound="lower", nats=nats),
}


def known(entry: Accountant) -> bool:
    """Return whether the rounds of an accountant can be composed with others."""
    return entry.name in _PAIRS


def pairs(entry: Accountant, setting: dict[str, Any], *, nats: float) -> Pairs | None:
    """Return the pairs of one round, in an order of directions of neighbours that all accountants share.

    Args:
        entry: an accountant that is ``known``.
        setting: the checked variables of its system.
        nats: how far below the rest an outcome is left out.

    Returns:
        One pair if it serves both directions, else one of each. Those of an upper bound dominate a round;
        those of a lower bound are dominated by a round of the mechanism behind it. None where eps0 allows for
        no numbers.
    """
    eps0 = setting.get("eps0", 1.0)
    if not via_pld.SMALLEST_EPS0 <= eps0 <= via_pld.LARGEST_EPS0:
        return None
    return _PAIRS[entry.name](setting, nats)


def released(eps: float, delta: float, *, bound: str) -> Outcomes:
    """Return the worst pair of an (eps, delta)-DP release (kairouz2015), rounded to the side of a bound.

    Args:
        eps: >= 0.
        delta: in [0, 1); what is disclosed whole.
        bound: "upper", where delta is the pair's ``infinite``; or "lower", where it is left out.
    """
    side = 1 if bound == "upper" else -1
    told = 1 / (1 + math.exp(-eps))
    mass = np.array([told, math.exp(-eps) * told]) * (1 - delta) * (1 + side * 8 * numerics.EPSILON)
    if eps == 0:
        return Outcomes(mass.sum(keepdims=True), np.zeros(1), delta)
    return Outcomes(mass, np.array([eps, -eps]), delta if bound == "upper" else 0.0)
