"""Every public function refuses bad arguments by name, and returns what its input's shape promises."""

from __future__ import annotations

import functools
import inspect
import math

import numpy as np
import pytest

from shuffledp import accountants, approximate_dp, rdp
from shuffledp.approximate_dp import composition

DELTA_0 = 0.0636873  # hard case A6: 10 log(1 + 1e-3 (e^2 - 1)), printed to six digits


def _curve(order):
    return 0.01 * np.asarray(order)


SHUFFLE = {"order": 8, "n": 1000, "k": 100, "eps0": 1.0}
SYSTEM = {"n": 100, "k": 3, "eps0": 1.0, "rounds": 5, "delta": 1e-3}
# name -> function, arguments that it accepts
CALLS = {
    "girgis2021_upper": (rdp.girgis2021_upper, SHUFFLE),
    "girgis2021_lower": (rdp.girgis2021_lower, SHUFFLE),
    "girgis2021_ternary": (rdp.girgis2021_ternary, {"order": 3.5, "k": 100, "eps0": 1.0}),
    "girgis2021ccs_shuffle": (rdp.girgis2021ccs_shuffle, {"order": 8, "n": 1000, "eps0": 1.0}),
    "wang2019_subsampled": (
        rdp.wang2019_subsampled,
        {"order": 8, "gamma": 0.1, "rdp": _curve, "eps_inf": 1.0},
    ),
    "to_epsilon": (rdp.to_epsilon, {"rdp": _curve, "delta": 1e-6, "rounds": 5}),
    "to_delta": (rdp.to_delta, {"rdp": _curve, "eps": 1.0, "rounds": 5}),
    "feldman2021": (approximate_dp.feldman2021, {"n": 10_000, "eps0": 1.0, "delta": 1e-6}),
    "balle2019": (approximate_dp.balle2019, {"n": 10_000, "eps0": 1.0, "delta": 1e-6}),
    "subsample": (composition.subsample, {"eps": 1.0, "delta": 1e-6, "gamma": 0.1}),
    "remaining_delta": (
        composition.remaining_delta,
        {"delta": 1e-9, "rounds": 5, "total_delta": 1e-6},
    ),
    "kairouz2015": (
        composition.kairouz2015,
        {"eps": 0.1, "delta": 1e-9, "rounds": 5, "total_delta": 1e-6},
    ),
    "advanced": (composition.advanced, {"eps": 0.1, "delta": 1e-9, "rounds": 5, "total_delta": 1e-6}),
    **{name: (functools.partial(accountants.epsilon, name), SYSTEM) for name in accountants.names()},
}

COUNT = ([0, -1, 1.5, math.nan, math.inf], "whole number >= 1")
NON_NEGATIVE = ([-0.1, math.nan, math.inf], "number >= 0")
INTEGER_ORDER = ([1, 1 + 1e-8, 2.5, math.nan, math.inf, [2, 2.5]], "whole numbers >= 2")
OPEN = ([2, -1e-6, math.nan, math.inf, 0, 1], "(0, 1)")
HALF_OPEN = ([2, -1e-6, math.nan, math.inf, 1], "[0, 1)")
# argument -> values out of range, and what the message says is the range
RANGES = {
    "n": COUNT,
    "k": COUNT,
    "eps0": NON_NEGATIVE,
    "eps": ([-0.1, math.nan, math.inf], "numbers >= 0"),
    "eps_inf": ([-0.1, math.nan], "number >= 0"),
    "order": INTEGER_ORDER,
    "rounds": ([-1, 1.5, math.nan, math.inf, [1, -1]], "whole numbers >= 0"),
    "delta": HALF_OPEN,
    "total_delta": HALF_OPEN,
    "gamma": ([0, -1e-6, 1.5, math.nan, math.inf], "(0, 1]"),
}
# where a function's range differs from that of its argument's name
OWN_RANGES = {
    ("girgis2021_lower", "order"): ([1, 0.5, math.nan, math.inf, [2, 1]], "numbers > 1"),
    ("girgis2021_ternary", "order"): ([1, 2 - 1e-8, math.nan, math.inf, [2, 1]], "numbers >= 2"),
    ("girgis2021_ternary", "k"): ([0, 1, 2.5, math.nan, math.inf], "whole number >= 2"),
    ("to_epsilon", "delta"): OPEN,
    ("feldman2021", "delta"): OPEN,
    ("balle2019", "delta"): OPEN,
    ("subsample", "delta"): ([2, -1e-6, math.nan, math.inf], "[0, 1]"),
}
SCALARS = {"n", "k", "eps0", "gamma", "total_delta"}
CHECKED = [
    (name, argument)
    for name, (_, accepted) in CALLS.items()
    for argument in accepted
    if argument in RANGES  # the curve `rdp` is a function, tested on its own
]


