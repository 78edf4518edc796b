"""Random draws by the million, of exact probabilities."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shuffledp.checks import BoolArray

_WORD = 2**16  # an event is drawn with as many digits as decide it: mostly these


def check_generator(rng: object) -> np.random.Generator:
    """Return ``rng`` if it is one of numpy's generators.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng must be a numpy.random.Generator, got {rng!r}; make one by default_rng(seed)")
    return rng


def rare(probability: float, shape: tuple[int, ...], *, rng: np.random.Generator) -> BoolArray:
    """Draw independent events of one probability, rounded up to a multiple of 2^-69.

    Randomisers put the outcome here that the true record makes less likely. Being rounded up it is never too
    rare, so that the ratio of likely to unlikely stays at most e^eps0 for every eps0.

    Args:
        probability: in [0, 1].
        shape: of what is returned.
        rng: source of all randomness.
    """
    count = math.prod(shape)
    words = rng.integers(0, 2**64 - 1, size=-(-count // 4), dtype=np.uint64, endpoint=True)
    digits = words.view(np.uint16)[:count]
    first, rest = divmod(probability * _WORD, 1.0)  # exact: a power of two
    events = digits < first
    if rest > 0:
        tied = np.flatnonzero(digits == first)
        events[tied] = rng.random(tied.size) < rest
    return events.reshape(shape)


def shuffle(messages: NDArray[np.generic], *, rng: np.random.Generator) -> NDArray[np.generic]:
    """Return the messages in a uniformly random order.

    Args:
        messages: one message a row, as ``Oracle.privatize`` returns them.
        rng: source of all randomness.

    Raises:
        ValueError: ``rng`` is not one of numpy's generators.
    """
    return check_generator(rng).permutation(messages, axis=0)
