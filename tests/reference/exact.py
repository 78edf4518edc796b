"""Reference values that share no code with the library: the printed formulas at 50 digits (mpmath), and tiny
mechanisms by enumeration, in whatever arithmetic the caller's probabilities have (fractions stay exact).

Floats given to a formula count as the exact numbers they are. A formula returns an mpf.
"""

from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, permutations, product

import mpmath

mp = mpmath.mp.clone()
mp.dps = 50

# (1 + x)^order - 1 - order x loses the digits of x^2, and x goes down to 1e-18 in the tests.
BRACKET_DIGITS = 120


def number(value):
    """Return a float, int or fraction as an mpf, without rounding it beyond 50 digits."""
    if isinstance(value, Fraction):
        return mp.mpf(value.numerator) / value.denominator
    return mp.mpf(value)


# girgis2021 and girgis2021ccs


def kbar(k, eps0):
    return int(mp.floor((k - 1) / (2 * mp.exp(number(eps0))))) + 1


def _ratio(order, j, square):
    """Ratio of the terms j + 2 and j of ``gamma_sum`` for base^2 = ``square``; it falls as j grows."""
    return (order - j) * (order - j - 1) * square / (2 * (j + 1))


def _first_term(order, j, base):
    log_binomial = mp.loggamma(order + 1) - mp.loggamma(j + 1) - mp.loggamma(order - j + 1)
    return mp.exp(log_binomial + mp.log(j) + mp.loggamma(mp.mpf(j) / 2) + j * mp.log(base))


def gamma_sum(order, base):
    """Sum over j = 3..order of C(order, j) j Gamma(j/2) base^j, every term, odd and even j apart."""
    total, square = mp.mpf(0), base**2
    for start in (3, 4):
        term = _first_term(order, start, base) if start <= order else mp.mpf(0)
        for j in range(start, order + 1, 2):
            total += term
            term *= _ratio(order, j, square)
    return total


def gamma_sum_by_window(order, base):
    """The same sum from its largest terms outwards, until geometric series show that the rest is below 1e-40
    of what has been added."""
    total, square = mp.mpf(0), base**2
    for start in (3, 4):
        low, high = 0, (order - start) // 2
        while low < high:
            middle = (low + high) // 2
            if _ratio(order, start + 2 * middle, square) > 1:
                low = middle + 1
            else:
                high = middle
        peak = start + 2 * low
        top = _first_term(order, peak, base)
        j, term = peak, top
        while j <= order:
            total += term
            ratio = _ratio(order, j, square)
            term *= ratio
            if ratio < 1 and term / (1 - ratio) < total * mp.mpf(10) ** -40:
                break
            j += 2
        j, term = peak - 2, top
        while j >= start:
            ratio = 1 / _ratio(order, j, square)
            term *= ratio
            total += term
            if ratio < 1 and term * ratio / (1 - ratio) < total * mp.mpf(10) ** -40:
                break
            j -= 2
    return total


def _bracket(order, gamma, eps0):
    """(1 + x)^order - 1 - order x for x = gamma (e^eps0 - e^-eps0), as printed."""
    with mp.workdps(BRACKET_DIGITS):
        x = number(gamma) * 2 * mp.sinh(number(eps0))
        return (1 + x) ** order - 1 - order * x


def theorem1(order, n, k, eps0):
    """girgis2021, Theorem 1."""
    e, gamma, floored = mp.exp(number(eps0)), Fraction(k, n), kbar(k, eps0)
    total = 4 * mp.binomial(order, 2) * number(gamma) ** 2 * (e - 1) ** 2 / (floored * e)
    base = number(gamma) * mp.sqrt(2 * (e**2 - 1) ** 2 / (floored * e**2))
    total += gamma_sum(order, base) if order <= 5000 else gamma_sum_by_window(order, base)
    total += _bracket(order, gamma, eps0) * mp.exp(-(k - 1) / (8 * e))
    return mp.log1p(total) / (order - 1)


