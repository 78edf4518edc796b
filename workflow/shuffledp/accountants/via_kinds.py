"""Epsilon of T rounds from the kinds of a blanket's reports, of which the total variation may be known."""

from __future__ import annotations

import functools
import math

import numpy as np

from shuffledp.accountants import via_pld
from shuffledp.accountants.registry import Columns
from shuffledp.checks import FloatArray
from shuffledp.pld.outcomes import Outcomes
from shuffledp.profiles.four_kinds import kinds_outcomes


def columns(
    n: int,
    rate: float,
    eps0: float,
    rounds: FloatArray,
    delta: float,
    *,
    tv: float | None = None,
    moved: float = 0.0,
) -> Columns:
    """Return an upper bound on epsilon of T check-ins or shuffles of eps0-LDP reports, for every T.

    Where a check-in with a known total variation would take minutes, the smaller is returned of two bounds:
    that of rounds in which everyone reports (an absent client counts as the mean of one who reports, so that
    this is larger), and that of the check-in without the total variation.

    Args:
        n: number of clients.
        rate: probability with which each takes part in a round.
        eps0: local privacy parameter.
        rounds: numbers of rounds.
        delta: target.
        tv: upper bound on the total variation of two reports; None if it is not known. More than eps0 allows
            counts as the most that it allows.
        moved: as for ``via_pld.upper_columns``.
    """

    def bound(rate: float, tv: float | None) -> Columns:
        return via_pld.upper_columns(
            eps0,
            lambda: _outcomes(n, rate, eps0, tv, via_pld.nats(rounds, delta)),
            rounds=rounds,
            delta=delta,
            moved=moved,
        )

    if tv is None or rate == 1:
        return bound(rate, tv)
    try:
        return bound(rate, tv)
    except ValueError:  # all arguments are in range, so that what is refused is the work
        with_tv, without = bound(1.0, tv), bound(rate, None)
        least = with_tv["epsilon"] <= without["epsilon"]
        return {name: np.where(least, with_tv[name], without[name]) for name in with_tv}


# A search asks twice about each eps0, with ``moved`` and without.
@functools.lru_cache(maxsize=1)
def _outcomes(n: int, rate: float, eps0: float, tv: float | None, nats: float) -> Outcomes:
    most = None if tv is None else min(tv, math.tanh(eps0 / 2))
    return kinds_outcomes(n=n, k=n, eps0=eps0, tv=most, rate=rate, nats=nats)
