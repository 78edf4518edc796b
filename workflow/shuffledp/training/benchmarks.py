"""How long a round of CLDP-SGD takes on each path, against a plain forward and backward pass."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional

from shuffledp.randomizers.clt import GaussianLimit
from shuffledp.randomizers.registry import create as create_randomizer
from shuffledp.training import cldp_sgd, gradients, models, synthetic

_REPEATS = 3
_CLIENTS = 2000
_NORMALS = 2**22
_RADIUS, _EPS0 = 0.01, 2.0
PLAIN = "plain forward and backward pass"
# What a round does, by the name that the table has for it: randomiser, clip, and whether it is the limit.
_PATHS = {
    "no randomiser": (None, "none", False),
    "linf_coordinate (coordinate clipped)": ("linf_coordinate", "coordinate", False),
    "linf_coordinate (norm clipped)": ("linf_coordinate", "norm", False),
    "l1_hadamard": ("l1_hadamard", "norm", False),
    "l2_hemisphere": ("l2_hemisphere", "norm", False),
    "l2_hemisphere (Gaussian limit)": ("l2_hemisphere", "norm", True),
    "l2_privunit": ("l2_privunit", "norm", False),
    "gaussian": ("gaussian", "norm", False),
}


def _seconds(run: Callable[[], object], device: torch.device) -> float:
    """Return the median over repeats, after one run that warms up."""
    times = []
    for _ in range(_REPEATS + 1):
        start = time.perf_counter()
        run()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - start)
    return float(np.median(times[1:]))


def _plain(images: Tensor, labels: Tensor) -> Callable[[], object]:
    model = models.create("mnist_cnn_16", seed=0).to(images.device)
    parameters = list(model.parameters())

    def run() -> object:
        return torch.autograd.grad(functional.cross_entropy(model(images), labels), parameters)

    return run


def _vmap(images: Tensor, labels: Tensor) -> Callable[[], object]:
    source = gradients.Functional(models.create("mnist_cnn_16", seed=0).to(images.device))

    def run() -> None:
        for some, truth in zip(images.split(256), labels.split(256), strict=True):
            source.full(some, truth)

    return run


def _round(
    images: Tensor, labels: Tensor, *, randomizer: str | None, clip: str, limit: bool
) -> Callable[[], object]:
    model = models.create("mnist_cnn_16", seed=0)
    made = None
    if randomizer is not None:
        strength = {"noise_multiplier": 1.0} if randomizer == "gaussian" else {"eps0": _EPS0}
        size = sum(parameter.numel() for parameter in model.parameters())
        made = create_randomizer(randomizer, dimension=size, radius=_RADIUS, **strength)
    run = cldp_sgd.CldpSgd(
        model,
        images=images,
        labels=labels,
        k=images.shape[0],
        randomizer=GaussianLimit(made) if limit else made,
        clip=clip,
        seed=0,
    )
    return lambda: run.round(0, rate=0.0)


def time_training(*, clients: int = _CLIENTS, normals: int = _NORMALS) -> pd.DataFrame:
    """Time a round of the network of 16 filters, and the drawing of normals, on the CPU and on a GPU if any.

    Args:
        clients: how many take part in a round, all that there are.
        normals: how many to draw at a time.

    Returns:
        Columns: measured (round or normals), name, device, seconds, per_second (rounds, or normals), and
        ratio, the seconds over those of the first row of the same measurement and device: for rounds the
        plain pass on the same batch.
    """
    made = synthetic.generate(train=clients, test=1)
    devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    rows = []
    for device in map(torch.device, devices):
        images = torch.tensor(made["train_images"]).to(device).unsqueeze(1).to(torch.float32) / 255
        labels = torch.tensor(made["train_labels"]).to(device).to(torch.int64)
        timed = {PLAIN: _plain(images, labels), "gradients by torch.func": _vmap(images, labels)}
        timed |= {
            name: _round(images, labels, randomizer=randomizer, clip=clip, limit=limit)
            for name, (randomizer, clip, limit) in _PATHS.items()
        }
        for name, run in timed.items():
            rows.append(("round", name, device.type, _seconds(run, device), 1))
        generator = torch.Generator(device).manual_seed(0)
        block = torch.empty(normals, device=device)
        seconds = _seconds(lambda block=block, source=generator: block.normal_(generator=source), device)
        rows.append(("normals", "torch (float32)", device.type, seconds, normals))
    random = np.random.default_rng(0)
    seconds = _seconds(lambda: random.standard_normal(normals, dtype=np.float32), torch.device("cpu"))
    rows.append(("normals", "numpy (float32)", "cpu", seconds, normals))
    table = pd.DataFrame(rows, columns=["measured", "name", "device", "seconds", "count"])
    first = table.groupby(["measured", "device"], sort=False)["seconds"].transform("first")
    table = table.assign(per_second=table["count"] / table["seconds"], ratio=table["seconds"] / first)
    return table.drop(columns="count")
