"""The library's sums and closed forms against tabulated values and the printed formulas at 50 digits."""

import json
import math
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from shuffledp import accountants, approximate_dp, rdp
from shuffledp.approximate_dp import composition

from . import exact
from .exact import mp, number
from .tolerances import (
    CLOSE,
    CLOSE_AT_EXTREMES,
    CLOSE_AT_MILLION,
    CLOSED_FORM,
    OPTIMAL_ABSOLUTE,
    ORACLE,
    assert_close,
    assert_lower,
    assert_upper,
)

ORACLES = json.loads((Path(__file__).parent / "oracles.json").read_text())["values"]

# k from 1 to 1e9 of up to 1e12 clients: gamma from 1e-12 to 1.
CLIENTS = [
    (1, 1),
    (10, 10),
    (20, 7),
    (1000, 1),
    (1000, 1000),
    (10**6, 10**3),
    (10**9, 1),
    (10**7, 10**4),
    (10**9, 10**9),
    (10**12, 1),
    (10**12, 10**3),
    (10**12, 10**9),
]
EPS0 = [1e-6, 1e-3, 0.05, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0]


def tolerance(order, eps0):
    return CLOSE if order <= 200 and eps0 <= 15 else CLOSE_AT_EXTREMES


def oracle_id(entry):
    return "-".join(str(value) for key, value in entry.items() if key != "value")


def of_kind(prefix):
    entries = [entry for entry in ORACLES if entry["what"].startswith(prefix)]
    return pytest.mark.parametrize("entry", entries, ids=oracle_id)


LIBRARY = {
    "rdp_girgis2021_theorem1": rdp.girgis2021_upper,
    "rdp_girgis2021_theorem2": rdp.girgis2021_lower,
    "rdp_girgis2021ccs_shuffle": rdp.girgis2021ccs_shuffle,
}
REFERENCE = {
    "rdp_girgis2021_theorem1": exact.theorem1,
    "rdp_girgis2021_theorem2": exact.theorem2,
    "rdp_girgis2021ccs_shuffle": exact.girgis2021ccs,
}


def test_every_oracle_is_used():
    assert {entry["what"] for entry in ORACLES} == {*LIBRARY, "eps_girgis2021_theorem1_integer_orders"}


@of_kind("rdp_")
def test_rdp_oracles(entry):
    arguments = {key: entry[key] for key in ("n", "k", "eps0") if key in entry}
    value = LIBRARY[entry["what"]](entry["order"], **arguments)
    assert_close(value, entry["value"], ORACLE)
    assert_close(REFERENCE[entry["what"]](entry["order"], **arguments), entry["value"], ORACLE)


@of_kind("eps_")
def test_epsilon_oracles(entry):
    """The smallest value of Lemma 1 over whole orders, from the library's curve and from the reference's; the
    library's own conversion may use the chords between them, and so go lower by less than 1 %."""
    n, k, eps0 = entry["n"], entry["k"], entry["eps0"]
    orders = range(2, 4 * entry["best_order"])
    curve = rdp.girgis2021_upper(list(orders), n=n, k=k, eps0=eps0)
    for values in (curve.tolist(), [exact.theorem1(order, n, k, eps0) for order in orders]):
        by_order = [
            exact.lemma1(order, value, entry["T"], entry["delta"])
            for order, value in zip(orders, values, strict=True)
        ]
        assert_close(min(by_order), entry["value"], ORACLE)
        assert orders[by_order.index(min(by_order))] == entry["best_order"]
    found = rdp.to_epsilon(
        lambda order: rdp.girgis2021_upper(order, n=n, k=k, eps0=eps0),
        delta=entry["delta"],
        rounds=entry["T"],
    )
    assert 0.99 * entry["value"] < found.value <= entry["value"] * (1 + ORACLE)
    assert abs(found.order - entry["best_order"]) <= 1


