"""The plain shuffle of eps0-LDP reports: balle2020 in three strengths, feldman2021, clones, lower bounds."""

from __future__ import annotations

import functools

from shuffledp.accountants import systems
from shuffledp.accountants.registry import Columns, register
from shuffledp.accountants.strengths import register_strengths
from shuffledp.accountants.subsampled_shuffle import clones, feldman2021, randomized_response
from shuffledp.checks import FloatArray

SYSTEM = systems.enter(
    systems.System(
        "shuffle",
        "ldp",
        "rounds of all n clients, whose eps0-LDP reports are shuffled",
        ("n", "eps0"),
        "shuffle-clones",
        systems.Neighbours.SUBSTITUTION,
        systems.of_one_report,
    )
)


register_strengths(
    "shuffle",
    closed_form="balle2020-shuffling-printed",
    sum="balle2020-shuffling-sum",
    numerical="balle2020-shuffling-numerical",
)


@register(
    name="shuffle-feldman2021",
    citation="feldman2021, kairouz2015",
    theorem="Theorem 3.1 of feldman2021; Theorem 3.4 of kairouz2015",
    kind="upper",
    label="feldman2021, closed form",
    needs=("eps0-LDP",),
    note="The closed form for one shuffle; several are composed at the best split of delta.",
    protocol="shuffle",
)
def _closed_form(*, n: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return feldman2021.columns(n, n, eps0, rounds, delta)


@register(
    name="shuffle-clones",
    citation="feldman2022, doroshenko2022",
    theorem="Theorem 3.1 of feldman2022, for every randomiser (theory page)",
    kind="upper",
    label="feldman2022, numerical",
    needs=("eps0-LDP",),
    note="The clones pair of all n reports, composed on a lattice.",
    protocol="shuffle",
)
def _clones(*, n: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return clones.columns(n, n, eps0, rounds, delta, "feldman2022")


@register(
    name="shuffle-clones-feldman2021",
    citation="feldman2021, doroshenko2022",
    theorem="Theorem 3.1 of feldman2021, numerically",
    kind="upper",
    label="clones of feldman2021, numerical",
    needs=("eps0-LDP",),
    variant_of="shuffle-clones",
    note="As shuffle-clones, with the fewer clones of the earlier analysis; for comparison with the papers.",
    protocol="shuffle",
)
def _clones_feldman2021(*, n: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return clones.columns(n, n, eps0, rounds, delta, "feldman2021")


_register_lower = functools.partial(
    register,
    kind="lower",
    needs=("eps0-LDP", "discrete"),
    note="Epsilon of one concrete mechanism, data set and neighbour: no valid accountant can report less.",
    protocol="shuffle",
)


@_register_lower(
    name="shuffle-krr3-lower",
    citation="this project",
    theorem="three-symbol randomised response, all others on the third symbol",
    label="three-symbol randomised response, lower bound",
)
def _three_symbols(*, n: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return randomized_response.three_symbols(n, n, eps0, rounds, delta)


@_register_lower(
    name="shuffle-rr2-lower",
    citation="girgis2021",
    theorem="the mechanism of Theorem 2, accounted for exactly",
    label="two-symbol randomised response, lower bound",
)
def _two_symbols(*, n: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return randomized_response.two_symbols(n, n, eps0, rounds, delta)
