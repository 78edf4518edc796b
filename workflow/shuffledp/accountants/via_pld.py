"""What the accountants that compose privacy loss distributions have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from shuffledp import numerics
from shuffledp.accountants.registry import Columns
from shuffledp.checks import FloatArray
from shuffledp.pld.composition import Composition
from shuffledp.pld.contour import LatticeTooFineError
from shuffledp.pld.outcomes import Lattice, Outcomes, connect_the_dots, lattice_step, listed_rounds
from shuffledp.profiles.inversion import Bound, outcomes_epsilon, to_epsilon
from shuffledp.profiles.subsampling import Profile

# What is left out in all rounds is e^-_SPARE of delta; a step of nats keeps pairs apart from each other.
_SPARE, _STEP, _MOST = 14.0, 30.0, 600.0

# Shares of delta that rounds are tried with, where the rest is left to strong composition.
SHARES = (0.01, 0.03, 0.1, 0.3, 0.5, 0.9)

# Epsilon at which what reports of another law may add to delta has settled: relative steps, and how many.
_SETTLED, _MOST_STEPS = 1e-9, 100

# Outcomes of several rounds that are listed one by one, and what of delta may be left out then.
_MOST_LISTED, _RARE = 2**19, 1e-8

# Single losses matter in the sum of so few rounds, and the step is so many times finer.
_FEW, _FINER = 32, 16

# How often the step may be quadrupled where the sum spreads over too many lattice points, or errors take more
# than this share of delta.
_COARSER, _TELLING = 14, 0.01

# Outside, ratios of probabilities or their squares are not representable; nothing is claimed but what pure DP
# gives.
SMALLEST_EPS0, LARGEST_EPS0 = 1e-100, 300.0


def needed_nats(rounds: FloatArray, delta: float, *, step: float) -> float:
    """Return how far below the rest outcomes may be left out in all rounds, a multiple of ``step``."""
    needed = _SPARE + math.log(max(float(rounds.max(initial=1.0)), 1.0)) - math.log(delta)
    return step * math.ceil(needed / step)


def nats(rounds: FloatArray, delta: float) -> float:
    """Return how far below the rest an outcome may be left out, within what the pairs support."""
    return min(max(needed_nats(rounds, delta, step=_STEP), numerics.NEGLIGIBLE), _MOST)


def columns(
    pairs: Sequence[Outcomes],
    *,
    rounded: Callable[..., Lattice],
    rounds: FloatArray,
    delta: float,
    bound: Bound,
    moved: float = 0.0,
) -> Columns:
    """Return epsilon of T rounds for every T, and what the error budget leaves open, relative to delta.

    Few rounds of few outcomes are listed, and epsilon is that of the outcomes themselves: no lattice is
    needed to add losses up.

    Args:
        pairs: outcomes of one round; where there are several (directions of neighbours), the largest epsilon
            counts.
        rounded: ``connect_the_dots`` or ``merge_to_lattice``.
        rounds: numbers of rounds.
        delta: target.
        bound: "upper" or "lower".
        moved: of an upper bound, as for ``upper_columns``.
    """
    lattices = [_Rounded(pair, rounded) for pair in pairs]

    def one(count: float) -> tuple[float, float]:
        def at(target: float) -> tuple[float, float]:
            return max(pair.epsilon(int(count), target, bound) for pair in lattices)

        return at(delta) if moved == 0 else _with_moved(at, delta=delta, moved=moved * count)

    found = np.array([one(count) for count in rounds.tolist()]).reshape(-1, 2)
    return {"epsilon": found[:, 0], "delta_error": found[:, 1]}


def _with_moved(
    at: Callable[[float], tuple[float, float]], *, delta: float, moved: float
) -> tuple[float, float]:
    """Return an epsilon at which delta of the pair and (1 + e^epsilon) moved are at most ``delta``, or inf.

    Both are within ``moved`` in total variation of what the pair dominates. The search rises from 0 until
    what is left of delta is enough.
    """
    epsilon = 0.0
    for _ in range(_MOST_STEPS):
        rest = delta - moved * (1 + math.exp(min(epsilon, 700.0))) * (1 + 8 * numerics.EPSILON)
        if rest < numerics.SMALLEST_DELTA:
            break
        found, error = at(rest * (1 - numerics.EPSILON))
        if found <= epsilon:
            return epsilon, error
        epsilon = found * (1 + _SETTLED)
    return np.inf, 0.0


def upper_columns(
    eps0: float,
    outcomes: Callable[[], Outcomes],
    *,
    rounds: FloatArray,
    delta: float,
    infinite: float = 0.0,
    moved: float = 0.0,
    profile: Profile | None = None,
) -> Columns:
    """Return an upper bound on epsilon of T rounds for every T, from a pair that dominates one.

    Args:
        eps0: local privacy parameter.
        outcomes: makes the pair, where eps0 allows for a numerical answer.
        rounds: numbers of rounds.
        delta: target.
        infinite: probability that a round discloses everything, besides what the pair leaves out.
        moved: total variation between the law of a round and what the pair dominates, for either record.
        profile: the pair's privacy profile, or an upper bound on it, good to e^-60, by which one round is
            answered without composition.
    """
    trivial = nothing_to_say(eps0, rounds, "upper")
    if trivial:
        return trivial
    found = {name: np.zeros(rounds.shape) for name in ("epsilon", "delta_error")}
    if not rounds.any():  # nothing is sent, and no pair needs to be made
        return found
    alone = rounds == 1
    if nats(np.ones(1), delta) > numerics.NEGLIGIBLE:
        profile = None
    if profile is None:
        alone = np.zeros(rounds.shape, dtype=bool)
    elif alone.any():
        by_profile = _Inverted(profile, infinite, eps0).epsilon
        value = by_profile(delta)
        if moved > 0:
            value = _with_moved(by_profile, delta=delta, moved=moved)
        found["epsilon"][alone], found["delta_error"][alone] = value
    if not alone.all():
        pair = outcomes()
        pair = replace(pair, infinite=pair.infinite + infinite)
        composed = columns(
            [pair], rounded=connect_the_dots, rounds=rounds[~alone], delta=delta, bound="upper", moved=moved
        )
        for name, values in composed.items():
            found[name][~alone] = values
    return found


class _Inverted:
    """Epsilon of one round, from a privacy profile."""

    def __init__(self, profile: Profile, infinite: float, largest: float) -> None:
        self._profile, self._infinite, self._largest = profile, infinite, largest

    def epsilon(self, delta: float) -> tuple[float, float]:
        """Return epsilon, and by how much the profile is rounded up, relative to delta."""
        rest = delta - self._infinite
        if rest <= 0:
            return np.inf, 0.0
        return float(to_epsilon(self._profile, delta=rest, largest=self._largest)), numerics.OUTWARD


class _Rounded:
    """The lattices of one pair, fine enough first, and coarser ones where the finest is too fine."""

    def __init__(self, pair: Outcomes, rounded: Callable[..., Lattice]) -> None:
        self._pair, self._rounded = pair, rounded
        self._step = lattice_step(pair)
        self._lattices: dict[float, Lattice] = {}

    def _lattice(self, step: float) -> Lattice:
        if step not in self._lattices:
            self._lattices[step] = self._rounded(self._pair, step=step)
        return self._lattices[step]

    def epsilon(self, count: int, delta: float, bound: Bound) -> tuple[float, float]:
        """Return epsilon of that many rounds, and the error budget relative to delta."""
        if count == 0:
            return 0.0, 0.0
        listed = listed_rounds(self._pair, rounds=count, bound=bound, rare=_RARE * delta, most=_MOST_LISTED)
        if listed is not None:
            return outcomes_epsilon(listed, delta=delta, bound=bound), count * numerics.OUTWARD + _RARE
        best = (np.inf if bound == "upper" else 0.0), 0.0
        finest = self._step / (_FINER if count <= _FEW else 1)
        for coarser in range(_COARSER):
            composition = Composition([(self._lattice(finest * 4**coarser), count)], bound=bound)
            try:
                epsilon, error = composition.epsilon_with_error(delta)
            except LatticeTooFineError:
                continue
            found = epsilon, error / delta
            best = min(best, found) if bound == "upper" else max(best, found)
            if error <= _TELLING * delta:
                break
        return best


def nothing_to_say(eps0: float, rounds: FloatArray, bound: Bound) -> Columns | None:
    """Return the columns for settings without a numerical answer: eps0 = 0, or too small or large for one."""
    if SMALLEST_EPS0 <= eps0 <= LARGEST_EPS0:
        return None
    value = np.inf if eps0 > 0 and bound == "upper" else 0.0
    return {"epsilon": np.full(rounds.shape, value), "delta_error": np.zeros(rounds.shape)}
