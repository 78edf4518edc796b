"""Plans: against enumeration in exact fractions, closed forms, and the accountants of single phases."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import mpmath
import pytest
from scipy import optimize, special

from shuffledp import accountants
from shuffledp.accountants import Plan, PlanError
from shuffledp.accountants.plans.plan import _log_group_factor

TINY = {"n": 1, "k": 1}
SHUFFLE = {"n": 2000, "k": 100, "eps0": 1.0}
CHECK_IN = {"n": 50, "rate": 0.5, "eps0": 1.0}
REMOVAL = {"protocol": "distributed-check-in", "n": 60, "rate": 0.3, "sigma": 2.0}


def plan(*phases, delta=1e-5, **others):
    return Plan.read({"delta": delta, "phases": list(phases), **others})


def both(found):
    rounds = [phase.rounds for phase in found.phases]
    return found.epsilon(rounds, side="lower"), found.epsilon(rounds)


def composed(*steps):
    """The law of the likelihood ratio of rounds, each a list of (P, Q) in fractions, with how many rounds."""
    law = Counter({(Fraction(1), Fraction(1)): 1})
    for pairs, rounds in steps:
        for _ in range(rounds):
            after = Counter()
            for (p, q), ways in law.items():
                for one, other in pairs:
                    after[p * one, q * other] += ways
            law = after
    return law


def exact_epsilon(law, delta):
    """log a where sum (p - a q)_+ is delta, by the linear pieces between the ratios."""
    delta = Fraction(delta)
    certain = sum(p * ways for (p, q), ways in law.items() if q == 0)
    ratios = sorted({p / q for p, q in law if q}, reverse=True)
    above_p, above_q = certain, Fraction(0)
    for place, ratio in enumerate(ratios):
        above_p += sum(p * ways for (p, q), ways in law.items() if q and p / q == ratio)
        above_q += sum(q * ways for (p, q), ways in law.items() if q and p / q == ratio)
        found = (above_p - delta) / above_q
        if found >= (ratios[place + 1] if place + 1 < len(ratios) else 0):
            return float(mpmath.log(mpmath.mpf(found.numerator) / found.denominator)) if found > 1 else 0.0
    return 0.0


def response(e):
    """Two-symbol randomised response whose ratio is e."""
    high, low = Fraction(e, e + 1), Fraction(1, e + 1)
    return [(high, low), (low, high)]


def released(e, delta):
    return [(p * (1 - delta), q * (1 - delta)) for p, q in response(e)] + [(delta, 0), (0, delta)]


def test_the_reference():
    lower, upper = both(
        plan({**TINY, "eps0": 0.5, "rounds": 10}, {**TINY, "eps0": 1, "rounds": 5}, delta=1e-5)
    )
    assert lower <= 9.994500503286 <= upper
    assert upper <= lower * (1 + 1e-6)


@pytest.mark.parametrize("delta", [1e-2, 1e-4, 1e-6])
def test_several_randomised_responses_are_exact(delta):
    found = plan(
        {**TINY, "eps0": math.log(2), "rounds": 6},
        {**TINY, "eps0": math.log(3), "rounds": 4},
        {**TINY, "eps0": math.log(5), "rounds": 1},
        delta=delta,
    )
    exact = exact_epsilon(composed((response(2), 6), (response(3), 4), (response(5), 1)), delta)
    lower, upper = both(found)
    assert lower <= exact <= upper <= lower * (1 + 1e-3)


def test_releases_are_taken_at_their_worst():
    part = Fraction(1, 2**12)
    found = plan(
        {**TINY, "eps0": math.log(3), "rounds": 3},
        {"release": {"epsilon": math.log(2), "delta": float(part)}, "rounds": 2},
        delta=1e-3,
    )
    exact = exact_epsilon(composed((response(3), 3), (released(2, part), 2)), 1e-3)
    lower, upper = both(found)
    assert lower <= exact <= upper <= lower * (1 + 1e-3)


def test_a_release_that_discloses_more_than_delta_has_no_epsilon():
    found = plan({**TINY, "eps0": 1, "rounds": 1}, {"release": {"epsilon": 0.1, "delta": 1e-3}}, delta=1e-4)
    assert both(found) == (math.inf, math.inf)


def test_gaussian_noise_and_randomised_response():
    rounds, e, mu, delta = 4, 2, 0.7 * math.sqrt(3), 1e-5
    found = plan(
        {**TINY, "eps0": math.log(e), "rounds": rounds},
        {"noise": {"sigma": 2.0, "sensitivity": 1.4}, "rounds": 3},
        delta=delta,
    )

    def profile(eps):  # of the noise, at any real eps, averaged over the losses of the responses
        laws = [
            (math.comb(rounds, ups) * e**ups / (e + 1) ** rounds, (2 * ups - rounds) * math.log(e))
            for ups in range(rounds + 1)
        ]
        return sum(
            weight
            * (
                special.ndtr(mu / 2 - (eps - loss) / mu)
                - math.exp(eps - loss) * special.ndtr(-mu / 2 - (eps - loss) / mu)
            )
            for weight, loss in laws
        )

    exact = optimize.brentq(lambda eps: math.log(profile(eps) / delta), 0.1, 20, xtol=1e-12)
    lower, upper = both(found)
    assert lower <= exact <= upper <= lower * (1 + 1e-3)


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("clones-joint-pld", SHUFFLE),
        ("check-in-joint-pld", CHECK_IN),
        (
            "shuffle-share-pld",
            {"protocol": "shuffle", "mechanism": "share", "n": 50, "eps0": 2, "share": 0.1},
        ),
        ("fixed-window-clones", {"slots": 30, "participation": 0.5, "eps0": 1}),
        ("krr-weak", {"n": 30, "categories": 3, "gamma": 0.5}),
        ("distributed-check-in-pld", REMOVAL),
    ],
)
@pytest.mark.few(3)
def test_rounds_composed_with_others_agree_with_their_accountant(name, setting):
    own = {key: value for key, value in setting.items() if key not in ("protocol", "mechanism")}
    alone = accountants.epsilon(name, rounds=8, delta=1e-5, **own)
    assert plan({**setting, "rounds": 8}).spent()[0].upper == alone
    # a release that costs next to nothing makes the plan compose
    beside = {"release": {"epsilon": 1e-7, "delta": 0}}
    assert plan({**setting, "rounds": 8}, beside).spent()[-1].upper == pytest.approx(alone, rel=2e-3)


def test_one_setting_in_two_phases_is_one_phase():
    parts = plan({**SHUFFLE, "rounds": 30}, {**SHUFFLE, "rounds": 70}).spent()
    whole = plan({**SHUFFLE, "rounds": 100}).spent()
    assert parts[-1][3:] == whole[-1][3:]
    assert parts[0].upper == accountants.epsilon("clones-joint-pld", rounds=30, delta=1e-5, **SHUFFLE)


def test_settings_may_change_every_round():
    """The heterogeneous compositions of koskela2022: between those of the best and of the worst round."""
    levels = [1.0, 1.1, 1.2, 1.3]
    lower, upper = both(plan(*({**SHUFFLE, "eps0": level, "rounds": 1} for level in levels)))
    least, most = (
        accountants.epsilon("clones-joint-pld", rounds=4, delta=1e-5, **{**SHUFFLE, "eps0": level})
        for level in (1.0, 1.3)
    )
    assert least < upper < most
    assert 0 < lower <= upper


def test_the_order_of_phases_does_not_matter_in_the_end():
    phases = [{**SHUFFLE, "rounds": 20}, {**CHECK_IN, "rounds": 5}, {"noise": {"sigma": 9, "sensitivity": 1}}]
    one, other = both(plan(*phases)), both(plan(*phases[::-1]))
    assert one == pytest.approx(other, rel=1e-3)
    assert one[0] <= one[1]


def test_removal_composes_with_removal_direction_by_direction():
    lower, upper = both(plan({**REMOVAL, "rounds": 5}, {**REMOVAL, "sigma": 1.0, "rounds": 5}))
    quiet, loud = (
        accountants.epsilon("distributed-check-in-pld", n=60, rate=0.3, sigma=sigma, rounds=10, delta=1e-5)
        for sigma in (2.0, 1.0)
    )
    assert quiet < lower <= upper < loud


def test_pure_dp_adds_up():
    found = plan({**TINY, "eps0": 0.5, "rounds": 3}, {**TINY, "eps0": 1, "rounds": 2}, delta=0)
    lower, upper = both(found)
    assert upper == pytest.approx(3.5, rel=1e-12)
    assert upper >= 3.5
    assert lower <= 3.5


def test_rounds_without_a_loss_cost_nothing():
    assert plan({**TINY, "eps0": 0, "rounds": 3}).spent()[0][3:5] == (0.0, 0.0)
    some = plan({**SHUFFLE, "rounds": 3}, {**SHUFFLE, "eps0": 0, "rounds": 3}).spent()
    assert some[0].upper == some[1].upper


def test_further_rounds_end_at_the_budget():
    found = plan({**TINY, "eps0": 0.5, "rounds": 4}, {**SHUFFLE, "rounds": 5}, budget=2.5)
    further = found.further_rounds()
    assert found.epsilon([4, 5 + further]) <= 2.5 < found.epsilon([4, 6 + further])
    assert plan({**TINY, "eps0": 0, "rounds": 1}, budget=1).further_rounds() is None


@pytest.mark.slow
def test_a_group_has_no_epsilon_where_a_release_discloses_more_than_its_delta():
    """One record's delta is more than the release discloses; what a group of three leaves of it is less."""
    release = {"release": {"epsilon": 0.1, "delta": 4e-6}}
    noise = {"noise": {"sigma": 5, "sensitivity": 1}, "rounds": 2}
    assert plan(noise, release).spent()[-1].upper < math.inf
    assert plan(noise, release, group=3).spent()[-1].upper == math.inf


