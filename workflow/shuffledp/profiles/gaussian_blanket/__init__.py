"""Shuffled Gaussian reports of any records in [0, 1]: an upper bound by the blanket that all reports share.

n clients add N(0, sigma^2) to records in [0, 1]; each takes part with the probability ``rate``, and a
shuffler mixes the reports. With the density phi_x of N(x, sigma^2), omega = min(phi_0, phi_1) is part of
every report's density, whatever the record. Let all other clients disclose their reports that are not drawn
from omega. Those that are left, and the clients who stay away, are the blanket of balle2019 (Lemma 5.3). For
a client whose record is x or y,

    delta(eps) <= E (Z_1 + ... + Z_n)_+ / n,

where the Z_i are independent: (phi_x - e^eps phi_y)(W)/omega(W) for a report W from omega, 0 for any other
report, and 1 - e^eps for an absent client. Of all records in [0, 1], x = 0 and y = 1 make the right side
largest (docs/theory/gaussian_reports.md). It is the profile of a pair of laws, so rounds may be composed.

Let Y be the ratio of the densities of N(1, sigma^2) and N(0, sigma^2), which is log-normal under the
latter. Then Z + e^eps - 1 has mean 0. Its law is that of Y - 1 on Y > 1, that of -e^eps (Y - 1) on Y > 1, the
mass of reports that are not from omega at e^eps - 1, and that of absent clients at 0 (``terms``). So n delta
is the price of a call at the strike n (e^eps - 1), in the words of
``shuffledp.distributions.lognormal_sums``, and it is computed as there: terms are rounded up in convex order,
tilted, and cut (``price``). Where to cut, and how fine a lattice to take, is chosen by quadrature (``plan``).
"""

from shuffledp.profiles.gaussian_blanket.bound import (
    gaussian_blanket,
    gaussian_blanket_epsilon,
    gaussian_blanket_outcomes,
)

__all__ = ["gaussian_blanket", "gaussian_blanket_epsilon", "gaussian_blanket_outcomes"]
