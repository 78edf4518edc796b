"""What a figure of excess risk shows is what its tables and the theorem say."""

import numpy as np
import pandas as pd
import pytest

from shuffledp.convergence import girgis2021_convergence
from shuffledp.reproduction.figures.convergence import draw_convergence

THEOREM = {
    "n": 1000,
    "k": 100,
    "eps0": 2.0,
    "delta": 1e-5,
    "dimension": 785,
    "lipschitz": 16.0,
    "norm": 2.0,
    "diameter": 2.0,
}
ROUNDS = [10, 20, 40]


def run(*excess, rounds=ROUNDS):
    return pd.DataFrame({"round": rounds, "excess_risk": excess})


def test_mean_band_bound_and_privacy_are_drawn():
    figure = draw_convergence([run(0.4, 0.2, 0.1), run(0.6, 0.4, 0.1)], theorem=THEOREM, made="2 seeds, CPU")
    left, right = figure.axes
    stated = girgis2021_convergence(ROUNDS, **THEOREM)
    bound, most, mean = left.lines
    assert set(most.get_ydata()) == {32.0}  # L D
    np.testing.assert_allclose(bound.get_ydata(), stated.excess_risk)
    np.testing.assert_allclose(mean.get_ydata(), [0.5, 0.3, 0.1])
    assert "2 runs" in mean.get_label()
    (band,) = left.collections
    corners = {tuple(point) for point in band.get_paths()[0].vertices.round(9).tolist()}
    assert {(10, 0.4), (10, 0.6), (20, 0.2), (20, 0.4)} <= corners
    np.testing.assert_allclose(right.lines[0].get_ydata(), stated.epsilon)
    for axis in (left, right):
        assert axis.get_xscale() == "log"
        np.testing.assert_array_equal(axis.lines[0].get_xdata(), ROUNDS)
    assert "785" in left.get_title()
    assert left.get_title().endswith("\n2 seeds, CPU")
    assert r"\epsilon_0 = 2" in right.get_title()


def test_the_theorem_is_drawn_beyond_the_runs():
    figure = draw_convergence([run(0.4, 0.2, 0.1)] * 2, theorem=THEOREM, stated_to=1000)
    left, right = figure.axes
    bound, _, mean = left.lines
    assert mean.get_xdata().tolist() == ROUNDS
    for line, column in ((bound, "excess_risk"), (right.lines[0], "epsilon")):
        told = line.get_xdata()
        assert told[:3].tolist() == ROUNDS
        assert told[-1] == 1000
        assert (np.diff(told) > 0).all()
        np.testing.assert_allclose(line.get_ydata(), getattr(girgis2021_convergence(told, **THEOREM), column))
    short = draw_convergence([run(0.4, 0.2, 0.1)] * 2, theorem=THEOREM, stated_to=30)
    assert short.axes[1].lines[0].get_xdata().tolist() == ROUNDS


def test_runs_of_other_lengths_are_refused():
    with pytest.raises(ValueError, match="runs must have the same rounds"):
        draw_convergence([run(0.4, 0.2, 0.1), run(0.4, 0.2, 0.1, rounds=[10, 20, 30])], theorem=THEOREM)