def test_a_group_has_the_delta_of_group_privacy():
    phases = [{**SHUFFLE, "rounds": 50}, {**SHUFFLE, "eps0": 1.5, "rounds": 5}]
    found = plan(*phases, group=3).spent()[-1].upper
    one = found / 3
    factor = (math.exp(3 * one) - 1) / (math.exp(one) - 1)
    rest = 1e-5 / factor
    assert plan(*phases, delta=rest).spent()[-1].upper == pytest.approx(one, rel=1e-6)
    assert math.exp(_log_group_factor(3, one)) == pytest.approx(factor)
    assert plan({**TINY, "eps0": 0.5, "rounds": 2}, delta=0, group=4).spent()[0].upper == pytest.approx(4.0)


def test_users_with_several_records_are_groups_of_them():
    phase = {**SHUFFLE, "rounds": 50}
    users = plan(phase, group=2, records=3)
    assert users.epsilon([50]) == plan(phase, group=6).epsilon([50]) > plan(phase, group=2).epsilon([50])
    assert any("a group of g" in words for words in plan(phase, records=2).bounds)


def test_releases_that_spend_delta_are_told_so():
    release = {"release": {"epsilon": 0.5, "delta": 4e-6}, "rounds": 3}
    with pytest.raises(PlanError, match=r"delta = 1e-05 is spent already: .* make 1\.2e-05, .*; raise delta"):
        plan({**SHUFFLE, "rounds": 1}, release, budget=9).spent()


