"""Privacy profiles, lattices and their composition, against enumeration, exact sums and dp_accounting."""

import math
from collections import defaultdict
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from scipy import special

from shuffledp import accountants, profiles
from shuffledp.approximate_dp import composition
from shuffledp.pld import (
    Composition,
    Lattice,
    Outcomes,
    connect_the_dots,
    dominating,
    merge_to_lattice,
)
from shuffledp.pld.outcomes import lattice_step
from shuffledp.profiles.clones import clones_pair
from shuffledp.profiles.krr import krr, krr_outcomes
from shuffledp.profiles.randomized_response import many_symbols_pair

from . import exact
from .exact import mp, number

EPS = (-1.5, -0.4, -0.05, 0.0, 0.03, 0.2, 0.5, 0.9, 1.3, 2.0, 3.5)

# Profiles are rounded outward by 2^-37 and by the rounding of their sums, which is relative to the tails of
# which the divergence is the difference.
PROFILE = 1e-10
# Where all numbers are floats: rounding of sums and of the losses, which are compared after exponentiation.
FLOATS = 1e-12


def alpha_of(eps):
    return mp.exp(number(eps))


def hockey_stick(p, q, eps):
    """Divergence of two laws (symbol -> mass) at one eps, where exact rational masses become 50 digits."""
    alpha = alpha_of(eps)
    return mp.fsum(max(number(mass) - alpha * number(q.get(key, 0)), 0) for key, mass in p.items())


def divergence_of(outcomes, eps):
    """Of arrays of masses and losses, in float64: a sum of positive terms."""
    return float(outcomes.mass @ np.maximum(-np.expm1(eps - outcomes.loss), 0.0))


def response_lattice(eps0):
    """Two-symbol randomised response, on a lattice of step eps0."""
    sign = np.array([-1.0, 1.0])
    return Lattice(eps0, sign, special.expit(sign * eps0))


# The clones pair where clones are rare, term by term


@pytest.mark.parametrize("analysis", ["feldman2022", "feldman2021"])
@pytest.mark.parametrize(
    ("n", "eps0", "eps"), [(10**6, 12.0, 11.9), (10**9, 20.0, 19.5), (10**12, 28.0, 27.9), (10**9, 20.0, 5.0)]
)
@pytest.mark.few(4)
def test_clones_at_a_large_eps0(n, eps0, eps, analysis):
    growth, alpha = mp.exp(mp.mpf(eps0)), mp.exp(mp.mpf(eps))
    share = 2 / (growth + 1) if analysis == "feldman2022" else 1 / growth
    tilt = (growth - 1) / (growth + 1)
    delta, weight = mp.mpf(0), (1 - share) ** (n - 1)
    for count in range(1, 121):  # of reports that hide: one more than clones, of whom there are under ten
        part = mp.mpf(0)
        for ones in range(count + 1):
            lean = tilt * mp.mpf(2 * ones - count) / count
            part += mp.binomial(count, ones) * max(1 + lean - alpha * (1 - lean), 0)
        delta += weight * part / mp.mpf(2) ** count
        weight *= share / (1 - share) * (n - count) / count
    setting = {"n": n, "eps0": eps0, "analysis": analysis}
    upper, lower = (profiles.clones(eps, **setting, bound=bound) for bound in ("upper", "lower"))
    assert lower <= delta <= upper
    assert upper - lower <= delta * PROFILE


def test_the_law_of_rare_reports_of_two_symbols_adds_up():
    for k, eps0 in ((10**12, 30.0), (10**9, 30.0), (10**6, 2.0), (10**9, 0.01)):
        pair = many_symbols_pair(n=k, k=k, eps0=eps0, categories=3)
        assert abs(math.fsum(pair.weights) - 1) < 1e-13


# The shuffle of concrete randomised responses, over all data sets


def response(ratio, symbols):
    """Randomised response; the probability of the true symbol is ``ratio`` times that of any other."""
    total = ratio + symbols - 1
    return tuple(
        tuple((ratio if symbol == own else Fraction(1)) / total for symbol in range(symbols))
        for own in range(symbols)
    )


