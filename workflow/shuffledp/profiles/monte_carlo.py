"""Monte Carlo estimates of the shuffled Gaussian's hockey-stick integral: koskela2022, appendix C.3.

The integrand is [M(X')(x) - e^eps M(X)(x)]_+ over reports x in R^n; X holds zeros only, X' one 1. Points are
drawn uniformly from the cube [-half_width, half_width]^n, as in the paper, or from one of the two laws
(importance sampling), so that only the privacy loss contributes to the variance.

Points come in batches, each with a generator of its own that depends on the seed and the batch alone: the
estimate depends neither on the number of workers nor on where a run was interrupted.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import checks
from shuffledp.checks import FloatArray

SAMPLINGS = ("uniform", "zeros", "one")  # the cube; M(X); M(X')

_SMALLEST = 0.1  # of sigma and half_width
_NUMBERS = 2**20  # random numbers in a batch, which takes a hundred bytes for each


class Sums(NamedTuple):
    """Sums over batches.

    Attributes:
        batches: their number.
        points: number of their points.
        values: sums of the values, one for each eps.
        squares: sums of their squares.
    """

    batches: int
    points: int
    values: FloatArray
    squares: FloatArray

    @property
    def estimate(self) -> FloatArray:
        """Estimates of delta, one for each eps."""
        return self.values / self.points

    @property
    def variance(self) -> FloatArray:
        """Variances of the value at one point, estimated."""
        centred = self.squares - self.values**2 / self.points
        return np.maximum(centred, 0.0) / max(self.points - 1, 1)

    @property
    def standard_error(self) -> FloatArray:
        """Standard errors of the estimates."""
        return np.sqrt(self.variance / self.points)


class Experiment(NamedTuple):
    """An estimate to make, with its arguments checked by ``experiment``.

    Attributes:
        eps: where the profile is estimated.
        n: number of clients.
        sigma: standard deviation of the noise.
        sampling: one of ``SAMPLINGS``.
        points: number of points.
        half_width: of the cube.
        seed: of the random numbers.
    """

    eps: FloatArray
    n: int
    sigma: float
    sampling: str
    points: int
    half_width: float
    seed: int

    @property
    def batch(self) -> int:
        """Number of points that are computed at once."""
        return max(_NUMBERS // self.n, 1)

    @property
    def batches(self) -> int:
        """Number of batches; the last one may be smaller."""
        return -(-self.points // self.batch)


def experiment(
    eps: ArrayLike,
    *,
    n: int,
    sigma: float,
    points: int,
    sampling: str = "one",
    half_width: float = 14.0,
    seed: int = 0,
) -> Experiment:
    """Describe an estimate of H(M(X') || M(X)) at several eps, for ``batches``.

    Args:
        eps: real numbers, one-dimensional.
        n: number of clients.
        sigma: standard deviation of the noise, >= 0.1.
        points: number of points.
        sampling: "uniform": from the cube; "zeros": from M(X); "one": from M(X').
        half_width: of the cube, where points are uniform, >= 0.1. The integral outside of it is left out, so
            that the estimate is too small, by at most the mass of M(X') outside.
        seed: of the random numbers, >= 0.

    Raises:
        ValueError: an argument is out of range.
    """
    targets = checks.reals("eps", eps)
    if targets.ndim != 1:
        raise ValueError(f"eps must be one-dimensional, got an array of shape {targets.shape}")
    return Experiment(
        targets,
        checks.count("n", n),
        checks.real("sigma", sigma, at_least=_SMALLEST),
        checks.choice("sampling", sampling, SAMPLINGS),
        checks.count("points", points),
        checks.real("half_width", half_width, at_least=_SMALLEST),
        checks.count("seed", seed, at_least=0),
    )


def batches(setting: Experiment, *, after: Sums | None = None, workers: int = 1) -> Iterator[Sums]:
    """Estimate in batches.

    Args:
        setting: as returned by ``experiment``.
        after: sums of the batches that are computed already, to go on from.
        workers: number of threads that compute batches; the sums do not depend on it.

    Returns:
        After each batch, the sums of all batches so far, in order. The estimates are unbiased except for the
        integral outside of the cube; they are no bounds.

    Raises:
        ValueError: ``workers`` is no whole number >= 1.
    """
    checks.count("workers", workers)
    zeros = np.zeros(setting.eps.shape)
    return _added(setting, Sums(0, 0, zeros, zeros) if after is None else after, workers)


def _added(setting: Experiment, sums: Sums, workers: int) -> Iterator[Sums]:
    left = range(sums.batches, setting.batches)
    compute = functools.partial(_batch, setting)
    with ThreadPoolExecutor(workers) as pool:
        try:
            for one in pool.map(compute, left) if workers > 1 else map(compute, left):
                sums = Sums(*(before + more for before, more in zip(sums, one, strict=True)))  # type: ignore[operator]
                yield sums
        finally:
            pool.shutdown(cancel_futures=True)


def _batch(setting: Experiment, index: int) -> Sums:
    """Return the sums of one batch."""
    eps, n, sigma, sampling, points, half_width, seed = setting
    count = min(setting.batch, points - index * setting.batch)
    # the same child as SeedSequence.spawn gives, without those before it
    entropy = (seed, n, SAMPLINGS.index(sampling))
    rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(index,)))
    if sampling == "uniform":
        x = rng.uniform(-half_width, half_width, (n, count))
    else:
        x = rng.standard_normal((n, count))
        x *= sigma
        if sampling == "one":
            x[0] += 1.0  # the integrand does not change if reports trade places
    weight: float | FloatArray = 1.0
    if sampling == "uniform":
        log_density = np.einsum("ij,ij->j", x, x) / (-2 * sigma**2)
        weight = np.exp(log_density + n * math.log(2 * half_width / (sigma * math.sqrt(2 * math.pi))))
    x -= 0.5
    x /= sigma**2
    ratio = np.exp(x, out=x).mean(axis=0)
    if sampling == "one":
        weight = 1 / ratio
    values, squares = np.empty(eps.shape), np.empty(eps.shape)
    for place, factor in enumerate(np.exp(eps).tolist()):
        value = ratio - factor
        np.maximum(value, 0.0, out=value)
        value *= weight
        values[place], squares[place] = value.sum(), value @ value
    return Sums(1, count, values, squares)
