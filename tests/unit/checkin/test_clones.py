"""Clones in windows and in shuffles of (eps0, delta0)-LDP reports: all patterns of tiny instances."""

from __future__ import annotations

import functools
import itertools
import math
from collections import defaultdict

import numpy as np
import pytest
from scipy import stats

from shuffledp import accountants, profiles, rdp
from shuffledp.accountants import systems
from shuffledp.approximate_dp import composition
from shuffledp.checkin import liew2022, liew2022_conversions
from shuffledp.profiles import approximate
from shuffledp.profiles.joint_clones import joint_outcomes

DELTA = 1e-6
EPS = (0.0, 0.1, 0.3, 0.7, 1.0)


def randomised(bit, eps0, delta0=0.0):
    """The law of randomised response; with probability delta0 it tells the bit, as 2 or 3."""
    right = 1 / (1 + math.exp(-eps0))
    law = {bit: (1 - delta0) * right, 1 - bit: (1 - delta0) * (1 - right)}
    if delta0 > 0:
        law[2 + bit] = delta0
    return law


def divergence(one, other, eps):
    return sum(max(mass - math.exp(eps) * other.get(key, 0.0), 0.0) for key, mass in one.items())


def bounded(outcomes, eps):
    return float(outcomes.mass @ np.maximum(-np.expm1(eps - outcomes.loss), 0.0)) + outcomes.infinite


def reports_of(held, eps0, *, adaptive):
    """All outputs of a window, slot by slot; an adaptive randomiser swaps its symbols by the last report."""
    found = {(): 1.0}
    for bit in held:
        longer = defaultdict(float)
        for before, mass in found.items():
            swap = before[-1] if before and adaptive else 0
            for report, probability in randomised(bit ^ swap, eps0).items():
                longer[(*before, report)] += mass * probability
        found = longer
    return found


def fixed_window(bits, slots, participation, eps0, *, adaptive):
    """The law of the reports: each client picks a slot or stays away, each slot takes one of its clients."""
    total = defaultdict(float)
    for picks in itertools.product(range(-1, slots), repeat=len(bits)):
        weight = math.prod(1 - participation if pick < 0 else participation / slots for pick in picks)
        inside = [
            [bit for bit, pick in zip(bits, picks, strict=True) if pick == slot] or [0]
            for slot in range(slots)
        ]
        ways = math.prod(len(one) for one in inside)
        for held in itertools.product(*inside):
            for key, mass in reports_of(held, eps0, adaptive=adaptive).items():
                total[key] += weight * mass / ways
    return total


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize(("others", "slots"), [((0, 0), 3), ((0, 1), 3), ((0, 1, 1), 2)])
@pytest.mark.parametrize("participation", [1.0, 0.4])
def test_every_fixed_window_is_below_its_clones(others, slots, participation, adaptive):
    eps0 = 1.1
    absent = slots * (1 - participation) / participation
    outcomes = joint_outcomes(absent=absent, k=slots, eps0=eps0)
    laws = [fixed_window((bit, *others), slots, participation, eps0, adaptive=adaptive) for bit in (0, 1)]
    for eps in EPS:
        for one, other in (laws, laws[::-1]):
            assert divergence(one, other, eps) <= bounded(outcomes, eps) * (1 + 1e-9)


def averaged_window(bits, slots, eps0):
    """The law of the loads and of the sums of the reports, slot by slot, swapped by the slot before."""
    total = defaultdict(float)
    for picks in itertools.product(range(slots), repeat=len(bits)):
        inside = [
            [bit for bit, pick in zip(bits, picks, strict=True) if pick == slot] for slot in range(slots)
        ]
        found = {(): slots ** -len(bits)}
        for held in inside:
            longer = defaultdict(float)
            for before, mass in found.items():
                swap = before[-1][1] % 2 if before else 0
                for reports in itertools.product((0, 1), repeat=len(held)):
                    laws = [randomised(bit ^ swap, eps0) for bit in held]
                    probability = math.prod(law[one] for law, one in zip(laws, reports, strict=True))
                    longer[(*before, (len(held), sum(reports)))] += mass * probability
            found = longer
        for key, mass in found.items():
            total[key] += mass
    return total


@pytest.mark.parametrize(("others", "slots"), [((0, 0), 3), ((0, 1, 1), 2), ((0, 0, 0), 1)])
def test_every_averaged_window_is_below_its_clones(others, slots):
    eps0 = 0.9
    outcomes = joint_outcomes(absent=0.0, k=1 + len(others), eps0=eps0)
    laws = [averaged_window((bit, *others), slots, eps0) for bit in (0, 1)]
    for eps in EPS:
        for one, other in (laws, laws[::-1]):
            assert divergence(one, other, eps) <= bounded(outcomes, eps) * (1 + 1e-9)


