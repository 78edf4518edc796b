"""What an accountant is for: asked about another system, it refuses."""

from __future__ import annotations

import math

import pytest

from shuffledp import accountants
from shuffledp.accountants import registry, systems
from shuffledp.accountants.evaluation import evaluate
from shuffledp.records import digest

KRR = {"n": 300, "categories": 4, "gamma": 0.25}
SUBSAMPLED_SHUFFLE = {"n": 300, "k": 300, "eps0": math.log(13)}
TARGET = {"rounds": 4, "delta": 1e-6}


def test_the_main_system_comes_first():
    first = systems.systems()[0]
    assert (first.protocol, first.mechanism) == systems.SUBSAMPLED_SHUFFLE
    assert systems.variables()[:3] == ["n", "k", "eps0"]
    assert systems.variables()[-3:] == ["rounds", "delta", "epsilon"]


@pytest.mark.parametrize("system", systems.systems(), ids=lambda system: system.mechanism)
def test_every_system_has_accountants_and_a_default_among_them(system):
    names = accountants.names("upper", protocol=system.protocol, mechanism=system.mechanism)
    assert system.default in names


def test_a_bound_for_one_system_is_not_applied_to_another():
    with pytest.raises(
        ValueError,
        match=r"accountant 'clones-pld' is for subsampled-shuffle with ldp: .*set by n, k, eps0.*got n, cat",
    ):
        accountants.epsilon("clones-pld", **KRR, **TARGET)
    with pytest.raises(ValueError, match=r"accountant 'krr-weak' is for .*k-ary randomised responses"):
        accountants.epsilon("krr-weak", **SUBSAMPLED_SHUFFLE, **TARGET)
    with pytest.raises(ValueError, match="got nothing"):
        accountants.epsilon("clones-pld", **TARGET)


def test_unknown_systems_are_refused():
    with pytest.raises(ValueError, match=r"protocol must be one of subsampled-shuffle, .*, got 'gossip'"):
        accountants.names(protocol="gossip")
    with pytest.raises(ValueError, match=r"mechanism must be one of gaussian for .*-check-in, got 'ldp'"):
        accountants.names(protocol="distributed-check-in")
    with pytest.raises(ValueError, match="shuffle with krr is known already"):
        systems.enter(systems.get("shuffle", "krr"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"n": 0}, "n must be a whole number >= 1"),
        ({"categories": 1}, "categories must be a whole number >= 2"),
        ({"gamma": 1}, r"gamma must lie in \(0, 1\)"),
        ({"gamma": math.nan}, r"gamma must lie in \(0, 1\)"),
    ],
)
def test_variables_out_of_range(change, says):
    with pytest.raises(ValueError, match=says):
        accountants.epsilon("krr-weak", **{**KRR, **change}, **TARGET)


# --- along epsilon


def test_a_curve_along_epsilon_gives_delta():
    entry = accountants.get("clones-pld")
    fixed = {"n": 1000, "k": 100, "eps0": 2.0, "rounds": 50}
    table = evaluate(entry, variable="epsilon", values=[0.1, 0.3, 0.6], fixed=fixed)
    assert list(table)[:5] == ["n", "k", "eps0", "rounds", "epsilon"]
    assert (table["delta"][1:] < table["delta"][:-1]).all()
    for eps, delta in zip(table["epsilon"], table["delta"], strict=True):
        assert entry.epsilon(**fixed, delta=delta) <= eps < entry.epsilon(**fixed, delta=delta * (1 - 1e-6))


def test_a_curve_along_epsilon_ends_at_delta_zero():
    fixed = {"n": 10, "k": 5, "eps0": 0.5, "rounds": 2}
    table = evaluate(accountants.get("clones-pld"), variable="epsilon", values=[0.1, 5.0], fixed=fixed)
    assert table["delta"][1] == 0
    assert math.isnan(table["delta_error"][1])
    with pytest.raises(ValueError, match="variable and fixed must name each of n, k, eps0, rounds, epsilon"):
        evaluate(
            accountants.get("clones-pld"), variable="epsilon", values=[1.0], fixed={**fixed, "delta": 0.1}
        )


def test_every_name_of_an_accountant_stands_where_it_is_registered(root):
    """So that who reads a name in a table finds its code."""
    modules = (root / "workflow/shuffledp/accountants").rglob("*.py")
    text = "\n".join(path.read_text(encoding="utf-8") for path in modules)
    built = [name for name in registry._REGISTRY if f'"{name}"' not in text]
    assert not built
    assert len(registry._REGISTRY) > 80


@pytest.mark.parametrize("entry", registry._REGISTRY.values(), ids=registry._REGISTRY)
def test_the_digest_of_a_curve_sees_what_composes_rounds_of_its_system(entry):
    assert entry.system.basic.__module__ in digest.modules_behind([entry.compute.__module__])
