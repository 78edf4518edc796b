"""The networks by name, and what a network must not do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import nn

from shuffledp.training import linear_head, logistic, mnist_cnn

_MODELS: dict[str, Callable[..., nn.Sequential]] = {
    "mnist_cnn_16": partial(mnist_cnn.create, filters=16),
    "mnist_cnn_32": partial(mnist_cnn.create, filters=32),
    "logistic": logistic.create,
    "logistic_binary": logistic.create_binary,
    "linear_972": partial(linear_head.create, width=972),
    "linear_128": partial(linear_head.create, width=128),
}
NAMES = tuple(_MODELS)


def create(name: str, *, seed: int) -> nn.Sequential:
    """Return a network with fresh weights on the CPU.

    Args:
        name: one of ``NAMES``.
        seed: of the weights.
    """
    return _MODELS[name](seed=seed)


def check(model: nn.Module) -> None:
    """Refuse a network in which a client's gradient depends on other clients or on hidden randomness.

    Raises:
        ValueError: naming the layer and the remedy.
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
