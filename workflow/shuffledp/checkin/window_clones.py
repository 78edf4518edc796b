"""Clones in windows: a client in one slot of a window at random, hidden among the reports of all slots.

Why the clones pair of feldman2021 applies, with one report a slot. Fix what the others do, so that slot i
holds a client F_i or the server's dummy, and reports randomised by eps0-LDP R_i, which may depend on the
reports before. The client d takes a uniform slot I, and replaces F_I with a probability w_I of at most p0
(``participation``).

1. Let w = 1. Of the laws P = R_i(d), Q = R_i(d') of a slot, e^-eps0 (P + Q)/2 is a part of R_i(F_i): so with
   probability e^-eps0, the same in every slot, the report of F_i is a fair coin between U and V, where
   P = (e^eps0 U + V)/(e^eps0 + 1) and Q = (U + e^eps0 V)/(e^eps0 + 1). Tell which slots hold coins or the
   client: given them, the client is in each of them with the same probability. All reports follow from the
   coins one slot after the other, without I. So the number of U is sufficient: the pair of m reports.
2. Let w_i be 0 or 1. That is post-processing of the coins of case 1: reports are drawn one slot after the
   other, from R_i(F_i) where w_i = 0, whatever the coin.
3. Otherwise draw u uniformly from [0, 1] and let the client replace F_I if w_I >= u: a mixture of case 2,
   which is convex, and of probability 1 - p0 and more that the client is nowhere.
4. With d' = F_i in every slot, 1 to 3 compare with the window in which the client is nowhere. So sampling at
   the rate p0 amplifies (koskela2022, Lemma 7).

The slots that a client of a sliding window may take are such a window, with p0 = 1. With slots averaged over
all who are in them, given the numbers in each, the clients are in a uniform order: 1 holds with n reports for
m, whatever the numbers. The proof needs the same probability of a clone in every slot, so it takes the
analysis of feldman2021 and not that of feldman2022.
"""

from __future__ import annotations

from shuffledp import checks
from shuffledp.pld.outcomes import Outcomes, dominating
from shuffledp.profiles.clones import COMPOSITION_WIDTH, clones_pair

ANALYSIS = "feldman2021"


def window_outcomes(*, reports: int, eps0: float, nats: float, participation: float = 1.0) -> Outcomes:
    """Return a pair that dominates one window of check-ins of eps0-LDP randomisers.

    Args:
        reports: m, the slots of a fixed or sliding window of one report each; n, the clients, of a window
            whose slots are averaged.
        eps0: local privacy parameter, > 0.
        nats: how far below the rest an outcome is left out.
        participation: p0, the probability of taking part in the window at all, in (0, 1].

    Returns:
        Masses and losses, pessimistic.

    Raises:
        ValueError: an argument is out of range.
    """
    p0 = checks.probability("participation", participation, one=True)
    pair = clones_pair(
        n=reports,
        eps0=eps0,
        analysis=ANALYSIS,
        bound="upper",
        relative_width=COMPOSITION_WIDTH,
        nats=nats,
    )
    return dominating(pair, gamma=p0)
