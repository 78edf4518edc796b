"""Full float32 precision for the norms and products of the randomisers, whatever the caller has set.

With the ten bits that TF32 keeps of a product, a clipped gradient can be longer than the clip norm, and a
message can be the one of another input. The same holds for bfloat16 products on a CPU and for autocast.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch

_EXACT = "ieee"


@functools.cache
def _switches() -> tuple[Any, ...]:
    """Return the parts of torch with a precision of their own (torch 2.9 and later)."""
    backends = torch.backends
    found = [backends.cuda.matmul]
    for part in (backends.cudnn, backends.mkldnn):
        found += [getattr(part, name) for name in ("matmul", "conv") if hasattr(part, name)]
    return tuple(switch for switch in found if hasattr(switch, "fp32_precision"))


def _older() -> tuple[str, bool] | None:
    """Return what the older switches say, or None where the caller's newer ones contradict them."""
    try:
        return torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    except RuntimeError:
        return None


def _set_older(matmul: str, convolution: bool) -> None:
    torch.set_float32_matmul_precision(matmul)
    torch.backends.cudnn.allow_tf32 = convolution


@contextlib.contextmanager
def full() -> Iterator[None]:
    """Compute in full precision inside: TF32, bfloat16 products and autocast are off; a decorator too.

    The caller's settings are back afterwards, also after an error. They are torch's own and hold for the
    whole process: a thread that computes at the same time sees them change.
    """
    switches, older = _switches(), _older()
    newer = [switch.fp32_precision for switch in switches]
    with contextlib.ExitStack() as stack:
        for kind in ("cpu", "cuda"):
            if torch.is_autocast_enabled(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        try:
            _set_older("highest", False)
            for switch in switches:
                switch.fp32_precision = _EXACT
            yield
        finally:
            if older is not None:
                _set_older(*older)
            for switch, before in zip(switches, newer, strict=True):
                switch.fp32_precision = before
