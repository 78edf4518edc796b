"""The bounds on the shuffled Gaussian hold together: over settings, directions, clients and rounding."""

import importlib
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.profiles import (
    shuffled_gaussian,
    shuffled_gaussian_epsilon,
    shuffled_gaussian_outcomes,
)

# How far upper and lower bounds may lie apart, relative to delta.
WIDTH = {1: 1e-8, 2: 1e-3, 7: 1e-3, 100: 1e-3, 10**4: 1e-3, 10**6: 3e-3}
SIGMAS = [0.3, 0.45, 0.7, 1.0, 2.0, 10.0, 1000.0]
DELTAS = [0.1, 1e-4, 1e-8, 1e-12]
CORNERS = {(n, sigma) for n in (1, 10**6) for sigma in (SIGMAS[0], SIGMAS[-1])}
# A few between the corners, in one direction each.
BETWEEN = {
    *((7, 1.0, "forward"), (100, 0.45, "reverse"), (10**4, 2.0, "forward"), (10**4, 0.3, "reverse")),
    (10**4, 1000.0, "reverse"),
}
GRID = [
    pytest.param(
        *case,
        marks=[] if case[:2] in CORNERS or case in BETWEEN else pytest.mark.slow,
        id="-".join(map(str, case)),
    )
    for case in itertools.product(WIDTH, SIGMAS, ("forward", "reverse"))
]


def bracket(eps, **setting):
    return tuple(np.asarray(shuffled_gaussian(eps, bound=bound, **setting)) for bound in ("lower", "upper"))


@pytest.mark.parametrize(("n", "sigma", "direction"), GRID)
@pytest.mark.few(6)
def test_the_bracket_is_narrow_down_to_small_delta(n, sigma, direction):
    guesses = [
        shuffled_gaussian_epsilon(delta, n=n, sigma=sigma, direction=direction)
        for delta in (DELTAS if n < 10**6 else DELTAS[1::2])
    ]
    lower, upper = bracket(guesses, n=n, sigma=sigma, direction=direction)
    assert (lower > 0).all()
    assert (lower <= upper).all()
    assert (upper <= lower * (1 + WIDTH[n])).all()


anywhere = given(
    n=st.integers(1, 3000),
    log_sigma=st.floats(math.log(0.1), math.log(1000)),
    scaled=st.floats(-12, 12),
    direction=st.sampled_from(["forward", "reverse"]),
)


@settings(max_examples=15, deadline=None)
@anywhere
def test_the_bounds_hold_together_anywhere(n, log_sigma, scaled, direction):
    assert_bounds_hold_together(n, log_sigma, scaled, direction)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@anywhere
def test_the_bounds_hold_together_at_more_draws(n, log_sigma, scaled, direction):
    assert_bounds_hold_together(n, log_sigma, scaled, direction)


def assert_bounds_hold_together(n, log_sigma, scaled, direction):
    sigma = min(max(math.exp(log_sigma), 0.1), 1000.0)
    eps = scaled / sigma
    lower, upper = bracket(eps, n=n, sigma=sigma, direction=direction)
    # one direction tells the other: H(P||Q) at eps, from H(Q||P) at -eps
    other_lower, other_upper = bracket(
        -eps, n=n, sigma=sigma, direction="forward" if direction == "reverse" else "reverse"
    )
    slack = 1e-12 * (1 + math.exp(eps))
    assert 0 <= lower <= upper <= 1
    assert lower <= 1 - math.exp(eps) + math.exp(eps) * other_upper + slack
    assert upper >= 1 - math.exp(eps) + math.exp(eps) * other_lower - slack
    # without any shuffling it is larger
    assert lower <= shuffled_gaussian(eps, n=1, sigma=sigma, direction=direction)


@pytest.mark.parametrize(
    ("sigma", "direction"),
    [
        (0.5, "forward"),
        (1.0, "reverse"),
        (3.0, "reverse"),
        *(
            pytest.param(sigma, direction, marks=pytest.mark.slow)
            for sigma, direction in ((0.5, "reverse"), (1.0, "forward"), (3.0, "forward"))
        ),
    ],
)
@pytest.mark.few(2)
def test_more_clients_never_cost_more(sigma, direction):
    targets = np.array([0.0, 0.02, 0.3, 1.0, 2.0])
    former = np.ones(targets.shape)
    for n in (1, 2, 3, 5, 8, 20, 100, 1000, 30000):
        lower, upper = bracket(targets, n=n, sigma=sigma, direction=direction)
        assert (lower <= former).all()
        # and the bounds are narrow enough to show it, where they follow delta
        followed = former > 1e-80
        assert (upper[followed] < former[followed]).all()
        former = upper


def test_delta_does_not_grow_with_eps():
    targets = np.linspace(-1.0, 4.0, 101)
    for direction in ("forward", "reverse", "both"):
        lower, upper = bracket(targets, n=40, sigma=1.0, direction=direction)
        assert (lower[1:] <= upper[:-1]).all()


