"""The shuffled k-ary randomised response against two adversaries, composed: koskela2022, section 4."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from shuffledp.accountants import systems, via_pld
from shuffledp.accountants.registry import Columns, register
from shuffledp.accountants.subsampled_shuffle import clones
from shuffledp.approximate_dp.composition import ApproximateDP
from shuffledp.checks import FloatArray
from shuffledp.pld.fourier_accountant import fourier_epsilon
from shuffledp.pld.outcomes import connect_the_dots
from shuffledp.profiles.krr import krr_lattice, krr_outcomes


def _eps0(setting: Mapping[str, Any]) -> float:
    """Return the local privacy parameter: e^eps0 = 1 + (1 - gamma) k/gamma."""
    return math.log1p((1 - setting["gamma"]) * setting["categories"] / setting["gamma"])


SYSTEM = systems.enter(
    systems.System(
        "shuffle",
        "krr",
        "rounds of all n clients, whose k-ary randomised responses are shuffled",
        ("n", "categories", "gamma"),
        "krr-weak",
        systems.Neighbours.SUBSTITUTION,
        lambda setting: ApproximateDP(_eps0(setting), 0.0),
    )
)
_register = functools.partial(
    register, needs=("k-ary randomised response",), protocol=SYSTEM.protocol, mechanism=SYSTEM.mechanism
)


def _columns(n: int, categories: int, gamma: float, rounds: FloatArray, delta: float, who: str) -> Columns:
    outcomes = krr_lattice(
        n=n, categories=categories, gamma=gamma, adversary=who, nats=via_pld.nats(rounds, delta)
    )
    return via_pld.columns([outcomes], rounded=connect_the_dots, rounds=rounds, delta=delta, bound="upper")


def _tails(n: int, categories: int, gamma: float, rounds: FloatArray, delta: float, who: str) -> Columns:
    outcomes = krr_outcomes(
        n=n, categories=categories, gamma=gamma, adversary=who, nats=via_pld.nats(rounds, delta)
    )
    found = [
        fourier_epsilon(outcomes, delta=delta, rounds=int(count), form="tail") for count in rounds.tolist()
    ]
    return {"epsilon": np.array(found, dtype=np.float64)}


@_register(
    name="krr-strong",
    citation="balle2019, koskela2022, doroshenko2022",
    theorem="Definition 12 of koskela2022, hockey-stick divergence",
    kind="upper",
    label="strong adversary",
    note="This adversary knows who answered at random, and that the differing client did not.",
)
def _strong(*, n: int, categories: int, gamma: float, rounds: FloatArray, delta: float) -> Columns:
    return _columns(n, categories, gamma, rounds, delta, "strong")


@_register(
    name="krr-weak",
    citation="koskela2022, doroshenko2022",
    theorem="Theorem 15 of koskela2022, hockey-stick divergence",
    kind="upper",
    label="weak adversary",
    note="This adversary knows who answered at random, except for the differing client.",
)
def _weak(*, n: int, categories: int, gamma: float, rounds: FloatArray, delta: float) -> Columns:
    return _columns(n, categories, gamma, rounds, delta, "weak")


@_register(
    name="krr-strong-tail",
    citation="balle2019, koskela2022",
    theorem="Theorem 13 of koskela2022, as printed",
    kind="upper",
    label="strong adversary, tail form",
    note="With the probability of a loss of epsilon or more for delta, an upper bound on the divergence.",
    variant_of="krr-strong",
)
def _strong_tail(*, n: int, categories: int, gamma: float, rounds: FloatArray, delta: float) -> Columns:
    return _tails(n, categories, gamma, rounds, delta, "strong")


@_register(
    name="krr-weak-tail",
    citation="koskela2022",
    theorem="Theorem 16 of koskela2022, as printed",
    kind="upper",
    label="weak adversary, tail form",
    note="With the probability of a loss of epsilon or more for delta, an upper bound on the divergence.",
    variant_of="krr-weak",
)
def _weak_tail(*, n: int, categories: int, gamma: float, rounds: FloatArray, delta: float) -> Columns:
    return _tails(n, categories, gamma, rounds, delta, "weak")


@_register(
    name="krr-clones",
    citation="feldman2022, koskela2022, doroshenko2022",
    theorem="Theorem 3.1 of feldman2022",
    kind="upper",
    label="clones of feldman2022",
    note="The clones pair at the eps0 of the randomised response: holds for any randomiser with it.",
)
def _clones(*, n: int, categories: int, gamma: float, rounds: FloatArray, delta: float) -> Columns:
    eps0 = _eps0({"gamma": gamma, "categories": categories})
    return clones.columns(n, n, eps0, rounds, delta, "feldman2022")
