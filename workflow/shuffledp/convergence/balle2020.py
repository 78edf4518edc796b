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

    R sqrt(d sigma^2 + L^2)/(1 - 2 e^(-n p0/m)) * 2 (2 + log m)/sqrt(m), the learning rate optimised: the
    theorem's bound R^2/c + c (d sigma^2 + L^2)/(1 - 2 e^(-n p0/m))^2 at its best c.

    Args:
        n: clients.
        slots: m, hence updates.
        dimension: d of the parameter vector.
        sigma: standard deviation of the noise in each coordinate of a report.
        lipschitz: L of the convex loss.
        radius: R, of the parameter space.
        participation: p0.

    Returns:
        An upper bound; inf where so few clients take part that the theorem says nothing.

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

    Convex: 2 R sqrt(m d sigma^2/n + L^2) (2 + log m)/sqrt(m), for the last parameters. With a beta-smooth
    loss: R kappa sqrt(2/m) + beta R^2/m for the mean of all parameters, where kappa^2 is at most the
    expectation of 1/S over non-empty slots, S ~ Bin(n, 1/m), times (L^2 + d sigma^2): the paper's O(m/n) with
    its constant, since 1/S <= 2/(S + 1) and E 1/(S + 1) <= m/(n + 1).

    Args:
        n: clients.
        slots: m, hence updates.
        dimension: d of the parameter vector.
        sigma: standard deviation of the noise in each coordinate of a report.
        lipschitz: L of the convex loss.
        radius: R, of the parameter space.
        smoothness: beta; None for a loss that is not smooth.

    Returns:
        An upper bound.

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
