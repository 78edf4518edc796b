"""Theorems about training under local randomisers: what it converges to, and how fast."""

from shuffledp.convergence.balle2020 import averaging_utility, fixed_window_utility
from shuffledp.convergence.girgis2021 import Convergence, girgis2021_convergence

__all__ = ["Convergence", "averaging_utility", "fixed_window_utility", "girgis2021_convergence"]
