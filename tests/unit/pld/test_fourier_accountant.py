"""The Fourier Accountant against direct products of the rounds, and against ``Composition``."""

import math
from collections import defaultdict
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy import special

from shuffledp.pld import Composition, Outcomes, connect_the_dots, dominating, merge_to_lattice
from shuffledp.pld.fourier_accountant import fourier_accountant, tail_probability
from shuffledp.profiles.clones import clones_pair

mp = mpmath.mp.clone()
mp.dps = 40


def response(eps0):
    """Two-symbol randomised response."""
    return Outcomes(special.expit(np.array([eps0, -eps0])), np.array([eps0, -eps0]))


def drawn(seed, size, largest, infinite=0.0):
    """Outcomes of a random pair: Q is P shuffled, so that its mass is that of P."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(size, 0.7)) + 1e-3
    weights /= weights.sum()
    loss = np.log(weights / np.roll(weights, 1))
    loss *= largest / np.abs(loss).max()
    return Outcomes(weights * (1 - infinite), loss, infinite)


def product_of(outcomes, rounds):
    """Losses (exact) and masses of all sums of ``rounds`` losses."""
    law = {mp.mpf(0): mp.mpf(1)}
    one = [(mp.mpf(loss), mp.mpf(mass)) for loss, mass in zip(outcomes.loss, outcomes.mass, strict=True)]
    for _ in range(rounds):
        longer = defaultdict(lambda: mp.mpf(0))
        for total, mass in law.items():
            for loss, more in one:
                longer[total + loss] += mass * more
        law = longer
    return law


def delta_of(law, eps):
    return mp.fsum(mass * max(1 - mp.exp(mp.mpf(eps) - loss), 0) for loss, mass in law.items())


def tail_of(law, eps):
    return mp.fsum(mass for loss, mass in law.items() if loss >= mp.mpf(eps))


def infinite_of(outcomes, rounds):
    return 1 - (1 - mp.mpf(outcomes.infinite)) ** rounds


GRID = {"points": 2**15, "limit": 16.0}
OUTCOMES = {
    "response": (response(0.5), (1, 2, 7, 20)),
    "strong-response": (response(2.0), (1, 2, 5)),
    "six": (drawn(1, 6, 1.3), (1, 2, 4)),
    "nine": (drawn(2, 9, 0.4), (1, 3)),
    "infinite": (drawn(3, 5, 0.8, infinite=1e-3), (1, 2, 4)),
}
CASES = [(name, rounds) for name, (_, counts) in OUTCOMES.items() for rounds in counts]
over_cases = pytest.mark.parametrize(("name", "rounds"), CASES)


@over_cases
def test_the_bounds_hold(name, rounds):
    outcomes = OUTCOMES[name][0]
    law, infinite = product_of(outcomes, rounds), infinite_of(outcomes, rounds)
    step = 2 * GRID["limit"] / GRID["points"]
    for eps in (-3.0, -0.4, 0.0, 0.3, 0.91, 2.2, 5.0):
        upper, over = fourier_accountant(outcomes, eps=eps, rounds=rounds, **GRID)
        lower, under = fourier_accountant(outcomes, eps=eps, rounds=rounds, bound="lower", **GRID)
        assert lower <= delta_of(law, eps)
        assert min(delta_of(law, eps) + infinite, 1) <= upper
        assert max(over, under) < 2e-10
        # each loss moves by less than a step
        assert upper <= delta_of(law, eps - rounds * step) + infinite + 2 * over
        assert lower >= delta_of(law, eps + rounds * step) - 2 * under


@over_cases
def test_the_tail_is_bounded(name, rounds):
    outcomes = OUTCOMES[name][0]
    law, infinite = product_of(outcomes, rounds), infinite_of(outcomes, rounds)
    step = 2 * GRID["limit"] / GRID["points"]
    attained = sorted(law)[:: max(len(law) // 5, 1)]
    for eps in (-3.0, -0.4, 0.0, 0.3, 0.91, 2.2, *map(float, attained)):
        found, error = tail_probability(outcomes, eps=eps, rounds=rounds, **GRID)
        assert min(tail_of(law, eps) + infinite, 1) <= found
        assert found <= tail_of(law, eps - (rounds + 1) * step) + infinite + 2 * error
        assert found >= fourier_accountant(outcomes, eps=eps, rounds=rounds, **GRID)[0] - 2 * error


@pytest.mark.parametrize("rounds", [1, 2, 9, 30])
def test_losses_on_the_grid_are_not_moved(rounds):
    law = product_of(response(0.5), rounds)
    for eps in (-2.0, 0.0, 0.25, 1.0, 3.1):
        for bound in ("upper", "lower"):
            found, error = fourier_accountant(response(0.5), eps=eps, rounds=rounds, bound=bound, **GRID)
            assert abs(found - delta_of(law, eps)) <= 2 * error


@pytest.mark.parametrize("limit", [0.3, 1.0, 2.5, 4.0])
def test_a_short_grid_is_paid_for_in_the_error(limit):
    """Losses of one round, or their sum, reach beyond the grid."""
    for name, (outcomes, counts) in OUTCOMES.items():
        rounds = counts[-1]
        law, infinite = product_of(outcomes, rounds), infinite_of(outcomes, rounds)
        for eps in (-0.2, 0.0, 0.2, 0.9 * limit):
            setting = {"eps": eps, "rounds": rounds, "points": 1024, "limit": limit}
            upper, _ = fourier_accountant(outcomes, **setting)
            lower, _ = fourier_accountant(outcomes, bound="lower", **setting)
            assert lower <= delta_of(law, eps), name
            assert min(delta_of(law, eps) + infinite, 1) <= upper, name
            assert min(tail_of(law, eps) + infinite, 1) <= tail_probability(outcomes, **setting)[0], name


def test_the_error_of_the_grid_falls_exponentially_with_its_length():
    errors = [
        fourier_accountant(response(1.0), eps=0.5, rounds=4, points=2**12, limit=limit)[1]
        for limit in (5.0, 6.0, 7.0, 8.0, 10.0, 12.0)
    ]
    # e^(-limit^2/2), against which the moments grow like e^(limit/2) a round
    ratios = [one / next_one for one, next_one in pairwise(errors)]
    assert 10 < ratios[0] < ratios[1] < ratios[2]
    # rounding alone is left, which depends on the number of points
    assert errors[5] == pytest.approx(errors[4], rel=0.1)
    assert errors[5] < 1e-11


def test_the_bounds_close_in_like_the_step():
    outcomes = OUTCOMES["six"][0]

    def gap(points):
        upper, lower = (
            fourier_accountant(outcomes, eps=0.4, rounds=8, points=points, limit=20.0, bound=bound)[0]
            for bound in ("upper", "lower")
        )
        return upper - lower

    assert gap(2**14) == pytest.approx(gap(2**12) / 4, rel=0.1)
    assert gap(2**18) == pytest.approx(gap(2**12) / 64, rel=0.1)


@pytest.mark.parametrize(("gamma", "rounds"), [(1.0, 3), (0.2, 40), (0.05, 500)])
def test_it_agrees_with_the_tilted_sum(gamma, rounds):
    pair = clones_pair(n=200, eps0=1.5, analysis="feldman2022", bound="exact", relative_width=0.0)
    outcomes = dominating(pair, gamma=gamma)
    step = float(np.abs(outcomes.loss).max()) / 400
    above = Composition([(connect_the_dots(outcomes, step=step), rounds)], bound="upper")
    below = Composition([(merge_to_lattice(outcomes, step=step), rounds)], bound="lower")
    for eps in (0.0, 0.5, 1.0):
        setting = {"eps": eps, "rounds": rounds, "points": 2**20, "limit": 12.0}
        upper, over = fourier_accountant(outcomes, **setting)
        lower, under = fourier_accountant(outcomes, bound="lower", **setting)
        assert lower <= above.delta(eps)
        assert below.delta(eps) <= upper
        # rounding moves the sum by half a step a round, and delta by up to some 20 times that
        shift = rounds * 24.0 / 2**20
        assert upper - lower <= 70 * shift * upper + 2 * (over + under)
        assert above.delta(eps) - below.delta(eps) <= 0.02 * above.delta(eps)


def test_figure_1_of_koskela2022():
    """General shuffled randomisers, n = 10^4 and eps0 = 4: delta at eps = 0.1 after 1, 2, 3 and 4 rounds."""
    pair = clones_pair(n=10**4, eps0=4.0, analysis="feldman2022", bound="exact", relative_width=0.0)
    outcomes = dominating(pair, gamma=1.0)
    for rounds, expected in enumerate((0.009209, 0.021775, 0.032883, 0.042790), start=1):
        setting = {"eps": 0.1, "rounds": rounds, "points": 2**18, "limit": 8.0}
        upper, _ = fourier_accountant(outcomes, **setting)
        lower, _ = fourier_accountant(outcomes, bound="lower", **setting)
        assert lower <= expected <= upper
        assert upper <= 1.002 * lower


def test_many_rounds_overflow_nothing():
    upper, error = fourier_accountant(response(1e-3), eps=1.0, rounds=10**6, points=2**16, limit=8.192)
    assert error < 1e-4
    # the losses lie on the grid, and their sum is normal, with mean 1/2 and variance 1
    assert upper == pytest.approx(special.ndtr(-0.5) - math.e * special.ndtr(-1.5), abs=2e-3)
    assert fourier_accountant(response(30.0), eps=1.0, rounds=10**4, points=64, limit=8.0)[0] == 1.0


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"eps": 16.0}, "eps"),
        ({"eps": -17.0}, "eps"),
        ({"eps": math.nan}, "eps"),
        ({"limit": 0.0}, "eps"),
        ({"limit": math.inf}, "limit"),
        ({"rounds": 0}, "rounds"),
        ({"rounds": 1.5}, "rounds"),
        ({"points": 7}, "points"),
        ({"points": 0}, "points"),
    ],
)
def test_arguments_are_checked(change, name):
    setting = {"eps": 0.1, "rounds": 2, **GRID} | change
    for function in (fourier_accountant, tail_probability):
        with pytest.raises(ValueError, match=f"^{name} must"):
            function(response(0.5), **setting)


def test_the_bound_is_checked():
    with pytest.raises(ValueError, match="bound must"):
        fourier_accountant(response(0.5), eps=0.1, rounds=2, bound="middle", **GRID)
