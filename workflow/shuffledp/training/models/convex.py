"""A convex problem with a known minimum: l_2-regularised logistic regression in a ball."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

_GAP = 1e-6  # how far below the minimum the lower bound on it may lie
_STEPS = 20_000


def lipschitz(images: Tensor, *, regularization: float, radius: float) -> float:
    """Return an upper bound on the l_2 length of any client's gradient anywhere in the ball.

    The derivative of log(1 + exp(-z)) is at most 1, that of z by weights and bias is the image and a 1.

    Args:
        images: of shape (clients, ...).
        regularization: mu of the term mu |theta|^2/2.
        radius: of the ball around 0 that theta lies in.
    """
    longest = float(images.flatten(1).to(torch.float64).square().sum(1).max())
    return math.sqrt(longest + 1.0) + regularization * radius


class ExcessRisk:
    """F(theta) - F(theta*), F being the mean over clients of log(1 + exp(-+z)) + mu |theta|^2/2.

    theta is the weights and, last, the bias; z = <weights, image> + bias is the logit of label 1. The value
    is computed in float64. It is an upper bound, too large by at most 1e-6: a lower bound by duality stands
    for F(theta*).
    """

    def __init__(self, images: Tensor, labels: Tensor, *, regularization: float, radius: float) -> None:
        """Find the minimum.

        Args:
            images: of shape (clients, ...).
            labels: 0 or 1, of shape (clients,).
            regularization: mu >= 0.
            radius: of the ball around 0 that theta* is sought in.

        Raises:
            ArithmeticError: the minimum was not found in the steps allowed.
        """
        rows = images.flatten(1).to(torch.float64)
        signs = (2 * labels - 1).to(torch.float64).unsqueeze(1)
        self._rows = torch.cat([rows, torch.ones_like(rows[:, :1])], 1) * signs
        self._mu = regularization
        self.least = self._minimum(radius)

    def value(self, theta: Tensor) -> Tensor:
        """Return F(theta) of a float64 vector."""
        return functional.softplus(-(self._rows @ theta)).mean() + self._mu / 2 * theta.dot(theta)

    def gradient(self, theta: Tensor) -> Tensor:
        """Return the gradient of F at a float64 vector."""
        wrong = torch.sigmoid(-(self._rows @ theta))
        return self._mu * theta - wrong @ self._rows / self._rows.shape[0]

    def _minimum(self, radius: float) -> float:
        """Return a lower bound on F within the ball that is at most ``_GAP`` too low.

        The search is by accelerated projected gradients (Beck and Teboulle 2009); for a convex F, F(theta)
        exceeds its minimum by at most the largest <gradient, theta - v> over v in the ball.
        """
        # the logistic loss curves by at most a quarter
        curvature = float(self._rows.square().sum(1).mean()) / 4 + self._mu
        theta = ahead = torch.zeros_like(self._rows[0])
        momentum = 1.0
        for _ in range(_STEPS):
            before = theta
            theta = ahead - self.gradient(ahead) / curvature
            theta = theta * min(1.0, radius / max(float(theta.norm()), radius))
            following = (1 + math.sqrt(1 + 4 * momentum * momentum)) / 2
            ahead = theta + (momentum - 1) / following * (theta - before)
            momentum = following
            slope = self.gradient(theta)
            gap = float(slope.dot(theta) + radius * slope.norm())
            if gap <= _GAP:
                return float(self.value(theta)) - gap
        raise ArithmeticError(
            f"the minimum was not found to {_GAP:g} in {_STEPS} steps; raise regularization or lower "
            "projection"
        )

    def __call__(self, theta: Tensor) -> float:
        """Return the excess risk of a vector of any floating type."""
        return float(self.value(theta.to(torch.float64))) - self.least
