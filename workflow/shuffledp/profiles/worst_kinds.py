"""Worst-case probabilities of the four kinds of reports of a blanket, from what is known of a randomiser.

Let R be eps0-LDP, e = exp(eps0), with a blanket mu of mass b, as ``four_kinds`` has it. Of the pair of ratios
(R_x0/mu, R_x1/mu), the values (e, 1) and (1, e) have probability t each, (1, 1) has probability c, and (e, e)
has probability d. Both ratios have mean 1, so c + e d + (e + 1) t = 1, and b = c + d + 2 t.

- Where b is known and tv = TV(R_x0, R_x1), or an upper bound on it: t = tv/(e - 1), d = (1 - b)/(e - 1) - t.
- Where b alone is known, as the share f = (1/b - 1)/(e - 1) <= 1/2: tv = 1 - b, its largest value, and d = 0.
- Where tv alone is known, b is at its least: c = 0.

The divergence falls in b and rises in tv. So f and tv may be upper bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from shuffledp import checks, rounding

_WRITTEN = 5e-6  # relative rounding error of a number that is written with six digits
_SAME = 1e-12  # relative distance within which total variation and 1 - b count as equal


@dataclass(frozen=True)
class Kinds:
    """Probabilities of the kinds of another client's report, in the worst case.

    Attributes:
        tilted: t, the probability of (e, 1), and likewise of (1, e).
        plain: c, the probability of (1, 1).
        heavy: d, the probability of (e, e).
        revealed: probability that the report is revealed.
    """

    tilted: float
    plain: float
    heavy: float
    revealed: float

    def at_rate(self, rate: float) -> Kinds:
        """Return the kinds of a client who checks in with probability ``rate``."""
        scaled = Kinds(*(rate * one for one in (self.tilted, self.plain, self.heavy, self.revealed)))
        return replace(scaled, plain=scaled.plain + (1 - rate))


def kinds(*, eps0: float, share: float | None = None, tv: float | None = None) -> Kinds:
    """Return the worst kinds for what is known of a randomiser.

    Args:
        eps0: local privacy parameter, > 0.
        share: f in (0, 1/2], such that the randomiser has a blanket of mass at least 1/(1 + (e^eps0 - 1) f).
        tv: an upper bound on the total variation between the reports of any two records, at most
            (e^eps0 - 1)/(e^eps0 + 1), and at most 1 - b where f is given.

    Returns:
        The worst kinds. If neither number is given they are those of f = 1/2, the clones of feldman2022. If
        tv is 1 - b or more (by rounding), f alone decides.

    Raises:
        ValueError: a number is out of its range, or impossible at this eps0.
    """
    growth, least = math.expm1(eps0), math.exp(-eps0)
    tilted = math.inf if tv is None else checked_tv(tv, eps0, share) / growth
    if tv is not None and share is None:
        tilted = min(tilted, least / (1 + least))
        # d = (1 - (e + 1) t)/e, without cancellation where tv is the largest possible
        most = math.tanh(eps0 / 2)
        heavy = least * max(most - tv, 0.0) / most
        return Kinds(tilted, 0.0, heavy, -math.expm1(-eps0) * (1 - tilted))
    share = 0.5 if share is None else checked_share(share)
    blanket = 1 / (1 + growth * share)
    most = share * blanket
    if tilted > most * (1 - _SAME):
        tilted = most
    heavy = most - tilted
    return Kinds(tilted, blanket * (1 - 2 * share) + heavy, heavy, growth * share * blanket)


def checked_share(share: object) -> float:
    """Return the share f of a blanket, a number in (0, 1/2].

    Args:
        share: the number given.

    Raises:
        ValueError: it is no number, or out of its range.
    """
    value = checks.real("share", share)
    if not 0 < value <= 0.5:
        raise ValueError(
            f"share must lie in (0, 1/2], got {share!r}; every eps0-LDP randomiser may be taken at 1/2"
        )
    return value


def checked_tv(tv: object, eps0: float, share: object = None) -> float:
    """Return the total variation, a number within what eps0 and the share allow.

    The limit is (e^eps0 - 1)/(e^eps0 + 1), and with a blanket of mass b = 1/(1 + (e^eps0 - 1) share) it is
    1 - b. Many randomisers attain it, so a number that is written with six digits may exceed it by rounding.

    Args:
        tv: the number given, > 0.
        eps0: local privacy parameter, > 0.
        share: as for ``kinds``; None if it is not known.

    Returns:
        The number; where it exceeds the first of the two limits by its rounding, that limit.

    Raises:
        ValueError: it is out of its range, or the share is.
    """
    value, most = checks.probability("tv", tv, one=True), math.tanh(eps0 / 2)
    if value > most * (1 + _WRITTEN):
        shown = rounding.shown(most, "lower", digits=6)
        raise ValueError(
            f"tv must be at most (e^eps0 - 1)/(e^eps0 + 1) = {shown}, which no eps0-LDP "
            f"randomiser exceeds at eps0={eps0:g}, got {tv!r}; use a smaller tv, or leave it out"
        )
    if share is not None:
        part = -math.expm1(-eps0) * checked_share(share)
        left = part / (math.exp(-eps0) + part)
        if value > left * (1 + _WRITTEN):
            shown = rounding.shown(left, "lower", digits=6)
            raise ValueError(
                f"tv must be at most 1 - b = {shown}, which a blanket of mass "
                f"b = 1/(1 + (e^eps0 - 1) share) leaves at share={share:g} and eps0={eps0:g}, got {tv!r}; "
                "use a smaller tv, a larger share, or leave one of them out"
            )
    return min(value, most)