def theorem2(order, n, k, eps0):
    """girgis2021, Theorem 2, from the printed sum over the central moments of Bin(k, p).

    Their generating function is the k-th power of that of one Bernoulli variable (J. C. P. Miller's
    recurrence for powers of a series). That variable has moments >= 0, and where order <= 2 k the factors of
    the recurrence are >= 0 too, so nothing cancels; smaller k are left to the expectation.
    """
    if order > 2 * k:
        return theorem2_by_expectation(order, n, k, eps0)
    e = mp.exp(number(eps0))
    p, q = 1 / (e + 1), e / (e + 1)
    single = [(p * q**r + q * (-p) ** r) / mp.factorial(r) for r in range(order + 1)]
    power = [mp.mpf(1)]
    for m in range(1, order + 1):
        power.append(mp.fdot((k * j - m + j, single[j] * power[m - j]) for j in range(2, m + 1)) / m)
    slope = number(Fraction(k, n)) * (e**2 - 1) / (k * e)
    total = mp.fdot(
        (mp.binomial(order, j) * slope**j, power[j] * mp.factorial(j)) for j in range(2, order + 1)
    )
    return mp.log1p(total) / (order - 1)


def theorem2_by_expectation(order, n, k, eps0):
    """girgis2021, Theorem 2, as the expectation over all values of the binomial variable; any real order."""
    with mp.workdps(BRACKET_DIGITS):
        e, order = mp.exp(number(eps0)), number(order)
        slope = number(Fraction(k, n)) * (e**2 - 1) / (k * e)
        mass, total = (e / (e + 1)) ** k, mp.mpf(0)
        for m in range(k + 1):
            total += mass * (1 + slope * (m - k / (e + 1))) ** order
            mass *= mp.mpf(k - m) / (m + 1) / e
        return mp.log(total) / (order - 1)


def theorem4(order, k, eps0):
    """girgis2021, Theorem 4: zeta(order)^order, for real orders >= 2."""
    e, order = mp.exp(number(eps0)), number(order)
    if order == 2:
        centre = 4 * (e - 1) ** 2 / (kbar(k, eps0) * e)
    else:
        centre = order * mp.gamma(order / 2) * (2 * (e**2 - 1) ** 2 / (kbar(k, eps0) * e**2)) ** (order / 2)
    return centre + (e - 1 / e) ** order * mp.exp(-(k - 1) / (8 * e))


def lemma2(order, gamma, zeta_powers):
    """girgis2021, Lemma 2; ``zeta_powers`` maps j = 2..order to zeta(j)^j."""
    total = sum(
        mp.binomial(order, j) * number(gamma) ** j * number(zeta_powers[j]) for j in range(2, order + 1)
    )
    return mp.log1p(total) / (order - 1)


def girgis2021ccs(order, n, eps0):
    """RDP of the plain shuffle of n, capped at eps0."""
    e, floored = mp.exp(number(eps0)), kbar(n, eps0)
    total = mp.binomial(order, 2) * (e - 1) ** 2 / (floored * e)
    total += gamma_sum(order, mp.sqrt((e**2 - 1) ** 2 / (2 * floored * e**2)))
    total += mp.exp(number(eps0) * order - (n - 1) / (8 * e))
    return min(mp.log1p(total) / (order - 1), number(eps0))


# Conversion, subsampling, composition


def lemma1(order, rdp, rounds, delta):
    """girgis2021, Lemma 1 at one order (not cut off at 0)."""
    order = number(order)
    paid = -mp.log(number(delta)) + (order - 1) * mp.log1p(-1 / order) - mp.log(order)
    return rounds * number(rdp) + paid / (order - 1)


