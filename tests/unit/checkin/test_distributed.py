"""Distributed check-in with Gaussian noise: moments and divergences by integration, patterns one by one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats

from shuffledp import accountants
from shuffledp.accountants import systems
from shuffledp.checkin import distributed, liew2022_distributed, liew2022_others

SMALL = {"n": 12, "rate": 0.3, "sigma": 0.9}
OF_THIS = {"protocol": "distributed-check-in", "mechanism": "gaussian"}
PAPER = {"n": 6 * 10**4, "rate": 1e-3, "sigma": 0.65}
DELTA = 1e-5


def laws(k, sigma):
    """The average without and with the client, given that k others take part."""
    if k == 0:
        return stats.norm(0, sigma), stats.norm(1, sigma)
    return stats.norm(0, sigma / math.sqrt(k)), stats.norm(1 / (k + 1), sigma / math.sqrt(k + 1))


def integral(function):
    return integrate.quad(function, -40, 40, limit=800, points=[-1, 0, 1])[0]


# --- moments of the two Gaussians


@pytest.mark.parametrize("k", [0, 1, 3, 20])
@pytest.mark.parametrize("order", [2, 3, 3.5])
def test_moments_of_the_two_averages(k, order):
    p, q = laws(k, 0.9)
    found = liew2022_distributed.gaussian_log_moment(order, k=k, sigma=0.9)
    by_hand = integral(lambda x: math.exp(order * q.logpdf(x) + (1 - order) * p.logpdf(x)))
    assert found == pytest.approx(math.log(by_hand), rel=1e-7)
    reverse = liew2022_distributed.gaussian_log_moment(order, k=k, sigma=0.9, direction="without")
    if 0 < k <= order - 1:
        assert reverse == math.inf
    else:
        by_hand = integral(lambda x: math.exp(order * p.logpdf(x) + (1 - order) * q.logpdf(x)))
        assert reverse == pytest.approx(math.log(by_hand), rel=1e-7)


def test_orthogonal_noise_counts_once_a_dimension():
    def at(dimension, sigma):
        return liew2022_distributed.gaussian_log_moment(6, k=4, sigma=sigma, dimension=dimension)

    assert at(10, 0.7) - at(1, 0.7) == pytest.approx(9 * at(1, 1e9))


def test_the_moments_need_not_fall_with_the_number_of_reports():
    """What Lemmas 4 and 5 take for granted fails at the paper's own sigma."""
    one, two = liew2022_distributed.gaussian_log_moment(30, k=[1, 2], sigma=0.65)
    assert two > one
    settled = liew2022_distributed.gaussian_log_moment(30, k=np.arange(6, 400), sigma=0.65)
    assert (np.diff(settled) < 0).all()


# --- Theorem 5


def divergences(order, n, rate, sigma):
    """Both Renyi divergences of the averages of scalars, whose number nobody tells."""
    weights = stats.binom.pmf(np.arange(n), n - 1, rate)
    pairs = [laws(k, sigma) for k in range(n)]

    def densities(x):
        without = sum(w * p.pdf(x) for w, (p, _) in zip(weights, pairs, strict=True))
        present = sum(w * q.pdf(x) for w, (_, q) in zip(weights, pairs, strict=True))
        return without, (1 - rate) * without + rate * present

    x = np.linspace(-16, 20, 40001)
    without, present = densities(x)
    step = x[1] - x[0]
    return [
        math.log(float(np.sum(np.exp(order * np.log(one) + (1 - order) * np.log(other)))) * step)
        / (order - 1)
        for one, other in ((present, without), (without, present))
    ]


