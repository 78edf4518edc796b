"""A pair that dominates a round, listed where its outcomes are few and merged elsewhere."""

from __future__ import annotations

from shuffledp import checks, numerics
from shuffledp.pld.outcomes import Outcomes
from shuffledp.profiles.four_kinds.listed import ListedPair
from shuffledp.profiles.four_kinds.merged import MergedPair, TooMuchWorkError
from shuffledp.profiles.joint_clones import joint_outcomes
from shuffledp.profiles.worst_kinds import kinds

# By how much blocks of N may be wider where totals are too many; epsilon grows by that times _WIDTH/2.
_COARSER = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)


def kinds_outcomes(
    *,
    n: int,
    k: int,
    eps0: float,
    share: float | None = None,
    tv: float | None = None,
    rate: float = 1.0,
    nats: float = numerics.NEGLIGIBLE,
) -> Outcomes:
    """Return a pair that dominates a round of k of n clients, from what is known of their randomiser.

    It holds for both directions of neighbours (by substitution): exchanging the two mirrors the losses.

    Args:
        n: number of clients.
        k: reports of a round, drawn without replacement, <= n.
        eps0: local privacy parameter, > 0 and at most some 300.
        share: f, as for ``worst_kinds.kinds``.
        tv: as for ``worst_kinds.kinds``.
        rate: with k = n, the probability with which a client checks in.
        nats: how far below the rest an outcome is left out.

    Returns:
        Masses under P and losses. Where there are few outcomes, all of them are listed. Elsewhere the pair is
        an upper bound: values of N are merged in blocks at the end with the larger divergence, and totals and
        differences are split over neighbouring points of grids such that their means are kept.

    Raises:
        ValueError: an argument is out of range.
    """
    n, k = checks.clients(n, k)
    own = kinds(eps0=eps0, share=share, tv=tv)
    rate = checks.probability("rate", rate, one=True)
    if rate == 1 and own.plain == own.heavy == 0:
        return joint_outcomes(absent=float(n - k), k=k, eps0=eps0, nats=nats)
    given = own.at_rate(rate) if rate < 1 else own
    listed = ListedPair(n - k, k, eps0, given, nats).outcomes()
    if listed is not None:
        return listed
    least = 1.0
    for coarser in _COARSER:
        if coarser < least:
            continue
        try:
            return MergedPair(n - k, k, eps0, given, nats, coarser=coarser).outcomes()
        except TooMuchWorkError as error:
            # rounding to whole numbers may save up to twice as much work as a coarser try is meant to
            least = max(least, coarser * error.excess / 2)
    raise ValueError(
        f"n must be smaller for a bound from share and tv at eps0={eps0:g}, where so many clients would take "
        f"minutes to account for, got {n}; leave tv out, or take a smaller eps0 or a larger delta"
    )
