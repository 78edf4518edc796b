"""The table of variables: what is made from it, and that it has all that the library takes."""

from __future__ import annotations

import math
import string

import pytest

from shuffledp import accountants
from shuffledp.accountants import systems
from shuffledp.profiles import named_randomizers
from shuffledp.reproduction.config import documentation
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
    """``systems.checked`` knows some shapes of ranges, and a new variable may have another."""
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
        (counts(2), (2, 2.0, 10**400), (1, 2.5, math.nan, math.inf), "a whole number >= 2"),
        (Range(0, 1), (0, 1, 0.5), (-0.1, 1.1, math.nan), "a number in [0, 1]"),
        (Range(0, 1, without_most=True), (0, 0.999), (1, 2), "a number in [0, 1)"),
        (Range(0, 1, without_least=True, without_most=True), (0.5,), (0, 1), "a number in (0, 1)"),
        (Range(0, 0.5, without_least=True), (0.5,), (0, 0.51), "a number in (0, 1/2]"),
    ],
)
def test_ranges(values, inside, outside, words):
    assert all(value in values for value in inside)
    assert not any(value in values for value in outside)
    assert "1" not in values
    assert values.words == words


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
