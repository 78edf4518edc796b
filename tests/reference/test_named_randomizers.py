"""Blankets and named randomisers against the exact law of the shuffled reports, by code of its own."""

import functools
import math
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from mpmath import mp
from scipy import stats

from shuffledp.accountants import bracket
from shuffledp.profiles import attacks, caps, four_kinds
from shuffledp.profiles.named_randomizers import named
from shuffledp.randomizers.constants import privunit

from .exact import eps_between, shuffle_law, subsampled_law

ROUNDING = 1e-11


def divergence(p, q, ratio):
    return sum(max(p[h] - ratio * q.get(h, 0), 0) for h in p)


def at(pair, ratio, *, infinite):
    """The divergence of a listed pair; what is left out counts in full or not at all."""
    excess = pair.mass * np.maximum(-np.expm1(math.log(ratio) - pair.loss), 0.0)
    return float(excess.sum()) + (pair.infinite if infinite else 0.0)


def ratios(eps0):
    return [math.exp(part * eps0) for part in (-1.1, -0.5, 0.0, 0.02, 0.3, 0.5, 0.9, 0.99)]


def closeness_below(pair, p, q, eps0):
    """The largest ratio of a divergence of two laws to that of a pair, which must be no smaller."""
    closest = 0.0
    for ratio in ratios(eps0):
        bound = at(pair, ratio, infinite=True)
        for exact in (divergence(p, q, ratio), divergence(q, p, ratio)):
            assert exact <= bound * (1 + ROUNDING) + 1e-13
            if ratio > 1:
                closest = max(closest, exact / bound if bound > 0 else 0.0)
    return closest


# --- any randomiser


def vertex_like(rng, symbols, records, eps0):
    """A randomiser whose columns take the values 1 and e up to scale, or anything between."""
    while True:
        powers = (
            rng.integers(0, 2, (records, symbols)) if rng.random() < 0.5 else rng.random((records, symbols))
        )
        rows = np.exp(eps0 * powers) * rng.random(symbols)
        rows /= rows.sum(axis=1, keepdims=True)
        spread = (rows.max(axis=0) / rows.min(axis=0)).max()
        if 1.01 < spread <= math.exp(eps0):
            return [tuple(row) for row in rows.tolist()]


def test_no_mechanism_exceeds_its_bound():
    rng = np.random.default_rng(1)
    for _ in range(120):
        eps0 = float(rng.choice([0.3, 1.0, 2.0, 3.0]))
        rows = vertex_like(rng, int(rng.integers(2, 5)), int(rng.integers(2, 4)), eps0)
        blanket = sum(map(min, *rows))
        tv = sum(abs(a - b) for a, b in zip(rows[0], rows[1], strict=True)) / 2
        share = (1 / blanket - 1) / math.expm1(eps0)
        if tv < 1e-6:
            continue
        n = int(rng.integers(2, 5))
        k = int(rng.integers(1, n + 1))
        others = [rows[index] for index in rng.integers(0, len(rows), n - 1)]
        p, q = (subsampled_law((*others, row), k) for row in rows[:2])
        known = [{}, {"tv": tv}]
        if share <= 0.5:
            known += [{"share": share}, {"share": share, "tv": tv}]
        for numbers in known:
            pair = four_kinds.kinds_outcomes(n=n, k=k, eps0=eps0, **numbers)
            for ratio in ratios(eps0):
                bound = at(pair, ratio, infinite=True)
                for exact in (divergence(p, q, ratio), divergence(q, p, ratio)):
                    assert exact <= bound * (1 + ROUNDING) + 1e-13


def test_clients_who_check_in():
    eps0, rate, n = 1.5, 0.3, 4
    e = math.exp(eps0)
    rows = [tuple(np.array(row) / (e + 2)) for row in ((e, 1, 1), (1, e, 1), (1, 1, e))]
    pair = four_kinds.kinds_outcomes(n=n, k=n, eps0=eps0, share=1 / 3, rate=rate)
    checked_in = [(*(rate * value for value in row), 1 - rate) for row in rows]
    for others in product(range(3), repeat=n - 1):
        p, q = (shuffle_law(tuple(checked_in[i] for i in (*others, own))) for own in (0, 1))
        for ratio in ratios(eps0):
            assert divergence(p, q, ratio) <= at(pair, ratio, infinite=True) * (1 + ROUNDING) + 1e-13


