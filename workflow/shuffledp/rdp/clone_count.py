"""How many of k reports hide a client, in the bounds of girgis2021 and girgis2021ccs.

A clone is a report that is drawn like the one of the client whose record differs. Each report of another
client is a clone with probability e^-eps0 at least.
"""

from __future__ import annotations

import math

from shuffledp import numerics


def half_the_clones(k: int, eps0: float) -> int:
    """Return floor((k - 1) / (2 e^eps0)) + 1, never above its exact value although e^eps0 is rounded."""
    return math.floor((k - 1) / 2 * math.exp(-eps0) * (1 - 8 * numerics.EPSILON)) + 1


def log_fewer_clones(k: int, eps0: float) -> float:
    """Return the logarithm of the Chernoff bound on seeing fewer than half the expected clones."""
    return -(k - 1) / 8 * math.exp(-eps0)
