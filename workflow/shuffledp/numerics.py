"""Log-space building blocks that keep their relative accuracy where the textbook form cancels.

Nothing in here knows about privacy. Errors are one-sided where the docstring says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from shuffledp.checks import FloatArray

# Maps an array of whole numbers to the logarithms of a sequence's terms.
LogTerms = Callable[[FloatArray], FloatArray]

EPSILON = float(np.finfo(np.float64).eps)

# Outward rounding of a bound whose logarithm was summed from terms of moderate size. Against values at
# 50 digits the relative error stays under 2e-13 (tests/reference); this is some thirty times that.
OUTWARD = 2.0**-37

# Probabilities below leave too little room for products and reciprocals: an upper bound takes them as 0, a
# lower bound as this.
SMALLEST_DELTA = 1e-300

NEGLIGIBLE = 60.0  # nats below the largest term at which a sum is cut off (1e-26 of that term)
_CROSSING_WIDTH = 2.0**-40  # of a bracket over its upper end
_CROSSING_STEPS = 150  # enough for bisections alone
_PIECE = 2**17  # terms that are looked at together
_SMALLEST_LOG = -667.0  # of a probability whose reciprocal is multiplied by numbers of trials
_SMOOTH = 3e-3  # change of a logarithm within a group of terms that are summed by their middle
_LEAST_GROUP = 9  # terms in a group, for which there are three evaluations
_FULL_SUM = 2048  # up to so many terms, summing all costs less than looking for the window


def log_expm1(x: float) -> float:
    """Return log(e^x - 1) for x > 0 without overflow and without cancellation near 0."""
    return x + math.log(-math.expm1(-x))


def log_one_minus_exp(x: float) -> float:
    """Return log(1 - e^-x) for x > 0, to full relative accuracy near 0 and where it is tiny."""
    return math.log(-math.expm1(-x)) if x < math.log(2) else math.log1p(-math.exp(-x))


def log_sinh_gap(x: float) -> float:
    """Return log(e^x - e^-x) for x > 0 without overflow and without cancellation near 0."""
    return log_expm1(2 * x) - x


def stirling_error(n: FloatArray) -> FloatArray:
    """Return log(n!) - log(sqrt(2 pi n) (n/e)^n) for n >= 1 (C. Loader, 2000, "Fast and accurate
    computation of binomial probabilities"), to full relative accuracy."""
    n = np.asarray(n, dtype=np.float64)
    square = n * n
    series = (
        1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - (1 / 1188) / square) / square) / square) / square
    ) / n
    if (n >= 16).all():
        return series
    small = np.minimum(n, 16.0)
    direct = special.gammaln(small + 1) - (small + 0.5) * np.log(small) + small - 0.5 * math.log(2 * math.pi)
    return np.where(n < 16, direct, series)


def _deviance(x: FloatArray, mean: FloatArray | float) -> FloatArray:
    """Return x log(x/mean) + mean - x >= 0 for x > 0, by a series where the two nearly cancel."""
    v = (x - mean) / (x + mean)
    near = np.abs(v) < 0.1
    square = np.where(near, v * v, 0.0)
    tail = np.zeros_like(square)
    for j in range(9, 0, -1):
        tail = (tail + 1.0 / (2 * j + 1)) * square
    series = (x - mean) * v + 2 * x * v * tail
    with np.errstate(divide="ignore", invalid="ignore"):
        direct = x * np.log(x / mean) + mean - x
    return np.where(near, series, direct)


