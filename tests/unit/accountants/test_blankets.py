"""Accountants by what is known of a randomiser, and randomisers by name."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp

from shuffledp import accountants, numerics
from shuffledp.accountants import blankets, systems
from shuffledp.accountants.evaluation import evaluate
from shuffledp.profiles import attacks, four_kinds, named_randomizers, two_records, worst_kinds
from shuffledp.profiles.named_randomizers import named
from shuffledp.randomizers import constants

from ..profiles.test_named_randomizers import WITHOUT, ids

MNIST = {"n": 6e4, "k": 2e3, "eps0": 2.0, "rounds": 5800, "delta": 1e-5}
LARGE = {"n": 1e6, "k": 1e3, "eps0": 2.0, "rounds": 1e5, "delta": 1e-8}
SMALL = {"n": 1000, "k": 100, "eps0": 1.5, "rounds": 50, "delta": 1e-6}


# --- values


# Independent program: upper lattices, the reports of no kind in 40 blocks.
KNOWN = [
    (MNIST, {0.5: 0.6353, 0.2158: 0.5475, 0.1: 0.4410, 0.01: 0.1591}),
    (LARGE, {0.5: 0.1457, 0.2158: 0.1263, 0.1: 0.1027, 0.01: 0.0386}),
]


@pytest.mark.parametrize("index", range(len(KNOWN)))
def test_known_values(index):
    setting, values = KNOWN[index]
    for share, value in values.items():
        found = accountants.epsilon("share-pld", **setting, share=share)
        assert value * (1 - 1.5e-3) < found < value + 6e-5


# Between an optimistic and a pessimistic lattice of an independent program.
WITHIN = [
    ({"n": 6e4, "k": 1e4, "eps0": 1.5, "rounds": 1200, "delta": 1e-5}, 0.42082, 0.42097),
    (MNIST, 0.63500, 0.63531),
    (LARGE, 0.14559, 0.14572),
    ({**LARGE, "eps0": 3.0}, 0.28233, 0.28260),
    ({**LARGE, "eps0": 1.0}, 0.05642, 0.05645),
]


@pytest.mark.parametrize(("setting", "low", "high"), WITHIN)
def test_half_a_share_is_any_randomiser(setting, low, high):
    assert low < accountants.epsilon("share-pld", **setting, share=0.5) < high + 1e-5


@pytest.mark.parametrize("eps0", [150.0, 300.0])
def test_a_share_below_what_is_accounted_for_is_that(eps0):
    """The cap of PrivUnit in 100 dimensions is 1.7e-126 of the sphere at eps0 = 300."""
    setting = {"n": 1000, "eps0": eps0, "rounds": 1, "delta": 1e-9}
    found = accountants.bracket(**setting, randomizer="privunit", dimension=100)
    assert 0 <= found.lower <= found.upper <= accountants.bracket(**setting, protocol="shuffle").upper


def test_privunit_in_the_dimension_of_the_network():
    found = named("privunit", eps0=2.0, dimension=13706)
    assert found.share == pytest.approx(0.2158, abs=5e-5)
    assert accountants.epsilon(**MNIST, randomizer="privunit", dimension=13706) < 0.5476


# Exact, of one round of two cells with all others on a third record, each hash function equally likely.
@pytest.mark.parametrize(
    ("n", "least"), [(100, 1.549), (1000, 0.3084), pytest.param(10_000, 0.0827, marks=pytest.mark.slow)]
)
def test_a_hash_that_is_public_leaks_more_than_one_in_each_report(n, least):
    setting = {"n": n, "eps0": 2.0, "rounds": 1, "delta": 1e-6, "cells": 2}
    assert accountants.epsilon(**setting, randomizer="public-hashing") > least
    assert accountants.epsilon(**setting, randomizer="local-hashing", collision=0.5) < least


@pytest.mark.parametrize("collision", [0.0, 0.25, 0.5, 0.8])
def test_a_lower_end_takes_collisions_into_account(collision):
    setting = {"n": 1e4, "k": 1e3, "eps0": 2.0, "rounds": 100, "delta": 1e-6}
    lower, upper = (
        accountants.named.accountant(
            kind, randomizer="local-hashing", kind=kind, cells=2, collision=collision
        )
        for kind in ("lower", "upper")
    )
    assert 0 < float(lower.epsilon(**setting)) <= float(upper.epsilon(**setting))


def test_a_lower_bound_above_the_upper_one_is_not_hidden(monkeypatch):
    monkeypatch.setattr(accountants.named_lower, "of_case", lambda *_: (9.0, "some data set"))
    with pytest.raises(
        ArithmeticError, match=r"9 of 'oue' with some data set exceeds the upper bound .* 'blank"
    ):
        accountants.bracket(**SMALL, randomizer="oue")
    accountants.brackets.check_order(1 + 1e-7, 1.0, ("one", "other"))
    accountants.brackets.check_order(0.0, 0.0, ("one", "other"))
    with pytest.raises(ArithmeticError, match=r"1.00001 of one exceeds the upper bound 1 of other"):
        accountants.brackets.check_order(1 + 1e-5, 1.0, ("one", "other"))


# --- what must hold between the answers


@pytest.mark.parametrize(("name", "parameters"), WITHOUT, ids=ids)
def test_a_named_randomiser_has_a_bracket(name, parameters):
    found = accountants.bracket(**SMALL, randomizer=name, **parameters)
    assert [type(one) for one in (found.lower, found.upper, found.ratio, *found.names)] == [float] * 3 + [
        str
    ] * 2
    anyone = accountants.epsilon("share-pld", **SMALL, share=0.5)
    assert 0.6 * found.upper < found.lower < found.upper <= anyone * (1 + 1e-4)
    assert found.upper == accountants.epsilon(**SMALL, randomizer=name, **parameters)
    assert found.upper <= accountants.epsilon("clones-pld", **SMALL) * (1 + 1e-4)
    assert found.names[1] in ("share-pld", "tv-pld", "blanket-pld")


@pytest.mark.parametrize("categories", [3, 10, 100])
def test_the_bracket_of_randomised_response_closes(categories):
    found = accountants.bracket(**MNIST, randomizer="krr", categories=categories)
    assert found.upper < 1.02 * found.lower
    assert "third" in found.names[0]


@pytest.mark.parametrize(
    ("name", "parameters", "share"), [("hemisphere", {}, 0.5), ("privunit", {"dimension": 13706}, 0.2158)]
)
def test_what_is_open_for_parts_of_the_sphere(name, parameters, share):
    """With many reports the root mean squares of the two losses differ by sqrt(1/(1 - f (1 - 1/e)))."""
    n, eps0 = 10**5, 2.0
    found = named(name, eps0=eps0, **parameters)
    lower, _ = attacks.score_outcomes(found.first, found.second, [(found.third, n - 1)])
    upper = four_kinds.kinds_outcomes(n=n, k=n, eps0=eps0, share=found.share)
    ratio = math.sqrt(float(upper.mass @ upper.loss**2) / float(lower.mass @ lower.loss**2))
    assert ratio == pytest.approx(math.sqrt(1 / (1 - share * (1 - math.exp(-eps0)))), rel=2e-3)


def test_others_on_the_first_category_are_worse_at_a_small_delta():
    found = accountants.bracket(n=100, eps0=2.0, rounds=1, delta=1e-6, randomizer="krr", categories=2)
    assert "first" in found.names[0]
    assert found.upper == pytest.approx(1.606, abs=1e-3)
    anyone = accountants.bracket(n=100, eps0=2.0, rounds=1, delta=1e-6, protocol="shuffle")
    assert anyone.upper == pytest.approx(1.666, abs=1e-3)


@pytest.mark.parametrize("prefix", ["", "check-in-", "shuffle-"])
def test_less_known_is_never_less(prefix):
    setting = {
        "": {"n": 1000, "k": 50},
        "check-in-": {"n": 1000, "rate": 0.05},
        "shuffle-": {"n": 60},
    }[prefix] | {"eps0": 1.0, "rounds": [1, 20], "delta": 1e-5}
    shares = [accountants.epsilon(f"{prefix}share-pld", **setting, share=f) for f in (0.1, 0.3, 0.5)]
    assert all((one < two).all() for one, two in itertools.pairwise(shares))
    tvs = [accountants.epsilon(f"{prefix}tv-pld", **setting, tv=tv) for tv in (0.1, 0.3, math.tanh(0.5))]
    assert all((one < two).all() for one, two in itertools.pairwise(tvs))
    # the largest total variation says as much as half a share
    assert tvs[-1] == pytest.approx(shares[-1], rel=1e-6)
    both = accountants.epsilon(f"{prefix}blanket-pld", **setting, share=0.3, tv=0.1)
    assert (both <= np.minimum(shares[1], tvs[0]) * (1 + 1e-4)).all()
    # all the total variation that the blanket leaves adds nothing
    left = 0.3 * math.expm1(1.0) / (1 + 0.3 * math.expm1(1.0))
    same = accountants.epsilon(f"{prefix}blanket-pld", **setting, share=0.3, tv=left)
    assert same == pytest.approx(shares[1], rel=1e-12)


def test_the_clones_without_subsampling():
    setting = {"n": 500, "eps0": 1.5, "rounds": [1, 4, 16], "delta": 1e-6}
    clones = accountants.epsilon("shuffle-clones", **setting)
    assert accountants.epsilon("shuffle-share-pld", **setting, share=0.5) == pytest.approx(clones, rel=3e-4)


def test_everyone_checks_in_at_a_rate_next_to_one():
    setting = {"n": 300, "eps0": 1.0, "rounds": 3, "delta": 1e-6, "share": 0.2}
    almost = accountants.epsilon("check-in-share-pld", **setting, rate=1 - 1e-12)
    assert almost == pytest.approx(accountants.epsilon("shuffle-share-pld", **setting), rel=1e-4)


@pytest.mark.parametrize("n", [1, 10**9, 10**12])
@pytest.mark.parametrize("numbers", [{"share": 0.2}, {"tv": 0.2}, {"share": 0.4, "tv": 0.2}], ids=str)
def test_from_one_client_to_very_many(n, numbers):
    mechanism = "-".join(numbers) if len(numbers) == 1 else "blanket"
    setting = {"n": n, "k": min(n, 1000), "eps0": 1.0, "rounds": [1, 10], "delta": 1e-9}
    found = accountants.epsilon(f"{mechanism}-pld", **setting, **numbers)
    assert (np.diff(found) >= 0).all()
    assert (found >= 0).all()
    assert (found <= np.array([1, 10]) * math.log1p(min(n, 1000) / n * math.expm1(1.0)) * (1 + 1e-12)).all()


@pytest.mark.parametrize("eps0", [0.0, 1e-30, 1e-12, 12.0, 130.0, 300.0, 800.0])
@pytest.mark.parametrize(("name", "parameters"), [WITHOUT[0], WITHOUT[5], WITHOUT[6], WITHOUT[11]], ids=ids)
@pytest.mark.few(14)
def test_no_lower_end_exceeds_the_upper_at_extreme_eps0(name, parameters, eps0):
    found = accountants.bracket(**{**SMALL, "eps0": eps0}, randomizer=name, **parameters)
    assert 0 <= found.lower <= found.upper
    assert not math.isnan(found.upper)
    if eps0 == 0:
        assert found.upper == 0


def test_a_protocol_follows_from_its_variables():
    target = {"eps0": 1.0, "rounds": 10, "delta": 1e-6, "randomizer": "krr", "categories": 4}
    for setting, name in (
        ({"n": 500, "k": 50}, "share-pld"),
        ({"n": 500, "rate": 0.1}, "check-in-share-pld"),
        ({"n": 500}, "shuffle-share-pld"),
    ):
        found = accountants.bracket(**setting, **target)
        assert found.names[1] == name
        assert found.lower > 0.9 * found.upper
        own = {key: value for key, value in target.items() if key not in ("randomizer", "categories")}
        assert found.upper == pytest.approx(accountants.epsilon(name, **setting, **own, share=0.25), rel=1e-9)


def test_another_accountant_for_a_randomiser():
    krr = {**SMALL, "randomizer": "krr", "categories": 10}
    assert accountants.epsilon("clones-pld", **krr) == accountants.epsilon("clones-pld", **SMALL)
    both = accountants.epsilon("blanket-pld", **krr)
    assert both == pytest.approx(accountants.epsilon(**krr), rel=1e-9)
    assert accountants.epsilon("tv-pld", **krr) >= both * (1 - 1e-4)


def test_a_curve_of_a_randomiser_derives_its_numbers_at_each_eps0():
    setting = {"n": 500.0, "k": 50.0, "rounds": 10.0, "delta": 1e-6}
    given = {"randomizer": "privunit", "dimension": 64}
    for kind in ("lower", "upper"):
        entry = accountants.named.accountant(f"own-{kind}", kind=kind, **given)
        found = evaluate(entry, variable="eps0", values=[0.5, 3.0], fixed=setting)["epsilon"]
        brackets = [accountants.bracket(**{**setting, "eps0": eps0}, **given) for eps0 in (0.5, 3.0)]
        assert found == pytest.approx([getattr(one, kind) for one in brackets], rel=1e-12)
        assert (entry.name, entry.kind) == (f"own-{kind}", kind)


def test_without_a_randomiser_an_accountant_is_that_of_the_registry():
    assert accountants.named.accountant("clones-pld") is accountants.get("clones-pld")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"randomizer": "krr"}, "needs categories"),
        ({"randomizer": "krr", "categories": 1}, "categories"),
        ({"randomizer": "subset-selection", "categories": 5, "subset": 5}, "subset must be smaller"),
        ({"randomizer": "privunit", "dimension": 1}, "dimension must be a whole number >= 2, got 1"),
        ({"randomizer": "privunit", "dimension": "2"}, "dimension must be a single real number"),
        ({"randomizer": "privunit"}, "needs dimension"),
        ({"randomizer": "kr", "categories": 3}, "did you mean 'krr'"),
        ({"randomizer": "oue", "kind": "estimate"}, "kind"),
        ({"randomizer": "oue", "protocol": "fixed-window"}, "protocol"),
    ],
    ids=str,
)
def test_a_curve_of_a_randomiser_needs_what_the_randomiser_needs(given, says):
    with pytest.raises(ValueError, match=says):
        accountants.named.accountant("own", **given)
    with pytest.raises(ValueError, match=says):
        accountants.named.description("own", **given)


def test_what_is_said_of_a_randomiser_takes_no_computing(monkeypatch):
    monkeypatch.setattr(constants, "privunit", lambda **_: pytest.fail("constants are computed"))
    own = {"randomizer": "privunit", "kind": "lower", "protocol": "shuffle", "dimension": 64}
    said = accountants.named.description("own", **own)
    assert (said.name, said.kind, said.label) == ("own", "lower", "privunit, dimension = 64, lower bound")
    entry = accountants.named.accountant("own", **own)
    assert entry.description == said
    assert said.system is entry.system
    assert not hasattr(said, "compute")
    assert not hasattr(said, "epsilon")


@pytest.mark.parametrize("name", accountants.names())
def test_what_is_said_of_an_accountant_of_the_registry(name):
    entry = accountants.get(name)
    said = accountants.named.description(name)
    assert type(said) is accountants.Description
    assert vars(said) == {key: value for key, value in vars(entry).items() if key != "compute"}


def test_a_frequency_at_which_the_law_of_the_others_cancels_is_no_fault():
    setting = {**MNIST, "eps0": 0.33311806403569183}
    found = accountants.bracket(**setting, randomizer="hemisphere")
    assert 0.9 * found.upper < found.lower < found.upper


# --- refusals


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"randomizer": "krr"}, "randomizer 'krr' needs categories, got no parameter; give categories"),
        ({"randomizer": "kr"}, "randomizer must be one of krr, .*got 'kr'; did you mean 'krr'"),
        ({"randomizer": "gaussian"}, "randomizer must be eps0-LDP, which 'gaussian' is not; use"),
        ({"randomizer": "krr", "categories": 1}, "categories must be a whole number >= 2, got 1"),
        (
            {"randomizer": "krr", "categories": 5, "dimension": 3},
            "takes categories, got dimension=3; leave dimension out$",
        ),
        (
            {"randomizer": "oue", "rate": 0.1},
            "'oue' needs k, rate or neither beside n and eps0, got .*rate=0.1.*; leave rate out for rounds",
        ),
        ({"randomizer": "oue", "protocol": "shuffle"}, "got protocol='shuffle'; leave protocol out"),
        (
            {"randomizer": "subset-selection", "categories": 3, "subset": 3},
            "subset must be smaller than categories=3, got 3",
        ),
        ({"randomizer": "privunit", "dimension": 1}, "dimension must be a whole number >= 2, got 1"),
        (
            {"randomizer": "local-hashing", "cells": 4, "collision": 1},
            r"collision must lie in \[0, 1\), got 1",
        ),
        (
            {"randomizer": "public-hashing", "cells": 4, "collision": 0.25},
            "takes cells, got collision=0.25; leave collision out",
        ),
        (
            {"name": "share-pld", "share": 0.2, "delta0": 1e-9},
            "accountant 'share-pld' is for .* eps0-LDP reports .*; got .*delta0",
        ),
        (
            {"name": "blanket-pld", "share": 0.2, "tv": 0.1, "delta0": 1e-9},
            "eps0-LDP reports .*; got .*delta0",
        ),
        ({"randomizer": "oue", "delta0": 1e-9}, "takes no parameter, got delta0=1e-09; leave delta0 out"),
        ({"name": "krr3-lower", "randomizer": "oue"}, "accountant must be an upper bound for .*'krr3-lower'"),
        ({"name": "shuffle-clones", "randomizer": "oue"}, "which is for shuffle with ldp; leave it out"),
        ({"name": "share-pld", "randomizer": "subset-selection", "categories": 5, "subset": 3}, "'tv-pld'"),
        ({}, "name must be an accountant's where no randomizer is named"),
        ({"name": "share-pld", "share": 0.7}, r"share must lie in \(0, 1/2\], got 0.7; every"),
        ({"name": "share-pld", "share": 0}, r"share must lie in \(0, 1/2\], got 0; every"),
        ({"name": "share-pld", "share": math.nan}, r"share must lie in \(0, 1/2\], got nan; every"),
        ({"name": "tv-pld", "tv": 0}, r"tv must lie in \(0, 1\], got 0"),
        (
            {"name": "tv-pld", "tv": 0.9},
            r"tv must be at most .* = 0.635148, .*eps0=1.5, got 0.9; use a smaller",
        ),
        ({"name": "blanket-pld", "share": 0.2, "tv": 0.9}, "tv must be at most"),
        (
            {"name": "blanket-pld", "share": 0.1, "tv": 0.6},
            r"tv must be at most 1 - b = 0.258\d*, .* at share=0.1 and eps0=1.5, got 0.6; use a smaller",
        ),
        ({"name": "blanket-pld", "share": 0.2}, "set by n, k, eps0, share, tv"),
    ],
)
def test_what_is_refused(given, says):
    with pytest.raises(ValueError, match=says):
        accountants.epsilon(**SMALL, **given)


@pytest.mark.parametrize("name", named_randomizers.NAMES)
def test_parameters_that_are_missing_or_of_another_are_named_with_a_remedy(name):
    given = {"categories": 7, "subset": 3, "cells": 4, "collision": 0.25, "dimension": 8}
    takes = named_randomizers.parameters(name)
    own = {key: value for key, value in given.items() if key in takes}
    assert accountants.epsilon(**SMALL, randomizer=name, **own) > 0
    for key, needed in takes.items():
        rest = {other: value for other, value in own.items() if other != key}
        if needed:
            got = ", ".join(f"{one}={value}" for one, value in rest.items()) or "no parameter"
            with pytest.raises(
                ValueError, match=rf"^randomizer '{name}' needs {key}, got {got}; give {key}$"
            ):
                accountants.epsilon(**SMALL, randomizer=name, **rest)
    for key in [*(set(given) - set(takes)), "sigma"]:
        value = given.get(key, 2.0)
        with pytest.raises(
            ValueError, match=rf"^randomizer '{name}' takes .*, got {key}={value}; leave {key} out$"
        ):
            accountants.bracket(**SMALL, randomizer=name, **own, **{key: value})
    for key in ("n", "eps0"):
        rest = {other: value for other, value in SMALL.items() if other != key}
        with pytest.raises(ValueError, match=rf"^randomizer '{name}' needs {key}, got .*; give {key}$"):
            accountants.epsilon(**rest, randomizer=name, **own)


@pytest.mark.parametrize("eps0", [1e-9, 0.01, 1.0, 2.0, 40.0, 700.0, 800.0])
@pytest.mark.parametrize("share", [1e-6, 0.1, 0.5])
def test_what_a_blanket_leaves_is_the_largest_total_variation(share, eps0):
    with mp.workdps(400):
        growth = mp.expm1(mp.mpf(eps0))
        left = float(growth * mp.mpf(share) / (1 + growth * mp.mpf(share)))
    assert worst_kinds.checked_tv(left, eps0, share) <= left
    assert worst_kinds.checked_tv(left / 2, eps0, share) == left / 2
    if left < 0.999:
        with pytest.raises(ValueError, match="tv must be at most"):
            worst_kinds.checked_tv(left * 1.00001, eps0, share)
    # as printed
    assert worst_kinds.checked_tv(float(f"{left:.6g}"), eps0, share)


@pytest.mark.parametrize("eps0", [1e-6, 0.3, 2.0, 8.0, 300.0])
@pytest.mark.parametrize(("name", "parameters"), WITHOUT, ids=ids)
def test_a_named_randomiser_is_a_possible_pair(name, parameters, eps0):
    found = named(name, eps0=eps0, **parameters)
    if found.share is not None:
        assert worst_kinds.checked_tv(found.tv, eps0, found.share) == found.tv


def test_four_categories_near_eps0_are_those_of_the_theory_page():
    """Exact and by the share of 1/4, at epsilon = 2.7; tests/reference has these deltas at 50 digits."""
    setting = {"n": 50, "eps0": 3.0, "rounds": 1, "randomizer": "krr", "categories": 4}
    by_share = accountants.bracket(**setting, delta=5.4155e-4)
    assert by_share.upper == pytest.approx(2.7, rel=1e-5)
    exact = accountants.bracket(**setting, delta=2.4591e-4)
    assert exact.lower == pytest.approx(2.7, rel=1e-5)
    assert "first" in exact.names[0]


# --- one round of two records


def law_of_two(n, held, e):
    """Laws of the number of reports of the second symbol, in fractions, for either record."""
    p, q = 1 / (1 + e), e / (1 + e)

    def added(law, chance):
        more = [one * (1 - chance) for one in law] + [Fraction(0)]
        for place, one in enumerate(law):
            more[place + 1] += one * chance
        return more

    law = [Fraction(1)]
    for index in range(n - 1):
        law = added(law, p if index < held else q)
    return added(law, p), added(law, q)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
@pytest.mark.parametrize("e", [Fraction(3, 2), Fraction(4), Fraction(30)])
@pytest.mark.parametrize("delta", [1e-4, 0.05])
def test_one_round_of_two_records_is_the_exact_law(n, e, delta):
    found = two_records.worst_epsilon(n=n, eps0=math.log(e), delta=delta)

    def worst(ratio):
        pairs = [law_of_two(n, held, e) for held in range(n)]
        both = [*pairs, *((q, p) for p, q in pairs)]
        return max(sum(max(one - ratio * two, 0) for one, two in zip(p, q, strict=True)) for p, q in both)

    assert worst(Fraction(math.exp(found))) <= delta * (1 + 1e-12)
    if found > 0:
        assert worst(Fraction(math.exp(found * (1 - 1e-9)))) > delta * (1 - 1e-12)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("krr", {"categories": 2}),
        ("public-hashing", {"cells": 2}),
        ("coordinate", {"dimension": 1}),
        ("subset-selection", {"categories": 2, "subset": 1}),
    ],
    ids=ids,
)
def test_the_bracket_of_two_records_closes_in_one_round(name, parameters):
    for n, eps0, delta in ((30, 1.0, 1e-3), (100, 2.0, 1e-6), (300, 2.0, 1e-6)):
        setting = {"n": n, "eps0": eps0, "delta": delta, "randomizer": name, **parameters}
        found = accountants.bracket(**setting, rounds=1)
        assert found.lower <= found.upper <= found.lower * (1 + 1e-8)
        assert found.upper < 0.99999 * accountants.epsilon(
            "shuffle-clones", n=n, eps0=eps0, delta=delta, rounds=1
        )
        # more rounds have the bound of every randomiser
        none, one, two = accountants.epsilon(**setting, rounds=[0, 1, 2])
        assert (none, one) == (0, found.upper)
        both = accountants.epsilon("shuffle-share-pld", n=n, eps0=eps0, delta=delta, rounds=2, share=0.5)
        assert two == pytest.approx(both, rel=1e-9)


def test_two_records_at_a_delta_without_an_exact_law():
    setting = {"n": 5, "eps0": 1.0, "rounds": 1, "randomizer": "krr", "categories": 2}
    assert accountants.epsilon(**setting, delta=1e-300) == pytest.approx(1.0, rel=1e-12)
    with pytest.raises(ValueError, match=r"delta must be at least 1e-250 for this bound, got 1e-300"):
        two_records.worst_epsilon(n=5, eps0=1.0, delta=1e-300)


# --- many clients, and an eps0 at which little is hidden


def test_a_named_randomiser_of_many_clients_is_answered():
    found = accountants.bracket(n=39_552, eps0=3.0, rounds=1, delta=8.2e-11, randomizer="rappor")
    assert found.names[1] == "shuffle-blanket-pld"
    assert 0.12 < found.lower < found.upper < 0.138


def test_where_both_numbers_take_too_long_the_share_is_taken(monkeypatch):
    monkeypatch.setattr(four_kinds.merged, "_MOST_WORK", 1e6)
    setting = {"n": 20_000, "eps0": 3.0, "rounds": 2, "delta": 1e-8}
    share = named("rappor", eps0=3.0).share
    found = accountants.bracket(**setting, randomizer="rappor")
    assert found.names[1] == "shuffle-share-pld"
    assert found.upper == accountants.epsilon("shuffle-share-pld", **setting, share=share)
    with pytest.raises(ValueError, match=r"n must be smaller .* got 20000; leave tv out") as told:
        accountants.epsilon("shuffle-blanket-pld", **setting, randomizer="rappor")
    assert "total" not in str(told.value).replace("total variation", "")


@pytest.mark.parametrize("protocol", [{"k": 100}, {"rate": 0.1}, {}], ids=str)
@pytest.mark.parametrize("eps0", [100.0, 301.0, 700.0])
@pytest.mark.few(4)
def test_a_named_randomiser_is_never_above_every_other(protocol, eps0):
    setting = {"n": 1000, **protocol, "eps0": eps0, "rounds": 50, "delta": 1e-6}
    system = next(base for base in blankets.BASES if set(base.variables) == {"n", "eps0", *protocol})
    anyone = accountants.bracket(**setting, protocol=system.protocol)
    found = accountants.bracket(**setting, randomizer="krr", categories=10)
    assert found.upper <= anyone.upper


def test_a_system_is_known_once_for_each_protocol_and_mechanism():
    for protocol, names in blankets.NAMES.items():
        for mechanism in blankets.KNOWN:
            assert systems.get(protocol, mechanism).default == names[mechanism]
            assert names[mechanism].endswith(f"{mechanism}-pld")


def test_what_would_take_minutes_is_refused_before_it_is_computed(monkeypatch):
    """Heavy reports of so many clients: the limit is looked at first, and not after their sums."""
    cell_sums = numerics.cell_sums

    def few(log_term, first, last, *, group):
        assert float((last - first + 1).sum()) / group < 1e8, "so many were computed"
        return cell_sums(log_term, first, last, group=group)

    monkeypatch.setattr(numerics, "cell_sums", few)
    setting = {"n": 10**12, "k": 5 * 10**11, "eps0": 8.0, "share": 0.5, "tv": 1e-12}
    with pytest.raises(ValueError, match="n must be smaller for a bound from share and tv"):
        accountants.epsilon("blanket-pld", **setting, rounds=1000, delta=1e-300)
