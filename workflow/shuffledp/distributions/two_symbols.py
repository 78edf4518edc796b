"""Two-symbol randomised response on all-zero data: the concrete mechanism of girgis2021, Theorem 2."""

from __future__ import annotations

import math

import numpy as np

from shuffledp import numerics
from shuffledp.checks import FloatArray

_LISTED = 2**19  # most numbers of ones that are listed one by one

# For each number of ones m, or cell of such: mean m, log of the probability, log |u(m)| and the sign of u(m).
Terms = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


class TwoSymbols:
    """The number m of ones among k reports, and its likelihood ratio.

    Under P all clients hold 0, and m ~ Bin(k, p) with p = 1/(e^eps0 + 1). If one client holds 1 instead, the
    likelihood ratio after subsampling is 1 + u(m) with u(m) = gamma (e^eps0 - e^-eps0) (m - k p) / k.

    From k of some 1e9 on, neighbouring m are merged, which is post-processing, so that a lower bound on a
    divergence stays one.
    """

    def __init__(self, n: float, k: int, eps0: float) -> None:
        self.k, self.eps0, self.gamma = k, eps0, k / n
        self.log_p, self.log_q = -float(np.logaddexp(0.0, eps0)), -float(np.logaddexp(0.0, -eps0))
        self.mean = k * math.exp(self.log_p)
        self.log_slope = math.log(k / n) + numerics.log_sinh_gap(eps0) - math.log(k)
        self.window = numerics.concave_window(self.log_pmf, 0, k)
        self.terms = self._terms(*self.window)

    def log_pmf(self, m: FloatArray) -> FloatArray:
        """Return the log of the probability of m ones among all-zero data."""
        return numerics.log_binomial_pmf(m, self.k, self.log_p, self.log_q)

    def log_and_sign(self, m: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return log |u(m)| and the sign of u(m)."""
        gap = m - self.mean
        with np.errstate(divide="ignore"):
            # at m = 0 the gap is -k p, which exp(log_p) may underflow
            log_gap = np.where(m == 0, math.log(self.k) + self.log_p, np.log(np.abs(gap)))
        return self.log_slope + log_gap, np.where(gap > 0, 1.0, -1.0)

    def _terms(self, low: int, high: int) -> Terms:
        width = math.ceil((high - low + 1) / _LISTED)
        first = np.arange(low, high + 1, width, dtype=np.float64)
        last = np.minimum(first + width - 1, high)
        log_mass, within = numerics.cell_sums(
            lambda m, _: self.log_pmf(m), first, last, group=self._group(low, high)
        )
        # u is linear in m, so that its mean over a cell is its value at the mean
        m = first + within
        return m, log_mass, *self.log_and_sign(m)

    def _group(self, low: int, high: int) -> int:
        """Return how many neighbouring m may be summed by their middle, by the largest slope, at an end."""
        apart = max((high - low) // 1000, 1)
        if apart == 1:
            return 1
        ends = self.log_pmf(np.array([low, low + apart, high - apart, high], dtype=np.float64))
        return numerics.group_size(float(np.abs(np.diff(ends)[::2]).max()) / apart)

    def _log_tilted(self, order: float, m: FloatArray) -> FloatArray:
        """Return log of P(m) (1 + u(m))^order, concave in m."""
        log_u, sign = self.log_and_sign(m)
        with np.errstate(divide="ignore"):
            below = np.log1p(-np.exp(np.minimum(log_u, 0.0)))
        return self.log_pmf(m) + order * np.where(sign > 0, np.logaddexp(0.0, log_u), below)

    def _log_summands(self, order: float, terms: Terms) -> FloatArray:
        _, log_mass, log_u, sign = terms
        return log_mass + numerics.log_power_excess(order, log_u, sign)

    def _fades(self, log_summands: FloatArray, log_sum: float) -> bool:
        """Return whether the summands fall at both ends of the window, and are negligible there."""
        low, high = self.window
        floor = log_sum - 40.0
        falls_below = low == 0 or log_summands[0] < min(floor, log_summands[1])
        falls_above = high == self.k or log_summands[-1] < min(floor, log_summands[-2])
        return bool(falls_below and falls_above)

    def log_excess(self, order: float) -> float:
        """Return log E[(1 + u)^order - 1 - order u], less negligible terms.

        The law of m and its tilted version, of density (1 + u)^order, are both log-concave. The summand
        lies below one of them, so it is negligible outside their windows; it is never negative, so what is
        dropped keeps a lower bound a lower bound.
        """
        log_summands = self._log_summands(order, self.terms)
        log_sum = numerics.log_sum_exp(log_summands)
        if self._fades(log_summands, log_sum):
            return log_sum
        low, high = numerics.concave_window(lambda m: self._log_tilted(order, m), 0, self.k)
        if low > self.window[1] + 1:
            apart = self._log_summands(order, self._terms(low, high))
            return float(np.logaddexp(log_sum, numerics.log_sum_exp(apart)))
        self.window = (min(low, self.window[0]), max(high, self.window[1]))
        self.terms = self._terms(*self.window)
        return numerics.log_sum_exp(self._log_summands(order, self.terms))

    def losses(self) -> tuple[FloatArray, FloatArray]:
        """Return the law of m (or of cells of m), and the log of the likelihood ratio 1 + u(m), in a window.

        Values of m with a probability below e^-60 in all are left out.
        """
        m, log_mass, log_u, sign = self.terms
        below = np.log1p(-np.exp(np.minimum(log_u, math.log(0.5))))
        # near -1, u loses the digits of 1 + u = 1 - gamma + gamma (e^-eps0 + (e^eps0 - e^-eps0) m/k)
        with np.errstate(divide="ignore"):
            log_ratio = np.logaddexp(-self.eps0, numerics.log_sinh_gap(self.eps0) + np.log(m / self.k))
        far = np.logaddexp(
            math.log1p(-self.gamma) if self.gamma < 1 else -np.inf, math.log(self.gamma) + log_ratio
        )
        loss = np.where(sign > 0, np.logaddexp(0.0, log_u), np.where(log_u > math.log(0.5), far, below))
        return np.exp(log_mass), loss

    def loss_errors(self, loss: FloatArray) -> FloatArray:
        """Return bounds on the rounding errors of the losses."""
        m, _, _, _ = self.terms
        # near -1 the loss comes from logarithms of 1 + u; elsewhere from u, which has the error of m - mean
        size = np.exp(self.log_slope - np.maximum(loss, math.log(0.5))) * np.maximum(m, self.mean)
        relative = 8 + abs(self.log_slope) + abs(math.log(self.k))
        return 4 * numerics.EPSILON * (relative * size + 4 * np.abs(loss))
