"""Privacy profiles (the hockey-stick divergence at every eps), and the dominating pairs behind them."""

from shuffledp.profiles.clones import clones
from shuffledp.profiles.gaussian import gaussian_epsilon
from shuffledp.profiles.inversion import to_epsilon
from shuffledp.profiles.krr import krr
from shuffledp.profiles.randomized_response import randomized_response_lower
from shuffledp.profiles.shuffled_gaussian import (
    shuffled_gaussian,
    shuffled_gaussian_epsilon,
    shuffled_gaussian_outcomes,
)
from shuffledp.profiles.subsampling import Profile, subsampled

__all__ = [
    "Profile",
    "clones",
    "gaussian_epsilon",
    "krr",
    "randomized_response_lower",
    "shuffled_gaussian",
    "shuffled_gaussian_epsilon",
    "shuffled_gaussian_outcomes",
    "subsampled",
    "to_epsilon",
]
