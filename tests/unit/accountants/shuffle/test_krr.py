"""k-ary randomised responses: their divergence of one round, composed, and what a bound keeps to."""

from __future__ import annotations

import math

import pytest

from shuffledp import accountants, profiles

KRR = {"n": 300, "categories": 4, "gamma": 0.25}
SUBSAMPLED_SHUFFLE = {"n": 300, "k": 300, "eps0": math.log(13)}
TARGET = {"rounds": 4, "delta": 1e-6}


def of_krr():
    return accountants.names(protocol="shuffle", mechanism="krr")


@pytest.mark.parametrize("name", of_krr())
def test_krr_is_within_its_pure_dp_and_monotone(name):
    rounds = [0, 1, 2, 5, 20]
    epsilon = accountants.epsilon(name, **KRR, rounds=rounds, delta=1e-6)
    assert epsilon[0] == 0
    assert (epsilon[1:] > epsilon[:-1]).all()
    pure = accountants.epsilon(name, **KRR, rounds=rounds, delta=0)
    assert pure == pytest.approx([count * math.log(13) for count in rounds], rel=1e-12)
    assert (epsilon[1:] < pure[1:]).all()
    looser = [accountants.epsilon(name, **KRR, rounds=4, delta=delta) for delta in (1e-3, 1e-6, 1e-9)]
    assert looser == sorted(looser)


@pytest.mark.parametrize("adversary", ["strong", "weak"])
def test_one_round_of_krr_is_its_profile(adversary):
    epsilon = accountants.epsilon(f"krr-{adversary}", **KRR, rounds=1, delta=1e-5)
    exact = profiles.krr(epsilon, **KRR, adversary=adversary)
    # connecting the dots costs some of delta
    assert 0.99e-5 < exact <= 1e-5


@pytest.mark.parametrize("adversary", ["strong", "weak"])
@pytest.mark.parametrize("rounds", [1, 3])
def test_the_tail_form_is_above_the_divergence(adversary, rounds):
    setting = {**KRR, "rounds": rounds, "delta": 1e-5}
    tail, divergence = (
        accountants.epsilon(name, **setting) for name in (f"krr-{adversary}-tail", f"krr-{adversary}")
    )
    assert tail > 1.02 * divergence
    if rounds == 1:
        slightly_less = profiles.krr(0.999 * tail, **KRR, adversary=adversary, divergence="tail")
        assert profiles.krr(tail * 1.001, **KRR, adversary=adversary, divergence="tail") <= 1e-5
        assert slightly_less > 0.9e-5


def test_the_clones_of_krr_are_those_of_its_eps0():
    clones = accountants.epsilon("krr-clones", **KRR, **TARGET)
    assert clones == pytest.approx(
        accountants.epsilon("clones-pld", **SUBSAMPLED_SHUFFLE, **TARGET), rel=1e-12
    )


# Computed to five digits by an independent script: n = 1000, four categories, gamma = 0.25.
KNOWN = {
    "krr-strong": {(1, 1e-4): 0.54733, (1, 1e-7): 0.89030, (16, 1e-4): 2.58666, (16, 1e-7): 3.72249},
    "krr-weak": {(1, 1e-4): 0.38906, (1, 1e-7): 0.62889, (16, 1e-4): 1.84767, (16, 1e-7): 2.70124},
}


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("name", "rounds", "delta", "value"),
    [(name, *setting, value) for name, values in KNOWN.items() for setting, value in values.items()],
)
def test_known_values_of_krr(name, rounds, delta, value):
    found = accountants.epsilon(name, n=1000, categories=4, gamma=0.25, rounds=rounds, delta=delta)
    # the known values are upper bounds on a lattice that is coarser where rounds are few
    assert value * (1 - 1e-4) < found < value * 1.0005
