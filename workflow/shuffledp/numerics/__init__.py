"""Numerics that know neither probability laws nor privacy: log space, sums and roots."""

from shuffledp.numerics.concave_sums import (
    LEAST_GROUP,
    NEGLIGIBLE,
    LogTerms,
    cell_sums,
    concave_cut,
    concave_window,
    group_size,
    group_sums,
    log_binomial_transform,
    log_sum_concave,
)
from shuffledp.numerics.log_space import (
    EPSILON,
    OUTWARD,
    SMALLEST_DELTA,
    log_binomial,
    log_binomial_pmf,
    log_expm1,
    log_one_minus_exp,
    log_power_excess,
    log_sinh_gap,
    log_sum_exp,
    stirling_error,
)
from shuffledp.numerics.roots import crossing, last_true

__all__ = [
    "EPSILON",
    "LEAST_GROUP",
    "NEGLIGIBLE",
    "OUTWARD",
    "SMALLEST_DELTA",
    "LogTerms",
    "cell_sums",
    "concave_cut",
    "concave_window",
    "crossing",
    "group_size",
    "group_sums",
    "last_true",
    "log_binomial",
    "log_binomial_pmf",
    "log_binomial_transform",
    "log_expm1",
    "log_one_minus_exp",
    "log_power_excess",
    "log_sinh_gap",
    "log_sum_concave",
    "log_sum_exp",
    "stirling_error",
]
