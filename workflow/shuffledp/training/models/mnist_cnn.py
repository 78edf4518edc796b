"""The network of girgis2021, Table 1, with what it leaves open as in the authors' code.

These choices are tanh, the first convolution padded so that 28 pixels give 14, pooling with stride 1, and 16
filters in the second convolution (13,706 parameters), where the table has 32 (26,010); the text's 13,170 fits
neither. Pooling comes before tanh here: since tanh increases, the function is the same, and tanh is taken of
fewer values.
"""

from __future__ import annotations

from functools import partial

from torch import nn

from shuffledp.training.models import initialization


def create(*, filters: int, seed: int) -> nn.Sequential:
    """Return the network: images (clients, 1, 28, 28) to 10 logits.

    Args:
        filters: of the second convolution, 16 or 32.
        seed: of the weights.
    """
    network = nn.Sequential(
        nn.Conv2d(1, 16, 8, stride=2, padding=3),
        nn.MaxPool2d(2, stride=1),
        nn.Tanh(),
        nn.Conv2d(16, filters, 4, stride=2),
        nn.MaxPool2d(2, stride=1),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(filters * 16, 32),
        nn.Tanh(),
        nn.Linear(32, 10),
    )
    return initialization.glorot(network, seed=seed)


NETWORKS = {"mnist_cnn_16": partial(create, filters=16), "mnist_cnn_32": partial(create, filters=32)}