def test_several_reports_are_one_with_a_larger_eps0():
    several = plan({**SHUFFLE, "eps0": 0.5, "reports": 2, "rounds": 10})
    assert several.spent()[0].upper == plan({**SHUFFLE, "rounds": 10}).spent()[0].upper
    assert any("basic grouping" in words for words in several.bounds)
    # the second report may say nothing
    assert several.spent()[0].lower == plan({**SHUFFLE, "eps0": 0.5, "rounds": 10}).spent()[0].lower


def test_a_randomizer_by_its_name():
    named = {**SHUFFLE, "eps0": 2, "randomizer": "krr", "categories": 20, "rounds": 10}
    alone = accountants.epsilon(n=2000, k=100, eps0=2, rounds=10, delta=1e-5, randomizer="krr", categories=20)
    assert plan(named).spent()[0].upper == alone


def test_the_curve_rises_to_what_is_spent():
    found = plan({**TINY, "eps0": 0.3, "rounds": 20}, {"noise": {"sigma": 9, "sensitivity": 1}, "rounds": 3})
    curve, spent = found.curve(), found.spent()
    assert curve["rounds"].tolist()[-1] == 23
    assert curve["epsilon_upper"].tolist() == sorted(curve["epsilon_upper"])
    assert (curve["epsilon_lower"] <= curve["epsilon_upper"]).all()
    assert curve["epsilon_upper"][curve["rounds"] == 20] == spent[0].upper
    assert curve["epsilon_upper"][-1] == spent[1].upper
    assert curve["rounds"].tolist() == [0, 1, 2, 3, 4, 5, 7, 9, 12, 14, 17, 20, 21, 22, 23]
    assert curve["phase"].tolist() == [1] * 12 + [2] * 3


@pytest.mark.parametrize("rounds", [1, 11, 12, 13, 14, 100, 10**6])
def test_the_points_of_a_curve_are_few_and_end_with_the_phase(rounds):
    nothing = {"release": {"epsilon": 0, "delta": 0}}
    found = plan({**nothing, "rounds": rounds}, nothing).curve()["rounds"].astype(int).tolist()
    assert found == sorted(set(found))
    assert found[0] == 0
    assert found[-2:] == [rounds, rounds + 1]
    assert len(found) - 2 == rounds if rounds <= 12 else 10 <= len(found) - 2 <= 12


