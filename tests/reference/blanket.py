"""Blankets of local randomisers on tiny instances: bounds by expanding a product, truths by going through all
that may happen. No code is shared with the library, and everything stays exact where the input is fractions.

As in ``exact``, a distribution is a tuple of probabilities over the alphabet, a randomiser a tuple of
distributions, one an input, and a law maps outcomes to probabilities. Here ``e`` stands for e^eps0 and ``a``
for the argument of the hockey-stick divergence sum [P - a Q]_+, both plain numbers.

A table describes one trial of the sum that bounds a round: a list of (mass, h0, h1), where h0 and h1 are the
ratios of the two reports of the client who differs to the blanket. What the table lacks to 1 is revealed.
"""

from collections import defaultdict
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product

import numpy as np
from scipy import optimize

# --- Tables of one trial


def generic(e):
    """Of every eps0-LDP randomiser: the clones of feldman2022."""
    return ((Fraction(1, e + 1), e, 1), (Fraction(1, e + 1), 1, e))


def from_share(e, f):
    """Of a randomiser with a blanket of mass 1/(1 + (e - 1) f), for f <= 1/2."""
    b = 1 / (1 + (e - 1) * Fraction(f))
    return ((b * f, e, 1), (b * f, 1, e), (b * (1 - 2 * f), 1, 1))


def from_distance(e, tv):
    """Of a randomiser with reports no further apart than ``tv`` in total variation."""
    s = Fraction(tv) * (e + 1) / (e - 1)
    return ((s / (e + 1), e, 1), (s / (e + 1), 1, e), ((1 - s) / e, e, e))


def from_both(e, b, tv):
    """Of a randomiser with a blanket of mass ``b``, and reports no further apart than ``tv``.

    The four masses exist for tv <= min(1 - b, b e - 1) only. Numbers beyond say no more than those at the
    end of that range.
    """
    tv = min(Fraction(tv), 1 - b, Fraction(e - 1) / (e + 1))
    b = max(b, (1 + tv) / e)
    t = tv / (e - 1)
    d = (1 - b) / (e - 1) - t
    return ((t, e, 1), (t, 1, e), (b - d - 2 * t, 1, 1), (d, e, e))


def infimum(randomiser):
    """The largest measure below the laws of all inputs."""
    return tuple(min(column) for column in zip(*randomiser, strict=True))


def pairwise(p, q, e):
    """The larger of two reports, divided by e: a blanket that knows no other input."""
    return tuple(max(one, other) / e for one, other in zip(p, q, strict=True))


def table_of(p, q, blanket):
    """Of the pair of reports p, q and a blanket themselves."""
    return tuple(
        (mass, one / mass, other / mass) for one, other, mass in zip(p, q, blanket, strict=True) if mass
    )


def distance(p, q):
    return sum(max(one - other, 0) for one, other in zip(p, q, strict=True))


# --- The bound


@cache
def sums(table, k):
    """Law of (sum of h0, sum of h1) over k independent trials."""
    rest = 1 - sum(mass for mass, _, _ in table)
    law = {(0, 0): 1}
    for _ in range(k):
        longer = defaultdict(int)
        for (one, other), mass in law.items():
            longer[one, other] += mass * rest
            for part, h0, h1 in table:
                longer[one + h0, other + h1] += mass * part
        law = longer
    return dict(law)


def bound(a, table, k, gamma=1):
    """E [(1 - gamma)(1 - a) + (gamma/k) sum of (h0 - a h1)]_+ over k independent trials."""
    centre, part = (1 - gamma) * (1 - a), Fraction(gamma) / k
    return _in_fractions(
        sum(mass * max(centre + part * (one - a * other), 0) for (one, other), mass in sums(table, k).items())
    )


def hockey_stick(p, q, a):
    """Sum [P - a Q]_+ of two laws."""
    return _in_fractions(sum(max(mass - a * q.get(outcome, 0), 0) for outcome, mass in p.items()))


def _in_fractions(value):
    assert not isinstance(value, float), "a float among the probabilities: nothing is exact any more"
    return value


def kinks(p, q):
    """The likelihood ratios of two laws, between which their divergence is linear in ``a``."""
    return sorted({mass / q[outcome] for outcome, mass in p.items() if q.get(outcome)})


