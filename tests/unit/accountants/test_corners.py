"""Every accountant in the corners of what it accepts: a bound without a warning, or a refusal in one line.

pytest turns the warnings of numpy and scipy into errors. How long each takes is no assertion; none should
take more than seconds.
"""

from __future__ import annotations

import math
import random

import pytest

from shuffledp import accountants
from shuffledp.accountants import systems

CORNERS = {
    "n": [1, 2, 3, 10, 12076, 10**6, 10**9, 10**12, 10**15],
    "k": [1, 2, 0.001, 0.5, 1.0],  # numbers, or shares of n
    "slots": [1, 2, 1000, 10**5, 10**9, 10**15],
    "eps0": [1e-6, 1e-3, 0.0147, 0.3, 1.0, 3.0, 8.0, 20.0, 100.0, 300.0],
    "categories": [2, 3, 100, 10**6],
    "gamma": [1e-9, 0.01, 0.3, 0.9, 1 - 1e-9],
    "rate": [1e-12, 1e-6, 0.01, 0.5, 0.999],
    "participation": [0.0, 1e-9, 0.01, 0.5, 1.0],
    "sigma": [0.1, 0.2, 1.0, 10.0, 1000.0],
    "delta0": [0.0, 1e-300, 1e-30, 1e-10, 0.01],
    "share": [1e-12, 1e-3, 0.2, 0.5],
    "tv": [1e-12, 1e-3, 0.2, 0.999],
    "rounds": [0, 1, 2, 28, 1000, 10**6, 10**9],
    "delta": [0.0, 1e-300, 1e-100, 1e-30, 1e-17, 1e-8, 1e-3, 0.9],
}
NAMES = [
    name
    for system in systems.systems()
    for name in accountants.names(protocol=system.protocol, mechanism=system.mechanism)
]
FEW, MANY = 20, 300


def corner(seed: int) -> tuple[str, dict[str, float]]:
    """One accountant and a setting, each accountant as often as any other."""
    chance = random.Random(seed)
    name = NAMES[seed * 37 % len(NAMES)] if math.gcd(37, len(NAMES)) == 1 else chance.choice(NAMES)
    variables = [*accountants.get(name).system.variables, "rounds", "delta"]
    setting = {variable: chance.choice(CORNERS[variable]) for variable in variables}
    if "k" in setting:
        k, n = setting["k"], setting["n"]
        setting["k"] = min(k if isinstance(k, int) else max(int(k * n), 1), n)
    return name, setting


def check(seed: int) -> None:
    name, setting = corner(seed)
    found, refusal = None, ""
    try:
        found = accountants.get(name).details(**setting)
    except ValueError as error:
        refusal = str(error)
    if found is None:
        # the limit, in one line that names a parameter
        assert any(f"{variable} must" in refusal for variable in [*setting, "rate"]), (name, setting, refusal)
        assert "\n" not in refusal
        return
    assert found["epsilon"] >= 0, (name, setting)  # not nan either
    assert found["epsilon"] <= found["theorem_epsilon"], (name, setting)


@pytest.mark.parametrize("seed", range(FEW))
def test_some_corners(seed):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FEW, FEW + MANY))
def test_many_corners(seed):
    check(seed)
