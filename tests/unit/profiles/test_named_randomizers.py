"""What is known of a randomiser by name: the mass of its blanket, its share and total variation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp.profiles import named_randomizers
from shuffledp.profiles.named_randomizers import named
from shuffledp.randomizers import registry

WITHOUT = [
    ("krr", {"categories": 10}),
    ("krr", {"categories": 2}),
    ("subset-selection", {"categories": 20, "subset": 4}),
    ("subset-selection", {"categories": 5, "subset": 3}),
    ("local-hashing", {"cells": 8}),
    ("public-hashing", {"cells": 8}),
    ("hadamard-response", {}),
    ("oue", {}),
    ("rappor", {}),
    ("privunit", {"dimension": 100}),
    ("hemisphere", {}),
    ("coordinate", {}),
    ("coordinate", {"dimension": 5}),
    ("laplace", {}),
    ("piecewise", {}),
]


def ids(value):
    return value if isinstance(value, str) else "-".join(f"{one:g}" for one in value.values()) or "plain"


def table(name, parameters, e):
    """Mass b of the blanket, share f, and t/b, from the definitions."""
    k, s = parameters.get("categories"), parameters.get("subset")
    g, r = parameters.get("cells"), math.sqrt(e)
    return {
        "krr": lambda: (k / (e + k - 1), 1 / k, 1 / k),
        "subset-selection": lambda: (k / (k + (e - 1) * s), s / k, s * (k - s) / (k * (k - 1))),
        "local-hashing": lambda: (g / (e + g - 1), 1 / g, 1 / g),
        "public-hashing": lambda: (g / (e + g - 1), 1 / g, 1 / g),
        "hadamard-response": lambda: (2 / (e + 1), 0.5, 0.25),
        "oue": lambda: ((e + 1) / (2 * e), 1 / (e + 1), e / (e + 1) ** 2),
        "rappor": lambda: (1 / r, 1 / (r + 1), r / (r + 1) ** 2),
        "hemisphere": lambda: (2 / (e + 1), 0.5, 0.5),
        "coordinate": lambda: (2 / (e + 1), 0.5, 0.5),
        "laplace": lambda: (1 / r, 1 / (r + 1), (1 - 1 / r) / (e - 1) * r),
        "piecewise": lambda: (1 / r, 1 / (r + 1), 1 / (r + 1)),
    }[name]()


@pytest.mark.parametrize("eps0", [0.01, 1.0, 4.0])
@pytest.mark.parametrize(("name", "parameters"), [case for case in WITHOUT if case[0] != "privunit"], ids=ids)
def test_the_table(name, parameters, eps0):
    e = math.exp(eps0)
    blanket, share, tilted = table(name, parameters, e)
    found = named(name, eps0=eps0, **parameters)
    assert (1 / blanket - 1) / (e - 1) == pytest.approx(share, rel=1e-9)
    if share > 0.5:
        assert found.share is None
    else:
        assert share <= found.share <= share * (1 + 1e-11)
    tv = (e - 1) * blanket * tilted
    assert tv * (1 - 1e-12) <= found.tv <= tv * (1 + 1e-11)


def test_a_collision_that_is_known_lowers_total_variation():
    without, with_it = (
        named("local-hashing", eps0=1.0, cells=4, **more) for more in ({}, {"collision": 0.25})
    )
    assert with_it.tv == pytest.approx(0.75 * without.tv, rel=1e-9)
    assert with_it.share == without.share


@pytest.mark.parametrize("dimension", [2, 3, 4, 5, 40])
def test_the_cap_around_a_vector_at_right_angles(dimension):
    eps0 = 1.0
    found = named("privunit", eps0=eps0, dimension=dimension)
    vectors = np.random.default_rng(5).normal(size=(200_000, dimension))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    threshold = registry_threshold(dimension, eps0)
    both = np.mean((vectors[:, 0] >= threshold) & (vectors[:, 1] >= threshold))
    # the first class is what lies in both caps; its law for the first record is e b times its measure
    high = 1 / (math.exp(-eps0) - math.expm1(-eps0) * found.share)
    assert found.first[0] / high == pytest.approx(both, abs=5 * math.sqrt(both / 200_000) + 1e-5)


def registry_threshold(dimension, eps0):
    from shuffledp.randomizers import constants

    return constants.privunit(dimension=dimension, eps0=eps0).threshold


def test_a_training_knows_its_randomiser():
    known = {name: named_randomizers.of_training(name, dimension=64) for name in registry.PURE}
    known = {name: found for name, found in known.items() if found is not None}
    for randomizer, parameters in known.values():
        assert named(randomizer, eps0=1.0, **parameters).share <= 0.5
    assert {"linf_coordinate", "l1_hadamard", "l2_hemisphere", "l2_privunit"} <= set(known)
    assert known["l2_privunit"] == ("privunit", {"dimension": 64})


def test_of_a_training_randomiser_that_is_not_listed_only_eps0_is_known():
    assert named_randomizers.of_training("mine", dimension=64) is None
