"""The profiles agree on what decides when something is made again, and name rules that exist."""

import re

import pytest
import yaml

PROFILES = ("default", "slurm", "cluster-generic")
DECIDING = ("rerun-triggers", "max-checksum-file-size", "rerun-incomplete")


@pytest.fixture(scope="module")
def profiles(root):
    return {
        name: yaml.safe_load((root / f"profiles/{name}/config.yaml").read_text(encoding="utf-8"))
        for name in PROFILES
    }


@pytest.fixture(scope="module")
def rules(root):
    texts = [path.read_text(encoding="utf-8") for path in (root / "workflow/rules").glob("*.smk")]
    named = r"^ *(?:rule|use rule \w+ as) (\w+)(?: with)?:"
    return set(re.findall(named, "\n".join(texts), re.MULTILINE))


@pytest.mark.parametrize("key", DECIDING)
def test_what_is_made_again_is_the_same_everywhere(profiles, key):
    assert {str(profile[key]) for profile in profiles.values()} == {str(profiles["default"][key])}


@pytest.mark.parametrize("name", PROFILES[1:])
def test_profiles_name_rules_that_exist_and_group_every_small_one(profiles, rules, name):
    profile = profiles[name]
    assert profile["groups"].keys() | profile["set-resources"].keys() <= rules
    kinds = r"compute_(curve|sweep_curve|quantity|frontier)|plot|privacy_utility"
    small = {rule for rule in rules if re.match(kinds, rule)}
    assert profile["groups"].keys() == small
    assert set(profile["groups"].values()) == profile["group-components"].keys()
    assert profile["set-resources"]["train"]["gpu"] == 1
    assert profile["set-resources"]["train_sweep"] == profile["set-resources"]["train"]
    # a group that is connected with curves would wait for all of them, in one job
    assert {profile["groups"][rule] for rule in ("compute_frontier", "plot")} == {"figures"}
    assert profiles["default"]["resources"] == ["gpu=1"]


@pytest.mark.parametrize("name", PROFILES[1:])
def test_every_setting_of_a_cluster_is_explained(root, name):
    lines = (root / f"profiles/{name}/config.yaml").read_text(encoding="utf-8").splitlines()
    keys = [at for at, line in enumerate(lines) if re.match(r"[a-z]", line)]
    for at in keys:
        above = lines[max(at - 6, 0) : at + 2]
        assert any(line.strip().startswith("#") for line in above), lines[at]
