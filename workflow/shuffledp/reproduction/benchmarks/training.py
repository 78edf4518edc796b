"""Timings of a round of CLDP-SGD on each path, compared with a plain pass and with the device's limits."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from shuffledp.randomizers import precision
from shuffledp.randomizers.clt import GaussianLimit
from shuffledp.randomizers.registry import create as create_randomizer
from shuffledp.training.data import synthetic
from shuffledp.training.models import registry as models
from shuffledp.training.models.networks import DIMENSIONS
from shuffledp.training.sgd import cldp_sgd, gradients

_MODEL = "mnist_cnn_16"
_REPEATS = 3
_CLIENTS = 2000
_NORMALS = 2**22
_RADIUS, _EPS0 = 0.01, 2.0
# How many numbers are copied, and the side of the matrices that are multiplied, to measure a device's limits.
_COPIED = {"cpu": 2**25, "cuda": 2**28}
_SIDE = {"cpu": 2048, "cuda": 8192}
_FLOAT = 4  # bytes
PLAIN = "plain forward and backward pass"
# The paths of a round by their names in the table: randomiser, clip, and whether it is the Gaussian limit.
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
    """Return the median time over repeats, after one run that warms up."""
    times = []
    for _ in range(_REPEATS + 1):
        start = time.perf_counter()
        run()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - start)
    return float(np.median(times[1:]))


def _ceilings(device: torch.device, scale: float) -> tuple[float, float]:
    """Return the seconds per copied byte (read and written), and per operation of a matrix product."""
    size, side = (int(sizes[device.type] * scale) for sizes in (_COPIED, _SIDE))
    source, target = torch.rand(size, device=device), torch.empty(size, device=device)
    left, right = torch.rand(2, side, side, device=device)
    copied = _seconds(lambda: target.copy_(source), device) / (2 * _FLOAT * size)
    return copied, _seconds(lambda: left @ right, device) / (2 * side**3)


def _operations(run: Callable[[], object]) -> int:
    """Return the floating-point operations of the matrix products and convolutions of a run."""
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


def _plain(images: Tensor, labels: Tensor) -> Callable[[], object]:
    model = models.create(_MODEL, seed=0).to(images.device)
    parameters = list(model.parameters())

    def run() -> object:
        return torch.autograd.grad(functional.cross_entropy(model(images), labels), parameters)

    return run


def _vmap(images: Tensor, labels: Tensor) -> Callable[[], object]:
    source = gradients.Functional(models.create(_MODEL, seed=0).to(images.device))

    def run() -> None:
        for some, truth in zip(images.split(256), labels.split(256), strict=True):
            source.full(some, truth)

    return run


def _round(
    images: Tensor, labels: Tensor, *, randomizer: str | None, clip: str, limit: bool
) -> Callable[[], object]:
    model = models.create(_MODEL, seed=0)
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
        randomizer=GaussianLimit(made) if limit else made,  # type: ignore[arg-type]  # those that have a limit
        clip=clip,
        seed=0,
    )
    return lambda: run.round(0, rate=0.0)


@precision.full()
def time_training(*, clients: int = _CLIENTS, normals: int = _NORMALS, scale: float = 1.0) -> pd.DataFrame:
    """Time a round of the network of 16 filters, and the drawing of normals, on the CPU and on a GPU if any.

    Args:
        clients: number of clients, all of whom take part in a round.
        normals: how many normals to draw at a time.
        scale: of the copy and the matrix product by which the device's limits are measured.

    Returns:
        Columns: measured (round, normals or limit), name, device, seconds, per_second (rounds, normals, bytes
        or operations), ratio, and of_limit. The ratio is the seconds over those of the first row of the same
        measurement and device (for rounds, the plain pass on the same batch). of_limit is the least time that
        the device needs, over the seconds. That time is the longer of two. One is for the operations of the
        products and convolutions, at most those of a plain pass, at the rate of a large float32 product
        (without TF32). The other is for the bytes that must be read and written (images, a message of each
        client if there are messages, the drawn numbers), at the speed of a copy. Drawing random numbers
        counts as free.
    """
    made = synthetic.generate(train=clients, test=1)
    devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    rows = []
    for device in map(torch.device, devices):
        byte, operation = _ceilings(device, scale)
        rows.append(("limit", "copy (bytes read and written)", device.type, byte, 1, 1.0))
        rows.append(("limit", "float32 product (operations)", device.type, operation, 1, 1.0))
        images = torch.tensor(made["train_images"]).to(device).unsqueeze(1).to(torch.float32) / 255
        labels = torch.tensor(made["train_labels"]).to(device).to(torch.int64)
        timed = {
            PLAIN: (_plain(images, labels), 0),
            "gradients by torch.func": (_vmap(images, labels), clients),
        }
        timed |= {
            name: (
                _round(images, labels, randomizer=randomizer, clip=clip, limit=limit),
                0 if randomizer is None else clients,
            )
            for name, (randomizer, clip, limit) in _PATHS.items()
        }
        whole = _operations(timed[PLAIN][0])
        for name, (run, messages) in timed.items():
            seconds = _seconds(run, device)
            touched = images.nbytes + _FLOAT * messages * DIMENSIONS[_MODEL]
            # the count is too high for convolutions in groups, as those of torch.func
            least = max(byte * touched, operation * min(_operations(run), whole))
            rows.append(("round", name, device.type, seconds, 1, least / seconds))
        generator = torch.Generator(device).manual_seed(0)
        block = torch.empty(normals, device=device)
        seconds = _seconds(functools.partial(block.normal_, generator=generator), device)
        drawn = ("normals", "torch (float32)", device.type, seconds, normals)
        rows.append((*drawn, byte * block.nbytes / seconds))
        if device.type == "cpu":
            draw = functools.partial(np.random.default_rng(0).standard_normal, normals, dtype=np.float32)
            seconds = _seconds(draw, device)
            drawn = ("normals", "numpy (float32)", device.type, seconds, normals)
            rows.append((*drawn, byte * block.nbytes / seconds))
    table = pd.DataFrame(rows, columns=["measured", "name", "device", "seconds", "count", "of_limit"])
    first = table.groupby(["measured", "device"], sort=False)["seconds"].transform("first")
    table = table.assign(per_second=table["count"] / table["seconds"], ratio=table["seconds"] / first)
    return table[["measured", "name", "device", "seconds", "per_second", "ratio", "of_limit"]]
