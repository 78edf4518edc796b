"""Random check-ins of balle2020, in three strengths and by clones, as accountants of their own protocols."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from shuffledp.accountants import clones, feldman2021, randomized_response, systems, via_pld
from shuffledp.accountants.registry import Columns, register
from shuffledp.checkin import balle2020
from shuffledp.checks import FloatArray
from shuffledp.pld.outcomes import Outcomes
from shuffledp.profiles.joint_clones import joint_clones, joint_outcomes

# What a strength of balle2020 rests on: citation, words for the legend, note.
_STRENGTHS = {
    "closed_form": (
        "balle2020",
        "as printed",
        "The closed form; several rounds by the lemma behind it (A.2).",
    ),
    "sum": (
        "balle2020",
        "exact sum",
        "The sum that the proof starts from (equation 2), over epsilon of each slot.",
    ),
    "numerical": (
        "balle2020, kairouz2015",
        "numerical",
        "Randomised responses with epsilon of each slot, composed.",
    ),
}


def _eps0(setting: systems.Setting) -> float:
    """Each client reports once a round at most."""
    return setting["eps0"]


systems.enter(
    systems.System(
        "fixed-window",
        "ldp",
        "windows of so many slots, of which each client takes part in one at random, or in none",
        ("slots", "participation", "eps0"),
        "fixed-window-clones",
        systems.Neighbours.SUBSTITUTION,
        _eps0,
    )
)
systems.enter(
    systems.System(
        "sliding-window",
        "ldp",
        "runs in which each client takes part in one of the next so many slots at random",
        ("slots", "eps0"),
        "sliding-window-clones",
        systems.Neighbours.SUBSTITUTION,
        _eps0,
    )
)
systems.enter(
    systems.System(
        "averaged-window",
        "ldp",
        "windows of so many slots, of which each of n clients picks one at random, averaged slot by slot",
        ("n", "slots", "eps0"),
        "averaged-window-clones",
        systems.Neighbours.SUBSTITUTION,
        _eps0,
    )
)
SHUFFLE = systems.enter(
    systems.System(
        "shuffle",
        "ldp",
        "rounds of all n clients, whose eps0-LDP reports are shuffled",
        ("n", "eps0"),
        "shuffle-clones",
        systems.Neighbours.SUBSTITUTION,
        _eps0,
    )
)


def _register_strengths(
    protocol: str, theorem: str, bound: Callable[..., float], *, closed_form: str, sum: str, numerical: str
) -> None:
    """Register the three strengths of a bound; the last three arguments are their accountants' names."""
    names = {"closed_form": closed_form, "sum": sum, "numerical": numerical}
    for strength, (citation, words, note) in _STRENGTHS.items():

        def compute(*, rounds: FloatArray, delta: float, strength: str = strength, **setting: Any) -> Columns:
            found = [
                bound(**setting, delta=delta, rounds=int(count), strength=strength) if count else 0.0
                for count in rounds.tolist()
            ]
            return {"epsilon": np.array(found, dtype=np.float64)}

        register(
            name=names[strength],
            citation=citation,
            theorem=theorem,
            kind="upper",
            label=f"balle2020, {words}",
            needs=("eps0-LDP",),
            note=note,
            protocol=protocol,
        )(compute)


_register_strengths(
    "fixed-window",
    "Theorem 3.2 (A.4)",
    balle2020.fixed_window,
    closed_form="fixed-window-printed",
    sum="fixed-window-sum",
    numerical="fixed-window-numerical",
)
_register_strengths(
    "sliding-window",
    "Theorem 4.3 (A.4)",
    balle2020.sliding_window,
    closed_form="sliding-window-printed",
    sum="sliding-window-sum",
    numerical="sliding-window-numerical",
)
_register_strengths(
    "averaged-window",
    "Theorem 4.1 (A.5, A.6)",
    balle2020.averaging,
    closed_form="averaged-window-printed",
    sum="averaged-window-sum",
    numerical="averaged-window-numerical",
)
_register_strengths(
    "shuffle",
    "Theorem 5.1 (A.7)",
    balle2020.shuffling,
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


def window_columns(
    reports: int,
    eps0: float,
    rounds: FloatArray,
    delta: float,
    *,
    participation: float = 1.0,
    moved: float = 0.0,
) -> Columns:
    """Return epsilon of T windows by clones, for every T.

    Fix what the others do; the client takes a uniform slot, and replaces who is there with a probability of
    at most ``participation``, given all else. The window has the pair of ``profiles.joint_clones`` with a
    report for each slot and participation for k/n, reports that depend on those before included. With slots
    averaged over all who are in them, given the numbers in each, the reports of all clients come in a uniform
    order: the pair of a plain shuffle. See ``docs/theory/every_randomiser.md``.

    Args:
        reports: the slots of one report each, or the clients of averaged slots.
        eps0: local privacy parameter.
        rounds: numbers of windows.
        delta: target.
        participation: probability of taking part.
        moved: as for ``via_pld.upper_columns``.
    """

    def outcomes() -> Outcomes:
        if participation == 0:  # nothing is learnt
            return Outcomes(np.ones(1), np.zeros(1))
        absent = reports * (1 - participation) / participation
        return joint_outcomes(absent=absent, k=reports, eps0=eps0, nats=via_pld.nats(rounds, delta))

    # one window of which the client is a part for certain is answered by its profile
    profile = functools.partial(joint_clones, n=reports, k=reports, eps0=eps0) if participation == 1 else None
    return via_pld.upper_columns(eps0, outcomes, rounds=rounds, delta=delta, moved=moved, profile=profile)


_register_clones = functools.partial(
    register,
    citation="feldman2022, balle2020, doroshenko2022, this project",
    kind="upper",
    label="clones, numerical",
    needs=("eps0-LDP",),
    mechanism="ldp",
)


@_register_clones(
    name="fixed-window-clones",
    theorem="clones and participation together, in the slots (theory page)",
    note="The client hides among the reports of all slots; dummy updates are randomised like reports.",
    protocol="fixed-window",
)
def _fixed(*, slots: int, participation: float, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return window_columns(slots, eps0, rounds, delta, participation=participation)


@_register_clones(
    name="sliding-window-clones",
    theorem="clones in the slots (theory page)",
    note="As fixed-window-clones, in the slots that a client may take.",
    protocol="sliding-window",
)
def _sliding(*, slots: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return window_columns(slots, eps0, rounds, delta)


@_register_clones(
    name="averaged-window-clones",
    theorem="Theorem 3.1 of feldman2022, for every randomiser (theory page), given the loads",
    note="Given how many are in each slot, the reports of all n clients come in a uniform order.",
    protocol="averaged-window",
)
def _averaged(*, n: int, slots: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return window_columns(n, eps0, rounds, delta)
