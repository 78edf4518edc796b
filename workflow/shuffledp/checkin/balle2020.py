"""Random check-ins: balle2020, "Privacy amplification via random check-ins" (NeurIPS 2020), its supplement.

n clients, each of which picks one of m slots at random. In a slot the server takes one of the clients who
picked it (fixed and sliding window), or averages over all of them, and updates the model with a report of an
eps0-LDP randomiser. Neighbours differ in one client's record.

Every bound comes in three strengths:

- "closed_form": as printed.
- "sum": the heterogeneous composition that the proofs start from (equation 2), over the epsilon of each slot.
- "numerical": the same slots, composed as randomised responses.

All are upper bounds on epsilon at the delta that is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray
from shuffledp.pld import pure_steps

STRENGTHS = ("closed_form", "sum", "numerical")
_LARGEST_EPS0 = 200.0  # beyond, e^(3 eps0) overflows; eps0 itself is the answer then
_SHARES = np.geomspace(1e-6, 0.999999, 97)  # of delta, that the loads may take
# Of delta, that is left to the composition where a randomiser may fail; the largest that suffices is taken.
_FAILURE_SHARES = np.concatenate([1 - np.geomspace(1e-9, 0.5, 24), np.geomspace(0.3, 1e-6, 12)])
_MOST_LISTED = 2**26  # slots whose epsilons are returned
_BLOCKS = 2**20  # slots that are composed one by one; beyond, a block of slots counts as its last one
_OUTWARD = 1 + 16 * numerics.EPSILON


def check_in_epsilons(*, m: int, eps0: float, weight: float = 1.0) -> FloatArray:
    """Return epsilon of each slot of a window (proof of Theorem A.4).

    eps_i = log(1 + w e^eps0 (e^eps0 - 1)/(i - 1 + e^eps0 (m - i + 1))), i = 1..m.

    Args:
        m: slots, >= 1.
        eps0: local privacy parameter, >= 0.
        weight: w, the probability of taking part, in [0, 1].

    Returns:
        Shape (m,), increasing; at most eps0.

    Raises:
        ValueError: an argument is out of range.
    """
    m, eps0 = checks.count("m", m), checks.eps0(eps0)
    weight = checks.probability("weight", weight, zero=True, one=True)
    return _check_in_epsilons(_listed("m", m), m, eps0, weight)


def _check_in_epsilons(before: FloatArray, m: int, eps0: float, weight: float) -> FloatArray:
    # with both sides divided by e^eps0
    share = weight * _expm1(eps0) / (m + before * math.expm1(-eps0))
    return np.minimum(_log1p(share), eps0)


def _listed(name: str, slots: int) -> FloatArray:
    """Return 0, ..., slots - 1, unless they are too many for memory."""
    if slots > _MOST_LISTED:
        raise ValueError(f"{name} must be at most {_MOST_LISTED} where each is listed, got {slots}")
    return np.arange(slots, dtype=np.float64)


def _blocks(slots: int) -> tuple[FloatArray, int]:
    """Return places that stand for blocks of slots, the last of each, and how long blocks are."""
    length = math.ceil(slots / _BLOCKS)
    return np.minimum(np.arange(0, slots, length, dtype=np.float64) + length - 1, slots - 1), length


def _expm1(eps0: float) -> float:
    return math.expm1(min(eps0, 700.0))


def _log1p(share: FloatArray) -> FloatArray:
    return np.log1p(share) * _OUTWARD


def fixed_window(
    *,
    m: int,
    eps0: float,
    delta: float,
    participation: float = 1.0,
    strength: str = "closed_form",
    rounds: int = 1,
) -> float:
    """Return epsilon of fixed-window check-ins: Theorem 3.2 (A.4).

    Args:
        m: slots of the window.
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
    m, eps0, delta, strength = _checked(m, eps0, delta, strength)
    p0 = checks.probability("participation", participation, zero=True, one=True)
    rounds = checks.count("rounds", rounds)
    if eps0 > _LARGEST_EPS0:
        return _pure(eps0, rounds)
    if strength == "closed_form":
        grown = p0 * math.expm1(eps0) * math.exp(eps0 / 2) / math.sqrt(m)
        return _closed(grown, eps0, delta, rounds)
    last, length = _blocks(m)
    return _composed(_check_in_epsilons(last, m, eps0, p0), eps0, delta, strength, rounds, length)


