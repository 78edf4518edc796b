"""Shuffled reports in dp_accounting: values against our accountants, theirs, and closed forms."""

import math

import numpy as np
import pytest

dp_accounting = pytest.importorskip("dp_accounting", reason="needs the extra interop")

from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant, privacy_loss_distribution

from shuffledp import accountants
from shuffledp.interop.dp_accounting import (
    ShuffledCheckInDpEvent,
    ShuffledDpEvent,
    ShuffledPrivacyAccountant,
    to_privacy_loss_distribution,
)
from shuffledp.pld import Lattice
from shuffledp.pld.common_lattice import _on_step
from shuffledp.profiles.gaussian import gaussian_delta, gaussian_epsilon
from shuffledp.profiles.joint_clones import joint_clones

REPLACE_ONE = dp_accounting.NeighboringRelation.REPLACE_ONE
GAUSSIAN = dp_event.GaussianDpEvent(3.0)


def epsilon_of(*events, delta=1e-6):
    accountant = ShuffledPrivacyAccountant()
    for event in events:
        accountant.compose(event)
    return accountant.get_epsilon(delta)


def many(event, count):
    return dp_event.SelfComposedDpEvent(event, count)


@pytest.mark.parametrize(
    ("event", "setting"),
    [
        (
            ShuffledDpEvent(n=1000, k=100, eps0=1.0),
            {"n": 1000, "k": 100, "eps0": 1.0, "name": "clones-joint-pld"},
        ),
        (ShuffledDpEvent(n=1000, eps0=1.0), {"n": 1000, "k": 1000, "eps0": 1.0, "name": "clones-joint-pld"}),
        (
            ShuffledCheckInDpEvent(n=1000, rate=0.1, eps0=1.0),
            {"n": 1000, "rate": 0.1, "eps0": 1.0, "name": "check-in-joint-pld"},
        ),
        (
            ShuffledDpEvent.of("krr", n=1000, k=100, eps0=1.0, categories=20),
            {"n": 1000, "k": 100, "eps0": 1.0, "randomizer": "krr", "categories": 20},
        ),
    ],
)
def test_rounds_of_one_setting_are_those_of_the_accountants(event, setting):
    assert epsilon_of(many(event, 50)) == accountants.epsilon(**setting, rounds=50, delta=1e-6)
    assert epsilon_of(event, delta=0) == accountants.epsilon(**setting, rounds=1, delta=0)


def test_phases_compose_as_two_symbol_randomised_response_does():
    # with one client a round is randomised response: 10 rounds at eps0 = 0.5, then 5 at 1; by enumeration
    # of the two numbers of ones
    def law(rounds, eps0):
        p = 1 / (1 + math.exp(-eps0))
        return [
            (math.comb(rounds, ones) * p**ones * (1 - p) ** (rounds - ones), (2 * ones - rounds) * eps0)
            for ones in range(rounds + 1)
        ]

    both = [(p * q, s + t) for p, s in law(10, 0.5) for q, t in law(5, 1.0)]

    def delta(eps):
        return math.fsum(p * -math.expm1(eps - loss) for p, loss in both if loss > eps)

    low, high = 0.0, 10.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if delta(middle) > 1e-5 else (low, middle)
    phases = [many(ShuffledDpEvent(n=1, eps0=0.5), 10), many(ShuffledDpEvent(n=1, eps0=1.0), 5)]
    found = epsilon_of(*phases, delta=1e-5)
    assert high == pytest.approx(9.994500503286, rel=1e-12)
    assert high <= found <= high * (1 + 1e-9)
    accountant = ShuffledPrivacyAccountant().compose(dp_event.ComposedDpEvent(phases))
    assert delta(3.0) <= accountant.get_delta(3.0) <= delta(3.0) * (1 + 1e-9)
    assert accountant.get_epsilon(1e-5) == found


