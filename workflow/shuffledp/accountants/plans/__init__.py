"""Plans: what a deployment of several phases costs, after each of them.

>>> from shuffledp.accountants import Plan
>>> plan = Plan.read({
...     "delta": 1e-5, "budget": 12,
...     "phases": [{"n": 1, "k": 1, "eps0": 0.5, "rounds": 10}, {"n": 1, "k": 1, "eps0": 1, "rounds": 5}],
... })
>>> plan.spent()[-1].upper

Settings may change from phase to phase, down to phases of one round each: these are the heterogeneous
compositions of koskela2022 (n, k and eps0 that vary by round).
"""

from shuffledp.accountants.plans.parts import Phase, PlanError
from shuffledp.accountants.plans.plan import Plan, Spent

__all__ = ["Phase", "Plan", "PlanError", "Spent"]
