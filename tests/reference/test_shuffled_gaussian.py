"""The shuffled Gaussian against the Gaussian mechanism (one client), quadrature (two), moments, and peers."""

import math
import warnings
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy import stats

from shuffledp import accountants, profiles, rdp
from shuffledp.accountants import via_pld
from shuffledp.pld import connect_the_dots, merge_to_lattice

from .exact import mp, number
from .tolerances import CLOSE, assert_upper

BOUNDS = ("lower", "upper")
DIRECTIONS = ("forward", "reverse")

# Closed forms are rounded by some hundred ulp of the two terms whose difference they are, which are some
# 10 sigma times larger.
SINGLE = 1e-9


def tail(x):
    """Upper tail of the normal law."""
    return mp.erfc(x / mp.sqrt(2)) / 2


def gaussian(eps, mu):
    """Profile of a Gaussian mechanism, for neighbours at a distance of mu standard deviations."""
    eps, mu = number(eps), number(mu)
    return tail(eps / mu - mu / 2) - mp.exp(eps) * tail(eps / mu + mu / 2)


def gaussian_epsilon(delta, mu):
    low, high = mp.mpf(0), mp.mpf(mu) ** 2 + 30 * mp.mpf(mu)
    for _ in range(90):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian(middle, mu) > delta else (low, middle)
    return high


def call_on_one(strike, sigma):
    """E (Y - strike)_+ for the log-normal term Y."""
    if strike <= 0:
        return 1 - strike
    z = sigma * mp.log(strike) + 1 / (2 * sigma)
    return tail(z - 1 / sigma) - strike * tail(z)


def call_on_two(strike, sigma):
    """E (Y + Y' - strike)_+, by quadrature over Y."""
    strike, sigma = mp.mpf(strike), number(sigma)

    def term(z):
        return mp.exp((z - 1 / (2 * sigma)) / sigma)

    def integrand(z):
        return mp.npdf(z) * call_on_one(strike - term(z), sigma)

    # the second term alone may exceed the strike from here on
    edge = sigma * mp.log(strike) + 1 / (2 * sigma)
    points = {edge, *(edge - mp.mpf(step) for step in ("1e-4", "1e-2", "0.2"))}
    points |= {mp.mpf(z) for z in range(-16, 17)} | {edge + 1, edge + 4, edge + 16, 1 / sigma}
    return mp.quad(integrand, sorted(points))


@cache
def two_clients(eps, sigma, direction):
    with mp.workdps(30):
        factor = mp.exp(number(eps) if direction == "forward" else -number(eps))
        value = call_on_two(2 * factor, sigma) / 2
        if direction == "reverse":
            value = (value - 1 + factor) / factor
        return value


def inside(lower, value, upper, width):
    """``value`` lies between the bounds, and they are no further apart than ``width`` of it."""
    assert number(lower) <= value <= number(upper), f"{mp.nstr(value, 15)} not in [{lower!r}, {upper!r}]"
    assert upper - lower <= width * value


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("sigma", [0.3, 1.0, 2.0, 7.5, 100.0])
def test_one_client_is_the_gaussian_mechanism(sigma, direction):
    mu = 1 / number(sigma)
    targets = [0.0, *(float(gaussian_epsilon(mp.mpf(delta), mu)) for delta in ("0.01", "1e-6", "1e-12"))]
    lower, upper = (
        profiles.shuffled_gaussian(targets, n=1, sigma=sigma, direction=direction, bound=bound)
        for bound in BOUNDS
    )
    for eps, least, most in zip(targets, lower, upper, strict=True):
        inside(float(least), gaussian(eps, mu), float(most), SINGLE)


@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_one_client_at_negative_eps(sigma):
    for eps in (-2.0, -0.3):
        lower, upper = (profiles.shuffled_gaussian(eps, n=1, sigma=sigma, bound=bound) for bound in BOUNDS)
        inside(lower, gaussian(eps, 1 / number(sigma)), upper, SINGLE)


@pytest.mark.parametrize(
    ("sigma", "eps"),
    [
        (2.0, 0.05),
        (2.0, 0.8),
        (2.0, 2.3),
        (1.0, 1.0),
        (1.0, 5.5),
        (0.5, 4.0),
        (0.5, 13.0),
        (6.0, 0.2),
        (6.0, 0.7),
    ],
)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.few(6)
def test_two_clients_by_quadrature(sigma, eps, direction):
    value = two_clients(eps, sigma, direction)
    lower, upper = (
        profiles.shuffled_gaussian(eps, n=2, sigma=sigma, direction=direction, bound=bound)
        for bound in BOUNDS
    )
    inside(lower, value, upper, 3e-4)


