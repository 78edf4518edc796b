"""Accountants: epsilon of T rounds, of the subsampled shuffle above all, each by its registered name.

>>> from shuffledp import accountants
>>> accountants.epsilon("girgis2021-upper", n=1e6, k=1e3, eps0=2, rounds=1e5, delta=1e-8)

Each protocol has a folder, whose modules are found without being listed. Beside the folders stand what
accountants of several protocols share, and what asks them: for a bracket, backwards, along a variable, for a
plan.
"""

import importlib
import pkgutil

from shuffledp.accountants import approximate, blankets, named, plans, systems
from shuffledp.accountants.brackets import Bracket, Refusal, attempts, bracket_of
from shuffledp.accountants.calibration import delta_at, largest_eps0, most_rounds, solve
from shuffledp.accountants.check_in import distributed, shuffled, shuffled_gaussian, windows
from shuffledp.accountants.named import bracket, epsilon
from shuffledp.accountants.plans import Phase, Plan, PlanError, Spent
from shuffledp.accountants.registry import Accountant, Description, get, names, register
from shuffledp.accountants.shuffle import dropouts, gaussian, krr, ldp
from shuffledp.accountants.subsampled_shuffle import (
    clones,
    feldman2021,
    feldman2021_numerical,
    girgis2021,
    girgis2021ccs,
    koskela2022,
    randomized_response,
    unshuffled,
)

# Accountants enter themselves in the registry as their modules are imported; those named above come first.
for _folder in pkgutil.iter_modules(__path__):
    if _folder.ispkg:
        _name = f"{__name__}.{_folder.name}"
        for _module in pkgutil.iter_modules(importlib.import_module(_name).__path__):
            importlib.import_module(f"{_name}.{_module.name}")

__all__ = [
    "Accountant",
    "Bracket",
    "Description",
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
    "clones",
    "delta_at",
    "distributed",
    "dropouts",
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
    "ldp",
    "most_rounds",
    "named",
    "names",
    "plans",
    "randomized_response",
    "register",
    "shuffled",
    "shuffled_gaussian",
    "solve",
    "systems",
    "unshuffled",
    "windows",
]
