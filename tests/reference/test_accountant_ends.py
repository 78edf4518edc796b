"""Accountants where delta is next to 0 or next to the total variation, on systems so small that the worst of
two randomisers is known by enumeration, at 50 digits."""

from __future__ import annotations

import functools
import math

import pytest

from shuffledp import accountants, numerics

from . import checkin_laws, exact
from .exact import mp, number
from .test_mechanism_ends import gaussian_profile, krr_laws, response

TINY = (1e-300, 1e-200, 1e-17)
AROUND = (-1e-9, 0.0, 1e-12)  # of the total variation, relative
EPS0 = (1e-6, 3.0)
# at one delta only: they take long, and nothing that is special at the ends
SLOW = ("girgis2021ccs-wang2019", "girgis2021ccs-wang2019-loose", "liew2022-shuffling-conversion")


class Truth:
    """Epsilon of some pairs of laws, T rounds of them."""

    def __init__(self, pairs):
        self.parts = [_sums(p, q) for pair in pairs for p, q in (pair, pair[::-1])]
        self._composed = {}

    def composed(self, rounds):
        """Outcomes of T rounds, largest ratio first, in each direction."""
        if rounds in self._composed:
            return self._composed[rounds]
        found = []
        for part in self.parts:
            total = {mp.mpf(1): (mp.mpf(1), mp.mpf(1))}
            for _ in range(rounds):
                total = _merged(
                    (one * other, a * c, b * d)
                    for one, (a, b) in total.items()
                    for other, (c, d) in part.items()
                )
            found.append([(ratio, *total[ratio]) for ratio in sorted(total, reverse=True)])
        self._composed[rounds] = found
        return found

    def epsilon(self, rounds, delta):
        return max(exact.smallest_eps(outcomes, number(delta)) for outcomes in self.composed(rounds))

    def variation(self, rounds):
        return max(sum(p - q for ratio, p, q in one if ratio > 1) for one in self.composed(rounds))


def _merged(outcomes):
    """Outcomes together that differ in their ratio by rounding alone."""
    found = {}
    for ratio, p, q in outcomes:
        key = ratio if ratio in found else next((one for one in found if abs(one / ratio - 1) < 1e-40), ratio)
        before = found.get(key, (0, 0))
        found[key] = (before[0] + p, before[1] + q)
    return found


def _sums(p, q):
    return _merged((p[one] / q[one], p[one], q[one]) for one in p if p[one] > 0)


def deltas(truth, rounds):
    """Next to 0 and next to the total variation, of which some fall below the doubles."""
    around = [float(truth.variation(rounds) * (1 + number(part))) for part in AROUND]
    return sorted({one for one in (*TINY, *around) if 0 < one < 1})


def _quick(names):
    return [name for name in names if name not in SLOW]


def above(names, setting, truths, rounds):
    for place, delta in enumerate(deltas(truths[0], rounds)):
        least = max(truth.epsilon(rounds, delta) for truth in truths)
        for name in names if place == 3 and setting.get("eps0") == 3 else _quick(names):
            found = accountants.epsilon(name, **setting, rounds=rounds, delta=delta)
            assert number(found) >= least, (name, setting, rounds, delta, found, mp.nstr(least, 20))


def below(name, setting, truth, rounds):
    for delta in deltas(truth, rounds):
        found = accountants.epsilon(name, **setting, rounds=rounds, delta=delta)
        most = truth.epsilon(rounds, max(delta, 1e-300))
        assert number(found) <= most, (name, setting, rounds, delta, found, mp.nstr(most, 20))


@functools.cache
def rounds_of(eps0, symbols, n, k):
    """The worst data sets of randomised response: two symbols, all others 0; three, all on the third."""
    inputs = response(eps0, symbols)
    others = (inputs[-1] if symbols == 3 else inputs[0],) * (n - 1)
    return Truth([tuple(exact.subsampled_law(tuple(sorted((*others, inputs[own]))), k) for own in (0, 1))])


def uppers(protocol, mechanism="ldp"):
    names = accountants.names("upper", protocol=protocol, mechanism=mechanism)
    assert names
    return names


@pytest.mark.parametrize("eps0", EPS0)
@pytest.mark.parametrize(("n", "k", "rounds"), [(1, 1, 1), (1, 1, 3), (2, 1, 1), (3, 2, 2)])
@pytest.mark.few(3)
def test_rounds_of_some_clients(n, k, rounds, eps0):
    setting = {"n": n, "k": k, "eps0": eps0}
    two, three = (rounds_of(eps0, symbols, n, k) for symbols in (2, 3))
    above(uppers("subsampled-shuffle"), setting, [two, three], rounds)
    below("rr2-lower", setting, two, rounds)
    below("krr3-lower", setting, three, rounds)
    for mechanism, own in (("share", {"share": 0.5}), ("tv", {"tv": math.tanh(eps0 / 2)})):
        above(uppers("subsampled-shuffle", mechanism), {**setting, **own}, [two, three], rounds)


