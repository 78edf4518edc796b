"""The library's pairs for every randomiser against tiny rounds in exact fractions and their formula."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from shuffledp.profiles import approximate, four_kinds
from shuffledp.profiles.four_kinds import kinds_outcomes
from shuffledp.profiles.joint_clones import joint_clones
from shuffledp.profiles.named_randomizers import named

from . import blanket, exact
from .test_every_randomiser import BASES, arguments, drawn, laws_of_round, leaky
from .tolerances import CLOSE

# Where outcomes are many, they are split over two at most 1% apart. Of few reports the divergence is linear
# between few kinks, and changes only where one is that near.
SAME = 1e-4
NEAR_A_KINK = 0.05


def eps0_of(e):
    """A float that is at least log(e)."""
    return math.nextafter(math.log(e), math.inf)


def divergence(outcomes, a):
    """Divergence at ``a`` of a pair given by its masses and losses."""
    finite = outcomes.mass * np.maximum(1 - float(a) * np.exp(-outcomes.loss), 0)
    return float(np.sum(finite)) + outcomes.infinite


def inner(e):
    """Arguments within the range of the losses of a round."""
    return [1 / e + (e - 1 / e) * Fraction(part, 24) for part in range(1, 24)]


@pytest.mark.parametrize("e", BASES)
def test_joint_clones_are_their_formula(e):
    for n, k in ((1, 1), (4, 4), (3, 2), (5, 1), (9, 6), (40, 6)):
        for a in inner(e):
            exact = blanket.bound(a, blanket.generic(e), k, Fraction(k, n))
            upper, lower, value = (
                joint_clones(math.log(a), n=n, k=k, eps0=eps0_of(e), bound=bound)
                for bound in ("upper", "lower", "exact")
            )
            assert upper >= exact * (1 - Fraction(1, 10**15)) - Fraction(1, 10**16)
            assert lower <= exact * (1 + Fraction(1, 10**12)) + Fraction(1, 10**15)
            assert value == pytest.approx(float(exact), rel=CLOSE, abs=1e-15)


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("e", BASES)
def test_four_kinds_are_their_formula(e, listed, monkeypatch):
    if not listed:
        monkeypatch.setattr(four_kinds.listed, "_LISTED", 0)
    most = (e - 1) / (e + 1)
    known = ((Fraction(1, 2), None), (Fraction(1, 3), None), (None, most / 2), (Fraction(1, 5), most / 5))
    for share, tv in known:
        given = {"share": share and float(share), "tv": tv and float(tv)}
        if share is None:
            table = blanket.from_distance(e, tv)
        else:
            table = blanket.from_both(e, 1 / (1 + (e - 1) * share), 1 if tv is None else tv)
        for n, k in ((4, 4), (9, 3)):
            outcomes = kinds_outcomes(n=n, k=k, eps0=eps0_of(e), **given)
            above = []
            for a in inner(e):
                exact = float(blanket.bound(a, table, k, Fraction(k, n)))
                value = divergence(outcomes, a)
                assert value >= exact * (1 - 1e-12) - 1e-15
                if exact > 1e-6:
                    above.append(value / exact - 1)
            assert np.median(above) < SAME
            assert max(above) < (CLOSE if listed else NEAR_A_KINK)


# Enumerated once by a program of its own that lists N, N0 and D: n, eps0, rate, delta, and epsilon.
FEW_AND_LARGE = [
    (5, 8, 0.1, 1e-3, 6.71518),
    (50, 8, 0.1, 1e-5, 4.82793),
    (50, 8, 0.1, 1e-8, 5.21178),
    (200, 8, 0.1, 1e-8, 3.93776),
    (2000, 10, 0.05, 1e-8, 3.55837),
]


@pytest.mark.parametrize(("n", "eps0", "rate", "delta", "value"), FEW_AND_LARGE)
def test_few_outcomes_are_listed_and_many_are_merged_upwards(n, eps0, rate, delta, value, monkeypatch):
    listed = kinds_outcomes(n=n, k=n, eps0=eps0, rate=rate)
    monkeypatch.setattr(four_kinds.listed, "_LISTED", 0)
    merged = kinds_outcomes(n=n, k=n, eps0=eps0, rate=rate)
    for eps in (value - 1e-4, value, value + 1e-4):
        assert divergence(listed, math.exp(eps)) <= divergence(merged, math.exp(eps)) * (1 + CLOSE)
    assert divergence(listed, math.exp(value - 1e-5)) > delta > divergence(listed, math.exp(value + 1e-5))


def test_a_rate_is_a_plain_kind_in_exact_fractions():
    e, rate = Fraction(3000), Fraction(1, 10)
    table = [(rate * mass, h0, h1) for mass, h0, h1 in blanket.generic(e)] + [(1 - rate, 1, 1)]
    for n in (1, 3, 6):
        outcomes = kinds_outcomes(n=n, k=n, eps0=eps0_of(e), rate=float(rate))
        for a in inner(e):
            exact = float(blanket.bound(a, tuple(table), n, Fraction(1)))
            assert exact * (1 - 1e-12) - 1e-15 <= divergence(outcomes, a) <= exact * (1 + CLOSE) + 1e-15


@pytest.mark.parametrize("seed", range(3))
def test_library_is_above_every_round(seed):
    rng = np.random.default_rng(200 + seed)
    for _ in range(10):
        e, inputs, n = BASES[rng.integers(len(BASES))], int(rng.integers(2, 5)), int(rng.integers(2, 5))
        randomiser = drawn(rng, e, inputs)
        b = sum(blanket.infimum(randomiser))
        tv = blanket.distance(*randomiser[:2])
        share = min((1 / b - 1) / (e - 1), Fraction(1, 2)) if b >= 2 / (e + 1) else Fraction(1, 2)
        eps0 = eps0_of(e) + 1e-12
        share, tv = min(float(share) * (1 + 1e-12), 0.5), min(float(tv) * (1 + 1e-12), math.tanh(eps0 / 2))
        known = [{}, {"share": share}]
        if tv > 0:
            known += [{"tv": tv}, {"share": share, "tv": tv}]
        k = int(rng.integers(1, n + 1))
        p, q = laws_of_round(randomiser, rng.integers(inputs, size=n - 1).tolist(), k)
        pairs = [kinds_outcomes(n=n, k=k, eps0=eps0, **given) for given in known]
        for a in arguments(rng, e, p, q):
            truth = float(blanket.hockey_stick(p, q, a))
            assert joint_clones(math.log(a), n=n, k=k, eps0=eps0_of(e)) >= truth * (1 - 1e-13) - 1e-15
            for pair in pairs:
                assert divergence(pair, a) >= truth * (1 - 1e-12) - 1e-15


def test_cost_of_a_small_failure_is_above_what_is_moved():
    rng = np.random.default_rng(210)
    for _ in range(15):
        e, n = BASES[rng.integers(len(BASES))], int(rng.integers(1, 4))
        randomiser = leaky(rng, e, 3)
        delta0 = blanket.failure(randomiser, e)
        p, q = laws_of_round(randomiser, rng.integers(3, size=n - 1).tolist(), n)
        told = approximate.moved(reports=n, eps0=math.log(e), delta0=float(delta0))
        assert told == pytest.approx(float(2 * n * delta0 / e), rel=CLOSE)
        for a in arguments(rng, e, p, q):
            pure = joint_clones(math.log(a), n=n, k=n, eps0=eps0_of(e))
            assert pure + (1 + float(a)) * told >= float(blanket.hockey_stick(p, q, a)) * (1 - 1e-13) - 1e-15


# --- a hash function that is public for the round


def public_hash(e, cells, n, records=3):
    """Laws of a round and of its hash function, of all on ``records`` records; the others hold the last."""
    functions = list(product(range(cells), repeat=records))
    laws = []
    for own in (0, 1):
        law = {}
        for function in functions:
            rows = [[e if y == cell else Fraction(1) for y in range(cells)] for cell in function]
            rows = [tuple(value / (e + cells - 1) for value in row) for row in rows]
            data = (*[rows[-1]] * (n - 1), rows[own])
            for outcome, mass in exact.shuffle_law(data).items():
                law[function, outcome] = mass / len(functions)
        laws.append(law)
    return laws


def test_a_public_hash_may_not_be_averaged_over():
    e, n = Fraction(2), 4
    p, q = public_hash(e, 2, n)
    b, apart = 2 / (e + 1), (e - 1) / (e + 1)
    mean, each = (blanket.from_both(e, b, tv) for tv in (apart / 2, apart))
    values = {Fraction(7, 4): (Fraction(1, 144), Fraction(1, 192))}
    values[Fraction(3, 2)] = (Fraction(11, 648), Fraction(1, 72))
    for a, (truth, wrong) in values.items():
        assert blanket.hockey_stick(p, q, a) == truth
        assert blanket.bound(a, mean, n, Fraction(1)) == wrong < truth
        assert blanket.bound(a, each, n, Fraction(1)) >= truth
    # of two clients it does not show
    p, q = public_hash(e, 2, 2)
    for a in inner(e):
        assert blanket.bound(a, mean, 2, Fraction(1)) >= blanket.hockey_stick(p, q, a)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_a_mean_over_public_hashes_is_off_by_a_factor_that_grows(k):
    e, collision = Fraction(2), Fraction(1, 2)
    a = e - Fraction(1, 1000)
    rows = [tuple(value / (e + 1) for value in row) for row in ((e, 1), (1, e))]
    p, q = (exact.shuffle_law((*[rows[0]] * (k - 1), own)) for own in rows)
    truth = (1 - collision) * blanket.hockey_stick(p, q, a)
    mean = blanket.from_both(e, 2 / (e + 1), (1 - collision) * (e - 1) / (e + 1))
    assert truth == blanket.bound(a, mean, k, Fraction(1)) * (e / (e - collision)) ** (k - 1)


@pytest.mark.parametrize(("cells", "n"), [(2, 4), (2, 5), (3, 4)])
def test_library_is_above_a_public_hash(cells, n):
    e = Fraction(2)
    eps0 = eps0_of(e)
    p, q = public_hash(e, cells, n)
    for name in ("public-hashing", "local-hashing"):
        found = named(name, eps0=eps0, cells=cells)
        pair = kinds_outcomes(n=n, k=n, eps0=eps0, share=found.share, tv=found.tv)
        for a in inner(e):
            truth = float(blanket.hockey_stick(p, q, a))
            assert divergence(pair, a) >= truth * (1 - 1e-12) - 1e-15