RESPONSES = [
    (Fraction(21, 20), 2),
    (Fraction(2), 2),
    (Fraction(9), 2),
    (Fraction(3, 2), 3),
    (Fraction(3), 3),
    (Fraction(12), 3),
    (Fraction(10) ** 13, 2),
    (Fraction(10) ** 22, 3),
]
over_responses = pytest.mark.parametrize(("ratio", "symbols"), RESPONSES)


def eps0_above(ratio):
    return math.nextafter(math.log(ratio), math.inf)


def eps0_below(ratio):
    return math.nextafter(math.log(ratio), 0)


@cache
def worst_profile(ratio, symbols, n, k):
    """The largest divergence over all data sets of n and their neighbours, of k reports that are shuffled."""
    randomiser = response(ratio, symbols)
    worst = dict.fromkeys(EPS, mp.mpf(0))
    for one, other in exact.neighbours(randomiser, n):
        p, q = (exact.subsampled_law(tuple(sorted(data)), k) for data in (one, other))
        for eps in EPS:
            worst[eps] = max(worst[eps], hockey_stick(p, q, eps))
    return worst


@pytest.mark.parametrize(
    ("ratio", "symbols", "n"),
    [
        # with three symbols, the laws of all data sets of twelve take seconds
        pytest.param(ratio, symbols, n, marks=[pytest.mark.slow] if symbols == 3 and n == 12 else [])
        for n in (1, 2, 3, 5, 8, 12)
        for ratio, symbols in RESPONSES
    ],
)
@pytest.mark.few(14)
def test_profiles_enclose_the_worst_shuffle(ratio, symbols, n):
    worst = worst_profile(ratio, symbols, n, n)
    for analysis in ("feldman2022", "feldman2021"):
        upper = profiles.clones(EPS, n=n, eps0=eps0_above(ratio), analysis=analysis)
        for eps, found in zip(EPS, upper.tolist(), strict=True):
            assert worst[eps] <= found
    lower = profiles.randomized_response_lower(EPS, n=n, eps0=eps0_below(ratio), categories=symbols)
    for eps, found in zip(EPS, lower.tolist(), strict=True):
        assert found <= worst[eps]
    assert lower[EPS.index(0.0)] >= 0.7 * worst[0.0]


@pytest.mark.parametrize(("n", "k"), [(2, 1), (3, 2), (4, 3), (6, 2), (6, 5)])
@over_responses
@pytest.mark.few(14)
def test_profiles_enclose_the_worst_subsampled_shuffle(ratio, symbols, n, k):
    worst = worst_profile(ratio, symbols, n, k)
    upper = profiles.subsampled(lambda eps: profiles.clones(eps, n=k, eps0=eps0_above(ratio)), gamma=k / n)
    for eps, found in zip(EPS, upper(EPS).tolist(), strict=True):
        # gamma is a float next to k/n
        assert worst[eps] <= number(found) * (1 + number(FLOATS))
    lower = profiles.randomized_response_lower(EPS, n=n, k=k, eps0=eps0_below(ratio), categories=symbols)
    for eps, found in zip(EPS, lower.tolist(), strict=True):
        assert found <= worst[eps]


@pytest.mark.parametrize(("n", "k"), [(1, 1), (3, 3), (5, 2), (6, 4), (9, 9)])
@over_responses
def test_lower_profiles_are_those_of_their_data_sets(ratio, symbols, n, k):
    """All others hold 0, one changes from 0 to 1; or all others hold the third symbol."""
    randomiser = response(ratio, symbols)
    others = (randomiser[0 if symbols == 2 else 2],) * (n - 1)
    p, q = (exact.subsampled_law(tuple(sorted((*others, randomiser[own]))), k) for own in (0, 1))
    found = profiles.randomized_response_lower(EPS, n=n, k=k, eps0=eps0_below(ratio), categories=symbols)
    for eps, value in zip(EPS, found.tolist(), strict=True):
        expected = max(hockey_stick(p, q, eps), hockey_stick(q, p, eps))
        assert value <= expected
        # the divergence is a difference of tails, of the size of P(loss >= eps) each
        assert value >= expected * (1 - PROFILE) - mp.mpf(PROFILE) * (expected > 0) * mp.exp(-eps)


# The clones pair


