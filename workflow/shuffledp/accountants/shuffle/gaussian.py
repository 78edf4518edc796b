"""The shuffled Gaussian: every client adds Gaussian noise to a record in [0, 1]; the reports are shuffled.

Epsilon is known exactly for one pair of data sets, that of koskela2022 (section 5), and no worst pair is
known: the pair bounds epsilon from below. For all data sets the blanket of the reports bounds it from above,
and so do the local guarantees of the noise, and epsilon without a shuffler.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from shuffledp.accountants import gaussian_reports, systems, via_kinds, via_pld, via_rdp
from shuffledp.accountants.registry import Columns, register
from shuffledp.checks import FloatArray
from shuffledp.distributions.lognormal_sums import Bound
from shuffledp.pld.outcomes import connect_the_dots, merge_to_lattice
from shuffledp.profiles.approximate import moved
from shuffledp.profiles.gaussian import gaussian_delta, gaussian_epsilon
from shuffledp.profiles.shuffled_gaussian import WAYS, shuffled_gaussian_outcomes
from shuffledp.rdp.liew2022gaussian import liew2022gaussian_shuffle

SYSTEM = systems.enter(
    systems.System(
        "shuffle",
        "gaussian",
        "rounds of all n clients, whose records in [0, 1], with Gaussian noise of deviation sigma, are "
        "shuffled",
        ("n", "sigma"),
        "shuffled-gaussian-blanket",
        systems.Neighbours.SUBSTITUTION,
        systems.unbounded,
    )
)
_register = functools.partial(
    register,
    needs=("Gaussian noise", "records in [0, 1]"),
    protocol=SYSTEM.protocol,
    mechanism=SYSTEM.mechanism,
)


@_register(
    name="shuffled-gaussian-blanket",
    citation="balle2019, doroshenko2022, this project",
    theorem="the blanket of Gaussian reports (theory page)",
    kind="upper",
    label="shuffled Gaussian reports, by their blanket",
    note=(
        "For all data sets. It lets the others disclose which of their reports are not of the part that the "
        "reports of all records have in common. Where epsilon without a shuffler is smaller, it is that one."
    ),
)
def _blanket(*, n: int, sigma: float, rounds: FloatArray, delta: float) -> Columns:
    bare = _unshuffled(n=n, sigma=sigma, rounds=rounds, delta=delta)["epsilon"]
    return gaussian_reports.by_blanket(n, 1.0, sigma, bare=bare, rounds=rounds, delta=delta)


@_register(
    name="shuffled-gaussian-pld",
    citation="feldman2022, balle2018analytic, doroshenko2022, this project",
    theorem="that of shuffle-tv-pld, and what separates the reports from eps0-LDP ones (theory page)",
    kind="upper",
    label="shuffled Gaussian reports, numerical",
    note=(
        "Of the local guarantees (eps0, delta0) of the noise, each number of rounds uses nearly the best, "
        "which is reported; a part of delta pays for the failures of that guarantee. Where epsilon without a "
        "shuffler is smaller, it is that one, and local_eps0 is infinite."
    ),
)
def _pld(*, n: int, sigma: float, rounds: FloatArray, delta: float) -> Columns:
    bare = _unshuffled(n=n, sigma=sigma, rounds=rounds, delta=delta)["epsilon"]
    tv = gaussian_delta(eps=0.0, noise=sigma)

    def bounds(one: FloatArray, most: float) -> list[gaussian_reports.Bound]:
        def distance(eps0: float, delta0: float) -> float:
            return moved(reports=n, eps0=eps0, delta0=delta0)

        def pairs(eps0: float, delta0: float = 0.0) -> Columns:
            return via_kinds.columns(n, 1.0, eps0, one, delta, tv=tv, moved=distance(eps0, delta0))

        def failures(eps0: float, delta0: float, eps: float) -> float:
            return float(one[0]) * distance(eps0, delta0) * (1 + math.exp(eps))

        return [
            gaussian_reports.by_replacing(
                sigma, delta, failures=failures, without=pairs, bound=pairs, most=most
            )
        ]

    return gaussian_reports.columns(bare, bounds, rounds=rounds, delta=delta)


@_register(
    name="gaussian-unshuffled",
    citation="balle2018analytic",
    theorem="Theorem 8",
    kind="upper",
    label="Gaussian, no shuffler",
    note="Epsilon of the reports without a shuffler, which does not depend on the number of clients.",
)
def _unshuffled(*, n: int, sigma: float, rounds: FloatArray, delta: float) -> Columns:
    found = [
        float(gaussian_epsilon(delta, mu=math.sqrt(count) / sigma)) if count else 0.0
        for count in rounds.tolist()
    ]
    return {"epsilon": np.array(found, dtype=np.float64)}


@_register(
    name="liew2022gaussian-forward",
    citation="liew2022gaussian, girgis2021",
    theorem="Renyi DP of the shuffled Gaussian; Lemma 1 of girgis2021",
    kind="estimate",
    label="liew2022gaussian, Renyi",
    note=(
        "An upper bound for the all-zero data set and one changed record, in one direction; the theorem does "
        "not cover other data sets or the other direction."
    ),
)
def _renyi(*, n: int, sigma: float, rounds: FloatArray, delta: float) -> Columns:
    rdp = functools.partial(liew2022gaussian_shuffle, n=n, sigma=sigma)
    return via_rdp.columns(rdp, rounds=rounds, delta=delta)


@_register(
    name="shuffled-gaussian-pair",
    citation="koskela2022, doroshenko2022, this project",
    theorem="section 5 of koskela2022, as sums of log-normal terms",
    kind="lower",
    label="all zeros against one 1, exact",
    note=(
        "Exact, to the width of a bracket whose other end is pair_upper, for the two data sets of "
        "koskela2022 and for a Gaussian whose record is allocated to one of n steps at random; over all data "
        "sets a lower bound, and no guarantee."
    ),
)
def _pair(*, n: int, sigma: float, rounds: FloatArray, delta: float) -> Columns:
    lower = _composed(n, sigma, rounds, delta, "lower")
    return {**lower, "pair_upper": _composed(n, sigma, rounds, delta, "upper")["epsilon"]}


def _composed(n: int, sigma: float, rounds: FloatArray, delta: float, bound: Bound) -> Columns:
    pairs = [shuffled_gaussian_outcomes(n=n, sigma=sigma, direction=way, bound=bound) for way in WAYS]
    rounded = {"upper": connect_the_dots, "lower": merge_to_lattice}[bound]
    return via_pld.columns(pairs, rounded=rounded, rounds=rounds, delta=delta, bound=bound)