# --- What is revealed to whom


def revealed_round(one, others, k, blanket):
    """Law of a round in which k of the data (``one`` and ``others``) report, as the proof reveals it: the
    clients U, the histogram of what came from the blanket or from the client who differs, and the residual
    report of every other client. For k = all, U is empty, and for fewer the client replaces one of U."""
    n = len(others) + 1
    law = defaultdict(int)
    if k == n:
        for view, mass in _shown(one, others, range(n - 1), blanket).items():
            law[(), view] += mass
        return dict(law)
    drawn = list(combinations(range(n - 1), k))
    gamma = Fraction(k, n)
    for users in drawn:
        share = Fraction(1, len(drawn))
        for view, mass in _shown(None, others, users, blanket).items():
            law[users, view] += share * (1 - gamma) * mass
        for away in users:
            rest = tuple(user for user in users if user != away)
            for view, mass in _shown(one, others, rest, blanket).items():
                law[users, view] += share * gamma / k * mass
    return dict(law)


def _shown(one, others, users, blanket):
    """Law of (histogram of the hidden reports, residual reports by client)."""
    symbols = range(len(blanket))
    start = {} if one is None else {symbol: one[symbol] for symbol in symbols}
    empty = (0,) * len(blanket)
    law = {(empty, ()): 1} if one is None else {(_more(empty, y), ()): mass for y, mass in start.items()}
    for user in users:
        longer = defaultdict(int)
        for (histogram, told), mass in law.items():
            for y in symbols:
                longer[_more(histogram, y), told] += mass * blanket[y]
                longer[histogram, (*told, (user, y))] += mass * (others[user][y] - blanket[y])
        law = longer
    return law


def _more(histogram, symbol):
    grown = list(histogram)
    grown[symbol] += 1
    return tuple(grown)


def ordered_round(data, k, choose):
    """Law of the reports, in order, of k of the data in a uniform order, where what is run at a place depends
    on the place and on the reports before: ``choose(before)`` is a randomiser, data are inputs by number."""
    orders = list(permutations(range(len(data)), k))
    law = defaultdict(int)
    for order in orders:
        for reports in product(range(len(choose(())[0])), repeat=k):
            mass = Fraction(1, len(orders))
            for place, client in enumerate(order):
                mass *= choose(reports[:place])[data[client]][reports[place]]
            law[reports] += mass
    return dict(law)


# --- Randomisers


def solve(rows, right):
    """Solution of a square system in fractions, or None where it is singular."""
    size = len(right)
    work = [[*map(Fraction, row), Fraction(value)] for row, value in zip(rows, right, strict=True)]
    for column in range(size):
        pivot = next((row for row in range(column, size) if work[row][column]), None)
        if pivot is None:
            return None
        work[column], work[pivot] = work[pivot], work[column]
        work[column] = [value / work[column][column] for value in work[column]]
        for row in range(size):
            if row != column and work[row][column]:
                factor = work[row][column]
                work[row] = [one - factor * other for one, other in zip(work[row], work[column], strict=True)]
    return [row[-1] for row in work]


def vertex(rng, e, inputs):
    """An extreme point among the eps0-LDP randomisers of so many inputs: columns in {1, e} up to scale, with
    weights from a linear programme of random cost, solved once more in fractions."""
    while True:
        columns = [column for column in product((1, e), repeat=inputs) if len(set(column)) > 1]
        columns.append((1,) * inputs)
        cost = rng.normal(size=len(columns))
        matrix = np.array(columns, dtype=float).T
        found = optimize.linprog(cost, A_eq=matrix, b_eq=np.ones(inputs))
        support = [column for column, weight in zip(columns, found.x, strict=True) if weight > 1e-9]
        if len(support) < 2:
            continue
        weights = _weights(support, inputs)
        if weights is not None:
            return tuple(
                tuple(weight * column[x] for weight, column in zip(weights, support, strict=True))
                for x in range(inputs)
            )


