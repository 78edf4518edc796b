"""Shuffled reports of (eps0, delta0)-LDP randomisers: clones, except with a small probability."""

from __future__ import annotations

import math

import numpy as np

from shuffledp import checks
from shuffledp.profiles.clones import ANALYSES

_CLONES = {"feldman2022": 2.0, "feldman2021": 1.0}  # c below


def disclosure(*, n: float, eps0: float, delta0: float, analysis: str = "feldman2022") -> float:
    """Return the probability with which a shuffle of (eps0, delta0)-LDP reports may disclose everything.

    The shuffle is dominated by a mechanism that discloses the data set with this probability, and otherwise
    is the clones pair of n reports of eps0-LDP randomisers. The probability is (e^eps0 + 1) t, where t bounds
    the total variation from a shuffle to which the clones apply. For a between e^-eps0 and e^eps0, the
    divergence H of the pair at a is at most (e^eps0 - a)/(e^eps0 + 1), hence x + (1 - x) H >= H + (1 + a) t
    for x = (e^eps0 + 1) t. Beyond e^eps0 the divergence of the shuffle is at most delta0 <= x; below e^-eps0
    it is 1 - a + a times that of the other direction at 1/a, at most 1 - a + a delta0, and x + (1 - x) H >= 1
    - a + a x.

    The two reports of the client are within s = delta0/(e^eps0 + 1) of reports P, Q of eps0-LDP (what exceeds
    e^eps0 times the other is shared out between them). A report R of another client lacks at most
    e^-eps0 (delta0 + s) of e^-eps0 P, and of e^-eps0 Q. So it is within c e^-eps0 (delta0 + s) of one that is
    e^-eps0 (P + Q)/2 at least (feldman2021, c = 1), or e^-eps0 max(P, Q) (feldman2022, c = 2). Together
    t = s + (n - 1) c e^-eps0 (delta0 + s), also where reports depend on those before (feldman2021).
    Theorem 3.8 of feldman2021 is of this kind.

    Args:
        n: number of shuffled reports, >= 1. As the probability is linear in n, a mean number gives the mean
            probability.
        eps0: local privacy parameter, >= 0.
        delta0: its failure probability, in [0, 1).
        analysis: "feldman2022" or "feldman2021", the clones pair that is meant.

    Returns:
        An upper bound, at most 1.

    Raises:
        ValueError: an argument is out of range.
    """
    n, eps0 = checks.real("n", n, at_least=1.0), checks.eps0(eps0)
    delta0 = checks.probability("delta0", delta0, zero=True)
    factor = _CLONES[checks.choice("analysis", analysis, ANALYSES)]
    # (e^eps0 + 1) s = delta0, and (e^eps0 + 1) e^-eps0 (delta0 + s) = (1 + 2 e^-eps0) delta0
    others = (n - 1) * factor * (1 + 2 * math.exp(-eps0))
    return min(delta0 * (1 + others) * (1 + 1e-12), 1.0)


def moved(*, reports: float, eps0: float, delta0: float) -> float:
    """Return a bound on the total variation of a round of (eps0, delta0)-LDP reports from one of eps0-LDP
    reports, for either of the client's records.

    The client's own reports have to be moved by at most delta0/(e^eps0 + 1) to be within a factor e^eps0 of
    each other, and those of another client by at most 2 e^-eps0 delta0 to lie above e^-eps0 times the larger
    of the two (``docs/theory/every_randomiser.md``). So a divergence at e^eps is at most that of the eps0-LDP
    round plus (1 + e^eps) times this.

    Args:
        reports: number of reports of a round, or their mean number, >= 0.
        eps0: local privacy parameter, >= 0.
        delta0: its failure probability, in [0, 1).

    Returns:
        An upper bound.

    Raises:
        ValueError: an argument is out of range.
    """
    reports, eps0 = checks.real("reports", reports, at_least=0.0), checks.eps0(eps0)
    delta0 = checks.probability("delta0", delta0, zero=True)
    found = reports * 2 * math.exp(-eps0) * delta0 * (1 + 1e-12)
    # a product of tiny numbers must not become 0
    return max(found, float(np.finfo(np.float64).tiny)) if delta0 > 0 and reports > 0 else found


def moved_check_in(*, n: float, rate: float, eps0: float, delta0: float) -> tuple[float, float]:
    """Return bounds p, q on how far a shuffled check-in of (eps0, delta0)-LDP reports is, in total variation,
    from one of eps0-LDP reports: where the client takes part, and where not, each times its probability.

    Where the client stays away the round is the same for both of her records, so that it matters less: the
    divergence of T rounds at e^eps >= 1 is at most that of T eps0-LDP rounds plus
    T (p (1 + e^eps) + q (e^eps - 1 + 2 delta)), wherever this sum is at most delta
    (``docs/theory/every_randomiser.md``).

    Args:
        n: number of clients, >= 1.
        rate: probability with which each takes part, in [0, 1].
        eps0: local privacy parameter, >= 0.
        delta0: its failure probability, in [0, 1).

    Raises:
        ValueError: an argument is out of range.
    """
    rate = checks.probability("rate", rate, zero=True, one=True)
    others = (checks.real("n", n, at_least=1.0) - 1) * rate
    of_others = moved(reports=others, eps0=eps0, delta0=delta0)
    her_own = delta0 * math.exp(-eps0) / (1 + math.exp(-eps0)) * (1 + 1e-12)
    # a product of tiny numbers must not become 0
    least = float(np.finfo(np.float64).tiny) if delta0 > 0 else 0.0
    return rate * (of_others + her_own) + least, (1 - rate) * of_others + least
