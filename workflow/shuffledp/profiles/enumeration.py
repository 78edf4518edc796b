"""The clones pair, outcome by outcome: koskela2022, Lemma 11.

Every outcome is listed, so that the time grows like the number of reports. ``profiles.clones`` merges numbers
of clones into blocks instead, and tests compare it with this module.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray

_LARGEST = 4_000_000  # outcomes that are kept in memory


@dataclass(frozen=True)
class EnumeratedPair:
    """The pair as arrays over its outcomes: N reports of two kinds, of which a are of the first kind.

    Attributes:
        coin: mass M that the outcome would have if all N were fair coins.
        x: b t with t = (2a - N)/N and the tilt b; the masses under P and Q are M (1 + x) and M (1 - x).
        far: 1 - |x|.
        left_out: probability, under P and under Q, of the outcomes that Lemma 11 leaves out.
    """

    coin: FloatArray
    x: FloatArray
    far: FloatArray
    left_out: float

    def coins(self) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        """Return the outcomes in the form that ``pld.dominating`` takes."""
        return self.coin, self.x, self.far, self.left_out


class _TooManyError(ValueError):
    """The outcomes of so many reports do not fit into memory."""

    def __init__(self, n: int) -> None:
        super().__init__(
            f"n must be smaller to enumerate every outcome: n={n} has more than {_LARGEST} of them; "
            "profiles.clones has no such limit"
        )


def enumerated_clones(*, n: int, eps0: float, tau: float) -> EnumeratedPair:
    """Return the feldman2022 pair of n shuffled reports, all outcomes within Hoeffding's bounds.

    With C ~ Bin(n - 1, 2p) clones of which A ~ Bin(C, 1/2) send the first message, C is kept within
    sqrt((n - 1) log(4/tau)/2) of its mean, and A within sqrt(C log(4/tau)/2) of C/2.

    Args:
        n: number of shuffled reports.
        eps0: local privacy parameter, > 0.
        tau: largest probability that may be left out, in (0, 1).

    Returns:
        O(n log(4/tau)) outcomes, and the probability of the rest, computed rather than bounded: at most tau.

    Raises:
        ValueError: an argument is out of range, or n is so large that the outcomes do not fit into memory.
    """
    n, eps0 = checks.count("n", n), checks.real("eps0", eps0, at_least=0.0)
    tau = checks.probability("tau", tau)
    if eps0 == 0:
        raise ValueError("eps0 must be > 0 to enumerate clones, got 0: every report is one")
    half_width, share = math.sqrt(math.log(4 / tau) / 2), 2 * special.expit(-eps0)
    log_p, log_q = math.log(share), math.log(math.tanh(eps0 / 2))
    reach = half_width * math.sqrt(n - 1)
    low = max(0, math.ceil(share * (n - 1) - reach))
    high = min(n - 1, math.floor(share * (n - 1) + reach))
    if high - low >= _LARGEST:
        raise _TooManyError(n)
    clones = np.arange(low, high + 1, dtype=np.float64)
    weights = np.exp(numerics.log_binomial_pmf(clones, n - 1, log_p, log_q)) if n > 1 else np.ones(1)
    outside = float(special.betainc(n - low, low, 1 - share)) if low > 0 else 0.0
    outside += float(special.betainc(high + 1, n - 1 - high, share)) if high < n - 1 else 0.0

    # of the C + 1 reports of the two kinds, a = A or A + 1 are of the first
    first = np.maximum(np.ceil(clones / 2 - half_width * np.sqrt(clones)), 0.0)
    sizes = (clones - 2 * first + 2).astype(np.int64)
    if sizes.sum() > _LARGEST:
        raise _TooManyError(n)
    inner = np.maximum(first, 1.0)
    tails = np.where(first > 0, 2 * special.betainc(np.maximum(clones, 1.0) - inner + 1, inner, 0.5), 0.0)
    part = np.repeat(np.arange(clones.size), sizes)
    a = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes) + first[part]
    count = clones[part] + 1
    coin = weights[part] * np.exp(numerics.log_binomial_pmf(a, count, -math.log(2), -math.log(2)))
    t = (2 * a - count) / count
    gap = 2 * special.expit(-eps0)
    far = np.minimum(a, count - a) * 2 / count + np.abs(t) * gap
    return EnumeratedPair(coin, math.tanh(eps0 / 2) * t, far, outside + float(weights @ tails))
