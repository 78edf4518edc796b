"""The check-in protocols of balle2020 and liew2022 on tiny instances, by going through all that may happen.

As in ``exact``, a distribution is a tuple of probabilities over the alphabet, a randomiser a tuple of
distributions, one an input; a data set is a tuple of inputs, by number. Reports may be adaptive: what the
clients of a slot run is ``choose(before)``, a randomiser that depends on all that was output before. A law
maps sequences of outputs, one a slot, to probabilities.
"""

from collections import defaultdict
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations, product

from .exact import mp, number, shuffle_law, smallest_eps

DUMMY = 0  # the input that stands for no data at all


def _mean(distributions):
    return tuple(Fraction(sum(column)) / len(distributions) for column in zip(*distributions, strict=True))


def _one_after_the_other(slots, report):
    """Law of the outputs of slots, each of which has the law ``report(slot, before)``."""
    law = {(): 1}
    for slot in slots:
        longer = defaultdict(int)
        for before, mass in law.items():
            for output, probability in report(slot, before).items():
                longer[*before, output] += mass * probability
        law = longer
    return law


def _mixed(parts):
    law = defaultdict(int)
    for weight, part in parts:
        for outcome, mass in part.items():
            law[outcome] += weight * mass
    return dict(law)


def _picked(data, choose):
    """Report of a slot: of one of its clients, picked uniformly, or a dummy."""

    def report(clients, before):
        randomiser = choose(before)
        inputs = [data[client] for client in clients] or [DUMMY]
        return dict(enumerate(_mean([randomiser[value] for value in inputs])))

    return report


def _slots(choice, m):
    return [[client for client, slot in enumerate(choice) if slot == place] for place in range(m)]


def fixed_window(data, m, p0, choose):
    """Algorithm 1 of balle2020."""
    stays = {None: 1 - p0, **dict.fromkeys(range(m), Fraction(p0) / m)}
    parts = []
    for choice in product(stays, repeat=len(data)):
        weight = Fraction(1)
        for slot in choice:
            weight *= stays[slot]
        if weight:
            parts.append((weight, _one_after_the_other(_slots(choice, m), _picked(data, choose))))
    return _mixed(parts)


def sliding_window(data, m, choose):
    """The protocol of Theorem 4.3: client j in slots j to j + m - 1, slots m to n."""
    n = len(data)
    parts = []
    for delays in product(range(m), repeat=n):
        slots = _slots([client + delay for client, delay in enumerate(delays)], n)[m - 1 :]
        parts.append((Fraction(1, m**n), _one_after_the_other(slots, _picked(data, choose))))
    return _mixed(parts)


def averaging(data, m, choose):
    """The protocol of Theorem 4.1; a slot's output is the histogram of its reports, which says how many."""

    def report(clients, before):
        if not clients:
            return {(): 1}
        randomiser = choose(before)
        return shuffle_law(tuple(sorted(randomiser[data[client]] for client in clients)))

    choices = product(range(m), repeat=len(data))
    weight = Fraction(1, m ** len(data))
    return _mixed((weight, _one_after_the_other(_slots(choice, m), report)) for choice in choices)


def shuffling(data, choose):
    """Algorithm 5: the data in random order, each with the randomiser of its place."""
    orders = list(permutations(data))
    parts = [
        (
            Fraction(1, len(orders)),
            _one_after_the_other(order, lambda value, before: dict(enumerate(choose(before)[value]))),
        )
        for order in orders
    ]
    return _mixed(parts)


def replacement(first, others, weights, choose):
    """Algorithm 3: in one random place, with the weight of that place, ``first`` replaces what is there."""
    m = len(others)
    parts = []
    for place in range(m):
        for taken, weight in ((True, weights[place]), (False, 1 - weights[place])):
            inputs = [*others[:place], first, *others[place + 1 :]] if taken else others
            law = _one_after_the_other(inputs, lambda value, before: dict(enumerate(choose(before)[value])))
            parts.append((Fraction(weight) / m, law))
    return _mixed(parts)


