"""Locally randomised updates in Flower (extra ``flower``): an accountant and a client mod.

>>> config = PrivacyConfig(
...     target_delta=1e-6, population_size=10_000, max_epsilon=1.0,
...     neighboring_relation=NeighboringRelation.REPLACE_ONE,
...     sampling_method=SamplingMethod.WITHOUT_REPLACEMENT,
... )
>>> accountant = ShuffleAccountant(config)
>>> accountant.compose(ShuffledPrivacyEvent(eps0=2.0, sample_size=1000, population_size=10_000), 10)
>>> accountant.get_privacy_spent().epsilon

The deployment must bring a shuffler between clients and server, or aggregate what it would shuffle: the
accountant's numbers hold against somebody who sees the randomised updates and does not know who sent which.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from shuffledp import checks
from shuffledp.interop.composition import Composed, Round, known_of, round_of
from shuffledp.optional_packages import need
from shuffledp.randomizers import registry

need("flwr", "torch", extra="flower")

import torch  # noqa: E402
from flwr.app import Array, ArrayRecord, Context, Message, MessageType, MetricRecord, RecordDict  # noqa: E402
from flwr.clientapp.typing import ClientAppCallable  # noqa: E402
from flwr.serverapp import (  # noqa: E402
    GaussianPrivacyEvent,
    NeighboringRelation,
    PrivacyConfig,
    PrivacySpent,
    SamplingMethod,
)

from shuffledp.randomizers.base import Randomizer  # noqa: E402

METHOD = "shuffle"
_SCHEMA_VERSION = 1


@dataclass(frozen=True)
class ShuffledPrivacyEvent:
    """One round or more in which sampled clients send eps0-LDP updates that a shuffler mixes.

    Attributes:
        eps0: local privacy parameter (nats).
        sample_size: clients drawn afresh for each round, without replacement.
        population_size: clients that they are drawn from.
        share: number for which the randomiser has a blanket of mass 1/(1 + (e^eps0 - 1) share); None if only
            eps0 is known of it.
        tv: upper bound on the total variation distance between the updates of two clients; None if none is
            known.

    Raises:
        ValueError: one of them is out of range.
    """

    eps0: float
    sample_size: int
    population_size: int
    share: float | None = None
    tv: float | None = None

    def __post_init__(self) -> None:
        checks.count("population_size", self.population_size)
        if checks.count("sample_size", self.sample_size) > self.population_size:
            raise ValueError(
                f"sample_size must be at most population_size={self.population_size}, got {self.sample_size}"
            )
        self.round()

    @classmethod
    def of(
        cls, randomizer: str, dimension: int, *, eps0: float, sample_size: int, population_size: int
    ) -> ShuffledPrivacyEvent:
        """Return the event of a ``LocalRandomizerMod``'s randomiser.

        Args:
            randomizer: one of ``randomizers.registry.PURE``.
            dimension: number of entries of an update.
            eps0: local privacy parameter, > 0.
            sample_size: clients drawn for each round.
            population_size: clients that they are drawn from.

        Raises:
            ValueError: one of them is out of range.
        """
        checks.choice("randomizer", randomizer, registry.PURE)
        event = cls(eps0, sample_size, population_size)
        known = known_of(randomizer, dimension=dimension, n=population_size, k=sample_size, eps0=eps0)
        return cls(**{**asdict(event), **known})

    def round(self) -> Round:
        """Return the round that accountants compose."""
        return round_of(
            n=self.population_size, k=self.sample_size, eps0=self.eps0, share=self.share, tv=self.tv
        )


Event = ShuffledPrivacyEvent | GaussianPrivacyEvent
_EVENTS: dict[str, type[Event]] = {"shuffled": ShuffledPrivacyEvent, "gaussian": GaussianPrivacyEvent}


class ShuffleAccountant:
    """An accountant of Flower's protocol ``flwr.serverapp.PrivacyAccountant``, for shuffled updates.

    It composes ``ShuffledPrivacyEvent`` with Flower's own Gaussian events. For Gaussian events it counts no
    amplification by sampling. Where the update of one client is exchanged for another, a sum of clipped
    updates moves by up to twice the clipping norm, so a noise multiplier counts half. All answers are upper
    bounds, with the error budget of the composition in them.

    Args:
        config: a configuration with REPLACE_ONE and WITHOUT_REPLACEMENT, which in Flower's terms is the model
            of shuffled updates.

    Raises:
        ValueError: the configuration is for another relation of neighbours or way of sampling.
    """

    def __init__(self, config: PrivacyConfig) -> None:
        wanted = (NeighboringRelation.REPLACE_ONE, SamplingMethod.WITHOUT_REPLACEMENT)
        if (config.neighboring_relation, config.sampling_method) != wanted:
            raise ValueError(
                "config must be of REPLACE_ONE and WITHOUT_REPLACEMENT, got "
                f"{config.neighboring_relation.name} and {config.sampling_method.name}; no bound on shuffled "
                "updates is for these"
            )
        self._config = config
        self._compositions: list[tuple[Event, int]] = []

    @property
    def config(self) -> PrivacyConfig:
        """The privacy configuration."""
        return self._config

    @property
    def num_releases(self) -> int:
        """Number of releases that are composed."""
        return sum(count for _, count in self._compositions)

    def compose(self, event: Event, count: int = 1) -> None:
        """Compose one or more equal events.

        Args:
            event: a round.
            count: number of such rounds, >= 1.

        Raises:
            ValueError: the event is of another kind or population, or ``count`` is no whole number >= 1.
        """
        self._compositions.append(self._checked(event, count))

    def get_epsilon(self, delta: float) -> float:
        """Return an upper bound on epsilon at ``delta`` in (0, 1).

        Raises:
            ValueError: ``delta`` is out of range.
        """
        return self._composed().epsilon(checks.probability("delta", delta))

    def get_delta(self, epsilon: float) -> float:
        """Return an upper bound on delta at ``epsilon`` >= 0.

        Raises:
            ValueError: ``epsilon`` is out of range.
        """
        return self._composed().delta(epsilon)

    def get_privacy_spent(self, delta: float | None = None) -> PrivacySpent:
        """Return the privacy spent at ``delta``, or at the target of the configuration if it is None.

        Raises:
            ValueError: delta is out of range.
        """
        target = self._config.target_delta if delta is None else delta
        return PrivacySpent(
            epsilon=self.get_epsilon(target),
            delta=target,
            num_releases=self.num_releases,
            accounting_method=METHOD,
        )

    def would_exceed(self, event: Event, max_epsilon: float | None = None, count: int = 1) -> bool:
        """Return whether composing an event would exceed a limit on epsilon; nothing is composed.

        Args:
            event: as for ``compose``.
            max_epsilon: the limit, > 0; the configuration's if None.
            count: as for ``compose``.

        Raises:
            ValueError: an argument is out of range, or there is no limit.
        """
        limit = self._config.max_epsilon if max_epsilon is None else max_epsilon
        if limit is None:
            raise ValueError("max_epsilon must be set, got None; give it here or in the PrivacyConfig")
        composed = self._composed([self._checked(event, count)])
        return composed.epsilon(self._config.target_delta) > checks.positive("max_epsilon", limit)

    def state_dict(self) -> dict[str, object]:
        """Return the state, in values that JSON can hold."""
        config = asdict(self._config)
        config["neighboring_relation"] = self._config.neighboring_relation.value
        config["sampling_method"] = self._config.sampling_method.value
        kinds = {made: kind for kind, made in _EVENTS.items()}
        return {
            "schema_version": _SCHEMA_VERSION,
            "backend": METHOD,
            "config": config,
            "compositions": [
                {"kind": kinds[type(event)], "event": asdict(event), "count": count}
                for event, count in self._compositions
            ],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over the compositions of the accountant whose state this is.

        Args:
            state: what ``state_dict`` of an accountant with the same configuration returned.

        Raises:
            ValueError: the state is not such a state; the accountant stays as it was.
        """
        for key in ("schema_version", "backend", "config"):
            wanted = self.state_dict()[key]
            if state.get(key) != wanted:
                raise ValueError(
                    f"state must have {key}={wanted!r}, got {state.get(key)!r}; make the accountant with the "
                    "configuration of the state"
                )
        try:
            found = [(_EVENTS[one["kind"]](**one["event"]), one["count"]) for one in state["compositions"]]
        except (KeyError, TypeError) as error:
            raise ValueError(
                f"state must hold compositions as state_dict gives them, got {error!r}"
            ) from error
        self._compositions = [self._checked(event, count) for event, count in found]

    def _checked(self, event: Event, count: int) -> tuple[Event, int]:
        if not isinstance(event, tuple(_EVENTS.values())):
            raise ValueError(f"event must be a ShuffledPrivacyEvent or a GaussianPrivacyEvent, got {event!r}")
        if event.population_size != self._config.population_size:
            raise ValueError(
                f"population_size must be that of the PrivacyConfig, {self._config.population_size}, got "
                f"{event.population_size}"
            )
        return event, checks.count("count", count)

    def _composed(self, more: list[tuple[Event, int]] | None = None) -> Composed:
        composed = Composed()
        for event, count in [*self._compositions, *(more or [])]:
            if isinstance(event, ShuffledPrivacyEvent):
                composed.add(event.round(), count)
            else:
                composed.add_gaussian(2 / event.noise_multiplier, count)
        return composed


