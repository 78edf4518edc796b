"""Shuffled Gaussian reports of any records in [0, 1]: an upper bound by the blanket that all reports share.

n clients add N(0, sigma^2) to records in [0, 1]; each takes part with the probability ``rate``, and a
shuffler mixes the reports. With the density phi_x of N(x, sigma^2), omega = min(phi_0, phi_1) is part of
every report's density, whatever the record. Let all other clients disclose their reports that are not drawn
from omega. Those that are left, and the clients who stay away, are the blanket of balle2019 (Lemma 5.3). For
a client whose record is x or y,

    delta(eps) <= E (Z_1 + ... + Z_n)_+ / n,

where the Z_i are independent: (phi_x - e^eps phi_y)(W)/omega(W) for a report W from omega, 0 for any other
report, and 1 - e^eps for an absent client. Of all records in [0, 1], x = 0 and y = 1 make the right side
largest (docs/theory/gaussian_reports.md). It is the profile of a pair of laws, so rounds may be composed.

Let Y be the ratio of the densities of N(1, sigma^2) and N(0, sigma^2), which is log-normal under the
latter. Then Z + e^eps - 1 has mean 0. Its law is that of Y - 1 on Y > 1, that of -e^eps (Y - 1) on Y > 1, the
mass of reports that are not from omega at e^eps - 1, and that of absent clients at 0. So n delta is the price
of a call at the strike n (e^eps - 1), in the words of ``shuffledp.distributions.lognormal_sums``, and it is
computed as there: terms are rounded up in convex order, tilted, and cut.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import special

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray, IntArray
from shuffledp.distributions.lognormal import LogNormal, Rounded, rounded_up
from shuffledp.distributions.lognormal_sums.contour import TiltedSum
from shuffledp.distributions.lognormal_sums.plan import window
from shuffledp.pld.outcomes import Outcomes
from shuffledp.profiles.chords import raised
from shuffledp.profiles.gaussian import gaussian_delta, gaussian_epsilon
from shuffledp.profiles.shuffled_gaussian import MOST_CLIENTS, check_sigma

# What follows decides how tight a bound is, and never whether it holds.
_NODES = 2000  # of the quadrature behind a layout
_TILTS, _CLOSE = 24, 1e-3  # tilts among which the best is sought, and its relative error
_DROPPED = 3e-4  # of the price, what two terms above the cut may add
_SHORTFALL = 14.0  # nats: how unlikely the others are to fall short of the second cut
_RARE = 1e-3  # expected number of falls that are too rare to count for that
_MOST_STEPS = 2**40  # from 0 to the ends of a term
_MOST_CELLS = 2**17  # of the law of a term
_FINE = 128  # steps from 0 from where on cells may be wider than a step, relative to their distance from 0
_SPREAD = 0.05  # inverse steepness: largest step, and largest cell
_REACH = 0.25  # inverse steepness: how far on either side ``TiltedSum.steepness`` looks
_STEEPER = 1.2  # how much faster than planned a price may change
_ATTEMPTS = 8  # layouts tried
_NOISY = 0.05  # of a price, above which its error calls for a lower second cut
_FURTHER = 0.5  # of an estimate, below which a bound is taken as the next estimate
_WIDER, _MOST_SHARE = 20.0, 0.1  # by which the share of what is beyond the second cut grows, and its largest
_GIVEN_UP = 8  # values of a grid in a row that are those without a shuffler: so are all further ones
_FAR = 60.0  # inverse tilts to the least value of a term
# Shifts of the tilt by which a window is sought: relative to it, and to the inverse of a standard deviation.
_SHIFTS, _DEVIATIONS = np.geomspace(0.02, 20.0, 12), np.array([1.0, 2.0, 4.0, 6.0, 8.0, 11.0])
# Relative error that the grid of a round aims at: what chords add to delta, and as much by the rounding of
# terms; the least, and per nat of delta, so that that of eps stays the same far out.
_LEAST_ERROR, _ERROR = 0.03, 0.003
_CELLS = 8  # of that grid, at least, in the standard deviation of a normal loss with the same delta at 0
_NARROWEST = 300  # cells of that grid from 0, if all were as wide as the narrowest may be
_GROWTH = 1.4  # by which neighbouring cells of that grid differ, at most
# Where a bound without a shuffler is smaller than this, or n * rate than that, it is hardly improved.
_SMALLEST, _FEW = 1e-80, 0.01
_LEAST_CELL = 1e-12  # of Y near 1, so that neighbouring points are different doubles
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
        An eps >= 0 at which the profile of ``gaussian_blanket`` was computed and is at most delta, within
        1e-9 relative of where it crosses delta. Where single terms decide, it may lie a few percent higher
        for one setting than for its neighbours.

    Raises:
        ValueError: an argument is out of range.
    """
    delta = checks.probability("delta", delta)
    n, sigma, rate = _checked(n, sigma, rate)
    bare = float(gaussian_epsilon(delta, mu=1 / sigma))

    def excess(eps: float) -> float:
        return math.log(max(_delta(n, sigma, rate, eps), 1e-320) / delta)

    if excess(0.0) <= 0:
        return 0.0
    far = min(bare, 10 * _delta(n, sigma, rate, 0.0))  # some standard deviations of the loss
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
        found = _delta(n, sigma, rate, at, _Effort(tolerance(guess), _IN_GRID), guess)
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


