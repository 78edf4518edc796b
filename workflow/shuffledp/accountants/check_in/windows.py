"""Windows of slots from which clients choose (balle2020): its bounds in three strengths, and clones."""

from __future__ import annotations

import functools

import numpy as np

from shuffledp.accountants import systems, via_pld
from shuffledp.accountants.registry import Columns, register
from shuffledp.accountants.strengths import register_strengths
from shuffledp.checks import FloatArray
from shuffledp.pld.outcomes import Outcomes
from shuffledp.profiles.joint_clones import joint_clones, joint_outcomes

FIXED = systems.enter(
    systems.System(
        "fixed-window",
        "ldp",
        "windows of so many slots, of which each client takes part in one at random, or in none",
        ("slots", "participation", "eps0"),
        "fixed-window-clones",
        systems.Neighbours.SUBSTITUTION,
        systems.of_one_report,
    )
)
SLIDING = systems.enter(
    systems.System(
        "sliding-window",
        "ldp",
        "runs in which each client takes part in one of the next so many slots at random",
        ("slots", "eps0"),
        "sliding-window-clones",
        systems.Neighbours.SUBSTITUTION,
        systems.of_one_report,
    )
)
AVERAGED = systems.enter(
    systems.System(
        "averaged-window",
        "ldp",
        "windows of so many slots, of which each of n clients picks one at random, averaged slot by slot",
        ("n", "slots", "eps0"),
        "averaged-window-clones",
        systems.Neighbours.SUBSTITUTION,
        systems.of_one_report,
    )
)
register_strengths(
    "fixed-window",
    closed_form="fixed-window-printed",
    sum="fixed-window-sum",
    numerical="fixed-window-numerical",
)
register_strengths(
    "sliding-window",
    closed_form="sliding-window-printed",
    sum="sliding-window-sum",
    numerical="sliding-window-numerical",
)
register_strengths(
    "averaged-window",
    closed_form="averaged-window-printed",
    sum="averaged-window-sum",
    numerical="averaged-window-numerical",
)


def window_columns(
    reports: int,
    eps0: float,
    rounds: FloatArray,
    delta: float,
    *,
    participation: float = 1.0,
    moved: float = 0.0,
) -> Columns:
    """Return an upper bound on epsilon of T windows for every T, by clones.

    Fix what the other clients do. The client takes a uniform slot and, given all else, replaces the report
    there with a probability of at most ``participation``. So the window has the pair of
    ``profiles.joint_clones`` with a report for each slot and participation in place of k/n, even if reports
    depend on those before them. If a slot is averaged over all clients in it, the reports of all clients come
    in a uniform order, given the numbers in each slot: that is the pair of a plain shuffle. See
    ``docs/theory/every_randomiser.md``.

    Args:
        reports: number of slots with one report each, or number of clients if slots are averaged.
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

    # if the client takes part for certain, one window is answered by its profile
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
    note="Given the number of reports in each slot, the reports of all n clients come in a uniform order.",
    protocol="averaged-window",
)
def _averaged(*, n: int, slots: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return window_columns(n, eps0, rounds, delta)