@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("eps0", [0.4, 2.0])
def test_one_report_of_two_symbols_attains_it(eps0, n):
    e = math.exp(eps0)
    one, two = ((e / (1 + e), 1 / (1 + e)), (1 / (1 + e), e / (1 + e)))
    pair = four_kinds.kinds_outcomes(n=n, k=1, eps0=eps0)
    p, q = (subsampled_law((*[one] * (n - 1), own), 1) for own in (one, two))
    for part in (0.01, 0.3, 0.9, 0.99):
        ratio = 1 + part * (e - 1) / n
        assert at(pair, ratio, infinite=False) == pytest.approx(divergence(q, p, ratio), rel=1e-9)


@pytest.mark.parametrize("categories", [2, 3, 5])
@pytest.mark.parametrize("n", [2, 4])
def test_all_others_on_the_first_category_attain_it_near_the_largest_loss(categories, n):
    eps0 = 1.5
    rows = normalised(krr_rows(math.exp(eps0), categories))
    pair = four_kinds.kinds_outcomes(n=n, k=n, eps0=eps0, share=1 / categories)
    p, q = (shuffle_law((*[rows[0]] * (n - 1), own)) for own in rows[:2])
    ratio = math.exp(0.97 * eps0)
    assert at(pair, ratio, infinite=False) == pytest.approx(divergence(p, q, ratio), rel=1e-9)


def test_the_unseen_rest_is_not_merged_with_reports_of_no_kind():
    one, two = ((7 / 32, 5 / 32, 20 / 32), (7 / 32, 20 / 32, 5 / 32))
    p, q = (shuffle_law((one, own)) for own in (one, two))
    exact = max(divergence(p, q, 3.276), divergence(q, p, 3.276))
    assert exact == pytest.approx(0.0707, abs=1e-4)
    pair = four_kinds.kinds_outcomes(n=2, k=2, eps0=math.log(4), share=(32 / 17 - 1) / 3)
    assert at(pair, 3.276, infinite=False) == pytest.approx(exact, rel=1e-9)


# --- named randomisers, built from their definitions


def krr_rows(e, categories):
    return [[e if y == x else 1 for y in range(categories)] for x in range(categories)]


def subset_rows(e, categories, subset):
    sets = list(combinations(range(categories), subset))
    return [[e if x in one else 1 for one in sets] for x in range(categories)]


def bit_rows(p, q, categories):
    words = list(product((0, 1), repeat=categories))
    return [
        [
            math.prod((s if bit else 1 - s) for i, bit in enumerate(w) for s in (p if i == x else q,))
            for w in words
        ]
        for x in range(categories)
    ]


def hashing_rows(e, cells, records):
    functions = list(product(range(cells), repeat=records))
    return [[e if h[x] == y else 1 for h in functions for y in range(cells)] for x in range(records)]


def hadamard_rows(e, size):
    return [[e if bin(x & y).count("1") % 2 == 0 else 1 for y in range(size)] for x in range(1, size)]


