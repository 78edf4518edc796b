"""The bound of shuffled Gaussian reports: the profile, epsilon of a round, and a round to be composed."""

from __future__ import annotations

import functools
import math

import numpy as np
import scipy
from numpy.typing import ArrayLike

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray
from shuffledp.pld.outcomes import Outcomes
from shuffledp.profiles.chords import raised
from shuffledp.profiles.gaussian import gaussian_delta, gaussian_epsilon
from shuffledp.profiles.gaussian_blanket.plan import Effort
from shuffledp.profiles.gaussian_blanket.price import price
from shuffledp.profiles.gaussian_blanket.terms import Terms
from shuffledp.profiles.shuffled_gaussian import MOST_CLIENTS, check_sigma

# What follows decides how tight a bound is, and never whether it holds.
_ALONE, _IN_GRID = Effort(3e-3, 2**20), 2**18  # of a single price, and points of a window in the grid
_GIVEN_UP = 8  # values of a grid in a row that are those without a shuffler: so are all further ones
# Relative error that the grid of a round aims at: what chords add to delta, and as much by the rounding of
# terms; the least, and per nat of delta, so that that of eps stays the same far out.
_LEAST_ERROR, _ERROR = 0.03, 0.003
_CELLS = 8  # of that grid, at least, in the standard deviation of a normal loss with the same delta at 0
_NARROWEST = 300  # cells of that grid from 0, if all were as wide as the narrowest may be
_GROWTH = 1.4  # by which neighbouring cells of that grid differ, at most
# Where a bound without a shuffler is smaller than this, or n * rate than that, it is hardly improved.
_SMALLEST, _FEW = 1e-80, 0.01
_SETTLED = 1e-9  # relative distance of an epsilon from the root of the computed profile


def gaussian_blanket(eps: ArrayLike, *, n: int, sigma: float, rate: float = 1.0) -> float | FloatArray:
    """Return the privacy profile of shuffled Gaussian reports of any records in [0, 1], rounded up.

    It holds for all data sets, in both directions of neighbours under substitution.

    Args:
        eps: numbers from 0 to 1e6, any shape.
        n: number of clients, at most 1e9.
        sigma: standard deviation of the noise, from 0.1 to 1000.
        rate: probability with which each client takes part, in (0, 1].

    Returns:
        delta at each eps, of the shape of ``eps``: an upper bound, at most that without a shuffler. Above the
        bound of balle2019 it is by some 3e-3 relative among many clients, and by more where single terms
        decide: among few clients, and far out. It is that without a shuffler where that is below 1e-80,
        where the mean number of reports is below 0.01, and where errors of rounding exceed the bound, as for
        ten clients at sigma = 1 and delta below 1e-14.

    Raises:
        ValueError: an argument is out of range.
    """
    targets = checks.reals("eps", eps, at_least=0.0)
    setting = _checked(n, sigma, rate)
    found = np.array([_delta(*setting, one) for one in targets.ravel().tolist()])
    return checks.like_input(found.reshape(targets.shape))


def gaussian_blanket_epsilon(delta: float, *, n: int, sigma: float, rate: float = 1.0) -> float:
    """Return epsilon of one round of shuffled Gaussian reports of any records in [0, 1], rounded up.

    Args:
        delta: target, in (0, 1).
        n: as for ``gaussian_blanket``.
        sigma: as there.
        rate: as there.

    Returns:
        An eps >= 0 at which an upper bound on the profile was computed that is at most delta, within 1e-9
        relative of where it crosses delta. That of ``gaussian_blanket`` may differ from it by some 1e-3
        relative, as it is computed without delta in view. Where single terms decide, eps may lie a few
        percent higher for one setting than for its neighbours.

    Raises:
        ValueError: an argument is out of range.
    """
    delta = checks.probability("delta", delta)
    n, sigma, rate = _checked(n, sigma, rate)
    bare = float(gaussian_epsilon(delta, mu=1 / sigma))

    @functools.cache
    def excess(eps: float) -> float:
        return math.log(max(_delta(n, sigma, rate, eps, guess=delta), 1e-320) / delta)

    if excess(0.0) <= 0:
        return 0.0
    far = min(bare, 10 * delta * math.exp(excess(0.0)))  # some standard deviations of the loss
    while far < bare and excess(far) > 0:
        far = min(2 * far, bare)
    near = far / 2
    while near > 1e-12 * bare and excess(near) <= 0:
        near, far = near / 2, near
    if excess(far) > 0:
        return bare
    if excess(near) <= 0:
        return near
    found = float(scipy.optimize.brentq(excess, near, far, xtol=_SETTLED * near, rtol=1e-10))
    step = _SETTLED
    while found < far and excess(found) > 0:
        found, step = min(found * (1 + step), far), 2 * step
    return min(found, bare)


