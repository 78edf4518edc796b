"""The pair of a round with its outcomes merged to few, such that its divergence does not fall."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp import numerics
from shuffledp.checks import FloatArray, IntArray
from shuffledp.distributions.tilted_binomials import TiltedBinomials
from shuffledp.pld.outcomes import Outcomes, dominating
from shuffledp.profiles.enumeration import EnumeratedPair
from shuffledp.profiles.four_kinds.rounds import TILTED_WIDER, Round, ranges
from shuffledp.profiles.worst_kinds import Kinds

# Relative width of a block of values of N; epsilon grows by half of it at most.
_WIDTH = 2e-4
# Least and largest relative distance of neighbouring points of the grid of totals; a total is split over two
# points such that its mean is kept. The largest is used where there are many outcomes. A distance of 0.01
# changes epsilon by up to 2e-3 of itself for thousands of clients, and by a fifth or more where N is small
# and eps0 is large; 0.001 changes it by at most 2e-4 in the cases compared. So few outcomes are listed.
_SPACING = (1e-3, 1e-2)
# How many outcomes the grids aim at, and how many products of probabilities over all blocks, each for totals
# that span one unit of their logarithm.
_SPLIT = 2**19
_MULTIPLIED = 2**30
_MOST_WORK = 4e7  # largest number of probabilities of totals that are computed, in some 20 seconds
# Relative distance from the total of N alone above which a total goes to the grid that all N share; closer to
# it, 1 - |x| would lose its digits on that grid.
_APART = 1e-3
_ROUGH = 1.5  # how many times the true work an estimate of it may be
_FLAT = 0.01  # largest relative change of 1 - tilt within a block of N
_DIFFERENCES = 2**12  # how many values of |D| are told apart
_LONGEST = 2**17  # how many values are summed as one piece
_MOST_BLOCKS = 2**13  # of N; of each a thousand outcomes are listed, which makes a gigabyte


class _Rows(NamedTuple):
    """Rows of a table, each with a block of N and a number of heavy reports; arrays of one length.

    Attributes:
        block: index of the block of N.
        heavy: number of heavy reports so far.
        log_weight: log of the probability among k other clients, given the block.
    """

    block: IntArray
    heavy: FloatArray
    log_weight: FloatArray


class TooMuchWorkError(Exception):
    """Telling the totals of so many clients apart would take minutes, or their outcomes gigabytes.

    Attributes:
        excess: the work, as a multiple of the largest that is done.
    """

    def __init__(self, excess: float) -> None:
        super().__init__(f"{excess:g} times too many totals, or blocks of N")
        self.excess = excess


class MergedPair(Round):
    """The dominating pair of one round with so few outcomes that they can be computed.

    The package says what N, totals, differences and the four kinds of reports are. Values of N are merged
    into blocks, and totals and differences are moved to grids.

    Args:
        absent: n - k.
        k: reports of the round.
        eps0: local privacy parameter.
        of: probabilities of the four kinds.
        nats: how far below the rest an outcome is left out.
        coarser: how many times wider than usual blocks of N may be. If it is above 1, a window of totals that
            is shorter than a cell of the grid counts as one cell.
    """

    def __init__(
        self, absent: int, k: int, eps0: float, of: Kinds, nats: float, *, coarser: float = 1.0
    ) -> None:
        super().__init__(absent, k, eps0, of, nats)
        self._coarser = coarser
        # mean of what a report that is not tilted adds to the total
        self._mean = (of.plain + self._e * of.heavy) / self._untilted
        self._blocks()

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

    def _group(self, trials: float, log_p: float, log_q: float) -> int:
        """Return how many neighbouring values of a binomial law may be summed from three of them."""
        nats = self._nats + TILTED_WIDER
        slope = math.sqrt(2 * nats / max(trials, 1.0)) * math.exp(min(-(log_p + log_q) / 2, 300.0))
        group = numerics.group_size(slope)
        return group if group >= numerics.LEAST_GROUP else 1

    def _blocks(self) -> None:
        """Set the blocks of N: their ends, their probabilities, and the totals that stand for them.

        Within a block, the number of coins and the law of the other reports are those of the high end of N,
        while the total counts N at its low end. More coins of one tilt raise the divergence, and the other
        reports add stochastically less where N is larger. So the tilt of a coin is at least its own at any N
        of the block.
        """
        tilted, untilted = 2 * self._kinds.tilted, self._untilted
        low, high = (float(end) for end in self._window(float(self._k), tilted))
        log_p, log_q = math.log(tilted), math.log(untilted)
        group = self._group(float(self._k), log_p, log_q)
        # where the tilt is close to 1, blocks so narrow that 1 - tilt hardly changes within them
        flat = _FLAT * self._coarser * (self._absent + low) / self._half_gap
        width = min(max(1, int(min(_WIDTH * self._coarser * low, 1 + flat))), _LONGEST * group)
        count = math.ceil((high - low + 1) / width)
        if count > _MOST_BLOCKS:
            raise TooMuchWorkError(count / _MOST_BLOCKS)
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
        differences = min(math.sqrt(2 * high * (self._nats + TILTED_WIDER)), high, _DIFFERENCES)
        least, largest = _SPACING
        spacing = max(differences / _SPLIT, differences * self._high.size / _MULTIPLIED)
        # where heavy and plain reports both occur there are many rows, each with a cell a point of the grid
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
        row, cell = ranges(cell_low, np.where(whole, cell_low, cell_high))

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
        part, piece = ranges(np.zeros(row.size, dtype=np.int64), pieces)
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
        # by how much N counts more at the high end of its block, where the law is taken
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
        """Refuse work that would take minutes, as of many clients at an extreme eps0 or delta.

        Raises:
            TooMuchWorkError: the work is more than is done.
        """
        if work > _MOST_WORK:
            raise TooMuchWorkError(work / _MOST_WORK)

    def _whole(self, length: FloatArray | IntArray, most: float) -> NDArray[np.bool_]:
        """Return which windows are so short that they are taken as one cell, whose probability is 1 and whose
        mean is known. Only in coarser tries: otherwise cells within a window are kept, as they are finer."""
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
        """Split every row by the number of heavy reports, onto a grid whose means are kept.

        That bounds from above, since the mean of a convex function of the total is convex in the number of
        heavy reports: each adds more to the total than the plain report in its place.
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
        row, step = ranges(np.zeros(first.size, dtype=np.int64), ((last - first) // width).astype(np.int64))
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
        reach = np.minimum(np.floor(np.sqrt(2 * n * (self._nats + TILTED_WIDER))), n)
        width = math.ceil(max(float(reach.max()), 1.0) / _DIFFERENCES)
        points = np.arange(0.0, float(reach.max()) + 2 * width, width)
        law = np.zeros((n.size, points.size))
        row, step = ranges(np.zeros(n.size, dtype=np.int64), (reach // width).astype(np.int64))
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
    """Return how many values are summed for one evaluation: a group takes three evaluations."""
    return group / 3 if group > 1 else 1.0
