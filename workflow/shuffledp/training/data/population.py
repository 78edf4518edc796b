"""Populations of more clients than training images, without a list of who holds which. No torch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_OF_IMAGES = 5  # tells these draws of a seed apart from those of rounds, weights and noise


def _mixed(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the output function of splitmix64 (Steele, Lea and Flood 2014): a bijection that scatters."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


class Bootstrap:
    """Clients who hold a training image each, drawn uniformly with replacement: the same one in every round.

    The image of client i is the i-th number of the generator splitmix64 with a key of the run's seed, reduced
    to the number of images. It is computed when the client takes part, and nothing is kept: 10^7 clients cost
    no more memory than those who come to a round.
    """

    def __init__(self, *, images: int, seed: int) -> None:
        """Set up the population of a run.

        Args:
            images: how many there are; far less than 2^32, so that the reduction keeps them equally likely
                (to images/2^64).
            seed: of the run.
        """
        self.images = images
        self._key = np.random.SeedSequence([seed, _OF_IMAGES]).generate_state(1, np.uint64)

    def __call__(self, clients: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the images that clients hold.

        Args:
            clients: their numbers, any shape.
        """
        steps = (clients.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        return (_mixed(self._key + steps) % np.uint64(self.images)).astype(np.int64)
