"""Shuffled check-in with Gaussian noise: each message is a record with noise, and the messages are shuffled.

The noise gives a whole curve of local guarantees (eps0, delta0), of which nearly the best for each number of
rounds is used. With one fixed guarantee, as liew2022 has it, epsilon is infinite once its failures have used
up delta.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy

from shuffledp import numerics
from shuffledp.accountants import systems, via_pld
from shuffledp.accountants.check_in import replaced, shuffled
from shuffledp.accountants.registry import Columns, register
from shuffledp.checkin import liew2022_conversions
from shuffledp.checkin.distributed import outside
from shuffledp.checks import FloatArray
from shuffledp.profiles.approximate import moved_check_in
from shuffledp.profiles.gaussian import gaussian_delta, gaussian_mixture_epsilon

_MOST_FAILURES = 0.9  # largest share of delta that the failures of a local guarantee may cost
# Up to this mean number of reports of a round it is tried too, for so many guarantees, what follows if a
# failure discloses everything; where there are more reports, that was never seen to be better.
_FEW_REPORTS, _GUARANTEES = 2, 3
# Least step between two guarantees whose failures move a round, as a number of halvings of the failures, and
# how many are tried at most.
_STEP, _TRIES = 0.5, 40
_LEAST_EPS0 = 1e-9  # a smaller local guarantee would gain nothing
_MOST_NUMBERS = 2**18  # how many numbers of reports of a client are told apart
_ROUNDING = 1e-9  # relative rounding error of binomial probabilities


SYSTEM = systems.enter(
    systems.System(
        "shuffled-check-in",
        "gaussian",
        "rounds in which each of n clients takes part with probability rate, and records with Gaussian noise "
        "of deviation sigma, over the largest distance of any two clients' records, are shuffled",
        ("n", "rate", "sigma"),
        "check-in-gaussian-pld",
        systems.Neighbours.SUBSTITUTION,
        systems.unbounded,
    )
)
_register = functools.partial(
    register, needs=("Gaussian noise",), kind="upper", protocol=SYSTEM.protocol, mechanism=SYSTEM.mechanism
)


@_register(
    name="check-in-gaussian-pld",
    citation="feldman2022, balle2018analytic, liew2022, doroshenko2022, this project",
    theorem="that of check-in-joint-pld, and what separates the reports from eps0-LDP ones (theory page)",
    kind="upper",
    label="check-in of Gaussian reports, numerical",
    note=(
        "Of the local guarantees (eps0, delta0) of the noise, each number of rounds uses nearly the best, "
        "which is reported; a part of delta pays for the failures of that guarantee. Where the bound without "
        "a shuffler is smaller, it is that one, and local_eps0 is infinite."
    ),
)
def _pld(*, n: int, rate: float, sigma: float, rounds: FloatArray, delta: float) -> Columns:
    bare = _unshuffled(n=n, rate=rate, sigma=sigma, rounds=rounds, delta=delta)["epsilon"]
    rows = []
    for count, epsilon in zip(rounds.tolist(), bare.tolist(), strict=True):
        found = [_Bound(epsilon, math.inf, 0.0)]
        if epsilon > 0 and delta > 0:
            setting = (n, rate, sigma, np.array([count]), delta)
            found += _by_replacing(*setting, most=epsilon)
            if n * rate <= _FEW_REPORTS:
                found += _by_disclosure(*setting)
        rows.append(min(found))
    table = np.array(rows, dtype=np.float64).reshape(-1, 3)
    return dict(zip(("epsilon", "local_eps0", "local_delta0"), table.T, strict=True))


class _Bound(NamedTuple):
    """A bound on epsilon, with the local guarantee (eps0, delta0) of the noise that it rests on."""

    epsilon: float
    eps0: float
    delta0: float


def _by_replacing(
    n: int, rate: float, sigma: float, rounds: FloatArray, delta: float, *, most: float
) -> Iterator[_Bound]:
    """Yield bounds on epsilon of some rounds whose reports are replaced by eps0-LDP ones, nearly the least
    among them.

    Epsilon of the pairs rises in eps0, while the failures become rare. So the search begins at the smallest
    eps0 with which delta could pay for the failures at epsilon 0, and ends once the bound has risen.

    Args:
        n: number of clients.
        rate: probability with which each checks in.
        sigma: deviation of the noise.
        rounds: their number, > 0, of shape (1,).
        delta: target, > 0.
        most: an epsilon that is known; larger ones are not looked for.
    """
    count = float(rounds[0])

    def failures(eps0: float, delta0: float, eps: float = 0.0) -> float:
        """Return what the failures cost of delta at epsilon, without a term that is of second order."""
        taking_part, away = moved_check_in(n=n, rate=rate, eps0=eps0, delta0=delta0)
        return count * (taking_part * (1 + math.exp(eps)) + away * math.expm1(eps))

    allowed = math.log(_MOST_FAILURES) + math.log(delta)
    halvings, best = 0.0, math.inf
    for _ in range(_TRIES):
        local = _local(sigma, allowed - halvings * math.log(2), failures)
        if local is None:
            return
        pairs = float(shuffled.joint_columns(n, rate, local[0], rounds, delta)["epsilon"][0])
        if pairs >= min(most, via_pld.LARGEST_EPS0):
            return
        cost = failures(*local, pairs)
        if cost < delta:
            epsilon = float(replaced.columns(n, rate, *local, rounds, delta)["epsilon"][0])
            yield _Bound(epsilon, *local)
            if epsilon > best:
                return
            best = epsilon
        # a larger eps0 has a larger epsilon, so that hardly fewer halvings than these can do
        halvings += max(_STEP, math.log2(cost / delta))


def _by_disclosure(n: int, rate: float, sigma: float, rounds: FloatArray, delta: float) -> Iterator[_Bound]:
    """Yield bounds on epsilon of some rounds in which a failure of the local guarantee discloses everything.

    Args:
        n: number of clients.
        rate: probability with which each checks in.
        sigma: deviation of the noise.
        rounds: their number, > 0, of shape (1,).
        delta: target, > 0.
    """

    def told(eps0: float, delta0: float) -> float:
        return liew2022_conversions.disclosure(n=n, rate=rate, eps0=eps0, delta0=delta0)

    allowed = math.log(_MOST_FAILURES) + math.log(delta) - math.log(float(rounds[0]))
    for times in range(_GUARANTEES):
        local = _local(sigma, allowed - times * math.log(4), told)
        if local is not None:
            columns = shuffled.by_clones(
                n, rate, local[0], rounds, delta, "feldman2022", infinite=told(*local)
            )
            yield _Bound(float(columns["epsilon"][0]), *local)


def _local(
    sigma: float, log_cost: float, cost: Callable[[float, float], float]
) -> tuple[float, float] | None:
    """Return the guarantee (eps0, delta0) of the noise whose failures cost e^log_cost; None if there is none
    in double precision.

    Args:
        sigma: deviation of the noise.
        log_cost: log of the cost, < 0.
        cost: function of eps0 and delta0 that returns what failures cost, which falls in eps0.
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
    return found(low if excess(low) <= 0 else float(scipy.optimize.brentq(excess, low, high, xtol=1e-9)))