ONE = {**SHUFFLE, "rounds": 2}


@pytest.mark.parametrize(
    ("raw", "place", "message"),
    [
        ([], (), "a plan must hold keys and values"),
        (None, (), "a plan must hold keys and values, a line `key: value` each, got nothing"),
        ({"phases": [ONE]}, (), "delta is missing"),
        ({"delta": 1e-5}, ("phases",), "phases must be a list of at least one phase"),
        ({"delta": 1e-5, "phases": [ONE], "budgte": 1}, ("budgte",), "did you mean 'budget'"),
        ({"delta": math.nan, "phases": [ONE]}, ("delta",), "delta must lie in"),
        ({"delta": 1e-5, "phases": [ONE], "budget": math.nan}, ("budget",), "budget must be"),
        ({"delta": 1e-5, "phases": [ONE], "group": 1.5}, ("group",), "group must be a whole number"),
        ({"delta": 1e-5, "phases": [ONE], "records": 0}, ("records",), "records must be a whole number"),
        ({"delta": 1e-5, "phases": [3]}, ("phases", 0), "phase 1 must hold keys"),
        (
            {"delta": 1e-5, "phases": [{**ONE, "epso": 1}]},
            ("phases", 0, "epso"),
            "unknown key 'epso' of phase 1: did you mean 'eps0'",
        ),
        *(
            (
                {"delta": 1e-5, "phases": [{**ONE, key: value}]},
                ("phases", 0, key),
                f"{key} must be a name in phase 1, got {value!r}",
            )
            for key in ("protocol", "mechanism", "accountant", "randomizer")
            for value in ([], {"a": 1}, 3)
        ),
        *(
            ({"delta": 1e-5, "phases": [{**ONE, key: 10**400}]}, ("phases", 0, key), f"{key} must be")
            for key in ("n", "k", "eps0")
        ),
        ({"delta": 1e-5, "phases": [SHUFFLE]}, ("phases", 0), "rounds is missing"),
        ({"delta": 1e-5, "phases": [{**ONE, "rounds": math.nan}]}, ("phases", 0, "rounds"), "rounds must be"),
        ({"delta": 1e-5, "phases": [{**ONE, "eps0": math.nan}]}, ("phases", 0, "eps0"), "eps0 must be"),
        (
            {"delta": 1e-5, "phases": [{**ONE, "eps0": [1, 2]}]},
            ("phases", 0, "eps0"),
            "eps0 must be a single real number, got [1, 2]; where clients differ in it, give the largest",
        ),
        ({"delta": 1e-5, "phases": [{**ONE, "k": 3000}]}, ("phases", 0), "k must be at most n"),
        ({"delta": 1e-5, "phases": [{"n": 3, "rounds": 1}]}, ("phases", 0), "n set no system"),
        ({"delta": 1e-5, "phases": [{**ONE, "reports": 0}]}, ("phases", 0, "reports"), "reports must be"),
        (
            {"delta": 1e-5, "phases": [{**REMOVAL, "rounds": 1, "reports": 2}]},
            ("phases", 0, "reports"),
            "reports must be 1",
        ),
        (
            {"delta": 1e-5, "phases": [ONE, {"release": {"epsilon": 1}}]},
            ("phases", 1, "release"),
            "delta is missing",
        ),
        (
            {"delta": 1e-5, "phases": [{"noise": {"sigma": 0, "sensitivity": 1}}]},
            ("phases", 0, "noise", "sigma"),
            "sigma must be",
        ),
        (
            {"delta": 1e-5, "phases": [ONE, {**REMOVAL, "rounds": 1}]},
            ("phases", 1),
            "phases must agree on neighbours: 'phase 1' is for substitution, 'phase 2' for removal",
        ),
        (
            {
                "delta": 1e-5,
                "phases": [ONE, {"noise": {"sigma": 1, "sensitivity": 1}, "neighbours": "removal"}],
            },
            ("phases", 1),
            "phases must agree on neighbours",
        ),
        (
            {"delta": 1e-5, "phases": [ONE, {**ONE, "accountant": "girgis2021-upper"}]},
            ("phases", 1),
            "take clones-joint-pld or clones-pld",
        ),
        (
            {"delta": 1e-5, "phases": [{**ONE, "accountant": "krr3-lower"}]},
            ("phases", 0, "accountant"),
            "accountant must be an upper bound",
        ),
    ],
)
def test_what_is_wrong_with_a_plan_is_said_in_a_line_with_its_place(raw, place, message):
    with pytest.raises(PlanError) as caught:
        Plan.read(raw)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.place == place


