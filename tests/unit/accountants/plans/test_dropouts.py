"""Reports that do not arrive: docs/theory/dropouts.md in exact fractions, and in plans."""

import itertools
import math
from fractions import Fraction

import pytest

from shuffledp.accountants import Plan, PlanError


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


def phase(**others):
    return {"n": 8, "k": 4, "eps0": math.log(3), "rounds": 1, **others}


def test_one_report_that_tells_is_attained():
    """The others drop out where the client is drawn: delta is k/n times that of randomised response."""
    delta = 0.05
    exact = math.log(3 - delta * 4 / (4 / 8))
    upper = Plan.read({"delta": delta, "phases": [phase(arriving=1)]}).spent()[0].upper
    assert exact <= upper <= exact * (1 + 1e-3)


def test_a_plan_with_dropouts_names_its_bound_and_falls_with_arrivals():
    found = [Plan.read({"delta": 0.01, "phases": [phase(arriving=j)]}) for j in (1, 2, 4)]
    uppers = [plan.spent()[0].upper for plan in found]
    assert uppers == sorted(uppers, reverse=True)
    assert any("arrive" in words for words in found[0].bounds)


def test_more_cannot_arrive_than_are_drawn():
    with pytest.raises(PlanError, match="arriving must be at most k = 4"):
        Plan.read({"delta": 0.01, "phases": [phase(arriving=5)]})