def log_binomial_pmf(m: FloatArray, k: FloatArray | float, log_p: float, log_q: float) -> FloatArray:
    """Return log P[Bin(k, p) = m] by Loader's saddle-point form.

    Args:
        m: whole numbers in 0..k, any shape.
        k: number of trials, up to 1e15; broadcasts with ``m``.
        log_p: log of the success probability.
        log_q: log of 1 - p.

    Returns:
        An estimate whose error grows only with the distance from the mean, not with k.
    """
    m, k = np.asarray(m, dtype=np.float64), np.asarray(k, dtype=np.float64)
    last = np.maximum(k - 1.0, 1.0)
    inner = np.clip(m, 1.0, last)
    rest = np.maximum(k - inner, 1.0)
    trials = np.maximum(k, 1.0)
    if min(log_p, log_q) < _SMALLEST_LOG:
        rarer = inner if log_p < log_q else rest
        value = log_binomial(float(k), rarer) + inner * log_p + rest * log_q
    else:
        value = (
            0.5 * np.log(trials / (2 * math.pi * inner * rest))
            + stirling_error(trials)
            - stirling_error(inner)
            - stirling_error(rest)
            - _deviance(inner, trials * math.exp(log_p))
            - _deviance(rest, trials * math.exp(log_q))
        )
    return np.where(m <= 0, k * log_q, np.where(m >= k, k * log_p, value))


def log_binomial(n: float, j: FloatArray) -> FloatArray:
    """Return log C(n, j) for whole 0 <= j <= n, accurate for large n at small j and near the middle."""
    j = np.asarray(j, dtype=np.float64)
    inner = np.clip(j, 1.0, max(n - 1.0, 1.0))
    rest = np.maximum(n - inner, 1.0)
    value = (
        0.5 * np.log(n / (2 * math.pi * inner * rest))
        + stirling_error(np.asarray(float(n)))
        - stirling_error(inner)
        - stirling_error(rest)
        - inner * np.log(inner / n)
        - rest * np.log1p(-inner / max(n, 2.0))
    )
    return np.where((j <= 0) | (j >= n), 0.0, value)


def log_power_excess(order: float, log_u: FloatArray, sign: FloatArray | float = 1.0) -> FloatArray:
    """Return log[(1 + u)^order - 1 - order u] for u = sign * exp(log_u) > -1 and real order > 1.

    The bracket is the sum over j >= 2 of C(order, j) u^j. It is never negative (Bernoulli), and of size
    u^2 near 0, where the bracket itself would lose all its digits: there the series is summed.

    Args:
        order: a number > 1.
        log_u: log |u|, any shape; -inf for u = 0.
        sign: the sign of u, broadcast against ``log_u``.
    """
    log_u = np.asarray(log_u, dtype=np.float64)
    sign = np.broadcast_to(np.asarray(sign, dtype=np.float64), log_u.shape)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        u = sign * np.exp(log_u)
        small = log_u + math.log(order) < math.log(0.5)
        x = np.where(small, u, 0.0)
        tail = np.zeros_like(x)
        # consecutive terms have a ratio below 0.5/(j + 1), or 0.5 where the order is small
        for j in range(14 if order > 8 else 50, 1, -1):
            tail = (1.0 + tail) * ((order - j) / (j + 1)) * x
        series = math.log(order) + math.log((order - 1) / 2) + 2 * log_u + np.log1p(tail)
        log_power = order * np.where(sign > 0, np.logaddexp(0.0, log_u), np.log1p(np.maximum(u, -1.0)))
        # both terms are of the size of order - 1, which may be tiny
        power_less_one = np.expm1((order - 1) * np.minimum(log_power / order, 700.0 / order))
        moderate = np.log((1 + u) * power_less_one - (order - 1) * u)
        # (1 + order u) / (1 + u)^order, from logarithms since u itself may overflow
        large = log_power + np.log1p(-np.exp(np.logaddexp(0.0, math.log(order) + log_u) - log_power))
        direct = np.where(log_power > 50.0, large, moderate)
    return np.where(small, series, direct)


def _beyond(term: LogTerms, peak: int, end: int, log_floor: float) -> int:
    """Return an index between ``peak`` and ``end`` where the term is below ``log_floor``, hardly farther
    from the peak than the nearest such index; or ``end`` if there is none."""
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
    """Return where a concave sequence is largest, and its value there."""
    low, high = first, last
    while high - low > 64:
        grid = np.unique(np.linspace(low, high, 65).astype(np.int64))
        best = int(np.argmax(term(grid.astype(np.float64))))
        low, high = int(grid[max(best - 1, 0)]), int(grid[min(best + 1, grid.size - 1)])
    values = term(np.arange(low, high + 1, dtype=np.float64))
    best = int(np.argmax(values))
    return low + best, float(values[best])