def test_keys_that_are_known_are_listed_once():
    with pytest.raises(PlanError) as caught:
        Plan.read({"delta": 1e-5, "phases": [{**ONE, "zzz": 1}]})
    listed = str(caught.value).split("known are ")[1].split(", ")
    assert len(listed) == len(set(listed))
    assert {"rounds", "n", "arriving", "release", "noise"} <= set(listed)
    assert not {"delta", "epsilon"} & set(listed)


def test_a_budget_that_is_spent_is_no_budget():
    spent = plan({**TINY, "eps0": 1, "rounds": 3}, {**TINY, "eps0": 1, "rounds": 3}, budget=4)
    with pytest.raises(PlanError, match="spent already: phase 2") as caught:
        spent.spent()
    assert caught.value.place == ("phases", 1)
    with pytest.raises(ValueError, match="budget must be given"):
        plan(ONE).further_rounds()


def histograms(records, matrix):
    """The law of what a shuffle of reports shows, by listing all of them."""
    law = Counter()
    for reports in itertools.product(range(len(matrix)), repeat=len(records)):
        chance = math.prod(matrix[record][report] for record, report in zip(records, reports, strict=True))
        law[tuple(sorted(reports))] += chance
    return law


def randomised_responses(categories, eps0):
    other = 1 / (math.exp(eps0) + categories - 1)
    return [
        [other * (math.exp(eps0) if one == answer else 1) for answer in range(categories)]
        for one in range(categories)
    ]


def divergence(epsilon, rounds):
    """The hockey-stick divergence of several rounds, each a pair of laws."""
    return sum(
        max(
            math.prod(one[seen] for (one, _), seen in zip(rounds, all_seen, strict=True))
            - math.exp(epsilon)
            * math.prod(other[seen] for (_, other), seen in zip(rounds, all_seen, strict=True)),
            0.0,
        )
        for all_seen in itertools.product(*(one for one, _ in rounds))
    )


@pytest.mark.parametrize("clients", [1, 3])
def test_the_lower_end_of_named_randomisers_is_that_of_data_sets_over_all_phases(clients):
    settings = ({"eps0": 1.0, "categories": 3}, {"eps0": 0.5, "categories": 4})
    phases = [{"n": clients, "randomizer": "krr", "rounds": 1, **setting} for setting in settings]
    last = Plan.read({"delta": 0.01, "phases": phases}).spent()[-1]
    lower, upper = last.lower, last.upper
    exact = []  # delta at the lower end, of the data sets that it may be of
    for others in (0, 2):
        data = [[record] + [others] * (clients - 1) for record in (0, 1)]
        rounds = [
            tuple(histograms(records, randomised_responses(**setting)) for records in data)
            for setting in settings
        ]
        for pairs in (rounds, [pair[::-1] for pair in rounds]):
            exact.append((divergence(lower, pairs), divergence(lower * 1.001, pairs)))
    assert max(at for at, _ in exact) >= 0.01 * (1 - 1e-9), "certified below"
    assert max(above for _, above in exact) < 0.01, "and not less than a thousandth below"
    assert lower <= upper < 1.05 * lower


def test_named_randomisers_compose_from_below_with_any_other_phase():
    krr = {"n": 1000, "k": 100, "eps0": 1, "randomizer": "krr", "categories": 100, "rounds": 100}
    of_unit = {"n": 1000, "k": 100, "eps0": 2, "randomizer": "privunit", "dimension": 100, "rounds": 50}
    phases = [krr, of_unit, {"n": 1000, "k": 100, "eps0": 1, "rounds": 50}]
    rows = Plan.read({"delta": 1e-6, "phases": phases}).spent()
    own = {key: value for key, value in krr.items() if key != "rounds"}
    assert rows[0].lower == accountants.bracket(rounds=100, delta=1e-6, **own).lower
    lower = [row.lower for row in rows]
    assert 0 < lower[0] < lower[1] < lower[2]
    assert all(0.85 * row.upper < row.lower <= row.upper for row in rows)
    released = {"release": {"epsilon": 0.1, "delta": 1e-8}}
    more = Plan.read({"delta": 1e-6, "phases": [krr, released]}).spent()[-1]
    assert rows[0].lower + 0.05 < more.lower <= more.upper
