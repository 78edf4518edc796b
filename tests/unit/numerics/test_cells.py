"""Outcomes by the million are taken together: in pieces that change nothing, or in cells on a known side."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from shuffledp import numerics


def test_sums_over_cells_are_those_of_the_terms():
    first, last = np.array([0.0, 3.0, 10.0]), np.array([2.0, 9.0, 10.0])
    log_sums, means = numerics.cell_sums(lambda m, _: stats.poisson.logpmf(m, 4.0), first, last)
    for cell, (low, high) in enumerate(zip(first, last, strict=True)):
        m = np.arange(low, high + 1)
        pmf = stats.poisson.pmf(m, 4.0)
        assert log_sums[cell] == pytest.approx(np.log(pmf.sum()), rel=1e-13)
        assert means[cell] == pytest.approx(pmf @ (m - low) / pmf.sum(), rel=1e-13)


def test_pieces_of_cells_change_nothing(monkeypatch):
    first, last = np.arange(0.0, 400, 3), np.arange(2.0, 402, 3)
    rates = np.linspace(50, 300, first.size)

    def log_pmf(m, some):
        return stats.poisson.logpmf(m, rates[some, None])

    whole = numerics.cell_sums(log_pmf, first, last)
    monkeypatch.setattr(numerics.concave_sums, "_PIECE", 7)
    assert np.array_equal(numerics.cell_sums(log_pmf, first, last), whole)