# (eps, forward, reverse) for sigma = 2 and seven clients, by an independent code, to some seven digits
SEVEN = [
    (0.1, 0.04129351, 0.04084559),
    (0.25, 0.01156211, 0.01092368),
    (0.5, 0.0005935119, 0.0004395949),
    (0.75, 1.1575856e-05, 4.239842e-06),
    (1.0, 1.3401427e-07, 8.768816e-09),
]


@pytest.mark.parametrize(("eps", "forward", "reverse"), SEVEN)
def test_seven_clients(eps, forward, reverse):
    for direction, value in (("forward", forward), ("reverse", reverse)):
        lower, upper = (
            profiles.shuffled_gaussian(eps, n=7, sigma=2, direction=direction, bound=bound)
            for bound in BOUNDS
        )
        assert lower * (1 - 1e-5) <= value <= upper * (1 + 1e-5)
        assert upper <= 1.0005 * lower


def put_on_many(strike, n, sigma, digits=32):
    """E (strike - S)_+ for n terms, by inversion of the Laplace transform of S."""
    variance = n * mp.expm1(1 / sigma**2)
    line, depth = 2 / mp.sqrt(variance), digits * mp.log(10)
    # trapezoids, whose errors fall exponentially: of an entire integrand in z, and beside a pole at 0
    width, step = 2 * mp.pi * sigma * mp.pi / 5 / depth, 2 * mp.pi * line / depth
    most = int(mp.sqrt(2 * depth) / width) + 1
    nodes = [width * k for k in range(-most, most + 1)]
    weights = [width * mp.npdf(z) for z in nodes]
    values = [mp.exp((z - 1 / (2 * sigma)) / sigma) for z in nodes]
    total, k, size = mp.mpf(0), 0, mp.inf
    while size > mp.mpf(10) ** -digits * abs(total):
        at = mp.mpc(line, k * step)
        transform = mp.fdot(weights, [mp.exp(-at * value) for value in values])
        summand = mp.exp(n * mp.log(transform) + at * strike) / at**2
        total, k, size = total + summand.real / (1 if k else 2), k + 1, abs(summand)
    return total * step / mp.pi


@pytest.mark.parametrize(
    ("n", "sigma", "direction"),
    [
        pytest.param(n, sigma, direction, marks=[] if (at + turn) % 2 == 0 else pytest.mark.slow)
        for at, (n, sigma) in enumerate([(1000, 2.0), (1000, 5.0), (10**6, 1.0), (10**6, 5.0)])
        for turn, direction in enumerate(DIRECTIONS)
    ],
)
@pytest.mark.few(2)
def test_many_clients_by_laplace_transform(n, sigma, direction):
    eps = profiles.shuffled_gaussian_epsilon(1e-12, n=n, sigma=sigma, direction=direction)
    with mp.workdps(42):
        factor = mp.exp(number(eps) if direction == "forward" else -number(eps))
        value = put_on_many(n * factor, n, number(sigma)) / n
        value = value + 1 - factor if direction == "forward" else value / factor
    lower, upper = (
        profiles.shuffled_gaussian(eps, n=n, sigma=sigma, direction=direction, bound=bound)
        for bound in BOUNDS
    )
    inside(lower, value, upper, 1e-3)


# Composition


def composed(bound, rounds, delta, **setting):
    pairs = [
        profiles.shuffled_gaussian_outcomes(direction=direction, bound=bound, **setting)
        for direction in DIRECTIONS
    ]
    rounded = connect_the_dots if bound == "upper" else merge_to_lattice
    columns = via_pld.columns(pairs, rounded=rounded, rounds=np.array(rounds), delta=delta, bound=bound)
    return columns["epsilon"].tolist()


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("sigma", [0.6, 2.0, 20.0])
@pytest.mark.few(3)
def test_rounds_of_one_client_are_a_gaussian_mechanism(sigma, delta):
    rounds = [1.0, 2.0, 30.0, 1000.0]
    lower, upper = (composed(bound, rounds, delta, n=1, sigma=sigma) for bound in BOUNDS)
    for count, least, most in zip(rounds, lower, upper, strict=True):
        value = gaussian_epsilon(number(delta), mp.sqrt(count) / number(sigma))
        inside(least, value, most, 3e-3)