@pytest.mark.parametrize("eps0", EPS0)
@pytest.mark.parametrize(("n", "k"), CLIENTS)
@pytest.mark.few(40)
def test_theorem1(n, k, eps0):
    orders = [2, 3, 4, 5, 16, 64, 200, 1000, 3000]
    values = rdp.girgis2021_upper(orders, n=n, k=k, eps0=eps0)
    for order, value in zip(orders, values.tolist(), strict=True):
        assert_upper(value, exact.theorem1(order, n, k, eps0), tolerance(order, eps0))
    assert_upper(
        rdp.girgis2021_upper(16, n=n, k=k, eps0=eps0), exact.theorem1(16, n, k, eps0), tolerance(16, eps0)
    )


@pytest.mark.parametrize(
    ("n", "k", "eps0"),
    [
        (10**6, 10**3, 1.0),
        (10**6, 10**3, 1e-3),
        (10**9, 10, 0.1),
        (10**9, 10**3, 0.1),
        (10**8, 10**6, 0.1),
        (10**8, 10**7, 0.1),
        (10**12, 10**3, 1e-3),
        (10**6, 10**3, 30.0),
    ],
)
@pytest.mark.parametrize("order", [10**4, 10**5, 10**6])
def test_theorem1_at_large_orders(order, n, k, eps0):
    value = rdp.girgis2021_upper(order, n=n, k=k, eps0=eps0)
    assert_upper(value, exact.theorem1(order, n, k, eps0), CLOSE_AT_MILLION)


def test_window_of_the_reference_agrees_with_its_full_sum():
    for base in ("1e-9", "1e-3", "0.1", "30"):
        full = exact.gamma_sum(2999, mp.mpf(base))
        assert abs(exact.gamma_sum_by_window(2999, mp.mpf(base)) / full - 1) < mp.mpf(10) ** -38


@pytest.mark.parametrize(
    ("k", "clones"),
    [*product([200, 10**5, 10**9], [1, 2, 3, 50]), *product([10**5, 10**9], [12345]), (10**9, 10**7)],
)
def test_theorem1_where_the_floor_in_kbar_steps(k, clones):
    """eps0 puts (k - 1) / (2 e^eps0) on a whole number but for its rounding. The float may fall on either
    side; only a kbar that is not above the exact one gives an upper bound, and one below it costs 1/kbar."""
    centre = math.log((k - 1) / (2 * clones))
    for eps0 in (np.nextafter(centre, 0), centre, np.nextafter(centre, np.inf)):
        eps0 = float(eps0)
        kbar = exact.kbar(k, eps0)
        assert kbar in (clones, clones + 1)
        expected = exact.theorem1(8, 10 * k, k, eps0)
        assert_upper(rdp.girgis2021_upper(8, n=10 * k, k=k, eps0=eps0), expected, 20.0 / kbar)
        expected = exact.girgis2021ccs(8, k, eps0)
        assert_upper(rdp.girgis2021ccs_shuffle(8, n=k, eps0=eps0), expected, 20.0 / kbar)


@pytest.mark.parametrize("eps0", EPS0)
@pytest.mark.parametrize(("n", "k"), CLIENTS)
@pytest.mark.few(40)
def test_theorem2(n, k, eps0):
    orders = [2, 3, 4, 5, 16, 60] if k < 10**8 else [2, 16, 60]
    values = rdp.girgis2021_lower(orders, n=n, k=k, eps0=eps0)
    for order, value in zip(orders, values.tolist(), strict=True):
        assert_lower(value, exact.theorem2(order, n, k, eps0), CLOSE if k < 10**8 else CLOSE_AT_EXTREMES)


