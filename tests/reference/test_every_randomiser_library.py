"""The library's pairs for every randomiser against tiny rounds in exact fractions and their formula."""

import math
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.profiles import approximate
from shuffledp.profiles.four_kinds import kinds_outcomes
from shuffledp.profiles.joint_clones import joint_clones

from . import blanket
from .test_every_randomiser import BASES, arguments, drawn, laws_of_round, leaky
from .tolerances import CLOSE

# Pairs that are composed split an outcome over two at most 1% apart. Of few reports the divergence is linear
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


@pytest.mark.parametrize("e", BASES)
def test_four_kinds_are_their_formula(e):
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
            assert max(above) < NEAR_A_KINK


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
