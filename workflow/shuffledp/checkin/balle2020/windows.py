"""Fixed and sliding windows: in a slot the server takes one of the clients who picked it."""

from __future__ import annotations

import math

import numpy as np

from shuffledp import checks
from shuffledp.checkin.balle2020.strengths import (
    LARGEST_EPS0,
    OUTWARD,
    blocks,
    capped_expm1,
    checked,
    closed_form,
    composed,
    listed,
    outward_log1p,
    pure,
)
from shuffledp.checks import FloatArray


def check_in_epsilons(*, slots: int, eps0: float, weight: float = 1.0) -> FloatArray:
    """Return epsilon of each slot of a window (proof of Theorem A.4).

    eps_i = log(1 + w e^eps0 (e^eps0 - 1)/(i - 1 + e^eps0 (m - i + 1))), i = 1..m.

    Args:
        slots: m, their number, >= 1.
        eps0: local privacy parameter, >= 0.
        weight: w, the probability of taking part, in [0, 1].

    Returns:
        Shape (m,), increasing; at most eps0.

    Raises:
        ValueError: an argument is out of range.
    """
    slots, eps0 = checks.count("slots", slots), checks.eps0(eps0)
    weight = checks.probability("weight", weight, zero=True, one=True)
    return _check_in_epsilons(listed("slots", slots), slots, eps0, weight)


def _check_in_epsilons(before: FloatArray, slots: int, eps0: float, weight: float) -> FloatArray:
    # with both sides divided by e^eps0
    share = weight * capped_expm1(eps0) / (slots + before * math.expm1(-eps0))
    return np.minimum(outward_log1p(share), eps0)


def fixed_window(
    *,
    slots: int,
    eps0: float,
    delta: float,
    participation: float = 1.0,
    strength: str = "closed_form",
    rounds: int = 1,
) -> float:
    """Return epsilon of fixed-window check-ins: Theorem 3.2 (A.4).

    Args:
        slots: m, of the window.
        eps0: local privacy parameter, >= 0.
        delta: target, in (0, 1).
        participation: p0, the probability of taking part at all, in [0, 1].
        strength: "closed_form", "sum" or "numerical".
        rounds: windows, one after the other; their slots are composed as one sequence.

    Returns:
        An upper bound. At most rounds * eps0, which holds since each client reports once a window at most.

    Raises:
        ValueError: an argument is out of range.
    """
    slots, eps0, delta, strength = checked(slots, eps0, delta, strength)
    p0 = checks.probability("participation", participation, zero=True, one=True)
    rounds = checks.count("rounds", rounds)
    if eps0 > LARGEST_EPS0:
        return pure(eps0, rounds)
    if strength == "closed_form":
        grown = p0 * math.expm1(eps0) * math.exp(eps0 / 2) / math.sqrt(slots)
        return closed_form(grown, eps0, delta, rounds)
    last, length = blocks(slots)
    return composed(_check_in_epsilons(last, slots, eps0, p0), eps0, delta, strength, rounds, length)


def simple_fixed_window(*, slots: int, eps0: float, delta: float, participation: float = 1.0) -> float:
    """Return epsilon of fixed-window check-ins in the simple form that ends Theorem 3.2.

    7 p0 eps0 sqrt(log(1/delta)/m), which rounds the constants of (A.4) up. With p0 = 1 it is that of
    Theorem 4.3 for a sliding window.

    Args:
        slots: m, of the window.
        eps0: local privacy parameter, in [0, 1].
        delta: target, in (0, 0.01].
        participation: p0, the probability of taking part at all, in [0, 1].

    Returns:
        The printed value, an upper bound: more than ``fixed_window`` in closed form.

    Raises:
        ValueError: an argument is out of range.
    """
    slots, eps0, delta = checks.count("slots", slots), checks.eps0(eps0), checks.probability("delta", delta)
    p0 = checks.probability("participation", participation, zero=True, one=True)
    for name, value, most in (("eps0", eps0, 1), ("delta", delta, 0.01)):
        if value > most:
            raise ValueError(
                f"{name} must be at most {most} for the simple form of Theorem 3.2, got {value}; use "
                "fixed_window, which needs no condition"
            )
    return 7 * p0 * eps0 * math.sqrt(-math.log(delta) / slots)