def clones_law(n, eps0, analysis):
    """P and Q over (a, b), at 50 digits, from the definition of the pair."""
    e = mp.exp(number(eps0))
    twice_p = 2 / (e + 1) if analysis == "feldman2022" else 1 / e
    p, q = defaultdict(lambda: mp.mpf(0)), defaultdict(lambda: mp.mpf(0))
    for c in range(n):
        weight = mp.binomial(n - 1, c) * twice_p**c * (1 - twice_p) ** (n - 1 - c)
        for a in range(c + 1):
            mass = weight * mp.binomial(c, a) / 2**c
            for first, law, other in ((1, p, q), (0, q, p)):
                key = (a + first, c - a + 1 - first)
                law[key] += mass * e / (e + 1)
                other[key] += mass / (e + 1)
    return p, q


@pytest.mark.parametrize("analysis", ["feldman2022", "feldman2021"])
@pytest.mark.parametrize(("n", "eps0"), [(1, 0.7), (2, 3.0), (7, 0.05), (12, 1.0), (40, 2.5), (60, 6.0)])
def test_clones_is_the_divergence_of_its_pair(n, eps0, analysis):
    p, q = clones_law(n, eps0, analysis)
    setting = {"n": n, "eps0": eps0, "analysis": analysis}
    for eps in EPS:
        expected, alpha = hockey_stick(p, q, eps), alpha_of(eps)
        slack = mp.mpf(PROFILE) * mp.fsum(p[key] for key in p if p[key] > alpha * q[key])
        upper, lower = (profiles.clones(eps, bound=bound, **setting) for bound in ("upper", "lower"))
        assert max(expected - slack, 0) <= lower <= expected <= upper <= expected + slack
        assert abs(profiles.clones(eps, bound="exact", **setting) - expected) <= slack


@pytest.mark.parametrize(("n", "eps0"), [(300_000, 1.0), (10**6, 4.0)])
def test_merged_blocks_enclose_the_pair(n, eps0):
    middle = 4 * math.exp(eps0 / 2) / math.sqrt(n)
    eps = middle * np.array([-1.0, 0.0, 0.3, 1.0, 1.7])
    upper, lower, exactly = (
        profiles.clones(eps, n=n, eps0=eps0, bound=bound) for bound in ("upper", "lower", "exact")
    )
    assert (lower < exactly).all()
    assert (exactly < upper).all()
    assert upper == pytest.approx(lower, rel=0.01)


@pytest.mark.parametrize(("n", "k", "eps0"), [(5, 5, 1.0), (10, 3, 2.0), (200, 20, 0.5), (40, 30, 4.0)])
def test_the_dominating_pair_has_the_subsampled_profile(n, k, eps0):
    pair = clones_pair(n=k, eps0=eps0, analysis="feldman2022", bound="exact", relative_width=0.0)
    outcomes = dominating(pair, gamma=k / n)
    assert outcomes.mass.sum() == pytest.approx(1.0, rel=FLOATS)
    assert outcomes.mass @ np.exp(-outcomes.loss) == pytest.approx(1.0, rel=FLOATS)
    whole = {"n": k, "eps0": eps0, "bound": "exact"}
    profile = profiles.subsampled(lambda eps: profiles.clones(eps, **whole), gamma=k / n)
    for eps in EPS:
        assert divergence_of(outcomes, eps) == pytest.approx(profile(eps), rel=1e-9, abs=1e-14)


# Lattices


def drawn_outcomes(seed):
    """P and Q are permutations of one law, so that the masses of both add up to 1."""
    rng = np.random.default_rng(seed)
    mass = rng.dirichlet(np.full(rng.integers(3, 40), 10 ** rng.uniform(-0.5, 1)))
    return Outcomes(mass, np.log(mass) - np.log(np.roll(mass, 1)))


def clones_outcomes(n, eps0, gamma):
    pair = clones_pair(n=n, eps0=eps0, analysis="feldman2022", bound="exact", relative_width=0.0)
    return dominating(pair, gamma=gamma)


PAIRS = {
    **{f"drawn{seed}": drawn_outcomes(seed) for seed in range(6)},
    "clones": clones_outcomes(50, 2.0, 1.0),
    "clones-subsampled": clones_outcomes(300, 1.0, 0.01),
    "response": Outcomes(special.expit(np.array([0.5, -0.5])), np.array([0.5, -0.5])),
    "krr-weak": krr_outcomes(n=12, categories=3, gamma=0.4, adversary="weak"),
    "one-sided": Outcomes(np.array([0.25, 0.75]), np.log([0.25, 0.75]) - np.log([0.01, 0.99])),
}
STEPS = (0.003, 0.04, 0.25, 1.7)  # of the largest loss
over_pairs = pytest.mark.parametrize("name", PAIRS)
over_steps = pytest.mark.parametrize("relative_step", STEPS)


