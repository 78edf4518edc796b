"""Lower bounds from concrete data sets: the law of a score of the shuffled reports, under either record.

Let the client who differs send a report of law ``first`` or ``second``, and the k - 1 others of known laws.
Each report is given a whole number, nearly proportional to what it says about the two records to first order,
(first - second)/(mean law of the others), and the numbers are added up. That is post-processing of the
shuffled reports, so the protocol dominates the pair of the two laws of the sum: its epsilon is a lower bound.
For many reports the sum loses almost nothing of what the reports say.

Where k of n clients are drawn, all others hold one record, and the report in the place of the client who
differs is one of theirs with probability 1 - k/n. Where clients check in at a rate, a client who does not
check in counts as sending one more symbol.

A sum over many reports is known only up to a relative error, that of convolutions or of Fourier transforms.
The law of the others' sum is the same under both records, and so is its error. The error is bounded point by
point: masses under P are lowered by it, and losses are lowered so far that no mass under Q is too small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import fft

from shuffledp import numerics
from shuffledp.checks import FloatArray, IntArray
from shuffledp.pld.outcomes import Outcomes

Others = Sequence[tuple[FloatArray, int]]

_FINEST = 16  # the largest score
_GOOD = 0.9995  # efficiency of whole scores, relative to the exact ones, that suffices
_DIRECT = 3000  # number of terms up to which a law is convolved with itself directly
_APART = 3.0  # standard deviations between the means of successive tilted laws that are transformed
_HEARD = 1e-8  # relative to the largest probability; smaller ones may be rounding of the transform
_BEYOND = 24  # standard deviations that must fit into the transform
_MOST = 2**24  # largest number of terms of a law that is computed
_DEEPER = 40.0  # nats by which sums of fewer reports are cut off deeper than the sum of all
_FAR = 1e-280  # smallest probability that is used: products of such lose nothing to underflow that counts
_USABLE = 1e-3  # largest relative error of a probability that is used
_SPARE = 1.01  # factor on errors that allows for their products


class _Law(NamedTuple):
    """The law of a sum, without its negligible ends.

    Attributes:
        mass: probabilities of consecutive numbers.
        error: bounds on their relative errors, of the same shape.
        cut: whether smaller numbers are left out, and whether larger ones are.
    """

    mass: FloatArray
    error: FloatArray
    cut: tuple[bool, bool] = (False, False)


def in_place(law: FloatArray, others: FloatArray, gamma: float) -> FloatArray:
    """Return the law of a report that is the client's with probability gamma, and another's otherwise."""
    return (1 - gamma) * others + gamma * law


def at_rate(law: FloatArray, rate: float) -> FloatArray:
    """Return the law of the report of a client who checks in with probability ``rate``; not checking in is
    one more symbol, the last."""
    return np.append(rate * law, 1 - rate)


def loss_error(error: float, *, reports: float, rounds: float, nats: float) -> float:
    """Return a bound on the error of the losses of all rounds where laws of reports are not known exactly.

    Let every probability of the law of a report be within a factor 1 +- r of the true one, for all m reports
    of all rounds. The logarithm of the ratio of the two laws of a report is at most r' = r/(1 - r). Its mean
    under the law that is used is the divergence of the two, between 0 and r'^2. So the sum over the reports
    of all others is at most g = m r'^2 + r' sqrt(2 m nats), except with probability e^-nats (Hoeffding); the
    report of the client who differs adds r' per round. Let E = e^eps, and let H be the divergence of the laws
    that are used. The true divergence at E is at least e^-g (H(E e^(2 g)) - 2 e^-nats). So epsilon at delta
    is at least that of the laws that are used at e^g delta + 2 e^-nats, less 2 g.

    Args:
        error: r, in [0, 1).
        reports: number of reports of a round.
        rounds: number of rounds.
        nats: as above.

    Returns:
        g.
    """
    ratio, every = error / (1 - error), reports * rounds
    return every * ratio**2 + ratio * (math.sqrt(2 * every * nats) + rounds)


def score_outcomes(
    first: FloatArray, second: FloatArray, others: Others, *, nats: float = numerics.NEGLIGIBLE
) -> list[Outcomes]:
    """Return pairs that the shuffle dominates, one for each direction of neighbours.

    Args:
        first: law of the report of the client who differs, or of the report in its place.
        second: the same law after the client's record is changed.
        others: laws of the reports of all others, and how many reports have each.
        nats: how far below the rest a sum of scores is left out.

    Returns:
        Masses under P and losses, both rounded down, where the given laws are taken as exact. No pair if the
        two laws are equal, or if there are too many sums.
    """
    total = sum(count for _, count in others)
    mean = (first + second) / 2
    if total:
        mean = sum((count * law for law, count in others), np.zeros(first.shape)) / total
    used = (first > 0) | (second > 0) | (mean > 0)
    first, second, mean = first[used], second[used], mean[used]
    scores = _scores(first - second, np.maximum(mean, np.finfo(np.float64).tiny))
    if not scores.any():
        return []
    lowest = int(scores.min())
    width = int(scores.max()) - lowest + 1

    def dense(law: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(scores - lowest, weights=law, minlength=width), dtype=np.float64)

    law = _sum([(dense(one[used]), count) for one, count in others if count], nats)
    if law is None:
        return []
    apart = dense(first - second)
    p, q, gap = (np.convolve(law.mass, one) for one in (dense(first), dense(second), apart))
    # relative rounding errors of each sum and of its terms
    rounding = (width + 4) * numerics.EPSILON
    wrong = law.mass * (law.error + rounding)
    p_wrong, q_wrong, gap_wrong = (
        _SPARE * np.convolve(wrong, one) for one in (dense(first), dense(second), np.abs(apart))
    )
    kept = (p > 0) & (q > 0) & (p_wrong < _USABLE * p) & (q_wrong < _USABLE * q)
    # next to an end that was cut off, sums lack terms
    kept[: (width - 1) * law.cut[0]] = False
    kept[kept.size - (width - 1) * law.cut[1] :] = False
    # probabilities may not quite add up to 1; the factor is the same for both records
    whole = 1 - 4 * numerics.EPSILON * (total + 1)
    known = tuple(one[kept] for one in (p, q, gap, p_wrong, q_wrong, gap_wrong))
    return _outcomes(*known, whole=whole, lost=math.exp(-nats))


def sampled_counts(first: FloatArray, second: FloatArray, *, n: int, k: int, held: int) -> list[Outcomes]:
    """Return pairs that a round dominates in which k of n clients, who hold two records, report two symbols.

    The number of reports of the second symbol is published. The number of those who hold the first record,
    among the others who are drawn, is hypergeometric.

    Args:
        first: law of a report of the first record.
        second: law of a report of the second.
        n: number of clients.
        k: clients drawn for a round, 1 <= k < n.
        held: number of others who hold the first record, 0 <= held < n.

    Returns:
        As for ``score_outcomes``.
    """
    gamma = k / n
    powers = [[np.ones(1)], [np.ones(1)]]
    for law, list_of, most in zip((first, second), powers, (min(k, held), min(k, n - 1 - held)), strict=True):
        for _ in range(most):
            list_of.append(np.convolve(list_of[-1], law))

    def drawn(reports: int) -> FloatArray:
        """Return the law of the number of reports of the second symbol among ``reports`` of the others."""
        low, high = max(0, reports - (n - 1 - held)), min(reports, held)
        inner = np.arange(low, high, dtype=np.float64)
        steps = (held - inner) * (reports - inner) / (inner + 1) / (n - held - reports + inner)
        # products start at the largest weight, so that none is above 1
        rising = int(np.searchsorted(-steps, -1.0))
        before = np.cumprod(1 / steps[:rising][::-1])[::-1]
        weights = np.concatenate([before, [1.0], np.cumprod(steps[rising:])])
        mixed = np.zeros(reports + 1)
        for firsts, weight in zip(range(low, high + 1), (weights / weights.sum()).tolist(), strict=True):
            mixed += weight * np.convolve(powers[0][firsts], powers[1][reports - firsts])
        return mixed

    without, beside = drawn(k), drawn(k - 1)
    p, q = ((1 - gamma) * without + gamma * np.convolve(beside, one) for one in (first, second))
    gap = gamma * np.convolve(beside, first - second)
    # relative rounding error of a sum of products of k positive numbers
    relative = 16 * (k + 8) * numerics.EPSILON
    gap_wrong = relative * gamma * np.convolve(beside, np.abs(first - second))
    kept = (p > _FAR) & (q > _FAR)
    known = (one[kept] for one in (p, q, gap, relative * p, relative * q, gap_wrong))
    return _outcomes(*known, whole=1.0, lost=0.0)


def _outcomes(
    p: FloatArray,
    q: FloatArray,
    gap: FloatArray,
    p_wrong: FloatArray,
    q_wrong: FloatArray,
    gap_wrong: FloatArray,
    *,
    whole: float,
    lost: float,
) -> list[Outcomes]:
    """Return pairs in both directions, rounded down.

    Args:
        p: masses under one record.
        q: masses under the other.
        gap: p - q.
        p_wrong: bound on the error of ``p``.
        q_wrong: bound on the error of ``q``.
        gap_wrong: bound on the error of ``gap``.
        whole: factor on masses under both records.
        lost: as for ``Outcomes.infinite``.
    """
    # the smaller of the two is the denominator, so that small losses keep their digits
    least, least_wrong = np.minimum(p, q), np.where(p < q, p_wrong, q_wrong)
    size = np.log1p(np.abs(gap) / least)
    loss = np.sign(gap) * size
    slack = (gap_wrong + np.abs(gap) * least_wrong / least) / (least + np.abs(gap)) * _SPARE
    slack += 4 * numerics.EPSILON * size
    return [
        Outcomes((p - p_wrong) * whole, loss - slack, lost),
        Outcomes((q - q_wrong) * whole, -loss - slack, lost),
    ]


def _scores(gap: FloatArray, mean: FloatArray) -> IntArray:
    """Return small whole numbers, nearly proportional to gap/mean."""
    value = gap / mean
    largest = float(np.abs(value).max())
    best, scores = -1.0, np.zeros(value.size, dtype=np.int64)
    if largest == 0:
        return scores
    value = value / largest
    spread = float(mean @ value**2)
    for scale in range(1, _FINEST + 1):
        found = np.rint(scale * value)
        centred = found - float(mean @ found)
        variance = float(mean @ centred**2)
        efficiency = float(mean @ (centred * value)) ** 2 / (variance * spread) if variance > 0 else 0.0
        if efficiency > best:
            best, scores = efficiency, found.astype(np.int64)
        if best >= _GOOD:
            break
    return scores


def _sum(laws: list[tuple[FloatArray, int]], nats: float) -> _Law | None:
    """Return the law of a sum of independent numbers.

    Args:
        laws: laws over 0, 1, ..., of one length, and how many numbers have each.
        nats: how far below the largest probability a probability is negligible.

    Returns:
        The law; None if it has too many terms to compute.
    """
    law = _Law(np.ones(1), np.zeros(1))
    if not laws:
        return law
    values = np.arange(laws[0][0].size, dtype=np.float64)
    means = [float(law @ values) for law, _ in laws]
    variance = sum(
        count * float(law @ (values - mean) ** 2) for (law, count), mean in zip(laws, means, strict=True)
    )
    level = (nats + 1) * values[-1]
    reach = math.ceil(level / 3 + math.sqrt(level**2 / 9 + 2 * (nats + 1) * variance))
    if reach <= max(_DIRECT, level):
        for one, count in laws:
            law = _convolved(law, _power(one, count, nats), nats)
        return _trimmed(law, nats + 20)
    if 4 * reach > _MOST:
        return None
    return _transformed(laws, reach, nats)


def _trimmed(law: _Law, nats: float) -> _Law:
    large = np.flatnonzero(law.mass > law.mass.max() * math.exp(-nats))
    low, high = int(large[0]), int(large[-1]) + 1
    cut = law.cut[0] or law.mass[:low].any(), law.cut[1] or law.mass[high:].any()
    return _Law(law.mass[low:high], law.error[low:high], (bool(cut[0]), bool(cut[1])))


def _convolved(one: _Law, other: _Law, nats: float) -> _Law:
    """Return the law of the sum of two numbers; sums of positive terms keep their digits."""
    mass = np.convolve(one.mass, other.mass)
    terms = min(one.mass.size, other.mass.size) + 1
    error = float(one.error.max() + other.error.max()) * _SPARE + terms * numerics.EPSILON
    cut = one.cut[0] or other.cut[0], one.cut[1] or other.cut[1]
    # the terms cut off here are below the rounding of those that are kept in the end
    return _trimmed(_Law(mass, np.full(mass.size, error), cut), nats + 20 + _DEEPER)


def _power(law: FloatArray, count: int, nats: float) -> _Law:
    """Return the law of the sum of ``count`` numbers, by squaring."""
    result, square = _Law(np.ones(1), np.zeros(1)), _Law(law, np.zeros(law.size))
    while count:
        if count % 2:
            result = _convolved(result, square, nats)
        count //= 2
        if count:
            square = _convolved(square, square, nats)
    return result


def _transformed(laws: list[tuple[FloatArray, int]], reach: int, nats: float) -> _Law:
    """Return the law of the sum by Fourier transforms of tilted laws, each near its own mean.

    The logarithm of a characteristic function near 1 keeps its digits, and so do multiples of it; near its
    mean a law is far above the rounding of the transform. All numbers are counted from the means of the laws,
    so that large numbers cancel nowhere except in the place of the sum's mean.
    """
    values = np.arange(laws[0][0].size, dtype=np.float64)
    own_means = [float(law @ values) for law, _ in laws]
    total = sum(count * mean for (_, count), mean in zip(laws, own_means, strict=True))
    centre = round(total)
    beside = total - centre
    misplaced = 8 * numerics.EPSILON * total  # rounding error of the sum's mean
    size = 2 * reach + 1
    log_law, nearest, error = np.full(size, -np.inf), np.full(size, np.inf), np.zeros(size)
    length = fft.next_fast_len(4 * reach, real=True)
    omega = 2 * math.pi * np.fft.rfftfreq(length)
    centred = [(law, count, values - mean) for (law, count), mean in zip(laws, own_means, strict=True)]

    def tilt(law: FloatArray, off: FloatArray, theta: float) -> tuple[FloatArray, FloatArray, float, float]:
        """Return the law tilted by theta, its weights' growth, the log of its generating function, and its
        mean; the last two counted from the mean of the law itself."""
        growth = law * np.expm1(np.minimum(theta * off, 700.0))
        more = float(growth.sum())
        return (law + growth) / (1 + more), growth, math.log1p(more), float(growth @ off) / (1 + more)

    def shape(theta: float) -> tuple[float, float]:
        """Return mean, from the centre, and deviation of the tilted sum."""
        mean, variance = beside, 0.0
        for law, count, off in centred:
            tilted, _, _, own = tilt(law, off, theta)
            mean += count * own
            variance += count * float(tilted @ (off - own) ** 2)
        return mean, math.sqrt(variance)

    def add(theta: float) -> tuple[float, float]:
        """Fill in the terms that the law tilted by theta determines best; return its ``shape``."""
        log_moment, log_power = 0.0, np.zeros(omega.size, dtype=np.complex128)
        moment_wrong, power_wrong = 0.0, misplaced * omega
        for law, count, off in centred:
            tilted, growth, log_own, own = tilt(law, off, theta)
            log_moment += count * log_own
            moment_wrong += count * float(np.abs(growth).sum())
            rise, sizes = np.zeros(omega.size, dtype=np.complex128), np.zeros(omega.size)
            for place, mass in zip((off - own).tolist(), tilted.tolist(), strict=True):
                if mass > 0:
                    term = mass * np.expm1(1j * omega * place)
                    rise += term
                    sizes += np.abs(term)
            with np.errstate(divide="ignore"):
                logs = np.log1p(rise)
            # by parts, since the product of -inf, where a law cancels, with a complex number is nan
            log_power += count * logs.real + 1j * (count * logs.imag)
            with np.errstate(divide="ignore", invalid="ignore"):
                power_wrong += 8 * numerics.EPSILON * count * (sizes / np.abs(1 + rise))
        mean, spread = shape(theta)
        middle = round(mean)  # the whole number next to the mean, at which log_power is centred
        power = np.exp(log_power.conj() + 1j * omega * (middle - mean))
        near = np.fft.fftshift(fft.irfft(power, length))
        # absolute errors of the coefficients, and of the transform
        strength = np.abs(power)
        significant = strength > 0
        absolute = (
            2 * float(strength[significant] @ np.minimum(np.expm1(power_wrong[significant]), 1.0)) / length
        )
        absolute += 8 * numerics.EPSILON * math.log2(length) * float(np.linalg.norm(near))
        points = np.arange(length) - length // 2 + middle
        inside = (np.abs(points) <= reach) & (near > _HEARD * near.max())
        points, near = points[inside], near[inside]
        distance, index = np.abs(points - mean), points + reach
        closer = distance < nearest[index]
        distance, near, points, index = (one[closer] for one in (distance, near, points, index))
        nearest[index] = distance
        from_mean = theta * (points - beside)
        log_law[index] = np.log(near) + log_moment - from_mean
        exponents = np.abs(np.log(near)) + abs(log_moment) + np.abs(from_mean) + moment_wrong
        error[index] = absolute / near + 8 * numerics.EPSILON * exponents + abs(theta) * misplaced
        return mean, spread

    for sign in (1, -1):
        theta, (mean, spread) = 0.0, add(0.0)
        while sign * mean < reach and spread > 1:
            step = sign * _APART / spread
            while abs(shape(theta + step)[0] - mean) > 2 * _APART * spread:
                step /= 2
            theta += step
            if _BEYOND * shape(theta)[1] > length:
                break
            mean, spread = add(theta)
    return _trimmed(_Law(np.exp(log_law), error, (True, True)), nats + 20)