def wang2019(order, gamma, rdp, eps_inf, loose):
    """wang2019, Theorem 9; ``rdp`` maps each j = 2..order to a number; ``eps_inf`` may be inf."""
    gamma, second = number(gamma), mp.exp(number(rdp[2]))
    gap = mp.exp(number(eps_inf)) - 1
    first = 2 * second if loose else min(4 * (second - 1), second * min(2, gap**2))
    total = gamma**2 * mp.binomial(order, 2) * first
    binomial, power = mp.binomial(order, 2), gamma**2
    for j in range(3, order + 1):
        binomial, power = binomial * (order - j + 1) / j, power * gamma
        total += power * binomial * mp.exp((j - 1) * number(rdp[j])) * min(2, gap**j)
    return mp.log1p(total) / (order - 1)


def subsample(eps, delta, gamma):
    return mp.log1p(number(gamma) * mp.expm1(number(eps))), number(gamma) * number(delta)


def feldman2021(n, eps0, delta):
    """Closed form of feldman2021 where eps0 <= log(n / (16 log(4/delta))), else None."""
    e, log_term = mp.exp(number(eps0)), mp.log(4 / number(delta))
    if number(eps0) > mp.log(n / (16 * log_term)):
        return None
    return mp.log1p((e - 1) / (e + 1) * (8 * mp.sqrt(e * log_term / n) + 8 * e / n))


def slack(delta, rounds, total_delta):
    """What ``rounds`` mechanisms of ``delta`` leave of ``total_delta``."""
    with mp.workdps(BRACKET_DIGITS):
        return -mp.expm1(mp.log1p(-number(total_delta)) - rounds * mp.log1p(-number(delta)))


def kairouz2015_formula(eps, delta, rounds, total_delta):
    """kairouz2015, Theorem 3.4."""
    eps, left = number(eps), slack(delta, rounds, total_delta)
    drift = rounds * eps * mp.tanh(eps / 2)
    first = drift + eps * mp.sqrt(2 * rounds * mp.log(mp.e + mp.sqrt(rounds * eps**2) / left))
    second = drift + eps * mp.sqrt(2 * rounds * mp.log(1 / left))
    return min(rounds * eps, first, second)


def advanced(eps, delta, rounds, total_delta):
    eps, left = number(eps), number(total_delta) - rounds * number(delta)
    return rounds * eps * mp.expm1(eps) + eps * mp.sqrt(2 * rounds * mp.log(1 / left))


def _response_outcomes(eps, rounds):
    """Outcomes of ``rounds`` randomised responses by the number l of flips, from the largest loss down: the
    likelihood ratio e^((rounds - 2 l) eps) and both probabilities.

    Outcomes more than 40 standard deviations below the mean of l carry less than 1e-340 and are left out.
    """
    e = mp.exp(number(eps))
    q = 1 / (1 + e)
    first = max(0, int(mp.floor(rounds * q - 40 * mp.sqrt(rounds * q * (1 - q)) - 100)))
    log_count = mp.loggamma(rounds + 1) - mp.loggamma(first + 1) - mp.loggamma(rounds - first + 1)
    common = log_count - rounds * mp.log1p(e)
    p_mass, q_mass = mp.exp(common + (rounds - first) * mp.log(e)), mp.exp(common + first * mp.log(e))
    ratio = e ** (rounds - 2 * first)
    for l in range(first, rounds + 1):  # noqa: E741 - the letter of the theorem
        yield ratio, p_mass, q_mass
        step = mp.mpf(rounds - l) / (l + 1)
        p_mass, q_mass, ratio = p_mass * step / e, q_mass * step * e, ratio / e**2


def composed_delta(eps, rounds, target):
    """delta of the ``rounds``-fold composition of (eps, 0)-DP at epsilon ``target`` (kairouz2015,
    Theorem 3.3): the sum of [P - e^target Q]_+ over the outcomes of as many randomised responses."""
    threshold, total = mp.exp(number(target)), mp.mpf(0)
    for ratio, p_mass, q_mass in _response_outcomes(eps, rounds):
        if ratio <= threshold:
            break
        total += p_mass - threshold * q_mass
    return total


