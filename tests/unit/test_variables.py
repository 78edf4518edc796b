"""The table of variables: what is made from it, and that it has all that the library takes."""

from __future__ import annotations

import math
import string
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pydantic
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shuffledp import accountants
from shuffledp.accountants import systems
from shuffledp.profiles import named_randomizers
from shuffledp.reproduction.config import documentation
from shuffledp.reproduction.sections.model import of_variable
from shuffledp.variables import OF_QUESTIONS, OF_RANDOMIZERS, OF_SYSTEMS, VARIABLES, Range, counts

EVERY = pytest.mark.parametrize("variable", VARIABLES.values(), ids=VARIABLES)
OUTSIDE = (-1.0, 0.0, 0.5, 0.75, 1.0, 1.5, 2.0, math.inf, -math.inf, math.nan)


def test_no_name_option_or_letter_stands_for_two():
    names = [one.name for part in (OF_SYSTEMS, OF_RANDOMIZERS, OF_QUESTIONS) for one in part]
    assert len(names) == len(set(names)) == len(VARIABLES)
    options = [one.option for one in VARIABLES.values()]
    assert len(options) == len(set(options))


@EVERY
def test_an_entry_is_complete(variable):
    assert variable.option.startswith("--")
    assert set(variable.letter) <= set(string.ascii_uppercase + string.digits)
    assert variable.meaning
    assert not variable.meaning.endswith(".")
    assert variable.label
    assert variable.limit is None or variable.most in variable.range or variable.limit.most == math.inf


@EVERY
def test_the_library_refuses_what_lies_beyond_the_ends(variable):
    wanted = variable.range
    step = 1 if wanted.whole else 1e-9
    beyond = [wanted.least - step, wanted.most + step, *[wanted.least] * wanted.without_least]
    beyond += [wanted.most] * wanted.without_most + [wanted.least + 0.5] * wanted.whole
    for value in beyond:
        assert value not in wanted
        with pytest.raises(ValueError, match=variable.name):
            systems.checked(variable.name, value)


@EVERY
def test_what_is_searched_for_has_an_end(variable):
    if variable.rises is not None and not variable.range.whole:
        assert variable.most < math.inf


def test_systems_are_set_by_the_variables_of_the_table():
    taken = {name for system in systems.systems() for name in system.variables}
    assert taken == {one.name for one in OF_SYSTEMS}
    assert set(systems.variables()) == {one.name for one in (*OF_SYSTEMS, *OF_QUESTIONS)}


def test_randomisers_are_set_by_the_variables_of_the_table():
    taken = {
        name for randomizer in named_randomizers.NAMES for name in named_randomizers.parameters(randomizer)
    }
    assert taken == {one.name for one in OF_RANDOMIZERS} | {"categories"}


@pytest.mark.parametrize(
    ("values", "inside", "outside", "words"),
    [
        (Range(), (0, 1e300), (-1e-300, math.inf, math.nan), "a finite number >= 0"),
        (Range(without_least=True), (1e-300, 3), (0, -1, math.inf), "a finite number > 0"),
        (counts(2), (2, 2.0, 10**300), (1, 2.5, math.nan, math.inf, 10**400), "a whole number >= 2"),
        (Range(0, 1), (0, 1, 0.5), (-0.1, 1.1, math.nan), "a number in [0, 1]"),
        (Range(0, 1, without_most=True), (0, 0.999), (1, 2), "a number in [0, 1)"),
        (Range(0, 1, without_least=True, without_most=True), (0.5,), (0, 1), "a number in (0, 1)"),
        (Range(0, 0.5, without_least=True), (0.5,), (0, 0.51), "a number in (0, 1/2]"),
        (Range(2, 9, whole=True), (2, 9.0), (1, 10, 2.5), "a whole number in [2, 9]"),
        (Range(0, 3, without_most=True, whole=True), (0, 2), (-1, 3), "a whole number in [0, 3)"),
        (Range(1, without_least=True, whole=True), (2,), (1, 1.5), "a whole number > 1"),
        (Range(3), (3, 1e9), (2.999, 0), "a finite number >= 3"),
        (Range(-math.inf, 2), (-1e9, 2), (2.001, -math.inf), "a number in (-inf, 2]"),
        (Range(-math.inf), (-1e300, 1e300), (-math.inf, math.nan), "a finite number"),
        (Range(1234567), (1234567,), (1234566,), "a finite number >= 1234567"),
    ],
)
def test_ranges(values, inside, outside, words):
    assert all(value in values for value in inside)
    assert not any(value in values for value in outside)
    assert not any(value in values for value in ("1", True, None, [1], 1j))
    assert values.words == words


