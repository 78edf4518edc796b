"""The experiments of the configuration."""

import pytest

from shuffledp.reproduction import config


def test_the_shipped_experiments(shipped):
    rounds = {entry.name: entry.rounds for entry in shipped.experiments}
    assert rounds["girgis2021-fig3"] == rounds["girgis2021-fig3-normclip"] == 1200
    assert rounds["girgis2021-fig6-hemisphere"] == rounds["girgis2021-fig6-privunit"] == 6000
    with pytest.raises(ValueError, match=r"'girgis2021-fig7'; did you mean 'girgis2021-fig3'\? it has "):
        shipped.experiment("girgis2021-fig7")


def test_a_bad_experiment_in_the_configuration_is_named_with_its_line(root, tmp_path):
    layer = tmp_path / "layer.yaml"
    layer.write_text("training:\n  experiments:\n    girgis2021-fig3:\n      k: 70000\n")
    with pytest.raises(ValueError, match=r"k must be at most n.*layer.yaml line 4"):
        config.load([root / "config/config.yaml", layer])