@pytest.mark.parametrize("noise", [0.5, 3.0, 100.0])
@pytest.mark.parametrize("count", [1, 7])
@pytest.mark.few(3)
def test_gaussian_events_count_double_as_in_their_own_accountant(noise, count):
    event = many(dp_event.GaussianDpEvent(noise), count)
    exact = gaussian_epsilon(1e-6, mu=2 * math.sqrt(count) / noise)
    theirs = pld_privacy_accountant.PLDAccountant(REPLACE_ONE, 1e-3).compose(event).get_epsilon(1e-6)
    assert exact <= epsilon_of(event) <= exact * 1.001
    assert epsilon_of(event) == pytest.approx(theirs, rel=2e-3)


def test_gaussian_events_are_joined_to_shuffled_ones():
    shuffled = many(ShuffledDpEvent(n=10_000, k=1000, eps0=2.0), 100)
    both = epsilon_of(shuffled, GAUSSIAN)
    assert max(epsilon_of(shuffled), epsilon_of(GAUSSIAN)) < both
    assert both < epsilon_of(shuffled, delta=5e-7) + epsilon_of(GAUSSIAN, delta=5e-7)
    # and as their privacy loss distributions compose, but for rounding on both sides
    distribution = to_privacy_loss_distribution(shuffled.event, value_discretization_interval=1e-3)
    gaussian = privacy_loss_distribution.from_gaussian_mechanism(
        3.0, neighboring_relation=REPLACE_ONE, value_discretization_interval=1e-3
    )
    theirs = distribution.self_compose(100).compose(gaussian)
    assert both == pytest.approx(theirs.get_epsilon_for_delta(1e-6), rel=5e-3)


def test_several_settings_are_no_better_than_the_best_and_no_worse_than_the_worst():
    low, high = (
        ShuffledDpEvent(n=10_000, k=500, eps0=1.0),
        ShuffledCheckInDpEvent(n=10_000, rate=0.1, eps0=2.0),
    )
    both = epsilon_of(many(low, 30), many(high, 30))
    assert epsilon_of(many(low, 60)) < both < epsilon_of(many(high, 60))


def test_order_and_nesting_do_not_matter():
    events = [ShuffledDpEvent(n=500, eps0=1.0), GAUSSIAN, ShuffledCheckInDpEvent(n=500, rate=0.2, eps0=1.0)]
    flat = epsilon_of(*events, *events)
    assert epsilon_of(*reversed(events), *events) == pytest.approx(flat, rel=1e-12)
    nested = dp_event.ComposedDpEvent([dp_event.NoOpDpEvent(), many(dp_event.ComposedDpEvent(events), 2)])
    assert epsilon_of(nested) == pytest.approx(flat, rel=1e-12)


def test_delta_is_the_inverse_of_epsilon():
    accountant = ShuffledPrivacyAccountant()
    accountant.compose(ShuffledDpEvent(n=500, eps0=1.0), 20).compose(GAUSSIAN)
    for delta in (1e-3, 1e-9):
        assert accountant.get_delta(accountant.get_epsilon(delta)) == pytest.approx(delta, rel=1e-3)
    assert accountant.get_delta(0.0) < 1


def test_corners():
    fresh = ShuffledPrivacyAccountant()
    assert (fresh.get_epsilon(1e-6), fresh.get_epsilon(0), fresh.get_delta(0.0)) == (0, 0, 0)
    assert epsilon_of(ShuffledDpEvent(n=10, eps0=0.0), many(ShuffledDpEvent(n=20, eps0=0.0), 3)) == 0
    assert epsilon_of(GAUSSIAN, delta=1) == 0
    assert epsilon_of(GAUSSIAN, delta=0) == math.inf
    for exposing in (dp_event.NonPrivateDpEvent(), dp_event.GaussianDpEvent(0.0)):
        accountant = ShuffledPrivacyAccountant().compose(exposing)
        assert accountant.get_epsilon(0.5) == math.inf
        assert accountant.get_delta(100.0) == 1
    pure = [many(ShuffledDpEvent(n=10, eps0=0.1), 2), ShuffledDpEvent(n=20, k=5, eps0=0.2)]
    assert epsilon_of(*pure, delta=0) == pytest.approx(0.2 + math.log1p(0.25 * math.expm1(0.2)), rel=1e-12)
    assert ShuffledPrivacyAccountant().compose(dp_event.ComposedDpEvent(pure)).get_delta(0.3) == 0