def repeated_fixed_window(
    *, n: int, slots: int, eps0: float, delta: float, strength: str = "closed_form"
) -> float:
    """Return epsilon of n/m fixed windows, in each of which a client takes part with probability m/n.

    Corollary 3.3, by its equation (7) before the constants are rounded up: so its conditions on n are not
    needed.

    Args:
        n: clients; a multiple of the slots.
        slots: m, of a window.
        eps0: local privacy parameter, >= 0.
        delta: target in all, in (0, 1); how it is split is the best of a grid.
        strength: "closed_form", "sum" or "numerical", for one window.

    Returns:
        An upper bound, at most r eps0.

    Raises:
        ValueError: an argument is out of range, or the slots do not divide n.
    """
    n = checks.count("n", n)
    slots, eps0, delta, strength = checked(slots, eps0, delta, strength)
    if n % slots:
        raise ValueError(
            f"n must be a multiple of slots, got n={n} and slots={slots}: n/slots windows follow one another"
        )
    windows = n // slots
    best = pure(eps0, windows)
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        one = fixed_window(
            slots=slots, eps0=eps0, delta=share * delta / windows, participation=slots / n, strength=strength
        )
        best = min(best, composed_windows(eps=one, windows=windows, delta=(1 - share) * delta))
    return best


def composed_windows(*, eps: float, windows: int, delta: float) -> float:
    """Return epsilon of windows one after the other: equation (7) of the proof of Corollary 3.3.

    eps sqrt(2 r log(1/delta)) + r eps (e^eps - 1) for r windows: advanced composition.

    Args:
        eps: of one window, >= 0.
        windows: how many, >= 1.
        delta: what the composition takes, in (0, 1); the deltas of the windows are added to it.

    Returns:
        An upper bound, rounded up.

    Raises:
        ValueError: an argument is out of range.
    """
    eps = checks.real("eps", eps, at_least=0.0)
    windows, delta = checks.count("windows", windows), checks.probability("delta", delta)
    spread = eps * math.sqrt(2 * windows * -math.log(delta))
    return (spread + windows * eps * capped_expm1(eps)) * OUTWARD


def corollary_applies(*, n: int, slots: int, eps0: float) -> bool:
    """Return whether the conditions of Corollary 3.3 hold that do not name beta.

    eps0 <= 2 log(n/(8 sqrt(m)))/3 and n >= (e^eps0 - 1) sqrt(m e^eps0).

    Args:
        n: clients.
        slots: m, of a window.
        eps0: local privacy parameter, >= 0.

    Raises:
        ValueError: an argument is out of range.
    """
    n, slots, eps0 = checks.count("n", n), checks.count("slots", slots), checks.eps0(eps0)
    few = eps0 <= 2 * math.log(n / (8 * math.sqrt(slots))) / 3
    return few and n >= capped_expm1(eps0) * math.sqrt(slots) * math.exp(eps0 / 2)


def corollary_3_3(*, n: int, slots: int, eps0: float, beta: float, delta: float) -> float:
    """Return epsilon of n/m fixed windows in the closed form of Corollary 3.3.

    4 (e^eps0 - 1) sqrt(e^eps0 log(1/beta) log(1/delta)/n) + 12 (e^eps0 - 1)^2 e^eps0 log(1/beta)/n, for a
    delta of n beta/m + delta in all. Its proof takes epsilon of a window to be at most 1/2, which the
    conditions give for beta >= e^-2 alone. The bound holds further: they give X <= sqrt(2 log(1/beta))/8 for
    the first term X of a window's epsilon X + X^2/(4 log(1/beta)), and (7) needs no more than
    epsilon (e^epsilon - 1) <= 6 X^2.

    Args:
        n: clients.
        slots: m, of a window.
        eps0: local privacy parameter, >= 0, so that ``corollary_applies``.
        beta: delta of one window, in (0, 1).
        delta: what the composition takes, in (0, 1).

    Returns:
        The printed value: an upper bound for beta between e^-250 and 0.99.

    Raises:
        ValueError: an argument is out of range, or the conditions do not hold.
    """
    if not corollary_applies(n=n, slots=slots, eps0=eps0):
        raise ValueError(
            f"eps0 must be at most 2 log(n/(8 sqrt(m)))/3 for Corollary 3.3, got eps0={eps0} with n={n} and "
            f"slots={slots}; use repeated_fixed_window, which needs no condition"
        )
    log_beta, log_delta = (
        -math.log(checks.probability(name, value)) for name, value in (("beta", beta), ("delta", delta))
    )
    grown = capped_expm1(eps0) * math.exp(eps0 / 2)
    return 4 * grown * math.sqrt(log_beta * log_delta / n) + 12 * grown**2 * log_beta / n


