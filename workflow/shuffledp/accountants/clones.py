"""The clones pair of feldman2022 (or feldman2021), subsampled and composed numerically."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shuffledp.accountants import losses, renyi
from shuffledp.accountants.registry import DECOMPOSES, Columns, register
from shuffledp.checks import FloatArray
from shuffledp.pld.outcomes import Outcomes, connect_the_dots, dominating, lattice_step, renyi_divergence
from shuffledp.profiles.clones import COMPOSITION_WIDTH, clones_pair


def _outcomes(n: int, k: int, eps0: float, analysis: str, nats: float) -> Outcomes:
    pair = clones_pair(
        n=k, eps0=eps0, analysis=analysis, bound="upper", relative_width=COMPOSITION_WIDTH, nats=nats
    )
    return dominating(pair, gamma=k / n)


def columns(
    n: int,
    k: int,
    eps0: float,
    rounds: FloatArray,
    delta: float,
    analysis: str,
    *,
    infinite: float = 0.0,
) -> Columns:
    """Return epsilon of T rounds of the subsampled clones pair of one analysis, for every T.

    Where everything is disclosed with a probability ``infinite`` a round, that is counted in delta.
    """
    trivial = losses.nothing_to_say(eps0, rounds, "upper")
    if trivial:
        return trivial
    outcomes = _outcomes(n, k, eps0, analysis, losses.nats(rounds, delta))
    outcomes = replace(outcomes, infinite=outcomes.infinite + infinite)
    return losses.columns([outcomes], rounded=connect_the_dots, rounds=rounds, delta=delta, bound="upper")


@register(
    name="clones-pld",
    citation="feldman2022, koskela2022, doroshenko2022",
    theorem="Theorem 3.1 of feldman2022; Lemma 7 of koskela2022",
    kind="upper",
    label="clones, numerical",
    needs=("eps0-LDP", DECOMPOSES),
    note="The dominating pair of k shuffled reports, subsampled without replacement, composed on a lattice.",
)
def _feldman2022(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return columns(n, k, eps0, rounds, delta, "feldman2022")


@register(
    name="clones-pld-feldman2021",
    citation="feldman2021, koskela2022, doroshenko2022",
    theorem="Theorem 3.1 of feldman2021; Lemma 7 of koskela2022",
    kind="upper",
    label="clones of feldman2021, numerical",
    needs=("eps0-LDP",),
    note="As clones-pld, with the fewer clones of the earlier analysis.",
)
def _feldman2021(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return columns(n, k, eps0, rounds, delta, "feldman2021")


@register(
    name="clones-rdp",
    citation="feldman2022, koskela2022, girgis2021",
    theorem="Theorem 3.1 of feldman2022; Lemma 7 of koskela2022; Lemma 1 of girgis2021",
    kind="upper",
    label="clones, Renyi",
    needs=("eps0-LDP", DECOMPOSES),
    note="The pair of clones-pld, through its Renyi divergences instead of its privacy loss distribution.",
)
def _renyi(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    trivial = losses.nothing_to_say(eps0, rounds, "upper")
    if trivial:
        return {"epsilon": trivial["epsilon"]}
    outcomes = _outcomes(n, k, eps0, "feldman2022", losses.nats(rounds, delta))
    lattice = connect_the_dots(outcomes, step=lattice_step(outcomes))
    largest = float(lattice.loss.max())

    def rdp(order: FloatArray) -> FloatArray:
        return np.array([renyi_divergence(lattice, lam, largest) for lam in order.tolist()])

    return renyi.columns(rdp, rounds=rounds, delta=delta)
