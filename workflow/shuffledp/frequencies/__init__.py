"""Shuffled histograms: how often each category occurs, from the randomised reports of the clients.

>>> import numpy as np
>>> from shuffledp import accountants, frequencies
>>> rng = np.random.default_rng(1)
>>> oracle = frequencies.create("krr", eps0=2, categories=10)
>>> reports = frequencies.shuffle(oracle.privatize(rng.integers(10, size=100_000), rng=rng), rng=rng)
>>> estimate = oracle.estimate(oracle.aggregate(reports))
>>> accountants.epsilon(n=100_000, rounds=1, delta=1e-6, **oracle.accounting)

The randomisers are those that the accountants name, with the same parameters (``named_randomizers``). Draws
come from numpy's generators, which an adversary may guess from enough of their output: that is enough for
simulations and for a trusted shuffler's own tests, while the clients of a deployment need a cryptographic
source.
"""

from shuffledp.frequencies.base import Estimate, Oracle, Tally
from shuffledp.frequencies.draws import shuffle
from shuffledp.frequencies.registry import NAMES, create

__all__ = ["NAMES", "Estimate", "Oracle", "Tally", "create", "shuffle"]
