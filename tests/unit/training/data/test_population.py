"""Clients who hold images drawn with replacement: the law, and that nothing is kept of them."""

import numpy as np
import pytest
from scipy import stats

from shuffledp.training.data.population import Bootstrap

LEAST = 1e-6  # probability of a chi-square statistic


def test_the_generator_is_splitmix64():
    """The published first outputs for seed 1234567."""
    of = Bootstrap(images=2**62, seed=0)
    of._key = np.array([1234567], dtype=np.uint64)
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert of(np.arange(4)).tolist() == [value % 2**62 for value in expected]


@pytest.mark.parametrize("images", [10, 977])
def test_images_are_drawn_uniformly_and_independently(images):
    clients = np.arange(200_000)
    held = Bootstrap(images=images, seed=3)(clients)
    assert held.min() >= 0
    assert held.max() < images
    assert stats.chisquare(np.bincount(held, minlength=images)).pvalue > LEAST
    few = held * 7 // images  # of neighbouring clients, in a table of 7 by 7
    table = np.bincount(7 * few[::2] + few[1::2], minlength=49).reshape(7, 7)
    assert stats.chi2_contingency(table).pvalue > LEAST
    assert stats.chisquare(np.bincount(clients % images)).pvalue > 0.99, "and a list in turn is told apart"


def test_a_client_holds_the_same_image_whoever_else_comes():
    of, again = (Bootstrap(images=60_000, seed=1) for _ in range(2))
    clients = np.array([3, 9_999_999, 5])
    assert of(clients).tolist() == [int(again(clients[[one]])[0]) for one in range(3)]
    other = Bootstrap(images=60_000, seed=2)
    assert (of(np.arange(100)) != other(np.arange(100))).sum() > 90
