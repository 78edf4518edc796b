"""How much is computed, and where it goes, has limits."""

import math

import pytest
import yaml

from shuffledp.reproduction import config
from shuffledp.reproduction.config import documentation
from shuffledp.variables import VARIABLES

from ..small_configuration import BASE, LEFT_OUT, QUANTITIES, STYLED


def _numbers(node, path=""):
    """Every number that the schema asks for: its place and its part of the schema."""
    if isinstance(node, list):
        for item in node:
            yield from _numbers(item, path)
    elif isinstance(node, dict):
        if node.get("type") in ("integer", "number"):
            yield path, node
        for key, child in node.items():
            yield from _numbers(child, path if key in ("properties", "$defs") else f"{path}/{key}")


# what decides neither how much is computed nor how much is stored
UNLIMITED = {
    "clip_norm",
    "noise_multiplier",
    "learning_rates/items",
    "projection",
    "regularization",
    # within 700 sigma^2, across keys
    "half_width",
    "from",
    "to",
    "x_limit",
    "PointSection/epsilon",
    "PointSection/deviation",
    "StatedNumber/at",
    "StatedNumber/value",
    "StatedNumber/times",
    "StatedAccuracy/rounds",
    "fixed/additionalProperties",
}


def test_every_number_that_decides_how_much_is_computed_has_a_limit():
    for path, node in _numbers(documentation.schema()):
        limited = "maximum" in node or "exclusiveMaximum" in node
        assert limited or any(path.endswith(f"/{name}") for name in UNLIMITED), path


def test_limits_of_variables_are_those_of_the_accountants_with_their_reason():
    found = documentation.schema()["$defs"]
    keys = found["BoundsPanel"]["properties"] | found["Randomizer"]["properties"]
    limited = [one for one in VARIABLES.values() if one.limit]
    assert {"n", "k", "slots", "rounds", "categories", "eps0", "sigma"} <= {one.name for one in limited}
    for one in limited:
        if one.limit.most < math.inf:
            assert keys[one.name]["maximum"] == one.limit.most
            assert one.limit.why in keys[one.name]["description"]


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("results", "taken", "results must be a folder, got 'taken', where taken is a file"),
        ("figures", "taken/below", "figures must be a folder, got 'taken/below', where taken is a file"),
        ("ledger", "folder", "ledger must be a file, got 'folder', which is a folder"),
        ("ledger", "taken/claims.md", "the folder of ledger must be a folder, got 'taken'"),
        ("ledger", "results/claims.md", "must not be claims.* in the folder of the results"),
    ],
)
def test_paths_that_cannot_be_written_are_refused(tmp_path, monkeypatch, refusal, key, value, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").touch()
    (tmp_path / "folder").mkdir()
    message = refusal(BASE, f"paths: {{{key}: {value}}}\n")
    assert says in message
    assert f"(at paths.{key}, " in message


@pytest.mark.parametrize(
    ("changes", "most"),
    [
        ({"n": 1e6}, 60_000),
        ({"n": 60_001}, 60_000),
    ],
)
def test_more_clients_than_images_are_refused_before_anything_is_trained(root, changes, most):
    raw = yaml.safe_load((root / "config/config.yaml").read_text(encoding="utf-8"))
    raw["training"]["experiments"]["girgis2021-fig3"].update(changes)
    with pytest.raises(ValueError, match=f"n must be at most {most}, the training images of mnist"):
        config.resolve(raw)


@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        (
            "girgis2021-fig3",
            {"epoch_rounds": 1e9},
            "1000000000 is greater than the maximum of 1000000. Rounds of an epoch",
        ),
        (
            "girgis2021-fig3",
            {"epochs": [60_000, 60_000], "learning_rates": [1, 1]},
            "epochs must be at most 100000 together, since each is a row that is stored, got 120000",
        ),
        (
            "liew2022-fig3b",
            {"epoch_rounds": LEFT_OUT, "n": 1e8, "rate": 1e-8},
            "epoch_rounds must be given, at most 1000000: an epoch would have 1e+08 rounds",
        ),
    ],
)
def test_epochs_end_and_are_not_without_number(refused, name, changes, says):
    assert says in refused("training", "experiments", name, **changes)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"half_width": 1e9}, "half_width must be at most 2800 for sigma = 2"),
        ({"half_width": 0.01}, "0.01 is less than the minimum of 0.1. Half the width"),
        ({"points": 1e12}, "points must be at most 1.42857e+11 for 7 clients"),
        ({"points": 1e13}, "is greater than the maximum of 1000000000000. Points of each"),
        (
            {"epsilon": {"from": 0.1, "to": 710, "points": 3}},
            "710 is greater than the maximum of 700. Last value",
        ),
        ({"seed": 1e30}, "is greater than the maximum of 9007199254740992. Seed"),
    ],
)
def test_simulations_end_within_the_range_of_doubles(refused, changes, says):
    assert says in refused("simulation", "koskela2022", "fig5", **changes)


def test_a_study_may_not_have_trainings_without_end(root):
    path = root / "config/config.yaml"
    raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    raw |= yaml.safe_load((root / "config/sweep.yaml").read_text(encoding="utf-8"))
    raw["sweep"]["grid"]["eps0"] = [1 + number / 1000 for number in range(1000)]
    with pytest.raises(ValueError, match="grid and seeds must make at most 100000 trainings"):
        config.resolve(raw, files=[str(path)])


@pytest.mark.parametrize("runs", ["1e7", "1e9"])
def test_quantities_are_not_drawn_without_end(load, runs):
    styled = STYLED.replace("fixed-window-dummies", "fixed-window-dummies-drawn")
    drawn = QUANTITIES.replace("[fixed-window-dummies]", "[fixed-window-dummies-drawn]")
    assert load(styled + drawn.replace("n: 10,", "n: 10, runs: 3, seed: 0,")).of("quantities")
    with pytest.raises(ValueError, match=r"runs must be at most 1e\+06, since .* is drawn by simulation"):
        load(styled + drawn.replace("n: 10,", f"n: 10, runs: {runs}, seed: 0,"))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            "n: 1e8, runs: 1e6, seed: 0",
            r"runs must be fewer, or n, slots or points smaller: .* 3e\+14 numbers",
        ),
        ("n: 10, runs: 2.5, seed: 0", "runs must be a whole number >= 2, got 2.5"),
        ("n: 10, runs: 1, seed: 0", "runs must be a whole number >= 2, got 1"),
        ("n: 10, runs: 3, seed: -1", "seed must be a whole number >= 0, got -1"),
        ("n: 10, runs: 3, seed: 1e30", r"seed must be at most 9\.0072e\+15"),
    ],
)
def test_quantities_are_drawn_in_runs_that_end(load, given, says):
    styled = STYLED.replace("fixed-window-dummies", "fixed-window-dummies-drawn")
    drawn = QUANTITIES.replace("[fixed-window-dummies]", "[fixed-window-dummies-drawn]")
    with pytest.raises(ValueError, match=says):
        load(styled + drawn.replace("n: 10,", f"{given},"))