def biased_sampling_ratio(*, eps0: float, share: float) -> float:
    """Return how much likelier a report is for a record than for a biased sample of records: Lemma A.1.

    e^eps0/(1 + q (e^eps0 - 1)), where the sample is the record itself with probability q, and any other one
    otherwise.

    Args:
        eps0: local privacy parameter, >= 0.
        share: q, in [0, 1].

    Returns:
        An upper bound over all eps0-LDP randomisers, rounded up; 1 at q = 1. Two-symbol randomised response
        attains it.

    Raises:
        ValueError: an argument is out of range.
    """
    eps0, share = checks.eps0(eps0), checks.probability("share", share, zero=True, one=True)
    # divided by e^eps0, so that nothing overflows before the result does
    return min(1 / (share + (1 - share) * math.exp(-eps0)) * OUTWARD, math.exp(min(eps0, 709.0)))


def sliding_window(
    *, slots: int, eps0: float, delta: float, strength: str = "closed_form", rounds: int = 1
) -> float:
    """Return epsilon of sliding-window check-ins: Theorem 4.3.

    Client j picks one of the m slots from j on. It is Theorem 3.2 for clients who surely take part.

    Args:
        slots: m, of a client's window.
        eps0: local privacy parameter, >= 0.
        delta: target, in (0, 1).
        strength: "closed_form", "sum" or "numerical".
        rounds: how often the whole protocol is run.

    Returns:
        An upper bound, at most rounds * eps0.

    Raises:
        ValueError: an argument is out of range.
    """
    return fixed_window(slots=slots, eps0=eps0, delta=delta, strength=strength, rounds=rounds)


def empty_slots(*, n: int, slots: int, participation: float = 1.0) -> tuple[float, float]:
    """Return the expected number of empty slots of a fixed window, and its bound: Proposition 3.4.

    m (1 - p0/m)^n <= m e^(-p0 n/m). The server answers an empty slot with a dummy update.

    Args:
        n: clients.
        slots: m, their number.
        participation: p0, in [0, 1].

    Raises:
        ValueError: an argument is out of range.
    """
    n, slots = checks.count("n", n), checks.count("slots", slots)
    p0 = checks.probability("participation", participation, zero=True, one=True)
    if p0 == slots:  # one slot, which everyone picks
        return 0.0, math.exp(-n)
    return slots * math.exp(n * math.log1p(-p0 / slots)), slots * math.exp(-p0 * n / slots)


def sliding_window_empty_slots(*, n: int, slots: int) -> tuple[float, float]:
    """Return the expected number of empty slots of a sliding window, and its bound: Proposition 4.4.

    The slots m..n that m clients may pick are counted, (n - m + 1) (1 - 1/m)^m <= (n - m + 1)/e.

    Args:
        n: clients.
        slots: m, of a client's window, at most n.

    Raises:
        ValueError: an argument is out of range.
    """
    n, slots = checks.count("n", n), checks.count("slots", slots)
    if slots > n:
        raise ValueError(
            f"slots must be at most n for slots that so many clients may pick, got slots={slots} and n={n}"
        )
    alone = 0.0 if slots == 1 else math.exp(slots * math.log1p(-1 / slots))
    return (n - slots + 1) * alone, (n - slots + 1) / math.e