def repeated_fixed_window(
    *, n: int, m: int, eps0: float, delta: float, strength: str = "closed_form"
) -> float:
    """Return epsilon of n/m fixed windows, in each of which a client takes part with probability m/n.

    Corollary 3.3, by its equation (7) before the constants are rounded up: so its conditions on n are not
    needed.

    Args:
        n: clients; a multiple of m.
        m: slots of a window.
        eps0: local privacy parameter, >= 0.
        delta: target in all, in (0, 1); how it is split is the best of a grid.
        strength: "closed_form", "sum" or "numerical", for one window.

    Returns:
        An upper bound, at most r eps0.

    Raises:
        ValueError: an argument is out of range, or m does not divide n.
    """
    n = checks.count("n", n)
    m, eps0, delta, strength = _checked(m, eps0, delta, strength)
    if n % m:
        raise ValueError(f"n must be a multiple of m, got n={n} and m={m}: n/m windows follow one another")
    windows = n // m
    best = _pure(eps0, windows)
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        one = fixed_window(
            m=m, eps0=eps0, delta=share * delta / windows, participation=m / n, strength=strength
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
    return (spread + windows * eps * _expm1(eps)) * _OUTWARD


def corollary_applies(*, n: int, m: int, eps0: float) -> bool:
    """Return whether the conditions of Corollary 3.3 hold that do not name beta.

    eps0 <= 2 log(n/(8 sqrt(m)))/3 and n >= (e^eps0 - 1) sqrt(m e^eps0).

    Args:
        n: clients.
        m: slots of a window.
        eps0: local privacy parameter, >= 0.

    Raises:
        ValueError: an argument is out of range.
    """
    n, m, eps0 = checks.count("n", n), checks.count("m", m), checks.eps0(eps0)
    few = eps0 <= 2 * math.log(n / (8 * math.sqrt(m))) / 3
    return few and n >= _expm1(eps0) * math.sqrt(m) * math.exp(eps0 / 2)


def corollary_3_3(*, n: int, m: int, eps0: float, beta: float, delta: float) -> float:
    """Return epsilon of n/m fixed windows in the closed form of Corollary 3.3.

    4 (e^eps0 - 1) sqrt(e^eps0 log(1/beta) log(1/delta)/n) + 12 (e^eps0 - 1)^2 e^eps0 log(1/beta)/n, for a
    delta of n beta/m + delta in all. Its proof takes epsilon of a window to be at most 1/2, which the
    conditions give for beta >= e^-2 alone. The bound holds further: they give X <= sqrt(2 log(1/beta))/8 for
    the first term X of a window's epsilon X + X^2/(4 log(1/beta)), and (7) needs no more than
    epsilon (e^epsilon - 1) <= 6 X^2.

    Args:
        n: clients.
        m: slots of a window.
        eps0: local privacy parameter, >= 0, so that ``corollary_applies``.
        beta: delta of one window, in (0, 1).
        delta: what the composition takes, in (0, 1).

    Returns:
        The printed value: an upper bound for beta between e^-250 and 0.99.

    Raises:
        ValueError: an argument is out of range, or the conditions do not hold.
    """
    if not corollary_applies(n=n, m=m, eps0=eps0):
        raise ValueError(
            f"eps0 must be at most 2 log(n/(8 sqrt(m)))/3 for Corollary 3.3, got eps0={eps0} with n={n} and "
            f"m={m}; use repeated_fixed_window, which needs no condition"
        )
    log_beta, log_delta = (
        -math.log(checks.probability(name, value)) for name, value in (("beta", beta), ("delta", delta))
    )
    grown = _expm1(eps0) * math.exp(eps0 / 2)
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
    return min(1 / (share + (1 - share) * math.exp(-eps0)) * _OUTWARD, math.exp(min(eps0, 709.0)))


def sliding_window(
    *, m: int, eps0: float, delta: float, strength: str = "closed_form", rounds: int = 1
) -> float:
    """Return epsilon of sliding-window check-ins: Theorem 4.3.

    Client j picks one of the m slots from j on. It is Theorem 3.2 for clients who surely take part.

    Args:
        m: slots of a client's window.
        eps0: local privacy parameter, >= 0.
        delta: target, in (0, 1).
        strength: "closed_form", "sum" or "numerical".
        rounds: how often the whole protocol is run.

    Returns:
        An upper bound, at most rounds * eps0.

    Raises:
        ValueError: an argument is out of range.
    """
    return fixed_window(m=m, eps0=eps0, delta=delta, strength=strength, rounds=rounds)


def shuffling_epsilons(*, n: int, eps0: float) -> FloatArray:
    """Return epsilon of each response of a shuffle of local responses (proof of Theorem A.7).

    eps_i = log(1 + e^(2 eps0) (e^eps0 - 1)/(e^(2 eps0) + i - 1 + (n - i) e^eps0)), i = 1..n.

    Args:
        n: clients, >= 1.
        eps0: local privacy parameter, >= 0.

    Returns:
        Shape (n,); at most eps0.

    Raises:
        ValueError: an argument is out of range.
    """
    n, eps0 = checks.count("n", n), checks.eps0(eps0)
    return _shuffling_epsilons(_listed("n", n), n, eps0)


def _shuffling_epsilons(before: FloatArray, n: int, eps0: float) -> FloatArray:
    share = _expm1(eps0) / (1 + math.exp(-2 * eps0) * before + math.exp(-eps0) * (n - 1 - before))
    return np.minimum(_log1p(share), eps0)


def shuffling(*, n: int, eps0: float, delta: float, strength: str = "closed_form", rounds: int = 1) -> float:
    """Return epsilon of shuffled local responses: Theorem 5.1 (A.7).

    Args:
        n: clients.
        eps0: local privacy parameter, >= 0.
        delta: target, in (0, 1).
        strength: "closed_form", "sum" or "numerical".
        rounds: shuffles.

    Returns:
        An upper bound, at most rounds * eps0.

    Raises:
        ValueError: an argument is out of range.
    """
    n, eps0, delta, strength = _checked(n, eps0, delta, strength, size="n")
    rounds = checks.count("rounds", rounds)
    if eps0 > _LARGEST_EPS0:
        return _pure(eps0, rounds)
    if strength == "closed_form":
        return _closed(math.expm1(eps0) * math.exp(1.5 * eps0) / math.sqrt(n), eps0, delta, rounds)
    last, length = _blocks(n)
    return _composed(_shuffling_epsilons(last, n, eps0), eps0, delta, strength, rounds, length)


def bins_epsilons(*, loads: ArrayLike, eps0: float) -> FloatArray:
    """Return epsilon of each slot whose reports are averaged (proof of Theorem A.5).

    eps_i = log(1 + e^(2 eps0) (e^eps0 - 1) l_i/n), n the sum of the loads l_i.

    Args:
        loads: clients in each slot, whole numbers >= 0, one-dimensional, not all 0.
        eps0: local privacy parameter, >= 0.

    Returns:
        Of the shape of ``loads``; at most eps0.

    Raises:
        ValueError: an argument is out of range.
    """
    values, eps0 = checks.counts("loads", loads), checks.eps0(eps0)
    if values.ndim != 1 or not values.sum() > 0:
        raise ValueError(f"loads must be one-dimensional and not all 0, got {loads!r}")
    share = math.exp(min(2 * eps0, 600.0)) * _expm1(min(eps0, 300.0)) * (values / values.sum())
    return np.minimum(_log1p(share), eps0)


def bins(*, loads: ArrayLike, eps0: float, delta: float, strength: str = "closed_form") -> float:
    """Return epsilon of averages over bins of known sizes: Theorem A.5.

    Args:
        loads: clients in each slot, whole numbers >= 0, one-dimensional.
        eps0: local privacy parameter, >= 0.
        delta: target, in (0, 1).
        strength: "closed_form", "sum" or "numerical".

    Returns:
        An upper bound, at most eps0.

    Raises:
        ValueError: an argument is out of range.
    """
    epsilons = bins_epsilons(loads=loads, eps0=eps0)
    _, eps0, delta, strength = _checked(1, eps0, delta, strength)
    values = np.asarray(loads, dtype=np.float64)
    if eps0 > _LARGEST_EPS0:
        return eps0
    if strength == "closed_form":
        norm = float(np.linalg.norm(values)) / float(values.sum())
        return _closed(math.exp(2 * eps0) * math.expm1(eps0) * norm, eps0, delta, 1)
    return _composed(epsilons, eps0, delta, strength, 1)


def load_norm(*, n: int, m: int, delta: float) -> float:
    """Return what the l_2 norm of the slots' loads stays below with probability 1 - delta: Lemma A.6.

    sqrt(n + n^2/m) + sqrt(n log(1/delta)).

    Args:
        n: clients, each in one of m slots.
        m: slots.
        delta: in (0, 1).

    Raises:
        ValueError: an argument is out of range.
    """
    n, m, delta = checks.count("n", n), checks.count("m", m), checks.probability("delta", delta)
    return math.sqrt(n + n**2 / m) + math.sqrt(n * -math.log(delta))


def averaging(
    *, n: int, m: int, eps0: float, delta: float, strength: str = "closed_form", rounds: int = 1
) -> float:
    """Return epsilon of check-ins whose slots are averaged: Theorem 4.1.

    The loads are random; a part of delta, the best of a grid, covers those that are worse than the bound
    accounts for.

    Args:
        n: clients.
        m: slots.
        eps0: local privacy parameter, >= 0.
        delta: target in all, in (0, 1).
        strength: "closed_form": Theorem A.5 at the norm of Lemma A.6; "sum": the sum of equation (2) at the
            worst loads of that norm, which are equal ones, since both of its terms are concave in the squares
            of the loads; "numerical": composition at loads that dominate the true ones: for every t, at most
            so many slots hold t clients or more as Chernoff's bound allows (it holds for loads, which are
            negatively associated).
        rounds: how often the whole protocol is run; each run may have worse loads with its share of delta.

    Returns:
        An upper bound, at most rounds * eps0.

    Raises:
        ValueError: an argument is out of range.
    """
    n = checks.count("n", n)
    m, eps0, delta, strength = _checked(m, eps0, delta, strength)
    rounds = checks.count("rounds", rounds)
    best = _pure(eps0, rounds)
    if eps0 > _LARGEST_EPS0:
        return best
    if strength == "numerical":
        return min(_averaged_numerically(n, m, eps0, delta, share, rounds) for share in (0.5, 0.1, 0.02))
    for share in _SHARES:
        norm = load_norm(n=n, m=m, delta=share * delta / rounds)
        rest = (1 - share) * delta
        if strength == "closed_form":
            grown = math.exp(2 * eps0) * math.expm1(eps0) * norm / n
            best = min(best, _closed(grown, eps0, rest, rounds))
        else:
            equal = math.exp(2 * eps0) * math.expm1(eps0) * norm / math.sqrt(m) / n
            each = min(math.log1p(equal) * _OUTWARD, eps0)
            steps = rounds * m
            found = steps * each * math.tanh(each / 2) + each * math.sqrt(2 * steps * -math.log(rest))
            best = min(best, found * _OUTWARD)
    return best


def _averaged_numerically(n: int, m: int, eps0: float, delta: float, share: float, rounds: int) -> float:
    """Composition at loads that exceed the true ones with probability share * delta at most, in any run."""
    loads, counts = dominating_loads(n=n, m=m, delta=share * delta / rounds)
    growth = math.exp(2 * eps0) * math.expm1(eps0) / n
    length = math.ceil(m / _BLOCKS)
    repeats = np.ceil(counts / length).astype(np.int64)
    epsilons = np.repeat(np.minimum(_log1p(growth * loads), eps0), repeats)
    return _composed(epsilons, eps0, (1 - share) * delta, "numerical", rounds, length)


def dominating_loads(*, n: int, m: int, delta: float) -> tuple[FloatArray, FloatArray]:
    """Return loads, and numbers of slots with them, that exceed the true loads but for probability delta.

    For every t the number of slots with t clients or more is at most what Chernoff's bound gives for m
    independent events of the binomial probability of t, at delta divided by the number of t.

    Args:
        n: clients, each in one of m slots.
        m: slots.
        delta: in (0, 1).

    Raises:
        ValueError: an argument is out of range.
    """
    n, m, delta = checks.count("n", n), checks.count("m", m), checks.probability("delta", delta)
    mean = n / m
    reach = math.log(2 * m * (n + 1)) - math.log(delta)
    highest = min(n, math.ceil(mean + math.sqrt(2 * mean * reach) + reach))
    lowest = max(0, math.floor(mean - math.sqrt(2 * mean * reach)))
    levels = np.arange(lowest + 1, highest + 1, dtype=np.float64)
    levels = levels[np.unique(np.linspace(0, levels.size - 1, min(levels.size, 400)).round().astype(int))]
    probabilities = special.betainc(levels, n - levels + 1, 1 / m)
    allowed = np.array([_most(m, float(p), delta / levels.size) for p in probabilities])
    allowed = np.minimum.accumulate(allowed)
    # a slot below a level is counted at the level's lower end, that is the level before it less one client
    beyond = np.append(allowed, 0.0)
    tops = np.append(levels - 1, float(highest if allowed[-1] == 0 else n))
    return tops, np.append(m - beyond[0], beyond[:-1] - beyond[1:])


def _most(m: int, probability: float, delta: float) -> float:
    """Upper end of the number of successes of m trials, exceeded with probability delta (Chernoff)."""
    if probability >= 1:
        return float(m)
    target = -math.log(delta) / m

    def excess(rate: float) -> float:
        return (
            float(special.rel_entr(rate, probability) + special.rel_entr(1 - rate, 1 - probability)) - target
        )

    if m * probability == 0:
        return 0.0
    if excess(1.0) <= 0:
        return float(m)
    rate = float(optimize.brentq(excess, probability, 1.0, xtol=1e-15))
    return float(min(math.floor(m * rate + 1e-6), m))


def with_failure(
    bound: Callable[..., float], *, steps: int, eps0: float, delta0: float, delta: float, **setting: object
) -> float:
    """Return epsilon of a bound for (eps0, delta0)-LDP randomisers (Lemma A.3 and Theorems A.4, A.5, A.7).

    The randomiser is within total variation delta1 of one that is 8 eps0-DP, if
    delta0 <= (1 - e^-eps0) delta1/(4 e^eps0 (2 + log(2/delta1)/log(1/(1 - e^(-5 eps0))))). So the bound holds
    at 8 eps0, with delta + steps (e^eps + 1) delta1 in place of its delta.

    Args:
        bound: ``fixed_window``, ``repeated_fixed_window``, ``sliding_window``, ``averaging``, ``bins`` or
            ``shuffling``.
        steps: how many reports are replaced: m times the rounds, n for ``repeated_fixed_window``, or n times
            the rounds for ``shuffling``, ``bins`` and ``averaging`` (the paper prints m there too).
        eps0: local privacy parameter, > 0.
        delta0: its failure probability, in [0, 1).
        delta: target in all, in (0, 1).
        setting: the other arguments of ``bound``.

    Returns:
        An upper bound; inf where delta0 is too large for the target.

    Raises:
        ValueError: an argument is out of range.
    """
    steps, eps0 = checks.count("steps", steps), checks.eps0(eps0)
    delta0 = checks.probability("delta0", delta0, zero=True)
    delta = checks.probability("delta", delta)
    if eps0 == 0:
        raise ValueError("eps0 must be > 0 for the reduction to pure DP, got 0")
    if delta0 == 0:
        return bound(eps0=eps0, delta=delta, **setting)
    delta1 = _total_variation(eps0, delta0)
    if 2 * steps * delta1 > delta:
        return math.inf
    # the larger the share of delta, the smaller epsilon
    for share in _FAILURE_SHARES.tolist():
        found = bound(eps0=8 * eps0, delta=share * delta, **setting)
        if share * delta + steps * (math.exp(min(found, 700.0)) + 1) * delta1 <= delta:
            return found
    return math.inf


def _total_variation(eps0: float, delta0: float) -> float:
    """The smallest delta1 for which Lemma A.3 takes this delta0; inf if none below 1."""
    rate = -numerics.log_one_minus_exp(5 * eps0)
    if rate == 0:  # below what doubles hold, as is any delta0 that the lemma takes
        return math.inf

    def allowed(log_delta1: float) -> float:
        growth = 2 + (math.log(2) - log_delta1) / rate
        return -math.expm1(-eps0) * math.exp(log_delta1 - eps0) / (4 * growth) - delta0

    if allowed(0.0) < 0:
        return math.inf
    if allowed(-700.0) >= 0:
        return math.exp(-700.0)
    root = optimize.brentq(allowed, -700.0, 0.0, xtol=1e-12)
    return math.exp(root + 1e-9)


def empty_slots(*, n: int, m: int, participation: float = 1.0) -> tuple[float, float]:
    """Return the expected number of empty slots of a fixed window, and its bound: Proposition 3.4.

    m (1 - p0/m)^n <= m e^(-p0 n/m). The server answers an empty slot with a dummy update.

    Args:
        n: clients.
        m: slots.
        participation: p0, in [0, 1].

    Raises:
        ValueError: an argument is out of range.
    """
    n, m = checks.count("n", n), checks.count("m", m)
    p0 = checks.probability("participation", participation, zero=True, one=True)
    if p0 == m:  # one slot, which everyone picks
        return 0.0, math.exp(-n)
    return m * math.exp(n * math.log1p(-p0 / m)), m * math.exp(-p0 * n / m)


def sliding_window_empty_slots(*, n: int, m: int) -> tuple[float, float]:
    """Return the expected number of empty slots of a sliding window, and its bound: Proposition 4.4.

    The slots m..n that m clients may pick are counted, (n - m + 1) (1 - 1/m)^m <= (n - m + 1)/e.

    Args:
        n: clients.
        m: slots of a client's window, at most n.

    Raises:
        ValueError: an argument is out of range.
    """
    n, m = checks.count("n", n), checks.count("m", m)
    if m > n:
        raise ValueError(f"m must be at most n for slots that m clients may pick, got m={m} and n={n}")
    alone = 0.0 if m == 1 else math.exp(m * math.log1p(-1 / m))
    return (n - m + 1) * alone, (n - m + 1) / math.e


def fixed_window_utility(
    *,
    n: int,
    m: int,
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
        m: slots, hence updates.
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
    n, m, dimension = checks.count("n", n), checks.count("m", m), checks.count("dimension", dimension)
    p0 = checks.probability("participation", participation, zero=True, one=True)
    sigma, lipschitz, radius = _sizes(sigma, lipschitz, radius)
    filled = 1 - 2 * math.exp(-n * p0 / m)
    if filled <= 0:
        return math.inf
    length = math.sqrt(dimension * sigma**2 + lipschitz**2)
    return 2 * radius * length / filled * (2 + math.log(m)) / math.sqrt(m)


def averaging_utility(
    *,
    n: int,
    m: int,
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
        m: slots, hence updates.
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
    n, m, dimension = checks.count("n", n), checks.count("m", m), checks.count("dimension", dimension)
    sigma, lipschitz, radius = _sizes(sigma, lipschitz, radius)
    if smoothness is None:
        length = math.sqrt(m * dimension * sigma**2 / n + lipschitz**2)
        return 2 * radius * length * (2 + math.log(m)) / math.sqrt(m)
    beta = checks.real("smoothness", smoothness, at_least=0.0)
    kappa = math.sqrt(min(1.0, 2 * m / (n + 1)) * (lipschitz**2 + dimension * sigma**2))
    return radius * kappa * math.sqrt(2 / m) + beta * radius**2 / m


def _sizes(sigma: float, lipschitz: float, radius: float) -> tuple[float, float, float]:
    return (
        checks.real("sigma", sigma, at_least=0.0),
        checks.real("lipschitz", lipschitz, at_least=0.0),
        checks.real("radius", radius, at_least=0.0),
    )


def _checked(
    slots: int, eps0: float, delta: float, strength: str, *, size: str = "m"
) -> tuple[int, float, float, str]:
    return (
        checks.count(size, slots),
        checks.eps0(eps0),
        checks.probability("delta", delta),
        checks.choice("strength", strength, STRENGTHS),
    )


def _pure(eps0: float, rounds: int) -> float:
    """What the composition never exceeds, rounded up where the product is rounded at all."""
    return eps0 if rounds == 1 else rounds * eps0 * (1 + numerics.EPSILON)


def _closed(grown: float, eps0: float, delta: float, rounds: int) -> float:
    """Lemma A.2 with a sequence whose squared epsilons sum to at most grown^2, run so many times."""
    spread = grown * math.sqrt(2 * rounds * -math.log(delta))
    return min((rounds * (grown * grown) / 2 + spread) * _OUTWARD, _pure(eps0, rounds))


def _composed(
    epsilons: FloatArray, eps0: float, delta: float, strength: str, rounds: int, length: int = 1
) -> float:
    """The composition of slots, each of which stands for a block of that length."""
    compose = pure_steps.advanced if strength == "sum" else pure_steps.numerical
    return min(compose(epsilons, delta=delta, repeats=rounds * length) * _OUTWARD, _pure(eps0, rounds))