def test_very_different_losses_still_have_a_bound():
    # a small loss many times, and a large one, which no lattice of few points tells apart
    small, large = many(ShuffledDpEvent(n=10**6, eps0=1e-3), 10**4), ShuffledDpEvent(n=1, eps0=5.0)
    apart = epsilon_of(large, delta=5e-7) + epsilon_of(small, delta=5e-7)
    assert epsilon_of(large) <= epsilon_of(small, large) <= apart * (1 + 1e-12)


def test_unsupported_events_are_refused():
    accountant = ShuffledPrivacyAccountant()
    for event in (
        dp_event.UnsupportedDpEvent(),
        dp_event.PoissonSampledDpEvent(0.1, GAUSSIAN),
        dp_event.PoissonSampledDpEvent(0.1, ShuffledDpEvent(n=5, eps0=1.0)),
        dp_event.GaussianDpEvent(-1.0),
    ):
        assert not accountant.supports(event)
        nested = dp_event.ComposedDpEvent([ShuffledDpEvent(n=5, eps0=1.0), many(event, 2)])
        with pytest.raises(dp_accounting.UnsupportedEventError):
            accountant.compose(nested)
    assert accountant.get_epsilon(0.1) == 0, "what is refused leaves nothing behind"
    assert accountant.ledger == dp_event.NoOpDpEvent()


def test_calibration_works():
    setting = {"n": 10_000, "k": 1000}

    def event_of(eps0):
        return many(ShuffledDpEvent(**setting, eps0=eps0), 100)

    found = dp_accounting.calibrate_dp_mechanism(
        ShuffledPrivacyAccountant,
        event_of,
        1.0,
        1e-6,
        dp_accounting.ExplicitBracketInterval(0.1, 5.0),
        tol=1e-3,
    )
    assert epsilon_of(event_of(found)) <= 1.0 < epsilon_of(event_of(found + 2e-3))
    rounds = dp_accounting.calibrate_dp_mechanism(
        ShuffledPrivacyAccountant,
        lambda count: many(ShuffledDpEvent(**setting, eps0=1.0), count),
        1.0,
        1e-6,
        dp_accounting.ExplicitBracketInterval(1, 10_000),
        discrete=True,
    )
    each = ShuffledDpEvent(**setting, eps0=1.0)
    assert epsilon_of(many(each, rounds)) <= 1.0 < epsilon_of(many(each, rounds + 2))


def test_what_is_left_out_counts_as_disclosed():
    event, setting = ShuffledDpEvent(n=300, k=60, eps0=2.0), {"n": 300, "k": 60, "eps0": 2.0}
    distribution = to_privacy_loss_distribution(event, nats=3.0)
    for eps in (0.0, 0.1, 0.4):
        assert distribution.get_delta_for_epsilon(eps) >= joint_clones(eps, **setting) * (1 - 1e-11)
    lattice = Lattice(0.2, np.array([1.0, 2.0]), np.array([0.5, 0.4]), 0.1)
    finer = _on_step(lattice, 0.1)
    assert (finer.step, finer.infinite) == (0.1, 0.1)
    assert finer.loss == pytest.approx(lattice.loss)


@pytest.mark.parametrize("interval", [1e-2, 1e-3])
def test_distribution_is_rounded_outward(interval):
    n, k, eps0 = 300, 60, 2.0
    distribution = to_privacy_loss_distribution(
        ShuffledDpEvent(n=n, k=k, eps0=eps0), value_discretization_interval=interval
    )
    for eps in (0.0, 0.00317, 0.05, 0.1234, 0.3, 0.6, 0.95):
        exact = joint_clones(eps, n=n, k=k, eps0=eps0)
        found = distribution.get_delta_for_epsilon(eps)
        # the profile is itself rounded up, by 2^-37
        assert exact * (1 - 1e-11) <= found <= exact * (1 + 60 * interval) + 1e-15
    composed = distribution.self_compose(20)
    ours = ShuffledPrivacyAccountant().compose(ShuffledDpEvent(n=n, k=k, eps0=eps0), 20)
    assert composed.get_epsilon_for_delta(1e-4) == pytest.approx(ours.get_epsilon(1e-4), rel=1e-2)


