"""The clones pair as koskela2022 evaluates it: on a grid of alpha, in one direction of neighbours, by
enumeration, and by a plain Fourier transform.

These are variants of ``clones-pld``, kept for the paper's figures and as a reference.
"""

from __future__ import annotations

import functools

import numpy as np

from shuffledp.accountants import via_pld
from shuffledp.accountants.registry import Columns
from shuffledp.accountants.subsampled_shuffle import clones
from shuffledp.accountants.subsampled_shuffle.system import register
from shuffledp.checks import FloatArray
from shuffledp.pld.composition import Composition
from shuffledp.pld.contour import LatticeTooFineError
from shuffledp.pld.fourier_accountant import fourier_epsilon
from shuffledp.pld.outcomes import Lattice, Outcomes, connect_the_dots, dominating, merge_to_lattice
from shuffledp.profiles.clones import COMPOSITION_WIDTH, clones_pair
from shuffledp.profiles.enumeration import enumerated_clones

# The grid of the paper's figure 2: log-spaced from exp(-0.25) to exp(0.25).
_REACH = 0.25

_INSIDE = 1e-12
_TAU = 1e-12  # the paper's tolerance of truncation

_register = functools.partial(
    register,
    citation="feldman2022, koskela2022, doroshenko2022",
    needs=("eps0-LDP",),
    variant_of="clones-pld",
)


def _on_grid(n: int, k: int, eps0: float, rounds: FloatArray, delta: float, points: int) -> Columns:
    trivial = via_pld.nothing_to_say(eps0, rounds, "upper")
    if trivial:
        return {"epsilon": trivial["epsilon"]}
    lattice = grid_lattice(clones.outcomes(n, k, eps0), points=points, reach=_REACH)
    try:
        found = [
            Composition([(lattice, int(count))], bound="upper").epsilon(delta) for count in rounds.tolist()
        ]
    except LatticeTooFineError as error:
        raise LatticeTooFineError(
            f"rounds must be fewer on a grid of {points} losses: {error}; clones-pld has no such limit"
        ) from error
    return {"epsilon": np.array(found, dtype=np.float64)}


def grid_lattice(outcomes: Outcomes, *, points: int, reach: float) -> Lattice:
    """Round a pair to a grid of ``points`` losses, equidistant from -reach to reach, by connecting the dots.

    Returns:
        A pessimistic lattice: losses above the grid count as infinite, those below it are moved up to its
        lower end. An even number of points has none at 0, where the sampled mechanism has most of its mass.
    """
    inside = outcomes.loss <= reach
    # just inside the grid, so that rounding puts no mass beyond it
    mass, loss = outcomes.mass[inside], np.maximum(outcomes.loss[inside], -reach * (1 - _INSIDE))
    infinite = outcomes.infinite + float(outcomes.mass[~inside].sum())
    step = 2 * reach / (points - 1)
    shift = 0.0 if points % 2 else step / 2
    lattice = connect_the_dots(Outcomes(mass, loss - shift, infinite), step=step)
    index = np.round((lattice.loss + shift) / (step / 2))
    return Lattice(step / 2, index, lattice.mass, infinite)


@_register(
    name="koskela2022-grid-500",
    theorem="Lemma 7 of koskela2022; Algorithm 1 of doroshenko2022",
    kind="upper",
    label="connect-the-dots, 500 grid points",
    note="500 values of alpha, log-spaced from exp(-0.25) to exp(0.25).",
)
def _grid_500(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return _on_grid(n, k, eps0, rounds, delta, 500)


@_register(
    name="koskela2022-grid-3000",
    theorem="Lemma 7 of koskela2022; Algorithm 1 of doroshenko2022",
    kind="upper",
    label="connect-the-dots, 3000 grid points",
    note="3000 values of alpha, log-spaced from exp(-0.25) to exp(0.25).",
)
def _grid_3000(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return _on_grid(n, k, eps0, rounds, delta, 3000)


@_register(
    name="koskela2022-one-direction",
    theorem="the pair (gamma P + (1 - gamma) Q, Q) of koskela2022, composed",
    kind="lower",
    scope="clones",
    label="one direction of neighbours, directly",
    note=(
        "The differing client's record is in P. No accountant by way of the clones pair that covers both "
        "directions of neighbours reports less; it is no lower bound on a mechanism."
    ),
)
def _one_direction(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    trivial = via_pld.nothing_to_say(eps0, rounds, "lower")
    if trivial:
        return trivial
    pair = clones_pair(
        n=k, eps0=eps0, analysis="feldman2022", bound="lower", relative_width=COMPOSITION_WIDTH
    )
    coin, x, gap, lost = pair.coins()
    # masses are written in x, P = M (1 + x) and Q = M (1 - x), so that small losses keep their digits
    other = np.where(x > 0, gap, 1 - x)
    gain = 2 * (k / n) * x
    outcomes = Outcomes(coin * (other + gain), np.log1p(gain / other), lost)
    return via_pld.columns([outcomes], rounded=merge_to_lattice, rounds=rounds, delta=delta, bound="lower")


@_register(
    name="koskela2022-fourier",
    theorem="equations 2.1 and 2.4 of koskela2022",
    kind="upper",
    label="Fourier accountant",
    note=(
        "The paper's own method: losses rounded up to 2^18 points of an equidistant grid, composed by one "
        "plain Fourier transform, its error terms added."
    ),
)
def _fourier(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    trivial = via_pld.nothing_to_say(eps0, rounds, "upper")
    if trivial:
        return {"epsilon": trivial["epsilon"]}
    outcomes = clones.outcomes(n, k, eps0)
    found = [
        fourier_epsilon(outcomes, delta=delta, rounds=int(count), form="hockey_stick")
        for count in rounds.tolist()
    ]
    return {"epsilon": np.array(found, dtype=np.float64)}


@_register(
    name="koskela2022-enumeration",
    theorem="Lemma 11 of koskela2022: O(n) outcomes, the rest below tau = 1e-12",
    kind="upper",
    label="clones, every outcome within Hoeffding's bounds",
    note=(
        "The plain enumeration, with what it leaves out (column left_out) counted as infinite loss; terms is "
        "the number of outcomes."
    ),
)
def _enumeration(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    trivial = via_pld.nothing_to_say(eps0, rounds, "upper")
    if trivial:
        return {**trivial, "terms": np.zeros(rounds.shape), "left_out": np.zeros(rounds.shape)}
    pair = enumerated_clones(n=k, eps0=eps0, tau=_TAU)
    found = via_pld.columns(
        [dominating(pair, gamma=k / n)], rounded=connect_the_dots, rounds=rounds, delta=delta, bound="upper"
    )
    return {
        **found,
        "terms": np.full(rounds.shape, float(pair.coin.size)),
        "left_out": np.full(rounds.shape, pair.left_out),
    }
