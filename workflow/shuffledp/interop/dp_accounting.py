"""Shuffled reports in Google's dp_accounting (extra ``interop``): events, an accountant, and their PLD.

>>> import dp_accounting
>>> from shuffledp.interop.dp_accounting import ShuffledDpEvent, ShuffledPrivacyAccountant
>>> accountant = ShuffledPrivacyAccountant()
>>> accountant.compose(ShuffledDpEvent(n=60_000, k=2_000, eps0=2.0), 5800)
>>> accountant.compose(dp_accounting.GaussianDpEvent(noise_multiplier=20.0))
>>> accountant.get_epsilon(1e-5)
"""

from __future__ import annotations

import math
from typing import Any, Self

from shuffledp import checks
from shuffledp.accountants import named
from shuffledp.interop.composition import Composed, Round, round_of
from shuffledp.optional_packages import need
from shuffledp.pld import connect_the_dots

need("dp_accounting", "attr", extra="interop")

import attr  # noqa: E402
from dp_accounting import dp_event, privacy_accountant  # noqa: E402
from dp_accounting.pld import privacy_loss_distribution  # noqa: E402

_OUTWARD = 1e-12  # by which masses are raised for the rounding of dp_accounting's sums
_MOST_POINTS = 10**7


@attr.s(frozen=True, slots=True)
class _ShuffledReports(dp_event.DpEvent):
    """A round of shuffled reports; each attribute is a variable of its accountant, or None if not known."""

    def __attrs_post_init__(self) -> None:
        self.round()

    @classmethod
    def of(cls, randomizer: str, **setting: Any) -> Self:
        """Return the event of a randomiser that is known by name.

        Args:
            randomizer: one of ``named_randomizers.NAMES``.
            setting: n and eps0, k or rate as the event has them, and the randomiser's own parameters.

        Raises:
            ValueError: one of them is missing, unknown or out of range.
        """
        return cls(**named.known(randomizer, setting)[1])

    def round(self) -> Round:
        """Return the round that accountants compose."""
        setting = attr.asdict(self)
        if "rate" not in setting and setting["k"] is None:
            setting["k"] = setting["n"]
        return round_of(**setting)


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ShuffledDpEvent(_ShuffledReports):
    """A round in which k of n clients, drawn afresh, send eps0-LDP reports that a shuffler mixes.

    Attributes:
        n: number of clients.
        eps0: local privacy parameter (nats).
        k: reports of the round, drawn without replacement; all n if None.
        share: number for which the randomiser has a blanket of mass 1/(1 + (e^eps0 - 1) share); None if only
            eps0 is known of it.
        tv: upper bound on the total variation distance between the reports of two records; None if none is
            known.

    Raises:
        ValueError: one of them is out of range.
    """

    n: int
    eps0: float
    k: int | None = None
    share: float | None = None
    tv: float | None = None


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ShuffledCheckInDpEvent(_ShuffledReports):
    """A round for which each of n clients checks in with probability ``rate``; eps0-LDP reports are shuffled.

    Attributes:
        n: number of clients.
        rate: the probability, in (0, 1]; clients check in independently.
        eps0: local privacy parameter (nats).
        share: as for ``ShuffledDpEvent``.
        tv: as for ``ShuffledDpEvent``.

    Raises:
        ValueError: one of them is out of range.
    """

    n: int
    rate: float
    eps0: float
    share: float | None = None
    tv: float | None = None


_SHUFFLED = (ShuffledDpEvent, ShuffledCheckInDpEvent)


