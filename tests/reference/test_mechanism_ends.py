"""The ends of the supports of concrete mechanisms, and of pairs for every randomiser: next to the largest
loss, next to 0 and below, profiles stay on their side of values at 50 digits and more."""

from __future__ import annotations

import functools
import itertools
import math
from collections import defaultdict

import numpy as np
import pytest

from shuffledp import profiles
from shuffledp.profiles import four_kinds
from shuffledp.profiles.gaussian import gaussian_delta
from shuffledp.profiles.joint_clones import joint_clones

from . import exact
from .exact import mp, number
from .test_profile_ends import next_to

DIGITS = 90  # of which next to the largest loss some cancel
EPS0 = (1e-12, 1e-5, 0.5, 12.0)


def hockey_stick(p, q, eps):
    """The divergence of two laws in one direction."""
    growth = mp.exp(number(eps))
    return mp.fsum(max(p[one] - growth * q.get(one, 0), mp.mpf(0)) for one in p)


def enclosed(profile, pairs, largest, *, bounds=("lower", "upper"), tail=0.0):
    """``profile(points, bound)`` is on its side of the largest divergence of some pairs, wherever it ends."""
    points = next_to(float(largest))
    found = {bound: np.asarray(profile(np.array(points), bound)).tolist() for bound in bounds}
    for place, eps in enumerate(points):
        truth = max(hockey_stick(p, q, eps) for p, q in pairs)
        if "lower" in found:
            assert found["lower"][place] <= truth, (eps, found["lower"][place], truth)
        if "upper" in found:
            assert truth <= found["upper"][place], (eps, found["upper"][place], truth)
            # nothing is given away where it could be told
            near = truth * (1 + number(1e-6)) + number(1e-14) * mp.mpf(largest) + number(tail)
            assert found["upper"][place] <= near, (eps, found["upper"][place], truth)


def response(eps0, symbols):
    """Randomised response, one distribution an input."""
    e = mp.exp(number(eps0))
    total = e + symbols - 1
    return [tuple((e if a == b else 1) / total for a in range(symbols)) for b in range(symbols)]


@functools.cache
def round_of_responses(eps0, symbols, n, k):
    """Laws of a round in which all others hold the last symbol (two: the first), for the own two inputs."""
    with mp.workdps(DIGITS):
        inputs = response(eps0, symbols)
        others = (inputs[0 if symbols == 2 else 2],) * (n - 1)
        return tuple(exact.subsampled_law(tuple(sorted((*others, inputs[own]))), k) for own in (0, 1))


@pytest.mark.parametrize("eps0", EPS0)
@pytest.mark.parametrize("symbols", [2, 3])
def test_responses_at_the_ends_of_their_support(symbols, eps0):
    for n, k in ((1, 1), (3, 2), (4, 4)):
        with mp.workdps(DIGITS):
            p, q = round_of_responses(eps0, symbols, n, k)
            largest = mp.log(max(max(p[one] / q[one], q[one] / p[one]) for one in p))

            def profile(points, bound, n=n, k=k):
                return profiles.randomized_response_lower(points, n=n, k=k, eps0=eps0, categories=symbols)

            enclosed(profile, [(p, q), (q, p)], largest, bounds=("lower",))


def multinomial(trials, p):
    """Law of the numbers of two symbols of probability p each."""
    law = {}
    for one in range(trials + 1):
        for two in range(trials + 1 - one):
            ways = mp.binomial(trials, one) * mp.binomial(trials - one, two)
            law[one, two] = ways * p ** (one + two) * (1 - 2 * p) ** (trials - one - two)
    return law


def krr_laws(n, categories, gamma, adversary):
    """What the adversary of koskela2022 has left after taking away the truthful answers of others."""
    laws = (defaultdict(mp.mpf), defaultdict(mp.mpf))
    gamma = number(gamma)
    if adversary == "strong":
        for (one, two), mass in multinomial(n - 1, gamma / categories).items():
            laws[0][one + 1, two] += mass
            laws[1][one, two + 1] += mass
        return laws
    for random in range(n):
        weight = mp.binomial(n - 1, random) * gamma**random * (1 - gamma) ** (n - 1 - random)
        for (one, two), mass in multinomial(random, mp.mpf(1) / categories).items():
            for law, own in zip(laws, (0, 1), strict=True):
                at = gamma / categories
                for symbol in (0, 1):
                    count = (one + (symbol == 0), two + (symbol == 1))
                    law[random, count] += weight * mass * (at + (1 - gamma) * (symbol == own))
                law[random, (one, two)] += weight * mass * gamma * (1 - mp.mpf(2) / categories)
    return laws


