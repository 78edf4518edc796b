"""Rounds of several pairs on lattices of one common step, so that their losses can be composed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal

from shuffledp import numerics
from shuffledp.pld.composition import Composition
from shuffledp.pld.gaussian import gaussian_lattice, gaussian_outcomes, gaussian_step
from shuffledp.pld.outcomes import (
    POINTS_PER_DEVIATION,
    Lattice,
    Outcomes,
    connect_the_dots,
    lattice_step,
    merge_to_lattice,
)

_COARSER = 8  # how often the step may be quadrupled where the sum spreads over too many lattice points
# If the sum of all losses has fewer than _FEW_POINTS lattice points, the steps are divided by up to _FINEST.
_FEW_POINTS, _FINEST = 2**14, 2**9
_BELOW = 1e-12
# A step that is fine enough for the sum is used if it is more than this multiple of the pair's own step.
_COARSE = 4.0


def compositions(
    pairs: Sequence[tuple[Outcomes, int]], *, mu: float, nats: float, bound: Literal["upper", "lower"]
) -> Iterator[tuple[Composition, bool]]:
    """Yield compositions of rounds of several pairs and Gaussian noise, the first on the finest lattice.

    The step of each pair is a multiple of the smallest step. With each composition comes whether all steps
    are as fine as for each pair alone; if not, basic composition may give a smaller epsilon.

    Args:
        pairs: outcomes of one round, and the number of such rounds.
        mu: of all Gaussian noise together, as for ``gaussian_lattice``; 0 for none.
        nats: losses of the noise that are rarer than e^-nats are left out.
        bound: "upper": each pair is rounded to one that dominates it; "lower": to one that it dominates.
    """
    own, fine = _steps(pairs, mu)
    if not own:
        yield Composition([], bound=bound), True
        return
    rounded = {"upper": connect_the_dots, "lower": merge_to_lattice}[bound]
    span = sum(float(abs(pair.loss).max()) * count for pair, count in pairs) + mu * mu + mu
    finer = min(max(_FEW_POINTS * min(own) / span, 1.0), _FINEST) if span > 0 else 1.0
    # where outcomes are merged, the largest loss must not lie below a lattice point by rounding
    finer = 2 ** math.floor(math.log2(finer)) * (1.0 if bound == "upper" else 1 + _BELOW)
    own = [step / finer for step in own]
    for coarser in range(_COARSER):
        base = min(own) * 4**coarser
        steps = [base * max(math.floor(step / base * (1 + numerics.OUTWARD)), 1) for step in own]
        phases = [
            (rounded(pair, step=step), count) for (pair, count), step in zip(pairs, steps, strict=False)
        ]
        if mu and bound == "upper":
            phases.append((gaussian_lattice(mu=mu, step=steps[-1], nats=nats), 1))
        elif mu:
            phases.append((merge_to_lattice(gaussian_outcomes(mu=mu, nats=nats), step=steps[-1]), 1))
        phases = [(_on_step(lattice, base), count) for lattice, count in phases]
        yield Composition(phases, bound=bound), fine and coarser == 0


def _steps(pairs: Sequence[tuple[Outcomes, int]], mu: float) -> tuple[list[float], bool]:
    """Return a step for each pair and for the noise, and whether each is the pair's own step. The other
    choice is a coarser step that is fine enough for the sum.

    Rounding adds up to a sixth of the step's square to the variance of a loss that is not 0.
    """
    own = [lattice_step(pair) for pair, _ in pairs] + ([gaussian_step(mu)] if mu else [])
    squares = [float(pair.mass @ pair.loss**2) * count for pair, count in pairs] + ([mu * mu] if mu else [])
    moving = [float(pair.mass[pair.loss != 0].sum()) * count for pair, count in pairs] + ([1.0] if mu else [])
    share = math.sqrt(sum(squares) / max(len(own), 1)) / POINTS_PER_DEVIATION
    enough = [share / math.sqrt(some) if some > 0 else math.inf for some in moving]
    # a step of its own puts the largest loss of a pair on the lattice
    taken = [
        coarse if coarse > _COARSE * step and math.isfinite(coarse) else step
        for step, coarse in zip(own, enough, strict=True)
    ]
    return taken, taken == own


def _on_step(lattice: Lattice, step: float) -> Lattice:
    """Return the lattice with indices in units of ``step``, of which its own step is a multiple."""
    return Lattice(step, lattice.index * round(lattice.step / step), lattice.mass, lattice.infinite)