@pytest.mark.parametrize("eps0", [1e-6, 0.5, 2.0, 8.0, 30.0])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (50, 2), (200, 200), (10**6, 100), (10**9, 30)])
def test_theorem2_at_real_and_large_orders(n, k, eps0):
    orders = [1.0001, 1.5, 2.0, 2.5, 7.3, 400.0, 3000.0, 5e4]
    values = rdp.girgis2021_lower(orders, n=n, k=k, eps0=eps0)
    for order, value in zip(orders, values.tolist(), strict=True):
        assert_lower(value, exact.theorem2_by_expectation(order, n, k, eps0), CLOSE_AT_EXTREMES)


@pytest.mark.parametrize(("n", "k", "eps0"), [(1000, 100, 1.0), (40, 40, 3.0), (10**6, 20, 0.01)])
@pytest.mark.parametrize("order", [2, 3, 9, 40])
def test_both_forms_of_theorem2_agree(order, n, k, eps0):
    """The reference's own two ways: central moments, and the expectation."""
    ratio = exact.theorem2(order, n, k, eps0) / exact.theorem2_by_expectation(order, n, k, eps0)
    assert abs(ratio - 1) < mp.mpf(10) ** -35


@pytest.mark.parametrize("eps0", EPS0)
@pytest.mark.parametrize("k", [2, 3, 100, 10**5, 10**9])
def test_theorem4(k, eps0):
    orders = [2, 2.5, 3, 4, 7.75, 20, 150]
    values = rdp.girgis2021_ternary(orders, k=k, eps0=eps0)
    for order, value in zip(orders, values.tolist(), strict=True):
        expected = exact.theorem4(order, k, eps0)
        if expected > sys.float_info.max:
            assert value == math.inf
        elif expected > sys.float_info.min:
            assert_upper(value, expected)


@pytest.mark.parametrize(("k", "eps0"), [(100, 1e-6), (10**9, 1.0)])
def test_theorem4_does_not_round_down_to_zero(k, eps0):
    """Where the bound is below the smallest float, the upper bound next to it is that float, not 0."""
    expected = exact.theorem4(150, k, eps0)
    assert 0 < expected < sys.float_info.min * sys.float_info.epsilon
    assert number(rdp.girgis2021_ternary(150, k=k, eps0=eps0)) >= expected


@pytest.mark.parametrize("eps0", EPS0)
@pytest.mark.parametrize("n", [1, 2, 10, 1000, 10**5, 10**9, 10**12])
@pytest.mark.few(30)
def test_girgis2021ccs(n, eps0):
    orders = [2, 3, 4, 5, 16, 64, 200, 1000, 3000]
    values = rdp.girgis2021ccs_shuffle(orders, n=n, eps0=eps0)
    for order, value in zip(orders, values.tolist(), strict=True):
        assert_upper(value, exact.girgis2021ccs(order, n, eps0), tolerance(order, eps0))


@pytest.mark.parametrize(("n", "eps0"), [(4000, 4.0), (50000, 6.0), (10**9, 15.0)])
def test_girgis2021ccs_at_order_two(n, eps0):
    """Order 2 has no term of the sum that starts at j = 3; here its value is far below eps0."""
    assert exact.girgis2021ccs(2, n, eps0) < 0.7 * eps0
    assert_upper(rdp.girgis2021ccs_shuffle(2, n=n, eps0=eps0), exact.girgis2021ccs(2, n, eps0))


def proportional(slope):
    return lambda orders: slope * np.asarray(orders)


def saturating(limit):
    return lambda orders: limit * np.asarray(orders) / (np.asarray(orders) + 3)


WANG_CURVES = [
    (proportional(1e-12), math.inf),
    (proportional(1e-4), math.inf),
    (proportional(0.3), math.inf),
    (proportional(0.01), 0.5),
    (proportional(1e-9), 1e-6),
    (saturating(2.0), 2.0),
    (saturating(0.1), 0.1),
    (saturating(8.0), math.inf),
    (lambda orders: np.full(np.shape(orders), 4.0), 4.0),
    (proportional(0.5), 30.0),
]


