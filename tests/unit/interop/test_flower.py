"""Shuffled updates in Flower, with the real package: its protocol of an accountant, and a client mod."""

import inspect
import json
import math

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs the extra flower")

import torch
from flwr.app import ArrayRecord, Context, Error, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import (
    GaussianPrivacyEvent,
    NeighboringRelation,
    PrivacyAccountant,
    PrivacyConfig,
    PrivacySpent,
    SamplingMethod,
)
from flwr.supercore.task_identity import TaskIdentity

from shuffledp import accountants
from shuffledp.interop.flower import LocalRandomizerMod, ShuffleAccountant, ShuffledPrivacyEvent
from shuffledp.profiles import named_randomizers
from shuffledp.profiles.gaussian import gaussian_epsilon

SHUFFLE = {
    "neighboring_relation": NeighboringRelation.REPLACE_ONE,
    "sampling_method": SamplingMethod.WITHOUT_REPLACEMENT,
}
CONFIG = PrivacyConfig(target_delta=1e-6, population_size=1000, max_epsilon=1.0, **SHUFFLE)
EVENT = ShuffledPrivacyEvent(eps0=1.0, sample_size=100, population_size=1000)
GAUSSIAN = GaussianPrivacyEvent(noise_multiplier=30.0, sample_size=100, population_size=1000)


def epsilon_of(rounds, delta=1e-6, **more):
    name = None if more else "clones-joint-pld"
    return accountants.epsilon(name, n=1000, k=100, eps0=1.0, rounds=rounds, delta=delta, **more)


def test_it_is_an_accountant_of_the_protocol():
    for name, member in vars(PrivacyAccountant).items():
        if inspect.isfunction(member) and not name.startswith("_"):
            own = inspect.signature(getattr(ShuffleAccountant, name)).parameters
            assert list(own) == list(inspect.signature(member).parameters), name
        elif isinstance(member, property):
            assert isinstance(getattr(ShuffleAccountant, name), property)


def test_rounds_cost_what_the_accountants_say():
    accountant = ShuffleAccountant(CONFIG)
    assert accountant.get_epsilon(1e-6) == accountant.num_releases == 0
    accountant.compose(EVENT, 20)
    accountant.compose(EVENT)
    assert accountant.config is CONFIG
    assert accountant.get_epsilon(1e-6) == epsilon_of(21)
    spent = accountant.get_privacy_spent()
    assert spent == PrivacySpent(epsilon_of(21), 1e-6, 21, "shuffle")
    assert accountant.get_privacy_spent(1e-4).epsilon == epsilon_of(21, 1e-4)
    assert accountant.get_delta(spent.epsilon) == pytest.approx(1e-6, rel=1e-3)


def test_gaussian_rounds_count_double_and_without_sampling():
    accountant = ShuffleAccountant(CONFIG)
    accountant.compose(GAUSSIAN, 4)
    exact = float(gaussian_epsilon(1e-6, mu=2 * 2 / 30))
    assert exact <= accountant.get_epsilon(1e-6) <= 1.001 * exact
    accountant.compose(EVENT, 10)
    assert max(exact, epsilon_of(10)) < accountant.get_epsilon(1e-6) < 1.01 * (exact + epsilon_of(10))


def test_events_of_a_randomiser_cost_less():
    event = ShuffledPrivacyEvent.of("l2_privunit", 50, eps0=1.0, sample_size=100, population_size=1000)
    accountant = ShuffleAccountant(CONFIG)
    accountant.compose(event, 5)
    assert accountant.get_epsilon(1e-6) == epsilon_of(5, randomizer="privunit", dimension=50)
    assert accountant.get_epsilon(1e-6) < epsilon_of(5)
    worst = ShuffledPrivacyEvent.of("l2_hemisphere", 50, eps0=1.0, sample_size=100, population_size=1000)
    assert worst.round().epsilon(5, 1e-6) == pytest.approx(epsilon_of(5), rel=1e-3)


def test_a_randomiser_of_which_nothing_is_known_costs_what_any_may(monkeypatch):
    monkeypatch.delitem(named_randomizers._TRAINED, "l2_privunit")
    event = ShuffledPrivacyEvent.of("l2_privunit", 50, eps0=1.0, sample_size=100, population_size=1000)
    assert event == ShuffledPrivacyEvent(1.0, 100, 1000)


