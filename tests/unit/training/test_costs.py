"""What a training is said to cost is what trainings have taken."""

import inspect

import numpy as np

from shuffledp.records import files
from shuffledp.training import costs
from shuffledp.training.costs import WITHIN, core_seconds

CROWDED = {"girgis2021-theorem3", "fashion-fig6"}  # trained where ten other processes shared two cores
CROWDED_WITHIN = 8


def test_costs_are_those_of_the_records(root, shipped):
    """Of one core of a CPU, each experiment by itself and all of them together."""
    ratios, estimated, recorded = {}, 0.0, 0.0
    for entry in shipped.experiments:
        paths = [root / run.record for run in shipped.trainings(entry) if (root / run.record).exists()]
        found = [files.read_json(path)["environment"] for path in paths]
        seconds = [
            one["training_seconds"]
            for one in found
            if one["device"]["type"] == "cpu" and one["device"]["threads"] == 1
        ]
        if not seconds:
            continue
        ratios[entry.name] = float(np.mean(seconds)) / core_seconds(entry)
        if entry.name not in CROWDED:
            estimated += len(seconds) * core_seconds(entry)
            recorded += sum(seconds)
    assert len(ratios) > 10
    for name, ratio in ratios.items():
        assert 1 / WITHIN < ratio < (CROWDED_WITHIN if name in CROWDED else WITHIN), name
    assert 1 / 1.5 < recorded / estimated < 1.5


def test_what_is_left_out_of_the_factor_is_named_beside_it():
    before, _ = inspect.getsource(costs).split("\nWITHIN = ")
    comment = before.rpartition("\n_")[2]
    assert all(name in comment for name in CROWDED)