@pytest.mark.parametrize("loose", [False, True])
@pytest.mark.parametrize("gamma", [1e-9, 1e-3, 0.1, 0.9, 1.0])
@pytest.mark.parametrize("curve", range(len(WANG_CURVES)))
@pytest.mark.few(40)
def test_wang2019(curve, gamma, loose):
    function, eps_inf = WANG_CURVES[curve]
    orders = [2, 3, 4, 10, 64, 500]
    values = rdp.wang2019_subsampled(orders, gamma=gamma, rdp=function, eps_inf=eps_inf, loose=loose)
    at = {j: min(float(function(np.array([j]))[0]), eps_inf) for j in range(2, orders[-1] + 1)}
    for order, value in zip(orders, values.tolist(), strict=True):
        assert_upper(value, exact.wang2019(order, gamma, at, eps_inf, loose))


@pytest.mark.parametrize("loose", [False, True])
@pytest.mark.parametrize(("n", "k", "eps0"), [(10**6, 10**3, 2.0), (10**7, 10**4, 1.0), (60000, 10**4, 1.5)])
def test_wang2019_of_the_shuffle(n, k, eps0, loose):
    """girgis2021's baseline as a whole: nothing that the library rounds enters the reference."""
    at = {j: exact.girgis2021ccs(j, k, eps0) for j in range(2, 201)}
    for order in (2, 3, 28, 200):
        value = rdp.wang2019_subsampled(
            order,
            gamma=k / n,
            rdp=lambda orders: rdp.girgis2021ccs_shuffle(orders, n=k, eps0=eps0),
            eps_inf=eps0,
            loose=loose,
        )
        expected = exact.wang2019(order, k / n, at, eps0, loose)
        # the rounding of rdp(j) is multiplied by j - 1
        assert_upper(value, expected, CLOSE_AT_EXTREMES)


@pytest.mark.parametrize("n", [100, 10**4, 10**6, 10**9, 10**12])
@pytest.mark.parametrize("eps0", [1e-6, 0.1, 1.0, 3.74, 5.0, 12.0])
def test_feldman2021(n, eps0):
    for delta in (0.5, 1e-3, 1e-6, 1e-12, 1e-300):
        found = approximate_dp.feldman2021(n=n, eps0=eps0, delta=delta)
        expected = exact.feldman2021(n, eps0, delta)
        assert found.applicable == (expected is not None)
        if found.applicable:
            assert_upper(found.eps, expected, CLOSED_FORM)
            assert found.delta == delta
        else:
            assert (found.eps, found.delta) == (eps0, 0.0)


@pytest.mark.parametrize(
    ("n", "eps0", "delta"), [(10, 12.0, 1e-12), (10, 2.0, 1e-6), (10**4, 3.74, 1e-6), (10**4, 3.75, 1e-6)]
)
def test_feldman2021_outside_its_condition(n, eps0, delta):
    """The third and fourth lie between the two readings of the condition (log(4/delta) and log(2/delta))."""
    found = approximate_dp.feldman2021(n=n, eps0=eps0, delta=delta)
    assert found[:3] == (eps0, 0.0, False)


@pytest.mark.parametrize("gamma", [1e-12, 1e-3, 0.5, 1.0])
@pytest.mark.parametrize("eps", [0.0, 1e-9, 0.3, 1.0, 1.5, 40.0, 800.0])
def test_subsample(eps, gamma):
    found = composition.subsample(eps=eps, delta=1e-7, gamma=gamma)
    expected = exact.subsample(eps, 1e-7, gamma)
    assert_close(found.eps, expected[0], CLOSED_FORM)
    assert_close(found.delta, expected[1], CLOSED_FORM)


COMPOSED = [
    (eps, delta, rounds, total)
    for eps in (1e-6, 0.01, 0.3, 2.0)
    for rounds in (1, 7, 1000)
    for delta, total in ((0.0, 1e-8), (1e-12, 1e-8), (1e-5, 0.1), (0.0, 1e-30))
]


