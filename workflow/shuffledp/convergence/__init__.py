"""Theorems about training under local randomisers: what it converges to, and how fast."""

from shuffledp.convergence.girgis2021 import Convergence, girgis2021_convergence

__all__ = ["Convergence", "girgis2021_convergence"]
