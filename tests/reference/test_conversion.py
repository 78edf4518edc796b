"""Lemma 1 against brute force over whole orders, from above and from below."""

import math

import numpy as np
import pytest

from shuffledp import accountants, rdp
from shuffledp.rdp.conversion import MAX_ORDER

from . import exact
from .exact import number
from .tolerances import CLOSED_FORM, LEMMA1, ORACLE, assert_upper


def paid(orders, delta):
    """What Lemma 1 adds to the Renyi DP parameter."""
    return (-math.log(delta) - np.log(orders)) / (orders - 1) + np.log1p(-1 / orders)


def log_delta(orders, g, eps):
    """Lemma 1 solved for log delta; g = (order - 1) * rdp of all rounds."""
    return g + (orders - 1) * (np.log1p(-1 / orders) - eps) - np.log(orders)


def lower_hull(x, y):
    """The lower convex hull of points sorted by x (Andrew's monotone chain)."""
    hull = []
    for point in zip(x.tolist(), y.tolist(), strict=True):
        while len(hull) > 1:
            (x0, y0), (x1, y1) = hull[-2:]
            if (y1 - y0) * (point[0] - x1) < (point[1] - y1) * (x1 - x0):
                break
            hull.pop()
        hull.append(point)
    return np.array(hull).T


def minimum_on_grid(function, low, high):
    """The minimum of a function that falls, then rises, over a grid that closes in on it."""
    for _ in range(12):
        grid = np.geomspace(low, high, 400)
        best = int(np.argmin(function(grid)))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
    return float(np.min(function(grid)))


class Exhaustive:
    """A curve that is known at all whole orders 2..top and out of the question beyond, asked for once.

    No chord of its known points lies below the hull of (order, (order - 1) rdp), so Lemma 1 along the hull is
    a limit that the conversion cannot go below; Lemma 1 at the whole orders is one that it may not exceed.
    """

    def __init__(self, curve, top):
        self.orders = np.arange(2.0, top + 1)
        self.values = np.broadcast_to(np.asarray(curve(self.orders), dtype=float), self.orders.shape)
        finite = np.isfinite(self.values)
        self.g = (self.orders - 1) * self.values
        self.hull = lower_hull(self.orders[finite], self.g[finite])
        self.beyond = 1e9 if finite[-1] else np.inf

    def __call__(self, orders):
        indices = np.asarray(orders).astype(int) - 2
        inside = indices < self.values.size
        return np.where(inside, self.values[np.where(inside, indices, 0)], self.beyond * np.asarray(orders))

    def g_on_hull(self, orders):
        return np.interp(orders, *self.hull)

    def epsilon(self, delta, rounds):
        """Limits on epsilon from below and from above, and the size of Lemma 1's terms."""
        by_order = rounds * self.values + paid(self.orders, delta)
        low = minimum_on_grid(
            lambda orders: rounds * self.g_on_hull(orders) / (orders - 1) + paid(orders, delta),
            self.hull[0, 0],
            self.hull[0, -1],
        )
        best = int(np.argmin(by_order))
        size = rounds * self.values[best] + math.log(self.orders[best] / delta) / (self.orders[best] - 1)
        return low, float(by_order[best]), float(size)

    def log_delta(self, eps, rounds):
        by_order = log_delta(self.orders, rounds * self.g, eps)
        low = minimum_on_grid(
            lambda orders: log_delta(orders, rounds * self.g_on_hull(orders), eps),
            self.hull[0, 0],
            self.hull[0, -1],
        )
        best = int(np.argmin(by_order))
        size = rounds * self.g[best] + self.orders[best] * eps + math.log(self.orders[best]) + 1
        return low, float(by_order[best]), float(size)


def gaussian(slope):
    return lambda orders: slope * np.asarray(orders)


def kinked(*lines):
    """(order - 1) rdp is the maximum of lines in order - 1, each a slope and what is subtracted."""
    return lambda orders: np.max(
        [slope - offset / (np.asarray(orders) - 1) for slope, offset in lines], axis=0
    )


