"""The law of the terms whose sum gives delta, at one eps."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from shuffledp import numerics
from shuffledp.checks import FloatArray
from shuffledp.distributions.lognormal import LogNormal


class Terms:
    """The law of Z + e^eps - 1 at one eps.

    Attributes:
        n: number of clients, and of terms.
        rate: probability with which each client takes part.
        law: of Y, the ratio of densities.
        factor: e^eps.
        gain: e^eps - 1.
        apart: probability that a report is not from the blanket.
        strike: of the call.
    """

    def __init__(self, n: int, sigma: float, rate: float, eps: float) -> None:
        self.n, self.rate, self.law = n, rate, LogNormal(sigma)
        self.factor, self.gain = math.exp(eps), math.expm1(eps)
        self.apart = -math.expm1(math.log(2) + float(special.log_ndtr(-0.5 / sigma)))
        self.strike = n * self.gain

    def several_jumps(self, cut: FloatArray) -> FloatArray:
        """Return what can be added to the price where two terms or more are above the cut, at most.

        (Z_1 + ... + Z_n)_+ is at most the sum of the Y_i with Y_i > 1.
        """
        n, rate, at = self.n, self.rate, self.law.normal(1 + cut)
        above, mean = rate * special.ndtr(-at), rate * special.ndtr(1 / self.law.sigma - at)
        bound = n * (n - 1) * (mean * above + rate * (n - 2) / 2 * above**2)
        return np.asarray(bound * (1 + numerics.OUTWARD))