def smallest_eps(outcomes, delta):
    """Smallest eps >= 0 with hockey-stick divergence <= delta, over outcomes (ratio P/Q, P, Q) from the
    largest ratio down: between two ratios the divergence is P(above) - e^eps Q(above)."""
    above_p, above_q = 0, 0
    for ratio, p_mass, q_mass in outcomes:
        if ratio <= 1 or above_p - ratio * above_q > delta:
            break
        above_p, above_q = above_p + p_mass, above_q + q_mass
    return max(mp.log(number((above_p - delta) / above_q)), mp.mpf(0)) if above_p > delta else mp.mpf(0)


def composed_eps(eps, rounds, left):
    """Smallest epsilon of the composition at delta ``left``."""
    return smallest_eps(_response_outcomes(eps, rounds), number(left))


# Enumeration of tiny mechanisms. A distribution is a tuple of probabilities (none of them 0) over the
# alphabet, a randomiser a tuple of distributions (one an input), a data set a tuple of distributions, and a
# law maps histograms to probabilities.


@cache
def shuffle_law(data):
    """Law of the histogram of the shuffled reports."""
    law = {(0,) * len(data[0]): 1}
    for distribution in data:
        longer = defaultdict(int)
        for histogram, mass in law.items():
            for symbol, probability in enumerate(distribution):
                grown = list(histogram)
                grown[symbol] += 1
                longer[tuple(grown)] += mass * probability
        law = longer
    return law


@cache
def subsampled_law(data, k):
    """Law of the histogram if k of the data are drawn without replacement, by going through all subsets."""
    subsets = Counter(combinations(sorted(data), k))
    law = defaultdict(int)
    for subset, times in subsets.items():
        for histogram, mass in shuffle_law(subset).items():
            law[histogram] += mass * times
    return {histogram: mass / subsets.total() for histogram, mass in law.items()}


def ternary(p, q, r, order):
    """E_R |(P - Q)/R|^order."""
    return sum(abs(p[h] - q[h]) ** order / r[h] ** (order - 1) for h in r)


def renyi(p, q, order):
    """Renyi divergence D_order(P || Q)."""
    return mp.log(number(sum(p[h] ** order / q[h] ** (order - 1) for h in q))) / (order - 1)


def eps_between(p, q, delta):
    """Smallest eps at which each of two laws is (eps, delta)-close to the other."""
    both = [sorted(((a[h] / b[h], a[h], b[h]) for h in a), reverse=True) for a, b in ((p, q), (q, p))]
    return max(smallest_eps(outcomes, delta) for outcomes in both)


def neighbours(randomiser, size):
    """All pairs of data sets of that size, up to order, that differ in one record."""
    for common in combinations_with_replacement(randomiser, size - 1):
        for one, other in permutations(randomiser, 2):
            yield (*common, one), (*common, other)


def worst_ternary(randomiser, k, order):
    """The largest ternary divergence over all triples of neighbouring data sets of k records."""
    worst = 0
    for common in combinations_with_replacement(randomiser, k - 1):
        laws = [shuffle_law((*common, last)) for last in randomiser]
        worst = max(worst, *(ternary(p, q, r, order) for p, q, r in product(laws, repeat=3)))
    return worst


def worst_renyi(randomiser, n, k, order):
    """The largest Renyi divergence of k of n without replacement, shuffled, over all neighbours."""
    pairs = neighbours(randomiser, n)
    return max(renyi(subsampled_law(one, k), subsampled_law(other, k), order) for one, other in pairs)


def worst_loss(randomiser, k):
    """The largest log likelihood ratio of the shuffle of k over all neighbours."""
    laws = ((shuffle_law(one), shuffle_law(other)) for one, other in neighbours(randomiser, k))
    return mp.log(number(max(p[h] / q[h] for p, q in laws for h in q)))


def local_ratio(randomiser):
    """Largest ratio of the probabilities of one symbol under two inputs: e^eps0."""
    return max(max(column) / min(column) for column in zip(*randomiser, strict=True))