def _log_tail(edge: float, inner: float, count: int) -> float:
    """Bound log of the sum of ``count`` terms that follow ``edge`` in a log-concave sequence.

    ``inner`` is the term before ``edge``. A geometric series bounds the sum once the terms fall.
    """
    if count == 0:
        return -math.inf
    flat = edge + math.log(count)
    return min(flat, edge - log_expm1(inner - edge)) if inner > edge else flat


def concave_cut(term: LogTerms, first: int, last: int, log_floor: float) -> int:
    """Return where a log-concave sequence may be cut off above.

    Args:
        term: maps an array of whole numbers in ``first``..``last`` to the logarithms of the terms, which
            must be concave in the index.
        first: the smallest index.
        last: the largest index, >= ``first``.
        log_floor: logarithm of a size beside which the cut-off terms shall be negligible.

    Returns:
        An index past the largest term; the terms after it are 60 nats and more below ``log_floor``.
    """
    peak, _ = _concave_peak(term, first, last)
    return _beyond(term, peak, last, log_floor - NEGLIGIBLE)


def concave_window(term: LogTerms, first: int, last: int, *, nats: float = NEGLIGIBLE) -> tuple[int, int]:
    """Return a range outside which a log-concave sequence is negligible beside its largest term.

    Args:
        term: as for ``concave_cut``.
        first: the smallest index.
        last: the largest index, >= ``first``.
        nats: how far below the largest term is negligible.
    """
    if last - first < _FULL_SUM:
        return first, last
    peak, top = _concave_peak(term, first, last)
    floor = top - nats
    return _beyond(term, peak, first, floor), _beyond(term, peak, last, floor)


def log_sum_exp(values: FloatArray) -> float:
    """Return log of the sum of exp(values) over a one-dimensional array (scipy's form costs ten times as
    much on the short arrays that the bounds sum by the thousand)."""
    top = float(values.max())
    return top if math.isinf(top) else top + math.log(float(np.exp(values - top).sum()))


def group_size(largest_slope: float) -> int:
    """Return how many neighbouring terms of a smooth sequence may be summed by their middle.

    Args:
        largest_slope: the largest change of the logarithms from one term to the next; the change of that
            change must be smaller than its square.

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
        counts: the number of its terms, as ``group_size`` allows at most; of the shape of ``middle``.

    Returns:
        Logarithms of the middle terms, by how much the sums exceed ``counts`` of them (relative), and how far
        the mean place lies above the middle.
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
    """Return the logarithms of a sequence's sums over cells, and the means of the index less ``first``.

    Args:
        log_term: maps whole numbers, of one row a cell, and a slice of the cells to logarithms of the terms.
        first: the smallest index of each cell, one-dimensional.
        last: the largest index of each cell, of that shape.
        group: so many neighbouring terms may be summed by their middle (``group_size``), for which
            ``log_term`` must take half numbers.
    """
    log_sums, means = np.empty(first.shape), np.zeros(first.shape)
    group = group if group >= _LEAST_GROUP else 1
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
            logs, more, shift = group_sums(lambda m, some=some: log_term(m, some), middle, counts)
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


def log_sum_concave(term: LogTerms, first: int, last: int) -> float:
    """Return an upper bound on log of the sum of exp(term(j)) over j = first..last.

    The terms must be log-concave in j. Only a window around the largest is summed, so the cost grows with
    the square root of the range at most; what lies outside is bounded by geometric series from the edges
    and added, which keeps the result an upper bound (by less than 1e-20 relative).
    """
    low, high = concave_window(term, first, last)
    values = term(np.arange(low, high + 1, dtype=np.float64))
    inner = values[1:-1] if values.size > 2 else values
    tails = [
        _log_tail(float(values[0]), float(inner[0]), low - first),
        _log_tail(float(values[-1]), float(inner[-1]), last - high),
    ]
    return log_sum_exp(np.array([log_sum_exp(values), *tails]))


def log_binomial_transform(orders: FloatArray, log_coefficient: LogTerms, *, first: int) -> FloatArray:
    """Return upper bounds on log of the sum over j = first..order of C(order, j) exp(log_coefficient(j)).

    Args:
        orders: whole numbers, one-dimensional; an order below ``first`` has an empty sum (-inf).
        log_coefficient: maps an array of j to logarithms; C(order, j) times the coefficient must be
            log-concave in j.
        first: the smallest j.

    Returns:
        One value an order, above the exact one by no more than the rounding that it allows for (some
        1e-13 for orders in the hundreds, 2e-9 at 1e6).
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
        n = float(orders[index])
        magnitude = 0.0

        def term(j: FloatArray, n: float = n) -> FloatArray:
            nonlocal magnitude
            coefficients = log_coefficient(j)
            magnitude = max(magnitude, float(np.max(np.abs(coefficients))))
            return log_binomial(n, j) + coefficients

        log_sum = log_sum_concave(term, first, int(n))
        result[index] = log_sum + 4 * EPSILON * (magnitude + n)
    return result


