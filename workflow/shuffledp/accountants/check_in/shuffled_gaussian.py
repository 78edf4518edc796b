"""Shuffled check-in with Gaussian noise: each message is a record with noise, and the messages are shuffled.

The noise gives a whole curve of local guarantees (eps0, delta0), of which the best for each number of rounds
is used. With one fixed guarantee, as liew2022 has it, epsilon is infinite once n delta0 has used up delta.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import scipy

from shuffledp import numerics
from shuffledp.accountants import systems, via_pld
from shuffledp.accountants.check_in import shuffled
from shuffledp.accountants.registry import Columns, register
from shuffledp.checkin import liew2022_conversions
from shuffledp.checkin.distributed import outside
from shuffledp.checks import FloatArray
from shuffledp.profiles.gaussian import gaussian_delta, gaussian_mixture_epsilon

_MOST_TOLD = 0.9  # largest share of delta that is spent on disclosures in all rounds
# Number of guarantees tried for a number of rounds; each has a quarter of the probability of disclosure of
# that before.
_GUARANTEES = 3
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
    citation="feldman2022, balle2018analytic, koskela2022, liew2022, doroshenko2022, this project",
    theorem="that of check-in-pld, and a probability of disclosure",
    label="check-in of Gaussian reports, numerical",
    note=(
        "Each number of rounds uses the best of three local guarantees (eps0, delta0) of the noise, which is "
        "reported; a part of delta pays for the failures of that guarantee. Where that eps0 is large, the "
        "bound without a shuffler may be smaller; both hold."
    ),
)
def _pld(*, n: int, rate: float, sigma: float, rounds: FloatArray, delta: float) -> Columns:
    found = {name: np.full(rounds.shape, np.inf) for name in ("epsilon", "local_eps0", "local_delta0")}
    # powers of 4, so that the guarantees for a number of rounds do not depend on the other numbers
    first = np.ceil((np.log(np.maximum(rounds, 1.0)) - math.log(_MOST_TOLD * delta)) / math.log(4))
    for power in np.unique(first[:, None] + np.arange(_GUARANTEES)).tolist():
        served = np.nonzero((first <= power) & (power < first + _GUARANTEES))[0]
        local = _local(n, rate, sigma, power)
        if local is None:
            continue
        eps0, delta0, told = local
        epsilon = shuffled.by_clones(n, rate, eps0, rounds[served], delta, "feldman2022", infinite=told)[
            "epsilon"
        ]
        better = served[epsilon < found["epsilon"][served]]
        found["epsilon"][served] = np.minimum(found["epsilon"][served], epsilon)
        found["local_eps0"][better], found["local_delta0"][better] = eps0, delta0
    return found


def _local(n: int, rate: float, sigma: float, power: float) -> tuple[float, float, float] | None:
    """Return the guarantee (eps0, delta0) of the noise whose probability of disclosure is 4^-power, and that
    probability; None if there is none in double precision."""

    def found(log_eps0: float) -> tuple[float, float, float]:
        eps0 = math.exp(log_eps0)
        delta0 = gaussian_delta(eps=eps0, noise=sigma)
        if delta0 >= 1:
            return eps0, delta0, 1.0
        return (
            eps0,
            delta0,
            liew2022_conversions.disclosure(n=n, rate=rate, eps0=eps0, delta0=delta0),
        )

    def excess(log_eps0: float) -> float:
        return math.log(found(log_eps0)[2]) + power * math.log(4)

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
