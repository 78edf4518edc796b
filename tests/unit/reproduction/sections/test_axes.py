"""Points along an axis: how they are spaced, and that none is out of range."""

import mpmath
import numpy as np
import pytest

from shuffledp.reproduction import config

from ..small_configuration import varying


def test_points_are_spaced_in_ratio_and_end_where_they_should():
    raw = varying("eps0")
    raw["bounds"]["paper"]["fig1"]["panels"]["a"]["x"].update({"from": 0.1, "to": 0.3, "points": 7})
    values = np.array(config.resolve(raw).curves[0].values)
    assert (values[0], values[-1], values.size) == (0.1, 0.3, 7)
    np.testing.assert_allclose(values[1:] / values[:-1], 3 ** (1 / 6), rtol=1e-11)


@pytest.mark.parametrize("bits", [-2, 0, 2])
def test_points_do_not_depend_on_the_last_bits_of_a_power(monkeypatch, bits):
    raw = varying("eps0")
    raw["bounds"]["paper"]["fig1"]["panels"]["a"]["x"].update({"from": 0.02, "to": 4, "points": 31})
    powers = np.geomspace
    monkeypatch.setattr(np, "geomspace", lambda *args: powers(*args) * (1 + bits * np.finfo(float).eps))
    with mpmath.workdps(50):
        first, ratio = mpmath.mpf("0.02"), mpmath.mpf(200) ** (mpmath.mpf(1) / 30)
        exact = [float(mpmath.nstr(first * ratio**step, 12)) for step in range(31)]
    assert list(config.resolve(raw).curves[0].values) == exact, "a product is current on every processor"


@pytest.mark.parametrize("variable", ["n", "k", "rounds"])
def test_points_of_counts_are_whole_and_named_once(variable):
    raw = varying(variable, **({"k": 1} if variable == "n" else {}))
    raw["bounds"]["paper"]["fig1"]["panels"]["a"]["x"].update({"from": 1, "to": 10, "points": 30})
    assert config.resolve(raw).curves[0].values == tuple(map(float, range(1, 11)))


def test_along_epsilon_delta_is_asked_for_and_not_fixed():
    raw = varying("epsilon", delta=None)
    raw["bounds"]["paper"]["fig1"]["delta"] = 1e-8  # holds for panels that take one
    curve = config.resolve(raw).curves[0]
    assert "delta" not in dict(curve.fixed)
    steps = np.diff(curve.values)
    assert steps == pytest.approx(np.full(steps.shape, steps[0])), "equally spaced on a linear axis"
    with pytest.raises(ValueError, match="delta is fixed here and no accountant of the panel takes it"):
        config.resolve(varying("epsilon", delta=1e-6))


@pytest.mark.parametrize(
    ("variable", "first", "last", "says"),
    [
        ("k", 10, 1e7, "k must be at most n, got k up to 1e\\+07"),
        ("n", 10, 1e7, "k must be at most n, got k up to 1000 and n from 10"),
        ("delta", 1e-9, 2, "delta"),
        ("k", 0.1, 10, "k"),  # rounds to 0 clients a round
    ],
)
def test_no_point_of_a_curve_is_out_of_range(variable, first, last, says):
    raw = varying(variable)
    raw["bounds"]["paper"]["fig1"]["panels"]["a"]["x"].update({"from": first, "to": last})
    with pytest.raises(ValueError, match=f"^configuration: .*{says}"):
        config.resolve(raw)
