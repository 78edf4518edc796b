"""What must hold on a GPU; without one, nothing is run."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from shuffledp.training import runs
from shuffledp.training.experiment import Experiment
from shuffledp.training.models import registry as models
from shuffledp.training.sgd import gradients

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that torch can use")

SETTING = {"name": "tiny", "data": "synthetic", "model": "mnist_cnn_16", "n": 600}
PRIVATE = {"k": 600, "clip": "norm", "clip_norm": 1.0, "epochs": (25,), "learning_rates": (1.0,)}
# What learns in so few rounds.
PATHS = {
    "plain": {"k": 100, "randomizer": "none", "clip": "none", "epochs": (6,), "learning_rates": (0.3,)},
    "privunit": {"randomizer": "l2_privunit", "eps0": 200.0, **PRIVATE},
    "gaussian": {"randomizer": "gaussian", "noise_multiplier": 0.05, **PRIVATE},
}


@pytest.mark.parametrize("path", PATHS)
def test_a_gpu_trains_as_a_cpu_does_within_the_noise_of_seeds(path):
    experiment = Experiment(**SETTING, **PATHS[path])
    ends = {}
    for name in ("cpu", "cuda"):
        data = runs.load(experiment, root=None, on=runs.device(name))
        ends[name] = np.array(
            [runs.train(experiment, seed=seed, data=data)[-1]["test_accuracy"] for seed in range(4)]
        )
    spread = np.sqrt(sum(found.var(ddof=1) / found.size for found in ends.values()))
    assert ends["cpu"].mean() > 0.8
    assert abs(ends["cpu"].mean() - ends["cuda"].mean()) < 4 * spread + 0.01


def test_gradients_of_clients_have_the_digits_of_float32():
    on = runs.device("auto")
    assert on.type == "cuda"
    model = models.create("mnist_cnn_16", seed=0)
    images, labels = torch.rand(64, 1, 28, 28), torch.arange(64) % 10
    found = {}
    for device in ("cpu", "cuda"):
        source = gradients.of(model.to(device))
        found[device], _ = source.full(images.to(device), labels.to(device))
    error = (found["cuda"].cpu() - found["cpu"]).norm(dim=1) / found["cpu"].norm(dim=1)
    assert float(error.max()) < 1e-4, "TF32 would leave some 1e-3"
