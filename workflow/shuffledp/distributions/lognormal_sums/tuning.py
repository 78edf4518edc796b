"""The constants by which sums of log-normal terms are tuned.

None of them decides on which side a bound errs: they decide how tight it is, and how long it takes. The words
of finance are explained in the docstring of the package. A "nat" is a factor e of probability. After a
relative number, "of" names what it is relative to.
"""

# --- What is aimed at
TOLERANCE = (
    1e-4  # relative distance of upper and lower prices: four digits of delta, more than a figure shows
)
LOOSEST = 5e-4  # the same, where TOLERANCE would take more than USUAL_POINTS
ACCURATE = 2e-5  # relative error up to which an existing contour serves another strike: a fifth of TOLERANCE
WORSE = 3.0  # or an error so many times the one at its target, where that one is larger
STEEPER = 1.2  # how much faster than planned a price may change: what rounding costs grows with its square
ATTEMPTS = 4  # contours tried for one strike; each corrects the steepness that the last one had

# --- Size of the transform, in points of the lattice
FEWEST_POINTS = 2**9  # of a window, so that its law is resolved
USUAL_POINTS = 2**19  # of a window: some eighth of a second
MOST_POINTS = 3 * 2**20  # of a window: what fits in some hundred megabytes
FEWEST_CELLS = 64  # from 0 to the cut, so that one term is resolved
FINE = 1024  # cells in the distance of a point to 1, from where on they may be wider than the step
PLANNING = 60_000  # points whose transform takes as long as the choice of a plan: the unit of ``work``

# --- Quadrature behind the plan
NODES = 6000  # of the standard normal variable behind a term
NODES_FACTOR = 0.25  # times 1/sigma, how many times more where terms vary fast
SLACK = 5.0  # nats above the part of a price that is known in closed form, where the rest needs few digits

# --- What is left out, and bounded
LEAST_CUT = 0.02  # of the distance from the mean to the strike, the lowest cut of a call
MOST_CUT = (
    2.0  # of the strike of a put: terms above the strike make it worthless, but other strikes need some
)
DROPPED_BY_PUTS = 1e-8  # of the tilted mass, above the cut of a put
DROPPED = 1e-5  # of the price, what two terms above the cut may add: a tenth of TOLERANCE
SHORTFALL = 14.0  # nats: how unlikely terms below the cut are to fall short of the second cut
OUTSIDE = 27.0  # nats: tilted mass beyond either end of the window, some 2e-12
NEGLIGIBLE = 50.0  # nats: terms so rare that the lattice need not start below them
REACH = 300.0  # inverse tilts from the target to a strike: e^300 is far from overflow, at 1e308 = e^709

# --- Ends of double precision
TINY = 1e-280  # a probability below which no conditional mean is taken: it would be of subnormal numbers
SMALLEST = 1e-100  # of n (calls) or of the strike (puts): no smaller price is computed
NEARER = 0.95  # power of strike/n at which a price is tried where there is none at the strike
