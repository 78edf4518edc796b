"""Shuffled reports with Gaussian noise, by two means: local guarantees of the noise, and a common blanket.

Reports with a local guarantee (eps0, delta0) are near to eps0-LDP ones of no larger total variation, and
delta pays for the difference. A larger eps0 leaves less to pay for, and hides a client less well among the
others. For each number of rounds nearly the best guarantee is searched for. Records may be vectors.

Reports of records in [0, 1] have a part in common whatever the records, the blanket, whose bound is much
closer to the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import scipy

from shuffledp import numerics
from shuffledp.accountants import via_pld
from shuffledp.accountants.registry import Columns
from shuffledp.checks import FloatArray
from shuffledp.pld.outcomes import connect_the_dots
from shuffledp.profiles.gaussian import gaussian_delta
from shuffledp.profiles.gaussian_blanket import gaussian_blanket_epsilon, gaussian_blanket_outcomes
from shuffledp.profiles.shuffled_gaussian import LARGEST_SIGMA, MOST_CLIENTS, SMALLEST_SIGMA

# Share of delta that failures cost, at epsilon without them, where the search begins, and the largest share
# at which it does. The least bound is mostly near by.
_SHARE, _LARGEST_SHARE = 0.45, 0.6
_STEP, _TRIES = 0.5, 40  # step of the search, in logs of that cost, and how many beginnings are tried
_LEAST_EPS0 = 1e-9  # a smaller local guarantee would gain nothing
# Losses left out of the blanket's pair may have a share 10^_LEFT_OUT of delta in all rounds. The delta of a
# round down to which the pair is computed is rounded to so many powers of 10: many settings share a pair.
_LEFT_OUT, _LOST_STEP, _LEAST_LOST = -4, 5, 1e-90


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


def by_blanket(
    n: int, rate: float, sigma: float, *, bare: FloatArray, rounds: FloatArray, delta: float
) -> Columns:
    """Return an upper bound on epsilon of T rounds for every T, by the blanket of records in [0, 1].

    More clients and more noise hide a client better, so beyond the largest that are computed the bound is
    that at these.

    Args:
        n: number of clients.
        rate: probability with which each takes part in a round.
        sigma: deviation of the noise.
        bare: epsilon without a shuffler for every T, which counts where it is smaller.
        rounds: numbers of rounds.
        delta: target.
    """
    found = {"epsilon": bare.copy(), "delta_error": np.zeros(bare.shape)}
    if sigma < SMALLEST_SIGMA or delta == 0 or not rounds.any():
        return found
    n, sigma = min(n, MOST_CLIENTS), min(sigma, LARGEST_SIGMA)
    alone = rounds == 1
    if alone.any():
        least = np.minimum(gaussian_blanket_epsilon(delta, n=n, sigma=sigma, rate=rate), bare[alone])
        found["epsilon"][alone], found["delta_error"][alone] = least, numerics.OUTWARD
    several = rounds > 1
    if several.any():
        lost = math.log10(delta / float(rounds.max())) + _LEFT_OUT
        lost = 10.0 ** (_LOST_STEP * math.floor(lost / _LOST_STEP))
        pair = gaussian_blanket_outcomes(n=n, sigma=sigma, rate=rate, lost=max(lost, _LEAST_LOST))
        composed = via_pld.columns(
            [pair], rounded=connect_the_dots, rounds=rounds[several], delta=delta, bound="upper"
        )
        found["epsilon"][several] = np.minimum(composed["epsilon"], bare[several])
        found["delta_error"][several] = composed["delta_error"]
    return found


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