class _Effort(NamedTuple):
    """How closely a price is computed.

    Attributes:
        rounded: part of it that the rounding of terms may add.
        points: of a window, at most, even if rounding then adds more.
    """

    rounded: float
    points: int


_ALONE, _IN_GRID = _Effort(3e-3, 2**20), 2**18


class _Layout(NamedTuple):
    """How a price is computed; see ``shuffledp.distributions.lognormal_sums``.

    Attributes:
        tilt: theta.
        cut: B; the terms above it are jumps, of which one is counted.
        second_cut: a jump beyond it counts as that, and the rest is added.
        step: of the lattice.
        is_coarse: whether a finer step would take too many points.
        widest: how many steps the widest cell has.
        shifts: by how much the tilt is moved, down and up, to find a window.
    """

    tilt: float
    cut: float
    second_cut: float
    step: float
    is_coarse: bool
    widest: int
    shifts: tuple[float, float]


class _Terms:
    """The law of Z + e^eps - 1 at one eps.

    Attributes:
        apart: probability that a report is not from the blanket.
        strike: of the call.
    """

    def __init__(self, n: int, sigma: float, rate: float, eps: float) -> None:
        self._n, self._rate, self._law = n, rate, LogNormal(sigma)
        self._factor, self._gain = math.exp(eps), math.expm1(eps)
        self.apart = -math.expm1(math.log(2) + float(special.log_ndtr(-0.5 / sigma)))
        self.strike = n * self._gain
        # of the normal variable behind Y, from Y = 1 on
        z = np.linspace(0.5 / sigma, 1 / sigma + 24.0, _NODES)
        self._gap = np.expm1((z - 0.5 / sigma) / sigma)  # Y - 1
        self._log_weight = -0.5 * z * z + math.log((z[1] - z[0]) / math.sqrt(2 * math.pi) * rate)
        self._log_weight[0] -= math.log(2)
        self._square = np.cumsum(np.exp(self._log_weight) * self._gap**2)
        # of the sum, without falls that are too rare
        rare = float(np.interp(-math.log(_RARE / n), -special.log_ndtr(-z) - math.log(rate), self._gap))
        self._falls = self._factor**2 * self._squares(rare) + rate * self.apart * self._gain**2

    def _squares(self, end: float) -> float:
        """Return E[(Y - 1)^2; 1 < Y < 1 + end], by quadrature."""
        return float(np.interp(end, self._gap, self._square))

    def _deviation(self, cut: float) -> float:
        """Return the standard deviation of the sum, without jumps and rare falls, or more than 0."""
        return max(math.sqrt(self._n * (self._squares(cut) + self._falls)), float(self._gap[1]))

    def _log_moment(self, tilt: float, cut: float, second_cut: float) -> float:
        """Return the log of the generating function of the sum, with at most one term above the cut."""
        gap, log_weight = self._gap, self._log_weight
        inside, jumps = gap <= cut, (gap > cut) & (gap <= second_cut)
        parts = [
            log_weight - tilt * self._factor * gap,
            log_weight[inside] + tilt * gap[inside],
            np.array([math.log(self._rate * self.apart) + tilt * self._gain]),
        ]
        if self._rate < 1:
            parts.append(np.array([math.log1p(-self._rate)]))
        body = numerics.log_sum_exp(np.concatenate(parts))
        # what is beyond the second cut counts as that
        beyond = float(special.log_ndtr(-self._law.normal(np.asarray(1 + second_cut))))
        sizes = np.append(log_weight[jumps], math.log(self._rate) + beyond)
        sizes += tilt * np.append(gap[jumps], second_cut)
        jump = numerics.log_sum_exp(sizes) + math.log(self._n)
        return (self._n - 1) * body + float(np.logaddexp(body, jump))

    def _several_jumps(self, cut: FloatArray) -> FloatArray:
        """Return what can be added to the price where two terms or more are above the cut, at most.

        (Z_1 + ... + Z_n)_+ is at most the sum of the Y_i with Y_i > 1.
        """
        n, rate, at = self._n, self._rate, self._law.normal(1 + cut)
        above, mean = rate * special.ndtr(-at), rate * special.ndtr(1 / self._law.sigma - at)
        bound = n * (n - 1) * (mean * above + rate * (n - 2) / 2 * above**2)
        return np.asarray(bound * (1 + numerics.OUTWARD))

    def _saddle(self, cut: float, second_cut: float) -> float:
        """Return the tilt: the saddlepoint of the inversion integral of the price."""

        def size(log_tilt: float) -> float:
            tilt = math.exp(log_tilt)
            return self._log_moment(tilt, cut, second_cut) - tilt * self.strike - 2 * log_tilt

        deviation = self._deviation(cut)
        low = math.log(1e-3 / (self.strike + deviation))
        high = math.log(1e3 / deviation + 600.0 / max(cut, float(self._gap[1])))
        # there is a minimum for many small terms, and another for a jump
        tilts = np.linspace(low, high, _TILTS)
        best = int(np.argmin([size(tilt) for tilt in tilts.tolist()]))
        ends = float(tilts[max(best - 1, 0)]), float(tilts[min(best + 1, _TILTS - 1)])
        found = scipy.optimize.minimize_scalar(size, bounds=ends, method="bounded", options={"xatol": _CLOSE})
        return math.exp(found.x)

    def _place(self, price: float, *, rest: float | None = None) -> tuple[float, float, float]:
        """Choose tilt and cuts, from an estimate of the price.

        Where ``rest`` is given, the second cut lies no farther than where jumps add less than that beyond it.
        A lower second cut allows a larger tilt.
        """
        gap, largest = self._gap, float(self._gap[-1])
        with np.errstate(divide="ignore"):
            several = np.log(self._several_jumps(gap))
        # a cut that moves smoothly with the setting: bounds of neighbouring settings are to be in order
        cut = float(np.interp(-math.log(_DROPPED * price), -several, gap))
        second = self.strike + math.sqrt(2 * _SHORTFALL) * self._deviation(cut)
        if rest is not None:
            at = self._law.normal(1 + gap)
            beyond = special.ndtr(1 / self._law.sigma - at) - (1 + gap) * special.ndtr(-at)
            small = self._n * self._rate * beyond <= rest
            second = min(second, float(gap[np.argmax(small)]) if small.any() else largest)
        second = min(max(cut, second), largest)
        return self._saddle(cut, second), cut, second

    def _layout(self, tilt: float, cut: float, second: float, steepness: float, effort: _Effort) -> _Layout:
        """Choose the step, for a price that changes with the strike at the relative ``steepness``."""
        shifts = np.concatenate([tilt * _SHIFTS, _DEVIATIONS / self._deviation(cut)])
        found = window(lambda at: self._log_moment(at, cut, second), tilt, shifts.tolist())
        width = found.high - found.low
        step = min(math.sqrt(8 * effort.rounded / (self._n * self._rate)), _SPREAD) / steepness
        is_coarse, step = step < width / effort.points, max(step, width / effort.points)
        if self._gain > step:
            # Where no report is of the blanket, the sum is at the strike: it is to be a lattice point, or
            # rounding would move mass across it. Powers of 2 are the same for neighbouring settings.
            step = self._gain / 2 ** math.ceil(math.log2(self._gain / step))
        farthest = max(cut, second, self._farthest(tilt)) / step
        widest = 2 ** max(int(math.log2(max(_SPREAD / (steepness * step), farthest / _MOST_CELLS))), 0)
        return _Layout(tilt, cut, second, step, is_coarse, widest, found.shifts)

    def _body(self, layout: _Layout) -> Rounded:
        """Return the law of a term that is no jump, rounded up."""
        law, rate, step = self._law, self._rate, layout.step
        end = _cells(layout.cut, step)
        rise = rounded_up(law, _lattice(end, layout.widest), step=step, anchor=1.0)
        least = _cells(self._farthest(layout.tilt), step)
        fall = rounded_up(law, _lattice(least, layout.widest), step=step / self._factor, anchor=1.0)
        below = math.floor(self._gain / step)
        part = self._gain / step - below
        index = np.concatenate([rise.index, -fall.index, [-least, below, below + 1, 0]])
        mass = np.concatenate(
            [
                rate * rise.mass,
                rate * fall.mass,
                # smaller terms count as the least, which raises the price
                [rate * law.above(1 + least * step / self._factor)],
                [rate * self.apart * (1 - part), rate * self.apart * part, 1 - rate],
            ]
        )
        points, inverse = np.unique(index.astype(np.int64), return_inverse=True)
        total: FloatArray = np.bincount(inverse, weights=mass).astype(np.float64)
        return Rounded(points[total > 0], total[total > 0])

    def _farthest(self, tilt: float) -> float:
        """Return the size of the largest fall that is told from larger ones."""
        return min(_FAR / tilt, self._factor * float(self._gap[-1]))

    def _jumps(self, layout: _Layout) -> Rounded:
        """Return the masses of a term above the cut, rounded up; beyond the second cut it counts as that."""
        law, step = self._law, layout.step
        end = _cells(layout.cut, step)
        last = self._last(layout)
        index = np.append(np.arange(end, last, layout.widest), last)
        inside = (
            rounded_up(law, index, step=step, anchor=1.0) if index.size > 1 else Rounded(index, np.zeros(1))
        )
        mass = self._rate * np.append(inside.mass, law.above(1 + last * step))
        some = mass > 0
        return Rounded(np.append(inside.index, last)[some], mass[some])

    def price(self, estimate: float, effort: _Effort) -> float:
        """Return the price of the call, rounded up; inf if it cannot be computed.

        Args:
            estimate: of the price.
            effort: how closely it is computed.
        """
        share = 0.0  # of the price, what jumps may add beyond a lowered second cut
        tilt, cut, second = self._place(estimate)
        steepness, least = tilt, math.inf
        for _ in range(_ATTEMPTS):
            layout = self._layout(tilt, cut, second, steepness, effort)
            step = layout.step
            if step < _LEAST_CELL * self._factor:
                break
            total = self._total(layout)
            found = total.price(self.strike)
            excess, error = self._law.call(1 + step * self._last(layout))
            missing = float(self._several_jumps(np.array(step * _cells(cut, step))))
            most = max(found.value, 0.0) + found.error
            least = min(least, most + missing + self._n * self._rate * (excess + error))
            is_noisy = found.error > _NOISY * found.value
            is_less = share > 0 and least < _FURTHER * estimate
            if is_less or (is_noisy and share < _MOST_SHARE):
                # far out, where the errors of a law that hardly reaches the strike exceed the price
                share, estimate = max(share if is_less else _WIDER * share, _DROPPED), min(least, estimate)
                tilt, cut, second = self._place(estimate, rest=share * estimate)
                steepness = tilt
                continue
            if is_noisy:
                break
            # beyond the strike itself, where there may be an atom
            beyond = self.strike + _REACH * (1 + 1e-6) / steepness
            actual = total.steepness(beyond, found.value, planned=steepness)
            if missing > 2 * _DROPPED * found.value and not share:
                tilt, cut, second = self._place(found.value)
                steepness = max(tilt, actual)
            elif actual > _STEEPER * steepness and not layout.is_coarse:
                steepness = actual
            else:
                break
        return least

    def _total(self, layout: _Layout) -> TiltedSum:
        body = self._body(layout)
        return TiltedSum(
            self._n,
            body,
            self._jumps(layout),
            anchor=0.0,
            step=layout.step,
            sign=1,
            target=self.strike,
            tilt=layout.tilt,
            shifts=layout.shifts,
            largest=layout.step * float(max(self._last(layout), -body.index[0], body.index[-1])),
        )

    def _last(self, layout: _Layout) -> int:
        """Return the index of the second cut."""
        return max(_cells(layout.second_cut, layout.step), _cells(layout.cut, layout.step))