def test_a_limit_is_looked_ahead_to():
    accountant = ShuffleAccountant(CONFIG)
    within = 1
    while epsilon_of(within + 1) <= 1.0:
        within += 1
    accountant.compose(EVENT, within - 1)
    assert not accountant.would_exceed(EVENT)
    assert accountant.would_exceed(EVENT, count=2)
    assert accountant.would_exceed(EVENT, max_epsilon=epsilon_of(within) * 0.999)
    assert accountant.num_releases == within - 1
    unlimited = ShuffleAccountant(PrivacyConfig(1e-6, 1000, **SHUFFLE))
    with pytest.raises(ValueError, match=r"^max_epsilon must be set, got None; give it here or in the"):
        unlimited.would_exceed(EVENT)


def test_state_survives_json():
    accountant = ShuffleAccountant(CONFIG)
    accountant.compose(EVENT, 7)
    accountant.compose(GAUSSIAN)
    state = json.loads(json.dumps(accountant.state_dict()))
    other = ShuffleAccountant(CONFIG)
    other.load_state_dict(state)
    assert other.state_dict() == accountant.state_dict()
    assert other.get_epsilon(1e-6) == accountant.get_epsilon(1e-6)
    for broken in (
        {**state, "backend": "rdp"},
        {**state, "schema_version": 2},
        {**state, "config": {**state["config"], "target_delta": 0.1}},
        {**state, "compositions": [{"kind": "shuffled"}]},
        {**state, "compositions": [{"kind": "none", "event": {}, "count": 1}]},
        {**state, "compositions": [{**state["compositions"][0], "count": 0}]},
        {key: value for key, value in state.items() if key != "compositions"},
    ):
        with pytest.raises(ValueError, match=r"^(state must h|count must be)") as caught:
            other.load_state_dict(broken)
        assert "\n" not in str(caught.value)
    assert other.num_releases == 8


POISSON = {
    "neighboring_relation": NeighboringRelation.ADD_OR_REMOVE_ONE,
    "sampling_method": SamplingMethod.POISSON,
}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ShuffleAccountant(PrivacyConfig(1e-6, 10, **POISSON)),
            "config must be of REPLACE_ONE and WITHOUT_REPLACEMENT, got ADD_OR_REMOVE_ONE and POISSON; no",
        ),
        (lambda: ShuffledPrivacyEvent(1.0, 11, 10), "sample_size must be at most population_size=10, got 11"),
        (lambda: ShuffledPrivacyEvent(-1.0, 5, 10), "eps0 must be a finite number >= 0, got -1.0"),
        (lambda: ShuffledPrivacyEvent(1.0, 5, 0), "population_size must be a whole number >= 1, got 0"),
        (lambda: ShuffleAccountant(CONFIG).compose(EVENT, 0), "count must be a whole number >= 1, got 0"),
        (
            lambda: ShuffleAccountant(CONFIG).compose(ShuffledPrivacyEvent(1.0, 5, 10)),
            "population_size must be that of the PrivacyConfig, 1000, got 10",
        ),
        (lambda: ShuffleAccountant(CONFIG).compose("a round"), "event must be a ShuffledPrivacyEvent or a"),
        (lambda: ShuffleAccountant(CONFIG).get_epsilon(0), r"delta must lie in \(0, 1\), got 0"),
        (lambda: ShuffleAccountant(CONFIG).get_delta(-1), "epsilon must be a finite number >= 0, got -1"),
        (lambda: LocalRandomizerMod("gaussian", eps0=1, radius=1), "randomizer must be one of l1_hadamard"),
        (
            lambda: ShuffledPrivacyEvent.of("gaussian", 9, eps0=1.0, sample_size=1, population_size=9),
            "randomizer must be one of l1_hadamard, .* got 'gaussian'",
        ),
        (lambda: LocalRandomizerMod("l2_privunit", eps0=0, radius=1), "eps0 must be a finite number > 0"),
        (lambda: LocalRandomizerMod("l2_privunit", eps0=1, radius=-1), "radius must be a finite number > 0"),
    ],
)
def test_bad_input_is_refused_in_one_line(call, message):
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        call()
    assert "\n" not in str(caught.value)


# --- the client mod


@pytest.fixture
def sent(monkeypatch):
    """A message of the server, with two arrays."""
    for name in ("_run_id", "_node_id", "_task_id"):
        monkeypatch.setattr(TaskIdentity, name, 0)

    def make(kind="train"):
        arrays = [np.full((2, 3), 5.0, dtype=np.float32), np.full(4, -1.0)]
        return Message(RecordDict({"arrays": ArrayRecord(arrays)}), 1, kind)

    return make