def built(name, eps0):
    e, r = math.exp(eps0), math.exp(eps0 / 2)
    return {
        "krr3": lambda: ("krr", {"categories": 3}, krr_rows(e, 3)),
        "krr2": lambda: ("krr", {"categories": 2}, krr_rows(e, 2)),
        "krr5": lambda: ("krr", {"categories": 5}, krr_rows(e, 5)),
        "subset": lambda: ("subset-selection", {"categories": 4, "subset": 2}, subset_rows(e, 4, 2)),
        "large-subset": lambda: ("subset-selection", {"categories": 3, "subset": 2}, subset_rows(e, 3, 2)),
        "hashing": lambda: ("local-hashing", {"cells": 2}, hashing_rows(e, 2, 3)),
        "known-hashing": lambda: ("local-hashing", {"cells": 2, "collision": 0.5}, hashing_rows(e, 2, 3)),
        "colliding-hashing": lambda: (
            "local-hashing",
            {"cells": 2, "collision": 0.75},
            # every other function sends all records to one cell
            [
                [*[value / 8 for value in row], *half]
                for row, half in zip(hashing_rows(e, 2, 3), [(e, 1.0)] * 3, strict=True)
            ],
        ),
        "hadamard": lambda: ("hadamard-response", {}, hadamard_rows(e, 4)),
        "oue": lambda: ("oue", {}, bit_rows(0.5, 1 / (e + 1), 3)),
        "rappor": lambda: ("rappor", {}, bit_rows(r / (r + 1), 1 / (r + 1), 3)),
        "coordinate": lambda: ("coordinate", {}, [[e, e, 1, 1], [1, 1, e, e], [e, 1, 1, e]]),
    }[name]()


BUILT = [
    *(
        "krr3",
        "krr2",
        "krr5",
        "subset",
        "large-subset",
        "hashing",
        "known-hashing",
        "colliding-hashing",
        "hadamard",
        "oue",
    ),
    *("rappor", "coordinate"),
]


def normalised(rows):
    return [tuple(value / math.fsum(row) for value in row) for row in rows]


