"""The subsampled shuffle of eps0-LDP reports as a system, and how its accountants are registered."""

from __future__ import annotations

import functools

from shuffledp import checks
from shuffledp.accountants import registry, systems
from shuffledp.approximate_dp.composition import ApproximateDP, subsample


def _basic(setting: systems.Setting) -> ApproximateDP:
    """Return the pure DP of a round: that of one report, for a client who is drawn with probability k/n."""
    return subsample(eps=setting["eps0"], delta=0.0, gamma=setting["k"] / setting["n"])


def _check(setting: systems.Setting) -> None:
    """Refuse rounds of more clients than there are."""
    checks.clients(setting["n"], setting["k"])


SYSTEM = systems.enter(
    systems.System(
        *systems.SUBSAMPLED_SHUFFLE,
        "rounds of k of n clients, drawn afresh, whose eps0-LDP reports are shuffled",
        ("n", "k", "eps0"),
        "clones-joint-pld",
        systems.Neighbours.SUBSTITUTION,
        _basic,
        _check,
    )
)
register = functools.partial(registry.register, protocol=SYSTEM.protocol, mechanism=SYSTEM.mechanism)