@pytest.mark.parametrize("setting", [SMALL, {"n": 5, "rate": 0.05, "sigma": 0.7}])
@pytest.mark.parametrize("order", [2, 3, 8])
def test_theorem_5_is_above_the_divergences(order, setting):
    added, removed = divergences(order, **setting)
    found = liew2022_distributed.theorem_5(order, **setting)
    assert max(added, removed) <= found
    assert liew2022_distributed.theorem_5_by_lemma_4(order, **setting) >= found
    mean = math.ceil((setting["n"] - 1) * setting["rate"])
    for cut in (mean, mean + 2):
        by_lemma_5 = liew2022_distributed.theorem_5_by_lemma_5(order, **setting, cut=cut)
        assert by_lemma_5 >= found * (1 - 1e-9)


@pytest.mark.parametrize("order", [2, 5, 9])
def test_theorem_5_is_the_mixture_of_the_moments(order):
    n, rate, sigma = 3000, 0.02, 0.8
    k = np.arange(n)
    weights = stats.binom.pmf(k, n - 1, rate)
    total = 0.0
    for j in range(order + 1):
        binomial = math.comb(order, j) * rate**j * (1 - rate) ** (order - j)
        log_moments = liew2022_distributed.gaussian_log_moment(max(j, 1), k=k, sigma=sigma)
        total += binomial * float(weights @ np.exp(log_moments if j > 0 else 0 * log_moments))
    found = liew2022_distributed.theorem_5(order, n=n, rate=rate, sigma=sigma)
    removed = (1 - rate) ** (-order - 1)  # of the pairs' term, at most
    assert math.log(total) <= (order - 1) * found * (1 + 1e-9) <= removed * math.log(total)


def test_small_numbers_of_reports_are_bounded_from_above():
    """Below the common ones, ranges stand for numbers of reports: the sums stay close to those themselves."""
    k = np.arange(600.0)
    for order in (2, 12, 40):
        moments = liew2022_distributed.gaussian_log_moment(order, k=k, sigma=0.8)
        exact = stats.binom.logpmf(k, 10**4 - 1, 0.03) + moments + np.log(-np.expm1(-moments))
        found = liew2022_distributed._moments(liew2022_others.whole, 10**4 - 1, 0.03, 0.8, 1).upto(order)[-1]
        top = float(exact.max())
        summed = top + math.log(float(np.exp(exact - top).sum()))
        assert summed - 1e-9 <= found <= summed + 0.1 * abs(summed)
        assert order > 12 or found == pytest.approx(summed, rel=1e-6)


def printed_by_hand(order, n, rate, sigma, terms, first):
    """Lines 12 and 13; ``terms`` maps f to the sum over k or to what bounds it."""

    def moment(k, j):
        shape = math.sqrt((k + 1) ** j / ((k + j) * k ** (j - 1)))
        return shape * math.exp(-(j + 1) / (sigma**2 * (k + 1)))

    rest = 1 - rate
    total = rest ** (order - 1) * (order * rate - rate + 1)
    pairs = math.comb(order, 2) * rate**2 * rest ** (order - 2)
    total += pairs * terms(lambda k: moment(k, 2)) + pairs * rest ** (n - 1) * math.exp(1 / sigma**2)
    for j in range(3, order + 1):
        swapped = math.comb(order, j) * rate ** (order - j)
        total += 3 * swapped * rest ** (n + j - 1) * math.exp(j * (j - 1) / (2 * sigma**2))
    for j in range(first, order + 1):
        swapped = math.comb(order, j) * rate ** (order - j) * rest**j
        total += 3 * swapped * terms(lambda k, j=j: moment(k, j))
    return max(math.log(total), 0.0) / (order - 1)


