"""The bounds on the shuffled Gaussian hold together: over settings, directions, clients and rounding."""

import importlib
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.distributions.lognormal import LogNormal, convex, rounded_down, rounded_up
from shuffledp.distributions.lognormal_sums import LogNormalSum
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
BETWEEN = {(7, 1.0, "forward"), (100, 0.45, "reverse"), (10**4, 2.0, "forward"), (10**4, 0.3, "reverse")}
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
def test_extremes(n, sigma):
    for direction in ("forward", "reverse"):
        lower, upper = bracket([-1e4, -800.0, 800.0, 1e4], n=n, sigma=sigma, direction=direction)
        assert (lower[:2] >= 1 - 1e-12).all()
        assert (upper[2:] <= 1e-20).all()
        assert (lower[2:] == 0).all()


@pytest.mark.parametrize("n", [1, 2, 500])
@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
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


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_prices_do_not_depend_on_what_was_asked_before(seed):
    """A contour that serves another strike than its own gives a price within the bracket of a new one."""
    rng = np.random.default_rng(seed)
    n, sigma = int(rng.integers(2, 200)), float(rng.uniform(0.4, 4))
    used = LogNormalSum(n, sigma)
    for side, sign in (("call", 1), ("put", -1)):
        for loss in rng.exponential(1 / sigma, 12):
            strike = n * math.exp(sign * float(loss))
            fresh = LogNormalSum(n, sigma)
            assert used.price(side, strike, "lower") <= fresh.price(side, strike, "upper")
            assert used.price(side, strike, "upper") >= fresh.price(side, strike, "lower")
            assert used.price(side, strike, "upper") <= 1.002 * used.price(side, strike, "lower") + 1e-30 * n


@pytest.mark.parametrize("sigma", [0.3, 0.8, 2.0, 10.0])
@pytest.mark.parametrize("step", [0.003, 0.02, 0.3])
def test_one_term_is_rounded_in_convex_order(sigma, step):
    """Prices on the rounded terms lie on both sides of the exact ones, and masses and means are kept."""
    law = LogNormal(sigma)
    first, last = 8 * step, 800 * step
    index = np.arange(8, 801)
    exact_mass = law.below(last) - law.below(first)
    exact_mean = law.mean_below(last) - law.mean_below(first)
    above = rounded_up(law, index, step=step, anchor=0.0)
    below = rounded_down(law, index, start=first, step=step, anchor=0.0)
    for rounded in (above, below):
        assert rounded.mass.sum() == pytest.approx(exact_mass, abs=1e-14)
        assert rounded.mass @ (step * rounded.index) == pytest.approx(exact_mean, abs=1e-13)
        assert (rounded.mass > 0).all()
    for strike in np.linspace(first, last, 177).tolist():
        value = law.call(strike)[0] - law.call(last)[0] - (last - strike) * law.above(last)
        low, high = (
            float(rounded.mass @ np.maximum(step * rounded.index - strike, 0.0)) for rounded in (below, above)
        )
        assert low <= value + 1e-14
        assert high >= value - 1e-14


def test_a_law_in_one_cell_cannot_be_rounded_down():
    law = LogNormal(50.0)
    nothing = rounded_down(law, np.arange(0, 6), start=0.0, step=0.7, anchor=0.0)
    assert nothing.index.size == 0


def test_convex_minorant():
    """Against the lower hull of the points, edge by edge."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        points = np.sort(rng.uniform(0, 1, 40))
        values = (points - 0.5) ** 2 + 0.02 * rng.normal(size=40)
        slopes = np.diff(values) / np.diff(points)
        changes = np.diff(slopes, prepend=slopes.min() - 1, append=slopes.max() + 1)

        def share(before, left_out, after, points=points):
            return (points[left_out] - points[before]) / (points[after] - points[before])

        kept, mass = convex(changes, share)
        hull = []
        for i in range(points.size):
            while len(hull) > 1 and (values[hull[-1]] - values[hull[-2]]) * (
                points[i] - points[hull[-1]]
            ) >= (values[i] - values[hull[-1]]) * (points[hull[-1]] - points[hull[-2]]):
                hull.pop()
            hull.append(i)
        assert kept.tolist() == hull
        assert mass.sum() == pytest.approx(changes.sum())
        assert mass @ points[kept] == pytest.approx(changes @ points)


def test_no_convex_function_lies_below_a_concave_end():
    with pytest.raises(ArithmeticError, match="not convex"):
        convex(np.array([-1.0, 1.0, 1.0]), lambda before, left_out, after: 0.5 * np.ones(left_out.size))


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
