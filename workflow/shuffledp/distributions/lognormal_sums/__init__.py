"""E(S - K)_+ and E(K - S)_+ for a sum S of n independent log-normal terms of mean 1, with certified errors.

Both are hockey-stick divergences: of two data sets whose likelihood ratio is S/n, as of the shuffled Gaussian
(``shuffledp.profiles.shuffled_gaussian``), delta at epsilon is E(S/n - e^epsilon)_+ in one direction of the
neighbours and e^epsilon E(e^-epsilon - S/n)_+ in the other. Finance has short words for such expectations,
and this package borrows them:

| word | here | in privacy |
|---|---|---|
| call | E(S - K)_+ | n times the hockey-stick divergence of one direction |
| put | E(K - S)_+ | n e^-epsilon times that of the other direction |
| price | the value of a call or of a put | n delta, or n e^-epsilon delta |
| strike | K | n e^epsilon, or n e^-epsilon |
| parity | call - put = n - K, since E S = n | both directions follow from the one that is small |
| tilt | theta of the weight e^(theta S) | it moves the probability to where K lies |
| contour | S tilted by one theta, with the prices that follow | it serves all epsilons near its target |
| target | the strike that a contour was made for | the epsilon that was asked for first |
| cut | B; terms above it are treated separately | likelihood ratios too large for a tilt |

How a price is computed, and what each step rests on:

1. The law of a term is rounded to a lattice in convex order (``terms``, with the rounding of
   ``shuffledp.distributions.lognormal``). Convex order passes on to sums of independent terms, so that the
   price errs to the side that is asked for. The error is of second order in the lattice's step.
2. The law is tilted, as Esscher (1932) and Cramer (1938) did for large deviations, with theta such that K
   lies in the middle. Then the probabilities that matter are not small. theta is the saddlepoint of the
   inversion integral of the price, whose integrand is exp(kappa(theta) - theta K)/theta^2 with the cumulant
   generating function kappa. The first term of the expansion there (Daniels, 1954) estimates the price, and
   the estimate sets the tolerances (``plan``). Nothing that is certified rests on it.
3. The n-th power of a discrete Fourier transform gives the law of the sum on a window (``contour``). Its ends
   are set by Chernoff bounds on the tilted mass outside. The inequality of Cauchy and Schwarz bounds what the
   rounding errors of the transform do to the price. The cost depends on n only through the number of lattice
   points, which grows like sqrt(n).
4. A log-normal law has no exponential moments, so terms above a cut B are treated separately (``sum``). B is
   such that two or more terms above it are negligible, or that each of them exceeds K. The transform counts
   none or one of them; what more could add is bounded, by Chernoff again, or known in closed form.

``tuning`` has the constants, with their units and reasons.
"""

from shuffledp.distributions.lognormal_sums.contour import Bound
from shuffledp.distributions.lognormal_sums.plan import Side
from shuffledp.distributions.lognormal_sums.sum import LogNormalSum

__all__ = ["Bound", "LogNormalSum", "Side"]