def _weights(support, inputs):
    """Weights >= 0 that make each row of the columns a distribution, or None."""
    for rows in combinations(range(inputs), len(support)):
        weights = solve([[column[x] for column in support] for x in rows], [1] * len(support))
        if weights is not None:
            rows = [[weight * x for x in column] for weight, column in zip(weights, support, strict=True)]
            right = all(sum(column) == 1 for column in zip(*rows, strict=True))
            return weights if min(weights) >= 0 and right else None
    return None


def mixture(weight, one, other, *, apart):
    """A coin decides between two randomisers; ``apart``: the report tells the coin."""
    if apart:
        return tuple(
            (*(weight * x for x in p), *((1 - weight) * x for x in q))
            for p, q in zip(one, other, strict=True)
        )
    size = max(len(one[0]), len(other[0]))
    wide = [[(*p, *(0,) * (size - len(p))) for p in part] for part in (one, other)]
    return tuple(
        tuple(weight * x + (1 - weight) * y for x, y in zip(p, q, strict=True))
        for p, q in zip(*wide, strict=True)
    )


def smooth(rng, e, inputs, symbols):
    """Random distributions, drawn towards their mean until no ratio exceeds e."""
    weights = rng.integers(1, 60, size=(inputs, symbols)).tolist()
    rows = [[Fraction(weight, sum(row)) for weight in row] for row in weights]
    mean = [sum(column) / inputs for column in zip(*rows, strict=True)]
    pull = Fraction(1)
    while True:
        drawn = tuple(
            tuple(pull * x + (1 - pull) * m for x, m in zip(row, mean, strict=True)) for row in rows
        )
        if largest_ratio(drawn) <= e:
            return drawn
        pull *= Fraction(9, 10)


def largest_ratio(randomiser):
    """Largest ratio of the probabilities of one symbol under two inputs, over symbols that occur."""
    return max(max(column) / min(column) for column in zip(*randomiser, strict=True) if max(column))


def krr(e, k):
    """k-ary randomised response."""
    return tuple(tuple(Fraction(e if x == y else 1) / (e + k - 1) for y in range(k)) for x in range(k))


def subset_selection(e, k, s):
    """Reports are subsets of s of k categories; those that hold one's own are e times as likely."""
    subsets = list(combinations(range(k), s))
    rows = [[Fraction(e if x in subset else 1) for subset in subsets] for x in range(k)]
    return tuple(tuple(value / sum(row) for value in row) for row in rows)


def failure(randomiser, e):
    """The least delta0 at which it is (eps0, delta0)-LDP."""
    return max(
        sum(max(x - e * y, 0) for x, y in zip(p, q, strict=True)) for p, q in permutations(randomiser, 2)
    )


def repaired(p, q, others, e):
    """Reports close to p and q with ratios of at most e, and others that their blanket fits under."""
    p, q = list(p), list(q)
    for y, (one, other) in enumerate(zip(p, q, strict=True)):
        move = max(one - e * other, 0) / (e + 1), max(other - e * one, 0) / (e + 1)
        p[y] += move[1] - move[0]
        q[y] += move[0] - move[1]
    if sum(p) > 1:  # the same with the two exchanged
        q, p = _levelled(q, p)
    else:
        p, q = _levelled(p, q)
    blanket = pairwise(p, q, e)
    return p, q, [_raised(other, blanket) for other in others]


def _levelled(small, large):
    """Give each of two measures, of mass 1 - x and 1 + x, mass 1: where the second is larger, both move
    towards each other."""
    gap = 1 - sum(small)
    room = sum(max(y - x, 0) for x, y in zip(small, large, strict=True)) / 2
    part = gap / room if room else 0
    moves = [part * max(y - x, 0) / 2 for x, y in zip(small, large, strict=True)]
    return (
        tuple(x + move for x, move in zip(small, moves, strict=True)),
        tuple(y - move for y, move in zip(large, moves, strict=True)),
    )


def _raised(law, blanket):
    lack = [max(mass - x, 0) for x, mass in zip(law, blanket, strict=True)]
    spare = [max(x - mass, 0) for x, mass in zip(law, blanket, strict=True)]
    part = sum(lack) / sum(spare) if sum(spare) else 0
    return tuple(x + more - part * less for x, more, less in zip(law, lack, spare, strict=True))