def refusal(name, **bad):
    function, accepted = CALLS[name]
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the callers look at every part of the message
        function(**{**accepted, **bad})
    return str(caught.value)


@pytest.mark.parametrize("name", CALLS)
def test_the_accepted_arguments_are_accepted(name):
    function, accepted = CALLS[name]
    first = function(**accepted)
    assert float(first if isinstance(first, float) else first[0]) >= 0


@pytest.mark.parametrize(
    ("name", "argument", "value", "accepted"),
    [
        (name, argument, value, accepted)
        for name, argument in CHECKED
        for values, accepted in [OWN_RANGES.get((name, argument), RANGES[argument])]
        for value in values
    ],
)
def test_out_of_range_names_argument_value_and_range(name, argument, value, accepted):
    message = refusal(name, **{argument: value})
    assert message.startswith(f"{argument} must ")
    # an integer may come back as the float that it was converted to
    assert str(value) in message or f"{float(value)}" in message
    assert accepted in message


@pytest.mark.parametrize(("name", "argument"), CHECKED)
@pytest.mark.parametrize("value", ["3", "abc", None, True], ids=repr)
def test_other_types_are_refused_by_name(name, argument, value):
    message = refusal(name, **{argument: value})
    assert message.startswith(f"{argument} must ")
    assert repr(value) in message


@pytest.mark.parametrize(
    ("name", "argument"),
    [(name, argument) for name, argument in CHECKED if argument in SCALARS],
)
def test_arrays_are_refused_where_a_single_number_is_meant(name, argument):
    message = refusal(name, **{argument: [0.5, 0.5]})
    assert message.startswith(f"{argument} must be a single real number")


@pytest.mark.parametrize(
    "name", [name for name, (_, accepted) in CALLS.items() if {"n", "k"} <= set(accepted)]
)
def test_more_clients_a_round_than_there_are(name):
    message = refusal(name, n=10, k=11)
    assert message.startswith("k must be at most n")
    assert "k=11" in message
    assert "n=10" in message


@pytest.mark.parametrize(
    ("name", "argument"), [(name, argument) for name, argument in CHECKED if argument in ("n", "k", "rounds")]
)
@pytest.mark.parametrize("kind", [float, np.float64, np.int64])
@pytest.mark.few(55)
def test_counts_may_be_whole_floats(name, argument, kind):
    function, accepted = CALLS[name]
    assert function(**{**accepted, argument: kind(accepted[argument])}) == function(**accepted)


def test_a_million_clients_written_as_a_float():
    settings = {"k": 1000, "eps0": 1.0, "rounds": 1, "delta": 1e-8}
    name = "feldman2021-strong"
    assert accountants.epsilon(name, n=1e6, **settings) == accountants.epsilon(name, n=1_000_000, **settings)


@pytest.mark.parametrize("name", accountants.names())
def test_delta_zero_asks_for_pure_dp(name):
    value = accountants.epsilon(name, n=1e6, k=1e3, eps0=2, rounds=10, delta=0)
    assert value == pytest.approx(DELTA_0, abs=5e-8)  # half a unit of its last printed digit