def test_rounds_of_seven_clients():
    rounds = [1.0, 10.0, 100.0]
    lower, upper = (composed(bound, rounds, 1e-4, n=7, sigma=2) for bound in BOUNDS)
    for value, least, most in zip((0.619629, 2.23482, 8.85685), lower, upper, strict=True):
        assert least * (1 - 1e-5) <= value <= most * (1 + 1e-5)
        assert most <= 1.003 * least


@pytest.mark.parametrize(("n", "sigma"), [(2, 1.0), (7, 0.7), (1000, 1.0)])
@pytest.mark.few(2)
def test_the_outcomes_enclose_the_profile(n, sigma):
    """A composition of one round, by a sum over the outcomes."""
    targets = np.array([0.0, 0.01, 0.2, 1.0, 2.5])
    for direction in DIRECTIONS:
        setting = {"n": n, "sigma": sigma, "direction": direction}
        for bound, other, sign in (("upper", "lower", 1), ("lower", "upper", -1)):
            outcomes = profiles.shuffled_gaussian_outcomes(bound=bound, **setting)
            parts = outcomes.mass * np.maximum(-np.expm1(targets[:, None] - outcomes.loss), 0.0)
            found = parts.sum(axis=1) + outcomes.infinite
            assert (sign * found >= sign * profiles.shuffled_gaussian(targets, bound=other, **setting)).all()
            close = profiles.shuffled_gaussian(targets, bound=bound, **setting)
            assert found == pytest.approx(close, rel=2e-3, abs=1e-19)
            # both laws are whole, but for what an upper bound calls infinite
            assert outcomes.mass.sum() + outcomes.infinite == pytest.approx(1, abs=1e-12)
            other_mass = (outcomes.mass * np.exp(-outcomes.loss)).sum()
            assert other_mass == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("n", "sigma"), [(3, 3.0), (50, 2.0), (10**4, 2.0), pytest.param(10**6, 4.0, marks=pytest.mark.slow)]
)
def test_the_law_has_its_moments(n, sigma):
    """E (S/n - 1)^2 = v/n, and the third moment, of laws that are larger and smaller in convex order."""
    v = math.expm1(1 / sigma**2)
    for power, value in ((2, v / n), (3, v * v * (v + 3) / n**2)):
        found = []
        for bound in BOUNDS:
            outcomes = profiles.shuffled_gaussian_outcomes(n=n, sigma=sigma, direction="reverse", bound=bound)
            found.append(float((outcomes.mass * np.expm1(-outcomes.loss) ** power).sum()))
        if power == 2:
            assert found[0] <= value <= found[1]
        assert found == pytest.approx([value, value], rel=2e-3)


# Accountants