def last_true(holds: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray) -> FloatArray:
    """Return, element by element, the end of the stretch from ``low`` on which a condition holds.

    Args:
        holds: maps an array of points to booleans; true up to some point and false from there on.
        low: where the search starts, any shape.
        high: points at which the condition is false, or may be taken to be; >= ``low``.

    Returns:
        ``low`` where the condition fails already there, else the upper end of a bracket that bisection has
        narrowed to neighbouring floats (or to 2^-60 of its width): a point where the condition was seen to
        fail, or ``high`` itself.
    """
    low, high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    high = np.where(holds(low), high, low)
    for _ in range(60):
        middle = low + (high - low) / 2
        true = holds(middle)
        low, high = np.where(true, middle, low), np.where(true, high, middle)
    return high


def crossing(height: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray) -> FloatArray:
    """Return, element by element, where a falling function crosses 0, from above.

    Regula falsi with the Illinois weights, and a bisection every third step, so that it is quick on smooth
    functions and never slow.

    Args:
        height: maps an array of points to heights, -inf allowed; above 0 up to some point, not from there on.
        low: where the search starts, any shape.
        high: points at which the height is not above 0, or may be taken not to be; >= ``low``.

    Returns:
        ``low`` where the height is not above 0 already there, else the upper end of a bracket narrowed to
        2^-40 of itself: a point where the height was seen not to be above 0, or ``high`` itself.
    """
    low, high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    above, below = height(low), height(high)
    high = np.where(above > 0, high, low)
    raised = np.zeros(low.shape, dtype=bool)  # whether the lower end was the last to move
    for step in range(_CROSSING_STEPS):
        width = high - low
        if not (width > _CROSSING_WIDTH * high).any():
            break
        with np.errstate(invalid="ignore", divide="ignore"):
            share = above / (above - below)
        bisected = ~np.isfinite(share) | (step % 3 == 2)
        share = np.where(bisected, 0.5, np.clip(share, 0.0, 1.0))
        middle = low + share * width
        # never at an end, which would teach nothing
        least = _CROSSING_WIDTH / 4 * high
        middle = np.where(width > 2 * least, np.clip(middle, low + least, high - least), high)
        found = height(middle)
        true = found > 0
        low, high = np.where(true, middle, low), np.where(true, high, middle)
        # an end that stays twice weighs half
        again = (true == raised) & (step > 0)
        above = np.where(true, found, np.where(again, above / 2, above))
        below = np.where(true, np.where(again, below / 2, below), found)
        raised = true
    return high
