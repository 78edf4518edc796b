"""Every accountant in the corners of what it accepts: a bound without a warning, or a refusal in one line.

pytest turns the warnings of numpy and scipy into errors. None takes more than a gigabyte. None should take
more than 20 seconds on a fast machine. One that goes on for minutes is stopped, as it might have no end.
"""

from __future__ import annotations

import math
import random
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from shuffledp import accountants
from shuffledp.accountants import registry, systems

CORNERS = {
    "n": [1, 2, 3, 10, 12076, 10**6, 10**9, 10**12, 10**15],
    "k": [1, 2, 0.001, 0.5, 1.0],  # numbers, or shares of n
    "arriving": [1, 2, 0.5, 1.0],  # numbers, or shares of k
    "slots": [1, 2, 1000, 10**5, 10**9, 10**15],
    "eps0": [1e-30, 1e-17, 1e-9, 1e-6, 1e-3, 0.0147, 0.3, 1.0, 3.0, 8.0, 20.0, 100.0, 300.0],
    "categories": [2, 3, 100, 10**6],
    "gamma": [1e-9, 0.01, 0.3, 0.9, 1 - 1e-9],
    "rate": [1e-30, 1e-12, 1e-6, 0.01, 0.5, 0.999, 1 - 1e-16],
    "participation": [0.0, 1e-9, 0.01, 0.5, 1.0],
    "sigma": [1e-100, 0.1, 0.2, 1.0, 10.0, 1000.0, 1e100],
    "delta0": [0.0, 1e-300, 1e-30, 1e-10, 0.01],
    "share": [1e-60, 1e-17, 1e-12, 1e-3, 0.2, 0.5],
    "tv": [1e-17, 1e-12, 1e-3, 0.2, 0.999],  # shares of the largest that there is
    "rounds": [0, 1, 2, 28, 1000, 10**6, 10**9],
    "delta": [0.0, 1e-300, 1e-100, 1e-30, 1e-17, 1e-8, 1e-3, 0.9],
}
NAMES = list(registry._REGISTRY)  # variants too
FEW, MANY = 20, 300
MEMORY, SECONDS = 2**30, 300


