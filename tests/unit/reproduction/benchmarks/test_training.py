"""Times of training: each way to take a round is timed against the limit of the device."""

import pytest

torch = pytest.importorskip("torch")


from shuffledp.randomizers import registry
from shuffledp.reproduction.benchmarks import training as benchmarks

pytestmark = pytest.mark.usefixtures("one_thread")


def test_every_path_is_timed():
    table = benchmarks.time_training(clients=64, normals=1000, scale=0.1)
    assert (table[["seconds", "per_second", "of_limit"]] > 0).all(axis=None)
    limits = table[table["measured"] == "limit"]
    assert (limits["of_limit"] == 1).all()
    cpu = table[(table["device"] == "cpu") & (table["measured"] == "round")]
    assert cpu["name"].iloc[0] == benchmarks.PLAIN
    assert cpu["ratio"].iloc[0] == 1
    for name in registry.NAMES:
        assert cpu["name"].str.startswith(name).any()
    assert not table["name"].str.contains(",").any(), "shown in columns as it is"