class ShuffledPrivacyAccountant(privacy_accountant.PrivacyAccountant):
    """An accountant for events of shuffled reports and for dp_accounting's own Gaussian ones.

    It composes NoOp, NonPrivate, Composed, SelfComposed and Gaussian events with those of this module, in any
    order and nesting. Neighbours differ in the record of one client (REPLACE_ONE). The sum in a Gaussian
    event moves by up to 1 where a client is added, and so by up to 2 between such neighbours, as in
    dp_accounting's own ``PLDAccountant`` for this relation. All answers are upper bounds, and the error
    budget is part of them.
    """

    def __init__(
        self,
        neighboring_relation: privacy_accountant.NeighboringRelation = (
            privacy_accountant.NeighboringRelation.REPLACE_ONE
        ),
    ) -> None:
        if neighboring_relation is not privacy_accountant.NeighboringRelation.REPLACE_ONE:
            raise ValueError(
                f"neighboring_relation must be REPLACE_ONE, got {neighboring_relation!r}: bounds on shuffled "
                "reports are for the record of one client exchanged; leave it out"
            )
        super().__init__(neighboring_relation)
        self._composed = Composed()

    def _maybe_compose(
        self, event: dp_event.DpEvent, count: int, do_compose: bool
    ) -> privacy_accountant.PrivacyAccountant.CompositionErrorDetails | None:
        if isinstance(event, dp_event.SelfComposedDpEvent):
            return self._maybe_compose(event.event, event.count * count, do_compose)
        if isinstance(event, dp_event.ComposedDpEvent):
            found = (self._maybe_compose(one, count, do_compose) for one in event.events)
            return next((error for error in found if error is not None), None)
        if isinstance(event, _SHUFFLED):
            if do_compose:
                self._composed.add(event.round(), count)
            return None
        if isinstance(event, dp_event.GaussianDpEvent):
            if not event.noise_multiplier >= 0:
                return self._error(event, f"noise_multiplier must be >= 0, got {event.noise_multiplier!r}.")
            if do_compose:
                noise = event.noise_multiplier
                self._composed.add_gaussian(2 / noise if noise else math.inf, count)
            return None
        if isinstance(event, dp_event.NonPrivateDpEvent):
            if do_compose and count:
                self._composed.add_exposure()
            return None
        if isinstance(event, dp_event.NoOpDpEvent):
            return None
        return self._error(event, "Unsupported event.")

    def _error(
        self, event: dp_event.DpEvent, message: str
    ) -> privacy_accountant.PrivacyAccountant.CompositionErrorDetails:
        return self.CompositionErrorDetails(invalid_event=event, error_message=message)

    def get_epsilon(self, target_delta: float) -> float:
        """Return an upper bound on epsilon of all events.

        Args:
            target_delta: in [0, 1]; 0 asks for pure DP.

        Raises:
            ValueError: ``target_delta`` is out of range.
        """
        return self._composed.epsilon(checks.probability("target_delta", target_delta, zero=True, one=True))

    def get_delta(self, target_epsilon: float) -> float:
        """Return an upper bound on delta of all events, good to its digits down to 1e-30.

        Args:
            target_epsilon: >= 0.

        Raises:
            ValueError: ``target_epsilon`` is out of range.
        """
        return self._composed.delta(checks.real("target_epsilon", target_epsilon, at_least=0.0))


def to_privacy_loss_distribution(
    event: ShuffledDpEvent | ShuffledCheckInDpEvent,
    *,
    value_discretization_interval: float = 1e-4,
    nats: float = 75.0,
) -> privacy_loss_distribution.PrivacyLossDistribution:
    """Return dp_accounting's privacy loss distribution of one round, pessimistic.

    Losses are rounded to multiples of the interval so that the resulting pair dominates that of the round
    (doroshenko2022). So delta of the distribution is an upper bound at every epsilon. The bound does not
    cover the errors that dp_accounting makes when it composes (by cutting off tails, and in Fourier
    transforms); ``ShuffledPrivacyAccountant`` composes with an error budget.

    Args:
        event: an event of shuffled reports; its pair is symmetric in the two data sets.
        value_discretization_interval: > 0; below a twentieth of the standard deviation of the losses, it
            raises delta little.
        nats: outcomes rarer than e^-nats may be counted as infinite losses; > 0.

    Raises:
        TypeError: the event is not one of this module.
        ValueError: the interval is so small that more than 10^7 losses are needed, or out of range.
    """
    if not isinstance(event, _SHUFFLED):
        raise TypeError(
            f"event must be a ShuffledDpEvent or a ShuffledCheckInDpEvent, got {event!r}; dp_accounting "
            "makes the distributions of its own"
        )
    interval = checks.positive("value_discretization_interval", value_discretization_interval)
    pair = event.round().outcomes(checks.positive("nats", nats))
    points = float(pair.loss.max() - pair.loss.min()) / interval
    if points > _MOST_POINTS:
        raise ValueError(
            f"value_discretization_interval must be at least {points * interval / _MOST_POINTS:.1g} here, "
            f"where losses go up to {float(pair.loss.max()):.3g}, got {value_discretization_interval!r}"
        )
    lattice = connect_the_dots(pair, step=interval)
    index = (lattice.index * round(lattice.step / interval)).astype(int)
    masses = lattice.mass * (1 + _OUTWARD)
    return privacy_loss_distribution.PrivacyLossDistribution.create_from_rounded_probability(
        dict(zip(index.tolist(), masses.tolist(), strict=True)),
        lattice.infinite,
        interval,
        pessimistic_estimate=True,
    )
