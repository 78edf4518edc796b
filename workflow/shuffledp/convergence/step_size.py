"""The second moment and the step sizes of Theorem 3 of girgis2021.

They are kept apart from the theorem itself because training uses them. So training does not depend on how
privacy is accounted for, and a change of the modules that only accounting uses makes no run of it stale.
"""

from __future__ import annotations

import math

from shuffledp import checks

NORMS = (1.0, 2.0, math.inf)
_OUTWARD = 2.0**-37  # relative, by which values are rounded up: the value of numerics.OUTWARD


def ball_norm(value: object) -> float:
    """Return p, the norm of the ball that gradients lie in: 1, 2 or infinity.

    Args:
        value: a number.

    Raises:
        ValueError: ``value`` is none of the three.
    """
    number = checks.real("norm", value, at_least=1.0, finite=False)
    if number not in NORMS:
        raise ValueError(f"norm must be one of 1, 2 and inf, got {value!r}")
    return number


def local_variance(*, dimension: int, eps0: float, lipschitz: float, norm: float) -> float:
    """Return G_p^2(L) of girgis2021, Remark 1: the variance of the randomiser that it names for a norm.

    With c = (e^eps0 + 1)/(e^eps0 - 1): L^2 d c^2 for p = 1, 14 L^2 d c^2 for p = 2, L^2 d^2 c^2 for infinity.

    Args:
        dimension: d, length of the gradients.
        eps0: local privacy parameter > 0.
        lipschitz: L > 0, radius of the ball.
        norm: p, one of 1, 2 and inf.

    Returns:
        The constant as the paper has it, an upper bound on E |R(x) - x|_2^2; inf beyond float64.

    Raises:
        ValueError: an argument is out of range.
    """
    d, p = checks.count("dimension", dimension), ball_norm(norm)
    spread = checks.positive("lipschitz", lipschitz) / math.tanh(checks.positive("eps0", eps0) / 2)
    factor = {1.0: float(d), 2.0: 14.0 * d, math.inf: float(d) * d}[p]
    return factor * spread * spread


def second_moment(
    *, k: int, dimension: int, eps0: float, lipschitz: float, norm: float, variance: float | None = None
) -> float:
    """Return G^2 = max(d^(1 - 2/p), 1) L^2 + G_p^2(L)/k of girgis2021, Theorem 3 (k = gamma n).

    Args:
        k: clients per round, >= 1.
        dimension: d, length of the gradients, >= 1.
        eps0: local privacy parameter > 0.
        lipschitz: L > 0, the largest l_p norm of a gradient.
        norm: p, one of 1, 2 and inf.
        variance: G_p^2 of the randomiser in use, >= 0; None for the ``local_variance`` that the paper names.

    Returns:
        An upper bound on the mean square length of the server's average, rounded up; inf beyond float64.

    Raises:
        ValueError: an argument is out of range.
    """
    reports, d, p = checks.count("k", k), checks.count("dimension", dimension), ball_norm(norm)
    radius = checks.positive("lipschitz", lipschitz)
    named = local_variance(dimension=d, eps0=eps0, lipschitz=radius, norm=p)
    spread = named if variance is None else checks.real("variance", variance, at_least=0.0)
    longest = float(d) if p == math.inf else 1.0
    return (longest * radius * radius + spread / reports) * (1 + _OUTWARD)


def step(t: int, *, diameter: float, moment: float) -> float:
    """Return eta_t = D/(G sqrt t), the step size of round t = 1, 2, ...

    Args:
        t: the round, counted from 1.
        diameter: D > 0, l_2 diameter of the set that theta is projected to.
        moment: G^2 > 0, inf included.

    Raises:
        ValueError: an argument is out of range.
    """
    length = checks.positive("diameter", diameter) / math.sqrt(
        checks.real("moment", moment, at_least=math.ulp(0.0), finite=False)
    )
    return length / math.sqrt(checks.count("t", t))
