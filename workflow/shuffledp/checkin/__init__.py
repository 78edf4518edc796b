"""Privacy amplification from clients who choose their own rounds: theorems, a paper a module."""

from shuffledp.checkin.balle2020 import (
    averaging,
    biased_sampling_ratio,
    bins,
    bins_epsilons,
    check_in_epsilons,
    corollary_3_3,
    empty_slots,
    fixed_window,
    load_norm,
    repeated_fixed_window,
    shuffling,
    shuffling_epsilons,
    sliding_window,
    sliding_window_empty_slots,
    with_failure,
)

__all__ = [
    "averaging",
    "biased_sampling_ratio",
    "bins",
    "bins_epsilons",
    "check_in_epsilons",
    "corollary_3_3",
    "empty_slots",
    "fixed_window",
    "load_norm",
    "repeated_fixed_window",
    "shuffling",
    "shuffling_epsilons",
    "sliding_window",
    "sliding_window_empty_slots",
    "with_failure",
]