def swapping(first, others, choose):
    """Algorithm 6: ``first`` changes places with a random one, itself included."""
    data = [first, *others]
    parts = []
    for place in range(len(data)):
        swapped = list(data)
        swapped[0], swapped[place] = data[place], data[0]
        law = _one_after_the_other(swapped, lambda value, before: dict(enumerate(choose(before)[value])))
        parts.append((Fraction(1, len(data)), law))
    return _mixed(parts)


def bins(first, others, loads, choose):
    """Algorithm 4 after the swap: sums over bins of known sizes, as histograms."""
    data, ends = [first, *others], [sum(loads[: place + 1]) for place in range(len(loads))]

    def report(values, before):
        randomiser = choose(before)
        return shuffle_law(tuple(sorted(randomiser[value] for value in values))) if values else {(): 1}

    parts = []
    for place in range(len(data)):
        swapped = list(data)
        swapped[0], swapped[place] = data[place], data[0]
        slots = [tuple(swapped[end - load : end]) for end, load in zip(ends, loads, strict=True)]
        parts.append((Fraction(1, len(data)), _one_after_the_other(slots, report)))
    return _mixed(parts)


def shuffled_check_in(data, rate, randomiser):
    """liew2022: the histogram of the reports of those who came."""
    parts = []
    for here in product((False, True), repeat=len(data)):
        weight = Fraction(1)
        for comes in here:
            weight *= rate if comes else 1 - rate
        reports = tuple(sorted(randomiser[value] for value, comes in zip(data, here, strict=True) if comes))
        law = shuffle_law(reports) if reports else {(0,) * len(randomiser[0]): 1}
        parts.append((weight, law))
    return _mixed(parts)


def together(*laws):
    """Law of independent mechanisms, run on the same data."""
    law = {(): 1}
    for part in laws:
        law = {(*before, one): mass * more for before, mass in law.items() for one, more in part.items()}
    return law


def neighbours(n, inputs, *, ordered):
    """All pairs of data sets of n records that differ in one record; up to order, unless that counts."""
    commons = product if ordered else combinations_with_replacement
    shape = {"repeat": n - 1} if ordered else {"r": n - 1}
    for common in commons(range(inputs), **shape):
        for place in range(n) if ordered else (0,):
            for one, other in combinations(range(inputs), 2):
                yield tuple((*common[:place], value, *common[place:]) for value in (one, other))


def hockey_stick(p, q, eps):
    """The larger of sum [P - e^eps Q]_+ and of the same with P and Q exchanged."""
    e = mp.exp(number(eps))
    return max(
        mp.fsum(max(number(a[outcome]) - e * number(b[outcome]), 0) for outcome in a)
        for a, b in ((p, q), (q, p))
    )


def worst_delta(pairs, eps):
    """The largest ``hockey_stick`` of pairs of laws."""
    return max(hockey_stick(p, q, eps) for p, q in pairs)


def worst_eps(pairs, delta):
    """Smallest eps at which all pairs of laws are (eps, delta)-close, both ways round."""
    worst = mp.mpf(0)
    for p, q in pairs:
        for a, b in ((p, q), (q, p)):
            outcomes = sorted(((a[one] / b[one], a[one], b[one]) for one in a), reverse=True)
            numbers = (tuple(number(value) for value in outcome) for outcome in outcomes)
            worst = max(worst, smallest_eps(numbers, delta))
    return worst


def step_losses(p, q):
    """For each slot the largest log ratio of an output's probability, given all before it."""
    length = len(next(iter(p)))
    found = []
    for place in range(length):
        worst = 0
        shorter, longer = ([_prefixes(law, size) for law in (p, q)] for size in (place, place + 1))
        for outcome in longer[0]:
            one, other = (longer[side][outcome] / shorter[side][outcome[:-1]] for side in (0, 1))
            worst = max(worst, one / other, other / one)
        found.append(mp.log(number(worst)))
    return found


def _prefixes(law, size):
    cut = defaultdict(int)
    for outcome, mass in law.items():
        cut[outcome[:size]] += mass
    return cut
