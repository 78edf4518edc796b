"""A shuffled histogram: what share of 100,000 clients reads each of 50 newspapers?"""

import numpy as np

from shuffledp import accountants, frequencies
from shuffledp.rounding import shown

rng = np.random.default_rng(2021)
clients, newspapers = 100_000, 50
popularity = 1 / np.arange(1, newspapers + 1)
records = rng.choice(newspapers, size=clients, p=popularity / popularity.sum())

oracle = frequencies.create("local-hashing", eps0=3, categories=newspapers, cells=21)
messages = oracle.privatize(records, rng=rng)
tally = oracle.aggregate(frequencies.shuffle(messages, rng=rng))
shares, errors = oracle.estimate(tally)
epsilon = accountants.epsilon(n=clients, rounds=1, delta=1e-8, **oracle.accounting)

print("newspaper   true  estimate  standard error")
for newspaper in range(5):
    true = np.mean(records == newspaper)
    print(f"{newspaper:9}  {true:.4f}  {shares[newspaper]:8.4f}  {errors[newspaper]:.4f}")
print(f"epsilon {shown(epsilon, 'upper', places=4)} at delta 1e-8, of messages that are each 3-LDP")
