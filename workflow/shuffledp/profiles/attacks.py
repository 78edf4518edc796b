"""Lower bounds from concrete data sets: the law of a score of the shuffled reports, under either record.

Let the client who differs send a report of law ``first`` or ``second``, and the k - 1 others of known laws.
Each report is given a whole number, nearly proportional to what it says about the two records to first order,
(first - second)/(mean law of the others), and the numbers are added up. That is post-processing of the
shuffled reports, so the protocol dominates the pair of the two laws of the sum: its epsilon is a lower bound.
For many reports the sum says all there is to say.

Where k of n clients are drawn, all others hold one record, and the report in the place of the client who
differs is one of theirs with probability 1 - k/n. Where clients check in at a rate, a client who does not
sends one more symbol.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from shuffledp import numerics
from shuffledp.checks import FloatArray
from shuffledp.pld.outcomes import Outcomes

Others = Sequence[tuple[FloatArray, int]]
IntArray = NDArray[np.int64]

_FINEST = 16  # the largest score
_GOOD = 0.9995  # of the best score's efficiency, which suffices
_DIRECT = 3000  # terms of a law up to which it is convolved with itself directly
_APART = 3.0  # standard deviations from the mean of one law that is transformed to that of the next
_HEARD = 1e-8  # of the largest probability: what is below may be rounding of the transform
_BEYOND = 24  # deviations that the transform must hold
_MOST = 2**24  # terms of a law; more are not looked at


def in_place(law: FloatArray, others: FloatArray, gamma: float) -> FloatArray:
    """Return the law of the report that is the client's with probability gamma, and else another's."""
    return (1 - gamma) * others + gamma * law


def at_rate(law: FloatArray, rate: float) -> FloatArray:
    """Return the law of what a client sends who checks in with probability ``rate``: one more symbol."""
    return np.append(rate * law, 1 - rate)


def score_outcomes(
    first: FloatArray, second: FloatArray, others: Others, *, nats: float = numerics.NEGLIGIBLE
) -> list[Outcomes]:
    """Return pairs that the shuffle dominates, one for each direction of neighbours.

    Args:
        first: law of the report of the client who differs, or of the one in his place.
        second: the same after the change.
        others: laws of the reports of all others, and how many have each.
        nats: how far below the rest a sum of scores is left out.

    Returns:
        Masses under P and losses; no pair where the two laws are equal or the sums are too many.
    """
    total = sum(count for _, count in others)
    mean = sum(count * law for law, count in others) / total if total else (first + second) / 2
    used = (first > 0) | (second > 0) | (mean > 0)
    first, second, mean = first[used], second[used], mean[used]
    scores = _scores(first - second, np.maximum(mean, np.finfo(np.float64).tiny))
    if not scores.any():
        return []
    lowest = int(scores.min())
    width = int(scores.max()) - lowest + 1

    def dense(law: FloatArray) -> FloatArray:
        return np.bincount(scores - lowest, weights=law, minlength=width)

    law = _sum([(dense(one[used]), count) for one, count in others if count], nats)
    if law is None:
        return []
    p, q, apart = (np.convolve(law, dense(one)) for one in (first, second, first - second))
    kept = (p > 0) & (q > 0)
    p, q, apart = p[kept], q[kept], apart[kept]
    # the smaller of the two below, so that small losses keep their digits
    loss = np.sign(apart) * np.log1p(np.abs(apart) / np.minimum(p, q))
    lost = math.exp(-nats)
    return [Outcomes(p, loss, lost), Outcomes(q, -loss, lost)]


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


def _sum(laws: list[tuple[FloatArray, int]], nats: float) -> FloatArray | None:
    """Return the law of a sum of independent numbers, without its negligible ends.

    Args:
        laws: over 0, 1, ..., of one length, and how many numbers have each.
        nats: how far below the largest probability is negligible.
    """
    if not laws:
        return np.ones(1)
    values = np.arange(laws[0][0].size)
    means = [float(law @ values) for law, _ in laws]
    variance = sum(
        count * float(law @ (values - mean) ** 2) for (law, count), mean in zip(laws, means, strict=True)
    )
    level = (nats + 1) * values[-1]
    reach = math.ceil(level / 3 + math.sqrt(level**2 / 9 + 2 * (nats + 1) * variance))
    if reach <= max(_DIRECT, level):
        law = np.ones(1)
        for one, count in laws:
            law = _trimmed(np.convolve(law, _power(one, count, nats)), nats)
        return law
    if 4 * reach > _MOST:
        return None
    return _transformed(laws, reach, nats)


def _trimmed(law: FloatArray, nats: float) -> FloatArray:
    large = np.flatnonzero(law > law.max() * math.exp(-nats - 20))
    return law[large[0] : large[-1] + 1]


def _power(law: FloatArray, count: int, nats: float) -> FloatArray:
    """Return the law of a sum of so many numbers, by squaring: sums of positive terms keep their digits."""
    result, square = np.ones(1), law
    while count:
        if count % 2:
            result = _trimmed(np.convolve(result, square), nats)
        count //= 2
        if count:
            square = _trimmed(np.convolve(square, square), nats)
    return result


def _transformed(laws: list[tuple[FloatArray, int]], reach: int, nats: float) -> FloatArray:
    """Return the law of the sum by Fourier transforms of tilted laws, each near its own mean.

    The logarithm of a characteristic function near 1 keeps its digits, and so does its multiple; near its
    mean a law is far above the rounding of the transform. The error is relative to each probability, and the
    same under both records.
    """
    values = np.arange(laws[0][0].size)
    centre = round(sum(count * float(law @ values) for law, count in laws))
    size = 2 * reach + 1
    log_law, nearest = np.full(size, -np.inf), np.full(size, np.inf)
    length = fft.next_fast_len(4 * reach, real=True)
    omega = 2 * math.pi * np.fft.rfftfreq(length)

    def tilt(law: FloatArray, theta: float) -> tuple[FloatArray, float, float]:
        """Return the law tilted by theta, the log of its generating function there, and its mean."""
        top = float(np.max(theta * values[law > 0]))
        grown = law * np.exp(np.minimum(theta * values - top, 0.0))
        moment = float(grown.sum())
        return grown / moment, math.log(moment) + top, float(grown @ values) / moment

    def shape(theta: float) -> tuple[float, float]:
        """Return mean, from the centre, and deviation of the tilted sum."""
        mean, variance = -float(centre), 0.0
        for law, count in laws:
            tilted, _, own = tilt(law, theta)
            mean += count * own
            variance += count * float(tilted @ (values - own) ** 2)
        return mean, math.sqrt(variance)

    def add(theta: float) -> tuple[float, float]:
        """Fill in what the law tilted by theta tells; return its ``shape``."""
        log_moment, log_power = 0.0, np.zeros(omega.size, dtype=np.complex128)
        for law, count in laws:
            tilted, log_own, own = tilt(law, theta)
            log_moment += count * log_own
            rise = np.zeros(omega.size, dtype=np.complex128)
            for value, mass in zip(values.tolist(), tilted.tolist(), strict=True):
                if mass > 0:
                    rise += mass * np.expm1(1j * omega * (value - own))
            with np.errstate(divide="ignore"):
                logs = np.log1p(rise)
            # part by part: where a law cancels, the product of -inf with a complex number is none
            log_power += count * logs.real + 1j * (count * logs.imag)
        mean, spread = shape(theta)
        middle = round(mean)  # the whole number next to the mean, at which log_power is centred
        near = np.fft.fftshift(fft.irfft(np.exp(log_power.conj() + 1j * omega * (middle - mean)), length))
        points = np.arange(length) - length // 2 + middle
        inside = (np.abs(points) <= reach) & (near > _HEARD * near.max())
        points, near = points[inside], near[inside]
        distance, index = np.abs(points - mean), points + reach
        closer = distance < nearest[index]
        distance, near, points, index = (one[closer] for one in (distance, near, points, index))
        nearest[index] = distance
        log_law[index] = np.log(near) + log_moment - theta * (points + centre)
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
    return _trimmed(np.exp(log_law), nats)