def _lattice(end: int, widest: int) -> IntArray:
    """Return indices of lattice points from 0 to ``end``, sparser away from 0."""
    runs, reached, gap = [np.zeros(1, dtype=np.int64)], 0, 1
    while reached < end:
        stop = end if gap == widest else min(2 * _FINE * gap, end)
        runs.append(np.append(np.arange(reached + gap, stop, gap, dtype=np.int64), stop))
        reached, gap = stop, min(2 * gap, widest)
    return np.concatenate(runs)


def _cells(value: float, step: float) -> int:
    return min(max(math.ceil(value / step), 1), _MOST_STEPS)


def _without_a_shuffler(sigma: float, rate: float, eps: float) -> float:
    return float(rate * gaussian_delta(eps=eps, noise=sigma))


def _delta(
    n: int, sigma: float, rate: float, eps: float, effort: _Effort = _ALONE, guess: float = 1.0
) -> float:
    """Return delta at one eps, rounded up. A good guess of it saves time."""
    bare = _without_a_shuffler(sigma, rate, eps)
    if n == 1 or bare < _SMALLEST or n * rate < _FEW:
        return bare
    price = _Terms(n, sigma, rate, eps).price(n * min(bare, guess), effort)
    return min(price / n * (1 + 8 * numerics.EPSILON), bare)