def merged(rows, used):
    """The randomiser of some of the records, symbols with the same likelihoods merged: nothing is lost."""
    columns = {}
    for column in zip(*[rows[index] for index in used], strict=True):
        key = tuple(round(value / column[0], 9) for value in column)
        columns[key] = [a + b for a, b in zip(columns.get(key, [0.0] * len(used)), column, strict=True)]
    return [tuple(row) for row in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize("eps0", [0.7, 2.0])
@pytest.mark.parametrize("name", BUILT)
def test_the_numbers_of_a_named_randomiser(name, eps0):
    registered, parameters, rows = built(name, eps0)
    found = named(registered, eps0=eps0, **parameters)
    rows = normalised(rows)
    blanket = sum(map(min, *rows)) if len(rows) > 1 else 1.0
    tv = max(sum(abs(a - b) for a, b in zip(one, two, strict=True)) / 2 for one, two in combinations(rows, 2))
    assert tv <= found.tv * (1 + ROUNDING)
    if found.share is not None:
        # the infimum may be larger than the blanket that the numbers stand for, never smaller
        assert 1 / (1 + math.expm1(eps0) * found.share) <= blanket * (1 + ROUNDING)
    if name != "hashing":
        assert tv == pytest.approx(found.tv, rel=1e-9)
    # the laws are those of three of its records
    laws = [law for law in (found.first, found.second, found.third) if law is not None]
    assert sum(abs(laws[0] - laws[1])) / 2 == pytest.approx(tv, rel=1e-9)
    assert all(law.sum() == pytest.approx(1, rel=1e-12) for law in laws)
    used = laws[1] > 0
    assert max(laws[0][used] / laws[1][used]) == pytest.approx(math.exp(eps0), rel=1e-9)


# By e = exp(eps0): the share of a set of reports, and the total variation of two records.
CLOSED_FORMS = {
    "krr": ({"categories": 3}, lambda e: mp.mpf(1) / 3, lambda e: (e - 1) / (e + 2)),
    "oue": ({}, lambda e: 1 / (e + 1), lambda e: mp.mpf(1) / 2 - 1 / (e + 1)),
    "laplace": ({}, lambda e: 1 / (mp.sqrt(e) + 1), lambda e: 1 - 1 / mp.sqrt(e)),
}


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_the_numbers_of_a_named_randomiser_are_rounded_up(name):
    parameters, share, tv = CLOSED_FORMS[name]
    for eps0 in np.geomspace(1e-3, 20, 50).tolist():
        found = named(name, eps0=eps0, **parameters)
        with mp.workdps(50):
            e = mp.exp(eps0)
            assert share(e) < found.share < share(e) * (1 + 1e-11)
            assert tv(e) < found.tv < tv(e) * (1 + 1e-11)


@pytest.mark.parametrize("name", BUILT)
def test_no_data_set_of_a_named_randomiser_exceeds_its_bound(name):
    eps0, n = 1.2, 3
    registered, parameters, rows = built(name, eps0)
    rows, found = normalised(rows), named(registered, eps0=eps0, **parameters)
    numbers = {key: value for key, value in (("share", found.share), ("tv", found.tv)) if value is not None}
    pairs = {k: four_kinds.kinds_outcomes(n=n, k=k, eps0=eps0, **numbers) for k in (1, 2, 3)}
    # by symmetry the client who differs changes from the first record to the second
    for others in product(range(min(len(rows), 4)), repeat=n - 1):
        used = sorted({0, 1, *others})
        some = merged(rows, used)
        holds = [some[used.index(index)] for index in others]
        for k, pair in pairs.items():
            p, q = (subsampled_law((*holds, own), k) for own in some[:2])
            for ratio in ratios(eps0):
                assert divergence(p, q, ratio) <= at(pair, ratio, infinite=True) * (1 + ROUNDING) + 1e-13


# --- mechanisms on the line and on the sphere, from their densities, reports merged to regions


def laplace_rows(eps0, cells=8):
    """Laplace noise of scale 1/eps0 on records of [0, 1]; regions end where densities cross, and between."""
    ends = [-math.inf, *(cell / cells for cell in range(cells + 1)), math.inf]

    def below(place, record):
        tail = math.exp(-eps0 * abs(place - record)) / 2
        return tail if place < record else 1 - tail

    return [
        tuple(below(high, record) - below(low, record) for low, high in pairwise(ends))
        for record in (0.0, 1.0, 0.5, 0.25)
    ]


def piecewise_rows(eps0):
    """Algorithm 2 of Wang and others (2019): on [-C, C], e times as dense on [l, l + C - 1]."""
    r = math.exp(eps0 / 2)
    largest, dense = (r + 1) / (r - 1), (r * r - r) / (2 * r + 2)
    records = (-1.0, 1.0, 0.0, 0.5)
    starts = [(largest + 1) / 2 * record - (largest - 1) / 2 for record in records]
    ends = sorted({-largest, largest, *starts, *(min(one + largest - 1, largest) for one in starts)})
    return [
        tuple(
            (high - low) * (dense if start <= (low + high) / 2 <= start + largest - 1 else dense / r / r)
            for low, high in pairwise(ends)
        )
        for start in starts
    ]


def arcs(eps0, half):
    """On the circle, e times as dense within an angle of ``half`` of the record; records by their angle."""
    records = (0.0, math.pi, math.pi / 2, math.pi / 3)
    ends = sorted({(one + side * half) % (2 * math.pi) for one in records for side in (1, -1)})
    ends.append(ends[0] + 2 * math.pi)
    rows = []
    for record in records:
        masses = []
        for low, high in pairwise(ends):
            away = abs(((low + high) / 2 - record + math.pi) % (2 * math.pi) - math.pi)
            masses.append((high - low) * (math.exp(eps0) if away < half else 1.0))
        rows.append(tuple(masses))
    return normalised(rows)


def privunit_rows(eps0):
    """In two dimensions: of all caps that whose mean message is longest, which ends where it is as high."""

    def length(half):
        return math.sin(half) / math.pi * math.expm1(eps0) / (1 + math.expm1(eps0) * half / math.pi)

    low, high = 1e-6, math.pi / 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if math.cos(middle) < length(middle) else (middle, high)
    assert length(middle) > max(length(middle - 1e-3), length(middle + 1e-3))
    return arcs(eps0, middle)


DENSITIES = {
    "laplace": (laplace_rows, {}),
    "piecewise": (piecewise_rows, {}),
    "privunit": (privunit_rows, {"dimension": 2}),
    "hemisphere": (lambda eps0: arcs(eps0, math.pi / 2), {}),
}


@pytest.mark.parametrize("eps0", [0.5, 2.0])
@pytest.mark.parametrize("name", DENSITIES)
def test_the_numbers_of_a_density(name, eps0):
    rows, parameters = DENSITIES[name]
    rows = rows(eps0)
    assert [math.fsum(row) for row in rows] == pytest.approx([1] * len(rows), rel=1e-12)
    assert max(a / b for one in rows for two in rows for a, b in zip(one, two, strict=True)) == pytest.approx(
        math.exp(eps0), rel=1e-9
    )
    found = named(name, eps0=eps0, **parameters)
    # no two records are farther apart than the first two; their blanket and theirs alone
    tv = sum(abs(a - b) for a, b in zip(*rows[:2], strict=True)) / 2
    assert tv == pytest.approx(found.tv, rel=1e-7)
    assert tv <= found.tv * (1 + 1e-9)
    blanket = sum(map(min, *rows[:2]))
    assert 1 / (1 + math.expm1(eps0) * found.share) == pytest.approx(blanket, rel=1e-7)
    assert 1 / (1 + math.expm1(eps0) * found.share) <= sum(map(min, *rows)) * (1 + 1e-7)


@pytest.mark.parametrize("name", DENSITIES)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_no_data_set_of_a_density_exceeds_its_bound(name, k):
    eps0, n = 1.2, 3
    rows, parameters = DENSITIES[name]
    rows, found = rows(eps0), named(name, eps0=eps0, **parameters)
    pair = four_kinds.kinds_outcomes(n=n, k=k, eps0=eps0, share=found.share, tv=found.tv)
    closest = 0.0
    for own in ((0, 1), (0, 2), (2, 3)):
        for others in product(range(len(rows)), repeat=n - 1):
            used = sorted({*own, *others})
            some = dict(zip(used, merged(rows, used), strict=True))
            p, q = (subsampled_law((*(some[index] for index in others), some[one]), k) for one in own)
            closest = max(closest, closeness_below(pair, p, q, eps0))
    # a bound that is too large by much would not be seen otherwise
    assert closest > 0.85


@functools.cache
def on_the_axis(eps0, dimension):
    """PrivUnit for a unit vector and its opposite: laws of the inner product of a report with the vector.

    Of a uniform point on the sphere the product u has density proportional to (1 - u^2)^((d - 3)/2). A report
    is e times as likely where u is above the threshold, of all thresholds that with the longest mean message.
    Densities of two opposite vectors depend on u alone, so that nothing is lost. Cells are finer than needed.
    """
    e, power = mp.exp(mp.mpf(eps0)), mp.mpf(dimension - 3) / 2
    whole = 2 * mp.quad(lambda u: (1 - u * u) ** power, [0, 1])

    def cap(threshold):
        return mp.quad(lambda u: (1 - u * u) ** power, [threshold, (1 + threshold) / 2, 1]) / whole

    def length(threshold):
        moment = (1 - threshold**2) ** (power + 1) / (2 * (power + 1)) / whole
        return (e - 1) * moment / (1 + (e - 1) * cap(threshold))

    low, high = mp.mpf(0), mp.mpf(1)
    for _ in range(60):
        middle = (low + high) / 2
        # the mean is longest where it is as far as the threshold
        low, high = (middle, high) if middle < length(middle) else (low, middle)
    assert length(middle) > max(length(middle - mp.mpf("1e-3")), length(middle + mp.mpf("1e-3")))
    ends = [mp.mpf(-1), -middle, -middle / 3, middle / 3, middle, (1 + middle) / 2, mp.mpf(1)]
    beyond = [cap(end) if end >= 0 else 1 - cap(-end) for end in ends]
    measure = [one - other for one, other in pairwise(beyond)]
    rows = []
    for side in (1, -1):
        high_end = [side * (one + other) / 2 > middle for one, other in pairwise(ends)]
        row = [mass * (e if inside else 1) for mass, inside in zip(measure, high_end, strict=True)]
        rows.append(tuple(float(mass / mp.fsum(row)) for mass in row))
    return rows


@pytest.mark.parametrize("eps0", [0.5, 2.0])
@pytest.mark.parametrize("dimension", [3, 10])
def test_the_numbers_of_privunit_are_those_of_its_density(dimension, eps0):
    rows = on_the_axis(eps0, dimension)
    found = named("privunit", eps0=eps0, dimension=dimension)
    tv = sum(abs(a - b) for a, b in zip(*rows, strict=True)) / 2
    assert tv == pytest.approx(found.tv, rel=1e-8)
    assert 1 / (1 + math.expm1(eps0) * found.share) == pytest.approx(sum(map(min, *rows)), rel=1e-8)
    # merged to the two caps and what lies between
    classes = [found.first[place] / found.second[place] for place in range(found.first.size)]
    for ratio in (math.exp(eps0), 1.0, math.exp(-eps0)):
        exact = sum(a for a, b in zip(*rows, strict=True) if a / b == pytest.approx(ratio, rel=1e-9))
        own = sum(
            mass
            for mass, at in zip(found.first, classes, strict=True)
            if at == pytest.approx(ratio, rel=1e-9)
        )
        assert own == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("dimension", [3, 10])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_no_two_opposite_vectors_exceed_the_bound_of_privunit(dimension, k):
    eps0, n, delta = 1.2, 4, 0.02
    found = named("privunit", eps0=eps0, dimension=dimension)
    pair = four_kinds.kinds_outcomes(n=n, k=k, eps0=eps0, share=found.share, tv=found.tv)
    setting = {"n": n, "k": k, "eps0": eps0, "rounds": 1, "delta": delta}
    between = bracket(**setting, randomizer="privunit", dimension=dimension)
    one, two = merged(on_the_axis(eps0, dimension), (0, 1))
    closest, same = 0.0, 0.0
    for held in range(n):
        others = (*(one,) * held, *(two,) * (n - 1 - held))
        p, q = (subsampled_law((*others, own), k) for own in (one, two))
        exact_eps = float(eps_between(p, q, delta))
        assert exact_eps <= between.upper
        same = max(same, exact_eps) if held == n - 1 else same
        closest = max(closest, closeness_below(pair, p, q, eps0))
    assert closest > 0.85
    # all others on one of the two is among the data sets of the lower end
    assert between.lower > 0.8 * same


@pytest.mark.parametrize("name", DENSITIES)
@pytest.mark.parametrize("k", [2, 4])
def test_the_lower_end_of_a_density_is_that_of_some_data_set(name, k):
    eps0, n, delta = 1.2, 4, 0.02
    rows, parameters = DENSITIES[name]
    # densities of the others have two levels, and lose nothing
    rows = rows(eps0, cells=32) if name == "laplace" else rows(eps0)
    most = 0.0
    for other in (0, 2):
        some = merged(rows, (0, 1, other)) if other else [*merged(rows, (0, 1)), None]
        others = (some[2] if other else some[0],) * (n - 1)
        p, q = (subsampled_law((*others, own), k) for own in some[:2])
        most = max(most, float(eps_between(p, q, delta)))
    found = bracket(n=n, k=k, eps0=eps0, rounds=1, delta=delta, randomizer=name, **parameters)
    # reports are seen by one number there
    assert 0.8 * most < found.lower <= most * (1 + 1e-12)
    assert found.upper >= most


@pytest.mark.parametrize("name", ["krr", "subset-selection", "oue", "laplace", "privunit"])
@pytest.mark.parametrize(("n", "k"), [(4, 4), (5, 2)])
def test_a_score_says_no_more_than_the_reports(name, n, k):
    parameters = {
        "krr": {"categories": 4},
        "subset-selection": {"categories": 5, "subset": 2},
        "privunit": {"dimension": 5},
    }.get(name, {})
    eps0 = 1.5
    found = named(name, eps0=eps0, **parameters)
    for others in (found.first, found.third):
        if name == "laplace":
            # thirty classes are too many to go through: those of the ends, and the rest
            laws = [np.array([x[0], x[1:-1].sum(), x[-1]]) for x in (found.first, found.second, others)]
        else:
            used = found.first + others > 0
            laws = [law[used] for law in (found.first, found.second, others)]
        first, second = (attacks.in_place(law, laws[2], k / n) for law in laws[:2])
        pairs = attacks.score_outcomes(first, second, [(laws[2], k - 1)])
        one, two, rest = (tuple(law.tolist()) for law in laws)
        p, q = (subsampled_law((*[rest] * (n - 1), own), k) for own in (one, two))
        for pair, (a, b) in zip(pairs, ((p, q), (q, p)), strict=True):
            assert pair.mass.sum() == pytest.approx(1, rel=1e-12)
            for ratio in ratios(eps0):
                exact, score = divergence(a, b, ratio), at(pair, ratio, infinite=False)
                assert score <= exact * (1 + ROUNDING) + 1e-13
        # two symbols, or three of which one is neutral: the sum says most of it
        assert at(pairs[0], 1.0, infinite=False) > 0.8 * divergence(p, q, 1.0)


def test_scores_of_others_with_two_records():
    eps0 = 1.0
    found = named("krr", eps0=eps0, categories=2)
    pairs = attacks.score_outcomes(found.first, found.second, [(found.first, 2), (found.second, 1)])
    one, two = tuple(found.first.tolist()), tuple(found.second.tolist())
    p, q = (shuffle_law((one, one, two, own)) for own in (one, two))
    for ratio in ratios(eps0):
        assert at(pairs[0], ratio, infinite=False) == pytest.approx(
            divergence(p, q, ratio), rel=1e-10, abs=1e-14
        )
        assert at(pairs[1], ratio, infinite=False) == pytest.approx(
            divergence(q, p, ratio), rel=1e-10, abs=1e-14
        )


@pytest.mark.parametrize(("n", "k"), [(2, 1), (5, 3), (6, 5)])
def test_samples_of_clients_with_two_records(n, k):
    found = named("krr", eps0=1.5, categories=2)
    one, two = tuple(found.first.tolist()), tuple(found.second.tolist())
    for held in range(n):
        pairs = attacks.sampled_counts(found.first, found.second, n=n, k=k, held=held)
        others = [*[one] * held, *[two] * (n - 1 - held)]
        p, q = (subsampled_law((*others, own), k) for own in (one, two))
        for pair, (a, b) in zip(pairs, ((p, q), (q, p)), strict=True):
            for ratio in ratios(1.5):
                exact, counts = divergence(a, b, ratio), at(pair, ratio, infinite=False)
                assert counts == pytest.approx(exact, rel=1e-10, abs=1e-13)
                # masses and losses are rounded down, by more than sums of doubles err
                assert counts <= exact + 1e-16


@pytest.mark.parametrize(("n", "k"), [(5, 3), (6, 5), (5, 5)])
@pytest.mark.parametrize("delta", [1e-6, 0.01, 0.1])
def test_all_data_sets_of_two_records_are_tried(n, k, delta):
    eps0 = 2.0
    e = math.exp(eps0)
    one, two = (e / (1 + e), 1 / (1 + e)), (1 / (1 + e), e / (1 + e))
    truths = []
    for held in range(n):
        others = [*[one] * held, *[two] * (n - 1 - held)]
        truths.append(eps_between(*(subsampled_law((*others, own), k) for own in (one, two)), delta))
    found = bracket(n=n, k=k, eps0=eps0, rounds=1, delta=delta, randomizer="krr", categories=2)
    assert found.lower <= max(truths)
    assert found.lower == pytest.approx(float(max(truths)), rel=1e-9)
    if delta == 0.01 and k < n:  # where data sets that are not all one record leak more
        assert max(truths) > max(truths[0], truths[-1]) * 1.01


def test_a_law_that_is_known_with_an_error_is_rounded_down(monkeypatch):
    """The part of a cap that two caps share is made too small, as much as its error says: what would leak
    more than the truth leaks less."""
    setting = {"n": 1000, "eps0": 2.0, "rounds": 1, "delta": 1e-6}
    dimension, wrong = 30, 1e-5
    part, error = caps.overlap(dimension, privunit(dimension=dimension, eps0=2.0).threshold)
    exact = bracket(**setting, randomizer="privunit", dimension=dimension)
    assert exact.names[0] == "all others on a third record"
    assert error < 1e-10
    monkeypatch.setattr(caps, "overlap", lambda *_: (part * (1 - wrong), wrong))
    rounded = bracket(**setting, randomizer="privunit", dimension=dimension)
    assert rounded.lower < exact.lower
    monkeypatch.setattr(caps, "overlap", lambda *_: (part * (1 - wrong), 0.0))
    assert bracket(**setting, randomizer="privunit", dimension=dimension).lower > exact.lower


@pytest.mark.parametrize("dimension", [2, 3, 4, 50, 13706])
@pytest.mark.parametrize("eps0", [1e-3, 1.0, 3.0])
@pytest.mark.few(7)
def test_the_part_that_two_caps_share(dimension, eps0):
    threshold = privunit(dimension=dimension, eps0=eps0).threshold
    found, error = caps.overlap(dimension, threshold)
    with mp.workdps(40):
        t, power = mp.mpf(threshold), mp.mpf(dimension - 2) / 2
        if 2 * t * t >= 1:
            assert found == 0
            return
        # of the angle in the plane of the two vectors; the cap from an integral of its own
        inside = mp.quad(lambda x: (1 - x * x) ** (power - mp.mpf(1) / 2), mp.linspace(t, min(1, 30 * t), 40))
        inside += mp.quad(lambda x: (1 - x * x) ** (power - mp.mpf(1) / 2), [min(1, 30 * t), 1])
        cap = inside * mp.gamma(power + 1) / mp.gamma(power + mp.mpf(1) / 2) / mp.sqrt(mp.pi)
        points = [mp.asin(t), *(mp.asin(t) * 1.5**step for step in range(1, 60))]
        points = [*(one for one in points if one < mp.pi / 4), mp.pi / 4]
        both = mp.quad(lambda x: max(1 - (t / mp.sin(x)) ** 2, mp.mpf(0)) ** power, points) / mp.pi
        truth = both / cap
    assert abs(found / truth - 1) <= error
    assert error < 1e-10


def test_the_share_of_exact_fractions():
    """f of subset selection as an exact fraction: the least blanket over all records."""
    e = Fraction(5)
    rows = [[Fraction(value) for value in row] for row in subset_rows(e, 5, 2)]
    rows = [[value / sum(row) for value in row] for row in rows]
    blanket = sum(map(min, *rows))
    # with every record, no set is off all of them: the infimum is the uniform measure
    assert blanket == Fraction(5, 5 + 4 * 2)
    assert (1 / blanket - 1) / (e - 1) == Fraction(2, 5)
    assert named("subset-selection", eps0=math.log(5), categories=5, subset=2).share == pytest.approx(0.4)


def test_some_others_on_the_second_of_two_records_in_a_large_sample():
    """Few others on the second record are worse than none, in samples too; the law of the number of ones."""
    n, k, eps0, delta = 620, 600, 6.0, 1e-8

    def ones(held, own):
        """Of k of n clients, of whom ``held`` besides the own hold the first record."""
        p = 1 / (1 + math.exp(eps0))
        found = np.zeros(k + 1)
        for drawn, share in ((k, 1 - k / n), (k - 1, k / n)):
            for seconds in range(min(n - 1 - held, drawn) + 1):
                weight = share * stats.hypergeom.pmf(seconds, n - 1, n - 1 - held, drawn)
                law = stats.binom.pmf(np.arange(drawn - seconds + 1), drawn - seconds, p)
                law = np.convolve(law, stats.binom.pmf(np.arange(seconds + 1), seconds, 1 - p))
                law = np.convolve(law, [p, 1 - p] if own else [1 - p, p]) if drawn < k else law
                found += weight * law
        return {count: mass for count, mass in enumerate(found.tolist()) if mass > 1e-200}

    def epsilon(held):
        p, q = ones(held, 0), ones(held, 1)
        both = p.keys() & q.keys()
        return float(eps_between(*({one: law[one] for one in both} for law in (p, q)), delta))

    found = bracket(n=n, k=k, eps0=eps0, rounds=1, delta=delta, randomizer="krr", categories=2)
    assert found.names[0] == "615 others on the first record, 4 on the second"
    assert found.lower == pytest.approx(epsilon(615), rel=1e-6)
    assert found.lower > 1.04 * epsilon(619)
