"""The theorems of docs/theory/every_randomiser.md against what they bound, enumerated in exact fractions."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from . import blanket, checkin_laws, exact
from .exact import mp, number

BASES = (Fraction(11, 10), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(7, 2), Fraction(4), Fraction(8))
FEWER = BASES[:1] + BASES[2:-1]


def drawn(rng, e, inputs):
    """A vertex of the polytope of eps0-LDP randomisers, a mixture of two, or a smooth randomiser."""
    kind = rng.integers(4)
    if kind == 0:
        return blanket.vertex(rng, e, inputs)
    if kind == 1:
        return blanket.smooth(rng, e, inputs, int(rng.integers(2, 5)))
    weight = Fraction(int(rng.integers(1, 10)), 10)
    one, other = blanket.vertex(rng, e, inputs), blanket.vertex(rng, e, inputs)
    return blanket.mixture(weight, one, other, apart=kind == 2)


def arguments(rng, e, p, q):
    """Arguments of the divergence: from below 1/e to e, and where it has kinks."""
    ratios = blanket.kinks(p, q)
    found = {1 / (2 * e), 1 / e, Fraction(1), (1 + e) / 2, e, ratios[0], ratios[-1]}
    found |= {ratios[place] for place in rng.integers(len(ratios), size=2)}
    return found | {1 / e + (e - 1 / e) * Fraction(int(part), 1000) for part in rng.integers(1001, size=2)}


def laws_of_round(randomiser, others, k, one=0, other=1):
    """Laws of a round of k out of the clients, for the two records of the client who differs."""
    rest = tuple(randomiser[value] for value in others)
    return tuple(exact.subsampled_law((randomiser[x], *rest), k) for x in (one, other))


def tables(randomiser, e, p, q):
    """The bounds that apply to a pair of reports of a randomiser, by what they know."""
    below = blanket.infimum(randomiser)
    b, tv = sum(below), blanket.distance(p, q)
    found = {
        "blanket": blanket.table_of(p, q, below),
        "both": blanket.from_both(e, b, tv),
        "distance": blanket.from_distance(e, tv),
        "generic": blanket.generic(e),
        "pairwise": blanket.table_of(p, q, blanket.pairwise(p, q, e)),
        "both, not sharp": blanket.from_both(e, b * Fraction(9, 10), tv * Fraction(11, 10)),
    }
    if b >= 2 / (e + 1):
        found["share"] = blanket.from_share(e, (1 / b - 1) / (e - 1))
    return found


# Of two tables that apply the one that knows more gives the smaller value.
SHARPER = (
    ("blanket", "both"),
    ("both", "both, not sharp"),
    ("both, not sharp", "generic"),
    ("both", "distance"),
    ("both", "share"),
    ("share", "generic"),
    ("pairwise", "distance"),
    ("distance", "generic"),
)


def sweep(seed, settings):
    rng = np.random.default_rng(seed)
    for _ in range(settings):
        e, inputs, n = BASES[rng.integers(len(BASES))], int(rng.integers(2, 6)), int(rng.integers(2, 6))
        randomiser = drawn(rng, e, inputs)
        n = min(n, 3) if len(randomiser[0]) > 6 else n
        assert blanket.largest_ratio(randomiser) <= e
        alike = rng.integers(3) == 0
        others = [int(rng.integers(inputs))] * (n - 1) if alike else rng.integers(inputs, size=n - 1).tolist()
        found = tables(randomiser, e, randomiser[0], randomiser[1])
        for k in range(1, n + 1):
            p, q = laws_of_round(randomiser, others, k)
            assert sum(p.values()) == sum(q.values()) == 1
            for a in arguments(rng, e, p, q):
                truth = blanket.hockey_stick(p, q, a)
                values = {name: blanket.bound(a, table, k, Fraction(k, n)) for name, table in found.items()}
                assert all(value >= truth for value in values.values())
                for sharp, blunt in SHARPER:
                    if sharp in values and blunt in values:
                        assert values[sharp] <= values[blunt], (sharp, blunt)
        for cached in (exact.shuffle_law, exact.subsampled_law, blanket.sums):
            cached.cache_clear()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.few(2)
def test_bounds_hold_for_every_randomiser_and_every_k_of_n(seed):
    sweep(seed, 15)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [100, 101])
def test_bounds_hold_for_many_randomisers(seed):
    sweep(seed, 300)


def revealed(seed, settings):
    rng = np.random.default_rng(seed)
    for _ in range(settings):
        e, inputs, n = FEWER[rng.integers(len(FEWER))], int(rng.integers(2, 4)), int(rng.integers(1, 5))
        randomiser = drawn(rng, e, inputs)
        if len(randomiser[0]) > 3 and n > 3:
            continue
        p, q, *_ = randomiser
        mass = blanket.infimum(randomiser) if rng.integers(2) else blanket.pairwise(p, q, e)
        others = [randomiser[value] for value in rng.integers(inputs, size=n - 1)]
        for k in range(1, n + 1):
            one, other = (blanket.revealed_round(report, others, k, mass) for report in (p, q))
            assert sum(one.values()) == sum(other.values()) == 1
            for a in (1 / (2 * e), 1 / e, Fraction(9, 10), Fraction(1), (1 + e) / 2, e):
                value = blanket.bound(a, blanket.table_of(p, q, mass), k, Fraction(k, n))
                assert value == blanket.hockey_stick(one, other, a)


def test_the_sum_is_the_divergence_of_the_revealed_round():
    revealed(5, 25)


def test_the_sum_has_the_mean_of_any_randomiser():
    """Every table has means 1, so that the bounds below 1/e are those of any two laws."""
    for e in BASES:
        for table in (
            blanket.generic(e),
            blanket.from_share(e, Fraction(1, 5)),
            blanket.from_distance(e, Fraction(e - 1) / (3 * (e + 1))),
            blanket.from_both(e, (e + 3) / (2 * (e + 1)), Fraction(e - 1) / (3 * (e + 1))),
        ):
            assert sum(mass * h0 for mass, h0, _ in table) == sum(mass * h1 for mass, _, h1 in table) == 1
            assert sum(mass for mass, _, _ in table) <= 1
            assert min(mass for mass, _, _ in table) >= 0
            assert blanket.bound(1 / (2 * e), table, 3, Fraction(1, 2)) == 1 - 1 / (2 * e)
            assert blanket.bound(e, table, 3, Fraction(1, 2)) == 0


# --- Equality


@pytest.mark.parametrize("e", BASES)
def test_one_report_of_two_symbols_attains_the_generic_bound(e):
    """So a bound that is 1% too large, or too small, fails. With all others at the client's first record that
    is so below 1, at the second above 1, and everywhere where there are no others."""
    randomiser = blanket.krr(e, 2)
    for n in (1, 2, 4):
        gamma = Fraction(1, n)
        for part in range(1, 20):
            a = 1 / e + (e - 1 / e) * Fraction(part, 20)
            p, q = laws_of_round(randomiser, (0 if a <= 1 else 1,) * (n - 1), 1)
            value = blanket.bound(a, blanket.generic(e), 1, gamma)
            assert value == blanket.hockey_stick(p, q, a)
            if 1 - gamma + gamma / e < a < 1 - gamma + gamma * e:
                assert value > max(1 - a, 0)


@pytest.mark.parametrize("categories", [2, 3, 4])
@pytest.mark.parametrize("e", BASES)
def test_response_of_all_others_at_the_first_record_attains_the_share_near_the_end(e, categories):
    """Near e only rounds in which all reports are of one category count, whoever sent them."""
    randomiser = blanket.krr(e, categories)
    for n in (2, 3, 5):
        p, q = laws_of_round(randomiser, (0,) * (n - 1), n)
        a = e * (1 - Fraction(1, 100) / e**2)
        truth = blanket.hockey_stick(p, q, a)
        assert truth == (1 - a / e) * (e / (e + categories - 1)) ** n > 0
        assert blanket.bound(a, blanket.from_share(e, Fraction(1, categories)), n) == truth
        if categories > 2:
            assert blanket.bound(a, blanket.from_share(e, Fraction(101, 100) / categories), n) > truth


def test_revealed_response_of_two_symbols_attains_the_generic_bound():
    """Nothing smaller comes without hiding the residual reports."""
    e = Fraction(3)
    p, q = blanket.krr(e, 2)
    mass = blanket.infimum((p, q))
    for n, k in ((3, 3), (4, 2), (4, 3)):
        one, other = (blanket.revealed_round(report, [p] * (n - 1), k, mass) for report in (p, q))
        for a in (Fraction(1, 2), Fraction(1), Fraction(3, 2)):
            value = blanket.bound(a, blanket.generic(e), k, Fraction(k, n))
            assert value == blanket.hockey_stick(one, other, a)


@pytest.mark.parametrize(("categories", "low", "high"), [(4, 0.81, 0.82), (5, 0.84, 0.85)])
def test_subsets_of_two_stay_below_the_bound_by_their_share(categories, low, high):
    """Their high sets overlap, which the share does not know; their distance makes up for that here."""
    e = Fraction(3, 2)
    randomiser = blanket.subset_selection(e, categories, 2)
    b, tv = sum(blanket.infimum(randomiser)), blanket.distance(*randomiser[:2])
    assert b == Fraction(categories) / (categories + 2 * (e - 1))
    assert tv == (e - 1) * b * 2 * (categories - 2) / (categories * (categories - 1))
    worst = 0
    for record in range(3):
        p, q = laws_of_round(randomiser, (record,), 2)
        for a in {Fraction(1), *(a for a in blanket.kinks(p, q) if 1 < a < e)}:
            truth = blanket.hockey_stick(p, q, a)
            worst = max(worst, truth / blanket.bound(a, blanket.from_share(e, Fraction(2, categories)), 2))
            assert truth <= blanket.bound(a, blanket.from_both(e, b, tv), 2)
    assert low < worst < high
    p, q = laws_of_round(randomiser, (1,), 2)
    assert blanket.hockey_stick(p, q, 1) == blanket.bound(1, blanket.from_both(e, b, tv), 2)


# --- What must not be done


def test_none_is_not_merged_with_what_is_not_seen():
    e, a = Fraction(4), Fraction(3276, 1000)
    p, q = (tuple(Fraction(part, 32) for part in parts) for parts in ((7, 5, 20), (7, 20, 5)))
    table = blanket.from_both(e, sum(blanket.infimum((p, q))), blanket.distance(p, q))
    truth = blanket.hockey_stick(*laws_of_round((p, q), (0,), 2), a)
    assert truth == blanket.bound(a, table, 2) == Fraction(181, 2560)
    merged = 0
    t, none = table[0][0], table[2][0]
    for first in range(3):
        for second in range(3 - first):
            rest = 2 - first - second
            mass = comb(2, first) * comb(2 - first, second) * t ** (first + second) * (1 - 2 * t) ** rest
            mean = rest * none / (1 - 2 * t)
            merged += mass * max(e * first + second + mean - a * (first + e * second + mean), 0) / 2
    assert merged == truth / 4


def test_a_lower_bound_on_a_small_blanket_bounds_no_distance():
    """Below 2/(e + 1) a blanket bounds the distance by b e - 1, but only its mass itself does, or more."""
    e = Fraction(3)
    randomiser = blanket.krr(e, 2)
    assert sum(blanket.infimum(randomiser)) == Fraction(1, 2)
    too_low = Fraction(2, 5)
    truth = blanket.hockey_stick(*laws_of_round(randomiser, (0,), 2), 2)
    assert blanket.bound(2, blanket.from_both(e, too_low, too_low * e - 1), 2) < truth
    assert blanket.bound(2, blanket.from_both(e, too_low, 1), 2) == blanket.bound(2, blanket.generic(e), 2)


# --- The number of "none"


def conditional(table, k, gamma, a):
    """Divergence given how many of the k trials are of the third kind, by that number."""
    t, none = table[0][0], table[2][0]
    others = tuple((mass / (1 - none), h0, h1) for mass, h0, h1 in table[:2])
    assert t == table[1][0]
    found = []
    for count in range(k + 1):
        total = 0
        for (one, other), mass in blanket.sums(others, k - count).items():
            shifted = (one + count - a * (other + count)) * gamma / k
            total += mass * max((1 - gamma) * (1 - a) + shifted, 0)
        found.append((comb(k, count) * none**count * (1 - none) ** (k - count), total))
    return found


@pytest.mark.parametrize("f", [Fraction(1, 3), Fraction(1, 10), Fraction(2, 5)])
def test_none_has_one_law_and_hides_the_more_there_is(f):
    e = Fraction(7, 2)
    for k, gamma in ((4, Fraction(1)), (4, Fraction(1, 3)), (3, Fraction(3, 4))):
        table = blanket.from_share(e, f)
        t, none = table[0][0], table[2][0]
        weights = (t, t, none, 1 - 2 * t - none)
        laws = [[0] * (k + 1) for _ in range(3)]
        for first in range(k + 1):
            for second in range(k + 1 - first):
                for third in range(k + 1 - first - second):
                    rest = k - first - second - third
                    ways = comb(k, first) * comb(k - first, second) * comb(k - first - second, third)
                    mass = Fraction(ways)
                    for weight, times in zip(weights, (first, second, third, rest), strict=True):
                        mass *= weight**times
                    taking_part = (k, e * first + second + third, first + e * second + third)
                    for law, total in zip(laws, taking_part, strict=True):
                        law[third] += mass * (1 - gamma + gamma * total / k)
        assert laws[0] == laws[1] == laws[2]
        for a in (Fraction(1, 2), Fraction(1), Fraction(9, 8), Fraction(3, 2)):
            parts = conditional(table, k, gamma, a)
            assert sum(weight * value for weight, value in parts) == blanket.bound(a, table, k, gamma)
            values = [value for _, value in parts]
            assert values == sorted(values, reverse=True)


# --- Adaptive reports, windows, check-in


def adaptive(rng, e, inputs, symbols):
    """A randomiser of its own, with its inputs permuted, for each place and each past."""
    known = {}

    def choose(before):
        if before not in known:
            while True:
                found = blanket.vertex(rng, e, inputs)
                if rng.integers(3) == 0:
                    found = blanket.smooth(rng, e, inputs, symbols)
                if len(found[0]) <= symbols:
                    break
            wide = [(*row, *(Fraction(0),) * (symbols - len(row))) for row in found]
            known[before] = tuple(wide[x] for x in rng.permutation(inputs))
        return known[before]

    return choose


def adaptive_sweep(seed, settings):
    rng = np.random.default_rng(seed)
    for _ in range(settings):
        e, inputs = FEWER[rng.integers(len(FEWER))], int(rng.integers(2, 4))
        n, symbols = ((2, 3), (3, 2), (3, 3), (4, 2))[rng.integers(4)]
        choose = adaptive(rng, e, inputs, symbols)
        others = rng.integers(inputs, size=n - 1).tolist()
        for k in range(1, n + 1):
            p, q = (blanket.ordered_round([x, *others], k, choose) for x in (0, 1))
            for a in arguments(rng, e, p, q):
                assert blanket.hockey_stick(p, q, a) <= blanket.bound(
                    a, blanket.generic(e), k, Fraction(k, n)
                )


def test_generic_bounds_hold_for_adaptive_reports():
    adaptive_sweep(6, 20)


@pytest.mark.slow
def test_generic_bounds_hold_for_many_adaptive_reports():
    adaptive_sweep(106, 200)


def window(rng, e):
    """A random window: its inputs, clients, law as a function of the data, reports, chance of taking part."""
    inputs, symbols = int(rng.integers(2, 4)), int(rng.integers(2, 4))
    choose = adaptive(rng, e, inputs, symbols)
    n, slots, kind = int(rng.integers(1, 4)), int(rng.integers(1, 4)), rng.integers(3)
    if kind == 0:
        chance = Fraction(int(rng.integers(1, 5)), 4)
        return inputs, n, lambda data: checkin_laws.fixed_window(data, slots, chance, choose), slots, chance
    if kind == 1 and slots <= n:
        return inputs, n, lambda data: checkin_laws.sliding_window(data, slots, choose), slots, 1
    return inputs, n, lambda data: checkin_laws.averaging(data, slots, choose), n, 1


def window_sweep(seed, settings):
    rng = np.random.default_rng(seed)
    for _ in range(settings):
        e = FEWER[rng.integers(len(FEWER))]
        inputs, n, law, reports, chance = window(rng, e)
        data, place = rng.integers(inputs, size=n).tolist(), int(rng.integers(n))
        p, q = (law((*data[:place], x, *data[place + 1 :])) for x in (0, 1))
        for a in arguments(rng, e, p, q):
            assert blanket.hockey_stick(p, q, a) <= blanket.bound(a, blanket.generic(e), reports, chance)


def test_generic_bounds_hold_in_windows():
    window_sweep(7, 35)


@pytest.mark.slow
def test_generic_bounds_hold_in_many_windows():
    window_sweep(107, 300)


def test_check_in_is_bounded_by_the_mixture_over_its_number():
    rng = np.random.default_rng(8)
    for _ in range(10):
        e, rate, n = FEWER[rng.integers(len(FEWER))], Fraction(int(rng.integers(1, 5)), 5), 4
        randomiser = drawn(rng, e, 3)
        if len(randomiser[0]) > 4:
            continue
        others = rng.integers(3, size=n - 1).tolist()
        p, q = (checkin_laws.shuffled_check_in([x, *others], rate, randomiser) for x in (0, 1))
        for a in arguments(rng, e, p, q):
            value = (1 - rate) ** n * max(1 - a, 0)
            for k in range(1, n + 1):
                weight = comb(n, k) * rate**k * (1 - rate) ** (n - k)
                value += weight * blanket.bound(a, blanket.generic(e), k, Fraction(k, n))
            assert blanket.hockey_stick(p, q, a) <= value


def test_check_in_is_a_shuffle_in_which_those_who_stay_away_send_none():
    """Trials of all n clients, each of the kind (1, 1) with the probability of not checking in."""
    rate, n = Fraction(2, 5), 4
    for e in BASES:
        table = blanket.from_share(e, Fraction(1, 3))
        joined = (*((rate * mass, h0, h1) for mass, h0, h1 in table), (1 - rate, 1, 1))
        for a in (Fraction(9, 10), Fraction(1), (1 + e) / 2):
            value = (1 - rate) ** n * max(1 - a, 0)
            for k in range(1, n + 1):
                weight = comb(n, k) * rate**k * (1 - rate) ** (n - k)
                value += weight * blanket.bound(a, table, k, Fraction(k, n))
            assert value == blanket.bound(a, joined, n)


# --- (eps0, delta0)


def leaky(rng, e, inputs):
    """A randomiser that is eps0-LDP but for some delta0."""
    strict = drawn(rng, e, inputs)
    weight = Fraction(1, int(rng.integers(2, 200)))
    counts = rng.integers(4, size=(inputs, len(strict[0])))
    counts[:, 0] += counts.sum(axis=1) == 0
    rest = [[Fraction(count, sum(row)) for count in row] for row in counts.tolist()]
    return blanket.mixture(1 - weight, strict, rest, apart=False)


def failure_sweep(seed, settings):
    rng = np.random.default_rng(seed)
    for _ in range(settings):
        e, inputs, n = FEWER[rng.integers(len(FEWER))], int(rng.integers(2, 5)), int(rng.integers(1, 5))
        randomiser = leaky(rng, e, inputs)
        delta0 = blanket.failure(randomiser, e)
        others = rng.integers(inputs, size=n - 1).tolist()
        p, q, rest = blanket.repaired(*randomiser[:2], [randomiser[x] for x in others], e)
        assert all(sum(law) == 1 and min(law) >= 0 for law in (p, q, *rest))
        assert all(x <= e * y and y <= e * x for x, y in zip(p, q, strict=True))
        assert max(blanket.distance(p, randomiser[0]), blanket.distance(q, randomiser[1])) <= delta0 / (e + 1)
        for value, law in zip(others, rest, strict=True):
            assert all(x >= y for x, y in zip(law, blanket.pairwise(p, q, e), strict=True))
            assert blanket.distance(law, randomiser[value]) <= 2 * delta0 / e
        if len(randomiser[0]) > 4 and n > 3:
            continue
        for k in range(1, n + 1):
            gamma = Fraction(k, n)
            one, other = laws_of_round(randomiser, others, k)
            cost = gamma * delta0 / (e + 1) + (k - gamma) * 2 * delta0 / e
            assert cost <= 2 * k * delta0 / e
            for a in arguments(rng, e, one, other) | {2 * e}:
                value = blanket.bound(a, blanket.generic(e), k, gamma) + (1 + a) * cost
                assert blanket.hockey_stick(one, other, a) <= value


def test_a_small_failure_costs_its_distance_to_an_eps0_ldp_round():
    failure_sweep(9, 50)


@pytest.mark.slow
def test_small_failures_cost_their_distance():
    failure_sweep(109, 1000)


def test_the_cost_of_a_failure_is_attained():
    """Where one report tells its input with probability delta0, beyond e nothing else is left."""
    e, delta0 = Fraction(3), Fraction(1, 50)
    p = tuple((1 - delta0) * x for x in (e / (e + 1), 1 / (e + 1)))
    randomiser = ((*p, delta0, Fraction(0)), (*p[::-1], Fraction(0), delta0))
    assert blanket.failure(randomiser, e) == delta0
    one, other = laws_of_round(randomiser, (), 1)
    assert blanket.hockey_stick(one, other, e) == delta0 == (1 + e) * delta0 / (e + 1)


# --- Lemma 7 of koskela2022, and the variation-ratio reduction


def lemma7(a, e, k, gamma):
    if a >= 1:
        return gamma * blanket.bound(1 + (a - 1) / gamma, blanket.generic(e), k)
    weight = 1 - a * (1 - gamma)
    return weight * blanket.bound(a * gamma / weight, blanket.generic(e), k)


@pytest.mark.parametrize("e", BASES)
def test_the_joint_pair_is_never_above_that_of_lemma7(e):
    smaller = 0
    for k, n in ((1, 2), (1, 6), (2, 3), (3, 9), (5, 6), (8, 40)):
        for part in range(1, 16):
            a, gamma = 1 / e + (e - 1 / e) * Fraction(part, 16), Fraction(k, n)
            joint, printed = blanket.bound(a, blanket.generic(e), k, gamma), lemma7(a, e, k, gamma)
            assert joint <= printed
            smaller += joint < printed
    assert smaller > 0


def response_delta(n, categories, eps0, eps):
    """Divergence at e^eps of n shuffled k-ary responses, all others at the client's first category."""
    e, a = mp.exp(number(eps0)), mp.exp(number(eps))
    size = e + categories - 1
    total = mp.mpf(0)
    for first in range(n + 1):
        for second in range(n + 1 - first):
            rest = n - first - second
            ways = comb(n, first) * comb(n - first, second) * (categories - 2) ** rest
            total += ways * e**first / size**n * max(1 - a * (first / e + e * second + rest) / n, 0)
    return total