def laplace(orders, scale=2.0):
    """The Renyi divergence of two Laplace distributions a distance 1 apart."""
    orders = np.asarray(orders)
    heavier = np.log(orders / (2 * orders - 1)) + (orders - 1) / scale
    lighter = np.log((orders - 1) / (2 * orders - 1)) - orders / scale
    return np.logaddexp(heavier, lighter) / (orders - 1)


def up_to(last, curve):
    return lambda orders: np.where(np.asarray(orders) <= last, curve(orders), np.inf)


SYNTHETIC = {
    "gaussian-1e-7": gaussian(1e-7),
    "gaussian-1e-4": gaussian(1e-4),
    "gaussian-0.02": gaussian(0.02),
    "gaussian-3": gaussian(3.0),
    "laplace": laplace,
    "convex-kinks": kinked((1e-3, 0.0), (1e-2, 0.5), (0.7, 60.0), (5.0, 3000.0)),
    "kink-at-order-7.5": kinked((0.01, 0.0), (2.0, 1.99 * 6.5)),
    "capped": lambda orders: np.minimum(0.001 * np.asarray(orders), 0.3),
    "step": lambda orders: np.where(np.asarray(orders) <= 1237, 1e-3, 0.5),
    "constant": lambda orders: np.full(np.shape(orders), 0.01),
    "zero": lambda orders: np.zeros(np.shape(orders)),
}

INFINITE = {
    "beyond-2": up_to(2, gaussian(0.1)),
    "beyond-3": up_to(3, gaussian(0.1)),
    "beyond-37": up_to(37, gaussian(1e-3)),
    "kink-at-400-beyond-425": up_to(425, kinked((1e-3, 0.0), (0.1, 0.099 * 399))),
    "kinks-beyond-1000": up_to(1000, kinked((1e-4, 0.0), (1e-2, 4.0))),
}

LIBRARY = {
    "upper-2": (lambda orders: rdp.girgis2021_upper(orders, n=1e6, k=1e3, eps0=2.0), 2500),
    "upper-0.5": (lambda orders: rdp.girgis2021_upper(orders, n=1e6, k=1e4, eps0=0.5), 2500),
    "upper-1.5": (lambda orders: rdp.girgis2021_upper(orders, n=6e4, k=1e4, eps0=1.5), 1000),
    "upper-6": (lambda orders: rdp.girgis2021_upper(orders, n=1e6, k=100, eps0=6.0), 1000),
    "lower-2": (lambda orders: rdp.girgis2021_lower(orders, n=1e6, k=1e3, eps0=2.0), 1000),
    "lower-0.5": (lambda orders: rdp.girgis2021_lower(orders, n=1e5, k=1e3, eps0=0.5), 1000),
    "ccs": (lambda orders: rdp.girgis2021ccs_shuffle(orders, n=1000, eps0=2.0), 2500),
    "ccs-weak": (lambda orders: rdp.girgis2021ccs_shuffle(orders, n=1e5, eps0=0.3), 2500),
    "wang": (
        lambda orders: rdp.wang2019_subsampled(
            orders, gamma=1e-3, rdp=lambda j: rdp.girgis2021ccs_shuffle(j, n=1000, eps0=2.0), eps_inf=2.0
        ),
        600,
    ),
    "wang-loose": (
        lambda orders: rdp.wang2019_subsampled(
            orders,
            gamma=1e-3,
            rdp=lambda j: rdp.girgis2021ccs_shuffle(j, n=1000, eps0=2.0),
            eps_inf=2.0,
            loose=True,
        ),
        600,
    ),
    "wang-gaussian": (lambda orders: rdp.wang2019_subsampled(orders, gamma=0.01, rdp=gaussian(0.5)), 400),
}

CURVES = {name: (curve, 20000) for name, curve in SYNTHETIC.items()} | LIBRARY
over_curves = pytest.mark.parametrize("name", CURVES)
ROUNDS = np.array([[1, 2, 10], [300, 10**4, 10**6]])
DELTAS = [0.5, 1e-2, 1e-5, 1e-8, 1e-12, 1e-100]
EPSILONS = np.array([0.0, 1e-3, 0.1, 1.0, 10.0])


