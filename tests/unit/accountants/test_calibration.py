"""Answers of the inverse accounting lie on the safe side, and their neighbours on the other."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re

import pytest

from shuffledp import accountants
from shuffledp.accountants import calibration, registry, systems
from shuffledp.variables import VARIABLES

UPPER, LOWER = accountants.names("upper"), accountants.names("lower")
SYSTEM = {"n": 1e4, "k": 100}
FIELDS = {
    "citation": "here",
    "theorem": "none",
    "label": "made up",
    "needs": ("eps0-LDP",),
    "note": "A test.",
}
# What the numbers of seven digits are apart, at most.
LAST_DIGIT = 1e-6


def next_number(value, *, up):
    """The neighbouring number of seven significant digits."""
    mantissa, exponent = f"{value:.6e}".split("e")
    return float(f"{int(mantissa.replace('.', '')) + (1 if up else -1)}e{int(exponent) - 6}")


def has_seven_digits(value):
    return float(f"{value:.7g}") == value


@pytest.fixture
def made_up(monkeypatch):
    """Registers accountants of our own; they are gone after the test. Says how often each was asked."""
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    asked = []

    def enter(epsilon, *, kind="upper"):
        def compute(*, n, k, eps0, rounds, delta):
            asked.append((eps0, float(rounds[0]), delta))
            return {"epsilon": rounds * 0.0 + epsilon(eps0, float(rounds[0]), delta)}

        registry.register(name="made-up", kind=kind, **FIELDS)(compute)
        return asked

    return enter


def gaussian(eps0, rounds, delta):
    return eps0 * math.sqrt(2 * rounds * math.log(1 / delta))


# At n = k pure DP caps epsilon at rounds * eps0, and so `gaussian` wherever 2 log(1/delta) > rounds.
WHOLE = {"n": 10, "k": 10}


# --- the registered accountants


def test_hard_case_b4():
    setting = {"n": 1e6, "k": 1e3, "rounds": 1e5, "delta": 1e-8}
    found = calibration.largest_eps0("girgis2021-upper", target_eps=1, **setting)
    assert found == 1.968160
    assert 0.999999 < accountants.epsilon("girgis2021-upper", eps0=found, **setting) <= 1
    assert accountants.epsilon("girgis2021-upper", eps0=1.968161, **setting) > 1


@pytest.mark.parametrize("delta", [1e-6, 0])
@pytest.mark.parametrize("name", UPPER)
def test_eps0_fits_and_the_next_does_not(name, delta):
    setting = {**SYSTEM, "rounds": 200, "delta": delta}
    found = calibration.largest_eps0(name, target_eps=0.7, **setting)
    assert has_seven_digits(found)
    assert accountants.epsilon(name, eps0=found, **setting) <= 0.7
    assert accountants.epsilon(name, eps0=next_number(found, up=True), **setting) > 0.7


@pytest.mark.parametrize(
    ("name", "delta"),
    [
        # the two forms of one bound take seconds
        pytest.param(
            *(name, delta),
            marks=[pytest.mark.slow] if name.startswith("girgis2021ccs-wang2019") and delta else [],
        )
        for name in UPPER
        for delta in (1e-6, 0)
    ],
)
def test_rounds_fit_and_one_more_does_not(name, delta):
    setting = {**SYSTEM, "eps0": 1.0, "delta": delta}
    found = calibration.most_rounds(name, target_eps=0.7, **setting)
    assert type(found) is int
    assert accountants.epsilon(name, rounds=found, **setting) <= 0.7
    assert accountants.epsilon(name, rounds=found + 1, **setting) > 0.7


@pytest.mark.parametrize("name", UPPER)
def test_delta_of_an_upper_bound_is_rounded_up(name):
    setting = {**SYSTEM, "eps0": 1.0, "rounds": 200}
    eps = 0.9 * accountants.epsilon(name, delta=1e-6, **setting)
    found = calibration.delta_at(name, eps=eps, **setting)
    assert 1e-6 < found < 1
    assert has_seven_digits(found)
    assert accountants.epsilon(name, delta=found, **setting) <= eps
    assert accountants.epsilon(name, delta=next_number(found, up=False), **setting) > eps


@pytest.mark.parametrize("name", LOWER)
def test_delta_of_a_lower_bound_is_rounded_down(name):
    setting = {**SYSTEM, "eps0": 1.0, "rounds": 200}
    eps = 0.9 * accountants.epsilon(name, delta=1e-6, **setting)
    found = calibration.delta_at(name, eps=eps, **setting)
    assert 1e-6 < found < 1
    assert has_seven_digits(found)
    assert accountants.epsilon(name, delta=found, **setting) > eps
    assert accountants.epsilon(name, delta=next_number(found, up=True), **setting) <= eps


def test_bounds_on_delta_enclose_it():
    setting = {**SYSTEM, "eps0": 1.0, "rounds": 200, "eps": 0.15}
    lower, upper = (calibration.delta_at(name, **setting) for name in ("rr2-lower", "clones-pld"))
    assert 0 < lower < upper < 1


@pytest.mark.parametrize("name", ["girgis2021-upper", "unshuffled-strong", "rr2-lower"])
@pytest.mark.parametrize("delta", [1e-3, 1e-8, 2.5e-12])
def test_delta_comes_back(name, delta):
    setting = {**SYSTEM, "eps0": 1.0, "rounds": 200}
    eps = accountants.epsilon(name, delta=delta, **setting)
    assert calibration.delta_at(name, eps=eps, **setting) == pytest.approx(delta, rel=2 * LAST_DIGIT, abs=0)


def test_the_eps0_found_allows_the_rounds_asked_for():
    setting = {**SYSTEM, "delta": 1e-6}
    eps0 = calibration.largest_eps0("girgis2021-upper", target_eps=1, rounds=1234, **setting)
    # more may fit, since eps0 cannot be raised at will: Theorem 1 jumps where the number of clones does
    assert calibration.most_rounds("girgis2021-upper", target_eps=1, eps0=eps0, **setting) >= 1234


# --- against closed forms


@pytest.mark.parametrize("eps", [1e-3, 0.02, 0.5, 3.0])
@pytest.mark.parametrize(("kind", "up"), [("upper", True), ("estimate", True), ("lower", False)])
def test_delta_of_a_closed_form(made_up, eps, kind, up):
    asked = made_up(gaussian, kind=kind)
    exact = math.exp(-(eps**2) / (2 * 1000 * 0.01**2))
    found = calibration.delta_at("made-up", eps=eps, eps0=0.01, rounds=1000, **WHOLE)
    assert found == pytest.approx(exact, rel=LAST_DIGIT, abs=0)
    assert (found >= exact) == up
    assert len(asked) < 45


@pytest.mark.parametrize("target", [1e-5, 0.3, 1.0, 70.0])
def test_eps0_of_a_closed_form(made_up, target):
    asked = made_up(gaussian)
    exact = target / math.sqrt(2 * 1000 * math.log(1e6))
    found = calibration.largest_eps0("made-up", target_eps=target, rounds=1000, delta=1e-6, **WHOLE)
    assert exact * (1 - LAST_DIGIT) <= found <= exact
    assert len(asked) < 40


@pytest.mark.parametrize("target", [0.9, 1.0, 7.0, 1e4])
def test_rounds_of_a_closed_form(made_up, target):
    asked = made_up(gaussian)
    exact = target**2 / (2 * math.log(1e6) * 0.01**2)
    found = calibration.most_rounds("made-up", target_eps=target, eps0=0.01, delta=1e-6, **WHOLE)
    assert found == math.floor(exact)
    assert len(asked) < 50


def test_eps0_that_prints_short_stays_so():
    # basic composition, exactly: 0.3 / 3 rounds
    found = calibration.largest_eps0("unshuffled-strong", target_eps=0.3, rounds=3, delta=0, **WHOLE)
    assert 0.1 - LAST_DIGIT <= found <= 0.1
    assert accountants.epsilon("unshuffled-strong", rounds=3, delta=0, eps0=found, **WHOLE) <= 0.3


# --- accountants that misbehave


def test_jumps_are_kept_on_the_safe_side(made_up):
    made_up(lambda eps0, rounds, delta: math.inf if eps0 > 0.25 or rounds > 77 or delta < 3e-5 else 0.0)
    setting = {"target_eps": 0.01, "delta": 1e-3, **WHOLE}
    assert calibration.largest_eps0("made-up", rounds=10, **setting) == 0.25
    assert calibration.most_rounds("made-up", eps0=0.2, **setting) == 77
    assert calibration.delta_at("made-up", eps=0.01, eps0=0.2, rounds=10, **WHOLE) == 3e-5


def test_noise_is_kept_on_the_safe_side(made_up):
    def noisy(eps0, rounds, delta):
        return gaussian(eps0, rounds, delta) * (1 + 1e-4 * math.sin(1e9 * (eps0 + rounds + delta)))

    made_up(noisy)
    setting = {"rounds": 1000, "delta": 1e-6, **WHOLE}
    for target in (0.1, 0.2, 0.3, 0.5):
        eps0 = calibration.largest_eps0("made-up", target_eps=target, **setting)
        assert accountants.epsilon("made-up", eps0=eps0, **setting) <= target
        assert gaussian(eps0, 1000, 1e-6) == pytest.approx(target, rel=2e-4)


def test_nan_counts_as_too_much(made_up):
    made_up(lambda eps0, rounds, delta: math.nan if eps0 > 0.25 else 0.0)
    assert calibration.largest_eps0("made-up", target_eps=1, rounds=100, delta=1e-3, **WHOLE) == 0.25


# --- ends of the ranges


@pytest.mark.parametrize("name", ["clones-pld", "girgis2021-upper", "rr2-lower"])
def test_pure_dp_needs_no_delta(name):
    setting = {**SYSTEM, "eps0": 1.0, "rounds": 5}
    pure = accountants.epsilon(name, delta=0, **setting)
    assert calibration.delta_at(name, eps=pure, **setting) == 0
    assert calibration.delta_at(name, eps=2 * pure, **setting) == 0
    assert calibration.delta_at(name, eps=0, eps0=0, rounds=5, **SYSTEM) == 0
    assert calibration.delta_at(name, eps=0, eps0=1, rounds=0, **SYSTEM) == 0


def test_delta_where_nothing_is_certified(made_up):
    made_up(lambda eps0, rounds, delta: math.inf)
    assert calibration.delta_at("made-up", eps=0.5, eps0=1, rounds=1, **WHOLE) == 1


def test_delta_where_all_is_certified(made_up):
    made_up(lambda eps0, rounds, delta: 0.0)
    assert calibration.delta_at("made-up", eps=0.5, eps0=1, rounds=1, **WHOLE) == 1e-300


def test_lower_bound_that_excludes_nothing(made_up):
    made_up(lambda eps0, rounds, delta: 0.0, kind="lower")
    assert calibration.delta_at("made-up", eps=0.5, eps0=1, rounds=1, **WHOLE) == 0


def test_lower_bound_that_excludes_all(made_up):
    made_up(lambda eps0, rounds, delta: 1.0, kind="lower")
    assert calibration.delta_at("made-up", eps=0.5, eps0=1, rounds=1, **WHOLE) == 0.9999999


def test_delta_at_epsilon_zero():
    # one report of two-symbol randomised response: delta(0) is its total variation, tanh(eps0 / 2)
    setting = {"eps": 0, "n": 1, "k": 1, "eps0": 1.0, "rounds": 1}
    found = calibration.delta_at("unshuffled-strong", **setting)
    assert found == pytest.approx(math.tanh(0.5), rel=LAST_DIGIT, abs=0)
    assert found >= math.tanh(0.5)


# --- errors

CALIBRATE = {"target_eps": 1.0, "delta": 1e-6, **SYSTEM}


@pytest.mark.parametrize("name", LOWER)
def test_a_budget_is_kept_by_upper_bounds_only(name):
    with pytest.raises(ValueError, match=f"must be an upper bound .*'{name}' .lower.*girgis2021-upper"):
        calibration.largest_eps0(name, rounds=10, **CALIBRATE)
    with pytest.raises(ValueError, match="must be an upper bound"):
        calibration.most_rounds(name, eps0=1, **CALIBRATE)


def test_estimates_keep_no_budget(made_up):
    made_up(gaussian, kind="estimate")
    with pytest.raises(ValueError, match=r"must be an upper bound .*'made-up' \(estimate\)"):
        calibration.largest_eps0("made-up", rounds=10, **CALIBRATE)


def test_not_even_one_round():
    with pytest.raises(
        ValueError,
        match=r"for rounds from 1 to 1e\+15 epsilon goes from 3\.000001 to 3\.000001e\+15 by girgis2021",
    ):
        calibration.most_rounds("girgis2021-upper", target_eps=1, delta=1e-6, n=1, k=1, eps0=3)


def test_not_even_the_smallest_eps0(made_up):
    made_up(lambda eps0, rounds, delta: math.inf)
    # pure DP, which caps epsilon
    with pytest.raises(
        ValueError, match=r"for eps0 from 1e-30 to 100000 epsilon goes from 1\.00000.e-29 to "
    ):
        calibration.largest_eps0("made-up", target_eps=1e-30, rounds=10, delta=1e-6, **WHOLE)


def test_no_largest(made_up):
    made_up(lambda eps0, rounds, delta: 0.0)
    with pytest.raises(ValueError, match=r"met by every value of eps0 up to 100000, where .*; lower"):
        calibration.largest_eps0("made-up", rounds=10, **CALIBRATE)
    with pytest.raises(ValueError, match=r"met by every value of rounds up to 1e\+15, .*; lower"):
        calibration.most_rounds("made-up", eps0=0, **CALIBRATE)


FUNCTIONS = {
    "delta_at": (calibration.delta_at, {"eps": 1.0, "eps0": 1.0, "rounds": 10, **SYSTEM}),
    "largest_eps0": (calibration.largest_eps0, {"rounds": 10, **CALIBRATE}),
    "most_rounds": (calibration.most_rounds, {"eps0": 1.0, **CALIBRATE}),
}
NOT_NUMBERS = ["1", None, True, math.nan, math.inf]
BAD = {
    "n": [0, 99, 1.5, *NOT_NUMBERS],  # 99: fewer than k
    "k": [0, 10001, 1.5, *NOT_NUMBERS],
    "eps": [-0.1, *NOT_NUMBERS],
    "target_eps": [0, -0.1, *NOT_NUMBERS],
    "eps0": [-0.1, *NOT_NUMBERS],
    "rounds": [-1, 1.5, *NOT_NUMBERS, [1, 2]],
    "delta": [-1e-9, 1, 2, *NOT_NUMBERS],
}


@pytest.mark.parametrize(
    ("name", "argument", "value"),
    [
        (name, argument, value)
        for name, (_, accepted) in FUNCTIONS.items()
        for argument in accepted
        for value in BAD[argument]
    ],
)
def test_bad_arguments_are_named(name, argument, value):
    function, accepted = FUNCTIONS[name]
    with pytest.raises(ValueError, match=r"^(n|k|eps|target_eps|eps0|rounds|delta) must ") as caught:
        function("girgis2021-upper", **{**accepted, argument: value})
    message = str(caught.value)
    assert argument in message
    assert "\n" not in message


def test_calibration_for_no_rounds_is_refused():
    with pytest.raises(ValueError, match="rounds must be a whole number >= 1"):
        calibration.largest_eps0("girgis2021-upper", rounds=0, **CALIBRATE)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_unknown_accountants_are_refused(name):
    function, accepted = FUNCTIONS[name]
    with pytest.raises(
        ValueError, match="accountant must be a registered one, got 'girgis2021-uper': did you mean"
    ):
        function("girgis2021-uper", **accepted)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_are_keyword_only_and_directions_documented(name):
    function, _ = FUNCTIONS[name]
    _, *others = inspect.signature(function).parameters.values()
    kinds = {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD}
    assert {parameter.kind for parameter in others} <= kinds
    for part in ("Args:", "Returns:", "Raises:", "exceed"):
        assert part in function.__doc__


# --- a randomiser by its name


OF_ONE = {"n": 6e4, "k": 2e3, "randomizer": "privunit", "dimension": 13706}


def test_delta_of_a_named_randomiser():
    given = {**OF_ONE, "eps0": 2.0, "rounds": 5800}
    found = calibration.delta_at(eps=0.5475, **given)
    assert accountants.epsilon(**given, delta=found) <= 0.5475
    assert accountants.epsilon(**given, delta=found * (1 - 1e-6)) > 0.5475
    assert found < calibration.delta_at("clones-joint-pld", eps=0.5475, n=6e4, k=2e3, eps0=2.0, rounds=5800)


def test_eps0_and_rounds_of_a_named_randomiser():
    budget = {"target_eps": 0.5, "delta": 1e-5}
    eps0 = calibration.largest_eps0(**OF_ONE, **budget, rounds=5800)
    # what is known of a randomiser is derived anew for each eps0
    assert accountants.epsilon(**OF_ONE, eps0=eps0, rounds=5800, delta=1e-5) <= 0.5
    assert accountants.epsilon(**OF_ONE, eps0=eps0 + 1e-6, rounds=5800, delta=1e-5) > 0.5
    rounds = calibration.most_rounds(**OF_ONE, **budget, eps0=2.0)
    assert accountants.epsilon(**OF_ONE, eps0=2.0, rounds=rounds, delta=1e-5) <= 0.5
    assert accountants.epsilon(**OF_ONE, eps0=2.0, rounds=rounds + 1, delta=1e-5) > 0.5


@pytest.mark.parametrize(
    ("others", "protocol"),
    [
        ({"n": 1000, "k": 100}, "subsampled-shuffle"),
        ({"n": 100, "rate": 0.1}, "shuffled-check-in"),
        pytest.param({"n": 1000, "rate": 0.1}, "shuffled-check-in", marks=pytest.mark.slow),
        ({"n": 100}, "shuffle"),
        pytest.param({"n": 1000}, "shuffle", marks=pytest.mark.slow),
    ],
)
@pytest.mark.few(1)
def test_the_protocol_of_a_named_randomiser_follows_from_the_variables(others, protocol):
    given = {"eps0": 1.0, "rounds": 3, **others}
    known = {"share": 1 / (1 + math.e), "tv": math.tanh(0.5) / 2}
    name = {"subsampled-shuffle": "", "shuffled-check-in": "check-in-", "shuffle": "shuffle-"}[protocol]
    plain = calibration.delta_at(f"{name}blanket-pld", eps=0.1, **given, **known)
    found = calibration.delta_at(eps=0.1, **given, randomizer="oue")
    assert found == pytest.approx(plain, rel=1e-5)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "name one of accountant and randomizer, got neither"),
        (
            {"accountant": "clones-pld", "randomizer": "oue"},
            "name one of accountant and randomizer, got both",
        ),
        ({"randomizer": "krr"}, "needs categories"),
        ({"randomizer": "gaussian"}, "randomizer must be eps0-LDP"),
        ({"randomizer": "oue", "dimension": 3}, "got eps0, n, k, dimension"),
    ],
)
def test_what_is_asked_for_is_one_thing(given, says):
    for find in (
        lambda **asked: calibration.delta_at(eps=0.1, eps0=1.0, rounds=3, **asked),
        lambda **asked: calibration.most_rounds(target_eps=0.1, eps0=1.0, delta=1e-6, **asked),
    ):
        with pytest.raises(ValueError, match=says):
            find(n=1000, k=100, **given)


TV = {"n": 20, "k": 3, "tv": 0.3}


@pytest.mark.parametrize("known", [{}, {"share": 0.4}])
def test_total_variation_sets_a_least_eps0(known):
    name = "blanket-pld" if known else "tv-pld"
    least = math.log1p(0.3 / 0.7 / known["share"]) if known else 2 * math.atanh(0.3)
    # between the least eps0 and 1, of which a randomiser with less is impossible
    found = calibration.largest_eps0(name, **TV, **known, rounds=2, delta=1e-3, target_eps=0.2)
    assert least < found < 1
    given = {**TV, **known, "rounds": 2, "delta": 1e-3}
    assert accountants.epsilon(name, **given, eps0=found) <= 0.2
    assert accountants.epsilon(name, **given, eps0=found + 1e-6) > 0.2
    with pytest.raises(ValueError, match=r"is too small: .*, since no randomiser with .*tv=0\.3") as told:
        calibration.largest_eps0(name, **given, target_eps=1e-9)
    first = float(re.search(r"for eps0 from (\S+) to", str(told.value))[1])
    assert least < first <= least * (1 + 1e-6)
    assert accountants.epsilon(name, **given, eps0=first) > 1e-9


# --- any variable

SMALL = {
    **{
        "n": 12,
        "k": 5,
        "arriving": 3,
        "eps0": 1.0,
        "rate": 0.3,
        "sigma": 3.0,
        "slots": 6,
        "participation": 0.5,
    },
    **{"delta0": 1e-9, "share": 0.4, "tv": 0.2, "categories": 3, "gamma": 0.5, "rounds": 3, "delta": 1e-3},
}


def question(system):
    """A small setting of a system, and the variables that may be asked for there."""
    setting = {name: SMALL[name] for name in (*system.variables, "rounds", "delta")}
    return setting, [name for name in setting if VARIABLES[name].rises is not None]


def test_the_unknown_is_not_given_too():
    setting = {"n": 1e6, "k": 1e3, "rounds": 1e5, "delta": 1e-8}
    with pytest.raises(ValueError, match=r"^eps0 is the unknown, got eps0=2 too; leave one of them out$"):
        calibration.solve("clones-joint-pld", unknown="eps0", target_eps=1, eps0=2, **setting)


@pytest.mark.parametrize(
    ("system", "unknown"),
    [
        pytest.param(
            *(system, unknown),
            id=f"{system.protocol}-{system.mechanism}-{unknown}",
            # of the systems that take seconds, one is in the ordinary suite
            marks=[pytest.mark.slow]
            if (system.mechanism == "approximate-ldp" and system.protocol != "fixed-window")
            or (system.mechanism == "gaussian" and system.protocol == "shuffled-check-in")
            or (system.mechanism, system.protocol, unknown) == ("gaussian", "shuffle", "sigma")
            else [],
        )
        for system in systems.systems()
        for unknown in question(system)[1]
    ],
)
@pytest.mark.few(34)
def test_any_variable_of_any_system_is_found_and_its_neighbour_is_too_much(system, unknown):
    name = system.default
    setting, _ = question(system)
    # the variable as it is costs somewhat more or less
    target = accountants.epsilon(name, **setting) * (0.9 if VARIABLES[unknown].rises else 1.05)
    given = {key: value for key, value in setting.items() if key != unknown}
    found = calibration.solve(name, unknown=unknown, target_eps=target, **given)
    assert accountants.epsilon(name, **given, **{unknown: found}) <= target
    rises = VARIABLES[unknown].rises
    if VARIABLES[unknown].whole:
        assert isinstance(found, int)
        beyond = found + (1 if rises else -1)
    else:
        assert has_seven_digits(found)
        beyond = next_number(found, up=rises)
    assert accountants.epsilon(name, **given, **{unknown: beyond}) > target


def test_the_variables_that_are_asked_for():
    asked = {unknown for system in systems.systems() for unknown in question(system)[1]}
    assert asked == {"eps0", "rounds", "k", "n", "arriving", "rate", "sigma", "delta"}


def test_values_that_an_accountant_refuses_keep_no_budget():
    """Of little noise the accountant knows nothing: the search goes on with more of it."""
    name, given = "distributed-check-in-pld", {"n": 100, "rate": 0.1, "rounds": 1, "delta": 1e-2}
    found = calibration.solve(name, unknown="sigma", target_eps=1e6, **given)
    assert accountants.epsilon(name, sigma=found, **given) <= 1e6
    with pytest.raises(ValueError, match="sigma must be at least"):
        accountants.epsilon(name, sigma=next_number(found, up=False), **given)


def test_ends_of_a_range_are_answers():
    assert (
        calibration.solve("girgis2021-upper", unknown="k", target_eps=1e4, n=50, eps0=1, rounds=1, delta=0)
        == 50
    )
    assert (
        calibration.solve("girgis2021-upper", unknown="n", target_eps=1e4, k=50, eps0=1, rounds=1, delta=0)
        == 50
    )


@pytest.mark.parametrize(
    ("name", "unknown", "setting", "end"),
    [
        (
            "liew2022-upper",
            "rate",
            {"n": 50, "eps0": 1},
            "up to 0.9999999, .* so there is no largest",
        ),
        (
            "clones-joint-pld",
            "eps0",
            {"n": 50, "k": 5},
            "up to 100000, .* so there is no largest",
        ),
        (
            "gaussian-unshuffled",
            "sigma",
            {"n": 50},
            "down to 1e-100, where epsilon is 0 by kept, so there is no least",
        ),
    ],
)
def test_what_any_value_keeps_has_no_largest_and_no_least(made_up, name, unknown, setting, end):
    made_up(gaussian)
    entry = dataclasses.replace(
        accountants.get(name), name="kept", compute=lambda rounds, **others: {"epsilon": 0.0 * rounds}
    )
    registry._REGISTRY["kept"] = entry
    with pytest.raises(ValueError, match=f"is met by every value of {unknown} {end}.*; lower target_eps or"):
        calibration.solve("kept", unknown=unknown, target_eps=1, rounds=1, delta=1e-6, **setting)


@pytest.mark.parametrize(
    ("name", "asked", "message"),
    [
        (
            "clones-joint-pld",
            {"unknown": "k", "target_eps": 1e-9, "n": 50, "eps0": 1, "rounds": 1, "delta": 0},
            "target_eps=1e-09 is too small: for k from 1 to 50 epsilon goes from 0.03",
        ),
        (
            "gaussian-unshuffled",
            {"unknown": "n", "target_eps": 0.1, "sigma": 1, "rounds": 3, "delta": 1e-6},
            "for n from 1 to 1e+15 epsilon goes from 9.25",
        ),
        pytest.param(
            # of so little noise as the smallest its accountant knows nothing
            "distributed-check-in-pld",
            {"unknown": "sigma", "target_eps": 0.1, "n": 1000, "rate": 0.1, "rounds": 10, "delta": 1e-6},
            "for sigma from 1e-100 to 1e+100 epsilon goes from 0.125818",
            marks=pytest.mark.slow,  # fourteen seconds
        ),
        (
            "krr-weak",
            {"unknown": "gamma", "target_eps": 1, "n": 5, "categories": 3, "rounds": 1, "delta": 1e-6},
            "unknown must be one of n, rounds, delta for shuffle with krr, got 'gamma'",
        ),
        (
            "gaussian-unshuffled",
            {"unknown": "delta", "target_eps": 1e-3, "n": 5, "sigma": 1e-3, "rounds": 1},
            "no delta below 1 keeps it by gaussian-unshuffled, whose epsilon at delta=0.9999999 is 4",
        ),
    ],
)
def test_what_cannot_be_found_is_told_with_what_there_is(name, asked, message):
    with pytest.raises(ValueError, match=r"target_eps|unknown") as caught:
        calibration.solve(name, **asked)
    assert message in str(caught.value)
