"""CLDP-SGD with clients who take part by any protocol.

These are LDP-SGD, federated and distributed DP-SGD of liew2022, and the random check-ins of balle2020.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from shuffledp.protocols import Protocol
from shuffledp.randomizers import precision
from shuffledp.training.sgd.cldp_sgd import _LARGEST_LOSS, CldpSgd, DivergenceError


class CheckInSgd(CldpSgd):
    """One run of training whose participants a protocol decides.

    A round is that of ``CldpSgd`` with the participants of the protocol. The sum of the messages is divided
    by their number, a dummy included (``protocols.Round.messages``): the mean of what came, as liew2022 and
    balle2020 take it, and not the sum over the number that was expected.

    A dummy update is a message of the randomiser about a gradient of zero, without the regularisation, and
    like any other divided by the number of messages, that is by 1; without a randomiser it is zero.

    Attributes:
        protocol: who takes part.
        holds: function from clients to the images that they hold, or None.
        counts: how many rounds were skipped because nobody came ("skipped"), how many dummy updates were made
            ("dummies") and how many messages of clients were used ("messages"), since the run began.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        protocol: Protocol,
        holds: Callable[[NDArray[np.int64]], NDArray[np.int64]] | None = None,
        **setting: Any,
    ) -> None:
        """Set up a run; its first round is still to come.

        Args:
            model: as for ``CldpSgd``.
            protocol: who takes part; it has a seed of its own.
            holds: function from clients to the images that they hold, so that there may be more clients than
                images. None if client i holds image i; then there must be as many clients as images.
            setting: as for ``CldpSgd``, except that k is the expected number of messages, for which the size
                of the chunks is measured.

        Raises:
            ValueError: the protocol is for another number of clients.
        """
        super().__init__(model, **setting)
        if holds is None and protocol.n != self.n:
            raise ValueError(
                f"protocol must be of as many clients as there are images, got {protocol.n} and {self.n}"
            )
        self.protocol = protocol
        self.holds = holds
        self.counts = {"skipped": 0, "dummies": 0, "messages": 0}

    @precision.full()
    def round(self, index: int, *, rate: float) -> float:
        """Do one round.

        Args:
            index: which round, counted from 0.
            rate: the step size eta.

        Returns:
            Mean loss of the participants before the step, without the regularisation; nan if there are none.

        Raises:
            DivergenceError: a gradient, the loss or a parameter is not finite any more, or the loss is beyond
                reason.
        """
        drawn = self.protocol.round(index)
        self.counts["messages"] += drawn.participants.size
        self.counts["dummies"] += drawn.dummies
        self.counts["skipped"] += drawn.messages == 0
        if not drawn.messages:
            return math.nan
        total = torch.zeros(self.parameters.shape, dtype=torch.float64, device=self.images.device)
        loss = math.nan
        if drawn.participants.size:
            self.k = drawn.participants.size
            held = drawn.participants if self.holds is None else self.holds(drawn.participants)
            loss = self._take(index, drawn.participants, held, total)
        elif self.randomizer is not None:
            zero = torch.zeros_like(self.parameters).unsqueeze(0)
            self.randomizer.add(total, zero, generator=self._noise)
        self.parameters -= (rate / drawn.messages * total).to(self.parameters.dtype)
        self._project()
        beyond = drawn.participants.size and not loss <= _LARGEST_LOSS
        if beyond or not bool(torch.isfinite(self.parameters).all()):
            raise DivergenceError(
                f"training diverged in round {index} (mean loss {loss:g}); lower the learning rate or the "
                "clip norm"
            )
        return loss

    def state(self) -> dict[str, Any]:
        """Return what the next round depends on, as tensors on the CPU, and the counts."""
        return {**super().state(), "counts": dict(self.counts)}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up a run where ``state`` left it."""
        super().restore(state)
        self.counts = dict(state["counts"])