@_register(
    name="check-in-gaussian-unshuffled",
    citation="balle2018analytic, this project",
    theorem="Theorem 8, mixed over the reports of a client",
    label="check-in of Gaussian reports, no shuffler",
    note="Exact if who takes part is known and every report is seen; it does not use what shuffling hides.",
)
def _unshuffled(*, n: int, rate: float, sigma: float, rounds: FloatArray, delta: float) -> Columns:
    nats = via_pld.needed_nats(rounds, delta, step=1.0)

    def one(count: int) -> float:
        def log_pmf(reports: FloatArray) -> FloatArray:
            return numerics.log_binomial_pmf(reports, count, math.log(rate), math.log1p(-rate))

        first, last = numerics.concave_window(log_pmf, 0, count, nats=nats)
        reports, log_weights = _cells(log_pmf, first, last)
        return gaussian_mixture_epsilon(
            delta,
            mu=np.sqrt(reports) / sigma,
            weights=np.exp(log_weights) * (1 + _ROUNDING),
            infinite=outside(first, last, count, rate),
        )

    found = [one(int(count)) if count else 0.0 for count in rounds.tolist()]
    return {"epsilon": np.array(found, dtype=np.float64)}


def _cells(log_pmf: numerics.LogTerms, first: int, last: int) -> tuple[FloatArray, FloatArray]:
    """Return numbers of reports and logs of their probabilities. Where there are too many numbers, neighbours
    are merged into cells, which count as their largest number."""
    width = math.ceil((last - first + 1) / _MOST_NUMBERS)
    low = np.arange(first, last + 1.0, width)
    if width == 1:
        return low, log_pmf(low)
    high = np.minimum(low + width - 1, last)
    ends = log_pmf(np.array([first, first + width, last - width, last], dtype=np.float64))
    group = numerics.group_size(float(np.abs(np.diff(ends)[::2]).max()) / width)
    return high, numerics.cell_sums(lambda values, _: log_pmf(values), low, high, group=group)[0]