def test_both_is_the_larger():
    targets = [0.0, 0.4, 1.5]
    forward, reverse, both = (
        shuffled_gaussian(targets, n=9, sigma=1.3, direction=direction)
        for direction in ("forward", "reverse", "both")
    )
    assert both == pytest.approx(np.maximum(forward, reverse), rel=1e-3)
    assert isinstance(shuffled_gaussian(0.4, n=9, sigma=1.3), float)
    assert shuffled_gaussian(np.full((2, 3), 0.4), n=9, sigma=1.3).shape == (2, 3)


@pytest.mark.parametrize("n", [1, 2, 1000])
@pytest.mark.parametrize("sigma", [0.1, 2.0, 1000.0])
@pytest.mark.few(5)
def test_extremes(n, sigma):
    for direction in ("forward", "reverse"):
        lower, upper = bracket([-1e4, -800.0, 800.0, 1e4], n=n, sigma=sigma, direction=direction)
        assert (lower[:2] >= 1 - 1e-12).all()
        assert (upper[2:] <= 1e-20).all()
        assert (lower[2:] == 0).all()


@pytest.mark.parametrize("n", [1, 2, 500])
@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
@pytest.mark.few(4)
def test_epsilon_inverts_the_profile(n, direction):
    setting = {"n": n, "sigma": 1.5, "direction": direction}
    for delta in (0.05, 1e-5, 1e-12, 1e-40):
        lower, upper = (
            shuffled_gaussian_epsilon(delta, bound=bound, **setting) for bound in ("lower", "upper")
        )
        assert 0 <= lower <= upper <= lower * (1 + 1e-4)
        if upper > 0:
            assert bracket(upper, **setting)[0] <= delta
            assert bracket(lower, **setting)[1] >= delta


def test_epsilon_at_the_ends():
    assert shuffled_gaussian_epsilon(0.9, n=3, sigma=1.0) == 0.0
    far = shuffled_gaussian_epsilon(1e-300, n=3, sigma=1.0)
    assert shuffled_gaussian_epsilon(1e-80, n=3, sigma=1.0) < far < 50
    assert shuffled_gaussian_epsilon(1e-300, n=3, sigma=1.0, bound="lower") == 0.0


GOOD = {"n": 7, "sigma": 2.0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 0}, "n must be a whole number >= 1, got 0"),
        ({"n": 2.5}, "n must be a whole number >= 1, got 2.5"),
        ({"n": "7"}, "n must be a single real number, got '7'"),
        ({"sigma": 0.0}, "sigma must be a finite number > 0, got 0.0"),
        ({"sigma": math.inf}, "sigma must be a finite number > 0, got inf"),
        ({"sigma": 0.05}, r"sigma must lie in \[0.1, 1000\], outside of which .* is not computed, got 0.05"),
        ({"sigma": 1001}, r"sigma must lie in \[0.1, 1000\], outside of which .* is not computed, got 1001"),
        ({"sigma": [1.0]}, r"sigma must be a single real number, got \[1.0\]"),
        ({"direction": "forwards"}, "direction must be one of forward, reverse.*, got 'forwards'"),
        ({"bound": "exact"}, "bound must be one of upper, lower, got 'exact'"),
    ],
)
def test_arguments_are_checked(change, message):
    calls = {
        shuffled_gaussian: {"eps": 0.1},
        shuffled_gaussian_epsilon: {"delta": 1e-6},
        shuffled_gaussian_outcomes: {},
    }
    for function, more in calls.items():
        with pytest.raises(ValueError, match=f"^{message}"):
            function(**{**more, **GOOD, **change})


@pytest.mark.parametrize("eps", [math.nan, math.inf, [0.1, -math.inf], "a", None])
def test_eps_is_checked(eps):
    with pytest.raises(ValueError, match=r"^eps must"):
        shuffled_gaussian(eps, **GOOD)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-9, 2.0, math.nan, [1e-6]])
def test_delta_is_checked(delta):
    with pytest.raises(ValueError, match=r"^delta must"):
        shuffled_gaussian_epsilon(delta, **GOOD)


def test_outcomes_have_one_direction():
    with pytest.raises(ValueError, match=r"^direction must be one of forward, reverse, got 'both'"):
        shuffled_gaussian_outcomes(**GOOD, direction="both")


def test_more_work_than_seconds_is_refused_by_name(monkeypatch):
    with pytest.raises(ValueError, match=r"n must be at most 1e\+09 for rounds to be composed, since"):
        shuffled_gaussian_outcomes(n=10**12, sigma=10.0)
    module = importlib.import_module("shuffledp.profiles.shuffled_gaussian")
    monkeypatch.setattr(module, "_MOST_WORK", 1e5)
    with pytest.raises(ValueError, match=r"sigma must be larger, or n smaller, .* got 0\.7"):
        shuffled_gaussian_outcomes(n=77, sigma=0.7)
