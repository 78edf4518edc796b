"""Quantities of check-in protocols: what is registered, along one variable, and what is drawn."""

import math

import numpy as np
import pytest

from shuffledp import protocols
from shuffledp.convergence import averaging_utility
from shuffledp.reproduction.studies import quantities

WINDOWS = ("windows-epsilon-simple", "windows-epsilon")


def swept(name, variable, values, **fixed):
    return quantities.evaluate(quantities.get(name), variable=variable, values=values, fixed=fixed)


@pytest.mark.parametrize("name", quantities.names())
def test_every_quantity_says_what_it_is(name):
    entry = quantities.get(name)
    assert entry.name == name
    assert entry.kind in ("exact", "upper", "estimate")
    assert entry.label
    assert "balle2020" in entry.theorem or entry.kind == "estimate"
    assert len(set(entry.variables)) == len(entry.variables)


def test_formulas_are_those_of_the_theorems():
    found = swept("fixed-window-dummies", "slots", [2.0, 4.0], n=3.0, participation=1.0)
    assert found["value"] == pytest.approx([2 / 8, 4 * (3 / 4) ** 3], rel=1e-12)
    assert found["n"] == [3.0, 3.0]
    found = swept("sliding-window-dummies-bound", "slots", [2.0], n=10.0)
    assert found["value"] == pytest.approx([9 / math.e], rel=1e-12)
    setting = {"n": 1000, "dimension": 3, "sigma": 0.5, "lipschitz": 1.0, "radius": 2.0}
    found = swept("averaged-window-utility", "slots", [10, 20], **setting)
    assert found["value"] == [averaging_utility(slots=m, **setting) for m in (10, 20)]


def test_simple_forms_are_those_of_the_paper_and_bound_what_they_are_of():
    one = {"slots": 1e4, "participation": 0.1, "delta": 1e-6}
    simple = swept("window-epsilon-simple", "eps0", [0.5, 1.0], **one)["value"]
    assert simple == pytest.approx(
        [0.35 * math.sqrt(math.log(1e6)) / 100, 0.7 * math.sqrt(math.log(1e6)) / 100]
    )
    assert swept("window-epsilon", "eps0", [0.5, 1.0], **one)["value"] < simple
    with pytest.raises(ValueError, match="eps0 must be at most 1 for the simple form"):
        swept("window-epsilon-simple", "eps0", [1.1], **one)
    with pytest.raises(ValueError, match=r"delta must be at most 0\.01 for the simple form"):
        swept("window-epsilon-simple", "eps0", [1.0], **{**one, "delta": 0.02})
    ten = {"n": 1e5, "slots": 1e4, "delta": 1e-6}
    closed, composed = (swept(name, "eps0", [2.0], **ten)["value"][0] for name in WINDOWS)
    x = (math.exp(2) - 1) * math.exp(1) * math.sqrt(math.log(1e6) / 1e5)
    assert closed == pytest.approx(4 * x * math.sqrt(math.log(1e6)) + 12 * x**2, rel=1e-12)
    window = swept("window-epsilon", "eps0", [2.0], **one)["value"][0]
    spread = window * math.sqrt(20 * math.log(1e6))
    assert composed == pytest.approx(spread + 10 * window * math.expm1(window), rel=1e-9)
    assert composed < closed


@pytest.mark.parametrize("protocol", ["fixed-window", "sliding-window"])
def test_drawn_means_agree_with_the_formula(protocol):
    extra = {"participation": 0.7} if protocol == "fixed-window" else {}
    exact = swept(f"{protocol}-dummies", "slots", [5.0, 20.0, 60.0], n=60.0, **extra)["value"]
    drawn = swept(f"{protocol}-dummies-drawn", "slots", [5.0, 20.0, 60.0], n=60.0, runs=400, seed=1, **extra)
    off = (np.array(drawn["value"]) - exact) / np.maximum(drawn["error"], 1 / 400)
    assert (np.abs(off) < 4).all()
    # and would not with one client fewer in ten
    other = swept(f"{protocol}-dummies", "slots", [5.0, 20.0, 60.0], n=66.0, **extra)["value"]
    assert np.abs((np.array(drawn["value"]) - other) / np.maximum(drawn["error"], 1 / 400)).max() > 4


def test_drawn_loads_stay_below_their_bound_as_often_as_stated():
    drawn = swept("load-norm-drawn", "slots", [1.0, 7.0], n=50.0, delta=0.05, runs=300, seed=0)
    bound = swept("load-norm-bound", "slots", [1.0, 7.0], n=50.0, delta=0.05)
    assert max(drawn["beyond"]) <= 0.05
    assert drawn["value"][0] == 50.0  # all in one slot
    assert (np.array(drawn["value"]) > 0.6 * np.array(bound["value"])).all()


def test_the_quantile_of_drawn_loads_is_what_the_lemma_bounds():
    setting = {"n": 50.0, "delta": 0.05, "runs": 400, "seed": 0}
    found = swept("load-norm-quantile", "slots", [1.0, 7.0], **setting)
    largest = swept("load-norm-drawn", "slots", [1.0, 7.0], **setting)
    window = protocols.create("averaged-window", n=50, slots=7, seed=0)
    norms = sorted(float(np.linalg.norm(window.loads(run))) for run in range(400))
    assert found["value"] == [50.0, norms[379]]  # 20 of 400 lie above
    assert found["error"][0] == 0.0
    # a standard error of sqrt(400 * 0.05 * 0.95) = 4.36 places to either side
    assert found["error"][1] == pytest.approx((norms[384] - norms[375]) / 2, rel=1e-12)
    assert found["value"][1] < largest["value"][1]


def test_a_variable_must_be_named_once():
    with pytest.raises(ValueError, match="variable and fixed must name each of n, slots once"):
        swept("sliding-window-dummies", "slots", [2.0])
    with pytest.raises(ValueError, match="variable and fixed must name each of"):
        swept("sliding-window-dummies", "n", [2.0], n=3.0, slots=1.0)


def test_unknown_and_taken_names_are_refused():
    with pytest.raises(ValueError, match="quantity must be one of fixed-window-dummies"):
        quantities.get("dummies")
    with pytest.raises(ValueError, match="'load-norm-bound' is registered already"):
        quantities.register("load-norm-bound", label="-", theorem="-", kind="upper", variables=())
    with pytest.raises(ValueError, match="kind must be one of exact, upper, estimate"):
        quantities.register("new", label="-", theorem="-", kind="lower", variables=())