@pytest.fixture(autouse=True)
def limited() -> Iterator[None]:
    """Let numpy find no more memory than the corners may take, and no corner go on without end."""
    if not sys.platform.startswith("linux"):  # others do not keep to the limit of memory
        yield
        return
    import resource

    held = next(
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmSize")
    )
    limits = resource.getrlimit(resource.RLIMIT_AS)

    def stop(*_: object) -> None:
        pytest.fail(f"has taken {SECONDS} seconds of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    resource.setrlimit(resource.RLIMIT_AS, (1024 * int(held.split()[1]) + MEMORY, limits[1]))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    resource.setrlimit(resource.RLIMIT_AS, limits)
    signal.signal(signal.SIGPROF, before)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit of memory is that of Linux")
def test_the_corners_may_not_take_more_than_a_gigabyte():
    np.ones(MEMORY // 16)
    with pytest.raises(MemoryError):
        np.ones(MEMORY // 8 * 5 // 4)


def corner(seed: int) -> tuple[str, dict[str, float]]:
    """One accountant and a setting, each accountant as often as any other."""
    chance = random.Random(seed)
    name = NAMES[seed * 37 % len(NAMES)] if math.gcd(37, len(NAMES)) == 1 else chance.choice(NAMES)
    variables = [*accountants.get(name).system.variables, "rounds", "delta"]
    return name, drawn(chance, variables)


def drawn(chance: random.Random, variables: Iterable[str]) -> dict[str, float]:
    """A setting of some variables."""
    setting = {variable: chance.choice(CORNERS[variable]) for variable in variables}
    if "tv" in setting:
        grown = math.expm1(setting["eps0"]) * setting.get("share", 0.5)
        setting["tv"] *= grown / (1 + grown)
    for name_of, whole in (("k", "n"), ("arriving", "k")):
        if name_of in setting:
            part, most = setting[name_of], setting[whole]
            setting[name_of] = min(part if isinstance(part, int) else max(int(part * most), 1), most)
    return setting


# What once overflowed, divided by what had become 0, or showed an array in its refusal.
FOUND = (
    ("feldman2021-strong", {"n": 10**6, "k": 10**6, "eps0": 1.0, "rounds": 10**10, "delta": 1e-300}),
    ("feldman2021-strong", {"n": 10**15, "k": 10**15, "eps0": 1.0, "rounds": 10**15, "delta": 1e-300}),
    ("distributed-check-in-lower", {"n": 10**15, "rate": 1e-12, "sigma": 1e-20, "rounds": 1, "delta": 0.5}),
    ("distributed-check-in-pld", {"n": 3, "rate": 1e-30, "sigma": 1e20, "rounds": 10**6, "delta": 1e-8}),
    ("distributed-check-in-lower", {"n": 3, "rate": 1e-30, "sigma": 10.0, "rounds": 10**9, "delta": 1e-17}),
    ("distributed-check-in-pld", {"n": 10**6, "rate": 0.1, "sigma": 1e-4, "rounds": 1, "delta": 1e-10}),
    ("distributed-check-in-strong", {"n": 1, "rate": 1e-300, "sigma": 1e100, "rounds": 2, "delta": 0.9}),
    ("distributed-check-in-rdp", {"n": 3, "rate": 5e-324, "sigma": 10.0, "rounds": 10**9, "delta": 1e-17}),
    ("liew2022-lemma5-printed", {"n": 1, "rate": 1e-300, "sigma": 1.0, "rounds": 2, "delta": 1e-300}),
    ("balle2020-shuffling-numerical", {"n": 10**15, "eps0": 1e-100, "rounds": 10**12, "delta": 0.5}),
    ("shuffle-krr3-lower", {"n": 1, "eps0": 1e-100, "rounds": 10**15, "delta": 1e-300}),
    ("fixed-window-clones", {"slots": 9, "participation": 1e-300, "eps0": 30.0, "rounds": 9, "delta": 1e-30}),
    (
        "fixed-window-numerical",
        {"slots": 1, "participation": 1e-300, "eps0": 20.0, "rounds": 9, "delta": 0.9},
    ),
    ("share-pld", {"n": 1, "k": 1, "eps0": 1e-17, "share": 1e-300, "rounds": 1000, "delta": 1e-17}),
    ("tv-pld", {"n": 1, "k": 1, "eps0": 1e-3, "tv": 5e-324, "rounds": 0, "delta": 1e-300}),
    ("distributed-check-in-rdp", {"n": 1000, "rate": 1 - 1e-16, "sigma": 0.2, "rounds": 0, "delta": 0.5}),
    ("distributed-check-in-pld", {"n": 1000, "rate": 1 - 1e-16, "sigma": 0.2, "rounds": 1, "delta": 0.5}),
    ("distributed-check-in-lower", {"n": 1000, "rate": 1 - 1e-16, "sigma": 0.2, "rounds": 1, "delta": 0.5}),
    ("check-in-gaussian-pld", {"n": 3, "rate": 0.5, "sigma": 1.0, "rounds": 10**9, "delta": 1e-300}),
    # what took minutes, or gigabytes
    ("check-in-joint-pld", {"n": 10**15, "rate": 0.5, "eps0": 1e-6, "rounds": 1, "delta": 1e-9}),
    (
        "check-in-share-pld",
        {"n": 10**15, "rate": 0.5, "eps0": 1e-17, "share": 0.3, "rounds": 1, "delta": 1e-30},
    ),
    (
        "check-in-pld-approximate",
        {"n": 10**15, "rate": 0.5, "eps0": 1e-9, "delta0": 1e-30, "rounds": 0, "delta": 1e-9},
    ),
    (
        "blanket-pld",
        {"n": 10**15, "k": 10**12, "eps0": 8.0, "share": 0.3, "tv": 1e-17, "rounds": 30, "delta": 1e-30},
    ),
    (
        "shuffle-blanket-pld",
        {"n": 10**15, "eps0": 1.0, "share": 0.3, "tv": 3.4e-7, "rounds": 1, "delta": 1e-20},
    ),
    (
        "shuffle-blanket-pld",
        {"n": 10**15, "eps0": 20.0, "share": 0.5, "tv": 0.998999995881815, "rounds": 10**9, "delta": 1e-30},
    ),
    ("averaged-window-numerical", {"n": 10**15, "slots": 2, "eps0": 1e-30, "rounds": 1, "delta": 1e-9}),
    ("koskela2022-enumeration", {"n": 10**15, "k": 10**15, "eps0": 0.3, "rounds": 1, "delta": 1e-9}),
    ("krr-weak", {"n": 10**15, "categories": 2, "gamma": 1e-9, "rounds": 1, "delta": 1e-9}),
    ("krr-weak", {"n": 10**15, "categories": 10**15, "gamma": 1e-9, "rounds": 1, "delta": 1e-9}),
    (
        "check-in-gaussian-unshuffled",
        {"n": 10**9, "rate": 0.5, "sigma": 1e9, "rounds": 10**15, "delta": 1e-3},
    ),
    # no root within the usual number of steps
    ("averaged-window-numerical", {"n": 10**15, "slots": 10**15, "eps0": 30.0, "rounds": 1, "delta": 1e-9}),
    # refused without the name of a variable
    ("koskela2022-grid-500", {"n": 10**9, "k": 10**9, "eps0": 0.3, "rounds": 10**15, "delta": 1e-9}),
    # an upper bound that a difference of two equal doubles had put below the lower one
    ("unshuffled-strong", {"n": 1, "k": 1, "eps0": 1e-17, "rounds": 10**6, "delta": 1e-300}),
)


def check(name: str, setting: Mapping[str, float]) -> None:
    found, refusal = None, ""
    try:
        found = accountants.get(name).details(**setting)
    except (ValueError, ArithmeticError) as error:
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
    check(*corner(seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FEW, FEW + MANY))
def test_many_corners(seed):
    check(*corner(seed))


@pytest.mark.parametrize(("name", "setting"), FOUND, ids=lambda one: one if isinstance(one, str) else "")
def test_corners_that_once_were_faults(name, setting):
    check(name, setting)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("system", systems.systems(), ids=str)
def test_no_lower_bound_lies_above_an_upper_one(system, seed):
    setting = drawn(random.Random(f"{system} {seed}"), [*system.variables, "rounds", "delta"])
    listed = accountants.names(protocol=system.protocol, mechanism=system.mechanism)
    answers, _ = accountants.attempts(map(accountants.get, listed), **setting)
    accountants.bracket_of(answers)  # which refuses ends that cross