@pytest.mark.parametrize("adversary", ["strong", "weak"])
@pytest.mark.parametrize("gamma", [1e-9, 0.3, 1 - 1e-9])
def test_krr_at_the_ends_of_its_support(gamma, adversary):
    for n, categories in ((1, 3), (4, 2), (4, 5)):
        with mp.workdps(DIGITS):
            p, q = krr_laws(n, categories, gamma, adversary)
            finite = [p[one] / q[one] for one in p if q.get(one, 0) > 0]
            largest = mp.log(max(finite)) if finite else mp.mpf(1)
            # without a finite loss that is not 0, its end is anywhere
            largest = largest if largest > 0 else mp.mpf(1)

            def profile(points, bound, n=n, categories=categories):
                return profiles.krr(points, n=n, categories=categories, gamma=gamma, adversary=adversary)

            # 2e-11 of the probability of such a loss
            enclosed(profile, [(p, q)], largest, bounds=("upper",), tail=2e-11)


GAUSSIAN = (5e-324, 1e-200, 1e-15, 1e-3, 1.0, 30.0, 700.0, 1e6)


def gaussian_profile(eps, mu):
    """balle2018analytic, Theorem 8."""
    with mp.workdps(DIGITS):
        eps, mu = number(eps), number(mu)
        near, far = eps / mu - mu / 2, eps / mu + mu / 2
        return (mp.erfc(near / mp.sqrt(2)) - mp.exp(eps) * mp.erfc(far / mp.sqrt(2))) / 2


@pytest.mark.parametrize("noise", [1e-3, 0.2, 1.0, 30.0, 1e6])
def test_gaussian_from_no_loss_to_the_largest(noise):
    for eps in (0.0, *GAUSSIAN):
        found = gaussian_delta(eps=eps, noise=noise)
        assert gaussian_profile(eps, 1 / number(noise)) <= found
        assert found <= 1


@pytest.mark.parametrize("sigma", [0.1, 1.0, 1000.0])
def test_a_shuffle_of_one_gaussian_is_a_gaussian(sigma):
    """From where delta leaves the doubles to below 0."""
    most = 0.5 / sigma**2 + 40 / sigma
    points = [most, most / 2, most / 4, most / 30, most * 1e-9, 5e-324, 0.0, -5e-324, -most * 1e-9, -most / 4]
    lower, upper = (profiles.shuffled_gaussian(points, n=1, sigma=sigma, bound=b) for b in ("lower", "upper"))
    for eps, low, high in zip(points, lower.tolist(), upper.tolist(), strict=True):
        assert low <= gaussian_profile(eps, 1 / number(sigma)) <= high, eps


def shuffled_pair(eps, sigma):
    """The profile of two Gaussian reports of which one may be moved, the larger direction."""
    with mp.workdps(30):
        eps, sigma = number(eps), number(sigma)
        shift, growth = 1 / sigma, mp.exp(eps)

        def term(z):
            return mp.exp(shift * z - shift**2 / 2)

        def given(z, direction):
            """Over the second report, E(S/2 - growth)_+ or E(1 - growth S/2)_+ for S = term(z) + term."""
            density = mp.npdf(z)
            if direction == 0:
                strike = 2 * growth - term(z)
                if strike <= 0:
                    return density * (term(z) + 1 - 2 * growth) / 2
                at = (mp.log(strike) + shift**2 / 2) / shift
                return density * (mp.ncdf(shift - at) - strike * mp.ncdf(-at)) / 2
            strike = 2 / growth - term(z)
            if strike <= 0:
                return mp.mpf(0)
            at = (mp.log(strike) + shift**2 / 2) / shift
            return density * growth * (strike * mp.ncdf(at) - mp.ncdf(at - shift)) / 2

        # the strike is used up here, beyond which a call is linear and a put is worthless
        kinks = [(mp.log(2 * growth) / shift + shift / 2), (mp.log(2 / growth) / shift + shift / 2)]
        whole = []
        for direction, kink in enumerate(kinks):
            edges = sorted({*range(-14, 15, 2), *(kink + 0.1 * j for j in (-2, -1, 0, 1))})
            edges += [max(edges) + 14 + shift]
            whole.append(mp.quad(lambda z, d=direction: given(z, d), edges))
        return max(whole)


@pytest.mark.parametrize(("sigma", "points"), [(1.0, [9.0, 1.0, 0.0, -2.0]), (100.0, [0.03, 0.0, -1e-3])])
@pytest.mark.few(1)
def test_a_shuffle_of_two_gaussians_to_no_loss_and_below(sigma, points):
    lower, upper = (profiles.shuffled_gaussian(points, n=2, sigma=sigma, bound=b) for b in ("lower", "upper"))
    for eps, low, high in zip(points, lower.tolist(), upper.tolist(), strict=True):
        truth = shuffled_pair(eps, sigma)
        assert low <= truth <= high, (eps, low, truth, high)


