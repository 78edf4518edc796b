"""Colour images: read from JPEG, and brought into the form that features are computed from."""

from __future__ import annotations

import io

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def decoded(content: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return images of shape (count, 32, 32, 3) out of JPEG files written one after the other.

    Args:
        content: bytes of the files.
        offsets: of shape (count + 1,): where each begins, and where the last one ends.
    """
    from PIL import Image

    images = np.empty((offsets.size - 1, 32, 32, 3), dtype=np.uint8)
    for index, (start, end) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        with Image.open(io.BytesIO(content[start:end].tobytes())) as image:
            images[index] = np.asarray(image.convert("RGB"))
    return images


def floats(images: NDArray[np.uint8]) -> Tensor:
    """Return float32 images of shape (count, 3, height, width) in [0, 1].

    Args:
        images: of shape (count, height, width, 3).
    """
    return torch.tensor(images).permute(0, 3, 1, 2).to(torch.float32).contiguous() / 255
