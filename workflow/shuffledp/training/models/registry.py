"""The networks by name, and what a network must not do."""

from __future__ import annotations

import importlib

from torch import nn

from shuffledp.training.models.networks import MODULES


def create(name: str, *, seed: int) -> nn.Sequential:
    """Return a network with fresh weights on the CPU.

    Args:
        name: one of ``networks.NAMES``.
        seed: of the weights.
    """
    return importlib.import_module(f"{__package__}.{MODULES[name]}").NETWORKS[name](seed=seed)


def check(model: nn.Module) -> None:
    """Refuse a network in which a client's gradient depends on other clients or on hidden randomness.

    Raises:
        ValueError: the network has such a layer; the message names it and the remedy.
    """
    for name, layer in model.named_modules():
        what = f"layer {name!r} ({type(layer).__name__})"
        if isinstance(layer, nn.modules.batchnorm._NormBase):
            raise ValueError(
                f"model must treat each client by itself: {what} mixes them; use GroupNorm instead"
            )
        if isinstance(layer, nn.modules.dropout._DropoutNd | nn.RReLU):
            raise ValueError(
                f"model must be a function of image and weights: {what} draws noise of its own; remove it"
            )
