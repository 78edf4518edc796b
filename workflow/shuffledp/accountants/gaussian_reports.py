"""Shuffled reports with Gaussian noise, by the local guarantees (eps0, delta0) that the noise gives.

Reports with one of these guarantees are near to eps0-LDP ones of no larger total variation, and delta pays
for the difference. A larger eps0 leaves less to pay for, and hides a client less well among the others. For
each number of rounds nearly the best guarantee is searched for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import scipy

from shuffledp.accountants import via_pld
from shuffledp.accountants.registry import Columns
from shuffledp.checks import FloatArray
from shuffledp.profiles.gaussian import gaussian_delta

# Share of delta that failures cost, at epsilon without them, where the search begins, and the largest share
# at which it does. The least bound is mostly near by.
_SHARE, _LARGEST_SHARE = 0.45, 0.6
_STEP, _TRIES = 0.5, 40  # step of the search, in logs of that cost, and how many beginnings are tried
_LEAST_EPS0 = 1e-9  # a smaller local guarantee would gain nothing


class Bound(NamedTuple):
    """A bound on epsilon, with the local guarantee (eps0, delta0) of the noise that it rests on."""

    epsilon: float
    eps0: float
    delta0: float


_NONE = Bound(math.inf, math.inf, 0.0)


def columns(
    bare: FloatArray,
    bounds: Callable[[FloatArray, float], Iterable[Bound]],
    *,
    rounds: FloatArray,
    delta: float,
) -> Columns:
    """Return the least bound on epsilon of T rounds for every T, and the guarantee that it rests on.

    Args:
        bare: epsilon without a shuffler for every T, which rests on none: its eps0 is infinite.
        bounds: function of one number of rounds, of shape (1,), and of epsilon without a shuffler that
            returns bounds.
        rounds: numbers of rounds.
        delta: target.
    """
    rows = []
    for count, epsilon in zip(rounds.tolist(), bare.tolist(), strict=True):
        least = Bound(epsilon, math.inf, 0.0)
        found = bounds(np.array([count]), epsilon) if epsilon > 0 and delta > 0 else ()
        rows.append(min([least, *found]))
    table = np.array(rows, dtype=np.float64).reshape(-1, 3)
    return dict(zip(("epsilon", "local_eps0", "local_delta0"), table.T, strict=True))


def by_replacing(
    sigma: float,
    delta: float,
    *,
    failures: Callable[[float, float, float], float],
    without: Callable[[float], Columns],
    bound: Callable[[float, float], Columns],
    most: float,
) -> Bound:
    """Return nearly the least bound on epsilon that follows where reports are replaced by eps0-LDP ones.

    Args:
        sigma: deviation of the noise.
        delta: target, > 0.
        failures: function of eps0, delta0 and epsilon that returns what the failures of a guarantee cost of
            delta at epsilon. It only steers the search.
        without: function of eps0 that returns epsilon of eps0-LDP reports, without failures.
        bound: function of eps0 and delta0 that returns an upper bound on epsilon of the reports.
        most: an epsilon that is known; larger ones are not looked for.
    """

    def at(log_cost: float) -> Bound:
        local = guarantee(sigma, log_cost, cost)
        return _NONE if local is None else Bound(float(bound(*local)["epsilon"][0]), *local)

    def cost(eps0: float, delta0: float) -> float:
        return failures(eps0, delta0, 0.0)

    log_cost, found = math.log(_SHARE) + math.log(delta), _NONE
    for _ in range(_TRIES):
        local = guarantee(sigma, log_cost, cost)
        if local is None:
            return _NONE
        least = float(without(local[0])["epsilon"][0])
        # it grows with eps0, so that no larger one helps
        if least >= min(most, via_pld.LARGEST_EPS0):
            return _NONE
        share = failures(*local, least) / delta
        if share <= _LARGEST_SHARE and (found := at(log_cost)).epsilon < math.inf:
            break
        log_cost -= max(_STEP, math.log(share / _SHARE))
    for step in (_STEP, -_STEP):
        while (other := at(log_cost + step)).epsilon < found.epsilon:
            found, log_cost = other, log_cost + step
    return found


def guarantee(
    sigma: float, log_cost: float, cost: Callable[[float, float], float]
) -> tuple[float, float] | None:
    """Return the guarantee (eps0, delta0) of the noise whose failures have a given cost; None if there is
    none in double precision.

    Args:
        sigma: deviation of the noise.
        log_cost: log of the cost, < 0.
        cost: function of eps0 and delta0 that returns what failures cost; it falls in eps0.
    """

    def found(log_eps0: float) -> tuple[float, float]:
        eps0 = math.exp(log_eps0)
        return eps0, gaussian_delta(eps=eps0, noise=sigma)

    def excess(log_eps0: float) -> float:
        eps0, delta0 = found(log_eps0)
        return (math.log(cost(eps0, delta0)) if delta0 < 1 else 0.0) - log_cost

    low, high = math.log(_LEAST_EPS0), math.log(via_pld.LARGEST_EPS0)
    if excess(high) >= 0:
        return None
    local = found(low if excess(low) <= 0 else float(scipy.optimize.brentq(excess, low, high, xtol=1e-9)))
    # the root may lie where delta0 becomes 1
    return local if local[1] < 1 else None
