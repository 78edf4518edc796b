"""What a figure of Monte Carlo estimates shows is what its tables say."""

import numpy as np
import pandas as pd

from shuffledp.profiles import shuffled_gaussian
from shuffledp.reproduction.figures.simulation import draw_simulation

EPS = np.array([0.1, 0.2, 0.3])


def test_estimates_stand_beside_the_exact_values_and_over_them():
    exact = np.asarray(shuffled_gaussian(EPS, n=2, sigma=2.0, direction="forward", bound="upper"))
    common = {"n": 2, "sigma": 2.0, "epsilon": EPS, "standard_error": 0.1 * exact, "points": 1e4}
    factors = {"uniform": 1.0, "zeros": 1.1, "one": 1.25}
    table = pd.concat(
        [pd.DataFrame({**common, "sampling": name, "estimate": by * exact}) for name, by in factors.items()],
        ignore_index=True,
    )
    figure = draw_simulation([table])
    left, middle, right = figure.axes
    np.testing.assert_allclose(np.asarray(left.containers[0][0].get_ydata(), dtype=float), exact)
    points, _, bars = middle.containers[0]
    np.testing.assert_allclose(np.asarray(points.get_ydata(), dtype=float), 1.25)
    ends = np.array([segment[:, 1] for segment in bars[0].get_segments()], dtype=float)
    np.testing.assert_allclose(ends, [[1.05, 1.45]] * 3)  # two standard errors
    assert [axis.get_yscale() for axis in figure.axes] == ["log", "linear", "log"]
    for line in right.get_lines()[:3]:
        np.testing.assert_allclose(np.asarray(line.get_ydata(), dtype=float), 0.1)
    assert right.get_ylim()[1] > 10 * 0.1  # the legend is above the curves
