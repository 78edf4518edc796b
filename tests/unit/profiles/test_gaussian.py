"""The analytic Gaussian mechanism against mpmath, and against what its definition asks."""

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.profiles.gaussian import gaussian_delta, gaussian_noise

EPS = [0.0, 0.1, 1.0, 2.0, 8.0, 100.0]
NOISE = [0.02, 0.1, 0.5, 1.0, 5.0]
DELTAS = [1e-30, 1e-12, 10**-10.5, 1e-5, 0.5, 0.99]

every = settings(deadline=None, max_examples=60, derandomize=True, database=None)


def exact(eps, noise):
    """Theorem 8 of Balle and Wang 2018 at 80 digits."""
    with mpmath.workdps(80):
        eps, noise = mpmath.mpf(eps), mpmath.mpf(noise)
        half = 1 / (2 * noise)
        return mpmath.ncdf(half - eps * noise) - mpmath.exp(eps) * mpmath.ncdf(-half - eps * noise)


@pytest.mark.parametrize("eps", EPS)
@pytest.mark.parametrize("noise", NOISE)
def test_delta_is_an_upper_bound_and_accurate(eps, noise):
    true, found = exact(eps, noise), gaussian_delta(eps=eps, noise=noise)
    assert found >= true or found == 1.0
    assert found - true <= 2e-13
    if eps >= 0.1 and true >= 1e-30:
        assert found <= true * (1 + mpmath.mpf(1e-10))


def test_delta_is_the_integral_of_what_one_density_exceeds_the_other_by():
    eps, noise = 1.5, 0.7
    with mpmath.workdps(30):

        def excess(z):
            one, other = mpmath.npdf(z, 1, noise), mpmath.npdf(z, 0, noise)
            return max(one - mpmath.exp(eps) * other, 0)

        start = noise**2 * eps + mpmath.mpf(1) / 2  # where the densities' ratio is e^eps
        integral = mpmath.quad(excess, [start, 2, 4, 10])
    assert gaussian_delta(eps=eps, noise=noise) == pytest.approx(float(integral), rel=1e-10)


@pytest.mark.parametrize("eps", EPS[1:])
@pytest.mark.parametrize("delta", DELTAS)
def test_the_noise_is_enough_and_no_less_would_be(eps, delta):
    noise = gaussian_noise(eps=eps, delta=delta)
    assert exact(eps, noise) <= delta
    assert exact(eps, noise * (1 - 1e-9)) > delta


def test_published_value():
    """The classical calibration sqrt(2 log(1.25/delta))/eps needs more (Balle and Wang 2018, section 2)."""
    noise = gaussian_noise(eps=1.0, delta=1e-5)
    assert noise == pytest.approx(3.730632, rel=1e-6)
    assert noise < mpmath.sqrt(2 * mpmath.log(1.25e5))


@every
@given(eps=st.floats(0.01, 50), delta=st.floats(1e-12, 0.9), more=st.floats(1.01, 3))
def test_more_privacy_takes_more_noise(eps, delta, more):
    least = gaussian_noise(eps=eps, delta=delta)
    assert gaussian_noise(eps=eps * more, delta=delta) < least
    assert gaussian_noise(eps=eps, delta=delta / more) > least
    assert gaussian_delta(eps=eps, noise=least) == pytest.approx(delta, rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eps": -1.0, "delta": 0.1}, "eps must be a finite number >= 0"),
        ({"eps": 2e6, "delta": 0.1}, "eps must be at most"),
        ({"eps": 1.0, "delta": 0.0}, r"delta must lie in \(0, 1\)"),
        ({"eps": 1.0, "delta": 1e-305}, "delta must be at least 1e-300"),
        ({"eps": 0.0, "delta": 1e-300}, "must not both be next to 0"),
    ],
)
def test_what_has_no_noise_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        gaussian_noise(**arguments)
    with pytest.raises(ValueError, match="noise must be a finite number > 0"):
        gaussian_delta(eps=1.0, noise=0.0)
