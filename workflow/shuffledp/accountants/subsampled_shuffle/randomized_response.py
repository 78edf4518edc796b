"""Lower bounds: what concrete randomised responses leak after T rounds, numerically."""

from __future__ import annotations

import numpy as np

from shuffledp.accountants import via_pld
from shuffledp.accountants.registry import Columns
from shuffledp.accountants.subsampled_shuffle.system import register
from shuffledp.checks import FloatArray
from shuffledp.distributions.two_symbols import TwoSymbols
from shuffledp.pld.outcomes import Outcomes, dominating, merge_to_lattice
from shuffledp.profiles.randomized_response import many_symbols_pair


def _columns(pairs: list[Outcomes], rounds: FloatArray, delta: float) -> Columns:
    return via_pld.columns(pairs, rounded=merge_to_lattice, rounds=rounds, delta=delta, bound="lower")


def three_symbols(n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    """Return epsilon of T rounds of three-symbol randomised response, all others on the third symbol."""
    trivial = via_pld.nothing_to_say(eps0, rounds, "lower")
    if trivial:
        return trivial
    return _columns(three_symbols_pairs(n=n, k=k, eps0=eps0), rounds, delta)


def three_symbols_pairs(*, n: int, k: int, eps0: float) -> list[Outcomes]:
    """Return the pair of one round of three-symbol randomised response, of both directions of neighbours."""
    return [dominating(many_symbols_pair(n=n, k=k, eps0=eps0, categories=3), gamma=1.0)]


def two_symbols(n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    """Return epsilon of T rounds of two-symbol randomised response, all others on the same symbol."""
    trivial = via_pld.nothing_to_say(eps0, rounds, "lower")
    if trivial:
        return trivial
    return _columns(two_symbols_pairs(n=n, k=k, eps0=eps0), rounds, delta)


def two_symbols_pairs(*, n: int, k: int, eps0: float) -> list[Outcomes]:
    """Return the pairs of one round of two-symbol randomised response: one for each of the two directions in
    which neighbouring data sets are compared."""
    mass, loss = TwoSymbols(n, k, eps0).losses()
    return [Outcomes(mass * np.exp(loss), loss), Outcomes(mass, -loss)]


@register(
    name="krr3-lower",
    citation="this project",
    theorem="three-symbol randomised response, all others on the third symbol",
    kind="lower",
    label="three-symbol randomised response, lower bound",
    needs=("eps0-LDP", "discrete"),
    note="Epsilon of one concrete mechanism, data set and neighbour: no valid accountant can report less.",
)
def _three(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return three_symbols(n, k, eps0, rounds, delta)


@register(
    name="rr2-lower",
    citation="girgis2021",
    theorem="the mechanism of Theorem 2, accounted for exactly",
    kind="lower",
    label="two-symbol randomised response, lower bound",
    needs=("eps0-LDP", "discrete"),
    note="Epsilon of one concrete mechanism, data set and neighbour: no valid accountant can report less.",
)
def _two(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return two_symbols(n, k, eps0, rounds, delta)
