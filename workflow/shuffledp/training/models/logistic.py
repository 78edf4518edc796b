"""Logistic regression, whose loss is convex."""

from __future__ import annotations

from torch import nn

from shuffledp.training.models import initialization


def create(*, seed: int) -> nn.Sequential:
    """Return the network for ten classes: images (clients, 1, 28, 28) to 10 logits, 7,850 parameters."""
    return initialization.glorot(nn.Sequential(nn.Flatten(), nn.Linear(784, 10)), seed=seed)


def create_binary(*, seed: int) -> nn.Sequential:
    """Return the network for two classes: one logit beside a 0, 785 parameters.

    Whatever the seed, all start at 0, the centre of the ball that they are projected to.
    """
    del seed
    dense = nn.Linear(784, 1)
    nn.init.zeros_(dense.weight)
    nn.init.zeros_(dense.bias)
    return nn.Sequential(nn.Flatten(), dense, nn.ConstantPad1d((1, 0), 0.0))


NETWORKS = {"logistic": create, "logistic_binary": create_binary}
