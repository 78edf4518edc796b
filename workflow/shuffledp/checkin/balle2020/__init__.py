"""Random check-ins, after the supplement of balle2020 ("Privacy amplification via random check-ins").

Each of n clients picks one of m slots at random. In a slot the server takes one of the clients who picked it
(``windows``), or averages over all of them (``loads``), and updates the model with a report of an eps0-LDP
randomiser. ``shuffling`` has the shuffle of local responses by the same analysis, and ``failure`` takes every
bound to randomisers that may fail their eps0. Neighbours differ in one client's record. The paper's theorems
on accuracy are in ``shuffledp.convergence.balle2020``.

All bounds are upper bounds on epsilon at the delta that is asked for; they come in the three strengths of
``strengths``.
"""

from shuffledp.checkin.balle2020.failure import with_failure
from shuffledp.checkin.balle2020.loads import averaging, bins, bins_epsilons, dominating_loads, load_norm
from shuffledp.checkin.balle2020.shuffling import shuffling, shuffling_epsilons
from shuffledp.checkin.balle2020.strengths import STRENGTHS
from shuffledp.checkin.balle2020.windows import (
    biased_sampling_ratio,
    check_in_epsilons,
    composed_windows,
    corollary_3_3,
    corollary_applies,
    empty_slots,
    fixed_window,
    repeated_fixed_window,
    simple_fixed_window,
    sliding_window,
    sliding_window_empty_slots,
)

__all__ = [
    "STRENGTHS",
    "averaging",
    "biased_sampling_ratio",
    "bins",
    "bins_epsilons",
    "check_in_epsilons",
    "composed_windows",
    "corollary_3_3",
    "corollary_applies",
    "dominating_loads",
    "empty_slots",
    "fixed_window",
    "load_norm",
    "repeated_fixed_window",
    "shuffling",
    "shuffling_epsilons",
    "simple_fixed_window",
    "sliding_window",
    "sliding_window_empty_slots",
    "with_failure",
]
