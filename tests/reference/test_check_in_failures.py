"""Check-ins of (eps0, delta0)-LDP reports against tiny ones, whose reports are listed one by one."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from shuffledp import accountants
from shuffledp.accountants.check_in import replaced
from shuffledp.profiles.approximate import moved, moved_check_in

RNG = np.random.default_rng(20)


def failing(laws, eps0):
    """The least delta0 with which the laws are (eps0, delta0)-LDP."""
    pairs = itertools.permutations(laws, 2)
    return max(float(np.maximum(p - math.exp(eps0) * q, 0).sum()) for p, q in pairs)


def round_of(own, others, rate):
    """The law of the shuffled reports of a check-in of a client and of others."""
    found = Counter()
    clients = [own, *others]
    for present in itertools.product((False, True), repeat=len(clients)):
        who = [law for law, here in zip(clients, present, strict=True) if here]
        chance = math.prod(rate if here else 1 - rate for here in present)
        for reports in itertools.product(*(range(law.size) for law in who)):
            value = math.prod(float(law[report]) for law, report in zip(who, reports, strict=True))
            found[tuple(sorted(reports))] += chance * value
    return found


def divergence(first, second, eps, rounds):
    keys = sorted(first.keys() | second.keys())
    p, q = (np.array([law[key] for key in keys]) for law in (first, second))
    many = [p, q]
    for _ in range(rounds - 1):
        many = [np.outer(all_before, one).ravel() for all_before, one in zip(many, (p, q), strict=True)]
    return max(float(np.maximum(x - math.exp(eps) * y, 0).sum()) for x, y in (many, many[::-1]))


def leaky(eps0, delta0):
    """Randomised response on three records, which tells the record with probability delta0."""
    told = np.eye(3) * delta0
    hidden = (np.ones((3, 3)) + (math.exp(eps0) - 1) * np.eye(3)) / (math.exp(eps0) + 2) * (1 - delta0)
    return np.hstack([hidden, told])


def drawn(eps0):
    """Laws on four symbols whose ratios exceed e^eps0 a little."""
    laws = np.exp(RNG.uniform(-eps0 / 2 - 0.02, eps0 / 2 + 0.02, (3, 4)))
    return laws / laws.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("rate", [0.05, 0.4, 0.9])
@pytest.mark.parametrize(
    ("eps0", "laws"),
    [
        (1.0, leaky(1.0, 1e-4)),
        (0.5, leaky(0.5, 1e-3)),
        (2.0, leaky(2.0, 1e-2)),
        # the third record lacks some of a report that the client may send
        (1.0, np.array([[0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.464, 0.463, 0.073]])),
        *((0.5, drawn(0.5)) for _ in range(4)),
    ],
)
def test_no_tiny_check_in_costs_more(eps0, laws, rate, rounds):
    delta0 = failing(laws, eps0)
    tv = float(np.abs(laws[0] - laws[1]).sum() / 2)
    finite = 0
    for others in ((2,), (2, 2), (0, 2)):
        first, second = (round_of(laws[own], [laws[other] for other in others], rate) for own in (0, 1))
        for eps in (0.01, 0.1, 0.4):
            delta = divergence(first, second, eps, rounds)
            if delta <= 0:
                continue
            setting = (1 + len(others), rate, eps0, delta0, np.array([float(rounds)]), delta)
            for known in (None, tv):
                found = float(replaced.columns(*setting, tv=known)["epsilon"][0])
                assert found >= eps * (1 - 1e-12)
                finite += math.isfinite(found)
    assert finite, "the bound says nothing of any of them"


def test_a_client_who_stays_away_counts_less():
    setting = {"n": 10**5, "rate": 1e-3, "eps0": 4.0, "delta0": 1e-11}
    taking_part, away = moved_check_in(**setting)
    every = moved(reports=100, eps0=4.0, delta0=1e-11)
    assert taking_part + away == pytest.approx(every, rel=0.01)
    # the distance of whole rounds would take three times delta
    rounds, delta = 1000, 2 * 1000 * every / 3
    found = accountants.epsilon("check-in-pld-approximate", **setting, rounds=rounds, delta=delta)
    pure = accountants.epsilon("check-in-joint-pld", n=10**5, rate=1e-3, eps0=4.0, rounds=rounds, delta=delta)
    assert pure <= found < 1.3 * pure


@pytest.mark.parametrize("eps0", [200.0, 800.0, 1e5])
@pytest.mark.parametrize(("rate", "delta0"), [(1e-300, 1e-300), (1.0, 1e-300), (0.5, 0.0), (0.0, 0.5)])
def test_no_distance_is_lost_in_a_product(rate, delta0, eps0):
    found = moved_check_in(n=10, rate=rate, eps0=eps0, delta0=delta0)
    assert all(value > 0 for value in found) == (delta0 > 0)
    assert all(value >= 0 for value in found)
