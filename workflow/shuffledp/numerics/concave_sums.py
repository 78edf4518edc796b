"""Sums of sequences whose logarithms are concave, cut off, grouped or merged with bounds on the error."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from shuffledp.checks import FloatArray
from shuffledp.numerics.log_space import EPSILON, log_binomial, log_expm1, log_sum_exp

# Maps an array of whole numbers to the logarithms of a sequence's terms.
LogTerms = Callable[[FloatArray], FloatArray]
NEGLIGIBLE = 60.0  # nats below the largest term at which a sum is cut off (1e-26 of that term)
_PIECE = 2**17  # terms that are computed together
_SMOOTH = 3e-3  # largest change of a logarithm within a group of terms that are summed by their middle
LEAST_GROUP = 9  # least number of terms for which a group, which takes three evaluations, pays off
_FULL_SUM = 2048  # number of terms up to which summing all takes less time than finding the window


def _beyond(term: LogTerms, peak: int, end: int, log_floor: float) -> int:
    """Return an index between ``peak`` and ``end`` where the term is below ``log_floor``: a little past the
    first such index, seen from the peak. It is ``end`` if there is none."""
    step = 1 if end >= peak else -1
    distance = abs(end - peak)
    offsets = np.unique(np.minimum(1 << np.arange(distance.bit_length() + 1, dtype=np.int64), distance))
    for _ in range(2):
        below = np.nonzero(term((peak + step * offsets).astype(np.float64)) < log_floor)[0]
        if not below.size:
            return end
        near, found = int(offsets[max(int(below[0]) - 1, 0)]), int(offsets[below[0]])
        offsets = np.unique(np.linspace(near, found, 17).astype(np.int64))
    return peak + step * found


def _concave_peak(term: LogTerms, first: int, last: int) -> tuple[int, float]:
    """Return the index at which a concave sequence is largest, and its value there."""
    low, high = first, last
    while high - low > 64:
        grid = np.unique(np.linspace(low, high, 65).astype(np.int64))
        best = int(np.argmax(term(grid.astype(np.float64))))
        low, high = int(grid[max(best - 1, 0)]), int(grid[min(best + 1, grid.size - 1)])
    values = term(np.arange(low, high + 1, dtype=np.float64))
    best = int(np.argmax(values))
    return low + best, float(values[best])


def _log_tail(edge: float, inner: float, count: int) -> float:
    """Return an upper bound on log of the sum of the ``count`` terms after ``edge`` in a log-concave
    sequence.

    ``inner`` is the term before ``edge``. A geometric series bounds the sum once the terms fall.
    """
    if count == 0:
        return -math.inf
    flat = edge + math.log(count)
    return min(flat, edge - log_expm1(inner - edge)) if inner > edge else flat


def concave_cut(term: LogTerms, first: int, last: int, log_floor: float) -> int:
    """Return an index after which a log-concave sequence may be cut off.

    Args:
        term: maps an array of whole numbers in ``first``..``last`` to the logarithms of the terms, which
            must be concave in the index.
        first: the smallest index.
        last: the largest index, >= ``first``.
        log_floor: logarithm of a size compared with which the cut-off terms have to be negligible.

    Returns:
        An index past that of the largest term; the terms after it are at least 60 nats below ``log_floor``.
    """
    peak, _ = _concave_peak(term, first, last)
    return _beyond(term, peak, last, log_floor - NEGLIGIBLE)


def concave_window(term: LogTerms, first: int, last: int, *, nats: float = NEGLIGIBLE) -> tuple[int, int]:
    """Return the first and last index of a range outside of which a log-concave sequence is negligible
    compared with its largest term.

    Args:
        term: as for ``concave_cut``.
        first: the smallest index.
        last: the largest index, >= ``first``.
        nats: how far below the largest term a term is negligible.
    """
    if last - first < _FULL_SUM:
        return first, last
    peak, top = _concave_peak(term, first, last)
    floor = top - nats
    return _beyond(term, peak, first, floor), _beyond(term, peak, last, floor)


def group_size(largest_slope: float) -> int:
    """Return how many neighbouring terms of a smooth sequence may be summed by their middle.

    Args:
        largest_slope: the largest change of the logarithms from one term to the next. Its square must exceed
            their second differences.

    Returns:
        A number so small that ``group_sums`` errs by less than 1e-12 of a sum.
    """
    return max(int(_SMOOTH / largest_slope), 1) if largest_slope > 0 else 1


def group_sums(
    log_term: LogTerms, middle: FloatArray, counts: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return sums over groups of neighbouring terms of a smooth sequence, by the middle of each.

    Args:
        log_term: maps places, half ones included, to logarithms of the terms.
        middle: the middle place of each group.
        counts: the number of terms of each group, at most ``group_size``; of the shape of ``middle``.

    Returns:
        Logarithms of the middle terms; by how much each sum exceeds ``counts`` times the middle term,
        relatively; and how far the mean place lies above the middle.
    """
    wide = float(counts.max())
    logs, ahead, behind = log_term(middle), log_term(middle + wide), log_term(middle - wide)
    slope, bend = (ahead - behind) / (2 * wide), (ahead - 2 * logs + behind) / wide**2
    square = (counts * counts - 1) / 12  # the mean square of a place in the group
    return logs, square * (slope * slope + bend) / 2, square * slope


