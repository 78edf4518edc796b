"""Far from the papers' settings: results stay finite, warning-free (pytest turns warnings into errors), on
their side of what they bound, and monotone."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp import accountants

from ...extremes import CAP, SWEEPS, assert_monotone, pure_dp


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


def test_hard_case_a5_large_delta():
    epsilon = accountants.epsilon("girgis2021-upper", n=1e6, k=1e3, eps0=0.1, rounds=1, delta=0.5)
    assert epsilon == 0.0


@pytest.mark.parametrize("name", accountants.names())
def test_hard_case_b1_nothing_above_the_cap(name):
    epsilon = accountants.epsilon(name, n=1e6, k=1e3, eps0=1, rounds=1, delta=1e-8)
    assert epsilon <= 0.0017168 * (1 + 3e-5)  # half a unit of the last printed digit
    assert epsilon <= pure_dp(1e6, 1e3, 1) * (1 + CAP)


# --- hard case B3: monotone in eps0, rounds, delta, and n at fixed k

BASE = {"n": 1e6, "k": 1005, "eps0": 1.0, "rounds": 1e4, "delta": 1e-8}
DIRECTIONS = {"eps0": 1, "rounds": 1, "delta": -1, "n": -1}


@pytest.mark.parametrize(("name", "argument"), of_accountants(SWEEPS, kept=("n",)))
@pytest.mark.few(22)
def test_hard_case_b3_accountants_are_monotone(name, argument):
    if argument == "rounds":  # they may come as one array
        values = accountants.epsilon(name, **{**BASE, "rounds": SWEEPS["rounds"]})
    else:
        values = [accountants.epsilon(name, **{**BASE, argument: value}) for value in SWEEPS[argument]]
    assert_monotone(values, DIRECTIONS[argument])


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