def sampled(p, q, gamma):
    """Both directions of koskela2022, Lemma 7, for one of a pair that mirrors itself."""
    mixed_p = {one: gamma * p[one] + (1 - gamma) * q[one] for one in p}
    mixed_q = {one: gamma * q[one] + (1 - gamma) * p[one] for one in p}
    return [(mixed_p, q), (p, mixed_q)]


@pytest.mark.parametrize("eps0", EPS0)
@pytest.mark.parametrize("gamma", [1e-9, 0.3, 1.0])
def test_sampling_keeps_the_side_of_a_profile(gamma, eps0):
    for reports in (1, 3):
        with mp.workdps(DIGITS):
            p, q = joint_laws(reports, 0, eps0)
            largest = mp.log1p(number(gamma) * mp.expm1(number(eps0)))

            def profile(points, bound, reports=reports):
                own = functools.partial(profiles.clones, n=reports, eps0=eps0, bound=bound)
                return profiles.subsampled(own, gamma=gamma, bound=bound)(points)

            enclosed(profile, sampled(p, q, number(gamma)), largest)


@functools.cache
def joint_laws(k, absent, eps0):
    """Clones and sampling together: numbers of clones of either kind, for the two records."""
    e, absent = mp.exp(number(eps0)), mp.mpf(absent)
    clone = 2 / (e + 1)
    laws = ({}, {})
    for clones in range(k + 1):
        weight = mp.binomial(k, clones) * clone**clones * (1 - clone) ** (k - clones)
        for a in range(clones + 1):
            mass = weight * mp.binomial(clones, a) / mp.mpf(2) ** clones / (absent + k)
            laws[0][clones, a] = mass * (absent + e * a + clones - a)
            laws[1][clones, a] = mass * (absent + a + e * (clones - a))
    return laws


@pytest.mark.parametrize("eps0", EPS0)
@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 1), (4, 3), (4, 4), (10**9, 2)])
def test_clones_and_sampling_together_at_the_ends_of_their_support(n, k, eps0):
    with mp.workdps(DIGITS):
        p, q = joint_laws(k, n - k, eps0)
        # where all reports are clones of one record
        e = mp.exp(number(eps0))
        largest = mp.log((n - k + e * k) / n)

        def profile(points, bound):
            return joint_clones(points, n=n, k=k, eps0=eps0, bound=bound)

        enclosed(profile, [(p, q)], largest)


def kinds_laws(n, k, eps0, of):
    """Numbers of the four kinds of reports, by their probabilities, for the two records."""
    e = mp.exp(number(eps0))
    laws = (defaultdict(mp.mpf), defaultdict(mp.mpf))
    for counts in itertools.product(range(k + 1), repeat=4):
        rest = k - sum(counts)
        if rest < 0:
            continue
        mass, left = mp.mpf(1), k
        for count, p in zip((*counts, rest), of, strict=True):
            mass *= mp.binomial(left, count) * p**count
            left -= count
        one, two, plain, heavy = counts
        laws[0][counts] += mass * (n - k + e * one + two + plain + e * heavy) / n
        laws[1][counts] += mass * (n - k + one + e * two + plain + e * heavy) / n
    return laws


@pytest.mark.parametrize("eps0", EPS0)
@pytest.mark.parametrize("part", [0.1, 0.9])
@pytest.mark.parametrize("known", ["share", "tv", "both"])
def test_four_kinds_at_the_ends_of_their_support(known, part, eps0):
    with mp.workdps(DIGITS):
        e = mp.exp(number(eps0))
        share, tv = part / 2, part * math.tanh(eps0 / 2)
        if known == "tv":
            t = number(tv) / (e - 1)
            of = (t, t, mp.mpf(0), (1 - (e + 1) * t) / e)
            given = {"tv": tv}
        else:
            b = 1 / (1 + (e - 1) * number(share))
            tv = tv if known == "share" else 0.5 * float(1 - b)
            t = (1 - b if known == "share" else number(tv)) / (e - 1)
            d = (1 - b) / (e - 1) - t
            of = (t, t, b - d - 2 * t, d)
            given = {"share": share} if known == "share" else {"share": share, "tv": tv}
        of = (*of, 1 - mp.fsum(of))
        for n, k in ((1, 1), (5, 2)):
            p, q = kinds_laws(n, k, eps0, of)
            outcomes = four_kinds.kinds_outcomes(n=n, k=k, eps0=eps0, **given)
            points = next_to(float(mp.log((n - k + e * k) / n)))
            for eps in points:
                truth = hockey_stick(p, q, eps)
                # accountants allow for the rounding of losses and sums
                loss = outcomes.loss + 1e-14 * np.abs(outcomes.loss)
                found = float(outcomes.mass @ np.maximum(-np.expm1(eps - loss), 0.0)) * (1 + 1e-12)
                assert truth <= found + outcomes.infinite, (n, k, eps, truth, found)
