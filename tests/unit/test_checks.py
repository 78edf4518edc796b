"""The validators: what they accept and return, and that a refusal names argument, value and range."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from shuffledp import checks

NO_NUMBERS = ["3", None, True, np.True_, 1j]
NO_ARRAYS = [*NO_NUMBERS, ["a"], [True, False], np.array([1j]), [[1], [1, 2]]]
# float() of it overflows, and a count that large is of no use to any bound
TOO_LARGE = 10**400


def refusal(check, *arguments, **options):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the callers look at every part of the message
        check(*arguments, **options)
    return str(caught.value)


@pytest.mark.parametrize("value", [0, 0.5, np.float32(0.5), np.int64(3), Fraction(1, 2), 1e300])
def test_real_returns_a_python_float(value):
    result = checks.real("x", value)
    assert type(result) is float
    assert result == float(value)


@pytest.mark.parametrize("value", [*NO_NUMBERS, Decimal(1), np.array(1.0), [1.0]], ids=repr)
@pytest.mark.parametrize("check", [checks.real, checks.count, checks.probability])
def test_scalars_refuse_what_is_no_real_number(check, value):
    message = refusal(check, "x", value)
    assert message.startswith("x must ")
    assert "number" in message
    assert repr(value) in message


@pytest.mark.parametrize("check", [checks.real, checks.count])
def test_scalars_refuse_integers_beyond_float(check):
    assert refusal(check, "x", TOO_LARGE).startswith("x must ")


@pytest.mark.parametrize(
    ("value", "options", "accepted"),
    [
        (-1, {"at_least": 0.0}, "finite number >= 0"),
        (math.inf, {"at_least": 0.0}, "finite number >= 0"),
        (math.nan, {"at_least": 0.0}, "number >= 0"),
        (math.nan, {"at_least": 0.0, "finite": False}, "number >= 0"),
        (-math.inf, {"at_least": 0.0, "finite": False}, "number >= 0"),
    ],
)
def test_real_names_value_and_range(value, options, accepted):
    message = refusal(checks.real, "x", value, **options)
    assert message.startswith("x must ")
    assert str(value) in message
    assert accepted in message


def test_real_may_admit_infinity():
    assert checks.real("x", math.inf, at_least=0.0, finite=False) == math.inf


@pytest.mark.parametrize("value", [7, 7.0, np.int64(7), np.float64(7), Fraction(7)])
def test_count_accepts_whole_numbers_of_any_type(value):
    result = checks.count("n", value)
    assert type(result) is int
    assert result == 7


def test_count_keeps_integers_that_a_float_cannot_hold():
    assert checks.count("n", 2**53 + 1) == 2**53 + 1


@pytest.mark.parametrize("value", [0, -1, 1.5, math.nan, math.inf, -math.inf])
def test_count_names_value_and_range(value):
    message = refusal(checks.count, "n", value)
    assert message.startswith("n must ")
    assert str(value) in message
    assert "whole number >= 1" in message


def test_count_lower_limit_is_an_option():
    assert checks.count("k", 2, at_least=2) == 2
    assert ">= 2" in refusal(checks.count, "k", 1, at_least=2)


def test_clients_returns_both_and_refuses_more_than_all():
    assert checks.clients(1e6, 1e6) == (1_000_000, 1_000_000)
    message = refusal(checks.clients, 10, 11)
    assert message.startswith("k must be at most n")
    assert "k=11" in message
    assert "n=10" in message


@pytest.mark.parametrize(
    ("zero", "one", "interval"),
    [(False, False, "(0, 1)"), (True, False, "[0, 1)"), (False, True, "(0, 1]"), (True, True, "[0, 1]")],
)
def test_probability_end_points(zero, one, interval):
    for value, accepted in ((0, zero), (1, one)):
        if accepted:
            assert checks.probability("delta", value, zero=zero, one=one) == value
        else:
            assert interval in refusal(checks.probability, "delta", value, zero=zero, one=one)
    for value in (2, -1e-6, math.nan, math.inf):
        message = refusal(checks.probability, "delta", value, zero=zero, one=one)
        assert message.startswith("delta must ")
        assert f"{value}" in message or f"{float(value)}" in message
        assert interval in message


ARRAY_CHECKS = {
    "reals": (lambda value: checks.reals("x", value, at_least=0.0), "x", "numbers >= 0"),
    "probabilities": (lambda value: checks.probabilities("x", value), "x", "(0, 1)"),
    "counts": (lambda value: checks.counts("x", value), "x", "whole numbers >= 0"),
    "integer_orders": (checks.integer_orders, "order", "whole numbers >= 2"),
    "real_orders": (checks.real_orders, "order", "numbers > 1"),
}
OUTSIDE = {
    "reals": [-1e-300],
    "probabilities": [0.0, 1.0, -1e-6, 2.0],
    "counts": [-1, 1.5],
    "integer_orders": [1, 1 + 1e-8, 2.5, -2],
    "real_orders": [1, 0.5, -2],
}


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name in ARRAY_CHECKS for value in [*OUTSIDE[name], math.nan, math.inf, -math.inf]],
)
@pytest.mark.parametrize(
    "wrap", [lambda value: value, lambda value: [0.5, 2, value]], ids=["scalar", "array"]
)
def test_arrays_name_value_and_range(name, value, wrap):
    check, argument, accepted = ARRAY_CHECKS[name]
    message = refusal(check, wrap(value))
    assert message.startswith(f"{argument} must ")
    assert str(value) in message
    assert accepted in message


@pytest.mark.parametrize("name", ARRAY_CHECKS)
def test_refusals_of_long_arrays_are_one_short_line(name):
    check, _, _ = ARRAY_CHECKS[name]
    for value in (np.full(1000, -3.0), np.full((40, 50), "x")):
        message = refusal(check, value)
        assert "\n" not in message
        assert len(message) < 300
    assert "got -3.0 among 1000 values" in refusal(check, np.full(1000, -3.0))


@pytest.mark.parametrize("value", NO_ARRAYS, ids=repr)
@pytest.mark.parametrize("name", ARRAY_CHECKS)
def test_arrays_refuse_what_holds_no_real_numbers(name, value):
    check, argument, accepted = ARRAY_CHECKS[name]
    message = refusal(check, value)
    assert message.startswith(f"{argument} must ")
    assert accepted in message or "number" in message


@pytest.mark.parametrize("name", ARRAY_CHECKS)
def test_arrays_refuse_integers_beyond_float(name):
    check, argument, _ = ARRAY_CHECKS[name]
    assert refusal(check, [TOO_LARGE]).startswith(f"{argument} must ")


@pytest.mark.parametrize("value", [3, [2, 3], (2, 3), np.array([[2], [3]]), np.array([]), np.int32(3)])
@pytest.mark.parametrize("name", ["reals", "counts", "integer_orders", "real_orders"])
def test_arrays_come_back_as_float64_of_the_same_shape(name, value):
    check, _, _ = ARRAY_CHECKS[name]
    result = check(value)
    assert result.dtype == np.float64
    assert result.shape == np.shape(value)
    assert (result == np.asarray(value)).all()


def test_like_input_turns_only_zero_dimensions_into_a_float():
    assert type(checks.like_input(np.array(2.0))) is float
    assert type(checks.like_input(np.float64(2.0))) is float
    one = np.array([2.0])
    assert checks.like_input(one) is one
