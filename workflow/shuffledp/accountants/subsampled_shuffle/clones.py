"""Clones: the pairs of feldman2022 and feldman2021, subsampled and composed numerically."""

from __future__ import annotations

import functools

from shuffledp import numerics
from shuffledp.accountants import via_pld, via_rdp
from shuffledp.accountants.registry import Columns
from shuffledp.accountants.subsampled_shuffle.system import register
from shuffledp.checks import FloatArray
from shuffledp.pld.outcomes import Outcomes, connect_the_dots, dominating, lattice_step, renyi_divergences
from shuffledp.profiles.clones import COMPOSITION_WIDTH, clones, clones_pair
from shuffledp.profiles.joint_clones import joint_clones, joint_outcomes
from shuffledp.profiles.subsampling import subsampled


def outcomes(
    n: int, k: int, eps0: float, analysis: str = "feldman2022", nats: float = numerics.NEGLIGIBLE
) -> Outcomes:
    """Return the clones pair of k of n reports by one analysis, with few outcomes, to be composed."""
    return sampled_outcomes(k, k / n, eps0, analysis=analysis, nats=nats)


def sampled_outcomes(
    reports: int, gamma: float, eps0: float, *, analysis: str = "feldman2022", nats: float
) -> Outcomes:
    """Return the clones pair of a number of reports, among which a client's is one with probability gamma."""
    pair = clones_pair(
        n=reports, eps0=eps0, analysis=analysis, bound="upper", relative_width=COMPOSITION_WIDTH, nats=nats
    )
    return dominating(pair, gamma=gamma)


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
    """Return an upper bound on epsilon of T rounds for every T, by the subsampled clones pair of one
    analysis.

    ``infinite`` is the probability with which a round discloses everything, which counts in delta.
    """
    return via_pld.upper_columns(
        eps0,
        lambda: outcomes(n, k, eps0, analysis, via_pld.nats(rounds, delta)),
        rounds=rounds,
        delta=delta,
        infinite=infinite,
        profile=subsampled(functools.partial(clones, n=k, eps0=eps0, analysis=analysis), gamma=k / n),
    )


def joint_columns(
    n: int,
    k: int,
    eps0: float,
    rounds: FloatArray,
    delta: float,
    *,
    moved: float = 0.0,
) -> Columns:
    """Return an upper bound on epsilon of T rounds for every T, by the pair of clones and sampling together.

    ``moved`` is the total variation of a round from one whose reports are eps0-LDP.
    """
    return via_pld.upper_columns(
        eps0,
        lambda: joint_outcomes(absent=float(n - k), k=k, eps0=eps0, nats=via_pld.nats(rounds, delta)),
        rounds=rounds,
        delta=delta,
        moved=moved,
        profile=functools.partial(joint_clones, n=n, k=k, eps0=eps0),
    )


@register(
    name="clones-joint-pld",
    citation="feldman2022, doroshenko2022, this project",
    theorem="clones and sampling together, for every randomiser (theory page)",
    kind="upper",
    label="clones and sampling together, numerical",
    needs=("eps0-LDP",),
    note=(
        "The dominating pair of k of n reports, which uses that a round without the client looks like "
        "neither data set, composed on a lattice; one round by its privacy profile."
    ),
)
def _joint(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return joint_columns(n, k, eps0, rounds, delta)


@register(
    name="clones-pld",
    citation="feldman2022, koskela2022, doroshenko2022",
    theorem="Theorem 3.1 of feldman2022, for every randomiser (theory page); Lemma 7 of koskela2022",
    kind="upper",
    label="clones, numerical",
    needs=("eps0-LDP",),
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
    variant_of="clones-pld",
    note="As clones-pld, with the fewer clones of the earlier analysis; for comparison with the papers.",
)
def _feldman2021(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return columns(n, k, eps0, rounds, delta, "feldman2021")


@register(
    name="clones-rdp",
    citation="feldman2022, koskela2022, girgis2021",
    theorem="Theorem 3.1 of feldman2022; Lemma 7 of koskela2022; Lemma 1 of girgis2021",
    kind="upper",
    label="clones, Renyi",
    needs=("eps0-LDP",),
    note="The pair of clones-pld, through its Renyi divergences instead of its privacy loss distribution.",
)
def _renyi(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    trivial = via_pld.nothing_to_say(eps0, rounds, "upper")
    if trivial:
        return {"epsilon": trivial["epsilon"]}
    pair = outcomes(n, k, eps0, nats=via_pld.nats(rounds, delta))
    lattice = connect_the_dots(pair, step=lattice_step(pair))
    rdp = functools.partial(renyi_divergences, lattice, largest=float(lattice.loss.max()))
    return via_rdp.columns(rdp, rounds=rounds, delta=delta)
