"""Renyi differential privacy in the shuffle model: bounds per round, and their conversion.

Every bound is a function of the order(s) lambda and returns rdp(lambda), the Renyi DP parameter of one
round. ``to_epsilon`` and ``to_delta`` compose over rounds and convert to approximate DP.
"""

from shuffledp.rdp.conversion import Conversion, to_delta, to_epsilon
from shuffledp.rdp.girgis2021 import (
    girgis2021_lower,
    girgis2021_reduced,
    girgis2021_special_case,
    girgis2021_subsampled,
    girgis2021_ternary,
    girgis2021_upper,
)
from shuffledp.rdp.girgis2021ccs import girgis2021ccs_shuffle
from shuffledp.rdp.liew2022gaussian import liew2022gaussian_shuffle
from shuffledp.rdp.mironov2017 import mironov2017_pure
from shuffledp.rdp.wang2019 import wang2019_subsampled

__all__ = [
    "Conversion",
    "girgis2021_lower",
    "girgis2021_reduced",
    "girgis2021_special_case",
    "girgis2021_subsampled",
    "girgis2021_ternary",
    "girgis2021_upper",
    "girgis2021ccs_shuffle",
    "liew2022gaussian_shuffle",
    "mironov2017_pure",
    "to_delta",
    "to_epsilon",
    "wang2019_subsampled",
]