def test_distribution_of_check_ins_is_rounded_outward():
    event = ShuffledCheckInDpEvent.of("krr", n=200, rate=0.2, eps0=1.0, categories=5)
    ours = ShuffledPrivacyAccountant().compose(event)
    coarse, fine = (
        to_privacy_loss_distribution(event, value_discretization_interval=interval)
        for interval in (1e-2, 1e-4)
    )
    for delta in (1e-2, 1e-5):
        exact = ours.get_epsilon(delta)
        assert exact * (1 - 1e-3) <= fine.get_epsilon_for_delta(delta) <= coarse.get_epsilon_for_delta(delta)


def test_events_keep_what_they_are():
    event = ShuffledDpEvent.of("krr", n=100, k=10, eps0=1.0, categories=5)
    assert event.share == pytest.approx(0.2)
    assert len({event, ShuffledDpEvent(n=100, k=10, eps0=1.0)}) == 2
    with pytest.raises(AttributeError):
        event.n = 5
    assert dp_event.DpEvent.from_named_tuple(event.to_named_tuple()) == event
    ledger = ShuffledPrivacyAccountant().compose(event).compose(event).ledger
    assert ledger == many(event, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ShuffledDpEvent(n=0, eps0=1.0), "n must be a whole number >= 1, got 0"),
        (lambda: ShuffledDpEvent(n=5, k=6, eps0=1.0), "k must be at most n: a round cannot draw k=6 of n=5"),
        (lambda: ShuffledDpEvent(n=5, eps0=-1.0), "eps0 must be a finite number >= 0, got -1.0"),
        (lambda: ShuffledCheckInDpEvent(n=5, rate=1.5, eps0=1.0), r"rate must lie in \(0, 1\), got 1.5"),
        (lambda: ShuffledDpEvent.of("krr", n=5, k=5, eps0=1.0), "randomizer 'krr' needs categories"),
        (lambda: ShuffledDpEvent.of("none", n=5, k=5, eps0=1.0), "randomizer must be one of krr, "),
        (lambda: ShuffledDpEvent(n=5, eps0=1.0, share=0.7), r"share must lie in \(0, 1/2\], got 0.7"),
        (lambda: ShuffledDpEvent(n=5, eps0=1.0, tv=0.9), "tv must be at most "),
        (
            lambda: ShuffledPrivacyAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE),
            "neighboring_relation must be REPLACE_ONE, got <NeighboringRelation.ADD_OR_REMOVE_ONE",
        ),
        (lambda: epsilon_of(GAUSSIAN, delta=2), r"target_delta must lie in \[0, 1\], got 2"),
        (
            lambda: ShuffledPrivacyAccountant().get_delta(-1),
            "target_epsilon must be a finite number >= 0, got -1",
        ),
        (
            lambda: to_privacy_loss_distribution(
                ShuffledDpEvent(n=5, eps0=1.0), value_discretization_interval=1e-9
            ),
            "value_discretization_interval must be at least ",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(call, message):
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        call()
    assert "\n" not in str(caught.value)


def test_only_own_events_have_a_distribution_here():
    with pytest.raises(
        TypeError, match=r"^event must be a ShuffledDpEvent or a ShuffledCheckInDpEvent, got "
    ):
        to_privacy_loss_distribution(GAUSSIAN)


def test_gaussian_delta_is_the_closed_form():
    exact = gaussian_delta(eps=1.0, noise=1.5)
    assert exact <= ShuffledPrivacyAccountant().compose(GAUSSIAN).get_delta(1.0) <= exact * 1.01
