"""Shuffled check-in with Gaussian noise: each message is a record with noise, and the messages are shuffled.

The noise gives a whole curve of local guarantees (eps0, delta0), of which nearly the best for each number of
rounds is used. With one fixed guarantee, as liew2022 has it, epsilon is infinite once its failures have used
up delta.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np

from shuffledp import numerics
from shuffledp.accountants import gaussian_reports, systems, via_kinds, via_pld
from shuffledp.accountants.check_in import replaced, shuffled
from shuffledp.accountants.registry import Columns, register
from shuffledp.checkin import liew2022_conversions
from shuffledp.checkin.distributed import outside
from shuffledp.checks import FloatArray
from shuffledp.profiles.approximate import moved_check_in
from shuffledp.profiles.gaussian import gaussian_delta, gaussian_mixture_epsilon

# Up to this mean number of reports of a round it is tried too, for so many guarantees, what follows if a
# failure discloses everything; where there are more reports, that was never seen to be better.
_FEW_REPORTS, _GUARANTEES = 2, 3
_MOST_FAILURES = 0.9  # largest share of delta that disclosure may cost
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
    theorem="that of check-in-tv-pld, and what separates the reports from eps0-LDP ones (theory page)",
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

    def bounds(one: FloatArray, most: float) -> Iterator[gaussian_reports.Bound]:
        yield _by_replacing(n, rate, sigma, one, delta, most=most)
        if n * rate <= _FEW_REPORTS:
            yield from _by_disclosure(n, rate, sigma, one, delta)

    return gaussian_reports.columns(bare, bounds, rounds=rounds, delta=delta)


def _by_replacing(
    n: int, rate: float, sigma: float, rounds: FloatArray, delta: float, *, most: float
) -> gaussian_reports.Bound:
    """Return a bound on epsilon of one number of rounds whose reports are replaced by eps0-LDP ones; ``most``
    is as for ``gaussian_reports.by_replacing``."""

    def failures(eps0: float, delta0: float, eps: float) -> float:
        taking_part, away = moved_check_in(n=n, rate=rate, eps0=eps0, delta0=delta0)
        return float(rounds[0]) * (taking_part * (1 + math.exp(eps)) + away * math.expm1(eps))

    tv = gaussian_delta(eps=0.0, noise=sigma)
    return gaussian_reports.by_replacing(
        sigma,
        delta,
        failures=failures,
        without=lambda eps0: via_kinds.columns(n, rate, eps0, rounds, delta, tv=tv),
        bound=lambda eps0, delta0: replaced.columns(n, rate, eps0, delta0, rounds, delta, tv=tv),
        most=most,
    )


def _by_disclosure(
    n: int, rate: float, sigma: float, rounds: FloatArray, delta: float
) -> Iterator[gaussian_reports.Bound]:
    """Yield bounds on epsilon of one number of rounds in which a failure of the local guarantee discloses
    everything."""

    def told(eps0: float, delta0: float) -> float:
        return liew2022_conversions.disclosure(n=n, rate=rate, eps0=eps0, delta0=delta0)

    def failures(eps0: float, delta0: float) -> float:
        return float(rounds[0]) * told(eps0, delta0)

    for times in range(_GUARANTEES):
        log_cost = math.log(_MOST_FAILURES) + math.log(delta) - times * math.log(4)
        local = gaussian_reports.guarantee(sigma, log_cost, failures)
        if local is not None:
            columns = shuffled.by_clones(
                n, rate, local[0], rounds, delta, "feldman2022", infinite=told(*local)
            )
            yield gaussian_reports.Bound(float(columns["epsilon"][0]), *local)


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
