"""Random check-ins of balle2020, in three strengths and by clones, as accountants of their own protocols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from shuffledp import checks
from shuffledp.accountants import clones, feldman2021, losses, systems
from shuffledp.accountants.registry import DECOMPOSES, Columns, register
from shuffledp.checkin import balle2020, window_clones
from shuffledp.checks import FloatArray
from shuffledp.pld.outcomes import Outcomes

_STRENGTHS = {
    "closed_form": ("printed", "as printed", "The closed form; several rounds by the lemma behind it (A.2)."),
    "sum": (
        "sum",
        "exact sum",
        "The sum that the proof starts from (equation 2), over epsilon of each slot.",
    ),
    "numerical": ("numerical", "numerical", "Randomised responses with epsilon of each slot, composed."),
}


_CHECKS: dict[str, Callable[[Any], float]] = {
    "n": lambda value: checks.count("n", value),
    "slots": lambda value: checks.count("slots", value),
    "participation": lambda value: checks.probability("participation", value, zero=True, one=True),
    "eps0": checks.eps0,
}


def _checked(given: Mapping[str, Any]) -> systems.Setting:
    return {name: _CHECKS[name](value) for name, value in given.items()}


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
        _checked,
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
        _checked,
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
        _checked,
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
        _checked,
        _eps0,
    )
)


def _enter(protocol: str, theorem: str, bound: Callable[..., float], rename: Mapping[str, str]) -> None:
    """Register the three strengths of a bound."""
    for strength, (short, words, note) in _STRENGTHS.items():

        def compute(*, rounds: FloatArray, delta: float, strength: str = strength, **setting: Any) -> Columns:
            given = {rename.get(name, name): value for name, value in setting.items()}
            found = [
                bound(**given, delta=delta, rounds=int(count), strength=strength) if count else 0.0
                for count in rounds.tolist()
            ]
            return {"epsilon": np.array(found, dtype=np.float64)}

        register(
            name=f"{protocol}-{short}" if protocol != "shuffle" else f"balle2020-shuffling-{short}",
            citation="balle2020" if strength != "numerical" else "balle2020, kairouz2015",
            theorem=theorem,
            kind="upper",
            label=f"balle2020, {words}",
            needs=("eps0-LDP",),
            note=note,
            protocol=protocol,
        )(compute)


_enter("fixed-window", "Theorem 3.2 (A.4)", balle2020.fixed_window, {"slots": "m"})
_enter("sliding-window", "Theorem 4.3 (A.4)", balle2020.sliding_window, {"slots": "m"})
_enter("averaged-window", "Theorem 4.1 (A.5, A.6)", balle2020.averaging, {"slots": "m"})
_enter("shuffle", "Theorem 5.1 (A.7)", balle2020.shuffling, {})


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
    theorem="Theorem 3.1 of feldman2022",
    kind="upper",
    label="feldman2022, numerical",
    needs=("eps0-LDP", DECOMPOSES),
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
    note="As shuffle-clones, with the fewer clones of the earlier analysis.",
    protocol="shuffle",
)
def _clones_feldman2021(*, n: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return clones.columns(n, n, eps0, rounds, delta, "feldman2021")


def window_columns(
    reports: int,
    eps0: float,
    rounds: FloatArray,
    delta: float,
    *,
    participation: float = 1.0,
    infinite: float = 0.0,
) -> Columns:
    """Return epsilon of T windows by clones, for every T.

    Args:
        reports: the slots of one report each, or the clients of averaged slots.
        eps0: local privacy parameter.
        rounds: numbers of windows.
        delta: target.
        participation: probability of taking part.
        infinite: probability, given participation, that everything is disclosed.
    """

    def outcomes() -> Outcomes:
        if participation == 0:  # nothing is learnt
            return Outcomes(np.ones(1), np.zeros(1))
        return window_clones.window_outcomes(
            reports=reports, eps0=eps0, nats=losses.nats(rounds, delta), participation=participation
        )

    return losses.upper_columns(eps0, outcomes, rounds=rounds, delta=delta, infinite=participation * infinite)


_CLONES = {
    "citation": "feldman2021, koskela2022, doroshenko2022, this project",
    "kind": "upper",
    "label": "clones of feldman2021, numerical",
    "needs": ("eps0-LDP",),
    "mechanism": "ldp",
}


@register(
    name="fixed-window-clones",
    theorem="the clones of Theorem 3.1 of feldman2021 in the slots",
    note="The client hides among the reports of all slots; dummy updates are randomised like reports.",
    protocol="fixed-window",
    **_CLONES,
)
def _fixed(*, slots: int, participation: float, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return window_columns(slots, eps0, rounds, delta, participation=participation)


@register(
    name="sliding-window-clones",
    theorem="the clones of Theorem 3.1 of feldman2021 in the slots",
    note="As fixed-window-clones, in the slots that a client may take.",
    protocol="sliding-window",
    **_CLONES,
)
def _sliding(*, slots: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return window_columns(slots, eps0, rounds, delta)


@register(
    name="averaged-window-clones",
    theorem="Theorem 3.1 of feldman2021, given the loads",
    note="Given how many are in each slot, the reports of all n clients come in a uniform order.",
    protocol="averaged-window",
    **_CLONES,
)
def _averaged(*, n: int, slots: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return window_columns(n, eps0, rounds, delta)
