"""Clones and sampling taken together: the pair by enumeration, its accountants by what must hold."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from shuffledp import accountants
from shuffledp.profiles.joint_clones import joint_clones, joint_pair

# (n, k, eps0, rounds, delta): between an optimistic and a pessimistic lattice by independent code, and how
# near the lower end must come
VALUES = [
    ((6e4, 1e4, 1.5, 1200, 1e-5), (0.42082, 0.42097), 1.10),
    ((6e4, 2e3, 2.0, 5800, 1e-5), (0.63500, 0.63531), 1.07),
    ((1e6, 1e3, 2.0, 1e5, 1e-8), (0.14559, 0.14572), 1.065),
    ((1e6, 1e3, 3.0, 1e5, 1e-8), (0.28233, 0.28260), 1.03),
    ((1e6, 1e3, 1.0, 1e5, 1e-8), (0.05642, 0.05645), 1.14),
]


BOUNDS = ("lower", "exact", "upper")


def exact(ratio, n, k, e):
    """The hockey-stick divergence of the pair at ``ratio``, in fractions."""
    e, ratio = Fraction(e), Fraction(ratio)
    clone, total = 2 / (e + 1), Fraction(0)
    for number in range(k + 1):
        weight = math.comb(k, number) * clone**number * (1 - clone) ** (k - number)
        for a in range(number + 1):
            rest = number - a
            gap = (n - k + e * a + rest) - ratio * (n - k + a + e * rest)
            total += weight * math.comb(number, a) * max(gap, Fraction(0)) / 2**number / n
    return total


@pytest.mark.parametrize(("n", "k"), [(1, 1), (3, 1), (7, 4), (25, 24), (30, 30), (40, 12)])
@pytest.mark.parametrize("e", [Fraction(9, 8), 3, 40])
def test_profile_of_the_pair(n, k, e):
    eps0 = math.log(e)
    # below e, whose logarithm is not a double
    for ratio in (
        Fraction(1, 5),
        Fraction(19, 20),
        1,
        Fraction(101, 100),
        Fraction(11, 10),
        e - Fraction(1, 99),
    ):
        truth = float(exact(ratio, n, k, e))
        at = {bound: joint_clones(math.log(ratio), n=n, k=k, eps0=eps0, bound=bound) for bound in BOUNDS}
        assert at["exact"] == pytest.approx(truth, rel=1e-11, abs=1e-15)
        assert at["lower"] <= truth <= at["upper"]
        assert at["upper"] == pytest.approx(truth, rel=1e-8, abs=1e-15)


@pytest.mark.parametrize(("n", "k"), [(3 * 10**5, 10**5), (10**8, 10**5)])
def test_blocks_of_clones_are_on_the_bound_s_side(n, k):
    eps = 2.5 * 2 * math.sinh(0.5) / math.sqrt(k) * k / n
    lower, truth, upper = (joint_clones(eps, n=n, k=k, eps0=1.0, bound=bound) for bound in BOUNDS)
    assert truth * (1 - 1e-3) < lower < truth < upper < truth * (1 + 1e-3)


@pytest.mark.parametrize(
    ("setting", "within", "ratio"),
    [pytest.param(*case, marks=[] if at in (2, 3) else pytest.mark.slow) for at, case in enumerate(VALUES)],
)
def test_epsilon_against_independent_lattices(setting, within, ratio):
    given = dict(zip(("n", "k", "eps0", "rounds", "delta"), setting, strict=True))
    upper = accountants.epsilon("clones-joint-pld", **given)
    assert within[0] <= upper <= within[1]
    assert upper < accountants.epsilon("clones-pld", **given)
    bracket = accountants.bracket(**given)
    assert (bracket.upper, bracket.names[1]) == (upper, "clones-joint-pld")
    assert bracket.upper <= ratio * bracket.lower


def test_one_round_by_the_profile_is_that_of_composition():
    """Two rounds of which one cannot matter are composed, one round is not."""
    for name, setting in {
        "clones-joint-pld": {"n": 1e5, "k": 3e3, "eps0": 1.5},
        "clones-pld": {"n": 1e5, "k": 3e3, "eps0": 1.5},
        "shuffle-clones": {"n": 4e3, "eps0": 3.0},
    }.items():
        alone = accountants.epsilon(name, **setting, rounds=[0, 1, 2], delta=1e-7)
        # too small a delta for the profile
        tiny = accountants.epsilon(name, **setting, rounds=[1, 2], delta=1e-25)
        assert alone[0] == 0
        assert alone[1] < alone[2] < 2 * alone[1]
        assert alone[1] < tiny[0] < tiny[1]
    for n, delta in itertools.product((100, 10**4), (1e-4, 1e-10)):
        found = accountants.epsilon("clones-joint-pld", n=n, k=n, eps0=2.0, rounds=1, delta=delta)
        # the logarithm of delta is met to its digits
        assert joint_clones(found, n=n, k=n, eps0=2.0) <= delta * (1 + 1e-14)
        assert joint_clones(found * (1 - 1e-9), n=n, k=n, eps0=2.0) > delta


def test_all_clients_in_every_round_is_the_plain_shuffle():
    given = {"eps0": 1.2, "rounds": [1, 7], "delta": 1e-6}
    joint = accountants.epsilon("clones-joint-pld", n=500, k=500, **given)
    assert joint == pytest.approx(accountants.epsilon("shuffle-clones", n=500, **given), rel=1e-6)


def test_monotone():
    base = {"n": 1e5, "k": 2e3, "eps0": 1.5, "rounds": 50, "delta": 1e-6}
    for name, factors, sign in (("n", (1, 3, 40), -1), ("eps0", (1, 1.3, 4), 1), ("rounds", (1, 2, 90), 1)):
        values = [accountants.epsilon("clones-joint-pld", **{**base, name: base[name] * f}) for f in factors]
        assert (np.diff(values) * sign > 0).all(), name
    deltas = [accountants.epsilon("clones-joint-pld", **{**base, "delta": d}) for d in (1e-9, 1e-6, 1e-3)]
    assert (np.diff(deltas) < 0).all()


@pytest.mark.parametrize("rounds", [1, 30])
def test_check_ins_of_nearly_all_are_a_shuffle_of_nearly_all(rounds):
    given = {"eps0": 1.0, "rounds": rounds, "delta": 1e-6}
    check_in = accountants.epsilon("check-in-joint-pld", n=2000, rate=0.999, **given)
    assert check_in == pytest.approx(accountants.epsilon("shuffle-clones", n=2000, **given), rel=5e-3)


@pytest.mark.parametrize(
    ("n", "rate"), [(500, 0.02), (50, 0.4), pytest.param(500, 0.4, marks=pytest.mark.slow)]
)
def test_check_ins_lie_between_what_is_run_and_the_earlier_pair(n, rate):
    given = {"n": n, "rate": rate, "eps0": 1.5, "rounds": 12, "delta": 1e-6}
    joint = accountants.epsilon("check-in-joint-pld", **given)
    assert joint <= accountants.epsilon("check-in-pld", **given)
    assert joint >= max(
        accountants.epsilon(name, **given) for name in ("check-in-krr3-lower", "check-in-rr2-lower")
    )


def test_what_a_failing_randomiser_costs():
    """Nothing at delta0 = 0, little where it is tiny, everything where it uses up delta."""
    given = {"n": 2000, "eps0": 2.0, "rounds": 5, "delta": 1e-6}
    pure = accountants.epsilon("shuffle-clones", **given)
    costs = [accountants.epsilon("shuffle-clones-approximate", **given, delta0=d) for d in (0, 1e-14, 1e-4)]
    assert costs[0] == pytest.approx(pure, rel=1e-9)
    assert pure < costs[1] < 1.01 * pure
    assert costs[2] == math.inf


def scale(k, absent):
    """The deviation of the loss of k reports at eps0 = 1, to first order."""
    return 2 * math.sinh(0.5) / math.sqrt(k) * k / (absent + k)


@pytest.mark.parametrize("absent", [0, 2 * 10**5])
def test_numbers_of_clones_that_are_left_out_count_for_an_upper_bound(absent):
    k, eps = 10**5, 8 * scale(10**5, absent)
    pair = joint_pair(absent=float(absent), k=k, eps0=1.0, bound="upper", relative_width=0.0, nats=3.0)
    value, error = pair.hockey_stick(np.full(1, eps))
    truth = joint_clones(eps, n=k + absent, k=k, eps0=1.0, bound="exact")
    assert value[0] + error[0] < truth < value[0] + pair.lost
    # e^-3 below the window, and twice above it
    assert pair.lost > 2.9 * math.exp(-3)


@pytest.mark.parametrize("absent", [0, 2 * 10**5])
def test_blocks_of_clones_spread_outward(absent):
    """Blocks so wide that the side is seen, against every number by itself."""
    eps, found = scale(10**5, absent) * np.array([1.0, 3.0, 6.0]), {}
    for bound, width in (("lower", 0.02), ("exact", 0.0), ("upper", 0.02)):
        pair = joint_pair(absent=float(absent), k=10**5, eps0=1.0, bound=bound, relative_width=width)
        found[bound], _ = pair.hockey_stick(eps)
    assert (found["lower"] < found["exact"] * (1 - 1e-3)).all()
    assert (found["upper"] > found["exact"] * (1 + 1e-3)).all()


def test_blocks_of_clones_keep_what_differs_within_them():
    """The mean square of the tilts is convex in density and tilt together, however many coins there are."""
    found = {}
    for bound, width in (("lower", 0.02), ("exact", 0.0), ("upper", 0.02)):
        pair = joint_pair(absent=2e5, k=10**5, eps0=1.0, bound=bound, relative_width=width)
        found[bound] = float(pair.weights @ pair.tilts**2)
    assert found["lower"] < found["exact"] * (1 - 1e-8)
    assert found["upper"] > found["exact"] * (1 + 1e-8)
