"""Closed-form amplification by shuffling: one round, one paper a module."""

from shuffledp.closed_form.balle2019 import balle2019
from shuffledp.closed_form.feldman2021 import feldman2021
from shuffledp.closed_form.result import Amplification

__all__ = ["Amplification", "balle2019", "feldman2021"]