@pytest.fixture(scope="module")
def exhaustive():
    """Curves by name, each evaluated at all its orders once for the whole module."""
    known = {}

    def get(name):
        if name not in known:
            known[name] = Exhaustive(*CURVES[name])
        return known[name]

    return get


def check_to_epsilon(curve, delta, rounds):
    found = rdp.to_epsilon(curve, delta=delta, rounds=rounds)
    assert found.value.shape == found.order.shape == found.on_edge.shape == rounds.shape
    for index, value in np.ndenumerate(found.value):
        low, high, size = curve.epsilon(delta, rounds[index])
        assert value <= max(high, 0.0) + LEMMA1 * size
        assert value >= max(low, 0.0) - LEMMA1 * size
        assert found.on_edge[index] == (found.order[index] == 2)
    return found


def check_to_delta(curve, eps, rounds):
    found = rdp.to_delta(curve, eps=eps, rounds=rounds)
    assert found.value.shape == np.broadcast_shapes(eps.shape, rounds.shape)
    for index, value in np.ndenumerate(found.value):
        low, high, size = curve.log_delta(np.broadcast_to(eps, found.value.shape)[index], rounds[index[0], 0])
        if low < -700:  # where delta underflows
            assert value <= math.exp(max(high, -745) + LEMMA1 * size)
        else:
            assert min(low, 0.0) - LEMMA1 * size <= math.log(value) <= min(high, 0.0) + LEMMA1 * size
        assert found.on_edge[index] == (found.order[index] == 2)
    return found


@over_curves
@pytest.mark.few(10)
def test_to_epsilon_against_all_orders(exhaustive, name):
    for delta in DELTAS:
        check_to_epsilon(exhaustive(name), delta, ROUNDS)


@over_curves
@pytest.mark.few(10)
def test_to_delta_against_all_orders(exhaustive, name):
    found = check_to_delta(exhaustive(name), EPSILONS, ROUNDS.reshape(-1, 1))
    assert (np.diff(found.value, axis=1) <= 0).all()


@pytest.mark.parametrize(
    "name", ["gaussian-1e-4", "gaussian-0.02", "laplace", "upper-2", "lower-0.5", "ccs-weak"]
)
def test_the_order_reported_gives_the_epsilon_reported(exhaustive, name):
    """Curves that are convex where it counts."""
    curve, delta = exhaustive(name), 1e-5
    found = rdp.to_epsilon(curve, delta=delta, rounds=ROUNDS)
    at_order = ROUNDS * curve.g_on_hull(found.order) / (found.order - 1) + paid(found.order, delta)
    assert found.value == pytest.approx(at_order, rel=1e-10)


@pytest.mark.parametrize("name", INFINITE)
def test_curves_that_become_infinite(name):
    curve = Exhaustive(INFINITE[name], 2000)
    for delta in (1e-2, 1e-3, 1e-8):
        check_to_epsilon(curve, delta, ROUNDS)
    check_to_delta(curve, EPSILONS, ROUNDS.reshape(-1, 1))


@over_curves
@pytest.mark.parametrize("rounds", [1, 300])
@pytest.mark.few(14)
def test_delta_at_the_converted_epsilon(exhaustive, name, rounds):
    curve = exhaustive(name)
    for delta in (1e-2, 1e-5, 1e-12):
        eps = rdp.to_epsilon(curve, delta=delta, rounds=rounds).value
        back = rdp.to_delta(curve, eps=eps, rounds=rounds)
        if eps > 0:
            assert math.log(back.value) == pytest.approx(math.log(delta), rel=1e-9, abs=LEMMA1 * back.order)
        else:
            assert back.value <= delta


