"""Approximate DP: amplification by shuffling (in closed form) and by subsampling, and composition."""

from shuffledp.approximate_dp.balle2019 import balle2019
from shuffledp.approximate_dp.feldman2021 import feldman2021
from shuffledp.approximate_dp.result import Amplification

__all__ = ["Amplification", "balle2019", "feldman2021"]
