"""The log-normal law is rounded to a lattice in convex order."""

import mpmath
import numpy as np
import pytest

from shuffledp.distributions.lognormal import MASS_ERROR, LogNormal, convex, rounded_down, rounded_up


@pytest.mark.parametrize("sigma", [0.3, 0.8, 2.0, 10.0])
@pytest.mark.parametrize("step", [0.003, 0.02, 0.3])
def test_one_term_is_rounded_in_convex_order(sigma, step):
    """Prices on the rounded terms lie on both sides of the exact ones, and masses and means are kept."""
    law = LogNormal(sigma)
    first, last = 8 * step, 800 * step
    index = np.arange(8, 801)
    exact_mass = law.below(last) - law.below(first)
    exact_mean = law.mean_below(last) - law.mean_below(first)
    above = rounded_up(law, index, step=step, anchor=0.0)
    below = rounded_down(law, index, start=first, step=step, anchor=0.0)
    for rounded in (above, below):
        assert rounded.mass.sum() == pytest.approx(exact_mass, abs=1e-14)
        assert rounded.mass @ (step * rounded.index) == pytest.approx(exact_mean, abs=1e-13)
        assert (rounded.mass > 0).all()
    for strike in np.linspace(first, last, 177).tolist():
        value = law.call(strike)[0] - law.call(last)[0] - (last - strike) * law.above(last)
        low, high = (
            float(rounded.mass @ np.maximum(step * rounded.index - strike, 0.0)) for rounded in (below, above)
        )
        assert low <= value + 1e-14
        assert high >= value - 1e-14


@pytest.mark.parametrize("sigma", [0.3, 5.0, 100.0, 1000.0])
@pytest.mark.parametrize("change", [0.5, 4.0, 18.0, 50.0])  # of the log density in the cell
def test_parts_of_cells_have_all_their_digits(sigma, change):
    """Against 60 digits; the two parts of a cell nearly cancel where sigma is large."""
    law = LogNormal(sigma)

    def above(y, moved):
        z = sigma * mpmath.log(y) + 1 / (2 * mpmath.mpf(sigma)) - moved
        return mpmath.erfc(z / mpmath.sqrt(2)) / 2

    with mpmath.workdps(60):
        for z in (0.5, 2.0, 4.0, 6.0, 10.0):
            edges = law.value(np.array([z, (z + np.sqrt(z * z + 4 * change)) / 2]))
            step = float(edges[1] - edges[0])
            found = rounded_up(law, np.array([0, 1]), step=step, anchor=float(edges[0]))
            low, high = mpmath.mpf(float(edges[0])), mpmath.mpf(float(edges[0] + step))
            mass, mean = (above(low, moved) - above(high, moved) for moved in (0, 1 / mpmath.mpf(sigma)))
            exact = (high * mass - mean) / (high - low), (mean - low * mass) / (high - low)
            assert np.abs(found.mass / np.array(exact, dtype=float) - 1).max() < 4 * MASS_ERROR


def test_a_law_in_one_cell_cannot_be_rounded_down():
    law = LogNormal(50.0)
    nothing = rounded_down(law, np.arange(0, 6), start=0.0, step=0.7, anchor=0.0)
    assert nothing.index.size == 0


def test_convex_minorant():
    """Against the lower hull of the points, edge by edge."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        points = np.sort(rng.uniform(0, 1, 40))
        values = (points - 0.5) ** 2 + 0.02 * rng.normal(size=40)
        slopes = np.diff(values) / np.diff(points)
        changes = np.diff(slopes, prepend=slopes.min() - 1, append=slopes.max() + 1)

        def share(before, left_out, after, points=points):
            return (points[left_out] - points[before]) / (points[after] - points[before])

        kept, mass = convex(changes, share)
        hull = []
        for i in range(points.size):
            while len(hull) > 1 and (values[hull[-1]] - values[hull[-2]]) * (
                points[i] - points[hull[-1]]
            ) >= (values[i] - values[hull[-1]]) * (points[hull[-1]] - points[hull[-2]]):
                hull.pop()
            hull.append(i)
        assert kept.tolist() == hull
        assert mass.sum() == pytest.approx(changes.sum())
        assert mass @ points[kept] == pytest.approx(changes @ points)


def test_no_convex_function_lies_below_a_concave_end():
    with pytest.raises(ArithmeticError, match="not convex"):
        convex(np.array([-1.0, 1.0, 1.0]), lambda before, left_out, after: 0.5 * np.ones(left_out.size))