@pytest.mark.parametrize("name", SYNTHETIC)
@pytest.mark.parametrize(("delta", "rounds"), [(1e-9, 1), (1e-2, 7), (1e-5, 10**5)])
def test_to_epsilon_is_best_of_a_million_orders(name, delta, rounds):
    orders = np.arange(2.0, MAX_ORDER + 1)
    by_order = rounds * SYNTHETIC[name](orders) + paid(orders, delta)
    best = int(np.argmin(by_order))
    size = rounds * SYNTHETIC[name](orders[best]) + math.log(orders[best] / delta) / (orders[best] - 1)
    assert rdp.to_epsilon(SYNTHETIC[name], delta=delta, rounds=rounds).value <= (
        max(by_order[best], 0.0) + LEMMA1 * size
    )


@pytest.mark.parametrize(
    ("slope", "delta", "start", "width"),
    [
        (1e-5, 1e-6, 1000, 40),
        (1e-5, 1e-6, 1090, 200),
        (1e-6, 1e-6, 2300, 600),
    ],
)
def test_to_epsilon_finds_the_end_of_a_plateau(slope, delta, start, width):
    """A bound that rises in proportion to the order but for one plateau and the jump after it, so that it is
    not convex: the plateau's end is better than anything around it. (One narrower than the distance of the
    orders asked first, a sixteenth of an octave, may be missed: no bound of the library has one.)"""

    def curve(orders):
        orders = np.asarray(orders)
        return slope * np.where((orders >= start) & (orders <= start + width), start, orders)

    orders = np.arange(2.0, 20000.0)
    by_order = curve(orders) + paid(orders, delta)
    assert abs(orders[np.argmin(by_order)] - start - width) <= width / 2
    assert rdp.to_epsilon(curve, delta=delta).value <= np.min(by_order) * (1 + LEMMA1)


@pytest.mark.parametrize("slope", [1e-6, 1e-3, 0.05])
def test_chords_cost_little_where_the_true_curve_is_known(slope):
    """The Gaussian's curve holds at real orders too: the chords between whole ones may cost 0.1 % at most
    from order 10 on, and never gain."""
    for delta in (1e-5, 1e-10):
        found = rdp.to_epsilon(gaussian(slope), delta=delta)
        truth = minimum_on_grid(lambda orders, d=delta: slope * orders + paid(orders, d), 1.001, 1e6)
        assert found.order > 10
        assert truth * (1 - LEMMA1) <= found.value <= truth * 1.001


@pytest.mark.parametrize(
    ("curve", "delta", "rounds", "order", "on_edge"),
    [
        (gaussian(1e-14), 1e-8, 1, MAX_ORDER, True),
        (SYNTHETIC["constant"], 1e-8, 1, MAX_ORDER, True),
        (gaussian(10.0), 1e-3, 10**4, 2, True),
        (INFINITE["beyond-2"], 1e-3, 1, 2, True),
        (INFINITE["beyond-3"], 1e-3, 1, 3, False),
        (SYNTHETIC["step"], 1e-8, 1, 1237, False),
        (SYNTHETIC["kink-at-order-7.5"], 1e-8, 30, 7, False),
    ],
)
def test_order_and_edge(curve, delta, rounds, order, on_edge):
    found = rdp.to_epsilon(curve, delta=delta, rounds=rounds)
    assert (round(found.order), found.on_edge) == (order, on_edge)
    assert rdp.to_delta(curve, eps=found.value, rounds=rounds).on_edge == on_edge


def test_constant_curve_has_its_optimum_at_one_over_delta():
    found = rdp.to_epsilon(SYNTHETIC["constant"], delta=1e-3, rounds=5)
    assert found.order == pytest.approx(1000, abs=1)
    assert not found.on_edge


def test_no_rounds_and_no_finite_order():
    nothing = rdp.to_epsilon(gaussian(1.0), delta=1e-8, rounds=0)
    assert (nothing.value, nothing.order, nothing.on_edge) == (0.0, math.inf, False)
    assert rdp.to_delta(gaussian(1.0), eps=0.3, rounds=0).value == 0.0
    assert rdp.to_epsilon(up_to(1, gaussian(1.0)), delta=1e-8).value == math.inf
    assert rdp.to_delta(up_to(1, gaussian(1.0)), eps=5.0).value == 1.0


# Theorem 1 at n = 1e6, k = 1e3, delta = 1e-8: where orders range from 2 to the hundreds


