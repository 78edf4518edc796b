"""Accountants: epsilon of T rounds, of the subsampled shuffle above all, each by its registered name.

>>> from shuffledp import accountants
>>> accountants.epsilon("girgis2021-upper", n=1e6, k=1e3, eps0=2, rounds=1e5, delta=1e-8)
"""

from shuffledp.accountants import (
    approximate,
    blankets,
    checkin,
    checkin_gaussian,
    clones,
    distributed,
    feldman2021,
    feldman2021_numerical,
    gaussian,
    girgis2021,
    girgis2021ccs,
    koskela2022,
    krr,
    losses,
    named,
    plan,
    random_checkin,
    randomized_response,
    systems,
    unshuffled,
)
from shuffledp.accountants.calibration import delta_at, largest_eps0, most_rounds
from shuffledp.accountants.named import bracket, epsilon
from shuffledp.accountants.plan import Phase, Plan, PlanError, Spent
from shuffledp.accountants.registry import (
    Accountant,
    Bracket,
    Refusal,
    attempts,
    bracket_of,
    get,
    names,
    register,
)

__all__ = [
    "Accountant",
    "Bracket",
    "Phase",
    "Plan",
    "PlanError",
    "Refusal",
    "Spent",
    "approximate",
    "attempts",
    "blankets",
    "bracket",
    "bracket_of",
    "checkin",
    "checkin_gaussian",
    "clones",
    "delta_at",
    "distributed",
    "epsilon",
    "feldman2021",
    "feldman2021_numerical",
    "gaussian",
    "get",
    "girgis2021",
    "girgis2021ccs",
    "koskela2022",
    "krr",
    "largest_eps0",
    "losses",
    "most_rounds",
    "named",
    "names",
    "plan",
    "random_checkin",
    "randomized_response",
    "register",
    "systems",
    "unshuffled",
]
