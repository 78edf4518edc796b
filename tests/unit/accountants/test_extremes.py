"""Far from the papers' settings: results stay finite, warning-free (pytest turns warnings into errors), on
their side of what they bound, and monotone."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

from shuffledp import accountants, approximate_dp, rdp
from shuffledp.approximate_dp import composition

# Bounds are rounded outwards by 2^-37 = 7.3e-12, so two of them may cross by twice that.
ROUNDING = 2e-11
# The cap is one product, rounded up by a few units in the last place (hard case A4).
CAP = 1e-12
# A minimum over the split of delta is found to about this, and can fall by as much along a curve.
SEARCH = 1e-8
# Printed digits of the hard cases.
PRINTED = 1e-6

EPS0 = [1e-6, 1e-3, 0.1, 1.0, 5.0, 12.0, 30.0]
CLIENTS = [1, 2, 1e3, 1e6, 1e9, 1e12]
PER_ROUND = [1, 2, 10, 1e3, 1e6]
ORDERS = np.array([2, 3, 17, 64, 2048, 2049, 1e4, 1e6])
SYSTEMS = [(n, k) for n, k in itertools.product(CLIENTS, PER_ROUND) if k <= n]


def pure_dp(n, k, eps0):
    """log(1 + gamma (e^eps0 - 1)) without its overflow."""
    with mpmath.workdps(40):
        return float(mpmath.log1p(mpmath.mpf(k) / mpmath.mpf(n) * mpmath.expm1(mpmath.mpf(eps0))))


@pytest.mark.parametrize("eps0", EPS0)
def test_renyi_bounds_stay_in_order(eps0):
    for n, k in SYSTEMS:
        upper = rdp.girgis2021_upper(ORDERS, n=n, k=k, eps0=eps0)
        lower = rdp.girgis2021_lower(ORDERS, n=n, k=k, eps0=eps0)
        assert np.isfinite(upper).all(), (n, k)
        assert (lower > 0).all(), (n, k)
        assert (lower <= upper).all(), (n, k)
        # what Theorem 2 computes is a divergence: it grows with the order, and pure DP bounds it
        assert (np.diff(lower) >= -ROUNDING * lower[1:]).all(), (n, k)
        assert lower[-1] <= pure_dp(n, k, eps0), (n, k)


@pytest.mark.parametrize("eps0", EPS0)
def test_plain_shuffle_stays_in_order(eps0):
    for n in CLIENTS:
        upper = rdp.girgis2021ccs_shuffle(ORDERS, n=n, eps0=eps0)
        lower = rdp.girgis2021_lower(ORDERS[:4], n=min(n, 1e6), k=min(n, 1e6), eps0=eps0)
        assert (upper > 0).all(), n
        assert (upper <= eps0).all(), n
        if n <= 1e6:
            assert (lower <= upper[:4] * (1 + ROUNDING)).all(), n


@pytest.mark.parametrize("eps0", EPS0)
def test_subsampled_plain_shuffle_stays_in_order(eps0):
    orders = np.array([2.0, 3.0, 64.0, 2049.0, 1e6])
    for n, k in [(1, 1), (10, 2), (1e12, 1e3), (1e9, 1), (100, 100)]:
        upper = rdp.wang2019_subsampled(
            orders,
            gamma=k / n,
            rdp=lambda order, k=k: rdp.girgis2021ccs_shuffle(order, n=k, eps0=eps0),
            eps_inf=eps0,
        )
        lower = rdp.girgis2021_lower(orders, n=n, k=k, eps0=eps0)
        assert np.isfinite(upper).all(), (n, k)
        assert (lower <= upper * (1 + ROUNDING)).all(), (n, k)


@pytest.mark.parametrize("loose", [False, True])
@pytest.mark.parametrize("eps_inf", [math.inf, 2.0])
def test_subsampling_grows_with_the_rate(loose, eps_inf):
    orders = np.array([2.0, 3.0, 64.0, 1000.0])
    gammas = [1e-9, 1e-6, 1e-3, 0.1, 0.5, 1.0]

    def curve(order):
        return np.minimum(0.05 * order, 2.0)

    values = np.array(
        [
            rdp.wang2019_subsampled(orders, gamma=gamma, rdp=curve, eps_inf=eps_inf, loose=loose)
            for gamma in gammas
        ]
    )
    assert np.isfinite(values).all()
    assert (np.diff(values, axis=0) > 0).all()
    assert (values[-1] >= curve(orders)).all()  # at rate 1 nothing is gained


@pytest.mark.parametrize("eps0", EPS0)
def test_ternary_stays_positive(eps0):
    for k in (2, 10, 1e3, 1e6, 1e12):
        values = rdp.girgis2021_ternary(ORDERS[:5], k=k, eps0=eps0)
        assert not np.isnan(values).any()
        assert (values >= 0).all()
        assert values[0] <= rdp.girgis2021_ternary(2, k=2, eps0=eps0)  # more reports never hide less


@pytest.mark.parametrize("delta", [1e-100, 1e-300, 1e-310])
def test_tiny_deltas_are_no_special_case(delta):
    for closed in (approximate_dp.feldman2021, approximate_dp.balle2019):
        result = closed(n=10**6, eps0=0.5, delta=delta)
        assert 0 < result.eps <= 0.5
    for method in composition.METHODS:
        composed = composition.kairouz2015(eps=0.5, delta=0.0, rounds=100, total_delta=delta, method=method)
        assert 0 < composed <= 50 * (1 + CAP)
    assert 0 < rdp.to_epsilon(lambda order: 0.1 * order, delta=delta).value < math.inf


@pytest.mark.parametrize("delta", [1e-100, 1e-300])
@pytest.mark.parametrize("name", accountants.names())
@pytest.mark.few(16)
def test_accountants_at_tiny_deltas(name, delta):
    cap = 10 * pure_dp(1000, 10, 1.0)
    assert 0 < accountants.epsilon(name, n=1000, k=10, eps0=1.0, rounds=10, delta=delta) <= cap * (1 + CAP)


ROUNDS = np.array([0.0, 1.0, 1e3])


# Takes seconds at every setting, and keeps to the contract of all accountants in the ordinary suite.
DEAR = "feldman2021-numerical-strong"


def of_accountants(values, *, kept):
    """All accountants at all values; at some of them, the dear one in the slow suite only."""
    return [
        pytest.param(name, value, marks=[pytest.mark.slow] if name == DEAR and value not in kept else [])
        for name in accountants.names()
        for value in values
    ]


@pytest.mark.parametrize(("name", "eps0"), of_accountants([1e-6, 2.0, 30.0, 400.0], kept=(1e-6, 400.0)))
@pytest.mark.few(24)
def test_accountants_stay_below_pure_dp(name, eps0):
    for n, k, delta in [(1e3, 10, 0.9), (1e9, 1e3, 1e-30), (1e12, 1e6, 0.9), (1e12, 2, 1e-8)]:
        cap = ROUNDS * pure_dp(n, k, eps0)
        epsilon = accountants.epsilon(name, n=n, k=k, eps0=eps0, rounds=ROUNDS, delta=delta)
        assert epsilon[0] == 0
        assert (epsilon >= 0).all()
        assert (epsilon <= cap * (1 + CAP)).all(), (n, k, delta)


@pytest.mark.parametrize("name", accountants.names())
def test_accountants_after_very_many_rounds(name):
    rounds = np.array([1e6, 1e9])
    epsilon = accountants.epsilon(name, n=1e9, k=1e3, eps0=0.1, rounds=rounds, delta=1e-8)
    assert 0 <= epsilon[0] <= epsilon[1] <= 1e9 * pure_dp(1e9, 1e3, 0.1) * (1 + CAP)


# The composed baseline takes seconds here in either form, which share all of their code but one constant.
A4_NAMES = [name for name in accountants.names() if name != "girgis2021ccs-wang2019-loose"]


A4 = [
    pytest.param(
        *(name, eps0, cap),
        marks=[pytest.mark.slow] if name == "girgis2021ccs-wang2019" else [],
    )
    for name in A4_NAMES
    for eps0, cap in ((400, 393.0922447210178), (800, 793.0922447210178))
]


@pytest.mark.parametrize(("name", "eps0", "cap"), A4)
def test_hard_case_a4_huge_eps0(name, eps0, cap):
    assert pure_dp(1e6, 1e3, eps0) == pytest.approx(cap, rel=CAP)
    epsilon = accountants.epsilon(name, n=1e6, k=1e3, eps0=eps0, rounds=1, delta=1e-8)
    assert 0 <= epsilon <= cap * (1 + CAP)
    assert epsilon > 0.9 * cap or accountants.get(name).kind == "lower"


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("name", accountants.names())
@pytest.mark.few(14)
def test_huge_eps0_with_few_clients_a_round(name, k):
    epsilon = accountants.epsilon(name, n=100, k=k, eps0=800, rounds=1, delta=1e-8)
    assert 0 <= epsilon <= pure_dp(100, k, 800) * (1 + CAP)
    assert epsilon > 700 or accountants.get(name).kind == "lower"


def test_hard_case_a4_many_rounds_and_the_edge_of_the_order_search():
    details = accountants.get("girgis2021-upper").details(
        n=1e6, k=1e3, eps0=2, rounds=[1e5, 1e6, 1e7, 1e9], delta=1e-8
    )
    # the best order may lie between two whole ones
    assert details["order"].round().tolist() == [28, 10, 4, 2]
    assert details["on_edge"].tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("order", [1e19, 1e300])  # beyond any index
def test_orders_beyond_any_use_give_a_bound_or_a_refusal(order):
    lower = rdp.girgis2021_lower(order, n=1000, k=100, eps0=1.0)
    assert 0 < lower <= pure_dp(1000, 100, 1.0)
    try:
        upper = rdp.girgis2021_upper(order, n=1000, k=100, eps0=1.0)
    except ValueError as refusal:
        assert "order" in str(refusal)  # noqa: PT017  # a bound would be as good
    else:
        assert upper >= lower


def test_hard_case_a5_large_delta():
    epsilon = accountants.epsilon("girgis2021-upper", n=1e6, k=1e3, eps0=0.1, rounds=1, delta=0.5)
    assert epsilon == 0.0


@pytest.mark.parametrize("name", accountants.names())
def test_hard_case_b1_nothing_above_the_cap(name):
    epsilon = accountants.epsilon(name, n=1e6, k=1e3, eps0=1, rounds=1, delta=1e-8)
    assert epsilon <= 0.0017168 * (1 + 3e-5)  # half a unit of the last printed digit
    assert epsilon <= pure_dp(1e6, 1e3, 1) * (1 + CAP)


# --- Theorem 2 near order 1, where (order - 1) divides what the sum has lost


def exact_girgis2021_lower(order, n, k, eps0):
    with mpmath.workdps(80):
        big_e, lam = mpmath.exp(mpmath.mpf(eps0)), mpmath.mpf(order)
        p, slope = 1 / (big_e + 1), mpmath.mpf(1) / n * (big_e**2 - 1) / big_e
        total = mpmath.fsum(
            mpmath.binomial(k, m) * p**m * (1 - p) ** (k - m) * (1 + slope * (m - k * p)) ** lam
            for m in range(k + 1)
        )
        return mpmath.log(total) / (lam - 1)


@pytest.mark.parametrize("order", [1 + 1e-10, 1 + 1e-8, 1 + 1e-6, 1.0001, 1.01, 1.5, 2.5, 1e4])
def test_theorem_2_is_rounded_down_at_every_order(order):
    for (n, k), eps0 in itertools.product([(1, 1), (3, 3), (10, 3), (20, 20)], [1e-6, 0.1, 1.0, 5.0, 30.0]):
        value = rdp.girgis2021_lower(order, n=n, k=k, eps0=eps0)
        exact = exact_girgis2021_lower(order, n, k, eps0)
        assert value <= exact, (n, k, eps0)
        assert value >= exact * (1 - ROUNDING) or order < 1.0001, (n, k, eps0)


# --- hard case B3: monotone in eps0, rounds, delta, and n at fixed k

BASE = {"n": 1e6, "k": 1005, "eps0": 1.0, "rounds": 1e4, "delta": 1e-8}
KBAR_STEP = math.log(1004 / 136)  # at this eps0, kbar of k = 1005 steps from 69 to 68
SWEEPS = {
    "eps0": [0, 0.1, 1, KBAR_STEP - 1e-9, KBAR_STEP + 1e-9, 3],
    # the coarse part, and steps of one where the best order and the best split move with every round
    "rounds": [0, 1, 2, 3, 10, 99, 100, 101, 999, 1000, 1001, *np.geomspace(3e3, 1e6, 6).round()],
    "delta": [1e-12, 9e-9, 1e-8, 1e-5, 0.3],
    "n": [1005, 1006, 1e5, 1e12],
}
DIRECTIONS = {"eps0": 1, "rounds": 1, "delta": -1, "n": -1}


def assert_monotone(values, direction):
    values = np.asarray(values)
    steps = direction * np.diff(values)
    assert (steps >= -SEARCH * np.maximum(values[1:], values[:-1])).all()
    assert (steps > 0).any()


@pytest.mark.parametrize(("name", "argument"), of_accountants(SWEEPS, kept=("n",)))
@pytest.mark.few(22)
def test_hard_case_b3_accountants_are_monotone(name, argument):
    if argument == "rounds":  # they may come as one array
        values = accountants.epsilon(name, **{**BASE, "rounds": SWEEPS["rounds"]})
    else:
        values = [accountants.epsilon(name, **{**BASE, argument: value}) for value in SWEEPS[argument]]
    assert_monotone(values, DIRECTIONS[argument])


@pytest.mark.parametrize("closed", [approximate_dp.feldman2021, approximate_dp.balle2019])
def test_closed_forms_are_monotone(closed):
    eps0 = [0.0, 1e-6, 0.01, 0.5, 1.0, 2.0, 2.5, 3.0, 3.7, 3.72, 3.8, 4.0, 4.6, 4.7, 5.0, 10.0]
    assert_monotone([closed(n=1e4, eps0=value, delta=1e-6).eps for value in eps0], 1)
    assert_monotone([closed(n=1e5, eps0=1.0, delta=value).eps for value in SWEEPS["delta"]], -1)
    n = [1, 2, 10, 100, 500, 600, 700, 1000, 1e4, 1e6, 1e9, 1e12]
    assert_monotone([closed(n=value, eps0=1.0, delta=1e-6).eps for value in n], -1)


@pytest.mark.parametrize("order", [2, 3, 8, 64, 1000])
def test_theorem_1_is_monotone_in_eps0_and_n(order):
    by_eps0 = [rdp.girgis2021_upper(order, n=1e6, k=1005, eps0=value) for value in SWEEPS["eps0"]]
    assert_monotone(by_eps0, 1)
    by_n = [rdp.girgis2021_upper(order, n=value, k=1e3, eps0=1.0) for value in SWEEPS["n"]]
    assert_monotone(by_n, -1)


def test_hard_case_b3_theorem_1_drops_where_kbar_steps():
    # kbar = floor((k - 1) / (2 e^2)) + 1 steps from 68 to 69 between k = 1005 and 1006
    values = [rdp.girgis2021_upper(8, n=1e6, k=k, eps0=2.0) for k in (1004, 1005, 1006, 1007)]
    assert [math.floor((k - 1) / (2 * math.exp(2.0))) + 1 for k in (1004, 1005, 1006, 1007)] == [
        68,
        68,
        69,
        69,
    ]
    assert values == pytest.approx(
        [1.3518169e-06, 1.3545525e-06, 1.3373201e-06, 1.3400207e-06], rel=PRINTED, abs=0
    )
    assert values[0] < values[1] > values[2] < values[3]


@pytest.mark.parametrize("counts", [(1, 28), pytest.param((1, 2, 3, 28), marks=pytest.mark.slow)])
def test_rare_check_ins_are_monotone_in_rounds(counts):
    """Losses of 1e-12 in almost every round, and of 90 in few: no lattice is fine enough for both."""
    setting = {"n": 2, "rate": 1e-12, "sigma": 0.1, "delta": 1e-17}
    found = [accountants.epsilon("distributed-check-in-pld", **setting, rounds=t) for t in counts]
    # delta/(rounds * rate) of the Gaussian mechanism, 1e-5 for one round: 91.83
    assert found[0] > 91.8
    assert (np.diff(found) > 0).all()
    assert found[-1] < 99


@pytest.mark.parametrize(("delta", "exact"), [(1e-10, 43.6246), (1e-15, 51.5498), (1e-30, 69.1666)])
def test_hard_case_a1_is_met_from_below_too(delta, exact):
    """One client's randomised response, whose losses are lattice points: nothing is lost."""
    found = accountants.epsilon("rr2-lower", n=1, k=1, eps0=0.05, rounds=10**4, delta=delta)
    assert found == pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize(
    ("rounds", "delta", "says"),
    [
        (10, 1e-14, r"delta must be at least .*e-.* for a Fourier transform"),
        (10**9, 0.5, r"rounds must be fewer for a Fourier transform"),
    ],
)
def test_what_a_fourier_transform_cannot_tell_has_a_remedy(rounds, delta, says):
    with pytest.raises(ArithmeticError, match=says):
        accountants.epsilon("koskela2022-fourier", n=1000, k=1000, eps0=4.0, rounds=rounds, delta=delta)