@pytest.mark.parametrize("lookup", [accountants.get, functools.partial(accountants.epsilon, **SYSTEM)])
def test_unknown_accountant_suggests_the_closest(lookup):
    with pytest.raises(ValueError, match=r"'girgis2021-uper'.*did you mean 'girgis2021-upper'") as caught:
        lookup("girgis2021-uper")
    for name in accountants.names():
        assert name in str(caught.value)


@pytest.mark.parametrize("name", ["zzz", "", None, 3])
def test_unknown_accountant_without_a_close_match_lists_the_known(name):
    with pytest.raises(ValueError, match=r"^accountant must be a registered one, got ") as caught:
        accountants.get(name)
    assert repr(name) in str(caught.value)
    assert "did you mean" not in str(caught.value)
    assert "girgis2021-upper" in str(caught.value)


@pytest.mark.parametrize("method", ["optimum", "", None, 1])
def test_unknown_composition_method_lists_the_known(method):
    message = refusal("kairouz2015", method=method)
    assert message.startswith("method must be one of formula, optimal")
    assert repr(method) in message


@pytest.mark.parametrize("value", [-1e-9, math.nan])
@pytest.mark.parametrize("name", ["to_epsilon", "to_delta", "wang2019_subsampled"])
def test_a_curve_that_no_divergence_has_is_refused(name, value):
    message = refusal(name, rdp=lambda order: np.full(np.shape(order), value))
    assert message.startswith("rdp must return numbers >= 0")
    assert "order 2" in message


@pytest.mark.parametrize(
    "function",
    [
        *(getattr(rdp, name) for name in rdp.__all__ if name != "Conversion"),
        approximate_dp.feldman2021,
        approximate_dp.balle2019,
        composition.subsample,
        composition.remaining_delta,
        composition.kairouz2015,
        composition.advanced,
        accountants.epsilon,
        accountants.Accountant.epsilon,
        accountants.Accountant.details,
    ],
)
def test_arguments_after_the_first_are_keyword_only(function):
    _, *others = inspect.signature(function).parameters.values()
    assert others
    kinds = {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD}
    assert {parameter.kind for parameter in others} <= kinds


# function, argument -> values of which arrays are built
VECTORISED = {
    ("girgis2021_upper", "order"): [2, 3, 8, 64, 2500, 2],
    ("girgis2021_lower", "order"): [1.5, 2, 3, 8, 64, 1.5],
    ("girgis2021_ternary", "order"): [2, 2.5, 3, 8, 64, 2],
    ("girgis2021ccs_shuffle", "order"): [2, 3, 8, 64, 2500, 2],
    ("wang2019_subsampled", "order"): [2, 3, 8, 64, 2500, 2],
    ("to_epsilon", "rounds"): [0, 1, 2, 10, 1000, 1],
    ("to_delta", "rounds"): [0, 1, 2, 10, 1000, 1],
    ("to_delta", "eps"): [0, 0.5, 1, 2, 10, 1],
    ("feldman2021", "delta"): [1e-300, 1e-12, 1e-8, 1e-6, 0.5, 1e-6],
    ("subsample", "eps"): [0, 1e-9, 0.5, 1, 30, 0.5],
    ("subsample", "delta"): [0, 1e-12, 1e-6, 0.5, 1, 0.5],
    ("remaining_delta", "rounds"): [0, 1, 2, 10, 10_000, 1],
    ("remaining_delta", "delta"): [0, 1e-12, 1e-9, 1e-7, 1e-3, 1e-9],
    ("kairouz2015", "eps"): [0, 1e-9, 0.5, 1, 30, 0.5],
    ("kairouz2015", "delta"): [0, 1e-12, 1e-9, 1e-7, 1e-3, 1e-9],
    ("kairouz2015", "rounds"): [0, 1, 2, 10, 10_000, 1],
    ("advanced", "eps"): [0, 1e-9, 0.5, 1, 30, 0.5],
    ("advanced", "rounds"): [0, 1, 2, 10, 10_000, 1],
    **{(name, "rounds"): [0, 1, 2, 10, 1000, 1] for name in accountants.names()},
}
SHAPES = [(6,), (2, 3), (0,), (2, 0)]
# Several orders or rounds share one search or one summation window, which moves the last digits only.
SHARED_WORK = 1e-12


