"""Accountants: epsilon of T rounds of the subsampled shuffle, each by its registered name.

>>> from shuffledp import accountants
>>> accountants.epsilon("girgis2021-upper", n=1e6, k=1e3, eps0=2, rounds=1e5, delta=1e-8)
"""

from shuffledp.accountants import (
    clones,
    feldman2021,
    feldman2021_numerical,
    girgis2021,
    girgis2021ccs,
    randomized_response,
    unshuffled,
)
from shuffledp.accountants.registry import Accountant, Bracket, bracket, epsilon, get, names, register

__all__ = [
    "Accountant",
    "Bracket",
    "bracket",
    "clones",
    "epsilon",
    "feldman2021",
    "feldman2021_numerical",
    "get",
    "girgis2021",
    "girgis2021ccs",
    "names",
    "randomized_response",
    "register",
    "unshuffled",
]
