"""Amplification by shuffling by the privacy blanket (balle2019), for any eps0-LDP randomiser.

The paper states its general corollary with an O(.) only. What is computed here is the explicit bound that
the corollary abbreviates: the reduction to a sum of independent bounded variables (their Lemma 5.3) and
Hoeffding's inequality for its positive part (their Lemma 5.5). Of a generic randomiser it is only known that
the mass of the blanket lies between e^-eps0 and 1, so the bound is the largest over these masses.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp import checks, numerics
from shuffledp.approximate_dp.result import Amplification, amplification
from shuffledp.checks import FloatArray

_CELLS = 2000


def _log_delta(eps: FloatArray, n: int, eps0: float) -> FloatArray:
    """Return an upper bound on log delta(eps), for eps > 0, one-dimensional.

    With blanket mass g, M ~ Bin(n, g) of the reports come from the blanket, and delta(eps) is at most
    1/(g n) E[(L_1 + .. + L_M)_+] with L of mean 1 - e^eps in an interval of width g (e^eps0 - 1)(1 + e^eps).
    The range of g is cut into cells, and every factor is taken at the end of the cell where it is largest. So
    the maximum over cells bounds the supremum over g.
    """
    edges = np.exp(np.linspace(-eps0, 0.0, _CELLS + 1))
    low, high = edges[:-1], edges[1:]
    gap = np.expm1(eps)[:, None]
    width = high * math.expm1(eps0) * (1 + np.exp(eps))[:, None]
    keep = low * -np.expm1(-2 * (gap / width) ** 2)
    log_tail = n * np.log1p(-keep)
    log_front = 2 * np.log(width) - np.log(4 * gap) - np.log(low * n)
    return (log_front + log_tail).max(axis=1)


def balle2019(*, n: int, eps0: float, delta: float) -> Amplification:
    """Return the guarantee of shuffling n reports of an eps0-LDP randomiser, by the privacy blanket.

    Args:
        n: number of shuffled reports, >= 1.
        eps0: local privacy parameter, >= 0.
        delta: central delta, in (0, 1).

    Returns:
        An ``Amplification``. Where eps0 <= log(n / log(1/delta)) / 2 (balle2019, Corollary 5.3.1), eps is
        the smallest value whose delta the explicit form certifies, an upper bound, at most eps0. Elsewhere
        the guarantee is that of a single report: eps is eps0 and delta is 0.

    Raises:
        ValueError: an argument is out of range.
    """
    n, eps0, delta = checks.count("n", n), checks.eps0(eps0), checks.probability("delta", delta)
    applicable = np.asarray(eps0 <= 0.5 * math.log(n / -math.log(delta)))
    eps = np.asarray(eps0)
    if applicable and eps0 > 0:
        log_target = math.log(delta) - 1e-9
        high = numerics.last_true(
            lambda eps: _log_delta(eps, n, eps0) > log_target, np.array([eps0 * 1e-12]), np.array([eps0])
        )
        eps = high[0]
    return amplification(eps, np.asarray(delta), applicable, eps0, "eps0 <= log(n / log(1/delta)) / 2")
