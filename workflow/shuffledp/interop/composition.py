"""Composition of rounds of several settings and Gaussian noise: the base of the accountants for all tools."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from shuffledp import checks, numerics
from shuffledp.accountants import blankets, named, registry, systems, via_pld
from shuffledp.pld import Composition, Outcomes
from shuffledp.pld.common_lattice import compositions
from shuffledp.pld.contour import LatticeTooFineError
from shuffledp.profiles import named_randomizers
from shuffledp.profiles.four_kinds import kinds_outcomes
from shuffledp.profiles.gaussian import gaussian_epsilon

_SMALL = (
    1e-30  # deltas down to which they are found to all digits; smaller ones come out larger than they are
)
_ROUNDING = 1 + 16 * numerics.EPSILON


@dataclass(frozen=True)
class Round:
    """One round of shuffled reports.

    Attributes:
        accountant: the name of the accountant for what is known of the randomiser.
        setting: the variables of that accountant, and their values.
    """

    accountant: str
    setting: tuple[tuple[str, Any], ...]

    @property
    def pure(self) -> float:
        """The epsilon of pure DP of one round, rounded up; inf if it has no pure DP."""
        return registry.get(self.accountant).system.pure(dict(self.setting)) * _ROUNDING

    def epsilon(self, rounds: int, delta: float) -> float:
        """Return an upper bound on epsilon of so many such rounds; at delta = 0, their pure DP."""
        return float(registry.epsilon(self.accountant, rounds=rounds, delta=delta, **dict(self.setting)))

    @functools.lru_cache(maxsize=16)  # noqa: B019 - rounds are frozen, and those of one setting are equal
    def outcomes(self, nats: float) -> Outcomes:
        """Return the dominating pair of one round; outcomes rarer than e^-nats may be left out.

        Raises:
            ValueError: eps0 is 0, or too small or too large for a numerical answer.
        """
        given = dict(self.setting)
        checks.real("eps0", given["eps0"], at_least=via_pld.SMALLEST_EPS0)
        if given["eps0"] > via_pld.LARGEST_EPS0:
            raise ValueError(
                f"eps0 must be at most {via_pld.LARGEST_EPS0:g} where losses are composed, got "
                f"{given['eps0']!r}; reports with a larger one hide nothing"
            )
        return kinds_outcomes(**{**given, "k": given.get("k", given["n"])}, nats=nats)


def round_of(**setting: Any) -> Round:
    """Return a round of shuffled reports.

    Args:
        setting: n and eps0, with k for k clients drawn afresh, or with rate for clients who check in; and
            share and tv of the randomiser, where they are known and not None.

    Raises:
        ValueError: an argument is missing, unknown or out of range.
    """
    given = {key: value for key, value in setting.items() if value is not None}
    protocol = "shuffled-check-in" if "rate" in given else systems.SUBSAMPLED_SHUFFLE[0]
    known = {key for key in ("share", "tv") if key in given}
    mechanism = next((name for name, one in blankets.KNOWN.items() if set(one.variables) == known), "ldp")
    system = systems.get(protocol, mechanism)
    return Round(system.default, tuple(system.checked(given, "a round of shuffled reports").items()))


def known_of(randomizer: str, *, dimension: int, **setting: Any) -> dict[str, float]:
    """Return share and tv of a randomiser of gradients, as far as they are known and of use.

    Args:
        randomizer: one of ``randomizers.registry.PURE``, which the caller makes sure of.
        dimension: d, the length of the vectors.
        setting: n and eps0, with k or rate as for ``round_of``.

    Raises:
        ValueError: an argument is out of range.
    """
    found = named_randomizers.of_training(randomizer, dimension=dimension)
    if found is None:  # the bounds for every eps0-LDP randomiser hold
        return {}
    name, own = found
    _, given = named.known(name, {**setting, **own})
    return {key: value for key, value in given.items() if key in ("share", "tv")}


class Composed:
    """Rounds of shuffled reports, and Gaussian noise, one after the other; neighbours by substitution.

    All bounds are upper bounds. If all rounds are of one setting, their accountant gives the answer, to the
    same digits. Otherwise it comes from the sum of the privacy losses, and the error budget is part of it.
    """

    def __init__(self) -> None:
        self.rounds: dict[Round, int] = {}
        self._squares = 0.0
        self._exposed = False

    def copy(self) -> Composed:
        """Return another composition of the same rounds and releases."""
        other = Composed()
        other.rounds, other._squares, other._exposed = dict(self.rounds), self._squares, self._exposed
        return other

    def add(self, one: Round, count: int = 1) -> None:
        """Add rounds of one setting."""
        if count:
            self.rounds[one] = self.rounds.get(one, 0) + count

    def add_gaussian(self, mu: float, count: int = 1) -> None:
        """Add releases with Gaussian noise.

        Args:
            mu: how far exchanging the record of one client can move what is released, divided by the standard
                deviation of the noise; inf where there is no noise.
            count: number of releases.
        """
        self._squares += count * mu * mu if count else 0.0

    def add_exposure(self) -> None:
        """Add a release without any privacy."""
        self._exposed = True

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on epsilon.

        Args:
            delta: target, in [0, 1].

        Raises:
            ValueError: ``delta`` is out of range.
        """
        target = checks.probability("delta", delta, zero=True, one=True)
        mu = math.sqrt(self._squares) * _ROUNDING
        if target == 1:
            return 0.0
        if self._exposed or math.isinf(mu):
            return math.inf
        if len(self.rounds) == 1 and mu == 0:
            ((one, count),) = self.rounds.items()
            return one.epsilon(count, target)
        pure = self._pure()
        if target < numerics.SMALLEST_DELTA or not (self.rounds or mu):
            return pure
        found = pure
        for composition, fine in self._compositions(target):
            try:
                found = min(found, composition.epsilon(target))
            except LatticeTooFineError:
                continue
            if fine:
                return found
            break
        # where the lattice is too coarse for the small losses, basic composition may give a smaller epsilon
        return min(found, self._apart(target, mu))

    def _apart(self, delta: float, mu: float) -> float:
        """Return the sum of the epsilons of all settings, each at an equal part of delta."""
        part = delta / (len(self.rounds) + (mu > 0)) * (1 - numerics.EPSILON)
        found = [one.epsilon(count, part) for one, count in self.rounds.items()]
        if mu:
            found.append(float(gaussian_epsilon(part, mu=mu)))
        return sum(found) * _ROUNDING

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta at an epsilon.

        Args:
            epsilon: >= 0.

        Raises:
            ValueError: ``epsilon`` is out of range.
        """
        eps = checks.real("epsilon", epsilon, at_least=0.0)
        if self._exposed or math.isinf(self._squares):
            return 1.0
        if eps >= self._pure():
            return 0.0
        for composition, _ in self._compositions(_SMALL):
            try:
                return composition.delta(eps)
            except LatticeTooFineError:
                continue
        return 1.0

    def _pure(self) -> float:
        """Return the epsilon of pure DP of all rounds and releases, rounded up."""
        if self._squares:
            return math.inf
        return sum(one.pure * count for one, count in self.rounds.items()) * _ROUNDING

    def _compositions(self, delta: float) -> Iterator[tuple[Composition, bool]]:
        """Yield compositions for deltas of that size, the finest first, and whether all steps are fine."""
        mu = math.sqrt(self._squares) * _ROUNDING
        total = sum(self.rounds.values()) + (mu > 0)
        nats = _nats(total, delta)
        pairs = [(one.outcomes(nats), count) for one, count in self.rounds.items() if one.pure > 0]
        yield from compositions(pairs, mu=mu, nats=nats, bound="upper")


def _nats(rounds: int, delta: float) -> float:
    return via_pld.nats(np.array([float(rounds)]), delta)