@pytest.mark.parametrize("eps0", [0.1, 0.6, 2.0])
@pytest.mark.parametrize("slots", [1, 5, 300, 10**4])
@pytest.mark.few(5)
def test_what_the_clones_buy_in_windows(slots, eps0):
    """Hardly ever above the composition of balle2020's slots, and far below it in large windows."""
    for participation, rounds in ((1.0, 1), (0.3, 20)):
        setting = {
            "slots": slots,
            "participation": participation,
            "eps0": eps0,
            "rounds": rounds,
            "delta": DELTA,
        }
        clones, composed = (
            accountants.epsilon(f"fixed-window-{name}", **setting) for name in ("clones", "numerical")
        )
        assert clones <= composed * (1 + 3e-4)
    setting = {"slots": slots, "eps0": eps0, "rounds": 3, "delta": DELTA}
    sliding = accountants.epsilon("sliding-window-clones", **setting)
    assert sliding == accountants.epsilon("fixed-window-clones", **setting, participation=1)
    if slots == 10**4 and eps0 == 2.0:
        assert sliding < 0.25 * accountants.epsilon("sliding-window-numerical", **setting)


def test_averaged_windows_cost_what_a_shuffle_of_all_clients_costs():
    kept = {"eps0": 0.3, "rounds": 4, "delta": DELTA}
    by_slots = [
        accountants.epsilon("averaged-window-clones", n=10**4, slots=slots, **kept) for slots in (1, 300)
    ]
    assert (
        by_slots[0]
        == by_slots[1]
        < 0.1 * accountants.epsilon("averaged-window-numerical", n=10**4, slots=300, **kept)
    )
    assert accountants.epsilon("shuffle-clones", n=10**4, **kept) <= by_slots[0]


def test_nobody_takes_part():
    assert (
        accountants.epsilon("fixed-window-clones", slots=5, participation=0, eps0=1, rounds=9, delta=DELTA)
        == 0
    )


# --- (eps0, delta0)-LDP


def shuffled(bits, eps0, delta0):
    total = defaultdict(float)
    laws = [randomised(bit, eps0, delta0) for bit in bits]
    for reports in itertools.product(range(4), repeat=len(bits)):
        mass = math.prod(law.get(one, 0.0) for law, one in zip(laws, reports, strict=True))
        total[tuple(sorted(reports))] += mass
    return total


@pytest.mark.parametrize("analysis", ["feldman2021", "feldman2022"])
@pytest.mark.parametrize("delta0", [1e-4, 0.02])
@pytest.mark.parametrize("others", [(), (0, 0), (0, 1, 1, 0)])
def test_shuffles_of_approximate_randomisers_are_below_clones_and_disclosure(others, delta0, analysis):
    eps0, n = 0.8, 1 + len(others)
    told = approximate.disclosure(n=n, eps0=eps0, delta0=delta0, analysis=analysis)
    laws = [shuffled((bit, *others), eps0, delta0) for bit in (0, 1)]
    for eps in EPS:
        clones = profiles.clones(eps, n=n, eps0=eps0, analysis=analysis)
        for one, other in (laws, laws[::-1]):
            assert divergence(one, other, eps) <= told + (1 - told) * clones


def test_disclosure_by_hand():
    eps0, delta0, n = 1.5, 1e-9, 1000
    e, s = math.exp(eps0), 1e-9 / (1 + math.exp(eps0))
    for analysis, c in (("feldman2021", 1), ("feldman2022", 2)):
        variation = s + (n - 1) * c / e * (delta0 + s)
        found = approximate.disclosure(n=n, eps0=eps0, delta0=delta0, analysis=analysis)
        assert found == pytest.approx((e + 1) * variation, rel=1e-9)
    assert approximate.disclosure(n=n, eps0=eps0, delta0=0) == 0
    assert approximate.disclosure(n=1e9, eps0=eps0, delta0=0.1) == 1


def test_disclosure_of_a_check_in_is_a_mean():
    n, rate, eps0, delta0 = 20, 0.3, 1.2, 1e-6
    k = np.arange(1, n + 1)
    each = [approximate.disclosure(n=float(one), eps0=eps0, delta0=delta0) for one in k]
    mean = float(np.sum(stats.binom.pmf(k, n, rate) * k / n * np.array(each)))
    found = liew2022_conversions.disclosure(n=n, rate=rate, eps0=eps0, delta0=delta0)
    assert found == pytest.approx(mean, rel=1e-9)


