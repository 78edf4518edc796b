"""Epsilon of T rounds by composing privacy loss distributions, for all accountants that do so."""

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

# The outcomes left out in all rounds together have e^-_SPARE of delta. Nats are multiples of _STEP, so that
# many settings share one pair, and at most _MOST.
_SPARE, _STEP, _MOST = 14.0, 30.0, 600.0

# Shares of delta that are tried for the rounds; the rest is left to strong composition.
SHARES = (0.01, 0.03, 0.1, 0.3, 0.5, 0.9)

# Relative step and largest number of steps of the search for epsilon in ``_with_moved``.
_SETTLED, _MOST_STEPS = 1e-9, 100

# Largest number of outcomes of several rounds that are listed one by one, and the share of delta that may be
# left out then.
_MOST_LISTED, _RARE = 2**19, 1e-8

# In the sum of up to _FEW rounds single losses matter, so the step is _FINER times finer.
_FEW, _FINER = 32, 16

# How often the step may be quadrupled where the sum spreads over too many lattice points, or where errors
# take more than the share _TELLING of delta.
_COARSER, _TELLING = 14, 0.01

# Outside of these, ratios of probabilities or their squares underflow or overflow, and only pure DP is
# claimed.
SMALLEST_EPS0, LARGEST_EPS0 = 1e-100, 300.0


def needed_nats(rounds: FloatArray, delta: float, *, step: float) -> float:
    """Return, as a multiple of ``step``, the nats below the rest at which outcomes may be left out."""
    needed = _SPARE + math.log(max(float(rounds.max(initial=1.0)), 1.0)) - math.log(delta)
    return step * math.ceil(needed / step)


def nats(rounds: FloatArray, delta: float) -> float:
    """Return the nats below the rest at which an outcome may be left out, within what the pairs support."""
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
    """Return epsilon of T rounds for every T, and the error budget relative to delta.

    Few rounds of few outcomes are listed one by one, and epsilon is computed from the outcomes themselves,
    without a lattice.

    Args:
        pairs: outcomes of one round; where there are several (directions of neighbours), the largest epsilon
            counts.
        rounded: ``connect_the_dots`` or ``merge_to_lattice``.
        rounds: numbers of rounds.
        delta: target.
        bound: "upper" or "lower", the side to which epsilon errs.
        moved: for an upper bound, as for ``upper_columns``.
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
    """Return an epsilon at which delta of the pair plus (1 + e^epsilon) moved is at most ``delta``, or inf.

    The laws of both data sets are within ``moved`` in total variation of those that the pair dominates. The
    search starts at 0 and raises epsilon until the rest of delta suffices for the pair.

    Args:
        at: function of delta that returns epsilon of the pair and the error relative to delta.
        delta: target.
        moved: total variation in all rounds.
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
    """Return an upper bound on epsilon of T rounds for every T, from a pair that dominates one round.

    Args:
        eps0: local privacy parameter.
        outcomes: returns the pair; called only where eps0 allows for a numerical answer.
        rounds: numbers of rounds.
        delta: target.
        infinite: probability that a round discloses everything, in addition to what the pair leaves out.
        moved: total variation between the law of a round and the law that the pair dominates, for either
            record.
        profile: the pair's privacy profile, or an upper bound on it, accurate down to e^-60; it answers for
            one round without composition.
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
    """One pair rounded to lattices, first to a fine one, then to coarser ones where that is too fine."""

    def __init__(self, pair: Outcomes, rounded: Callable[..., Lattice]) -> None:
        self._pair, self._rounded = pair, rounded
        self._step = lattice_step(pair)
        self._lattices: dict[float, Lattice] = {}

    def _lattice(self, step: float) -> Lattice:
        if step not in self._lattices:
            self._lattices[step] = self._rounded(self._pair, step=step)
        return self._lattices[step]

    def epsilon(self, count: int, delta: float, bound: Bound) -> tuple[float, float]:
        """Return epsilon of ``count`` rounds, and the error budget relative to delta."""
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
    """Return the columns if eps0 is 0, too small or too large for a numerical answer; else None."""
    if SMALLEST_EPS0 <= eps0 <= LARGEST_EPS0:
        return None
    value = np.inf if eps0 > 0 and bound == "upper" else 0.0
    return {"epsilon": np.full(rounds.shape, value), "delta_error": np.zeros(rounds.shape)}