CONTEXT = Context(0, 1, {}, RecordDict(), {})


def mod(**changed):
    generator = torch.Generator().manual_seed(1)
    return LocalRandomizerMod(
        **{"randomizer": "l2_privunit", "eps0": 2.0, "radius": 1.0, "generator": generator, **changed}
    )


def trained(message, context):
    """A client that adds 1 everywhere, and tells its loss."""
    arrays = [one + 1 for one in message.content["arrays"].to_numpy_ndarrays()]
    metrics = MetricRecord({"num-examples": 17, "loss": 0.25})
    return Message(RecordDict({"arrays": ArrayRecord(arrays), "metrics": metrics}), reply_to=message)


def updates(randomize, message, count):
    before = message.content["arrays"].to_numpy_ndarrays()
    found = []
    for _ in range(count):
        after = randomize(message, CONTEXT, trained).content["arrays"].to_numpy_ndarrays()
        found.append(np.concatenate([(a - b).ravel() for a, b in zip(after, before, strict=True)]))
    return np.array(found)


@pytest.mark.parametrize("randomizer", ["l2_privunit", "linf_coordinate"])
def test_what_is_sent_is_the_clipped_update_on_average(randomizer, sent):
    found = updates(mod(randomizer=randomizer), sent(), 400)
    wanted = np.full(10, 1.0 if randomizer == "linf_coordinate" else 1 / math.sqrt(10))
    error = (found.mean(0) - wanted) / (found.std(0) / math.sqrt(400))
    assert np.abs(error).max() < 4
    lengths = np.linalg.norm(found, axis=1)
    assert np.ptp(lengths) < 1e-5 * lengths.max(), "all messages have one length, whatever the update"
    assert lengths.min() > 1


def test_the_reply_tells_nothing_else(sent):
    reply = mod()(sent(), CONTEXT, trained)
    assert set(reply.content) == {"arrays", "metrics"}
    assert dict(reply.content["metrics"]) == {"num-examples": 1.0}
    arrays = reply.content["arrays"].to_numpy_ndarrays()
    assert [(one.shape, one.dtype) for one in arrays] == [((2, 3), np.float32), ((4,), np.float64)]
    assert dict(mod(weighted_by_key="w")(sent(), CONTEXT, trained).content["metrics"]) == {"w": 1.0}


def test_it_works_in_an_app(sent):
    app = ClientApp()
    app.train(mods=[mod()])(trained)
    reply = app(sent(), CONTEXT)
    again = mod()(sent(), CONTEXT, trained)
    for one, other in zip(
        *(each.content["arrays"].to_numpy_ndarrays() for each in (reply, again)), strict=True
    ):
        assert np.array_equal(one, other)


def test_without_a_generator_the_system_seeds_one(sent):
    one, other = (updates(mod(generator=None), sent(), 1) for _ in range(2))
    assert not np.array_equal(one, other)


def test_other_messages_and_errors_pass(sent):
    reply = mod()(sent("evaluate"), CONTEXT, trained)
    assert reply.content["metrics"]["loss"] == 0.25
    failed = mod()(sent(), CONTEXT, lambda message, _: Message(Error(1), reply_to=message))
    assert failed.has_error()


def replying(**records):
    return lambda message, _: Message(RecordDict(records), reply_to=message)


def test_what_cannot_be_randomised_is_not_sent(sent):
    arrays = ArrayRecord([np.zeros((2, 3)), np.zeros(4)])
    for reply, message in (
        ({"a": arrays, "b": arrays}, r"reply must have one array record, got 2; put all arrays into one"),
        ({}, "reply must have one array record, got 0"),
        ({"a": ArrayRecord([np.zeros(10)])}, "reply must have the arrays of the message, "),
        ({"a": ArrayRecord([np.full((2, 3), np.nan), np.zeros(4)])}, "x must be finite, got nan in row 0"),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            mod()(sent(), CONTEXT, replying(**reply))
    counting = sent()
    counting.content = RecordDict({"arrays": ArrayRecord([np.zeros(3), np.zeros(2, dtype=np.int64)])})
    with pytest.raises(
        ValueError, match=r"^message must have arrays of floating-point numbers, got int64 in"
    ):
        mod()(counting, CONTEXT, trained)
    empty = sent()
    empty.content = RecordDict()
    with pytest.raises(ValueError, match=r"^message must have one array record, got 0"):
        mod()(empty, CONTEXT, trained)