@pytest.mark.parametrize(("eps", "delta", "rounds", "total"), COMPOSED)
def test_closed_forms_of_composition(eps, delta, rounds, total):
    arguments = {"eps": eps, "delta": delta, "rounds": rounds, "total_delta": total}
    assert_upper(
        composition.kairouz2015(**arguments),
        exact.kairouz2015_formula(eps, delta, rounds, total),
        CLOSED_FORM,
    )
    assert_upper(composition.advanced(**arguments), exact.advanced(eps, delta, rounds, total), CLOSED_FORM)
    left = composition.remaining_delta(delta=delta, rounds=rounds, total_delta=total)
    assert_close(left, exact.slack(delta, rounds, total), CLOSED_FORM)


@pytest.mark.parametrize(
    ("n", "k", "eps0", "rounds", "delta"),
    [(10**7, 10**4, 2.0, 10**4, 1e-8), (10**6, 10**4, 1.0, 100, 1e-6), (10**4, 10**4, 0.1, 1, 1e-5)],
)
def test_composed_baseline_at_its_own_split(n, k, eps0, rounds, delta):
    """The three theorems in a row at the split of delta that the accountant reports; no other split on a grid
    is better by more than 0.1 %."""
    details = accountants.get("feldman2021-strong").details(n=n, k=k, eps0=eps0, rounds=rounds, delta=delta)
    assert details["amplified"] == 1.0

    def composed(shuffle_delta):
        one = exact.subsample(exact.feldman2021(k, eps0, shuffle_delta), shuffle_delta, k / n)
        return exact.kairouz2015_formula(one[0], one[1], rounds, delta)

    assert_upper(details["epsilon"], composed(details["shuffle_delta"]), CLOSE)
    left = exact.slack(number(details["shuffle_delta"]) * k / n, rounds, delta)
    assert abs(number(details["composition_delta"]) - left) <= CLOSE * delta
    shares = [share for share in np.geomspace(1e-6, 0.999, 60).tolist() if share * delta / rounds * n / k < 1]
    splits = [share * delta / rounds * n / k for share in shares]
    others = [composed(split) for split in splits if exact.feldman2021(k, eps0, split) is not None]
    assert details["epsilon"] <= 1.001 * min(others)


@pytest.mark.parametrize(("eps0", "rounds"), [(0.5, 1), (2.0, 100), (2.0, 10**4)])
def test_accountant_without_a_shuffler(eps0, rounds):
    value = accountants.epsilon("unshuffled-strong", n=10**4, k=100, eps0=eps0, rounds=rounds, delta=1e-6)
    one = exact.subsample(eps0, 0.0, 0.01)[0]
    expected = exact.composed_eps(one, rounds, 1e-6)
    assert_upper(value, expected, CLOSE_AT_EXTREMES + OPTIMAL_ABSOLUTE / float(expected))


def test_an_error_of_one_per_cent_is_caught():
    """What these checks are worth: each accepts the library's value and refuses it 1 % off, either way, and a
    bound that is on the wrong side by a few ulp."""
    point = {"n": 10**6, "k": 10**3, "eps0": 2.0}
    upper, lower = rdp.girgis2021_upper(10, **point), rdp.girgis2021_lower(10, **point)
    checks = [
        (assert_upper, upper, exact.theorem1(10, **point), CLOSE_AT_MILLION),
        (assert_lower, lower, exact.theorem2(10, **point), CLOSE_AT_MILLION),
        (assert_close, upper, exact.theorem1(10, **point), ORACLE),
    ]
    for check, value, expected, allowed in checks:
        check(value, expected, allowed)
        for factor in (0.99, 1.01):
            with pytest.raises(AssertionError):
                check(value * factor, expected, allowed)
    for check, wrong_side in ((assert_upper, 1 - 1e-15), (assert_lower, 1 + 1e-15)):
        with pytest.raises(AssertionError):
            check(wrong_side, mp.mpf(1), CLOSE_AT_EXTREMES)
