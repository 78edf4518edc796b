"""The shuffled Gaussian: koskela2022, section 5 and appendix C.3.

n clients add Gaussian noise of standard deviation sigma to their numbers, and a shuffler mixes the reports.
X holds zeros only, X' holds one 1. At reports x, dM(X')/dM(X) = S/n with S the sum of
exp((2 x_i - 1)/(2 sigma^2)): under M(X) a sum of n independent log-normal terms of mean 1. So the
n-dimensional hockey-stick integral, which the paper estimates by Monte Carlo, is the price of a call or of a
put on a sum of n scalars (``shuffledp.distributions.lognormal_sums`` explains these words).

All values here are those of this pair of data sets, or bounds on them. The same pair describes a Gaussian
mechanism whose one record is allocated to one of n steps at random. Over all data sets and their neighbours
under substitution, for n >= 2, the pair gives a lower bound on what shuffling a Gaussian costs, and no
guarantee.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np
import scipy
from numpy.typing import ArrayLike

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray
from shuffledp.distributions.lognormal_sums import Bound, LogNormalSum, Side
from shuffledp.pld.outcomes import Outcomes
from shuffledp.profiles.chords import Ratios, changes, raised

WAYS = ("forward", "reverse")
DIRECTIONS = (*WAYS, "both")
BOUNDS: tuple[Bound, ...] = ("upper", "lower")
SMALLEST_SIGMA, LARGEST_SIGMA = 0.1, 1000.0
MOST_CLIENTS = 10**9  # of rounds that are composed

_SMALLEST_DELTA = 1e-100  # delta of one report below which a profile is not computed
_SMALLEST_TARGET = 1e-90  # smallest delta for which an epsilon is searched
_MOST_ROUNDING = 1e-12  # relative rounding error of an epsilon in closed form
_SETTLED = 1e-9  # relative distance of an epsilon from the root of the computed profile
# Outcomes of one round at which delta is smaller count as one, of infinite loss in an upper bound.
_LOST = 1e-20
_CHORD = 1e-4  # relative error of a chord between neighbouring outcomes that the grid aims at
_LEAST_POINTS = 500  # least number of points of the grid
_MOST_WORK = 7e7  # largest work for the law of one round, some 20 seconds


def shuffled_gaussian(
    eps: ArrayLike, *, n: int, sigma: float, direction: str = "both", bound: Bound = "upper"
) -> float | FloatArray:
    """Return the privacy profile of the shuffled Gaussian, for the two data sets of koskela2022.

    For n = 1 it is the profile of the Gaussian mechanism. For n >= 2 it is exact for the two data sets only,
    and so, over all data sets, a lower bound on the cost of shuffling a Gaussian.

    Args:
        eps: real numbers of any sign, any shape.
        n: number of clients.
        sigma: standard deviation of the noise, from 0.1 to 1000, for records in [0, 1].
        direction: "forward": H(M(X') || M(X)); "reverse": H(M(X) || M(X')); "both": the larger.
        bound: "upper" or "lower": on which side the values err.

    Returns:
        delta at each eps, of the shape of ``eps``. Down to delta = 1e-12, upper and lower bounds differ by
        less than 1e-3 relative for n up to 1e6, and by more for larger n; the time grows like sqrt(n), up to
        a limit. The bounds hold for every delta, but somewhere between 1e-20 and 1e-100 the lower one becomes
        0, and the upper one no longer falls. Values in one array share work, so that they may differ from
        values computed one by one, within those bounds.

    Raises:
        ValueError: an argument is out of range.
    """
    targets = checks.reals("eps", eps)
    total, direction, bound = _checked(n, sigma, direction, bound)
    flat = targets.ravel()
    deltas = np.zeros(flat.shape)
    for one in _ways(direction):
        for place in np.argsort(-flat):
            deltas[place] = max(deltas[place], _delta(total, float(flat[place]), one, bound))
    return checks.like_input(deltas.reshape(targets.shape))


def shuffled_gaussian_epsilon(
    delta: float, *, n: int, sigma: float, direction: str = "both", bound: Bound = "upper"
) -> float:
    """Return epsilon of one shuffle of Gaussian reports, for the two data sets of koskela2022.

    For n >= 2 it is only a lower bound over all data sets; see ``shuffled_gaussian``.

    Args:
        delta: target, in (0, 1).
        n: number of clients.
        sigma: standard deviation of the noise, from 0.1 to 1000.
        direction: as for ``shuffled_gaussian``.
        bound: "upper" or "lower".

    Returns:
        The smallest eps >= 0 at which the profile of that bound is at most delta, moved to the side of
        ``bound`` by at least 1e-9 relative. The profile was computed there and is at most delta ("upper"), or
        larger ("lower", unless eps is 0). For delta below 1e-90 it is an upper bound on epsilon of a single
        report ("upper"), or 0 ("lower").

    Raises:
        ValueError: an argument is out of range.
    """
    delta = checks.probability("delta", delta)
    total, direction, bound = _checked(n, sigma, direction, bound)
    return max(_epsilon(total, delta, one, bound) for one in _ways(direction))


def shuffled_gaussian_outcomes(
    *, n: int, sigma: float, direction: str = "forward", bound: Bound = "upper"
) -> Outcomes:
    """Return the outcomes of one shuffle of Gaussian reports, to be composed.

    The returned pair dominates that of the two data sets of koskela2022 ("upper"), or is dominated by it
    ("lower"), and the same holds for their compositions. See ``shuffled_gaussian`` for other data sets.

    Args:
        n: number of clients.
        sigma: standard deviation of the noise, from 0.1 to 1000.
        direction: "forward" or "reverse"; a statement about both needs the composition of each.
        bound: "upper" or "lower".

    Returns:
        Masses under the first law of the direction, and losses. The law of S/n is given through the
        expectations of (S/n - k)_+ at some thousand points k. Between these, the expectations are raised to
        their chords or lowered to the extensions of the neighbouring chords, which changes them by some 3e-4
        relative. For an upper bound, ``infinite`` has the mass of losses at which delta is below 1e-20.

    Raises:
        ValueError: an argument is out of range, or n and sigma ask for more than some 20 seconds of work.
    """
    direction = checks.choice("direction", direction, WAYS)
    total, direction, bound = _checked(n, sigma, direction, bound)
    if total.n > MOST_CLIENTS:
        raise ValueError(
            f"n must be at most {MOST_CLIENTS:g} for rounds to be composed, since the law of the sum of n "
            f"log-normal terms takes some sqrt(n) points, got {n!r}"
        )
    loss, above, below = _grid(total.n, total.sigma)
    law = raised(loss, above) if bound == "upper" else _lowered(loss, above, below)
    if direction == "forward":
        return Outcomes(law.mass * np.exp(law.loss), law.loss, law.mean_at_infinity)
    return Outcomes(law.mass, -law.loss, law.mass_at_zero)


def check_sigma(sigma: object) -> float:
    """Return the standard deviation of the noise, a number in the range that is computed.

    Raises:
        ValueError: it is out of that range.
    """
    number = checks.positive("sigma", sigma)
    if not SMALLEST_SIGMA <= number <= LARGEST_SIGMA:
        raise ValueError(
            f"sigma must lie in [{SMALLEST_SIGMA:g}, {LARGEST_SIGMA:g}], outside of which the law of a sum "
            f"of log-normal terms is not computed, got {sigma!r}"
        )
    return number


def _checked(n: object, sigma: object, direction: str, bound: str) -> tuple[LogNormalSum, str, Bound]:
    n = checks.count("n", n)
    sigma = check_sigma(sigma)
    direction = checks.choice("direction", direction, DIRECTIONS)
    checks.choice("bound", bound, BOUNDS)
    return LogNormalSum(n, sigma), direction, bound  # type: ignore[return-value]


def _ways(direction: str) -> tuple[str, ...]:
    return WAYS if direction == "both" else (direction,)


def _delta(total: LogNormalSum, eps: float, direction: str, bound: Bound) -> float:
    """Return E (S/n - e^eps)_+ or E (1 - e^eps S/n)_+, by the side on which it is small."""
    loss = eps if direction == "forward" else -eps
    side: Side = "call" if loss >= 0 else "put"
    most = _epsilon_of_one_report(total.sigma, _SMALLEST_DELTA)
    if abs(loss) > most and bound == "lower":
        value = 0.0
    else:
        value = total.price(side, total.n * math.exp(min(max(loss, -most), most)), bound) / total.n
    if direction == "reverse":
        value *= math.exp(min(eps, most))
    outward = 1 + (8 if bound == "upper" else -8) * numerics.EPSILON
    # parity
    value = value * outward if eps >= 0 else (-math.expm1(eps) + value) * outward
    return min(max(value, 0.0), 1.0)


def _epsilon(total: LogNormalSum, delta: float, direction: str, bound: Bound) -> float:
    def excess(eps: float) -> float:
        return math.log(max(_delta(total, eps, direction, bound), 1e-320) / delta)

    most = _epsilon_of_one_report(total.sigma, delta)
    if delta < _SMALLEST_TARGET:
        return most * (1 + _MOST_ROUNDING) if bound == "upper" else 0.0
    if excess(0.0) <= 0:
        return 0.0
    near = far = _guessed(total.n, total.sigma, delta, direction)
    step = 0.01
    while near > 0 and excess(near) <= 0:
        near, step = near * (1 - step) if near > 1e-10 * most else 0.0, min(2 * step, 0.9)
    step = 0.01
    while far < most and excess(far) > 0:
        far, step = min(far * (1 + step), most), 2 * step
    if far == most and excess(far) > 0:
        return most * (1 + _MOST_ROUNDING)
    root = scipy.optimize.brentq(excess, near, far, xtol=1e-12 * far, rtol=1e-10) if near < far else near
    shift = _SETTLED * root
    while True:
        settled = root + shift if bound == "upper" else max(root - shift, 0.0)
        if settled == 0 or (excess(settled) <= 0) == (bound == "upper"):
            return settled
        shift *= 2


@functools.lru_cache(maxsize=8)
def _guessed(n: int, sigma: float, delta: float, direction: str) -> float:
    """Return an estimate of epsilon, from which the search for either bound starts."""
    total, most = LogNormalSum(n, sigma), _epsilon_of_one_report(sigma, delta)

    def excess(log_eps: float) -> float:
        loss = math.exp(log_eps) if direction == "forward" else -math.exp(log_eps)
        value = total.estimate("call" if loss > 0 else "put", n * math.exp(loss)) / n
        return math.log(max(value, 1e-300) / delta) - min(loss, 0.0)

    low, high = math.log(1e-10 * most), math.log(most)
    if not excess(low) > 0 > excess(high):
        return most
    return math.exp(scipy.optimize.brentq(excess, low, high, xtol=1e-3))


def _epsilon_of_one_report(sigma: float, delta: float) -> float:
    """Return an upper bound on epsilon at delta: that of a single report, whose loss is normal."""
    return 0.5 / sigma**2 + math.sqrt(-2 * math.log(delta)) / sigma


@functools.lru_cache(maxsize=8)
def _grid(n: int, sigma: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return losses, increasing, and upper and lower bounds on E(S/n - k)_+ at k = e^loss (on E(k - S/n)_+
    where the loss is negative)."""
    total = LogNormalSum(n, sigma)
    puts, calls = (np.array(list(_walk(total, side))) for side in ("put", "call"))
    puts[:, 0] *= -1
    loss, above, below = np.concatenate([puts[:-1], calls[::-1]]).T
    return loss, above * (1 + numerics.OUTWARD), below * (1 - numerics.OUTWARD)


