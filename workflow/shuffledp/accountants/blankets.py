"""Upper bounds from what is known of a randomiser besides eps0: its blanket's share, its total variation, or
both.

They exist for the three protocols of ``BASES``. Knowing either number never makes epsilon larger than it is
for any eps0-LDP randomiser.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from shuffledp.accountants import systems, via_pld
from shuffledp.accountants.check_in import shuffled
from shuffledp.accountants.registry import Columns, register
from shuffledp.accountants.shuffle import ldp
from shuffledp.accountants.subsampled_shuffle.system import SYSTEM as SUBSAMPLED_SHUFFLE
from shuffledp.checks import FloatArray
from shuffledp.profiles import four_kinds, worst_kinds


class _Known(NamedTuple):
    """What is known of a randomiser by the variables of a mechanism, and words for its accountants."""

    variables: tuple[str, ...]
    words: str
    need: str
    label: str
    note: str


_SHARE, _TV = "a blanket of mass 1/(1 + (e^eps0 - 1) share)", "total variation of at most tv between records"
KNOWN = {
    "share": _Known(
        ("share",),
        _SHARE,
        "share of its blanket",
        "share of the blanket, numerical",
        "At share = 1/2 these are the clones of any randomiser; a smaller share gives a smaller epsilon.",
    ),
    "tv": _Known(
        ("tv",),
        _TV,
        "total variation",
        "total variation, numerical",
        "With the least blanket that an eps0-LDP randomiser of this total variation can have.",
    ),
    "blanket": _Known(
        ("share", "tv"),
        f"{_SHARE} and {_TV}",
        "share and total variation",
        "share and total variation, numerical",
        "As share-pld, for randomisers whose total variation is below 1 minus the mass of the blanket.",
    ),
}
BASES = (SUBSAMPLED_SHUFFLE, shuffled.SYSTEM, ldp.SYSTEM)
# protocol -> its accountants, by mechanism
NAMES = {
    "subsampled-shuffle": {"share": "share-pld", "tv": "tv-pld", "blanket": "blanket-pld"},
    "shuffled-check-in": {
        "share": "check-in-share-pld",
        "tv": "check-in-tv-pld",
        "blanket": "check-in-blanket-pld",
    },
    "shuffle": {"share": "shuffle-share-pld", "tv": "shuffle-tv-pld", "blanket": "shuffle-blanket-pld"},
}


def columns(
    *,
    n: int,
    eps0: float,
    rounds: FloatArray,
    delta: float,
    k: int | None = None,
    rate: float = 1.0,
    share: float | None = None,
    tv: float | None = None,
) -> Columns:
    """Return an upper bound on epsilon of T rounds for every T, from what is known of the randomiser.

    Args:
        n: number of clients.
        eps0: local privacy parameter.
        rounds: numbers of rounds.
        delta: target.
        k: reports of a round, of clients drawn afresh; all n if None.
        rate: if k is None, the probability with which each of the n clients checks in.
        share: as for ``worst_kinds.kinds``.
        tv: as for ``worst_kinds.kinds``.
    """
    return via_pld.upper_columns(
        eps0,
        lambda: four_kinds.kinds_outcomes(
            n=n,
            k=n if k is None else k,
            eps0=eps0,
            share=share,
            tv=tv,
            rate=rate,
            nats=via_pld.nats(rounds, delta),
        ),
        rounds=rounds,
        delta=delta,
    )


def _enter(base: systems.System, mechanism: str) -> None:
    """Register the system of one protocol and mechanism, and its accountant."""
    known, name = KNOWN[mechanism], NAMES[base.protocol][mechanism]

    def check(setting: systems.Setting) -> None:
        base.check(setting)
        # at eps0 = 0 reports do not differ, so every tv is an upper bound
        if "tv" in setting and setting["eps0"] > 0:
            worst_kinds.checked_tv(setting["tv"], setting["eps0"], setting.get("share"))

    def compute(**setting: Any) -> Columns:
        return columns(**setting)

    systems.enter(
        systems.System(
            base.protocol,
            mechanism,
            f"{base.words}, of a randomiser with {known.words}",
            (*base.variables, *known.variables),
            name,
            base.neighbours,
            base.basic,
            check,
        )
    )
    register(
        name=name,
        citation="this project, feldman2022, balle2019, doroshenko2022",
        theorem="the blanket's reports in four kinds",
        kind="upper",
        label=known.label,
        needs=("eps0-LDP", known.need),
        note=known.note,
        protocol=base.protocol,
        mechanism=mechanism,
    )(compute)


for _base in BASES:
    for _mechanism in KNOWN:
        _enter(_base, _mechanism)
