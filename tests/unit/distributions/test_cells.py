"""Numbers of reports by the million are taken together, in cells that keep to a known side."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shuffledp.distributions import tilted_binomials, two_symbols
from shuffledp.distributions.tilted_binomials import binomial_blocks
from shuffledp.distributions.two_symbols import TwoSymbols
from shuffledp.pld import dominating
from shuffledp.profiles.clones import clones_pair
from shuffledp.profiles.randomized_response import many_symbols_pair

EPS = (-0.5, -0.01, 0.0, 0.003, 0.02, 0.1, 0.4)


def divergences(outcomes):
    return np.array([outcomes.mass @ np.maximum(-np.expm1(eps - outcomes.loss), 0.0) for eps in EPS])


def clones():
    return clones_pair(n=10**5, eps0=2.0, analysis="feldman2022", bound="upper", relative_width=2e-4)


@pytest.fixture
def few(monkeypatch):
    """Cells of some 13 outcomes (of both kinds of pairs), each a small part of a standard deviation."""
    monkeypatch.setattr(tilted_binomials, "_LISTED", 1)
    monkeypatch.setattr(tilted_binomials, "_LISTED_OF_EACH", 150)
    monkeypatch.setattr(two_symbols, "_LISTED", 150)


@pytest.mark.parametrize("relative_width", [0.0, 2e-4, 0.3])
def test_pieces_of_blocks_change_nothing(monkeypatch, relative_width):
    setting = (10**6, np.log(0.2), np.log(0.8))
    whole = binomial_blocks(*setting, relative_width=relative_width)
    monkeypatch.setattr(tilted_binomials, "_PIECE", 1000)
    for one, other in zip(binomial_blocks(*setting, relative_width=relative_width), whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_an_upper_bound_on_clones_stays_one(few):
    pair = clones()
    singly, in_cells = (dominating(replace(pair, bound=bound), gamma=0.3) for bound in ("exact", "upper"))
    assert in_cells.mass.size < singly.mass.size / 5
    assert in_cells.mass.sum() == pytest.approx(1.0, abs=1e-12)
    assert (divergences(in_cells) >= divergences(singly) * (1 - 1e-12)).all()
    np.testing.assert_allclose(divergences(in_cells), divergences(singly), rtol=0.1, atol=1e-20)


def test_a_lower_bound_stays_one(few):
    pair = many_symbols_pair(n=3 * 10**5, k=10**5, eps0=2.0, categories=3)
    singly, in_cells = (dominating(replace(pair, bound=bound), gamma=1.0) for bound in ("exact", "lower"))
    assert in_cells.mass.size < singly.mass.size / 10
    assert in_cells.mass.sum() == pytest.approx(1.0, abs=1e-12)
    assert (divergences(in_cells) <= divergences(singly) * (1 + 1e-12)).all()
    np.testing.assert_allclose(divergences(in_cells), divergences(singly), rtol=0.1, atol=1e-20)


def test_two_symbols_in_cells_are_below_those_looked_at_singly(few, monkeypatch):
    def listed():
        return TwoSymbols(3 * 10**5, 10**5, 2.0)

    orders = (2.0, 64.0, 512.0)
    in_cells, coarse = [listed().log_excess(order) for order in orders], listed().losses()
    monkeypatch.undo()
    singly, fine = [listed().log_excess(order) for order in orders], listed().losses()
    assert coarse[0].size < fine[0].size / 10
    assert coarse[0].sum() == pytest.approx(1.0, abs=1e-12)
    assert (np.array(in_cells) <= np.array(singly) + 1e-12).all()
    np.testing.assert_allclose(in_cells, singly, atol=0.02)
    for eps in (0.0, 0.01, 0.03):
        one, other = (mass @ np.maximum(np.exp(loss) - np.exp(eps), 0.0) for mass, loss in (coarse, fine))
        assert other * 0.98 <= one <= other * (1 + 1e-12)


# Of the process itself: what getrusage tells may be that of the process which began it.
MEMORY = """
from shuffledp import accountants
for name in ("clones-pld", "clones-rdp", "krr3-lower", "rr2-lower"):
    print(accountants.epsilon(name, n=1e15, k=1e12, eps0=2, rounds=1e5, delta=1e-8))
for name in ("check-in-pld", "check-in-krr3-lower"):
    print(accountants.epsilon(name, n=1e12, rate=0.1, eps0=2, rounds=6800, delta=1e-5))
print(accountants.epsilon("clones-pld-feldman2021", n=1e9, k=2e5, eps0=1, rounds=1e3, delta=1e-250))
with open("/proc/self/status") as status:
    print(next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024)
"""


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the peak of memory is read as Linux has it"
)
@pytest.mark.slow
def test_a_million_million_reports_or_a_tiny_delta_take_less_than_500_megabytes():
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    upper, renyi, three, two, check_in, below, tiny_delta, peak = map(float, done.stdout.split())
    assert 0 < two < three < upper < renyi
    assert 0 < below < check_in
    assert tiny_delta < 1e-3
    assert peak < 500