def many_eps(pair):
    largest = float(np.abs(pair.loss).max())
    return np.concatenate([np.linspace(-1.2, 1.2, 97) * largest, pair.loss[:: max(pair.loss.size // 50, 1)]])


@pytest.mark.parametrize("rounded", [connect_the_dots, merge_to_lattice])
@over_steps
@over_pairs
def test_rounding_preserves_both_masses(name, relative_step, rounded):
    pair = PAIRS[name]
    step = relative_step * float(np.abs(pair.loss).max())
    lattice = rounded(pair, step=step)
    assert lattice.mass.sum() == pytest.approx(pair.mass.sum(), rel=FLOATS)
    other = pair.mass @ np.exp(-pair.loss)
    if rounded is connect_the_dots:
        # on a very coarse lattice, the rounding of the split masses is weighed by e^step
        tolerance = FLOATS + 1e-15 * math.exp(step)
        assert lattice.mass @ np.exp(-lattice.loss) == pytest.approx(other, rel=tolerance)
    else:
        # what is left over at the end moves down by less than a step, which can only add to Q
        found = lattice.mass @ np.exp(-lattice.loss)
        assert other * (1 - FLOATS) <= found <= other * math.exp(step)
    assert (lattice.index == np.round(lattice.index)).all()
    assert (np.diff(lattice.index) > 0).all()
    assert lattice.infinite == pair.infinite
    # steps that nothing uses are left out, and the points are still multiples of the step that was asked for
    assert lattice.step / step == pytest.approx(round(lattice.step / step), abs=1e-9)


@over_steps
@over_pairs
def test_rounding_has_a_direction(name, relative_step):
    pair = PAIRS[name]
    step = relative_step * float(np.abs(pair.loss).max())
    above, below = connect_the_dots(pair, step=step), merge_to_lattice(pair, step=step)
    for eps in many_eps(pair):
        own = divergence_of(pair, eps)
        # a loss that equals eps contributes some 1e-16 or nothing
        assert divergence_of(above, eps) >= own * (1 - FLOATS) - 1e-15
        assert divergence_of(below, eps) <= own * (1 + FLOATS) + 1e-15


@over_pairs
def test_rounding_costs_little(name):
    """Expected losses rise, or fall, like the square of the step."""
    pair = PAIRS[name]
    largest = float(np.abs(pair.loss).max())
    mean = pair.mass @ pair.loss
    for step in (largest / 50, largest / 500):
        above, below = connect_the_dots(pair, step=step), merge_to_lattice(pair, step=step)
        assert -FLOATS * largest <= above.mass @ above.loss - mean <= step**2 / 8 * 1.01 + 1e-14
        assert below.mass @ below.loss <= mean + FLOATS * largest


# Composition


def product_law(phases):
    """Masses of the sums of all losses, by lattice index, at 50 digits."""
    law = {0: mp.mpf(1)}
    for lattice, rounds in phases:
        for _ in range(rounds):
            longer = defaultdict(lambda: mp.mpf(0))
            for index, mass in law.items():
                for more, probability in zip(lattice.index.tolist(), lattice.mass.tolist(), strict=True):
                    longer[index + int(more)] += mass * number(probability)
            law = longer
    return law


def delta_of_law(law, step, eps):
    return mp.fsum(
        mass * (1 - mp.exp(number(eps) - number(step) * index))
        for index, mass in law.items()
        if number(step) * index > number(eps)
    )


def small_lattice(seed, step, size=9):
    """The lattice of a drawn pair, a few points wide."""
    rng = np.random.default_rng(seed)
    mass = rng.dirichlet(np.full(size, 2.0))
    pair = Outcomes(mass, np.log(mass) - np.log(rng.permutation(mass)))
    index = np.round(pair.loss / np.abs(pair.loss).max() * 6)
    return connect_the_dots(Outcomes(mass, index * step), step=step)


# Hard ones: one point only above 0; rare large losses; tiny and huge steps.
RARE = Lattice(0.1, np.array([-1.0, 0.0, 9.0]), np.array([0.5 - 1e-7, 0.5, 1e-7]))
COMPOSITIONS = {
    "one": [(small_lattice(1, 0.2), 1)],
    "two": [(small_lattice(2, 0.05), 2)],
    "six": [(small_lattice(3, 0.31), 6)],
    "forty": [(small_lattice(4, 0.01, size=4), 40)],
    "fine": [(small_lattice(5, 1e-7), 5)],
    "coarse": [(small_lattice(6, 4.0), 3)],
    "response": [(response_lattice(0.7), 25)],
    "rare": [(RARE, 12)],
    "two-phases": [(small_lattice(7, 0.1), 3), (small_lattice(8, 0.1), 5)],
    "phases-of-all-kinds": [(small_lattice(9, 0.1), 2), (RARE, 9), (response_lattice(0.1), 30)],
}
FRACTIONS = (0.0, 0.0317, 0.1371, 0.4321, 0.7179, 0.9173)  # of the largest loss; between lattice points


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_the_error_budget_bounds_the_error(name):
    phases = COMPOSITIONS[name]
    step, law = phases[0][0].step, product_law(phases)
    assert all(lattice.step == step for lattice, _ in phases)
    for fraction in FRACTIONS:
        above, below = (Composition(phases, bound=bound) for bound in ("upper", "lower"))
        eps = fraction * above.largest
        expected = delta_of_law(law, step, eps)
        upper, budget = above.delta_with_errors(eps)
        either = number(budget.frequencies) + number(budget.rounding)
        assert expected <= upper <= expected + 2 * either + number(budget.folded)
        lower, budget_below = below.delta_with_errors(eps)
        assert budget_below == budget
        assert max(expected - 2 * number(budget.total), 0) <= lower <= expected
        # and the budget is small
        assert number(budget.total) <= expected * mp.mpf(1e-6)


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_epsilon_is_where_delta_is(name):
    phases = COMPOSITIONS[name]
    step, law = phases[0][0].step, product_law(phases)
    for delta in (0.3, 1e-2, 1e-5, 1e-9):
        upper = Composition(phases, bound="upper").epsilon(delta)
        lower = Composition(phases, bound="lower").epsilon(delta)
        assert delta_of_law(law, step, upper) <= delta
        assert lower == 0 or delta_of_law(law, step, lower) >= delta
        assert lower <= upper <= lower + 1e-6 * max(lower, step)


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_phases_does_not_count(order):
    phases = [(small_lattice(7, 0.1), 3), (small_lattice(8, 0.1), 5)]
    found = Composition(phases[::order], bound="upper").delta(0.77)
    assert found == pytest.approx(float(delta_of_law(product_law(phases), 0.1, 0.77)), rel=1e-8)


@over_pairs
def test_one_round_has_the_profile_of_its_lattice(name):
    pair = PAIRS[name]
    step = float(np.abs(pair.loss).max()) / 37.3
    above, below = connect_the_dots(pair, step=step), merge_to_lattice(pair, step=step)
    for eps in np.linspace(0.0, 0.9, 7) * above.loss.max():
        # the same contour serves all eps here
        expected, size = divergence_of(above, eps), above.mass[above.loss >= eps].sum()
        found = Composition([(above, 1)], bound="upper").delta(eps)
        assert found == pytest.approx(expected + pair.infinite, rel=1e-7, abs=1e-9 * size)
        assert Composition([(below, 1)], bound="lower").delta(eps) <= divergence_of(pair, eps) * (1 + FLOATS)
        assert found >= divergence_of(pair, eps) * (1 - FLOATS)


@pytest.mark.parametrize("name", ["drawn0", "drawn3", "clones", "krr-weak", "one-sided"])
def test_two_rounds_are_the_product_of_the_pairs(name):
    """Not of their lattices: rounding is on the safe side of it, and fine enough not to matter."""
    pair = PAIRS[name]
    loss = np.add.outer(pair.loss, pair.loss).ravel()
    twice = Outcomes(np.outer(pair.mass, pair.mass).ravel(), loss)
    step = float(np.abs(pair.loss).max()) / 2000
    for eps in np.linspace(0.0, 0.8, 5) * 2 * pair.loss.max():
        expected = divergence_of(twice, eps)
        above = Composition([(connect_the_dots(pair, step=step), 2)], bound="upper").delta(eps)
        below = Composition([(merge_to_lattice(pair, step=step), 2)], bound="lower").delta(eps)
        assert below <= expected * (1 + FLOATS)
        assert expected * (1 - FLOATS) <= above
        assert above <= below * 1.05 + 2 * pair.infinite + 1e-15


# Randomised response without shuffling: the composition is known


@pytest.mark.parametrize("delta", [1e-10, 1e-15, 1.1e-18, 1e-30, 1e-200])
def test_tiny_delta(delta):
    """Hard case A1, and beyond: between the exact epsilon and 1.01 of it."""
    expected = exact.composed_eps(0.05, 10**4, number(delta))
    phases = [(response_lattice(0.05), 10**4)]
    upper = Composition(phases, bound="upper").epsilon(delta)
    # the loss of one response is the lattice step, which is a float next to 0.05
    assert expected * (1 - mp.mpf(FLOATS)) <= upper <= expected * (1 + mp.mpf(1e-8))
    lower = Composition(phases, bound="lower").epsilon(delta)
    assert expected * (1 - mp.mpf(1e-8)) <= lower <= expected * (1 + mp.mpf(FLOATS))
    found = accountants.epsilon("clones-pld", n=1, k=1, eps0=0.05, rounds=10**4, delta=delta)
    assert expected * (1 - mp.mpf(FLOATS)) <= found <= expected * mp.mpf(1.01)


@pytest.mark.parametrize(
    ("eps0", "rounds"),
    [(1e-3, 10**6), (3e-3, 10**6), (1e-2, 10**5), (0.3, 300), (1.0, 40), (5.0, 4), (0.02, 1)],
)
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_many_rounds_agree_with_optimal_composition(eps0, rounds, delta):
    expected = composition.kairouz2015(
        eps=eps0, delta=0.0, rounds=rounds, total_delta=delta, method="optimal"
    )
    found = Composition([(response_lattice(eps0), rounds)], bound="upper").epsilon(delta)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
    lower = Composition([(response_lattice(eps0), rounds)], bound="lower").epsilon(delta)
    assert lower <= expected
    assert lower == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("eps0", "rounds"), [(0.3, 1), (0.6743988623865815, 4), (1.636500841751231, 3), (2.0, 2), (4.0, 6)]
)
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-8])
def test_few_rounds(eps0, rounds, delta):
    """Epsilon lies next to the largest loss, where delta falls to 0 within a step."""
    expected = exact.composed_eps(eps0, rounds, number(delta))
    phases = [(response_lattice(eps0), rounds)]
    upper, lower = (Composition(phases, bound=bound).epsilon(delta) for bound in ("upper", "lower"))
    assert expected * (1 - mp.mpf(FLOATS)) <= upper <= expected * (1 + mp.mpf(1e-6))
    assert expected * (1 - mp.mpf(1e-6)) <= lower <= expected * (1 + mp.mpf(FLOATS))


def test_pure_dp_at_delta_0():
    assert 2.0 <= Composition([(response_lattice(0.25), 8)], bound="upper").epsilon(0.0) <= 2.0 + 1e-14


@pytest.mark.parametrize(
    ("n", "k", "eps0", "rounds", "delta"),
    [(10**6, 10**3, 0.01, 10**5, 1e-8), (10**6, 10**3, 2.0, 10**6, 1e-12), (10**5, 10**4, 0.5, 10**6, 1e-12)],
)
def test_a_finer_lattice_never_raises_an_upper_bound(n, k, eps0, rounds, delta):
    """Even where the losses are tiny, so that a profile in terms of alpha near 1 would lose its digits."""
    pair = clones_pair(n=k, eps0=eps0, analysis="feldman2022", bound="upper", relative_width=2e-4)
    outcomes = dominating(pair, gamma=k / n)
    step = lattice_step(outcomes)
    found = []
    for share in (4, 2, 1, 0.5, 0.25, 0.125):
        composed = Composition([(connect_the_dots(outcomes, step=share * step), rounds)], bound="upper")
        found.append(composed.epsilon(delta))
        budget = composed.delta_with_errors(found[-1])[1]
        assert budget.total < 1e-7 * delta
    assert (np.diff(found) < 0).all()
    # the step that the accountants take leaves less than a thousandth
    assert found[2] < found[-1] * 1.001
    lower = Composition([(merge_to_lattice(outcomes, step=step), rounds)], bound="lower").epsilon(delta)
    assert found[-1] * 0.99 < lower < found[-1]


@pytest.mark.parametrize(
    ("n", "k", "eps0", "rounds", "delta"),
    [(10**4, 10**4, 4.0, 1, 1e-3), (10**4, 10**4, 4.0, 4, 1e-5), (10**5, 10**3, 3.0, 10, 1e-5)],
)
def test_the_fourier_accountant_agrees(n, k, eps0, rounds, delta):
    """The one rounds losses up to its grid, the other connects the dots on a coarser one."""
    setting = {"n": n, "k": k, "eps0": eps0, "rounds": rounds, "delta": delta}
    plain, tilted = (accountants.epsilon(name, **setting) for name in ("koskela2022-fourier", "clones-pld"))
    assert tilted * 0.999 < plain < tilted * 1.02


def test_the_fourier_accountant_says_where_it_ends():
    with pytest.raises(ArithmeticError, match=r"delta must be at least .*; got delta = 1e-30 "):
        accountants.epsilon("koskela2022-fourier", n=1e6, k=1e3, eps0=2.0, rounds=1000, delta=1e-30)


# dp_accounting


def peer(lattice, rounds):
    """The same lattice and number of rounds, composed by dp_accounting."""
    masses = dict(zip(lattice.index.astype(int).tolist(), lattice.mass.tolist(), strict=True))
    one = privacy_loss_distribution.PrivacyLossDistribution.create_from_rounded_probability(
        masses, lattice.infinite, lattice.step
    )
    return one.self_compose(rounds)


@pytest.mark.parametrize(
    ("name", "rounds"),
    [("clones", 1), ("clones", 30), ("clones-subsampled", 2000), ("krr-weak", 5), ("drawn1", 3)],
)
def test_dp_accounting_agrees_at_moderate_delta(name, rounds):
    pair = PAIRS[name]
    lattice = connect_the_dots(pair, step=float(np.abs(pair.loss).max()) / 150)
    ours = Composition([(lattice, rounds)], bound="upper").epsilon(1e-6)
    assert ours == pytest.approx(peer(lattice, rounds).get_epsilon_for_delta(1e-6), rel=1e-6)


def test_dp_accounting_agrees_on_connecting_the_dots():
    """Its randomised response, rounded to a lattice that does not hold the loss, by its own algorithm."""
    eps0, step, rounds = 0.21, 0.001 * math.pi, 200
    flip = 2 / (1 + math.exp(eps0))
    theirs = privacy_loss_distribution.from_randomized_response(
        flip, num_buckets=2, value_discretization_interval=step
    ).self_compose(rounds)
    signs = np.array([eps0, -eps0])
    lattice = connect_the_dots(Outcomes(special.expit(signs), signs), step=step)
    ours = Composition([(lattice, rounds)], bound="upper").epsilon(1e-6)
    best = composition.kairouz2015(eps=eps0, delta=0.0, rounds=rounds, total_delta=1e-6, method="optimal")
    assert best <= ours <= 1.001 * best
    # it rounds every loss of a discrete mechanism up, which costs up to a step a round
    assert ours <= theirs.get_epsilon_for_delta(1e-6) <= ours + rounds * step


@pytest.mark.parametrize("delta", [1e-15, 1.1e-18])
def test_where_float64_convolution_fails(delta):
    """dp_accounting composes without a tilt: deltas that rounding drowns are answered with far too large an
    epsilon, or none."""
    lattice = response_lattice(0.05)
    expected = exact.composed_eps(0.05, 10**4, number(delta))
    assert peer(lattice, 10**4).get_epsilon_for_delta(delta) > 1.5 * expected
    ours = Composition([(lattice, 10**4)], bound="upper").epsilon(delta)
    assert abs(ours - expected) <= mp.mpf(1e-8) * expected


# What a composition promises apart from numbers


def test_mass_at_infinity_is_not_forgotten_beyond_the_largest_loss():
    """Strong adversary, 20 clients: in 29% of the cases no other report carries the second symbol."""
    setting = {"n": 20, "categories": 4, "gamma": 0.25, "adversary": "strong"}
    composed = Composition([(connect_the_dots(krr_outcomes(**setting), step=0.01), 1)], bound="upper")
    for eps in (0.5, 2.0, 2.9, 2.96, 4.0):
        assert composed.delta(eps) >= krr(eps, **setting) * (1 - 1e-9)


def test_no_epsilon_has_less_delta_than_the_mass_at_infinity():
    pair = Outcomes(np.array([0.6, 0.3]), np.array([0.5, -0.5]), 0.1)
    composed = Composition([(connect_the_dots(pair, step=0.5), 1)], bound="upper")
    assert composed.epsilon(0.3) < 0.5
    assert composed.epsilon(0.05) == math.inf
    assert composed.epsilon(0.0) == math.inf


def test_lattices_of_different_steps_are_composed_or_refused():
    """Both were asked for with the step 0.1; the first comes back with 0.2, which holds all its points."""
    first, second = (
        connect_the_dots(Outcomes(special.expit(signs), signs), step=0.1)
        for signs in (np.array([0.2, -0.2]), np.array([0.3, -0.3]))
    )
    # in units of 0.1
    law = product_law(
        [(Lattice(0.1, np.round(one.loss / 0.1), one.mass), t) for one, t in ((first, 3), (second, 2))]
    )
    expected = delta_of_law(law, 0.1, 0.35)
    try:
        found = [
            Composition(phases, bound="upper").delta(0.35)
            for phases in ([(first, 3), (second, 2)], [(second, 2), (first, 3)])
        ]
    except ValueError as error:
        assert "step" in str(error)  # noqa: PT017 - to refuse is one of two right answers
    else:
        assert found == pytest.approx([float(expected)] * 2, rel=1e-8)


def test_the_largest_loss_is_not_rounded_down():
    """A sum of rounds times a float step may be rounded to below itself."""
    for step, rounds in ((0.1, 3), (0.7, 9), (1.1, 11), (0.013, 777)):
        composed = Composition([(response_lattice(step), rounds)], bound="upper")
        assert number(composed.largest) >= rounds * number(step)


@pytest.mark.parametrize("bound", ["upper", "lower"])
def test_an_answer_does_not_depend_on_earlier_questions(bound):
    phases = [(response_lattice(0.05), 10**4)]
    asked = Composition(phases, bound=bound)
    asked.delta(0.0)
    for eps in (30.0, 45.0, 58.0):
        fresh = Composition(phases, bound=bound).delta(eps)
        assert asked.delta(eps) == pytest.approx(fresh, rel=1e-3, abs=0)


@pytest.mark.parametrize(
    ("eps0", "rounds", "delta"), [(1e-5, 100, 1e-60), (1e-3, 50, 1e-300), (2.0, 3, 1e-30)]
)
def test_epsilon_next_to_its_largest_value(eps0, rounds, delta):
    phases = [(response_lattice(eps0), rounds)]
    lower, upper = (Composition(phases, bound=bound).epsilon(delta) for bound in ("lower", "upper"))
    expected = exact.composed_eps(eps0, rounds, number(delta))
    # delta is below what the errors leave of it, so that the lower bound may be loose
    assert expected * mp.mpf(0.95) <= lower <= expected * (1 + mp.mpf(FLOATS))
    assert expected * (1 - mp.mpf(FLOATS)) <= upper <= expected * (1 + mp.mpf(1e-6))


@pytest.mark.parametrize(("eps", "eps0"), [(34.0, 40.0), (37.0, 40.0), (39.0, 40.0), (60.0, 100.0)])
def test_clones_at_large_eps(eps, eps0):
    """One report, so (e^eps0 - e^eps)/(e^eps0 + 1) exactly; e^-eps is below the spacing of floats at 1."""
    e0 = alpha_of(eps0)
    expected = (e0 - alpha_of(eps)) / (e0 + 1)
    assert expected <= profiles.clones(eps, n=1, eps0=eps0)
    assert profiles.clones(eps, n=1, eps0=eps0, bound="lower") <= expected
    assert abs(profiles.clones(eps, n=1, eps0=eps0, bound="exact") - expected) <= mp.mpf(1e-6) * expected