def _walk(total: LogNormalSum, side: Side) -> Iterator[tuple[float, float, float]]:
    """Yield (loss, upper, lower) from the loss at which delta is negligible down to loss 0. The loss is
    without its sign, and the bounds are prices divided by n."""
    sign, n = (1 if side == "call" else -1), total.n

    def bounds(loss: float) -> tuple[float, float]:
        if total.work > _MOST_WORK:
            raise ValueError(
                f"sigma must be larger, or n smaller, for rounds to be composed: at n={n} the law of the sum "
                f"of log-normal terms takes more than some 20 seconds, got {total.sigma!r}"
            )
        strike = n * math.exp(sign * loss)
        return total.price(side, strike, "upper") / n, total.price(side, strike, "lower") / n

    def is_lost(loss: float, price: float) -> bool:
        # delta at this loss, in the direction in which delta is larger
        return price * math.exp(0.0 if side == "call" else loss) <= _LOST

    near, loss = 0.0, _epsilon_of_one_report(total.sigma, _LOST)
    while loss - near > 1e-3 * loss:
        middle = (near + loss) / 2
        estimate = total.estimate(side, n * math.exp(sign * middle)) / n
        near, loss = (near, middle) if is_lost(middle, estimate) else (middle, loss)
    value, lower = bounds(loss)
    while not is_lost(loss, value):
        loss *= 1.02
        value, lower = bounds(loss)
    yield loss, value, lower
    step, slope = loss / _LEAST_POINTS, None
    while loss > 0:
        end = loss - step if loss > 1.2 * step else 0.0
        former, step, (value, lower) = value, loss - end, bounds(end)
        new_slope = (former - value) / (math.exp(sign * loss) * math.expm1(-sign * step))
        if slope is not None:
            # a chord is too high by its length times an eighth of the change of slope along it
            sag = abs(slope - new_slope) * math.exp(sign * end) * step / 8
            step *= min(max(math.sqrt(_CHORD * value / max(sag, 1e-300)), 0.7), 1.4)
        loss, slope = end, new_slope
        yield loss, value, lower