@pytest.mark.parametrize("eps0", EPS0)
@pytest.mark.parametrize(("n", "rounds"), [(1, 3), (3, 1)])
def test_rounds_of_all_clients(n, rounds, eps0):
    setting = {"n": n, "eps0": eps0}
    two, three = (rounds_of(eps0, symbols, n, n) for symbols in (2, 3))
    above(uppers("shuffle"), setting, [two, three], rounds)
    below("shuffle-rr2-lower", setting, two, rounds)
    below("shuffle-krr3-lower", setting, three, rounds)
    above(uppers("shuffle", "share"), {**setting, "share": 0.5}, [two, three], rounds)
    above(uppers("shuffle", "approximate-ldp"), {**setting, "delta0": 1e-9}, [two, three], rounds)


@functools.cache
def check_ins_of(eps0, symbols, n, rate):
    inputs = tuple(response(eps0, symbols))
    others = (symbols - 1 if symbols == 3 else 0,) * (n - 1)
    rate = number(rate)
    return Truth([tuple(checkin_laws.shuffled_check_in((*others, own), rate, inputs) for own in (0, 1))])


@pytest.mark.parametrize("eps0", EPS0)
@pytest.mark.parametrize(("n", "rate", "rounds"), [(1, 0.5, 3), (2, 1e-6, 1), (3, 0.9, 1)])
@pytest.mark.few(3)
def test_rounds_of_those_who_check_in(n, rate, rounds, eps0):
    setting = {"n": n, "rate": rate, "eps0": eps0}
    two, three = (check_ins_of(eps0, symbols, n, rate) for symbols in (2, 3))
    above(uppers("shuffled-check-in"), setting, [two, three], rounds)
    below("check-in-rr2-lower", setting, two, rounds)
    below("check-in-krr3-lower", setting, three, rounds)
    above(uppers("shuffled-check-in", "share"), {**setting, "share": 0.5}, [two, three], rounds)
    approximate = {**setting, "delta0": 1e-9}
    above(uppers("shuffled-check-in", "approximate-ldp"), approximate, [two, three], rounds)


@pytest.mark.parametrize("eps0", EPS0[:1])
def test_windows_of_one_slot_and_one_client(eps0):
    """The client's report itself, whose law is that of a round of one."""
    truth = [rounds_of(eps0, 2, 1, 1)]
    own = {
        "fixed-window": {"slots": 1, "participation": 1.0},
        "sliding-window": {"slots": 1},
        "averaged-window": {"n": 1, "slots": 1},
    }
    for protocol, setting in own.items():
        rounds = 2 if protocol == "fixed-window" else 1
        above(uppers(protocol), {**setting, "eps0": eps0}, truth, rounds)
        approximate = {**setting, "eps0": eps0, "delta0": 1e-9}
        above(uppers(protocol, "approximate-ldp"), approximate, truth, rounds)


@pytest.mark.parametrize("gamma", [1e-9, 0.3, 1 - 1e-9])
def test_shuffled_krr(gamma):
    """The weak adversary's laws, which every name of this system is above."""
    for n, categories, rounds in ((1, 3, 2), (3, 2, 1)):
        p, q = krr_laws(n, categories, gamma, "weak")
        setting = {"n": n, "categories": categories, "gamma": gamma}
        above(["krr-weak", "krr-strong"], setting, [Truth([(p, q)])], rounds)


@pytest.mark.parametrize("sigma", [0.2, 1.0, 100.0])
def test_one_gaussian_report(sigma):
    """Alone, or where a client checks in or does not and the number of reports is public."""
    mu = 1 / number(sigma)
    rate = 0.3
    variation = float(gaussian_profile(0, mu))
    for delta in (1e-300, 1e-200, 1e-80, 1e-17, variation * (1 - 1e-9), variation, variation * (1 + 1e-12)):
        given = {"sigma": sigma, "n": 1, "rounds": 1, "delta": delta}
        upper = accountants.epsilon("gaussian-unshuffled", **given)
        assert gaussian_profile(upper, mu) <= delta
        lower = accountants.epsilon("shuffled-gaussian-pair", **given)
        assert lower == 0 or gaussian_profile(lower, mu) >= delta
        for name in uppers("shuffled-check-in", "gaussian"):
            found = accountants.epsilon(name, **given, rate=rate)
            assert found == math.inf or number(rate) * gaussian_profile(found, mu) <= delta, (name, delta)


