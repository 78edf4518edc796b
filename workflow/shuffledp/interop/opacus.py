"""Locally randomised gradients in Opacus (extra ``opacus``): an optimiser and an accountant.

Opacus clips the gradient of each sample and adds Gaussian noise to the sum. Here each clipped gradient goes
through a local randomiser instead, as if its sample were a client who sends it through a shuffler. With
Opacus's Poisson sampling each of n samples is in a batch independently, with the same probability, which is
shuffled check-in.

>>> engine = opacus.PrivacyEngine(accountant="shuffle")
>>> model, optimizer, loader = engine.make_private(
...     module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=0.0, max_grad_norm=1.0
... )
>>> optimizer = LocallyRandomizedOptimizer(optimizer, loader, randomizer="l2_privunit", eps0=2.0)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shuffledp import checks
from shuffledp.interop.composition import Composed, known_of, round_of
from shuffledp.optional_packages import need
from shuffledp.randomizers import registry

need("opacus", "torch", extra="opacus")

import torch  # noqa: E402
from opacus.accountants import IAccountant, register_accountant  # noqa: E402
from opacus.optimizers import DPOptimizer  # noqa: E402
from opacus.utils.uniform_sampler import UniformWithReplacementSampler  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

MECHANISM = "shuffle"


class LocallyRandomizedOptimizer(DPOptimizer):
    """An optimiser whose steps depend on the samples only through their randomised gradients.

    Args:
        optimizer: what ``PrivacyEngine.make_private`` returns, with noise_multiplier 0 and flat clipping; its
            max_grad_norm is the radius of the randomiser's ball, in the randomiser's norm.
        data_loader: what ``make_private`` returns with it; the samples of its data set are the clients. It
            must draw them by Poisson sampling, which is what is accounted for.
        randomizer: one of ``randomizers.registry.PURE``.
        eps0: local privacy parameter, > 0 (nats).
        generator: source of the randomiser's draws; None for one that the system seeds.

    Raises:
        ValueError: an argument is out of range, the optimiser adds noise of its own, or the loader draws its
            batches in another way.
    """

    def __init__(
        self,
        optimizer: DPOptimizer,
        data_loader: DataLoader[Any],
        *,
        randomizer: str,
        eps0: float,
        generator: torch.Generator | None = None,
    ) -> None:
        if not isinstance(optimizer, DPOptimizer) or optimizer.noise_multiplier != 0:
            noise = getattr(optimizer, "noise_multiplier", None)
            raise ValueError(
                f"optimizer must be one of make_private with noise_multiplier=0.0, got "
                f"{type(optimizer).__name__} with noise_multiplier={noise!r}; the randomiser brings the noise"
            )
        sampler = getattr(data_loader, "batch_sampler", None)
        if not isinstance(sampler, UniformWithReplacementSampler):
            raise ValueError(
                "data_loader must be one of make_private with poisson_sampling, got one with "
                f"{type(sampler).__name__}; how others draw is not accounted for"
            )
        super().__init__(
            optimizer.original_optimizer,
            noise_multiplier=0.0,
            max_grad_norm=optimizer.max_grad_norm,
            expected_batch_size=optimizer.expected_batch_size,
            loss_reduction=optimizer.loss_reduction,
        )
        if optimizer.step_hook is not None:
            self.attach_step_hook(optimizer.step_hook)
        checks.choice("randomizer", randomizer, registry.PURE)
        dimension = sum(one.numel() for one in self.params)
        self.clients, self.eps0 = len(data_loader.dataset), checks.positive("eps0", eps0)  # type: ignore[arg-type]
        self.randomizer = registry.create(
            randomizer, dimension=dimension, radius=self.max_grad_norm, eps0=self.eps0
        )
        self._generator = generator
        #: What the accountants know of the randomiser.
        self.known = known_of(randomizer, dimension=dimension, n=self.clients, eps0=self.eps0)

    def clip_and_accumulate(self) -> None:
        """Sum the randomised gradients of the batch's samples, in ``p.summed_grad``.

        Raises:
            randomizers.base.NotFiniteError: a sample's gradient is not finite.
            ValueError: the batch was made by several passes, whose sampling is not accounted for.
        """
        if self.accumulated_iterations != 1:
            raise ValueError(
                f"a step must be of one backward pass, got {self.accumulated_iterations}; call zero_grad "
                "after each step"
            )
        sizes = [one.numel() for one in self.params]
        rows = torch.cat(
            [one.reshape(len(one), size).float() for one, size in zip(self.grad_samples, sizes, strict=True)],
            dim=1,
        )
        if self._generator is None:
            self._generator = torch.Generator(rows.device)
            self._generator.seed()
        total = torch.zeros(rows.shape[1], dtype=torch.float64, device=rows.device)
        self.randomizer.clip_and_add(total, rows, generator=self._generator)
        parts = total.split(sizes)
        for parameter, part in zip(self.params, parts, strict=True):
            own = part.view_as(parameter).to(parameter.dtype)
            before = parameter.summed_grad
            parameter.summed_grad = own if before is None else before + own

    def add_noise(self) -> None:
        """Set the gradients to the sums as they are: the randomiser has already added the noise."""
        for parameter in self.params:
            parameter.grad = parameter.summed_grad.clone()


class ShuffleAccountant(IAccountant):
    """Opacus's accountant for ``LocallyRandomizedOptimizer`` with Poisson sampling: shuffled check-in.

    Its mechanism is registered as "shuffle". Neighbours differ in one sample, exchanged for another. All
    answers are upper bounds. Each row of ``history`` holds a setting and the number of steps with it.
    """

    def __init__(self) -> None:
        self.history: list[tuple[dict[str, Any], int]] = []

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Refuse steps with Gaussian noise; ``randomized_step`` counts those of local randomisers.

        Raises:
            ValueError: always.
        """
        raise ValueError(
            f"noise_multiplier is of Gaussian noise, got {noise_multiplier!r} at rate {sample_rate!r}; "
            "wrap the optimizer in a LocallyRandomizedOptimizer, or take another accountant"
        )

    def randomized_step(self, *, clients: int, sample_rate: float, eps0: float, **known: float) -> None:
        """Count one step.

        Args:
            clients: number of samples n.
            sample_rate: probability with which a sample is in the batch, in (0, 1].
            eps0: local privacy parameter (nats).
            known: share and tv of the randomiser, as far as they are known.

        Raises:
            ValueError: an argument is out of range.
        """
        rate = checks.probability("sample_rate", sample_rate, one=True)
        sampled = {"rate": rate} if rate < 1 else {"k": clients}
        setting = {"n": clients, **sampled, "eps0": eps0, **known}
        round_of(**setting)
        if self.history and self.history[-1][0] == setting:
            self.history[-1] = (setting, self.history[-1][1] + 1)
        else:
            self.history.append((setting, 1))

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[DPOptimizer], None]:
        """Return what an optimiser calls after each step."""

        def hook(optimizer: DPOptimizer) -> None:
            if not isinstance(optimizer, LocallyRandomizedOptimizer):
                self.step(noise_multiplier=optimizer.noise_multiplier, sample_rate=sample_rate)
                return
            self.randomized_step(
                clients=optimizer.clients, sample_rate=sample_rate, eps0=optimizer.eps0, **optimizer.known
            )

        return hook

    def get_epsilon(self, delta: float, *args: Any, **kwargs: Any) -> float:
        """Return an upper bound on epsilon of all steps.

        Args:
            delta: target, in [0, 1).
            args: not used; Opacus's signature has them.
            kwargs: not used, likewise.

        Raises:
            ValueError: delta is out of range.
        """
        composed = Composed()
        for setting, steps in self.history:
            composed.add(round_of(**setting), steps)
        return composed.epsilon(checks.probability("delta", delta, zero=True))

    def __len__(self) -> int:
        return sum(steps for _, steps in self.history)

    @classmethod
    def mechanism(cls) -> str:
        """Return the name by which ``PrivacyEngine`` finds this accountant."""
        return MECHANISM


register_accountant(MECHANISM, ShuffleAccountant, force=True)