@functools.lru_cache(maxsize=8)
def gaussian_blanket_outcomes(*, n: int, sigma: float, rate: float = 1.0, lost: float = 1e-20) -> Outcomes:
    """Return the outcomes of one round of shuffled Gaussian reports, to be composed.

    The pair dominates all data sets and their neighbours under substitution, in both directions.

    Args:
        n: as for ``gaussian_blanket``.
        sigma: as there.
        rate: as there.
        lost: delta in (0, 1) of a round from which on its losses count as infinite.

    Returns:
        Masses and losses; the profile is raised to its chords between some hundred values of eps.

    Raises:
        ValueError: an argument is out of range.
    """
    lost = checks.probability("lost", lost)
    eps, delta = _grid(*_checked(n, sigma, rate), lost)
    delta *= 1 + numerics.OUTWARD
    if eps.size == 1:
        return Outcomes(1 - delta, eps, float(delta[0]))
    # both directions are alike: the price of a put at e^-eps is e^-eps delta(eps)
    loss = np.concatenate([-eps[:0:-1], eps])
    law = raised(loss, np.concatenate([(delta * np.exp(-eps))[:0:-1], delta]))
    return Outcomes(law.mass * np.exp(law.loss), law.loss, law.mean_at_infinity)


def _grid(n: int, sigma: float, rate: float, lost: float) -> tuple[FloatArray, FloatArray]:
    """Return values of eps from 0 to where delta is at most ``lost``, and delta there."""
    bare = float(gaussian_epsilon(lost, mu=1 / sigma))
    unhidden = 0  # values in a row

    def delta(at: float, guess: float) -> float:
        nonlocal unhidden
        without = _without_a_shuffler(sigma, rate, at)
        if unhidden == _GIVEN_UP:
            return without
        found = _delta(n, sigma, rate, at, Effort(tolerance(guess), _IN_GRID), guess)
        unhidden = unhidden + 1 if found == without else 0
        return found

    def tolerance(at: float) -> float:
        return max(_LEAST_ERROR, -_ERROR * math.log(max(at, lost)))

    eps, value = [0.0], [delta(0.0, 1.0)]
    step = math.sqrt(2 * math.pi) * value[0] / _CELLS
    while value[-1] > lost and eps[-1] < bare:
        end = min(eps[-1] + max(step, eps[-1] / _NARROWEST), bare)
        eps.append(end)
        guess = value[-1] ** 2 / value[-2] if len(value) > 1 else value[-1]
        value.append(min(delta(end, guess), value[-1]))  # the profile falls
        if len(eps) > 2:
            slope, former = (
                (value[place] - value[place - 1]) / (math.exp(eps[place]) - math.exp(eps[place - 1]))
                for place in (-1, -2)
            )
            # a chord is too high by its length times an eighth of the change of slope along it
            step = eps[-1] - eps[-2]
            sag = abs(slope - former) * math.exp(end) * step / 8
            allowed = tolerance(value[-1]) * value[-1]
            step *= min(max(math.sqrt(allowed / max(sag, 1e-300)), 1 / _GROWTH), _GROWTH)
    return np.array(eps), np.array(value)


def _checked(n: object, sigma: object, rate: object) -> tuple[int, float, float]:
    count = checks.count("n", n)
    if count > MOST_CLIENTS:
        raise ValueError(
            f"n must be at most {MOST_CLIENTS:g} for a blanket of Gaussian reports, as the errors of n terms "
            f"add up, got {n!r}"
        )
    return count, check_sigma(sigma), checks.probability("rate", rate, one=True)


def _without_a_shuffler(sigma: float, rate: float, eps: float) -> float:
    return float(rate * gaussian_delta(eps=eps, noise=sigma))


def _delta(
    n: int, sigma: float, rate: float, eps: float, effort: Effort = _ALONE, guess: float = 1.0
) -> float:
    """Return delta at one eps, rounded up, which takes less time where it is near ``guess``."""
    bare = _without_a_shuffler(sigma, rate, eps)
    if n == 1 or bare < _SMALLEST or n * rate < _FEW:
        return bare
    found = price(Terms(n, sigma, rate, eps), n * min(bare, guess), effort, most=n * bare)
    return min(found / n * (1 + 8 * numerics.EPSILON), bare)