@pytest.mark.parametrize("order", [2, 4, 7])
def test_theorem_5_as_printed(order):
    n, rate = SMALL["n"], SMALL["rate"]
    mean = (n - 1) * rate

    def summed(f, last=n - 1):
        return sum(stats.binom.pmf(k, n - 1, rate) * f(k) for k in range(1, last + 1))

    def lemma_4(f):
        return f(1) * math.exp(-0.25 * mean / 2) + f(0.5 * mean + 1)

    def lemma_5(f):
        slack = 7 / mean - 1
        return summed(f, 7) + f(8) * math.exp(-(slack**2) * mean / (2 + slack))

    module = liew2022_distributed
    for found, terms, first in (
        (module.theorem_5(order, **SMALL, as_printed=True), summed, 3),
        (module.theorem_5_by_lemma_4(order, **SMALL, as_printed=True), lemma_4, 2),
        (module.theorem_5_by_lemma_5(order, **SMALL, cut=7, as_printed=True), lemma_5, 3),
    ):
        assert found == pytest.approx(printed_by_hand(order, **SMALL, terms=terms, first=first), rel=1e-9)


def test_orders_beyond_those_evaluated():
    assert liew2022_distributed.theorem_5(2**13 + 1, **SMALL) == math.inf


def test_orders_beyond_those_that_a_long_list_of_reports_leaves_time_for(monkeypatch):
    orders, setting = np.array([2, 3, 50, 51, 1000]), {"n": 400, "rate": 0.25, "sigma": 3.0, "cut": 200}
    for as_printed in (False, True):
        whole = liew2022_distributed.theorem_5_by_lemma_5(orders, **setting, as_printed=as_printed)
        with monkeypatch.context() as patch:
            patch.setattr(liew2022_distributed, "_MOST_TERMS", 50 * (200 + 2))
            other = {**setting, "sigma": math.nextafter(3.0, 4.0)}  # nothing is remembered of it
            some = liew2022_distributed.theorem_5_by_lemma_5(orders, **other, as_printed=as_printed)
        assert np.isfinite(whole).all()
        np.testing.assert_allclose(some, [*whole[:3], math.inf, math.inf], rtol=1e-12)


def test_moments_do_not_depend_on_the_orders_that_were_asked_for_before():
    orders, setting = np.arange(2, 400), {"n": 500, "rate": 0.02, "sigma": 1.5}
    at_once = liew2022_distributed.theorem_5(orders, **setting)
    liew2022_distributed._moments.cache_clear()
    one_by_one = [liew2022_distributed.theorem_5(int(order), **setting) for order in (*orders[::-7], *orders)]
    np.testing.assert_allclose(one_by_one[-orders.size :], at_once, rtol=1e-14)


# --- losses with a public number of reports


def exact_delta(eps, n, rate, sigma, *, added):
    """The hockey-stick divergence, number by number of reports, by integration."""
    total = rate**n if added else 0.0
    for k in range(n):
        b, c = stats.binom.pmf(k, n - 1, rate), stats.binom.pmf(k - 1, n - 1, rate)
        shift = 1 / (math.sqrt(k) * sigma) if k else 0.0

        def excess(z, b=b, c=c, shift=shift):
            without = b * stats.norm.pdf(z)
            present = (1 - rate) * without + rate * c * stats.norm.pdf(z - shift)
            one, other = (present, without) if added else (without, present)
            return np.maximum(one - math.exp(eps) * other, 0.0)

        z = np.linspace(-9, 9 + shift, 20001)
        total += float(np.sum(excess(z))) * (z[1] - z[0])
    return total


def delta_of(outcomes, eps):
    return float(outcomes.mass @ np.maximum(-np.expm1(eps - outcomes.loss), 0.0)) + outcomes.infinite


@pytest.mark.parametrize("setting", [SMALL, {"n": 40, "rate": 0.1, "sigma": 0.3}])
@pytest.mark.parametrize("eps", [0.0, 0.05, 0.2, 1.0])
def test_losses_bracket_the_divergence(eps, setting):
    upper = distributed.check_in_losses(**setting)
    lower = distributed.check_in_losses(**setting, bound="lower")
    for direction in ("added", "removed"):
        exact = exact_delta(eps, **setting, added=direction == "added")
        above, below = (delta_of(getattr(pair, direction), eps) for pair in (upper, lower))
        assert below <= exact * (1 + 1e-4)
        assert exact * (1 - 1e-4) <= above
        assert above <= exact * 1.01 + 1e-5
        assert below >= exact * 0.99 - 1e-5 - SMALL["rate"] ** SMALL["n"]