class LocalRandomizerMod:
    """A client mod that sends a randomised update in place of the trained model.

    In replies to messages of type "train", the update (the reply's arrays less those that the server sent)
    becomes one vector, is clipped to the randomiser's ball and randomised; the reply's arrays are then those
    of the server plus the randomised update. The reply's other records are left out, since they could reveal
    what the randomiser hides; in their place is one metric, the weight of the client, which is 1 for all.
    Other messages pass as they are.

    Args:
        randomizer: one of ``randomizers.registry.PURE``.
        eps0: local privacy parameter, > 0 (nats).
        radius: clip norm C > 0, in the randomiser's norm.
        weighted_by_key: the metric by which the server's strategy weights clients.
        generator: source of the randomiser's draws; None for one that the system seeds. A generator with
            a known seed is for simulations alone.

    Raises:
        ValueError: an argument is out of range.
    """

    def __init__(
        self,
        randomizer: str,
        *,
        eps0: float,
        radius: float,
        weighted_by_key: str = "num-examples",
        generator: torch.Generator | None = None,
    ) -> None:
        checks.choice("randomizer", randomizer, registry.PURE)
        self.randomizer, self.weighted_by_key = randomizer, weighted_by_key
        self.eps0, self.radius = checks.positive("eps0", eps0), checks.positive("radius", radius)
        if generator is None:
            generator = torch.Generator()
            generator.seed()
        self._generator = generator
        self._made: Randomizer | None = None

    def __call__(self, message: Message, context: Context, call_next: ClientAppCallable) -> Message:
        """Hand a message on, and randomise the reply.

        Raises:
            ValueError: message or reply does not have exactly one array record, or their arrays differ in
                names or shapes or are of whole numbers.
            randomizers.base.NotFiniteError: the update is not finite.
        """
        if message.metadata.message_type.partition(".")[0] != MessageType.TRAIN:
            return call_next(message, context)
        _, sent = _arrays("message", message)
        before = {key: array.numpy().copy() for key, array in sent.items()}
        reply = call_next(message, context)
        if reply.has_error():
            return reply
        name, record = _arrays("reply", reply)
        after = {key: array.numpy() for key, array in record.items()}
        whole = [key for key, array in before.items() if array.dtype.kind != "f"]
        if whole:
            raise ValueError(
                f"message must have arrays of floating-point numbers, got {before[whole[0]].dtype} in "
                f"{whole[0]!r}; leave such arrays out of the record"
            )
        shapes = [{key: array.shape for key, array in arrays.items()} for arrays in (before, after)]
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"reply must have the arrays of the message, {shapes[0]}, got {shapes[1]}; send them all back"
            )
        update = self._randomized(np.concatenate([(after[key] - before[key]).ravel() for key in before]))
        ends = np.cumsum([array.size for array in before.values()])[:-1]
        parts = dict(zip(before, np.split(update, ends), strict=True))
        arrays = {
            key: Array((array + parts[key].reshape(array.shape)).astype(array.dtype))
            for key, array in before.items()
        }
        reply.content = RecordDict(
            {name: ArrayRecord(arrays), "metrics": MetricRecord({self.weighted_by_key: 1.0})}
        )
        return reply

    def _randomized(self, update: np.ndarray) -> np.ndarray:
        made = self._made
        if made is None or made.dimension != update.size:
            made = registry.create(self.randomizer, dimension=update.size, radius=self.radius, eps0=self.eps0)
            self._made = made
        rows = torch.from_numpy(update.astype(np.float64)).unsqueeze(0)
        return made.randomize(made.clip_(rows), generator=self._generator).squeeze(0).numpy()


def _arrays(what: str, message: Message) -> tuple[str, ArrayRecord]:
    """Return the one array record of a message, and its name."""
    records = message.content.array_records
    if len(records) != 1:
        raise ValueError(f"{what} must have one array record, got {len(records)}; put all arrays into one")
    return next(iter(records.items()))