def cell_sums(
    log_term: Callable[[FloatArray, slice], FloatArray],
    first: FloatArray,
    last: FloatArray,
    *,
    group: int = 1,
) -> tuple[FloatArray, FloatArray]:
    """Return the logarithms of a sequence's sums over cells, and the means of index minus ``first``.

    Args:
        log_term: maps an array of whole numbers, with one row for each cell, and the slice of these cells to
            logarithms of the terms.
        first: the smallest index of each cell, one-dimensional.
        last: the largest index of each cell, of the same shape.
        group: number of neighbouring terms that may be summed by their middle (``group_size``); if it is
            above 1, ``log_term`` must take half numbers.
    """
    log_sums, means = np.empty(first.shape), np.zeros(first.shape)
    group = group if group >= LEAST_GROUP else 1
    offset = np.arange(0.0, float((last - first).max()) + 1, group)
    for start in range(0, first.size, max(_PIECE // offset.size, 1)):
        some = slice(start, start + max(_PIECE // offset.size, 1))
        left = (last - first)[some, None] - offset  # terms of the cell that follow
        if group == 1:
            logs = log_term(np.minimum(first[some, None] + offset, last[some, None]), some)
            place = offset
        else:
            counts = np.clip(left + 1, 1, group)
            middle = first[some, None] + np.minimum(offset, offset + left) + (counts - 1) / 2

            def in_the_middle(m: FloatArray, some: slice = some) -> FloatArray:
                return log_term(m, some)

            logs, more, shift = group_sums(in_the_middle, middle, counts)
            logs += np.log(counts) + np.log1p(more)
            place = middle - first[some, None] + shift
        if offset.size == 1:
            log_sums[some], means[some] = logs[:, 0], place[..., 0]
            continue
        logs = np.where(left >= 0, logs, -np.inf)
        top = logs.max(axis=1)
        terms = np.exp(logs - top[:, None])
        total = terms.sum(axis=1)
        log_sums[some], means[some] = top + np.log(total), (terms * place).sum(axis=1) / total
    return log_sums, means


def log_sum_concave(
    term: LogTerms, first: int, last: int, *, ends: tuple[LogTerms, LogTerms] | None = None
) -> float:
    """Return an upper bound on log of the sum of exp(term(j)) over j = first..last.

    Only a window around the largest term is summed, so the time grows at most with the square root of the
    range. The sum outside of it is bounded by geometric series from the edges and added, which keeps the
    result an upper bound (by less than 1e-20 relative).

    Args:
        term: maps indices to logarithms of the terms, which are concave in j; or of a weighted sum of
            log-concave sequences that differ only by factors exp(slope * j).
        first: the smallest index.
        last: the largest index, >= ``first``.
        ends: for a weighted sum, the sequences of the smallest and of the largest slope. The windows of the
            others lie between theirs.

    Returns:
        The bound. It holds only for such sequences, which is not checked.
    """
    if ends is None:
        low, high = concave_window(term, first, last)
    else:
        low, high = concave_window(ends[0], first, last)[0], concave_window(ends[1], first, last)[1]
    values = term(np.arange(low, high + 1, dtype=np.float64))
    inner = values[1:-1] if values.size > 2 else values
    rise, fall = float(inner[0] - values[0]), float(inner[-1] - values[-1])
    if ends is not None:
        # every sequence falls off from the edges at least as fast as these
        start, end = (
            np.array([edge, near], dtype=np.float64) for edge, near in ((low, low + 1), (high, high - 1))
        )
        rise, fall = (float(np.diff(one(place))[0]) for one, place in zip(ends, (start, end), strict=True))
    tails = [
        _log_tail(float(values[0]), float(values[0]) + rise, low - first),
        _log_tail(float(values[-1]), float(values[-1]) + fall, last - high),
    ]
    return log_sum_exp(np.array([log_sum_exp(values), *tails]))


def log_binomial_transform(
    orders: FloatArray,
    log_coefficient: LogTerms,
    *,
    first: int,
    ends: tuple[LogTerms, LogTerms] | None = None,
) -> FloatArray:
    """Return upper bounds on log of the sum over j = first..order of C(order, j) exp(log_coefficient(j)).

    Args:
        orders: whole numbers, one-dimensional; an order below ``first`` has an empty sum (-inf).
        log_coefficient: maps an array of j to logarithms; C(order, j) times the coefficient must be
            log-concave in j, or a weighted sum as for ``log_sum_concave``.
        first: the smallest j.
        ends: for a weighted sum, the coefficients of the smallest and of the largest slope.

    Returns:
        One value for each order. It exceeds the exact one by at most the allowance for rounding (some 1e-13
        for orders in the hundreds, 2e-9 at 1e6).
    """
    result = np.full(orders.shape, -math.inf)
    small = (orders >= first) & (orders <= _FULL_SUM)
    if small.any():
        top = int(orders[small].max())
        log_factorial = special.gammaln(np.arange(1.0, top + 2))
        coefficients = log_coefficient(np.arange(first, top + 1, dtype=np.float64))
        slack = 4 * EPSILON * (log_factorial + np.max(np.abs(coefficients)))
        for index in np.nonzero(small)[0]:
            n = int(orders[index])
            log_sum = log_sum_exp(
                coefficients[: n + 1 - first] - log_factorial[first : n + 1] - log_factorial[n - first :: -1]
            )
            result[index] = log_factorial[n] + log_sum + slack[n]
    for index in np.nonzero(orders > _FULL_SUM)[0]:
        order = float(orders[index])
        magnitude = 0.0

        def term(j: FloatArray, order: float = order) -> FloatArray:
            nonlocal magnitude
            coefficients = log_coefficient(j)
            magnitude = max(magnitude, float(np.max(np.abs(coefficients))))
            return log_binomial(order, j) + coefficients

        def of_end(coefficient: LogTerms, order: float = order) -> LogTerms:
            return lambda j: log_binomial(order, j) + coefficient(j)

        limits = None if ends is None else (of_end(ends[0]), of_end(ends[1]))
        log_sum = log_sum_concave(term, first, int(order), ends=limits)
        result[index] = log_sum + 4 * EPSILON * (magnitude + order)
    return result