# --- Table 1


SMALL = {"n": 30, "rate": 0.3, "eps0": 1.2}
ORDERS = np.array([2, 3, 8, 20])


def test_the_conversions_of_table_1():
    shuffling = liew2022_conversions.ShufflingConversion(**SMALL)(ORDERS)
    subsampling = liew2022_conversions.SubsamplingConversion(**SMALL)(ORDERS)
    lower = liew2022.liew2022_lower(ORDERS, **SMALL)
    assert (lower <= subsampling).all()
    assert (subsampling <= shuffling).all()
    k = np.arange(1, SMALL["n"] + 1)
    weights = stats.binom.pmf(k, SMALL["n"], SMALL["rate"])
    for order, found in zip(ORDERS.tolist(), shuffling, strict=True):
        moments = [
            math.expm1(
                (order - 1) * rdp.wang2019_subsampled(order, gamma=one / SMALL["n"], rdp=curve, eps_inf=1.2)
            )
            for one in k.tolist()
            for curve in [rdp_of_clones(one)]
        ]
        assert (order - 1) * found == pytest.approx(math.log1p(float(weights @ moments)), rel=2e-3)


def rdp_of_clones(k):
    """Renyi divergences of the clones pair, outcome by outcome."""
    c = np.arange(k)
    p = 1 / (math.exp(SMALL["eps0"]) + 1)
    masses, losses = [], []
    for clones, weight in zip(c, stats.binom.pmf(c, k - 1, 2 * p), strict=True):
        a = np.arange(clones + 2)
        first = stats.binom.pmf(a - 1, clones, 0.5)
        second = stats.binom.pmf(a, clones, 0.5)
        one, other = (1 - p) * first + p * second, p * first + (1 - p) * second
        masses.append(weight * one)
        losses.append(np.log(one / other))
    mass, loss = np.concatenate(masses), np.concatenate(losses)
    return lambda orders: np.array(
        [math.log(float(mass @ np.exp((lam - 1) * loss))) / (lam - 1) for lam in orders.tolist()]
    )


# --- accountants

SETTINGS = {
    "shuffled-check-in": {"n": 500, "rate": 0.05, "eps0": 1.0},
    "fixed-window": {"slots": 3000, "participation": 0.5, "eps0": 0.1},
    "sliding-window": {"slots": 3000, "eps0": 0.1},
    "averaged-window": {"n": 10**5, "slots": 300, "eps0": 0.02},
    "shuffle": {"n": 5000, "eps0": 0.1},
}
ROUNDS_OF = {"shuffled-check-in": (0, 50, 200)}
NAMES = [
    (protocol, name)
    for protocol in SETTINGS
    for name in accountants.names(protocol=protocol, mechanism="approximate-ldp")
]


@functools.cache
def of_approximate(protocol, name, delta0):
    rounds = ROUNDS_OF.get(protocol, (0, 1, 5))
    return accountants.epsilon(name, **SETTINGS[protocol], delta=DELTA, delta0=delta0, rounds=list(rounds))


# These two take as long as all others.
DEAR = ("averaged-window-numerical-approximate", "liew2022-shuffling-conversion")


@pytest.mark.parametrize(
    ("protocol", "name"),
    [pytest.param(*case, marks=[pytest.mark.slow] if case[1] in DEAR else []) for case in NAMES],
)
@pytest.mark.few(8)
def test_accountants_of_approximate_randomisers(protocol, name):
    setting = {**SETTINGS[protocol], "delta": DELTA}
    rounds = list(ROUNDS_OF.get(protocol, (0, 1, 5)))
    found = {delta0: of_approximate(protocol, name, delta0) for delta0 in (0, 1e-20, 1e-19)}
    for epsilon in found.values():
        assert epsilon[0] == 0
        assert (np.diff(epsilon) > 0).all()
        assert np.isfinite(epsilon).all()
    assert (found[0] <= found[1e-20]).all()
    assert (found[1e-20] <= found[1e-19] * (1 + 1e-12)).all()
    assert accountants.epsilon(name, **setting, delta0=0.1, rounds=1) == math.inf
    assert accountants.epsilon(name, **{**setting, "delta": 0}, delta0=1e-20, rounds=1) == math.inf
    pure = accountants.epsilon(name, **{**setting, "delta": 0}, delta0=0, rounds=rounds)
    assert pure == pytest.approx(setting["eps0"] * np.array(rounds))
    default = systems.get(protocol, "approximate-ldp").default
    least = of_approximate(protocol, default, 1e-19)
    assert (least <= found[1e-19] * (1 + 1e-12)).all()