ENDS = st.one_of(st.integers(-3, 3), st.sampled_from((0.5, -0.5, 1e-30, 1e15, 1e-300, math.inf, -math.inf)))
RANGES = st.builds(Range, ENDS, ENDS, st.booleans(), st.booleans(), st.booleans())
NUMBERS = st.one_of(
    st.integers(-4, 4),
    st.sampled_from((10**15, 10**15 + 1, -(10**15), 10**400, -(10**400), math.nan, math.inf, -math.inf)),
    st.floats(-4, 4),
    st.sampled_from((0.5, -0.5, 1e-30, 5e-324, 0.25, 1e-300, -0.0)),
    st.fractions(-4, 4, max_denominator=4),
    st.integers(-4, 4).map(np.int64),
    st.sampled_from((0.5, 1.0, 2.5)).map(np.float64),
)
NO_NUMBERS = st.sampled_from((True, False, np.True_, "1", "", None, [1], (1,), [], 1j, {}, np.array([1.0])))


def lies_within(value, wanted):
    """The definition of a range, in exact arithmetic."""
    if (isinstance(value, float) and not math.isfinite(value)) or abs(value) > sys.float_info.max:
        return False
    exact = Fraction(value.item() if isinstance(value, np.generic) else value)
    if wanted.whole and exact.denominator > 1:
        return False
    # what is no whole number is computed with as a double
    exact = exact if wanted.whole else Fraction(float(exact))
    for end, sign, left_out in (
        (wanted.least, 1, wanted.without_least),
        (wanted.most, -1, wanted.without_most),
    ):
        if math.isinf(end):
            if end * sign > 0:
                return False
        elif (exact - Fraction(end)) * sign < 0 or (left_out and exact == Fraction(end)):
            return False
    return True


@given(wanted=RANGES, value=NUMBERS)
@example(wanted=Range(2, 9, whole=True), value=10)
@example(wanted=Range(1), value=0.5)
@example(wanted=Range(0, 1, without_least=True), value=0)
def test_every_range_is_held_at_both_ends(wanted, value):
    name = "share"
    variable = replace(VARIABLES[name], range=wanted)
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(VARIABLES, name, variable)
        if lies_within(value, wanted):
            assert value in wanted
            found = systems.checked(name, value)
            assert type(found) is (int if wanted.whole else float)
            assert found == (value if wanted.whole else float(value))
        else:
            assert value not in wanted
            with pytest.raises(ValueError, match=f"^{name} must ") as caught:
                systems.checked(name, value)
            of_range = wanted.words.removeprefix("a number in ")
            assert f"{of_range}, got {value!r}{variable.hint}" in str(caught.value)


@given(wanted=RANGES, value=NO_NUMBERS)
def test_what_is_no_number_is_in_no_range(wanted, value):
    assert value not in wanted
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(VARIABLES, "eps0", replace(VARIABLES["eps0"], range=wanted))
        with pytest.raises(ValueError, match=r"^eps0 must be a single real number, got ") as caught:
            systems.checked("eps0", value)
    several = isinstance(value, list | tuple | dict | np.ndarray)
    assert str(caught.value).endswith(VARIABLES["eps0"].several) == several


@given(wanted=RANGES)
def test_the_ends_of_whole_numbers_are_the_last_ones_in_the_range(wanted):
    wanted = wanted._replace(whole=True)
    for end, step, last in ((wanted.least, -1, wanted.smallest), (wanted.most, 1, wanted.largest)):
        if math.isinf(end):
            assert last == end
        else:
            assert last + step not in wanted
            other = wanted._replace(most=math.inf) if step < 0 else wanted._replace(least=-math.inf)
            assert last in other


