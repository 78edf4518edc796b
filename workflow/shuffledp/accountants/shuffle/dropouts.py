"""Rounds of k of n clients in which some reports do not arrive: ``docs/theory/dropouts.md``, Proposition 2.

If fewer reports arrive than clients are drawn, those who drop out may give away that a client was drawn. What
remains is a shuffle of the reports that arrive; it takes place with probability k/n, and whether it does is
public.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from shuffledp import checks, numerics
from shuffledp.accountants import systems, via_pld
from shuffledp.accountants.registry import Columns, register
from shuffledp.accountants.subsampled_shuffle import randomized_response
from shuffledp.accountants.subsampled_shuffle.system import SYSTEM as SUBSAMPLED_SHUFFLE
from shuffledp.approximate_dp.composition import ApproximateDP
from shuffledp.checks import FloatArray
from shuffledp.pld.outcomes import Outcomes, merge_to_lattice
from shuffledp.profiles.four_kinds import kinds_outcomes
from shuffledp.profiles.inversion import Bound

PROTOCOL = "shuffle-with-dropouts"
_OfRound = Callable[..., list[Outcomes]]
_MARGIN = 8 * numerics.EPSILON  # relative rounding error of a probability that is a product


def _check(setting: systems.Setting) -> None:
    checks.clients(setting["n"], setting["k"])
    if setting["arriving"] > setting["k"]:
        raise ValueError(f"arriving must be at most k = {setting['k']}, got {setting['arriving']}")


def _basic(setting: systems.Setting) -> ApproximateDP:
    everybody = {name: setting[name] for name in SUBSAMPLED_SHUFFLE.variables}
    everybody_arrives = setting["arriving"] == setting["k"]
    return SUBSAMPLED_SHUFFLE.basic(everybody) if everybody_arrives else systems.of_one_report(setting)


SYSTEM = systems.enter(
    systems.System(
        PROTOCOL,
        "ldp",
        "rounds of k of n clients, drawn afresh, of whose eps0-LDP reports at least so many arrive and are "
        "shuffled, whoever drops out, as long as no record decides it",
        ("n", "k", "arriving", "eps0"),
        "dropouts-clones",
        systems.Neighbours.SUBSTITUTION,
        _basic,
        _check,
    )
)


def upper_pairs(*, n: int, k: int, arriving: int, eps0: float, nats: float) -> list[Outcomes]:
    """Return the pair that dominates a round, for both directions of neighbours."""
    if arriving == k:
        return [kinds_outcomes(n=n, k=k, eps0=eps0, nats=nats)]
    shuffled = kinds_outcomes(n=arriving, k=arriving, eps0=eps0, nats=nats)
    return [_seen(shuffled, k=k, n=n, bound="upper")]


def three_symbols_pairs(*, n: int, k: int, arriving: int, eps0: float) -> list[Outcomes]:
    """Return the pair of ``randomized_response.three_symbols_pairs``, if all who may drop out do so exactly
    in those rounds for which the client who differs is drawn."""
    return _seen_pairs(randomized_response.three_symbols_pairs, n, k, arriving, eps0)


def two_symbols_pairs(*, n: int, k: int, arriving: int, eps0: float) -> list[Outcomes]:
    """Return the pairs of ``randomized_response.two_symbols_pairs``, if all who may drop out do so exactly in
    those rounds for which the client who differs is drawn."""
    return _seen_pairs(randomized_response.two_symbols_pairs, n, k, arriving, eps0)


def _seen_pairs(of: _OfRound, n: int, k: int, arriving: int, eps0: float) -> list[Outcomes]:
    if arriving == k:
        return of(n=n, k=k, eps0=eps0)
    return [_seen(pair, k=k, n=n, bound="lower") for pair in of(n=arriving, k=arriving, eps0=eps0)]


def _seen(pair: Outcomes, *, k: int, n: int, bound: Bound) -> Outcomes:
    """Return the pair of a round that takes place with probability k/n, if it is public whether it does."""
    side = 1 + _MARGIN if bound == "upper" else 1 - _MARGIN
    mass = np.concatenate([pair.mass * (k / n * side), [(n - k) / n * side]])
    return Outcomes(mass, np.concatenate([pair.loss, [0.0]]), pair.infinite * k / n * side)


@register(
    name="dropouts-clones",
    citation="feldman2022, doroshenko2022, this project",
    theorem="the clones pair of the reports that arrive (theory page on dropouts, Proposition 2)",
    kind="upper",
    label="clones of the reports that arrive, numerical",
    needs=("eps0-LDP",),
    note=(
        "If fewer than all reports may arrive, the bound does not use that the sample is secret. If neither "
        "records nor who a client is decide who drops out, the bounds of the subsampled shuffle hold."
    ),
    protocol=PROTOCOL,
)
def _clones(*, n: int, k: int, arriving: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    nats = via_pld.nats(rounds, delta)
    pair = functools.partial(upper_pairs, n=n, k=k, arriving=arriving, eps0=eps0, nats=nats)
    return via_pld.upper_columns(eps0, lambda: pair()[0], rounds=rounds, delta=delta)


def _lower(pairs: _OfRound, eps0: float, rounds: FloatArray, delta: float, **clients: int) -> Columns:
    trivial = via_pld.nothing_to_say(eps0, rounds, "lower")
    if trivial:
        return trivial
    return via_pld.columns(
        pairs(**clients, eps0=eps0), rounded=merge_to_lattice, rounds=rounds, delta=delta, bound="lower"
    )


_register_lower = functools.partial(
    register,
    kind="lower",
    needs=("eps0-LDP", "discrete"),
    note=(
        "Epsilon of one concrete mechanism, data set, neighbour and way of dropping out: no valid accountant "
        "can report less."
    ),
    protocol=PROTOCOL,
)


@_register_lower(
    name="dropouts-krr3-lower",
    citation="this project",
    theorem="three-symbol randomised response, drop-outs that tell who is drawn",
    label="three-symbol randomised response, lower bound",
)
def _three_symbols(
    *, n: int, k: int, arriving: int, eps0: float, rounds: FloatArray, delta: float
) -> Columns:
    return _lower(three_symbols_pairs, eps0, rounds, delta, n=n, k=k, arriving=arriving)


@_register_lower(
    name="dropouts-rr2-lower",
    citation="girgis2021, this project",
    theorem="the mechanism of Theorem 2, drop-outs that tell who is drawn",
    label="two-symbol randomised response, lower bound",
)
def _two_symbols(*, n: int, k: int, arriving: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return _lower(two_symbols_pairs, eps0, rounds, delta, n=n, k=k, arriving=arriving)
