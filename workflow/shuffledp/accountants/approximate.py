"""Check-in protocols and the shuffle with (eps0, delta0)-LDP randomisers: balle2020, liew2022 and clones.

The bounds need not rise in eps0, since a larger eps0 moves the reports less. Each of them holds, but a search
for the largest eps0 within a budget may stop at a smaller one. A randomiser satisfies a larger eps0 too, so
the least bound over all larger ones would hold as well; to find it would take a composition for each of them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shuffledp import checks
from shuffledp.accountants import systems, via_pld, via_rdp
from shuffledp.accountants.check_in import replaced, shuffled, windows
from shuffledp.accountants.registry import Columns, register
from shuffledp.accountants.shuffle import ldp
from shuffledp.accountants.strengths import BOUNDS, STRENGTHS
from shuffledp.accountants.subsampled_shuffle import clones
from shuffledp.approximate_dp.composition import ApproximateDP
from shuffledp.checkin import balle2020, liew2022_conversions
from shuffledp.checks import FloatArray
from shuffledp.profiles import approximate
from shuffledp.rdp.curve import RenyiCurve

MECHANISM = "approximate-ldp"
_TOLD = (
    "The smaller of two bounds: the reports are within some 2 e^-eps0 delta0 each of those of eps0-LDP "
    "randomisers, for which delta pays; or everything is disclosed with a small probability a round."
)


def _enter(of_ldp: systems.System, default: str, taking_part: str | None = None) -> None:
    """Make a protocol known with (eps0, delta0)-LDP reports in place of eps0-LDP ones.

    Args:
        of_ldp: the protocol with eps0-LDP reports.
        default: the accountant to take where none is named.
        taking_part: the variable that is the probability with which a client reports in a round; None where
            every client reports.
    """

    def basic(setting: systems.Setting) -> ApproximateDP:
        # a client who does not report costs nothing: the delta of a mixture is the mean one
        eps, delta0 = of_ldp.basic(setting)
        share = setting[taking_part] if taking_part else 1
        if share == 0:
            return ApproximateDP(0.0, 0.0)
        delta = delta0 * share
        # a product of tiny numbers must not become 0
        return ApproximateDP(eps, math.nextafter(delta, 1) if delta0 > 0 else 0.0)

    def check(setting: systems.Setting) -> None:
        checks.positive("eps0", setting["eps0"])
        of_ldp.check(setting)

    systems.enter(
        systems.System(
            of_ldp.protocol,
            MECHANISM,
            f"{of_ldp.words}, by (eps0, delta0)-LDP randomisers",
            (*of_ldp.variables, "delta0"),
            default,
            of_ldp.neighbours,
            basic,
            check,
        )
    )


_enter(shuffled.SYSTEM, "check-in-pld-approximate", "rate")
_enter(windows.FIXED, "fixed-window-clones-approximate", "participation")
_enter(windows.SLIDING, "sliding-window-clones-approximate")
_enter(windows.AVERAGED, "averaged-window-clones-approximate")
_enter(ldp.SYSTEM, "shuffle-clones-approximate")


# --- balle2020, Lemma A.3


def _register_strengths(protocol: str, reports: str, *, closed_form: str, sum: str, numerical: str) -> None:
    """Register the three strengths of a protocol's bound at 8 eps0.

    Args:
        protocol: as for ``register_strengths``.
        reports: the variable that counts the reports of a round.
        closed_form: name of the accountant of this strength.
        sum: likewise.
        numerical: likewise.
    """
    theorem, bound = BOUNDS[protocol]
    names = {"closed_form": closed_form, "sum": sum, "numerical": numerical}
    for strength, (citation, words, _) in STRENGTHS.items():

        @register(
            name=names[strength],
            citation=citation,
            theorem=f"{theorem}, Lemma A.3",
            kind="upper",
            label=f"balle2020, {words}, at 8 eps0",
            needs=("(eps0, delta0)-LDP",),
            note="The bound at 8 eps0, and what replacing every report costs in delta.",
            protocol=protocol,
            mechanism=MECHANISM,
        )
        def _compute(
            *, rounds: FloatArray, delta: float, strength: str = strength, **setting: Any
        ) -> Columns:
            def one(count: float) -> float:
                if count == 0:
                    return 0.0
                return balle2020.with_failure(
                    bound,
                    steps=int(setting[reports] * count),
                    delta=delta,
                    rounds=int(count),
                    strength=strength,
                    **setting,
                )

            return {"epsilon": np.array([one(count) for count in rounds.tolist()], dtype=np.float64)}


_register_strengths(
    "fixed-window",
    "slots",
    closed_form="fixed-window-printed-approximate",
    sum="fixed-window-sum-approximate",
    numerical="fixed-window-numerical-approximate",
)
_register_strengths(
    "sliding-window",
    "slots",
    closed_form="sliding-window-printed-approximate",
    sum="sliding-window-sum-approximate",
    numerical="sliding-window-numerical-approximate",
)
_register_strengths(
    "averaged-window",
    "n",
    closed_form="averaged-window-printed-approximate",
    sum="averaged-window-sum-approximate",
    numerical="averaged-window-numerical-approximate",
)
_register_strengths(
    "shuffle",
    "n",
    closed_form="balle2020-shuffling-printed-approximate",
    sum="balle2020-shuffling-sum-approximate",
    numerical="balle2020-shuffling-numerical-approximate",
)


# --- clones

_register_clones = functools.partial(
    register,
    citation="feldman2022, doroshenko2022, this project",
    theorem="that of eps0-LDP reports, and what separates these from them (theory page)",
    kind="upper",
    label="clones, numerical",
    needs=("(eps0, delta0)-LDP",),
    note=_TOLD,
    mechanism=MECHANISM,
)


def _smaller(one: Columns, other: Columns) -> Columns:
    """Return, number of rounds by number of rounds, the columns of the smaller epsilon."""
    first = one["epsilon"] <= other["epsilon"]
    return {name: np.where(first, one[name], other[name]) for name in one}


def _window(
    reports: int, eps0: float, delta0: float, rounds: FloatArray, delta: float, participation: float = 1.0
) -> Columns:
    variation = approximate.moved(reports=reports, eps0=eps0, delta0=delta0)
    told = participation * approximate.disclosure(n=reports, eps0=eps0, delta0=delta0)
    together = windows.window_columns(
        reports, eps0, rounds, delta, participation=participation, moved=variation
    )
    if participation == 0:
        return together
    return _smaller(
        together,
        via_pld.upper_columns(
            eps0,
            lambda: clones.sampled_outcomes(reports, participation, eps0, nats=via_pld.nats(rounds, delta)),
            rounds=rounds,
            delta=delta,
            infinite=told,
        ),
    )


@_register_clones(name="fixed-window-clones-approximate", protocol="fixed-window")
def _fixed(
    *, slots: int, participation: float, eps0: float, delta0: float, rounds: FloatArray, delta: float
) -> Columns:
    return _window(slots, eps0, delta0, rounds, delta, participation)


@_register_clones(name="sliding-window-clones-approximate", protocol="sliding-window")
def _sliding(*, slots: int, eps0: float, delta0: float, rounds: FloatArray, delta: float) -> Columns:
    return _window(slots, eps0, delta0, rounds, delta)


@_register_clones(name="averaged-window-clones-approximate", protocol="averaged-window")
def _averaged(*, n: int, slots: int, eps0: float, delta0: float, rounds: FloatArray, delta: float) -> Columns:
    return _window(n, eps0, delta0, rounds, delta)


@_register_clones(name="shuffle-clones-approximate", protocol="shuffle")
def _shuffle(*, n: int, eps0: float, delta0: float, rounds: FloatArray, delta: float) -> Columns:
    return _window(n, eps0, delta0, rounds, delta)


# --- shuffled check-in

_register_check_in = functools.partial(
    register, needs=("(eps0, delta0)-LDP",), protocol="shuffled-check-in", mechanism=MECHANISM
)


@_register_check_in(
    name="check-in-pld-approximate",
    citation="feldman2022, koskela2022, liew2022, doroshenko2022, this project",
    theorem="that of eps0-LDP reports, and what separates these from them (theory page)",
    kind="upper",
    label="check-in, numerical",
    note=_TOLD,
)
def _pld(*, n: int, rate: float, eps0: float, delta0: float, rounds: FloatArray, delta: float) -> Columns:
    return check_in_columns(n, rate, eps0, delta0, rounds, delta)


def check_in_columns(
    n: int, rate: float, eps0: float, delta0: float, rounds: FloatArray, delta: float
) -> Columns:
    """Return epsilon of T rounds of shuffled check-in of (eps0, delta0)-LDP reports, for every T."""
    told = liew2022_conversions.disclosure(n=n, rate=rate, eps0=eps0, delta0=delta0)
    return _smaller(
        replaced.columns(n, rate, eps0, delta0, rounds, delta),
        shuffled.by_clones(n, rate, eps0, rounds, delta, "feldman2022", infinite=told),
    )


def _converted(rdp_of: Callable[..., RenyiCurve]) -> Callable[..., Columns]:
    """Return the columns of a conversion: what is disclosed in all rounds is paid out of delta."""

    def compute(
        *, n: int, rate: float, eps0: float, delta0: float, rounds: FloatArray, delta: float
    ) -> Columns:
        if via_pld.nothing_to_say(eps0, rounds, "upper"):
            return {"epsilon": np.where(rounds > 0, np.inf, 0.0)}
        told = liew2022_conversions.disclosure(n=n, rate=rate, eps0=eps0, delta0=delta0)
        rdp = rdp_of(n=n, rate=rate, eps0=eps0)

        def one(count: float) -> Columns:
            rest = delta - told * count
            if rest <= 0:
                return {"epsilon": np.full(1, np.inf), "order": np.full(1, np.inf), "on_edge": np.ones(1)}
            return via_rdp.columns(rdp, rounds=np.full(1, count), delta=rest)

        rows = [one(count) for count in rounds.tolist()]
        return {
            key: np.concatenate([np.empty(0), *(row[key] for row in rows)])
            for key in ("epsilon", "order", "on_edge")
        }

    return compute


_register_check_in(
    name="liew2022-shuffling-conversion",
    citation="feldman2022, wang2019, liew2022, girgis2021",
    theorem="Table 1 of liew2022: clones, Renyi, Theorem 9 of wang2019; Lemma 1",
    kind="upper",
    label="check-in, shuffling conversion",
    note="Renyi DP of the shuffle, subsampled by wang2019, mixed over check-ins.",
)(_converted(liew2022_conversions.ShufflingConversion))

_register_check_in(
    name="liew2022-subsampling-conversion",
    citation="feldman2022, koskela2022, liew2022, girgis2021",
    theorem="Table 1 of liew2022: clones, subsampled, Renyi; Lemma 1",
    kind="upper",
    label="check-in, subsampled shuffling conversion",
    note="Profiles of the shuffle, subsampled and mixed over check-ins, then Renyi DP.",
)(_converted(liew2022_conversions.SubsamplingConversion))


@_register_check_in(
    name="liew2022-baseline-approximate",
    citation="liew2022, ullman2017, kairouz2015",
    theorem="appendix D of liew2022; Theorem 3.4 of kairouz2015",
    kind="upper",
    label="check-in, strong composition",
    note=(
        "A round counts as one with the most reports that occur but for a part of delta, without "
        "amplification by shuffling; the split of delta is the best of six, and reported."
    ),
)
def _baseline(
    *, n: int, rate: float, eps0: float, delta0: float, rounds: FloatArray, delta: float
) -> Columns:
    return shuffled.baseline(n, rate, eps0, delta0, rounds, delta)
