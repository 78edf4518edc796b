"""Privacy and convergence of CLDP-SGD: girgis2021, Theorem 3."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray
from shuffledp.convergence import step_size
from shuffledp.rdp.conversion import to_epsilon
from shuffledp.rdp.girgis2021 import girgis2021_upper


@dataclass(frozen=True)
class Convergence:
    """Both parts of Theorem 3; ``epsilon`` and ``excess_risk`` are arrays where ``rounds`` was an array.

    Attributes:
        epsilon: of all rounds together at delta (part 1), an upper bound.
        excess_risk: bound on E F(theta_T) - F(theta*) (part 2), rounded up; inf beyond float64.
        second_moment: G^2, an upper bound (``step_size.second_moment``).
        first_step: eta_1 = D/G; the step size of round t is eta_1/sqrt(t).
    """

    epsilon: float | FloatArray
    excess_risk: float | FloatArray
    second_moment: float
    first_step: float


def girgis2021_convergence(
    rounds: ArrayLike,
    *,
    n: int,
    k: int,
    eps0: float,
    delta: float,
    dimension: int,
    lipschitz: float,
    diameter: float,
    norm: float = 2.0,
    variance: float | None = None,
) -> Convergence:
    """Return the epsilon and the excess risk of T rounds of CLDP-SGD on a convex loss: girgis2021, Theorem 3.

    For a loss that is convex in theta and whose gradients have l_p length at most L (Lipschitz with respect
    to the dual norm), theta projected to a convex set of l_2 diameter D after each step, and step sizes
    D/(G sqrt t): E F(theta_T) - F(theta*) <= 2 D G (2 + log T)/sqrt(T), with the constant of the theorem's
    proof (Lemma 10, from Shamir and Zhang 2013), which the theorem itself states as O(.).

    Args:
        rounds: T, whole numbers >= 1, any shape.
        n: number of clients, >= 1.
        k: clients per round, 1 <= k <= n.
        eps0: local privacy parameter > 0.
        delta: target of the accounting, in (0, 1).
        dimension: d, number of parameters.
        lipschitz: L > 0.
        diameter: D > 0.
        norm: p, one of 1, 2 and inf.
        variance: largest variance G_p^2 of the randomiser's messages, if it is not the one that the paper
            names for p (``step_size.local_variance``); the step sizes follow it.

    Returns:
        A ``Convergence``. theta_T is the iterate before the step of round T; the bound decreases in T, so it
        also holds after T rounds. At T = 1 it is 4 D G, far more than any two losses can differ by: the bound
        says something for large T only.

    Raises:
        ValueError: an argument is out of range.
    """
    counts = checks.counts("rounds", rounds, at_least=1)
    (n, k), size = checks.clients(n, k), checks.positive("diameter", diameter)
    moment = step_size.second_moment(
        k=k, dimension=dimension, eps0=eps0, lipschitz=lipschitz, norm=norm, variance=variance
    )
    curve = functools.partial(girgis2021_upper, n=n, k=k, eps0=eps0)
    risk = 2 * size * math.sqrt(moment) * ((2 + np.log(counts)) / np.sqrt(counts)) * (1 + numerics.OUTWARD)
    return Convergence(
        epsilon=to_epsilon(curve, delta=delta, rounds=rounds).value,
        excess_risk=checks.like_input(risk),
        second_moment=moment,
        first_step=step_size.step(1, diameter=size, moment=moment),
    )