def _lowered(loss: FloatArray, above: FloatArray, below: FloatArray) -> Ratios:
    """Return a law whose expectations lie below the lower bounds at the grid's points, and between the points
    below the extensions of the neighbouring chords.

    Such a chord goes through a lower bound at its nearer end and an upper bound at its farther one.
    """
    gaps = np.exp(loss[:-1]) * np.expm1(np.diff(loss))
    cell = np.arange(1, loss.size - 2)
    is_call = loss[cell] >= 0

    def seen(bounds: FloatArray, at: np.ndarray) -> FloatArray:
        """Return the bounds at neighbouring points, as calls or puts like those of the cell (parity)."""
        differs = is_call & (loss[at] < 0), ~is_call & (loss[at] > 0)
        return bounds[at] + np.select(differs, [-np.expm1(loss[at]), np.expm1(loss[at])], 0.0)

    left, right, gap = seen(below, cell), seen(below, cell + 1), gaps[cell]
    rise = (left - seen(above, cell - 1)) / gaps[cell - 1]
    fall = (seen(above, cell + 2) - right) / gaps[cell + 1]
    met = (right - fall * gap < left) & (left + rise * gap < right)
    ahead = (left - (right - fall * gap))[met] / (fall - rise)[met]
    # at both ends, the same lines continued down to 0
    first, last = below[1] * gaps[1] / (above[2] - below[1]), below[-2] * gaps[-3] / (above[-3] - below[-2])
    points = np.concatenate(
        [
            [loss[1] + math.log1p(-first / math.exp(loss[1]))],
            loss[1:-1],
            loss[cell[met]] + np.log1p(ahead / np.exp(loss[cell[met]])),
            [loss[-2] + math.log1p(last / math.exp(loss[-2]))],
        ]
    )
    values = np.concatenate([[0.0], below[1:-1], left[met] + rise[met] * ahead, [0.0]])
    order = np.argsort(points)
    points, values = points[order], values[order]
    kept, mass = changes(points, np.exp(points[:-1]) * np.expm1(np.diff(points)), values)
    return Ratios(points[kept], mass)