@pytest.mark.parametrize("bound", ["upper", "lower"])
def test_losses_are_those_of_two_distributions(bound):
    pair = distributed.check_in_losses(**PAPER, bound=bound)
    for outcomes in pair:
        assert outcomes.mass.sum() + outcomes.infinite == pytest.approx(1, abs=1e-12)
        assert float(outcomes.mass @ np.exp(-outcomes.loss)) == pytest.approx(1, abs=1e-9)
    assert pair.removed.loss.max() <= -math.log1p(-PAPER["rate"]) * 1.05


def test_every_data_set_is_below_the_losses():
    """All patterns of three clients with records in [0, 1], with and without the last of them."""
    rate, sigma, records = 0.4, 0.6, (0.1, 0.8, 0.35)
    z = np.linspace(-8, 12, 8001)

    def law(clients):
        density = {k: np.zeros(z.size) for k in range(4)}
        for pattern in itertools.product((0, 1), repeat=len(clients)):
            k = sum(pattern)
            weight = math.prod(rate if one else 1 - rate for one in pattern)
            total = sum(record for record, one in zip(clients, pattern, strict=True) if one)
            # nobody: one cell holds it all
            cell = stats.norm.pdf(z, total, math.sqrt(k) * sigma) if k else (z == z[0]) / (z[1] - z[0])
            density[k] += weight * cell
        return np.concatenate(list(density.values()))

    present, without = law(records), law(records[:2])
    pair = distributed.check_in_losses(n=3, rate=rate, sigma=sigma)
    for eps in (0.0, 0.3, 1.0):
        for outcomes, one, other in ((pair.added, present, without), (pair.removed, without, present)):
            exact = float(np.maximum(one - math.exp(eps) * other, 0.0).sum()) * (z[1] - z[0])
            assert exact <= delta_of(outcomes, eps) * (1 + 1e-6)


# --- accountants


@pytest.mark.parametrize("name", accountants.names(**OF_THIS))
def test_every_accountant_is_monotone(name):
    setting = {"n": 500, "rate": 0.05, "sigma": 1.0}
    rounds = [0, 1, 10, 300]
    epsilon = accountants.epsilon(name, **setting, rounds=rounds, delta=DELTA)
    assert epsilon[0] == 0
    assert (np.diff(epsilon) >= 0).all()
    assert np.isfinite(epsilon).all()
    assert accountants.epsilon(name, **setting, rounds=0, delta=0) == 0
    assert accountants.epsilon(name, **setting, rounds=2, delta=0) == math.inf
    if "printed" not in name:
        for change in ({"sigma": 2.0}, {"n": 1000}):
            less = accountants.epsilon(name, **{**setting, **change}, rounds=300, delta=DELTA)
            assert less <= epsilon[-1] * (1 + 1e-6), change


def test_strong_composition_of_a_client_who_hardly_ever_takes_part():
    """A round's laws with and without a client are within its rate in total variation."""
    few = accountants.get("distributed-check-in-strong").details(
        n=10**6, rate=1e-12, sigma=1.0, rounds=1000, delta=1e-8
    )
    assert few["round_delta"] >= 1e-12
    assert few["epsilon"] == 0


def test_one_round_of_strong_composition_is_that_of_its_outcomes():
    setting, delta = {"n": 50, "rate": 0.2, "sigma": 2.0}, 1e-4
    found = accountants.get("distributed-check-in-strong").details(**setting, rounds=1, delta=delta)
    eps, spent = float(found["epsilon"]), float(found["round_delta"])
    for outcomes in distributed.check_in_losses(**setting, nats=60.0):
        terms = outcomes.mass * -np.expm1(np.minimum(eps - outcomes.loss, 0.0))
        assert math.fsum([*terms.tolist(), outcomes.infinite]) <= spent
    less = accountants.epsilon("distributed-check-in-pld", **setting, rounds=1, delta=spent)
    assert eps <= less * (1 + 1e-9)


