"""Rounds of whose reports some do not arrive: docs/theory/dropouts.md in exact fractions."""

import collections
import itertools
import math
from fractions import Fraction

import pytest

from shuffledp import accountants
from shuffledp.accountants import Plan, PlanError

NAMES = accountants.names(protocol="shuffle-with-dropouts")
SETTING = {"n": 8, "k": 4, "eps0": math.log(3)}


def divergence(n, j, e, a):
    """E[(n - j)(1 - a) + the sum of j terms]_+ / n, every outcome listed."""
    terms = [(Fraction(1, e + 1), e - a), (Fraction(1, e + 1), 1 - e * a), (Fraction(e - 1, e + 1), 0)]
    total = Fraction(0)
    for chosen in itertools.product(terms, repeat=j):
        value = (n - j) * (1 - a) + sum(term for _, term in chosen)
        total += math.prod((weight for weight, _ in chosen), start=Fraction(1)) * max(value, 0)
    return total / n


@pytest.mark.parametrize("a", [Fraction(1, 2), Fraction(1), Fraction(6, 5), Fraction(3, 2), Fraction(5, 2)])
def test_more_reports_of_a_uniform_set_never_cost_less(a):
    found = [divergence(6, j, 3, a) for j in range(1, 6)]
    assert found == sorted(found)
    alone = [divergence(j, j, 3, a) for j in range(1, 6)]
    assert alone == sorted(alone, reverse=True)


@pytest.mark.parametrize("arriving", [1, 2, 3])
@pytest.mark.parametrize("delta", [0.05, 0.01])
def test_one_round_has_the_divergence_of_the_proposition(arriving, delta):
    upper = accountants.epsilon("dropouts-clones", **SETTING, arriving=arriving, rounds=1, delta=delta)
    above, below = (
        divergence(arriving, arriving, 3, Fraction(math.exp(upper * factor))) * SETTING["k"] / SETTING["n"]
        for factor in (1.0, 1 - 1e-6)
    )
    assert above <= delta < below


def test_one_report_that_tells_is_attained():
    """The others drop out where the client is drawn: delta is k/n times that of randomised response."""
    delta = 0.05
    exact = math.log(3 - delta * 4 / (4 / 8))
    found = {name: accountants.epsilon(name, **SETTING, arriving=1, rounds=1, delta=delta) for name in NAMES}
    assert found["dropouts-rr2-lower"] <= exact <= found["dropouts-clones"]
    assert found["dropouts-clones"] == pytest.approx(found["dropouts-rr2-lower"], rel=1e-9)


@pytest.mark.parametrize(("name", "symbols"), [("dropouts-krr3-lower", 3), ("dropouts-rr2-lower", 2)])
@pytest.mark.parametrize("delta", [0.1, 0.02])
def test_a_lower_bound_is_what_its_mechanism_leaks(name, symbols, delta):
    """Two of four reports arrive where the client is drawn, his own and one of the last symbol."""

    def sent(record):
        return [Fraction(3 if symbol == record else 1, 2 + symbols) for symbol in range(symbols)]

    def received(record):
        law = collections.Counter()
        for own, chance in enumerate(sent(record)):
            for other, other_chance in enumerate(sent(symbols - 1)):
                law[tuple(sorted((own, other)))] += chance * other_chance
        return law

    def largest_delta(eps):
        factor = Fraction(math.exp(eps))
        laws = received(0), received(1)
        return max(
            sum(max(first[seen] - factor * second[seen], 0) for seen in first) * SETTING["k"] / SETTING["n"]
            for first, second in (laws, laws[::-1])
        )

    found = accountants.epsilon(name, **SETTING, arriving=2, rounds=1, delta=delta)
    assert 0 < found < 2
    assert largest_delta(found * (1 + 1e-6)) < delta <= largest_delta(found) * (1 + 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_where_all_arrive_it_is_the_subsampled_shuffle(name):
    other = {"clones": "clones-joint-pld", "krr3-lower": "krr3-lower", "rr2-lower": "rr2-lower"}
    plain = accountants.get(other[name.removeprefix("dropouts-")])
    for delta in (0.0, 0.01):
        asked = {**SETTING, "rounds": [0, 2, 9], "delta": delta}
        assert accountants.epsilon(name, **asked, arriving=4) == pytest.approx(
            plain.epsilon(**asked), rel=1e-9
        )


@pytest.mark.parametrize("name", NAMES)
def test_epsilon_falls_with_arrivals_and_is_within_pure_dp(name):
    found = [
        accountants.epsilon(name, n=900, k=100, eps0=1.0, arriving=arriving, rounds=[1, 20], delta=1e-4)
        for arriving in (1, 20, 99, 100)
    ]
    for more, fewer in itertools.pairwise(found):
        assert (more > fewer).all()
    assert found[0][0] <= 1.0
    pure = accountants.epsilon(name, **SETTING, arriving=3, rounds=5, delta=0)
    assert pure == pytest.approx(5 * SETTING["eps0"], rel=1e-12)


@pytest.mark.parametrize("rounds", [1, 3, 40])
@pytest.mark.parametrize("eps0", [1e-3, 1.0, 6.0, 300.0])
def test_the_lower_bounds_are_below_the_upper(rounds, eps0):
    for arriving in (1, 7, 29, 30):
        asked = {"n": 50, "k": 30, "arriving": arriving, "eps0": eps0, "rounds": rounds, "delta": 1e-5}
        bracket = accountants.bracket(protocol="shuffle-with-dropouts", **asked)
        assert 0 < bracket.lower <= bracket.upper * (1 + 2e-11)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"arriving": 5}, "arriving must be at most k = 4, got 5"),
        ({"arriving": 0}, "arriving must be a whole number >= 1, got 0"),
        ({"k": 9}, "k must be at most n"),
    ],
)
def test_arrivals_that_cannot_be(change, says):
    with pytest.raises(ValueError, match=says):
        accountants.epsilon("dropouts-clones", **{**SETTING, "arriving": 2, **change}, rounds=1, delta=0.1)


# --- plans


def phase(**others):
    return {**SETTING, "rounds": 1, **others}


def test_a_plan_with_dropouts_names_its_bound_and_is_that_of_its_accountant():
    plan = Plan.read({"delta": 0.01, "phases": [phase(arriving=2)]})
    assert any("arrive" in words for words in plan.bounds)
    bracket = accountants.bracket(protocol="shuffle-with-dropouts", **phase(arriving=2), delta=0.01)
    (spent,) = plan.spent()
    assert (spent.lower, spent.upper) == (bracket.lower, bracket.upper)


def test_dropouts_compose_with_other_phases():
    found = [
        Plan.read({"delta": 0.01, "phases": [phase(rounds=3), phase(arriving=arriving, rounds=2)]}).spent()
        for arriving in (1, 2, 4)
    ]
    uppers = [rows[1].upper for rows in found]
    assert uppers == sorted(uppers, reverse=True)
    for rows in found:
        assert rows[0].lower < rows[1].lower <= rows[1].upper
    whole = Plan.read({"delta": 0.01, "phases": [phase(rounds=5)]}).spent()
    # five rounds of which nobody drops out
    assert uppers[2] == pytest.approx(whole[0].upper, rel=1e-3)


def test_more_cannot_arrive_than_are_drawn():
    with pytest.raises(PlanError, match="arriving must be at most k = 4"):
        Plan.read({"delta": 0.01, "phases": [phase(arriving=5)]})
