"""The fields of an experiment, and the numbers that follow from them alone. Nothing here needs torch."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from shuffledp.profiles.gaussian import gaussian_noise
from shuffledp.training.models import networks


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One experiment; each of its seeds is a run of its own.

    Attributes:
        name: by which the command line and the results know it.
        data: "mnist", "fashion-mnist", "synthetic", "cifar10" or "cifar10-jpeg" (CIFAR-10 re-encoded as
            JPEG).
        features: what the model sees of colour images: "scattering", "cifar100" (of a network pre-trained on
            CIFAR-100 without noise) or "public-half" (pre-trained on half of the training images, which the
            clients do not hold); None for the images themselves.
        model: a network of ``training.models``.
        digits: keep the images of these digits alone, whose labels become 0, 1, ... in the order given; ()
            for all ten.
        n: number of clients; client i holds training image i (of those kept), unless ``bootstrap`` is set.
        k: clients per round. With any protocol but "subsampled-shuffle" it is left out, and becomes the
            expected number of messages, rounded and at least 1 (for shuffled check-in, n rate). In training
            it then decides only the number of rounds of an epoch.
        randomizer: one of ``randomizers.registry.NAMES``, or "none" for plain SGD.
        clip: "coordinate" or "norm"; "none" without a randomiser.
        clip_norm: C; None without a randomiser.
        eps0: local privacy parameter; None for "none", and for "gaussian" with a noise multiplier.
        noise_multiplier: z, for "gaussian" alone; see ``noise``.
        delta0: local delta, for "gaussian" alone, with eps0 in place of a noise multiplier.
        delta: for the accounting; training does not depend on it.
        epochs: lengths of the stretches of the learning rate; an epoch is ``epoch_rounds`` rounds or, if that
            is None, n // k, or one run of a protocol of windows.
        learning_rates: one for each stretch.
        protocol: who takes part in a round, one of ``protocols.PROTOCOLS``.
        rate: probability of taking part in a round, with "shuffled-check-in" alone.
        slots: number of slots that a client may choose from, with protocols of windows alone.
        participation: probability of taking part in a window, with "fixed-window" alone; None for 1.
        schedule: "constant" within a stretch, or "girgis2021-theorem3": the step sizes D/(G sqrt t) of that
            theorem, times the learning rate.
        seeds: how many runs: seeds 0, 1, ...
        aggregate: "sum" of messages, or "clt" for its Gaussian limit (l_2 randomisers).
        projection: radius of the l_2 ball that theta is projected to, or None.
        regularization: mu of mu |theta|^2/2 in each client's loss.
        epoch_rounds: rounds of an epoch, after each of which accuracy is measured; None for the default.
        bootstrap: each client holds a training image drawn with replacement, so that n may be any number.
    """

    name: str
    data: str
    model: str
    n: int
    k: int | None = None
    randomizer: str
    clip: str
    epochs: tuple[int, ...]
    learning_rates: tuple[float, ...]
    seeds: int = 1
    clip_norm: float | None = None
    eps0: float | None = None
    noise_multiplier: float | None = None
    delta: float | None = None
    aggregate: str = "sum"
    projection: float | None = None
    regularization: float = 0.0
    digits: tuple[int, ...] = ()
    schedule: str = "constant"
    protocol: str = "subsampled-shuffle"
    rate: float | None = None
    slots: int | None = None
    participation: float | None = None
    delta0: float | None = None
    epoch_rounds: int | None = None
    bootstrap: bool = False
    features: str | None = None

    @property
    def dimension(self) -> int:
        """Number of parameters d."""
        return networks.DIMENSIONS[self.model]

    @functools.cached_property
    def noise(self) -> float | None:
        """The noise multiplier z of the gaussian randomiser, which adds N(0, z^2 C^2 I); None for any other.

        It is the one given, or else the least with which the randomiser is (eps0, delta0)-LDP
        (``profiles.gaussian``), rounded up to ten digits. Two clipped gradients are at most 2 C apart.
        """
        if self.delta0 is None:
            return self.noise_multiplier
        assert self.eps0 is not None  # as delta0 needs it
        least = 2 * gaussian_noise(eps=self.eps0, delta=self.delta0)
        return float(f"{least * (1 + 1e-9):.10g}")
