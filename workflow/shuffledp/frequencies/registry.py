"""The frequency oracles by the accountants' names of their randomisers."""

from __future__ import annotations

from typing import Any

from shuffledp import checks
from shuffledp.frequencies.base import Oracle, check_categories
from shuffledp.frequencies.hadamard import HadamardResponse
from shuffledp.frequencies.hashing import LocalHashing, PublicHashing
from shuffledp.frequencies.krr import KRR
from shuffledp.frequencies.subset_selection import SubsetSelection
from shuffledp.frequencies.unary import OUE, RAPPOR

_CLASSES: tuple[type[Oracle], ...] = (
    KRR,
    SubsetSelection,
    LocalHashing,
    PublicHashing,
    HadamardResponse,
    OUE,
    RAPPOR,
)
# What each takes besides eps0 and categories.
_PARAMETERS = {
    **{one.name: () for one in _CLASSES},
    "subset-selection": ("subset",),
    "local-hashing": ("cells",),
    "public-hashing": ("cells", "hash_seed"),
}
NAMES = tuple(_PARAMETERS)


def create(randomizer: str, *, eps0: float, categories: int, **parameters: Any) -> Oracle:
    """Make a frequency oracle.

    Args:
        randomizer: one of ``NAMES``, as the accountants name it.
        eps0: local privacy parameter, > 0 (nats).
        categories: how many categories there are, a whole number >= 2.
        parameters: ``subset`` of subset selection, 1 <= subset < categories; ``cells`` of local and public
            hashing, >= 2, of which the former has the least errors with about e^eps0 + 1; ``hash_seed`` of
            public hashing, >= 0, which is published.

    Raises:
        ValueError: there is no such oracle, or a parameter is missing, not its own or out of range.
    """
    checks.choice("randomizer", randomizer, NAMES)
    wanted = _PARAMETERS[randomizer]
    for key in wanted:
        if key not in parameters:
            raise ValueError(f"randomizer {randomizer!r} needs {key}, got {parameters or 'none'}; give {key}")
    for key, value in parameters.items():
        if key not in wanted:
            takes = ", ".join(("eps0", "categories", *wanted))
            raise ValueError(f"randomizer {randomizer!r} takes {takes}, got {key}={value!r}; leave {key} out")
    made = next(one for one in _CLASSES if one.name == randomizer)
    return made(eps0=checks.positive("eps0", eps0), categories=check_categories(categories), **parameters)
