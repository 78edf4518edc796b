"""Constants of the randomisers against mpmath, and the hard case E3. No torch."""

import math

import mpmath
import pytest

from shuffledp.randomizers import constants

# PrivUnit with cap budget 1, threshold budget 1, g = tanh(1/2) sqrt(pi/(2(d-1))): the length of a message.
E3 = {10: 4.185937, 1000: 42.12211, 1100: 44.17836, 7850: 118.0253}
DIMENSIONS = [2, 3, 10, 13706]
EPS0 = [0.01, 1.0, 2.0, 8.0]


def height_density(dimension):
    """The density of <v, u> for v uniform on the sphere, without its factor."""
    exponent = mpmath.mpf(dimension - 3) / 2
    return lambda t: (1 - t * t) ** exponent


def integrals(dimension, threshold):
    """Share of the cap, and mean of <v, u> over it, by quadrature at 30 digits."""
    density = height_density(dimension)
    width = 12 / mpmath.sqrt(dimension)
    whole = mpmath.quad(density, [-1, -min(1, width), 0, min(1, width), 1])
    above = [threshold, min(1, threshold + width), 1]
    cap = mpmath.quad(density, above) / whole
    moment = mpmath.quad(lambda t: t * density(t), above) / whole
    return cap, moment


@pytest.fixture(autouse=True)
def thirty_digits():
    with mpmath.workdps(30):
        yield


@pytest.mark.parametrize("dimension", E3)
def test_hard_case_e3(dimension):
    threshold = math.tanh(0.5) * math.sqrt(math.pi / (2 * (dimension - 1)))
    scale = constants.privunit_scale(
        dimension=dimension, threshold=threshold, cap_probability=math.e / (1 + math.e)
    )
    assert scale == pytest.approx(E3[dimension], rel=5e-7)


@pytest.mark.parametrize("z", [0.5, 1.0, 5.0, 63.9, 64.0, 6853.0, 1e9])
def test_half_step(z):
    exact = mpmath.gammaprod([mpmath.mpf(z) + 0.5], [z])
    assert constants.half_step(z) == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("eps0", EPS0)
def test_hemisphere_has_the_input_for_a_mean(dimension, eps0):
    _, moment = integrals(dimension, 0)
    toward = mpmath.exp(eps0) / (1 + mpmath.exp(eps0))
    mean = 2 * moment * (toward - (1 - toward))
    assert constants.hemisphere_scale(dimension=dimension, eps0=eps0) == pytest.approx(
        float(1 / mean), rel=1e-12
    )


@pytest.mark.parametrize("dimension", [10, 13706])
@pytest.mark.parametrize("eps0", EPS0)
def test_privunit_is_private_and_has_the_input_for_a_mean(dimension, eps0):
    found = constants.privunit(dimension=dimension, eps0=eps0)
    cap, moment = integrals(dimension, mpmath.mpf(found.threshold))
    assert found.cap == pytest.approx(float(cap), rel=1e-12)
    rest = mpmath.mpf(found.rest_probability)
    ratio = ((1 - rest) / cap) / (rest / (1 - cap))
    assert float(mpmath.log(ratio)) == pytest.approx(eps0, rel=1e-11)
    mean = (1 - rest) * moment / cap - rest * moment / (1 - cap)
    assert found.scale == pytest.approx(float(1 / mean), rel=1e-11)


@pytest.mark.parametrize("dimension", [2, 10, 13706])
@pytest.mark.parametrize("eps0", EPS0)
def test_no_other_cap_does_better(dimension, eps0):
    best = constants.privunit(dimension=dimension, eps0=eps0)
    for factor in (0.0, 0.5, 0.9, 1.1, 1.5):
        threshold = min(best.threshold * factor, 0.999)
        cap = constants.cap_measure(dimension=dimension, threshold=threshold)
        inside = 1 / (1 + math.exp(-eps0) * (1 - cap) / cap)
        other = constants.privunit_scale(dimension=dimension, threshold=threshold, cap_probability=inside)
        assert other > best.scale
    assert best.scale < constants.hemisphere_scale(dimension=dimension, eps0=eps0)


def test_a_cap_that_no_double_holds_is_refused():
    assert constants.privunit(dimension=13706, eps0=600).scale > 1
    with pytest.raises(ValueError, match="eps0"):
        constants.privunit(dimension=3, eps0=200)