def outcomes(name, argument, value):
    """The numbers (or arrays) that a call returns and that depend on the shape of ``argument``."""
    function, accepted = CALLS[name]
    result = function(**{**accepted, argument: value})
    if name == "subsample":
        return [getattr(result, argument)]
    parts = result if isinstance(result, tuple) else (result,)
    return [part for part in parts if not isinstance(part, str)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("name", "argument"), VECTORISED)
@pytest.mark.few(48)
def test_arrays_keep_their_shape_and_agree_with_scalars(name, argument, shape):
    values = np.resize(np.array(VECTORISED[name, argument], dtype=np.float64), shape)
    arrays = outcomes(name, argument, values)
    for array in arrays:
        assert isinstance(array, np.ndarray)
        assert array.dtype in (np.float64, np.bool_)
        assert array.shape == shape
    for index, value in np.ndenumerate(values):
        scalars = outcomes(name, argument, float(value))
        for array, scalar in zip(arrays, scalars, strict=True):
            assert array[index] == pytest.approx(scalar, rel=SHARED_WORK, abs=0)


@pytest.mark.parametrize("wrap", [float, np.float64, np.array], ids=["float", "numpy scalar", "0-d array"])
@pytest.mark.parametrize(("name", "argument"), VECTORISED)
@pytest.mark.few(36)
def test_scalars_give_python_numbers(name, argument, wrap):
    for value in VECTORISED[name, argument][:3]:
        for field in outcomes(name, argument, wrap(value)):
            assert type(field) in (float, bool)


@pytest.mark.parametrize(("name", "argument"), VECTORISED)
def test_lists_of_numbers_are_arrays(name, argument):
    values = VECTORISED[name, argument]
    from_list, from_array = outcomes(name, argument, values), outcomes(name, argument, np.array(values))
    for left, right in zip(from_list, from_array, strict=True):
        assert np.array_equal(left, right)


def test_composition_broadcasts():
    eps, rounds = np.array([[0.1], [0.2], [0.3]]), np.array([1, 10])
    for composed in (
        composition.kairouz2015(eps=eps, delta=0, rounds=rounds, total_delta=1e-6),
        composition.kairouz2015(eps=eps, delta=0, rounds=rounds, total_delta=1e-6, method="optimal"),
        composition.advanced(eps=eps, delta=0, rounds=rounds, total_delta=1e-6),
        rdp.to_delta(_curve, eps=eps, rounds=rounds).value,
    ):
        assert composed.shape == (3, 2)


@pytest.mark.parametrize("curve", [3, 0.5, [3.0], None])
def test_a_curve_must_be_a_function(curve):
    asked = [
        lambda: rdp.to_epsilon(curve, delta=1e-5),
        lambda: rdp.to_delta(curve, eps=1.0),
        lambda: rdp.wang2019_subsampled(3, gamma=0.1, rdp=curve, eps_inf=1.0),
    ]
    for ask in asked:
        with pytest.raises(ValueError, match=r"^rdp must be a function that maps an array of orders"):
            ask()


def test_the_bracket_says_which_system_is_set_by_what_it_was_given():
    setting = {"n": 7, "sigma": 2.0, "rounds": 2, "delta": 1e-5}
    with pytest.raises(ValueError, match="protocol 'shuffle' with mechanism 'gaussian': name that"):
        accountants.bracket(**setting)
    assert accountants.bracket(**setting, protocol="shuffle", mechanism="gaussian").upper > 0
    # where no lower bound is computed, the reason is told
    with pytest.raises(
        ValueError, match=r"no accountant of kind 'lower' answers: .*: sigma must lie in \[0.1"
    ):
        accountants.bracket(**{**setting, "sigma": 0.05}, protocol="shuffle", mechanism="gaussian")