def share_delta(n, f, eps0, eps):
    """The bound by the share, by the numbers of the three kinds, at 50 digits."""
    e, a = mp.exp(number(eps0)), mp.exp(number(eps))
    b = 1 / (1 + (e - 1) * number(f))
    t, none = b * number(f), b * (1 - 2 * number(f))
    total = mp.mpf(0)
    for first in range(n + 1):
        for second in range(n + 1 - first):
            for third in range(n + 1 - first - second):
                value = (e - a) * first + (1 - e * a) * second + (1 - a) * third
                if value > 0:
                    rest = n - first - second - third
                    ways = comb(n, first) * comb(n - first, second) * comb(n - first - second, third)
                    total += ways * t ** (first + second) * none**third * (1 - b) ** rest * value / n
    return total


def two_counts_delta(n, categories, eps0, eps):
    """What the numbers of the first two kinds say where all other reports are merged: not a bound."""
    e, a = mp.exp(number(eps0)), mp.exp(number(eps))
    t = 1 / (e + categories - 1)
    rest, total = 1 - (e + 1) * t, mp.mpf(0)

    def others(first, second):
        left = n - 1 - first - second
        if min(first, second, left) < 0:
            return 0
        return comb(n - 1, first) * comb(n - 1 - first, second) * t ** (first + second) * (1 - 2 * t) ** left

    for first in range(n + 1):
        for second in range(n + 1 - first):
            one, two, none = others(first - 1, second), others(first, second - 1), others(first, second)
            gain = (e - a) * t * one + (1 - e * a) * t * two + (1 - a) * rest * none
            total += max(gain, 0)
    return total


def test_four_categories_near_eps0():
    """The case of the documentation: exact, by the share of 1/4, and by the generic bound."""
    eps = Fraction(27, 10)
    truth, ours = response_delta(50, 4, 3, eps), share_delta(50, Fraction(1, 4), 3, eps)
    generic = share_delta(50, Fraction(1, 2), 3, eps)
    assert mp.nstr(truth, 5) == "0.00024591"
    assert mp.nstr(ours, 5) == "0.00054155"
    assert mp.nstr(generic, 5) == "0.022832"
    assert mp.nstr(two_counts_delta(50, 4, 3, eps), 5) == "1.8281e-7"
    # Where no other client's report counts but one of the first category, the two are equal.
    end = Fraction(299999, 100000)
    ratio = response_delta(20, 4, 3, end) / share_delta(20, Fraction(1, 4), 3, end)
    assert abs(ratio - 1) < mp.mpf(10) ** -35
