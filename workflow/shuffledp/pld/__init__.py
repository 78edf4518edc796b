"""Privacy loss distributions: dominating pairs on a lattice, composed with certified error bounds."""

from shuffledp.pld.composition import Composition
from shuffledp.pld.contour import ErrorBudget
from shuffledp.pld.outcomes import (
    Lattice,
    Outcomes,
    connect_the_dots,
    dominating,
    merge_to_lattice,
    renyi_divergence,
    renyi_divergences,
)

__all__ = [
    "Composition",
    "ErrorBudget",
    "Lattice",
    "Outcomes",
    "connect_the_dots",
    "dominating",
    "merge_to_lattice",
    "renyi_divergence",
    "renyi_divergences",
]