TAKING_PART = {"shuffled-check-in": 0.05, "fixed-window": 0.5}


@pytest.mark.parametrize(("protocol", "name"), NAMES)
def test_rounds_cost_no_more_than_eps0_each_while_delta_pays_for_their_failures(protocol, name):
    eps0, delta0, rounds = 20.0, 1e-6, np.array([0, 1, 7, 1000])
    setting = {**SETTINGS[protocol], "eps0": eps0, "delta0": delta0}
    for count in rounds:
        failures = count * TAKING_PART.get(protocol, 1) * delta0 * (1 + 1e-12)
        found = accountants.epsilon(name, **setting, rounds=rounds, delta=failures or 1e-300)
        paid = rounds <= count
        assert np.isfinite(found[paid]).all()
        assert (found[paid] <= rounds[paid] * eps0 * (1 + 1e-14)).all()
        # one failure more is more than delta
        assert (found[rounds > count] > rounds[rounds > count] * eps0 * (1 + 1e-9)).all()


def test_basic_composition_of_approximate_reports_is_above_the_optimal_one():
    eps0, delta0 = 1.5, 1e-6
    for rounds in (1, 3, 40):
        for delta in (0.999 * rounds * delta0, rounds * delta0, 1.001 * rounds * delta0, 1e-3):
            optimal = composition.kairouz2015(
                eps=eps0, delta=delta0, rounds=rounds, total_delta=delta, method="optimal"
            )
            found = accountants.epsilon(
                "shuffle-clones-approximate", n=1, eps0=eps0, delta0=delta0, rounds=rounds, delta=delta
            )
            # the optimal one is rounded up by its search
            assert found >= optimal * (1 - 1e-9)


def test_the_failure_of_a_round_does_not_underflow():
    for protocol, smallest in (
        ("shuffled-check-in", {"rate": 1e-20}),
        ("fixed-window", {"participation": 1e-20}),
    ):
        setting = {**SETTINGS[protocol], **smallest, "delta0": 1e-320}
        assert systems.get(protocol, "approximate-ldp").pure(setting) == math.inf


def test_who_never_takes_part_loses_nothing():
    setting = {**SETTINGS["fixed-window"], "participation": 0, "rounds": 3, "delta": DELTA}
    for mechanism, failing in (("ldp", {}), ("approximate-ldp", {"delta0": 1e-3})):
        for name in accountants.names("upper", protocol="fixed-window", mechanism=mechanism):
            assert accountants.epsilon(name, **setting, **failing) == 0


def test_two_reports_of_a_client_fail_twice_as_often():
    """Two reports of leaky randomised response tell with 2 delta0 - delta0^2, which is more than delta."""
    one = {"n": 1, "eps0": 1.0, "delta0": 1e-3}
    two = {**one, "eps0": 2 * one["eps0"], "delta0": 2 * one["delta0"]}
    for name in accountants.names("upper", protocol="shuffle", mechanism="approximate-ldp"):
        assert accountants.epsilon(name, **two, rounds=1, delta=1.999e-3 * (1 - 1e-9)) == math.inf


@pytest.mark.parametrize("protocol", SETTINGS)
def test_without_failure_it_is_the_pure_randomiser(protocol):
    setting = {**SETTINGS[protocol], "rounds": [1, 5], "delta": DELTA}
    for name in accountants.names("upper", protocol=protocol, mechanism="ldp"):
        approximate_name = f"{name}-approximate"
        if (protocol, approximate_name) in NAMES:
            found = accountants.epsilon(approximate_name, **setting, delta0=0)
            pure = "check-in-joint-pld" if name == "check-in-pld" else name
            assert found == pytest.approx(accountants.epsilon(pure, **setting), rel=1e-9)


def test_approximate_randomisers_are_not_accounted_for_as_pure_ones():
    setting = {**SETTINGS["shuffle"], "rounds": 1, "delta": DELTA}
    with pytest.raises(ValueError, match="'shuffle-clones' is for shuffle with ldp: rounds of all n clients"):
        accountants.epsilon("shuffle-clones", **setting, delta0=1e-9)
    with pytest.raises(ValueError, match=r"by \(eps0, delta0\)-LDP randomisers, set by n, eps0, delta0"):
        accountants.epsilon("shuffle-clones-approximate", **setting)
    with pytest.raises(ValueError, match="eps0 must be a finite number > 0"):
        accountants.epsilon("shuffle-clones-approximate", **{**setting, "eps0": 0}, delta0=1e-9)
    with pytest.raises(ValueError, match=r"delta0 must lie in \[0, 1\)"):
        accountants.epsilon("shuffle-clones-approximate", **setting, delta0=1)