# --- one round: no lattice stands between a lower bound and the law of the reports


def _of_two(k, gamma, eps0):
    """Laws of the number of ones of k reports of clients who hold 0, and of k with one who holds 1."""
    p = 1 / (1 + mp.exp(number(eps0)))

    def law(trials):
        return [mp.binomial(trials, m) * p**m * (1 - p) ** (trials - m) for m in range(trials + 1)]

    same, rest = law(k), [*law(k - 1), mp.mpf(0)]
    other = [(1 - p) * (rest[m - 1] if m else 0) + p * rest[m] for m in range(k + 1)]
    return dict(enumerate(same)), {m: (1 - gamma) * same[m] + gamma * other[m] for m in range(k + 1)}


def _of_three(k, gamma, eps0):
    """Laws of the first two counts of k reports of clients who hold the third symbol, of whom one holds the
    first or the second instead."""
    e = mp.exp(number(eps0))
    p = 1 / (e + 2)

    def pmf(trials, a, b):
        rest = trials - a - b
        if min(a, b, rest) < 0:
            return mp.mpf(0)
        return mp.binomial(trials, a) * mp.binomial(trials - a, b) * p ** (a + b) * (e * p) ** rest

    first, second = {}, {}
    for a in range(k + 1):
        for b in range(k + 1 - a):
            others = (1 - gamma) * pmf(k, a, b)
            less = pmf(k - 1, a - 1, b), pmf(k - 1, a, b - 1), pmf(k - 1, a, b)
            first[a, b] = others + gamma * p * (e * less[0] + less[1] + less[2])
            second[a, b] = others + gamma * p * (less[0] + e * less[1] + less[2])
    return first, second


ONE_ROUND = [
    # with the values that the theory page quotes
    ("rr2-lower", _of_two, 100, 100, 2.0, 1.606),
    ("rr2-lower", _of_two, 100, 100, 3.0, 2.99987),
    ("rr2-lower", _of_two, 100, 30, 2.0, None),
    ("krr3-lower", _of_three, 100, 100, 2.0, 1.402),
    ("krr3-lower", _of_three, 100, 100, 3.0, 2.703),
    ("krr3-lower", _of_three, 60, 20, 2.0, None),
]


@pytest.mark.parametrize(("name", "laws", "n", "k", "eps0", "printed"), ONE_ROUND)
def test_one_round_of_randomised_response_is_the_law_of_its_reports(name, laws, n, k, eps0, printed):
    p, q = laws(k, number(k) / n, eps0)
    truth = exact.eps_between(p, q, number(1e-6))
    found = accountants.epsilon(name, n=n, k=k, eps0=eps0, rounds=1, delta=1e-6)
    assert truth * (1 - number(1e-9)) < number(found) <= truth
    if printed is not None:
        assert found == pytest.approx(printed, abs=6e-4)


def test_one_round_of_a_thousand():
    setting = {"n": 1000, "k": 1000, "eps0": 4.0, "rounds": 1, "delta": 1e-6}
    found = [accountants.epsilon(name, **setting) for name in ("krr3-lower", "rr2-lower", "clones-joint-pld")]
    assert found == pytest.approx([1.797, 1.691, 1.853], abs=6e-4)


@pytest.mark.parametrize(
    ("name", "laws", "n"), [("check-in-rr2-lower", _of_two, 60), ("check-in-krr3-lower", _of_three, 16)]
)
def test_one_round_of_those_who_check_in_is_the_law_of_its_reports(name, laws, n):
    rate, eps0, delta = 0.5, 2.0, 1e-4
    p, q = {0: mp.mpf(1) / 2**n}, {0: mp.mpf(1) / 2**n}
    for k in range(1, n + 1):
        weight = mp.binomial(n, k) / mp.mpf(2) ** n
        for whole, law in zip((p, q), laws(k, number(k) / n, eps0), strict=True):
            whole.update({(k, outcome): weight * mass for outcome, mass in law.items()})
    truth = exact.eps_between(p, q, number(delta))
    found = accountants.epsilon(name, n=n, rate=rate, eps0=eps0, rounds=1, delta=delta)
    # numbers of reports with a probability below 1e-10 on either side tell nothing
    assert truth * (1 - number(1e-5)) < number(found) <= truth


def test_one_round_is_rounded_down(monkeypatch):
    setting = {"n": 100, "k": 30, "eps0": 2.0, "rounds": 1, "delta": 1e-6}
    for name in ("rr2-lower", "krr3-lower"):
        before = accountants.epsilon(name, **setting)
        with monkeypatch.context() as patch:
            patch.setattr(numerics, "OUTWARD", 1e-5)
            assert accountants.epsilon(name, **setting) < before * (1 - 1e-7)
