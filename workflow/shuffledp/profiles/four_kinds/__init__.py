"""A dominating pair for a shuffled randomiser, from its blanket and total variation: four kinds of reports.

Let R be eps0-LDP, e = exp(eps0), x0 and x1 the two records of the client who differs, and mu a measure below
R_x for every record x with R_x0, R_x1 <= e mu: a blanket, of mass b. Every other report is drawn from mu/b
with probability b and is revealed otherwise; the revealed reports are then ignored (balle2019). A report from
mu/b is more likely under the two records than under mu by the pair of ratios (R_x0/mu, R_x1/mu), which lies
in [1, e]^2. The protocol is worst, in convex order and hence at every epsilon and under adaptive composition,
where that pair takes the values (e, 1) and (1, e) with probability t each, (1, 1) with probability c and
(e, e) with probability d. ``worst_kinds`` has these probabilities, by what is known of R.

A round draws k of n clients. Let N1, N2, N0, N3 be the numbers of reports of the four kinds among the k.
Relative to k other clients, the round has density (n - k + e N1 + N2 + N0 + e N3)/n if the client who differs
holds x0; if the client holds x1, N1 and N2 are exchanged. Given N = N1 + N2 and the total
g = n - k + (e + 1) N/2 + N0 + e N3, the difference D = N1 - N2 is that of N fair coins with density
1 +- (e - 1) D/(2 g).

Where there are few outcomes they are listed one by one (``listed``), elsewhere they are merged such that an
upper bound results (``merged``); ``bound`` decides.

If clients check in independently with a given rate and the number of reports is public, then the totals are
those of n reports, where a client who does not check in counts as a report of the kind (1, 1). So that
protocol is the case k = n with the four probabilities times the rate, and 1 - rate added to c.
"""

from shuffledp.profiles.four_kinds.bound import kinds_outcomes

__all__ = ["kinds_outcomes"]
