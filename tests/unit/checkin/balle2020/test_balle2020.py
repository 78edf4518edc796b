"""Random check-ins: closed forms by hand, orders between the strengths, brute force on tiny cases."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import accountants, convergence
from shuffledp.accountants import systems
from shuffledp.checkin import balle2020
from shuffledp.checkin.balle2020 import failure
from shuffledp.pld import pure_steps

DELTA = 1e-6
every = settings(deadline=None, max_examples=25, derandomize=True, database=None)


# --- closed forms, at numbers computed by hand from the statements


def test_theorem_3_2():
    e = math.exp(0.5)
    by_hand = 0.3**2 * e * (e - 1) ** 2 / 2000 + 0.3 * (e - 1) * math.sqrt(2 * e * math.log(1e6) / 1000)
    assert balle2020.fixed_window(slots=1000, eps0=0.5, delta=DELTA, participation=0.3) == pytest.approx(
        by_hand
    )


def test_theorem_4_3_is_theorem_3_2_for_those_who_surely_take_part():
    e = math.exp(0.5)
    by_hand = e * (e - 1) ** 2 / 2000 + (e - 1) * math.sqrt(2 * e * math.log(1e6) / 1000)
    assert balle2020.sliding_window(slots=1000, eps0=0.5, delta=DELTA) == pytest.approx(by_hand)


def test_theorem_5_1():
    e = math.exp(0.4)
    by_hand = e**3 * (e - 1) ** 2 / 20000 + e**1.5 * (e - 1) * math.sqrt(2 * math.log(1e6) / 10000)
    assert balle2020.shuffling(n=10000, eps0=0.4, delta=DELTA) == pytest.approx(by_hand)


def test_theorem_a_5():
    e, loads = math.exp(0.2), np.array([3, 0, 5, 12])
    norm = math.sqrt(9 + 25 + 144) / 20
    by_hand = e**4 * (e - 1) ** 2 * norm**2 / 2 + e**2 * (e - 1) * norm * math.sqrt(2 * math.log(2))
    assert balle2020.bins(loads=loads, eps0=0.2, delta=0.5) == pytest.approx(min(by_hand, 0.2))
    larger = np.full(400, 7)
    norm = math.sqrt(400 * 49) / 2800
    by_hand = e**4 * (e - 1) ** 2 * norm**2 / 2 + e**2 * (e - 1) * norm * math.sqrt(2 * math.log(1e6))
    assert balle2020.bins(loads=larger, eps0=0.2, delta=DELTA) == pytest.approx(by_hand)


def test_theorem_4_1_beats_the_even_split_of_delta():
    n, m, e = 10**6, 10**4, math.exp(0.3)
    norm = math.sqrt(1 / n + 1 / m) + math.sqrt(math.log(2 / DELTA) / n)
    even = e**4 * (e - 1) ** 2 * norm**2 / 2 + norm * e**2 * (e - 1) * math.sqrt(2 * math.log(2 / DELTA))
    found = balle2020.averaging(n=n, slots=m, eps0=0.3, delta=DELTA)
    assert 0.9 * even < found <= even
    assert balle2020.load_norm(n=n, slots=m, delta=DELTA / 2) / n == pytest.approx(norm)


@every
@given(
    eps0=st.floats(0.01, 1.0),
    log_delta=st.floats(-20, math.log(0.01)),
    m=st.integers(1, 10**6),
    w=st.floats(0, 1),
)
def test_the_simple_form_of_theorem_a_4(eps0, log_delta, m, w):
    """Claim B1: at most 7 w eps0 sqrt(log(1/delta)/m)."""
    found = balle2020.fixed_window(slots=m, eps0=eps0, delta=math.exp(log_delta), participation=w)
    assert found <= 7 * w * eps0 * math.sqrt(-log_delta / m) * (1 + 1e-9)


# --- epsilon of each slot


def test_slots_of_a_window():
    e = math.exp(1.5)
    epsilons = balle2020.check_in_epsilons(slots=20, eps0=1.5, weight=0.4)
    for i in range(1, 21):
        by_hand = math.log(1 + 0.4 * e * (e - 1) / (i - 1 + e * (20 - i + 1)))
        assert epsilons[i - 1] == pytest.approx(by_hand, rel=1e-13)
    assert balle2020.check_in_epsilons(slots=1, eps0=1.5)[0] == pytest.approx(1.5, rel=1e-14)


def test_slots_of_a_shuffle():
    e = math.exp(1.5)
    epsilons = balle2020.shuffling_epsilons(n=20, eps0=1.5)
    for i in range(1, 21):
        by_hand = math.log(1 + e**2 * (e - 1) / (e**2 + i - 1 + (20 - i) * e))
        assert epsilons[i - 1] == pytest.approx(by_hand, rel=1e-13)


# --- composition


def brute_force_delta(epsilons, eps):
    """delta of composed randomised responses, over all their outcomes."""
    total = 0.0
    for signs in itertools.product((1, -1), repeat=len(epsilons)):
        loss = sum(sign * one for sign, one in zip(signs, epsilons, strict=True))
        mass = math.prod(1 / (1 + math.exp(-s * one)) for s, one in zip(signs, epsilons, strict=True))
        total += mass * max(0.0, -math.expm1(eps - loss))
    return total


@pytest.mark.parametrize("epsilons", [[0.3], [0.1, 0.7, 0.7, 0.2], list(np.linspace(0.05, 0.6, 11))])
def test_numerical_composition_is_the_composition_of_randomised_responses(epsilons):
    delta = 0.01
    found = pure_steps.numerical(np.array(epsilons), delta=delta)
    assert brute_force_delta(epsilons, found) <= delta * (1 + 1e-9)
    assert brute_force_delta(epsilons, 0.98 * found) > delta


def test_many_steps_are_a_gaussian():
    epsilons = np.full(10**5, 1e-3)
    found = pure_steps.numerical(epsilons, delta=1e-5)
    # losses of variance mu^2, mean mu^2/2: the Gaussian mechanism of that mu, by its analytic formula
    from scipy import optimize, stats

    mu = math.sqrt(1e5 * 1e-6)

    def delta(eps):
        return stats.norm.cdf(mu / 2 - eps / mu) - math.exp(eps) * stats.norm.cdf(-mu / 2 - eps / mu)

    exact = optimize.brentq(lambda eps: math.log(delta(eps)) - math.log(1e-5), 0.1, 5)
    assert found == pytest.approx(exact, rel=1e-3)


@every
@given(m=st.integers(1, 5000), eps0=st.floats(0.01, 3.0), log_delta=st.floats(-25, -2), w=st.floats(0.01, 1))
def test_each_strength_is_tighter_than_the_one_before(m, eps0, log_delta, w):
    delta = math.exp(log_delta)
    for bound, setting in (
        (balle2020.fixed_window, {"slots": m, "participation": w}),
        (balle2020.shuffling, {"n": m}),
        (balle2020.averaging, {"n": 50 * m, "slots": m}),
    ):
        printed, summed, composed = (
            bound(eps0=eps0, delta=delta, strength=strength, **setting) for strength in balle2020.STRENGTHS
        )
        assert 0 <= summed <= printed * (1 + 1e-9) <= eps0 * (1 + 1e-9)
        if bound is not balle2020.averaging:  # its loads are bounded in two ways
            assert composed <= summed * (1 + 1e-3)


@pytest.mark.parametrize("strength", balle2020.STRENGTHS)
def test_monotone(strength):
    def never_falls(values):
        assert (np.diff(values) >= -1e-3 * np.array(values[1:])).all(), values

    kept = {"delta": DELTA, "strength": strength}
    never_falls(
        [balle2020.fixed_window(slots=500, eps0=eps0, **kept) for eps0 in (0, 0.1, 0.5, 1, 2, 5, 300)]
    )
    never_falls([balle2020.fixed_window(slots=m, eps0=0.5, **kept) for m in (10**5, 10**4, 300, 10, 1)])
    never_falls(
        [balle2020.fixed_window(slots=500, eps0=0.5, participation=p, **kept) for p in (0, 0.1, 0.5, 1)]
    )
    never_falls([balle2020.shuffling(n=n, eps0=0.5, **kept) for n in (10**5, 10**4, 300, 10, 1)])
    never_falls([balle2020.averaging(n=n, slots=100, eps0=0.2, **kept) for n in (10**6, 10**5, 10**4)])


# --- loads


def test_loads_of_many_clients_are_not_listed_one_by_one():
    tracemalloc.start()
    loads, counts = balle2020.dominating_loads(n=10**15, slots=2, delta=1e-9)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**26  # what is imported on the way counts too
    assert counts.sum() == 2
    assert loads[counts > 0].max() > 5e14


def test_dominating_loads_exceed_the_true_ones():
    n, m, delta = 3000, 200, 0.05
    loads, counts = balle2020.dominating_loads(n=n, slots=m, delta=delta)
    assert counts.sum() == m
    bound = np.sort(np.repeat(loads, counts.astype(int)))
    random = np.random.default_rng(7)
    exceeded = 0
    for _ in range(400):
        true = np.sort(np.bincount(random.integers(m, size=n), minlength=m))
        exceeded += bool((true > bound).any())
    assert exceeded <= 400 * delta
    assert bound.mean() < 2 * n / m, "and not by much"


def test_lemma_a_6():
    """Claim B3, on simulated loads."""
    random = np.random.default_rng(11)
    for n, m in ((100, 10), (1000, 1000), (5000, 20)):
        bound = balle2020.load_norm(n=n, slots=m, delta=0.1)
        norms = [
            float(np.linalg.norm(np.bincount(random.integers(m, size=n), minlength=m))) for _ in range(300)
        ]
        assert np.mean(np.array(norms) > bound) <= 0.1


@pytest.mark.parametrize(("n", "m", "p"), [(30, 10, 1.0), (100, 50, 0.3), (7, 1, 0.5)])
def test_empty_slots(n, m, p):
    """Proposition 3.4 (claim B2), exactly and simulated."""
    expected, bound = balle2020.empty_slots(n=n, slots=m, participation=p)
    assert expected == pytest.approx(m * (1 - p / m) ** n)
    assert expected <= bound == pytest.approx(m * math.exp(-p * n / m))
    random = np.random.default_rng(3)
    counts = []
    for _ in range(4000):
        slots = random.integers(m, size=n)[random.random(n) < p]
        counts.append(m - np.unique(slots).size)
    deviation = np.std(counts) / math.sqrt(len(counts)) + 1e-12
    assert abs(np.mean(counts) - expected) < 5 * deviation + 1e-3


def test_empty_slots_of_a_sliding_window():
    n, m = 200, 15
    expected, bound = balle2020.sliding_window_empty_slots(n=n, slots=m)
    assert expected == pytest.approx((n - m + 1) * (1 - 1 / m) ** m)
    assert expected <= bound == pytest.approx((n - m + 1) / math.e)
    random = np.random.default_rng(5)
    counts = []
    for _ in range(2000):
        slots = np.arange(n) + random.integers(m, size=n)
        counts.append(np.setdiff1d(np.arange(m - 1, n), slots).size)
    assert abs(np.mean(counts) - expected) < 5 * np.std(counts) / math.sqrt(len(counts))
    assert balle2020.sliding_window_empty_slots(n=5, slots=1)[0] == 0


# --- randomisers that may fail


def test_a_randomiser_that_may_fail_costs_the_pure_one_of_eight_times_its_epsilon():
    kept = {"slots": 10**6, "delta": DELTA}
    pure = balle2020.fixed_window(eps0=0.4, **kept)
    found = balle2020.with_failure(balle2020.fixed_window, steps=10**6, eps0=0.05, delta0=1e-18, **kept)
    assert pure <= found < 1.1 * pure
    more = balle2020.with_failure(balle2020.fixed_window, steps=10**6, eps0=0.05, delta0=1e-16, **kept)
    assert found <= more
    assert (
        balle2020.with_failure(balle2020.fixed_window, steps=10**6, eps0=0.05, delta0=0.01, **kept)
        == math.inf
    )
    alone = balle2020.fixed_window(eps0=0.05, **kept)
    assert balle2020.with_failure(balle2020.fixed_window, steps=10**6, eps0=0.05, delta0=0.0, **kept) == alone


@pytest.mark.parametrize(("eps0", "delta1"), [(0.05, 1e-9), (1.0, 1e-6), (3.0, 0.3)])
def test_the_total_variation_inverts_lemma_a_3(eps0, delta1):
    rate = math.log(1 / (1 - math.exp(-5 * eps0)))
    delta0 = (1 - math.exp(-eps0)) * delta1 / (4 * math.exp(eps0) * (2 + math.log(2 / delta1) / rate))
    assert failure._total_variation(eps0, delta0) == pytest.approx(delta1, rel=1e-6)


# --- repetition and utility


def test_corollary_3_3():
    n, m, eps0 = 10**6, 10**3, 0.8
    e, delta = math.exp(eps0), 1e-5
    beta = delta * m / n / 2
    assert n >= (e - 1) ** 2 * e * math.sqrt(m) * math.log(1 / beta)
    log_beta, log_delta = math.log(1 / beta), math.log(2 / delta)
    printed = 4 * (e - 1) * math.sqrt(e * log_beta * log_delta / n) + 12 * (e - 1) ** 2 * e * log_beta / n
    closed = balle2020.repeated_fixed_window(n=n, slots=m, eps0=eps0, delta=delta)
    assert closed <= printed
    assert (
        balle2020.repeated_fixed_window(n=n, slots=m, eps0=eps0, delta=delta, strength="numerical") < closed
    )


def test_utility_of_a_fixed_window():
    found = convergence.fixed_window_utility(
        n=10**4, slots=100, dimension=10, sigma=0.5, lipschitz=1.0, radius=2.0, participation=0.05
    )
    filled = 1 - 2 * math.exp(-5)
    at = [
        (4 / c + c * (10 * 0.25 + 1) / filled**2) * (2 + math.log(100)) / 10
        for c in np.geomspace(0.1, 10, 4001)
    ]
    assert found == pytest.approx(min(at), rel=1e-6)
    few = {"dimension": 10, "sigma": 0.5, "lipschitz": 1.0, "radius": 2.0}
    assert convergence.fixed_window_utility(n=10, slots=100, **few) == math.inf


def test_utility_of_averaging():
    setting = {"n": 10**4, "slots": 100, "dimension": 10, "sigma": 0.5, "lipschitz": 1.0, "radius": 2.0}
    found = convergence.averaging_utility(**setting)
    at = [(4 / c + c * (100 * 2.5 / 1e4 + 1)) * (2 + math.log(100)) / 10 for c in np.geomspace(0.1, 10, 4001)]
    assert found == pytest.approx(min(at), rel=1e-6)
    assert convergence.averaging_utility(**setting, smoothness=1.0) < found
    # E[1/S; S > 0] by the law of S
    from scipy import stats

    counts = np.arange(1, 400)
    exact = float(np.sum(stats.binom.pmf(counts, 10**4, 0.01) / counts))
    assert exact <= 2 * 100 / (10**4 + 1)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: balle2020.fixed_window(slots=0, eps0=1, delta=0.1), "slots must be a whole number >= 1"),
        (lambda: balle2020.fixed_window(slots=5, eps0=-1, delta=0.1), "eps0 must be a finite number >= 0"),
        (lambda: balle2020.fixed_window(slots=5, eps0=1, delta=0), r"delta must lie in \(0, 1\)"),
        (
            lambda: balle2020.fixed_window(slots=5, eps0=1, delta=0.1, participation=2),
            r"participation must lie in \[0, 1\]",
        ),
        (
            lambda: balle2020.fixed_window(slots=5, eps0=1, delta=0.1, strength="exact"),
            "strength must be one of closed_form",
        ),
        (lambda: balle2020.shuffling(n=0, eps0=1, delta=0.1), "n must be a whole number >= 1"),
        (lambda: balle2020.averaging(n=5, slots=2.5, eps0=1, delta=0.1), "slots must be a whole number >= 1"),
        (
            lambda: balle2020.bins(loads=[0, 0], eps0=1, delta=0.1),
            "loads must be one-dimensional and not all 0",
        ),
        (lambda: balle2020.bins(loads=[1, -1], eps0=1, delta=0.1), "loads must hold whole numbers >= 0"),
        (
            lambda: balle2020.repeated_fixed_window(n=7, slots=2, eps0=1, delta=0.1),
            "n must be a multiple of slots",
        ),
        (lambda: balle2020.sliding_window_empty_slots(n=3, slots=4), "slots must be at most n"),
        (
            lambda: balle2020.with_failure(balle2020.shuffling, steps=1, n=1, eps0=0, delta0=0.1, delta=0.1),
            "eps0 must be > 0 for the reduction",
        ),
    ],
)
def test_arguments_out_of_range(call, says):
    with pytest.raises(ValueError, match=says):
        call()


# --- accountants

SETTINGS = {
    "fixed-window": {"slots": 300, "participation": 0.5, "eps0": 0.6},
    "sliding-window": {"slots": 300, "eps0": 0.6},
    "averaged-window": {"n": 10**5, "slots": 300, "eps0": 0.3},
    "shuffle": {"n": 5000, "eps0": 0.6},
}


@pytest.mark.parametrize("protocol", SETTINGS)
def test_accountants_of_the_protocols(protocol):
    setting = SETTINGS[protocol]
    rounds = [0, 1, 4, 50]
    found = {
        name: accountants.epsilon(name, **setting, rounds=rounds, delta=DELTA)
        for name in accountants.names("upper", protocol=protocol)
    }
    assert len(found) >= 3
    for name, epsilon in found.items():
        assert epsilon[0] == 0, name
        assert (np.diff(epsilon) > 0).all(), name
        assert (epsilon <= np.array(rounds) * setting["eps0"] * (1 + 1e-12)).all(), name
        smaller = accountants.epsilon(name, **{**setting, "eps0": 0.1}, rounds=rounds, delta=DELTA)
        assert (smaller[1:] < epsilon[1:]).all(), name
    default = systems.get(protocol, "ldp").default
    assert all((found[default] <= epsilon * (1 + 1e-3)).all() for epsilon in found.values())


def test_one_protocol_is_not_accounted_for_by_anothers_bound():
    with pytest.raises(ValueError, match=r"'fixed-window-sum' is for fixed-window with ldp: windows"):
        accountants.epsilon("fixed-window-sum", **SETTINGS["sliding-window"], rounds=1, delta=DELTA)
    with pytest.raises(ValueError, match=r"'sliding-window-sum' is for sliding-window with ldp: runs"):
        accountants.epsilon("sliding-window-sum", **SETTINGS["fixed-window"], rounds=1, delta=DELTA)


def test_the_old_bound_on_shuffling_against_the_clones():
    setting = {**SETTINGS["shuffle"], "rounds": 1, "delta": DELTA}
    printed, clones = (
        accountants.epsilon(f, **setting) for f in ("balle2020-shuffling-printed", "shuffle-clones")
    )
    assert clones < printed / 3


# Corollary 3.3 in closed form, and Lemma A.1


@pytest.mark.parametrize("windows", [2, 10, 100])
@pytest.mark.parametrize("delta", [0.5, 1e-3, 1e-9, 1e-100])
def test_the_closed_form_of_repeated_windows_is_above_what_it_bounds(windows, delta):
    """Equation (7) with the exact epsilon of a window, at every eps0 that the conditions allow."""
    m = 400
    n = m * windows
    met = 0
    for eps0 in (1e-3, 0.1, 0.5, 1.0, 2.0, 3.0, 4.0):
        if not balle2020.corollary_applies(n=n, slots=m, eps0=eps0):
            continue
        met += 1
        one = balle2020.fixed_window(slots=m, eps0=eps0, delta=delta, participation=m / n)
        composed = balle2020.composed_windows(eps=one, windows=windows, delta=delta)
        assert composed <= balle2020.corollary_3_3(n=n, slots=m, eps0=eps0, beta=delta, delta=delta)
    assert met >= 3


def test_the_closed_form_of_repeated_windows_by_hand():
    """4 (e - 1) sqrt(e 2 3/1e4) + 12 (e - 1)^2 e 2/1e4 for beta = e^-2 and delta = e^-3."""
    found = balle2020.corollary_3_3(n=10**4, slots=100, eps0=1.0, beta=math.exp(-2), delta=math.exp(-3))
    e = math.e
    assert found == pytest.approx(4 * (e - 1) * math.sqrt(6e-4 * e) + 24e-4 * (e - 1) ** 2 * e, rel=1e-12)
    with pytest.raises(
        ValueError, match=r"eps0 must be at most 2 log\(n/\(8 sqrt\(m\)\)\)/3 .*repeated_fixed_window"
    ):
        balle2020.corollary_3_3(n=100, slots=100, eps0=1.0, beta=0.1, delta=0.1)
    assert not balle2020.corollary_applies(n=100, slots=100, eps0=1.0)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
@pytest.mark.parametrize("eps0", [0.0, 0.1, 2.0, 30.0])
def test_randomised_response_attains_the_ratio_of_a_biased_sample(eps0, share):
    """The record is 1, all others are 0, and the report is 1."""
    true = 1 / (1 + math.exp(-eps0))
    sampled = share * true + (1 - share) / (1 + math.exp(eps0))
    assert balle2020.biased_sampling_ratio(eps0=eps0, share=share) == pytest.approx(true / sampled, rel=1e-12)


def test_the_ratio_of_a_biased_sample_does_not_overflow():
    assert balle2020.biased_sampling_ratio(eps0=800.0, share=0.5) == pytest.approx(2.0, rel=1e-12)
    assert balle2020.biased_sampling_ratio(eps0=1.0, share=1.0) >= 1