def test_the_order_of_the_bounds():
    """Claim L3: Lemma 5 is tighter than Lemma 4, as printed and re-derived, and numbers beat both."""
    rounds = [100, 10**4, 10**6]
    found = {
        name: accountants.epsilon(name, **PAPER, rounds=rounds, delta=DELTA)
        for name in accountants.names(**OF_THIS)
    }
    lower, pld = found["distributed-check-in-lower"], found["distributed-check-in-pld"]
    assert (lower <= pld).all()
    assert (pld <= 1.002 * lower).all()
    assert (pld <= found["distributed-check-in-rdp"]).all()
    assert (found["distributed-check-in-rdp"] < found["distributed-check-in-strong"]).all()
    assert (found["liew2022-theorem5"] <= found["liew2022-lemma5"] * (1 + 1e-9)).all()
    assert (found["liew2022-lemma5"] < found["liew2022-lemma4"]).all()
    printed = [found[f"liew2022-lemma{lemma}-printed"] for lemma in (4, 5)]
    assert (printed[1] < printed[0]).all()
    assert (found["liew2022-lemma4"] < printed[1]).all()


def test_the_only_client_is_given_away_by_the_number_of_reports():
    setting = {"n": 1, "rate": 0.01, "sigma": 5.0, "rounds": 1}
    assert accountants.epsilon("distributed-check-in-pld", **setting, delta=0.009) == math.inf
    assert accountants.epsilon("distributed-check-in-pld", **setting, delta=0.011) < 0.1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"n": 0}, "n must be a whole number >= 1"),
        ({"rate": 1}, r"rate must lie in \(0, 1\)"),
        ({"sigma": 0}, "sigma must be a finite number > 0"),
        ({"sigma": math.nan}, "sigma must be a finite number > 0"),
    ],
)
def test_variables_out_of_range(change, says):
    setting = {**SMALL, **change, "rounds": 1, "delta": DELTA}
    with pytest.raises(ValueError, match=says):
        accountants.epsilon("distributed-check-in-pld", **setting)


def test_what_the_functions_refuse():
    module = liew2022_distributed
    for call, says in (
        (lambda: module.theorem_5(2.5, **SMALL), "order must hold whole numbers >= 2"),
        (lambda: module.theorem_5_by_lemma_4(2, **SMALL, slack=1.5), r"slack must lie in \[0, 1\]"),
        (
            lambda: module.theorem_5_by_lemma_5(2, **SMALL, cut=3),
            r"cut must be at least \(n - 1\) rate = 3.3",
        ),
        (lambda: module.theorem_5(2, **SMALL, dimension=0), "dimension must be a whole number >= 1"),
        (
            lambda: module.gaussian_log_moment(2, k=1, sigma=1, direction="up"),
            "direction must be one of with",
        ),
        (lambda: distributed.check_in_losses(**SMALL, bound="exact"), "bound must be one of upper, lower"),
    ):
        with pytest.raises(ValueError, match=says):
            call()


def test_it_is_not_accounted_for_by_the_bounds_of_other_protocols():
    target = {"rounds": 1, "delta": DELTA}
    with pytest.raises(ValueError, match="'check-in-pld' is for shuffled-check-in with ldp"):
        accountants.epsilon("check-in-pld", **SMALL, **target)
    with pytest.raises(ValueError, match="check-in-pld' is for distributed-check-in with gaussian"):
        accountants.epsilon("distributed-check-in-pld", n=12, rate=0.3, eps0=1.0, **target)
    assert systems.get("distributed-check-in", "gaussian").default == "distributed-check-in-pld"
