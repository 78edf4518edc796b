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
# Least step between two guarantees whose failures move a round, as a number of halvings of the failures, how
# many are tried at most until one leaves a part of delta, and how often the step below that one is bisected.
_STEP, _TRIES, _BISECTIONS = 0.5, 40, 4
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
    for count, without in zip(rounds.tolist(), bare.tolist(), strict=True):
        least = _Shuffled(without, math.inf, 0.0)
        rows.append(min([least, *_shuffled(n, rate, sigma, count, delta, without)]) if count else least)
    table = np.array(rows, dtype=np.float64).reshape(-1, 3)
    return dict(zip(("epsilon", "local_eps0", "local_delta0"), table.T, strict=True))


class _Shuffled(NamedTuple):
    """A bound on epsilon, with the local guarantee (eps0, delta0) of the noise that it rests on."""

    epsilon: float
    eps0: float
    delta0: float


def _shuffled(
    n: int, rate: float, sigma: float, count: float, delta: float, most: float
) -> Iterator[_Shuffled]:
    """Yield bounds on epsilon of some rounds by local guarantees, nearly the least among them.

    Epsilon of the pairs rises in eps0, while the failures become rare. So the bound is nearly least at the
    smallest eps0 whose failures delta can pay for.

    Args:
        n: number of clients.
        rate: probability with which each checks in.
        sigma: deviation of the noise.
        count: number of rounds, > 0.
        delta: target.
        most: an epsilon that is known; larger ones are not looked for.
    """
    if delta == 0 or most == 0:
        return
    allowed, rounds = math.log(_MOST_FAILURES) + math.log(delta) - math.log(count), np.array([count])

    def moved(eps0: float, delta0: float) -> float:
        return 2 * moved_check_in(n=n, rate=rate, eps0=eps0, delta0=delta0)[0]

    def guarantee(halvings: float) -> tuple[float, float] | None:
        """Return the guarantee (eps0, delta0) whose failures in rounds with the client would cost 2^-halvings
        of nearly all of delta at epsilon 0; None if there is none in double precision."""
        return _local(sigma, allowed - halvings * math.log(2), moved)

    def bound(local: tuple[float, float] | None) -> _Shuffled:
        if local is None:
            return _Shuffled(math.inf, math.inf, 0.0)
        columns = replaced.columns(n, rate, *local, rounds, delta)
        return _Shuffled(float(columns["epsilon"][0]), *local)

    halvings = 0.0
    for _ in range(_TRIES):
        local = guarantee(halvings)
        if local is None:
            break
        taking_part, away = moved_check_in(n=n, rate=rate, eps0=local[0], delta0=local[1])
        pairs = float(shuffled.joint_columns(n, rate, local[0], rounds, delta)["epsilon"][0])
        if pairs >= min(most, via_pld.LARGEST_EPS0):
            break
        failures = count * (taking_part * (1 + math.exp(pairs)) + away * math.expm1(pairs))
        if failures < delta and (found := bound(local)).epsilon < math.inf:
            yield found
            low, high = halvings - 1, halvings
            for _ in range(_BISECTIONS):
                middle = (low + high) / 2
                yield (found := bound(guarantee(middle)))
                low, high = (middle, high) if found.epsilon == math.inf else (low, middle)
            yield bound(guarantee(high + _STEP))
            break
        # a larger eps0 has a larger epsilon, so that hardly fewer halvings than these can do
        halvings += max(_STEP, math.log2(failures / delta))
    if n * rate > _FEW_REPORTS:
        return

    def told(eps0: float, delta0: float) -> float:
        return liew2022_conversions.disclosure(n=n, rate=rate, eps0=eps0, delta0=delta0)

    for times in range(_GUARANTEES):
        local = _local(sigma, allowed - times * math.log(4), told)
        if local is not None:
            columns = shuffled.by_clones(
                n, rate, local[0], np.array([count]), delta, "feldman2022", infinite=told(*local)
            )
            yield _Shuffled(float(columns["epsilon"][0]), *local)


def _local(
    sigma: float, log_chance: float, chance: Callable[[float, float], float]
) -> tuple[float, float] | None:
    """Return the guarantee (eps0, delta0) of the noise with which a failure has probability e^log_chance;
    None if there is none in double precision.

    Args:
        sigma: deviation of the noise.
        log_chance: log of the probability.
        chance: function of eps0 and delta0 that returns the probability of a failure.
    """

    def found(log_eps0: float) -> tuple[float, float]:
        eps0 = math.exp(log_eps0)
        return eps0, gaussian_delta(eps=eps0, noise=sigma)

    def excess(log_eps0: float) -> float:
        eps0, delta0 = found(log_eps0)
        return (math.log(chance(eps0, delta0)) if delta0 < 1 else 0.0) - log_chance

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
