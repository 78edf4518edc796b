"""Initial weights."""

from __future__ import annotations

import math
from typing import TypeVar

import torch
from torch import nn

Network = TypeVar("Network", bound=nn.Module)


def glorot(model: Network, *, seed: int) -> Network:
    """Fill in a network's dense and convolutional layers, and return it.

    Weights are uniform within the limits of Glorot and Bengio (2010), and biases are 0.

    Args:
        model: the network, which is changed in place.
        seed: of the weights.
    """
    generator = torch.Generator().manual_seed(seed)
    for layer in model.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            receptive = math.prod(layer.weight.shape[2:])
            limit = math.sqrt(6.0 / (receptive * (layer.weight.shape[0] + layer.weight.shape[1])))
            nn.init.uniform_(layer.weight, -limit, limit, generator=generator)
            nn.init.zeros_(layer.bias)  # type: ignore[arg-type]
    return model