@pytest.mark.parametrize(
    ("eps0", "rounds", "expected", "order", "on_edge"),
    [
        (2.0, 10**5, 1.04022, 28, False),
        (2.0, 10**6, 3.37883, 10, False),
        (2.0, 10**7, 11.95805, 4, False),
        (2.0, 10**9, 342.001, 2, True),
        (1.0, 1000, 0.027129, 732, False),
    ],
)
def test_best_order_of_theorem1(eps0, rounds, expected, order, on_edge):
    """The expected values are those of the best whole order; chords may gain up to 1 % at the small ones."""

    def curve(orders):
        return rdp.girgis2021_upper(orders, n=10**6, k=10**3, eps0=eps0)

    near = [whole for whole in range(order - 3, order + 4) if whole >= 2]
    by_order = [
        float(exact.lemma1(whole, exact.theorem1(whole, 10**6, 10**3, eps0), rounds, 1e-8)) for whole in near
    ]
    assert near[int(np.argmin(by_order))] == order
    assert min(by_order) == pytest.approx(expected, rel=2e-5)
    found = rdp.to_epsilon(curve, delta=1e-8, rounds=rounds)
    assert 0.99 * min(by_order) <= found.value <= min(by_order) * (1 + ORACLE)
    assert abs(found.order - order) <= 1
    assert found.on_edge == on_edge


def test_best_order_beyond_a_hundred_thousand():
    """One round: whole orders around the best, and a geometric grid over all."""

    def curve(orders):
        return rdp.girgis2021_upper(orders, n=10**6, k=10**3, eps0=0.3)

    found = rdp.to_epsilon(curve, delta=1e-8)
    assert 1e5 < found.order < 2e5
    centre = round(found.order)
    near = np.arange(centre - 100.0, centre + 101)
    far = np.unique(np.geomspace(2, MAX_ORDER, 300).round())
    for orders in (near, far):
        assert found.value <= np.min(curve(orders) + paid(orders, 1e-8)) * (1 + ORACLE)
    assert found.value >= np.min(curve(near) + paid(near, 1e-8)) * (1 - 1e-6)


# Not those of wang2019, which take seconds at such eps0.
CAPPED = ["girgis2021-upper", "feldman2021-strong", "feldman2021-strong-noamp", "unshuffled-strong"]


@pytest.mark.parametrize("name", CAPPED)
@pytest.mark.parametrize(
    ("eps0", "expected"), [(400.0, "393.0922"), (800.0, "793.0922"), (1.0, "0.001716807")]
)
def test_accountants_are_capped_by_pure_dp(name, eps0, expected):
    """One round: at most log(1 + gamma (e^eps0 - 1)), however little the local randomiser hides."""
    cap = exact.subsample(eps0, 0.0, 1e-3)[0]
    assert exact.mp.nstr(cap, 7) == expected
    value = accountants.epsilon(name, n=10**6, k=10**3, eps0=eps0, rounds=1, delta=1e-8)
    assert 0 < value <= cap * (1 + number(1e-14))


@pytest.mark.parametrize("name", [*CAPPED, "girgis2021ccs-wang2019", "girgis2021ccs-wang2019-loose"])
def test_pure_dp_at_delta_zero(name):
    """Ten rounds, delta = 0: what every accountant can still say."""
    value = accountants.epsilon(name, n=10**6, k=10**3, eps0=2.0, rounds=10, delta=0.0)
    assert_upper(value, 10 * exact.subsample(2.0, 0.0, 1e-3)[0], CLOSED_FORM)
    assert value == pytest.approx(0.0636873, rel=1e-6)


def test_large_delta_costs_nothing():
    assert accountants.epsilon("girgis2021-upper", n=10**6, k=10**3, eps0=0.1, rounds=1, delta=0.5) == 0.0


def test_an_error_of_one_per_cent_is_caught(exhaustive):
    """The limits from both sides are close enough: a value 1 % off is outside them."""
    for name in ("gaussian-1e-4", "upper-2", "capped"):
        low, high, _ = exhaustive(name).epsilon(1e-5, 300)
        assert 0.99 * high < low <= high
