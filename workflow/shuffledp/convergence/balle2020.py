"""Accuracy of training by random check-ins: balle2020, Theorems 3.5 and 4.2."""

from __future__ import annotations

import math

from shuffledp import checks


def fixed_window_utility(
    *,
    n: int,
    slots: int,
    dimension: int,
    sigma: float,
    lipschitz: float,
    radius: float,
    participation: float = 1.0,
) -> float:
    """Return a bound on the expected excess risk of fixed-window check-ins: Theorem 3.5.

    The value is 2 R G (2 + log m)/sqrt(m) with G = sqrt(d sigma^2 + L^2)/(1 - 2 e^(-n p0/m)). For learning
    rates c/sqrt(i) the theorem's proof bounds the risk by (R^2/c + c G^2) (2 + log m)/sqrt(m), and this is
    that bound at its best c. One formula of the proof lacks the square on the denominator of G^2; the proof's
    text and its best learning rate have it.

    Args:
        n: number of clients, >= 1.
        slots: m, the number of slots and so of updates, >= 1.
        dimension: d, the length of the parameter vector, >= 1.
        sigma: standard deviation of the noise in each coordinate of a report, >= 0.
        lipschitz: L, the Lipschitz constant of the convex loss, >= 0.
        radius: R, the radius of the parameter space, >= 0.
        participation: p0, the probability with which a client takes part, in [0, 1].

    Returns:
        An upper bound, not rounded; inf where so few clients take part that the theorem says nothing.

    Raises:
        ValueError: an argument is out of range.
    """
    n, slots, dimension = _counts(n, slots, dimension)
    p0 = checks.probability("participation", participation, zero=True, one=True)
    sigma, lipschitz, radius = _sizes(sigma, lipschitz, radius)
    filled = 1 - 2 * math.exp(-n * p0 / slots)
    if filled <= 0:
        return math.inf
    length = math.sqrt(dimension * sigma**2 + lipschitz**2)
    return 2 * radius * length / filled * (2 + math.log(slots)) / math.sqrt(slots)


def averaging_utility(
    *,
    n: int,
    slots: int,
    dimension: int,
    sigma: float,
    lipschitz: float,
    radius: float,
    smoothness: float | None = None,
) -> float:
    """Return a bound on the expected excess risk of check-ins whose slots are averaged: Theorem 4.2.

    For a convex loss it is 2 R sqrt(m d sigma^2/n + L^2) (2 + log m)/sqrt(m), and holds for the last
    parameters. For a convex loss that is beta-smooth it is R kappa sqrt(2/m) + beta R^2/m, and holds for the
    mean of all parameters. There kappa^2 is (L^2 + d sigma^2) E[1/S; S > 0] for the number S ~ Bin(n, 1/m) of
    clients in a slot. The paper bounds it by O(m/n); the constant is 2, since 1/S <= 2/(S + 1) and
    E 1/(S + 1) <= m/(n + 1).

    Args:
        n: number of clients, >= 1.
        slots: m, the number of slots and so of updates, >= 1.
        dimension: d, the length of the parameter vector, >= 1.
        sigma: standard deviation of the noise in each coordinate of a report, >= 0.
        lipschitz: L, the Lipschitz constant of the loss, >= 0.
        radius: R, the radius of the parameter space, >= 0.
        smoothness: beta >= 0; None for a loss that is not smooth.

    Returns:
        An upper bound, not rounded.

    Raises:
        ValueError: an argument is out of range.
    """
    n, slots, dimension = _counts(n, slots, dimension)
    sigma, lipschitz, radius = _sizes(sigma, lipschitz, radius)
    if smoothness is None:
        length = math.sqrt(slots * dimension * sigma**2 / n + lipschitz**2)
        return 2 * radius * length * (2 + math.log(slots)) / math.sqrt(slots)
    beta = checks.real("smoothness", smoothness, at_least=0.0)
    kappa = math.sqrt(min(1.0, 2 * slots / (n + 1)) * (lipschitz**2 + dimension * sigma**2))
    return radius * kappa * math.sqrt(2 / slots) + beta * radius**2 / slots


def _counts(n: int, slots: int, dimension: int) -> tuple[int, int, int]:
    return checks.count("n", n), checks.count("slots", slots), checks.count("dimension", dimension)


def _sizes(sigma: float, lipschitz: float, radius: float) -> tuple[float, float, float]:
    return (
        checks.real("sigma", sigma, at_least=0.0),
        checks.real("lipschitz", lipschitz, at_least=0.0),
        checks.real("radius", radius, at_least=0.0),
    )
