"""One to three rounds of few clients: epsilon is that of the outcomes themselves, on the side of the bound,
and nothing is lost to a lattice. The pairs are enumerated at 90 digits."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest

from shuffledp import accountants, numerics
from shuffledp.accountants import via_pld

from . import exact
from .exact import mp, number
from .test_accountant_ends import _of_three, _of_two
from .test_mechanism_ends import DIGITS, joint_laws, kinds_laws, sampled

NEAR = 1e-6  # relative, of what may be given away
SHARE, TV = 0.2, 0.3
SETTINGS = [(5, 5, 3.0), (12, 4, 6.0)]


def composed(p, q, rounds):
    """Outcomes of T rounds as (ratio, p, q), largest ratio first."""
    one = [(p[outcome] / q[outcome], p[outcome], q[outcome]) for outcome in p if p[outcome] > 0]
    found = []
    for several in itertools.combinations_with_replacement(range(len(one)), rounds):
        ways = math.factorial(rounds)
        for count in Counter(several).values():
            ways //= math.factorial(count)
        found.append(tuple(mp.fprod(one[place][part] for place in several) for part in range(3)))
        found[-1] = (found[-1][0], ways * found[-1][1], ways * found[-1][2])
    return sorted(found, reverse=True)


def epsilon(pairs, rounds, delta):
    return max(exact.smallest_eps(composed(p, q, rounds), number(delta)) for p, q in pairs)


def kinds(n, k, eps0, *, share, tv):
    """The four kinds of a share, a total variation or both."""
    e = mp.exp(number(eps0))
    if share is None:
        t = number(tv) / (e - 1)
        of = (t, t, mp.mpf(0), (1 - (e + 1) * t) / e)
    else:
        b = 1 / (1 + (e - 1) * number(share))
        t = (1 - b if tv is None else number(tv)) / (e - 1)
        d = (1 - b) / (e - 1) - t
        of = (t, t, b - d - 2 * t, d)
    return kinds_laws(n, k, eps0, (*of, 1 - mp.fsum(of)))


def mirrored(p, q):
    return [(p, q), (q, p)]


def truths(n, k, eps0):
    """Accountants, what they take besides, and the pairs that they stand for."""
    gamma = number(k) / n
    joint = joint_laws(k, n - k, eps0)
    found = [
        ("clones-joint-pld", {}, mirrored(*joint)),
        ("clones-pld", {}, sampled(*joint_laws(k, 0, eps0), gamma)),
    ]
    for name, known in (
        ("share-pld", {"share": SHARE}),
        ("tv-pld", {"tv": TV}),
        ("blanket-pld", {"share": SHARE, "tv": TV}),
    ):
        laws = kinds(n, k, eps0, share=known.get("share"), tv=known.get("tv"))
        found.append((name, known, mirrored(*laws)))
    return found


def check(name, given, pairs, rounds, delta, *, lower=False):
    truth = epsilon(pairs, rounds, delta)
    found = number(accountants.epsilon(name, **given, rounds=rounds, delta=delta))
    if lower:
        assert truth * (1 - number(NEAR)) <= found <= truth, (name, delta, found, truth)
    else:
        assert truth <= found <= truth * (1 + number(NEAR)), (name, delta, found, truth)


@pytest.mark.parametrize(("n", "k", "eps0"), SETTINGS)
@pytest.mark.parametrize("delta", [1e-2, 1e-9, 1e-25])
def test_one_round_for_every_randomiser(n, k, eps0, delta):
    with mp.workdps(DIGITS):
        for name, known, pairs in truths(n, k, eps0):
            check(name, {"n": n, "k": k, "eps0": eps0, **known}, pairs, 1, delta)


@pytest.mark.parametrize(("rounds", "k"), [(2, 4), (3, 3)])
@pytest.mark.parametrize("delta", [1e-2, 1e-9])
def test_some_rounds_for_every_randomiser(rounds, k, delta):
    with mp.workdps(DIGITS):
        for name, known, pairs in truths(6, k, 4.0):
            if "tv" not in known:
                check(name, {"n": 6, "k": k, "eps0": 4.0, **known}, pairs, rounds, delta)


@pytest.mark.parametrize(("name", "laws"), [("rr2-lower", _of_two), ("krr3-lower", _of_three)])
@pytest.mark.parametrize("rounds", [2, 3])
def test_some_rounds_of_a_mechanism(name, laws, rounds):
    n, k, eps0 = 9, 5, 3.0
    with mp.workdps(DIGITS):
        pairs = mirrored(*laws(k, number(k) / n, eps0))
        for delta in (1e-2, 1e-7):
            check(name, {"n": n, "k": k, "eps0": eps0}, pairs, rounds, delta, lower=True)


@pytest.mark.parametrize(("name", "side"), [("share-pld", 1), ("krr3-lower", -1)])
@pytest.mark.parametrize("rounds", [1, 2])
def test_few_rounds_are_rounded_to_their_side(name, side, rounds, monkeypatch):
    setting = {"n": 9, "k": 5, "eps0": 2.0, "rounds": rounds, "delta": 1e-3}
    setting |= {"share": SHARE} if side > 0 else {}
    before = accountants.epsilon(name, **setting)
    monkeypatch.setattr(numerics, "OUTWARD", 1e-5)
    assert side * (accountants.epsilon(name, **setting) - before) > 1e-8 * before


def test_few_rounds_of_many_outcomes_are_told_apart_too(monkeypatch):
    """Three rounds of 20 clients have too many outcomes to be listed in the usual way."""
    setting = {"n": 20, "k": 20, "eps0": 2.0, "rounds": 3, "delta": 1e-6}
    found = accountants.epsilon("krr3-lower", **setting)
    monkeypatch.setattr(via_pld, "_MOST_LISTED", 2**21)
    listed = accountants.epsilon("krr3-lower", **setting)
    assert found < listed < found * 1.002
