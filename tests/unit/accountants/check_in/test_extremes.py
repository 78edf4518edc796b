"""Check-ins that are very rare."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp import accountants


@pytest.mark.parametrize("counts", [(1, 28), pytest.param((1, 2, 3, 28), marks=pytest.mark.slow)])
def test_rare_check_ins_are_monotone_in_rounds(counts):
    """Losses of 1e-12 in almost every round, and of 90 in few: no lattice is fine enough for both."""
    setting = {"n": 2, "rate": 1e-12, "sigma": 0.1, "delta": 1e-17}
    found = [accountants.epsilon("distributed-check-in-pld", **setting, rounds=t) for t in counts]
    # delta/(rounds * rate) of the Gaussian mechanism, 1e-5 for one round: 91.83
    assert found[0] > 91.8
    assert (np.diff(found) > 0).all()
    assert found[-1] < 99