@pytest.mark.parametrize("delta", [0.3, 1e-5, 1e-40])
@pytest.mark.parametrize(("sigma", "rounds"), [(0.1, 1), (2.0, 1), (2.0, 50), (1000.0, 3), (0.5, 10**6)])
def test_without_a_shuffler_epsilon_is_that_of_the_gaussian_mechanism(sigma, rounds, delta):
    found = accountants.epsilon("gaussian-unshuffled", n=1000, sigma=sigma, rounds=rounds, delta=delta)
    exact = gaussian_epsilon(number(delta), mp.sqrt(rounds) / number(sigma))
    assert found + 1e-20 >= exact  # bisection ends a little above 0
    assert found == pytest.approx(float(exact), rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("delta", [1e-3, 1e-10])
@pytest.mark.parametrize(("n", "sigma"), [(1, 1.0), (7, 2.0), (300, 0.7)])
@pytest.mark.few(4)
def test_accountants_of_one_round(n, sigma, delta):
    setting = {"n": n, "sigma": sigma, "rounds": 1, "delta": delta}
    pair = accountants.get("shuffled-gaussian-pair").details(**setting)
    exact = profiles.shuffled_gaussian_epsilon(delta, n=n, sigma=sigma)
    assert pair["epsilon"] <= exact <= pair["pair_upper"] <= 1.005 * pair["epsilon"]
    assert exact <= accountants.epsilon("gaussian-unshuffled", **setting) * (1 + 1e-9)
    forward = profiles.shuffled_gaussian_epsilon(delta, n=n, sigma=sigma, direction="forward", bound="lower")
    assert forward <= accountants.epsilon("liew2022gaussian-forward", **setting)


def test_accountants_of_many_rounds():
    rounds = np.array([0, 1, 2, 10, 300, 10**5])
    found = {
        name: accountants.epsilon(name, n=50, sigma=1.5, rounds=rounds, delta=1e-6)
        for name in accountants.names(protocol="shuffle", mechanism="gaussian")
    }
    for values in found.values():
        assert values[0] == 0
        assert (np.diff(values) > 0).all()
    pair = found["shuffled-gaussian-pair"]
    assert (pair <= found["liew2022gaussian-forward"]).all()
    assert (pair <= found["shuffled-gaussian-pld"]).all()
    assert (found["shuffled-gaussian-pld"] <= found["gaussian-unshuffled"]).all()


@pytest.mark.parametrize("rounds", [1, 40])
@pytest.mark.parametrize(("n", "sigma"), [(1000, 5.0), pytest.param(30_000, 3.0, marks=pytest.mark.slow)])
def test_among_many_the_local_guarantees_are_amplified(n, sigma, rounds):
    common = {"rounds": rounds, "delta": 1e-6}
    setting = {**common, "sigma": sigma}
    entry = accountants.get("shuffled-gaussian-pld")
    found = entry.details(n=n, **setting)
    eps0, delta0 = found["local_eps0"], found["local_delta0"]
    assert delta0 >= float(gaussian(eps0, 1 / number(sigma)))
    # the clones with one guarantee, whatever the total variation
    whole = accountants.epsilon("shuffle-clones-approximate", n=n, eps0=eps0, delta0=delta0, **common)
    bare = accountants.epsilon("gaussian-unshuffled", n=n, **setting)
    pair = accountants.epsilon("shuffled-gaussian-pair", n=n, **setting)
    assert pair < found["epsilon"] < whole < bare
    assert entry.details(n=2 * n, **setting)["epsilon"] < found["epsilon"]


@pytest.mark.parametrize("sigma", [1e-9, 0.1, 1e9])
@pytest.mark.parametrize(("n", "delta"), [(1, 1e-6), (10**4, 1e-300), (10**6, 0.999)])
def test_extremes_are_no_larger_than_without_a_shuffler(n, delta, sigma):
    setting = {"n": n, "sigma": sigma, "rounds": [0, 1, 10**4], "delta": delta}
    found = accountants.epsilon("shuffled-gaussian-pld", **setting)
    assert found[0] == 0
    assert (np.diff(found) >= 0).all()
    assert (found <= accountants.epsilon("gaussian-unshuffled", **setting)).all()
    assert accountants.epsilon("shuffled-gaussian-pld", **{**setting, "rounds": 3, "delta": 0}) == math.inf


@pytest.mark.parametrize(
    ("n", "sigma", "rounds", "delta"),
    [
        (330, 0.051912395354821984, 1, 0.0016638711339623956),
        (55, 0.044762898799028825, 3, 4.810176444339756e-11),
    ],
)
def test_a_guarantee_that_fails_for_certain_is_none(n, sigma, rounds, delta):
    setting = {"n": n, "sigma": sigma, "rounds": rounds, "delta": delta}
    bare = accountants.epsilon("gaussian-unshuffled", **setting)
    assert accountants.epsilon("shuffled-gaussian-pld", **setting) == bare


@pytest.mark.parametrize("eps", [0.05, 0.3])
@pytest.mark.parametrize("other", [0.0, 0.4, 1.0])
def test_no_shuffle_of_two_costs_more(other, eps):
    axis, step = np.linspace(-30.0, 31.0, 1201, retstep=True)
    laws = [stats.norm.pdf(axis, record, 3.0) for record in (0.0, 1.0, other)]

    def delta_of(with_it, without):
        both = np.outer(with_it, laws[2]) - math.exp(eps) * np.outer(without, laws[2])
        return np.maximum(both + both.T, 0).sum() * step**2 / 2

    delta = max(delta_of(*laws[:2]), delta_of(*laws[1::-1]))
    assert accountants.epsilon("shuffled-gaussian-pld", n=2, sigma=3.0, rounds=1, delta=delta) >= eps


# Renyi DP


def by_partitions(order, n, sigma):
    """The theorem as printed: over all ways to write the order as a sum of n numbers."""
    total = mp.mpf(0)
    for parts in product(range(order + 1), repeat=n):
        if sum(parts) == order:
            ways = mp.factorial(order)
            for part in parts:
                ways /= mp.factorial(part)
            total += ways * mp.exp(sum(part**2 for part in parts) / (2 * number(sigma) ** 2))
    log_total = mp.log(total) - order / (2 * number(sigma) ** 2) - order * mp.log(n)
    return log_total / (order - 1)


def by_power_series(largest, n, sigma):
    """The moments of a sum as coefficients of a power of a series."""
    with mp.workdps(80):
        square = 2 * number(sigma) ** 2
        one = [mp.exp(j * (j - 1) / square) / mp.factorial(j) for j in range(largest + 1)]

        def times(a, b):
            return [mp.fdot(a[: k + 1], b[k::-1]) for k in range(largest + 1)]

        power, square, left = [mp.mpf(1)] + [mp.mpf(0)] * largest, one, n
        while left:
            power = times(power, square) if left % 2 else power
            square, left = times(square, square), left // 2
        return [mp.log(mp.factorial(k) * power[k] / mp.mpf(n) ** k) / (k - 1) for k in range(2, largest + 1)]


@pytest.mark.parametrize("sigma", [0.4, 2.0])
@pytest.mark.parametrize(("n", "largest"), [(1, 8), (2, 8), (3, 8), (5, 5)])
def test_renyi_by_partitions(n, largest, sigma):
    for order in range(2, largest + 1):
        value = rdp.liew2022gaussian_shuffle(order, n=n, sigma=sigma)
        assert_upper(value, by_partitions(order, n, sigma), CLOSE)


@pytest.mark.parametrize(
    ("n", "sigma"), [(1, 2.0), (2, 0.3), (7, 2.0), (1000, 1.0), (10**6, 4.0), (10**6, 100.0)]
)
def test_renyi_by_power_series(n, sigma):
    values = rdp.liew2022gaussian_shuffle(range(2, 61), n=n, sigma=sigma)
    for value, expected in zip(values.tolist(), by_power_series(60, n, sigma), strict=True):
        assert_upper(value, expected, CLOSE)


def test_renyi_of_one_client_is_that_of_a_gaussian():
    orders = np.array([2, 50, 200, 1000, 8192])
    values = rdp.liew2022gaussian_shuffle(orders, n=1, sigma=3.0)
    for value, order in zip(values.tolist(), orders.tolist(), strict=True):
        assert_upper(value, mp.mpf(order) / 18, CLOSE)


@pytest.mark.parametrize(("rounds", "value"), [(1, 0.7214528), (10, 2.4733703)])
def test_renyi_epsilon(rounds, value):
    found = rdp.to_epsilon(
        lambda order: rdp.liew2022gaussian_shuffle(order, n=7, sigma=2), delta=1e-4, rounds=rounds
    )
    assert found.value == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("delta", [1e-4, 1e-10])
@pytest.mark.parametrize(("n", "sigma"), [(1, 2.0), (7, 1.0), (100, 3.0), (10**4, 2.0)])
def test_renyi_epsilon_is_above_the_exact_one(n, sigma, delta):
    """... and no larger than without shuffling."""
    found, alone = (
        rdp.to_epsilon(lambda order, n=n: rdp.liew2022gaussian_shuffle(order, n=n, sigma=sigma), delta=delta)
        for n in (n, 1)
    )
    lower = profiles.shuffled_gaussian_epsilon(delta, n=n, sigma=sigma, direction="forward", bound="lower")
    assert lower <= found.value <= alone.value


# The peer: a package that bounds the random allocation of a Gaussian


@pytest.fixture(scope="module")
def peer():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that numba is missing
        return pytest.importorskip("PLD_accounting")


@pytest.mark.parametrize(
    ("n", "sigma", "delta", "accuracy"),
    [(2, 1.0, 1e-6, 0.05), (7, 1.0, 1e-4, 0.1), (7, 2.0, 1e-6, 0.05), (30, 0.8, 1e-5, 0.2)],
)
@pytest.mark.few(2)
def test_the_peer_agrees(peer, n, sigma, delta, accuracy):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        most, least = peer.gaussian_allocation_epsilon_range(
            delta=delta, sigma=sigma, num_steps=n, epsilon_accuracy=accuracy
        )
    lower, upper = (
        profiles.shuffled_gaussian_epsilon(delta, n=n, sigma=sigma, bound=bound) for bound in BOUNDS
    )
    assert least <= upper
    assert lower <= most
    assert most - least <= accuracy
    assert upper - lower <= 1e-3 * (most - least)


def test_the_peer_composes_to_the_same(peer):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        most, least = peer.gaussian_allocation_epsilon_range(
            delta=1e-5, sigma=1.0, num_steps=7, num_epochs=4, epsilon_accuracy=0.3
        )
    (lower,), (upper,) = (composed(bound, [4.0], 1e-5, n=7, sigma=1.0) for bound in BOUNDS)
    assert least <= upper
    assert lower <= most
    assert upper - lower <= 0.1 * (most - least)