def test_a_long_list_is_told_in_a_short_line():
    with pytest.raises(ValueError, match=r"^eps0 must be a single real number, got .*\.\.\.") as caught:
        systems.checked("eps0", np.arange(5000.0))
    assert len(str(caught.value)) < 250
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wanted", [Range(2, 9, whole=True), Range(2, 9), Range(-math.inf, 4, True, True)])
def test_the_configuration_holds_a_range_at_both_ends(wanted):
    variable = replace(VARIABLES["n"], range=wanted)
    field = pydantic.TypeAdapter(of_variable(variable))
    for value in (-5, 1, 2, 3.0, 4, 9, 10, 1e14):
        if value in wanted:
            assert field.validate_python(value) == value
        else:
            with pytest.raises(pydantic.ValidationError):
                field.validate_python(value)


@pytest.mark.parametrize("value", OUTSIDE)
@pytest.mark.parametrize("variable", OF_SYSTEMS, ids=lambda one: one.name)
def test_the_library_refuses_what_is_out_of_the_range_of_the_table(variable, value):
    if value in variable.range:
        assert systems.checked(variable.name, value) == value
    else:
        with pytest.raises(ValueError, match=f"^{variable.name} must .*, got {value!r}"):
            systems.checked(variable.name, value)


@pytest.mark.parametrize("variable", [*OF_SYSTEMS, VARIABLES["rounds"]], ids=lambda one: one.name)
def test_the_configuration_may_fix_what_is_in_the_range_of_the_table(variable):
    said = documentation.schema()["$defs"]["BoundsPanel"]["properties"][variable.name]
    least = said.get("minimum", said.get("exclusiveMinimum"))
    most = said.get("maximum", said.get("exclusiveMaximum", math.inf))
    assert said["type"] == ("integer" if variable.whole else "number")
    limited = variable.limit is not None and variable.limit.most < math.inf
    assert ("exclusiveMinimum" in said) == (variable.range.without_least and not variable.limit)
    assert ("exclusiveMaximum" in said) == (variable.range.without_most and not limited)
    # that 0 is one and what is just above it is none, a schema does not say
    least_of_limit = variable.limit.least if variable.limit and 0 not in variable.range else 0
    assert (least, most) == (max(least_of_limit, variable.range.least), variable.most)


@pytest.mark.parametrize(
    "variable", [one for one in VARIABLES.values() if one.limit], ids=lambda one: one.name
)
def test_a_value_beyond_a_limit_is_refused_with_its_reason(variable):
    limit = variable.limit
    if limit.most < math.inf:
        assert variable.beyond(limit.most) is None
        assert variable.beyond(2 * limit.most).endswith(f"since {limit.why}, got {2 * limit.most!r}")
    if limit.least:
        assert variable.beyond(limit.least) is None
        said = variable.beyond(limit.least / 2)
        assert said.startswith("must be 0 or at least" if 0 in variable.range else "must be at least")
        assert said.endswith(f"since {limit.why_least or limit.why}, got {limit.least / 2!r}")


def test_bounds_for_one_relation_of_neighbours_say_nothing_of_another():
    removal = [system for system in systems.systems() if system.neighbours is systems.Neighbours.REMOVAL]
    assert [str(system) for system in removal] == ["distributed-check-in with gaussian"]
    setting = {"n": 1000, "rate": 0.05, "sigma": 2.0}
    rows = []
    for protocol in ("distributed-check-in", "shuffled-check-in"):
        entries = [
            accountants.get(name) for name in accountants.names(protocol=protocol, mechanism="gaussian")
        ]
        found, _ = accountants.attempts(entries, **setting, rounds=1, delta=1e-5)
        assert found
        rows += found
    with pytest.raises(ValueError, match=r"neighbours by removal .* neighbours by substitution"):
        accountants.bracket_of(rows)


def test_names_and_words_of_variables_do_not_make_curves_stale(shipped):
    for curve in shipped.curves:
        assert "shuffledp.variables" in curve.product(shipped.results).without


def test_a_bracket_whose_ends_cross_is_refused():
    low, high = accountants.get("rr2-lower"), accountants.get("clones-pld")
    assert accountants.bracket_of([(low, {"epsilon": 1.0}), (high, {"epsilon": 1.0})]).ratio == 1
    with pytest.raises(ArithmeticError, match=r"1\.1 of rr2-lower exceeds the upper bound 1 of clones-pld"):
        accountants.bracket_of([(low, {"epsilon": 1.1}), (high, {"epsilon": 1.0})])
    assert accountants.bracket_of([(high, {"epsilon": 1.0})]) is None
