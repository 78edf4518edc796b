"""What must hold on a GPU; without one, nothing is run."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from shuffledp.randomizers import registry  # noqa: E402
from shuffledp.training import gradients, models, runs  # noqa: E402
from shuffledp.training.experiment import Experiment  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that torch can use")

SETTING = {"name": "tiny", "data": "synthetic", "model": "mnist_cnn_16", "n": 600}
PRIVATE = {"k": 600, "clip": "norm", "clip_norm": 1.0, "epochs": (25,), "learning_rates": (1.0,)}
# What learns in so few rounds.
PATHS = {
    "plain": {"k": 100, "randomizer": "none", "clip": "none", "epochs": (6,), "learning_rates": (0.3,)},
    "privunit": {"randomizer": "l2_privunit", "eps0": 200.0, **PRIVATE},
    "gaussian": {"randomizer": "gaussian", "noise_multiplier": 0.05, **PRIVATE},
}
DRAWS = 40_000


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


@pytest.mark.parametrize("name", registry.NAMES)
def test_messages_have_their_mean_and_variance(name):
    on, x = runs.device("cuda"), torch.tensor([0.1, -0.2, 0.0, 0.3, 0.2])
    strength = {"noise_multiplier": 2.0} if name == "gaussian" else {"eps0": 1.0}
    randomizer = registry.create(name, dimension=5, radius=1.0, **strength)
    source = torch.Generator(on).manual_seed(0)
    sent = randomizer.randomize(x.to(on).expand(DRAWS, -1).contiguous(), generator=source).double().cpu()
    error = sent.std(0) / DRAWS**0.5
    assert bool(((sent.mean(0) - x).abs() <= 5 * error).all())
    spread = (sent - x).square().sum(1)
    expected = randomizer.variance - (0.0 if name == "gaussian" else float(x.square().sum()))
    assert abs(float(spread.mean()) - expected) <= 5 * float(spread.std()) / DRAWS**0.5 + 1e-5 * expected


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
