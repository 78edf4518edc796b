"""Scattering features of colour images: no public data, and nothing that depends on other images."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

ANGLES, SCALES = 8, 2
# Numbers of coefficients of one colour, of orders 0, 1 and 2.
_ORDERS = (1, SCALES * ANGLES, ANGLES * ANGLES * SCALES * (SCALES - 1) // 2)
_POOLED = 2  # positions along an axis
WIDTH = 3 * sum(_ORDERS) * _POOLED**2
_BLOCK = 250
_TINY = 1e-10  # small beside the variance of the coefficients


def features(images: Tensor) -> Tensor:
    """Return the scattering coefficients of images (kymatio, J = 2, L = 8), averaged over 2 x 2 quarters.

    The coefficients of each order are standardised within the image, so that no statistic of the private
    images is used. The row is then divided by the root of its number of entries, so that its length is 1, or
    less if all coefficients of an order are equal.

    Args:
        images: float32 of shape (count, 3, 32, 32).

    Returns:
        float32 of shape (count, 972).
    """
    # kymatio.torch cannot be imported: it needs a function that newer versions of scipy lack
    from kymatio.scattering2d.frontend.torch_frontend import ScatteringTorch2D

    transform = ScatteringTorch2D(J=SCALES, shape=tuple(images.shape[2:]), L=ANGLES)
    return torch.cat([normalized(transform(block.contiguous())) for block in images.split(_BLOCK)])


def normalized(coefficients: Tensor) -> Tensor:
    """Return coefficients pooled, standardised by order and flattened, of shape (count, width).

    Args:
        coefficients: of shape (count, colours, 81, height, width).
    """
    count, colours, channels = coefficients.shape[:3]
    pooled = functional.adaptive_avg_pool2d(coefficients.flatten(1, 2), _POOLED)
    pooled = pooled.view(count, colours, channels, -1)
    parts = [
        functional.layer_norm(part.flatten(1), part[0].flatten().shape, eps=_TINY)
        for part in pooled.split(_ORDERS, dim=2)
    ]
    rows = torch.cat(parts, 1)
    return rows / rows.shape[1] ** 0.5
