"""The system that accounts for an experiment, and the rounds of training that one of its rounds is."""

import pytest

from shuffledp.accountants import systems
from shuffledp.profiles import named_randomizers
from shuffledp.profiles.gaussian import gaussian_delta
from shuffledp.reproduction import config
from shuffledp.reproduction.trainings.accounting import accounting, rounds_of_one

from ...training.test_runs import GAUSSIAN, experiment


@pytest.mark.parametrize(
    ("changes", "system", "setting"),
    [
        ({}, ("subsampled-shuffle", "ldp"), {"n": 600, "k": 100, "eps0": 1.5, "delta": 1e-5}),
        (
            {"protocol": "shuffled-check-in", "rate": 0.1, "k": None},
            ("shuffled-check-in", "ldp"),
            {"n": 600, "rate": 0.1, "eps0": 1.5, "delta": 1e-5},
        ),
        (
            {"protocol": "shuffled-check-in", "rate": 0.1, "k": None, **GAUSSIAN},
            ("shuffled-check-in", "approximate-ldp"),
            {"n": 600, "rate": 0.1, "eps0": 2.0, "delta0": 1e-5, "delta": 1e-5},
        ),
        (
            {
                **{"protocol": "shuffled-check-in", "rate": 0.1, "k": None, **GAUSSIAN},
                **{"eps0": None, "delta0": None, "noise_multiplier": 1.3},
            },
            ("distributed-check-in", "gaussian"),
            {"n": 600, "rate": 0.1, "sigma": 0.65, "delta": 1e-5},
        ),
        (
            {"protocol": "fixed-window", "slots": 10, "k": None},
            ("fixed-window", "ldp"),
            {"slots": 10, "participation": 1.0, "eps0": 1.5, "delta": 1e-5},
        ),
        (
            {"protocol": "fixed-window", "slots": 10, "participation": 0.5, "k": None},
            ("fixed-window", "ldp"),
            {"slots": 10, "participation": 0.5, "eps0": 1.5, "delta": 1e-5},
        ),
        (
            {"protocol": "sliding-window", "slots": 10, "k": None},
            ("sliding-window", "ldp"),
            {"slots": 10, "eps0": 1.5, "delta": 1e-5},
        ),
        (
            {"protocol": "averaged-window", "slots": 10, "k": None},
            ("averaged-window", "ldp"),
            {"n": 600, "slots": 10, "eps0": 1.5, "delta": 1e-5},
        ),
    ],
)
def test_the_system_that_accounts_for_an_experiment(changes, system, setting):
    found = accounting(experiment(delta=1e-5, **changes))
    assert found[system] == setting
    for each, variables in found.items():
        assert set(systems.get(*each).variables) == set(variables) - {"delta"}


@pytest.mark.parametrize(
    "changes",
    [
        {"delta": None},
        {"protocol": "fixed-window", "slots": 10, "k": None, **GAUSSIAN},
        GAUSSIAN,
        {"randomizer": "none", "clip": "none", "clip_norm": None, "eps0": None},
    ],
)
def test_what_no_system_accounts_for(changes):
    assert accounting(experiment(**{"delta": 1e-5, **changes})) == {}


@pytest.mark.parametrize(
    ("changes", "rounds"),
    [
        ({}, 1),
        ({"protocol": "shuffled-check-in", "rate": 0.1, "k": None}, 1),
        ({"protocol": "fixed-window", "slots": 10, "k": None}, 10),
        ({"protocol": "averaged-window", "slots": 10, "k": None}, 10),
        ({"protocol": "sliding-window", "slots": 10, "k": None}, 591),  # the slots 10 to 600
    ],
)
def test_a_window_counts_as_one_round_of_its_system(changes, rounds):
    assert rounds_of_one(experiment(delta=1e-5, **changes)) == rounds


@pytest.fixture
def unlisted(monkeypatch):
    """The randomiser l2_hemisphere as one of which nothing but eps0 is known."""
    monkeypatch.delitem(named_randomizers._TRAINED, "l2_hemisphere")
    return {"randomizer": "l2_hemisphere", "clip": "norm"}


@pytest.mark.parametrize("protocol", [{}, {"protocol": "shuffled-check-in", "rate": 0.1, "k": None}])
def test_a_randomiser_of_which_nothing_is_known_is_accounted_for_by_its_eps0(unlisted, protocol):
    known = accounting(experiment(delta=1e-5, **protocol))
    ((system, setting),) = accounting(experiment(delta=1e-5, **protocol, **unlisted)).items()
    assert system[1] == "ldp"
    assert known[system] == setting


@pytest.mark.usefixtures("unlisted")
def test_a_curve_that_needs_what_is_not_known_of_a_randomiser_is_refused(root):
    refusal = (
        r"experiment must be of .* 'share-pld' is for subsampled-shuffle with share, and "
        r"'girgis2021-fig6-hemisphere' is subsampled-shuffle with ldp; nothing but eps0 is known of "
        r"randomizer 'l2_hemisphere': leave it out, or enter in profiles/named_randomizers.py what is known"
    )
    with pytest.raises(ValueError, match=refusal):
        config.load([root / "config/config.yaml"])


@pytest.mark.parametrize(("given", "sigma"), [({}, 0.65), ({"distance": 1}, 1.3), ({"distance": 0.5}, 2.6)])
def test_sigma_is_over_the_distance_that_is_given(given, sigma):
    noisy = {"randomizer": "gaussian", "clip": "norm", "eps0": None, "noise_multiplier": 1.3}
    checked_in = {"protocol": "shuffled-check-in", "rate": 0.1, "k": None, "delta": 1e-5}
    (found,) = accounting(experiment(**noisy, **checked_in), **given).values()
    assert found["sigma"] == pytest.approx(sigma)


def test_calibrated_noise_is_accounted_for_as_what_it_is():
    changes = {"protocol": "shuffled-check-in", "rate": 0.1, "k": None, **GAUSSIAN, "delta": 1e-5}
    found = accounting(experiment(**changes))
    assert list(found) == [("shuffled-check-in", "approximate-ldp"), ("shuffled-check-in", "gaussian")]
    sigma = found["shuffled-check-in", "gaussian"]["sigma"]
    # over the largest distance of two clipped gradients, it is what keeps (eps0, delta0)
    assert gaussian_delta(eps=2.0, noise=sigma) == pytest.approx(1e-5, rel=1e-6)


def test_runs_of_other_protocols_are_not_accounted_for_as_sampling(root, tmp_path):
    layer = tmp_path / "layer.yaml"
    layer.write_text(
        "training: {experiments: {girgis2021-fig3: {protocol: shuffled-check-in, rate: 0.1, k: 6000}}}\n"
    )
    with pytest.raises(
        ValueError, match=r"'girgis2021-upper' is for subsampled-shuffle .* shuffled-check-in"
    ):
        config.load([root / "config/config.yaml", layer])
    layer.write_text(
        "progress: {liew2022: {fig3b: {panels: {a: {lines: [\n{experiment: none, label: l, "
        "color: '#000000', line: solid}]}}}}}\n"
    )
    with pytest.raises(ValueError, match=r"one of training.experiments .* got 'none' .*layer.yaml line 2"):
        config.load([root / "config/config.yaml", layer])
