"""Privacy amplification from clients who choose their own rounds: theorems, a paper a module."""

from shuffledp.checkin.balle2020 import (
    averaging,
    averaging_utility,
    bins,
    bins_epsilons,
    check_in_epsilons,
    empty_slots,
    fixed_window,
    fixed_window_utility,
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
    "averaging_utility",
    "bins",
    "bins_epsilons",
    "check_in_epsilons",
    "empty_slots",
    "fixed_window",
    "fixed_window_utility",
    "load_norm",
    "repeated_fixed_window",
    "shuffling",
    "shuffling_epsilons",
    "sliding_window",
    "sliding_window_empty_slots",
    "with_failure",
]
