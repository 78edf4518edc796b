"""The blanket of a shuffled randomiser by two numbers about it: a dominating pair with four kinds of reports.

Let R be eps0-LDP, e = exp(eps0), x0 and x1 the two records of the client who differs, and mu a measure below
R_x for every record x with R_x0, R_x1 <= e mu: a blanket, of mass b. Every other report is drawn from mu/b
with probability b and is revealed otherwise; forgetting what is revealed is post-processing (balle2019). By
how much a report from mu/b is more likely for the two records is the pair (R_x0/mu, R_x1/mu), which lies in
[1, e]^2. The protocol is worst, in convex order and hence at every epsilon and under adaptive composition,
where that pair takes the values (e, 1) and (1, e) with probability t each, (1, 1) with probability c and
(e, e) with probability d. ``worst_kinds`` has these probabilities, by what is known of R.

A round draws k of n clients. Of the k reports let N1, N2, N0, N3 be of the four kinds. Relative to k other
clients, the round has density (n - k + e N1 + N2 + N0 + e N3)/n if the client who differs holds x0, and
N1, N2 exchanged if x1. Given N = N1 + N2 and the total g = n - k + (e + 1) N/2 + N0 + e N3, the difference
D = N1 - N2 is that of N fair coins with density 1 +- (e - 1) D/(2 g).

If clients check in by independent coins of a given rate and the number of reports is public, then the totals
are those of n reports among which a client who does not check in is of the kind (1, 1). So that protocol is
the case k = n with the four probabilities times the rate, and 1 - rate added to c.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray, IntArray
from shuffledp.distributions.tilted_binomials import TiltedBinomials
from shuffledp.pld.outcomes import Outcomes, dominating
from shuffledp.profiles.enumeration import EnumeratedPair
from shuffledp.profiles.joint_clones import joint_outcomes
from shuffledp.profiles.worst_kinds import Kinds, kinds

# Relative width of a block of values of N, by half of which epsilon grows at most.
_WIDTH = 2e-4
# Relative distance of neighbouring totals, over two of which a total is split such that its mean is kept: the
# least, and the largest, which is used where outcomes are many. At 0.01 that changes epsilon by up to 2e-3 of
# itself for thousands of clients, and by a fifth and more where N is small and eps0 is large. At 0.001 it is
# 2e-4 at most in what was compared. So few outcomes are listed one by one.
_SPACING = (1e-3, 1e-2)
_SPLIT = 2**19  # outcomes of a total of given logarithm that are aimed at
_MULTIPLIED = 2**30  # products of probabilities of totals and of differences that are aimed at
_LISTED = 2**20  # outcomes that are listed one by one
# By how much blocks of N may be wider where totals are too many; epsilon grows by that times _WIDTH/2.
_COARSER = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_MOST_WORK = 4e7  # probabilities that are computed of totals, some 20 seconds
# A total so much above that of N alone is taken to a grid that all N share; 1 - |x| then keeps its digits.
_APART = 1e-3
_ROUGH = 1.5  # by which an estimate of the work may exceed what it is
_FLAT = 0.01  # by how much of itself 1 less the tilt may change within a block of N
_DIFFERENCES = 2**12  # values of |D| that are told apart
_LONGEST = 2**17  # values that are summed together
_TILTED_WIDER = 11.0  # nats, of which Hoeffding's inequality takes one


def kinds_outcomes(
    *,
    n: int,
    k: int,
    eps0: float,
    share: float | None = None,
    tv: float | None = None,
    rate: float = 1.0,
    nats: float = numerics.NEGLIGIBLE,
) -> Outcomes:
    """Return a pair that dominates a round of k of n clients, by what is known of their randomiser.

    Both directions of neighbours (by substitution) are in it: exchanging them mirrors the losses.

    Args:
        n: number of clients.
        k: reports of a round, drawn without replacement, <= n.
        eps0: local privacy parameter, > 0 and at most some 300.
        share: f, as for ``worst_kinds.kinds``.
        tv: as for ``worst_kinds.kinds``.
        rate: with k = n, the probability with which a client checks in.
        nats: how far below the rest an outcome is left out.

    Returns:
        Masses under P and losses. Where there are few outcomes, all of them. Elsewhere an upper bound: values
        of N are taken together in blocks at the end with the larger divergence, totals and differences are
        split over neighbouring points such that their means are kept.

    Raises:
        ValueError: an argument is out of range.
    """
    n, k = checks.clients(n, k)
    own = kinds(eps0=eps0, share=share, tv=tv)
    rate = checks.probability("rate", rate, one=True)
    if rate == 1 and own.plain == own.heavy == 0:
        return joint_outcomes(absent=float(n - k), k=k, eps0=eps0, nats=nats)
    given = own.at_rate(rate) if rate < 1 else own
    pair = _Pair(n - k, k, eps0, given, nats)
    listed = pair.listed()
    if listed is not None:
        return listed
    least = 1.0
    for coarser in _COARSER:
        if coarser < least:
            continue
        try:
            return _Pair(n - k, k, eps0, given, nats, coarser=coarser).outcomes()
        except _TooMuchWorkError as error:
            # blocks of whole numbers may become fewer by twice as much as they were meant to
            least = max(least, coarser * error.excess / 2)
    raise ValueError(
        f"n must be smaller for a bound from share and tv at eps0={eps0:g}, where so many clients would take "
        f"minutes to account for, got {n}; leave tv out, or take a smaller eps0 or a larger delta"
    )


class _Rows(NamedTuple):
    """Numbers of tilted reports, with or without one of heavy ones; arrays of one length.

    Attributes:
        block: index of the block of N.
        heavy: number of heavy reports so far.
        log_weight: log of the probability among k other clients, given the block.
    """

    block: IntArray
    heavy: FloatArray
    log_weight: FloatArray


class _TooMuchWorkError(Exception):
    """So many totals of many clients would have to be told apart that it would take minutes.

    Attributes:
        excess: how many times the work that may be done it would be.
    """

    def __init__(self, excess: float) -> None:
        super().__init__(f"{excess:g} times too many totals")
        self.excess = excess


class _Pair:
    """The pair of one setting, built step by step."""

    def __init__(
        self, absent: int, k: int, eps0: float, of: Kinds, nats: float, *, coarser: float = 1.0
    ) -> None:
        self._absent, self._k, self._kinds, self._nats = float(absent), k, of, nats
        self._coarser = coarser
        self._e, self._half_gap = math.exp(eps0), math.expm1(eps0) / 2
        self._half_sum = (self._e + 1) / 2
        self._untilted = of.plain + of.heavy + of.revealed
        # mean of what a report that is not tilted adds to the total
        self._mean = (of.plain + self._e * of.heavy) / self._untilted
        self._blocks()

    def listed(self) -> Outcomes | None:
        """Return the pair with each of its outcomes by itself; None if they are too many.

        The windows are those of ``outcomes``, and what is left out counts as there.
        """
        of, left = self._kinds, self._untilted
        low, high = (float(end) for end in self._window(float(self._k), 2 * of.tilted))
        if (high - low + 1) ** 2 > _LISTED:
            return None
        tilted = np.arange(low, high + 1)
        pmf = numerics.log_binomial_pmf(tilted, float(self._k), math.log(2 * of.tilted), math.log(left))
        heavy, plain = np.zeros(tilted.size), np.zeros(tilted.size)
        if of.heavy > 0:
            row, heavy, more = self._split(self._k - tilted, of.heavy / left, (of.plain + of.revealed) / left)
            if row is None:
                return None
            tilted, pmf = tilted[row], pmf[row] + more
            plain, left = np.zeros(tilted.size), of.plain + of.revealed
        if of.plain > 0:
            row, plain, more = self._split(self._k - tilted - heavy, of.plain / left, of.revealed / left)
            if row is None:
                return None
            tilted, heavy, pmf = tilted[row], heavy[row], pmf[row] + more
        rest = self._absent + plain + self._e * heavy
        some = rest + tilted > 0
        tilted, rest, pmf = tilted[some], rest[some], pmf[some]
        log_mass = pmf + np.log(rest + self._half_sum * tilted)
        mass = np.exp(log_mass - log_mass.max())
        mass /= mass.sum()
        # heads of the N coins, by which D = 2 heads - N; half of them by symmetry
        reach = np.minimum(np.floor(np.sqrt(2 * tilted * (self._nats + _TILTED_WIDER))), tilted)
        first, last = np.ceil((tilted - reach) / 2), np.floor(tilted / 2)
        if float((last - first + 1).sum()) > _LISTED:
            return None
        row, step = _ranges(np.zeros(tilted.size, dtype=np.int64), (last - first).astype(np.int64))
        trials, rest, heads = tilted[row], rest[row], first[row] + step
        difference = trials - 2 * heads
        half = -math.log(2)
        coin = mass[row] * np.exp(numerics.log_binomial_pmf(heads, trials, half, half))
        total = rest + self._half_sum * trials
        x = self._half_gap * difference / total
        # of 1 - x nothing cancels
        far = (rest + self._half_sum * (trials - difference) + difference) / total
        apart = difference > 0
        coins, mirrored, fars = (np.concatenate([one, one[apart]]) for one in (coin, x, far))
        coins /= coins.sum()
        mirrored[coin.size :] *= -1
        return dominating(EnumeratedPair(coins, mirrored, fars, 5 * math.exp(-self._nats)), gamma=1.0)

    def _split(
        self, trials: FloatArray, p: float, q: float
    ) -> tuple[IntArray | None, FloatArray, FloatArray]:
        """Return rows, the likely values of a binomial law of each row's trials, and logs of their
        probabilities; no rows if they are too many."""
        low, high = self._window(trials, p)
        if float((high - low + 1).sum()) > _LISTED:
            return None, low, low
        row, value = _ranges(low.astype(np.int64), high.astype(np.int64))
        values = value.astype(np.float64)
        log_p, log_q = math.log(p), math.log(q)
        return row, values, numerics.log_binomial_pmf(values, trials[row], log_p, log_q)

    def outcomes(self) -> Outcomes:
        """Return the pair with its outcomes merged to few: an upper bound."""
        alone, grid, weights = self._totals()
        still = self._high == 0
        zero = float(alone[still].sum() + weights[still].sum())
        alone = np.where(still, 0.0, alone)
        coin, x, far = [np.full(1, zero)], [np.zeros(1)], [np.ones(1)]
        listed = alone > 0
        if listed.any():
            base, high = self._base[listed], self._high[listed]
            # 1 - tilt, of which nothing cancels
            gaps = self._absent + self._low[listed] - self._half_gap * (high - self._low[listed])
            parts = TiltedBinomials(
                alone[listed], high, self._half_gap * high / base, gaps / base, 0.0, self._nats, "upper"
            )
            for column, found in zip((coin, x, far), parts.coins()[:3], strict=True):
                column.append(found)
        used = weights[~still].any(axis=0)
        if used.any():
            points, law = self._differences()
            mass = weights[~still][:, used].T @ law[~still]
            size = (self._half_gap / grid[used])[:, None] * points
            some = (mass > 0) & (points > 0)
            zero_mass = mass[:, 0].sum()
            coin += [np.full(1, zero_mass), mass[some], mass[some]]
            x += [np.zeros(1), size[some], -size[some]]
            far += [np.ones(1), 1 - size[some], 1 - size[some]]
        lost = 5 * math.exp(-self._nats)
        pair = EnumeratedPair(np.concatenate(coin), np.concatenate(x), np.concatenate(far), lost)
        return dominating(pair, gamma=1.0)

    def _window(self, trials: FloatArray | float, p: float) -> tuple[FloatArray, FloatArray]:
        """Return where a binomial is, or one that one of the trials is known to be in, but for e^-nats.

        By Bernstein's inequality.
        """
        level = self._nats + 1
        centre = np.asarray(trials, dtype=np.float64) * p
        reach = level / 3 + np.sqrt(level**2 / 9 + 2 * level * centre * (1 - p)) + 1
        return np.maximum(np.floor(centre - reach), 0.0), np.minimum(np.ceil(centre + reach), trials)

    def _group(self, trials: float, log_p: float, log_q: float) -> int:
        """Return how many neighbouring values of a binomial law may be summed by their middle."""
        nats = self._nats + _TILTED_WIDER
        slope = math.sqrt(2 * nats / max(trials, 1.0)) * math.exp(min(-(log_p + log_q) / 2, 300.0))
        group = numerics.group_size(slope)
        return group if group >= numerics.LEAST_GROUP else 1

    def _blocks(self) -> None:
        """Set blocks of N: their ends, their probabilities, and the totals that stand for them.

        Within a block N is taken at its high end, where more fair coins are added to those that there are,
        and so is the law of the total, which falls in N stochastically; in the total itself, N counts at the
        low end. So the tilt of a coin is not below its own at any N of the block.
        """
        tilted, untilted = 2 * self._kinds.tilted, self._untilted
        low, high = (float(end) for end in self._window(float(self._k), tilted))
        log_p, log_q = math.log(tilted), math.log(untilted)
        group = self._group(float(self._k), log_p, log_q)
        # of a steep tilt, so narrow that 1 less the tilt hardly changes within a block
        flat = _FLAT * self._coarser * (self._absent + low) / self._half_gap
        width = min(max(1, int(min(_WIDTH * self._coarser * low, 1 + flat))), _LONGEST * group)
        self._low = np.arange(low, high + 1, width)
        self._high = np.minimum(self._low + width - 1, high)

        def log_term(values: FloatArray, _: slice) -> FloatArray:
            pmf = numerics.log_binomial_pmf(values, float(self._k), log_p, log_q)
            with np.errstate(divide="ignore"):
                return pmf + np.log(self._expected(values))

        log_mass, _ = numerics.cell_sums(log_term, self._low, self._high, group=group)
        mass = np.exp(log_mass - log_mass.max())
        self._mass = mass / mass.sum()
        self._base = self._absent + self._half_sum * self._low
        differences = min(math.sqrt(2 * high * (self._nats + _TILTED_WIDER)), high, _DIFFERENCES)
        least, largest = _SPACING
        spacing = max(differences / _SPLIT, differences * self._high.size / _MULTIPLIED)
        # with three numbers to a total there are many rows, whose cells are as many as points
        both = self._kinds.heavy > 0 and self._kinds.plain > 0
        self._spacing = largest if both else min(max(spacing, least), largest)

    def _expected(self, tilted: FloatArray) -> FloatArray:
        """Return the mean of the total given N."""
        return self._absent + self._half_sum * tilted + (self._k - tilted) * self._mean

    def _totals(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return probabilities of the blocks' least totals, a grid of totals, and probabilities of these.

        The first is an array over blocks, the last of shape (blocks, grid).
        """
        of, blocks = self._kinds, np.arange(self._high.size)
        units = [(unit, p) for unit, p in ((self._e, of.heavy), (1.0, of.plain)) if p > 0]
        if not units:
            return self._mass.copy(), np.ones(1), np.zeros((blocks.size, 1))
        rows, left = _Rows(blocks, np.zeros(blocks.size), np.zeros(blocks.size)), self._untilted
        if len(units) == 2:
            rows, left = self._heavy(rows), of.plain + of.revealed
        unit, p = units[-1]
        trials = self._k - self._high[rows.block] - rows.heavy
        base = self._base[rows.block] + self._e * rows.heavy
        first, last = self._window(trials, p / left)
        least = self._base[self._base > 0].min(initial=np.inf)
        top = float((base + unit * last).max()) * (1 + 2 * _APART)
        least = min(least, top / 2)
        grid = least * np.exp(self._spacing * np.arange(math.ceil(math.log(top / least) / self._spacing) + 2))
        # the first point of the grid that a block may use; one below stands for its least total
        start = np.searchsorted(grid, self._base * (1 + _APART), side="right")[rows.block]
        cell_low = np.maximum(np.searchsorted(grid, base + unit * first, side="right"), start) - 1
        cell_high = np.maximum(np.searchsorted(grid, base + unit * last, side="right"), start) - 1
        whole = self._whole(cell_high - cell_low, 1)
        ahead = np.where(whole, cell_high - cell_low, 0) + 1
        row, cell = _ranges(cell_low, np.where(whole, cell_low, cell_high))

        def edge(index: IntArray) -> FloatArray:
            value = np.ceil((grid[np.maximum(index, 0)] - base[row]) / unit)
            inside = np.clip(value, first[row], last[row] + 1)
            return np.where(index <= cell_low[row], first[row], inside)

        begin = edge(cell)
        end = np.where(cell + ahead[row] > cell_high[row], last[row], edge(cell + 1) - 1)
        some = end >= begin
        row, cell, begin, end = row[some], cell[some], begin[some], end[some]
        log_p, log_q = math.log(p / left), math.log(of.revealed / left)
        group = self._group(float(trials[row].min()), log_p, log_q)
        longest = _LONGEST * group
        pieces = np.where(whole[row], 0.0, (end - begin) // longest).astype(np.int64)
        part, piece = _ranges(np.zeros(row.size, dtype=np.int64), pieces)
        row, cell, whole, ahead = row[part], cell[part], whole[row[part]], ahead[row[part]]
        begin, end = (
            begin[part] + piece * longest,
            np.where(whole, end[part], np.minimum(begin[part] + (piece + 1.0) * longest - 1, end[part])),
        )
        count = trials[row]
        work = (end - begin + 1)[~whole].sum()
        self._check_work(float(work) / _saved(group))
        log_sum, within = np.zeros(row.size), count * (p / left) - begin
        log_sum[~whole], within[~whole] = _cell_sums(
            count[~whole], begin[~whole], end[~whole], log_p, log_q, group
        )
        block = rows.block[row]
        alone = cell < start[row]
        lower, upper = np.where(alone, self._base[block], grid[np.maximum(cell, 0)]), grid[cell + ahead]
        up = np.clip((base[row] + unit * (begin + within) - lower) / (upper - lower), 0.0, 1.0)
        log_sum += rows.log_weight[row] - np.log(self._expected(self._high[block]))
        # what N counts more at the high end of its block, where the law is taken
        more = self._half_sum * (self._high - self._low)[block]
        with np.errstate(divide="ignore"):
            below = np.exp(log_sum + np.log(1 - up) + np.log(lower + more))
            above = np.exp(log_sum + np.log(up) + np.log(upper + more))
        least_total = np.bincount(block[alone], weights=below[alone], minlength=blocks.size)
        weights = np.zeros((blocks.size, grid.size))
        np.add.at(weights, (block[~alone], cell[~alone]), below[~alone])
        np.add.at(weights, (block, cell + ahead), above)
        scale = self._mass / (least_total + weights.sum(axis=1))
        return least_total * scale, grid, weights * scale[:, None]

    def _check_work(self, work: float) -> None:
        """Refuse what would take minutes: many clients at an extreme eps0 or delta.

        Raises:
            _TooMuchWorkError: it would.
        """
        if work > _MOST_WORK:
            raise _TooMuchWorkError(work / _MOST_WORK)

    def _whole(self, length: FloatArray | IntArray, most: float) -> NDArray[np.bool_]:
        """Return which windows are so short that they are one cell, whose probability is 1 and whose mean is
        known: only where listing took too long, as cells within them are finer."""
        return (length <= most) & (self._coarser > 1)

    def _work_of_plain(self, rows: int) -> float:
        """Return how many probabilities of numbers of plain reports there will be, roughly."""
        of, left = self._kinds, self._kinds.plain + self._kinds.revealed
        trials = float(self._k - self._high[0]) * left / self._untilted
        p = of.plain / left
        low, high = self._window(trials, p)
        if self._whole(high - low, self._spacing * float(self._expected(self._high[0]))):
            return 0.0
        group = self._group(trials, math.log(p), math.log(of.revealed / left))
        return rows * float(high - low + 1) / _saved(group)

    def _heavy(self, rows: _Rows) -> _Rows:
        """Split every row by the number of heavy reports, over neighbouring ones of a coarser grid.

        The mean of a convex function of the total is convex in the number of heavy reports, as these add more
        than the plain ones in their place.
        """
        trials, p = self._k - self._high[rows.block], self._kinds.heavy / self._untilted
        first, last = self._window(trials, p)
        totals = self._expected(self._high)
        width = max(
            1, int(_SPACING[1] * float(totals[totals > 0].min()) / max(self._e - 1, numerics.EPSILON))
        )
        log_p = math.log(p)
        log_q = math.log((self._kinds.plain + self._kinds.revealed) / self._untilted)
        group = self._group(float(trials.min()), log_p, log_q)
        width = min(width, _LONGEST * group)
        row, step = _ranges(np.zeros(first.size, dtype=np.int64), ((last - first) // width).astype(np.int64))
        begin = first[row] + width * step
        end = np.minimum(begin + width - 1, last[row])
        whole = self._whole(last - first, width - 1)
        self._check_work(float((last - first + 1)[~whole].sum()) / _saved(group))
        self._check_work(self._work_of_plain(row.size + first.size) / _ROUGH)
        log_sum, within = np.zeros(row.size), trials[row] * p - begin
        apart = ~whole[row]
        log_sum[apart], within[apart] = _cell_sums(
            trials[row[apart]], begin[apart], end[apart], log_p, log_q, group
        )
        if width == 1:
            return _Rows(rows.block[row], begin, log_sum)
        share = within / np.maximum(np.minimum(begin + width, trials[row]) - begin, 1.0)
        with np.errstate(divide="ignore"):
            logs = np.concatenate([log_sum + np.log1p(-share), log_sum + np.log(share)])
        values = np.concatenate([begin, np.minimum(begin + width, trials[row])])
        kept = np.isfinite(logs)
        # the upper end of a cell is the lower end of the next
        pairs = np.stack([np.tile(rows.block[row], 2)[kept].astype(np.float64), values[kept]])
        (block, heavy), inverse = np.unique(pairs, axis=1, return_inverse=True)
        log_weight = np.full(block.size, -np.inf)
        np.logaddexp.at(log_weight, inverse.ravel(), logs[kept])
        return _Rows(block.astype(np.int64), heavy, log_weight)

    def _differences(self) -> tuple[FloatArray, FloatArray]:
        """Return points D >= 0, and the law of the difference of each block's coins on these and their
        mirror images, of shape (blocks, points)."""
        n = self._high
        reach = np.minimum(np.floor(np.sqrt(2 * n * (self._nats + _TILTED_WIDER))), n)
        width = math.ceil(max(float(reach.max()), 1.0) / _DIFFERENCES)
        points = np.arange(0.0, float(reach.max()) + 2 * width, width)
        law = np.zeros((n.size, points.size))
        row, step = _ranges(np.zeros(n.size, dtype=np.int64), (reach // width).astype(np.int64))
        # heads of D > 0, from width * step on and below the next point
        begin = np.ceil((n[row] + np.maximum(width * step, 1)) / 2)
        end = np.minimum(np.ceil((n[row] + width * (step + 1)) / 2) - 1, n[row])
        row, step, begin, end = (column[end >= begin] for column in (row, step, begin, end))
        half = -math.log(2)

        group = self._group(float(n[n > 0].min(initial=np.inf)), half, half)
        log_sum, within = _cell_sums(n[row], begin, end, half, half, group)
        mass = np.exp(log_sum)
        up = np.clip((2 * (begin + within) - n[row] - width * step) / width, 0.0, 1.0)
        np.add.at(law, (row, step), mass * (1 - up))
        np.add.at(law, (row, step + 1), mass * up)
        law[:, 0] *= 2
        even = n % 2 == 0
        law[even, 0] += np.exp(numerics.log_binomial_pmf(n[even] / 2, n[even], half, half))
        return points, law / (law[:, :1] + 2 * law[:, 1:].sum(axis=1, keepdims=True))


def _cell_sums(
    trials: FloatArray, first: FloatArray, last: FloatArray, log_p: float, log_q: float, group: int
) -> tuple[FloatArray, FloatArray]:
    """Return ``numerics.cell_sums`` of binomial laws, a row of ``trials`` each."""
    if not first.size:
        return np.empty(0), np.empty(0)

    def log_term(values: FloatArray, some: slice) -> FloatArray:
        return numerics.log_binomial_pmf(values, trials[some, None], log_p, log_q)

    return numerics.cell_sums(log_term, first, last, group=group)


def _saved(group: int) -> float:
    """Return how many values there are to an evaluation, of which a group takes three."""
    return group / 3 if group > 1 else 1.0


def _ranges(low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Return the indices of rows, and whole numbers from ``low`` to ``high`` of each row."""
    sizes = high - low + 1
    row = np.repeat(np.arange(low.size), sizes)
    return row, np.arange(row.size) - np.repeat(np.cumsum(sizes) - sizes, sizes) + low[row]
