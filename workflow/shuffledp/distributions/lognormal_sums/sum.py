"""Certified bounds on the prices of a sum, from contours that are kept from one strike to the next."""

from __future__ import annotations

import math

from shuffledp.distributions.lognormal import LogNormal
from shuffledp.distributions.lognormal_sums import tuning
from shuffledp.distributions.lognormal_sums.contour import Bound, Contour, Price
from shuffledp.distributions.lognormal_sums.plan import Place, Planner, Side
from shuffledp.numerics import EPSILON


class LogNormalSum:
    """The sum S of n independent log-normal terms of mean 1, exp(Z/sigma - 1/(2 sigma^2)).

    Contours are kept from one price to the next. So prices are cheapest if they are asked for in the order of
    their strikes, from the farthest to those near n. A price may differ, within its error, by what was asked
    for before it.

    Args:
        n: number of terms, >= 1.
        sigma: between 0.1 and 1000.

    Attributes:
        work: the cost so far, in points: those of all contours, and for each contour as many as take the time
            of its planning. Some 4e6 take a second.
    """

    def __init__(self, n: int, sigma: float) -> None:
        self.n, self.sigma, self._law = n, sigma, LogNormal(sigma)
        self._planner = Planner(self._law, n)
        self._contours: dict[tuple[Side, Bound], Contour] = {}
        self._farthest: dict[Side, float] = {}
        self.work = 0

    def estimate(self, side: Side, strike: float) -> float:
        """Return a cheap estimate of a price, which is no bound on it."""
        if self.n == 1:
            return self._single(side, strike)[0]
        return self._planner.place(side, strike).estimate

    def price(self, side: Side, strike: float, bound: Bound) -> float:
        """Return a bound on E(S - K)_+ ("call") or E(K - S)_+ ("put").

        Args:
            side: "call" or "put".
            strike: K > 0; the bounds are tight for a call where K >= n, for a put where K <= n.
            bound: "upper" or "lower".

        Returns:
            A number that errs on the side that ``bound`` says. For calls below 1e-100 n and puts below 1e-100
            of their strike, the lower bound is 0 and the upper one, or its share of the strike, no longer
            falls.
        """
        if self.n == 1:
            value, error = self._single(side, strike)
            return value + error if bound == "upper" else max(value - error, 0.0)
        contour = self._contours.get((side, bound))
        found = self._by(contour, strike) if contour else None
        if contour is None or found is None or not self._serves(contour, strike, found):
            place = self._planner.place(side, strike)
            if place.estimate < self._least(side, strike):
                return 0.0 if bound == "lower" else self._price_from(self._last_strike(side), side, strike)
            found = self._by_a_new_contour(place, side, bound)
            nearer = self.n * (strike / self.n) ** tuning.NEARER
            if bound == "upper" and not found.value > found.error and nearer != strike:
                return self._price_from(nearer, side, strike)
        if bound == "lower":
            return max(found.value - found.error, 0.0)
        # by convexity, a call or a put on the mean S/n is worth no more than one on a single term
        value, error = self._single(side, strike / self.n)
        missing = found.missing if side == "call" else 0.0
        return min(found.value + found.error + missing, self.n * (value + error))

    def _price_from(self, nearer: float, side: Side, strike: float) -> float:
        """Return an upper bound from a strike nearer to the mean.

        The price of a call falls with the strike, and the ratio of a put's price to the strike rises with it.
        """
        price = self.price(side, nearer, "upper")
        return price if side == "call" else price * (strike / nearer) * (1 + 8 * EPSILON)

    def _least(self, side: Side, strike: float) -> float:
        return tuning.SMALLEST * (self.n if side == "call" else strike)

    def _single(self, side: Side, strike: float) -> tuple[float, float]:
        return self._law.call(strike) if side == "call" else self._law.put(strike)

    def _serves(self, contour: Contour, strike: float, found: Price) -> bool:
        if (
            not found.error + found.missing
            <= max(tuning.ACCURATE, tuning.WORSE * contour.attained) * found.value
        ):
            return False
        return (
            contour.steepness(strike, found.value, planned=contour.planned_steepness)
            <= tuning.STEEPER * contour.planned_steepness
        )

    def _by_a_new_contour(self, place: Place, side: Side, bound: Bound) -> Price:
        strike, steepness = place.strike, place.tilt
        for _ in range(tuning.ATTEMPTS):
            contour = Contour(self._law, self.n, bound, self._planner.plan(place, steepness))
            self.work += contour.points + tuning.PLANNING
            found = self._by(contour, strike)
            if not found.value > found.error:
                break
            actual = contour.steepness(strike, found.value, planned=contour.planned_steepness)
            if side == "call" and found.missing > tuning.ACCURATE * found.value:
                place = self._planner.place(side, strike, estimate=found.value)
            elif actual <= tuning.STEEPER * steepness:
                break
            steepness = max(steepness, actual)
        # the error at the target is kept: where it is large, a new contour serves other strikes no better
        contour.attained = (found.error + found.missing) / found.value if found.value > found.error else 0.0
        self._contours[side, bound] = contour
        return found

    def _last_strike(self, side: Side) -> float:
        """Return a strike beyond which prices are too small to be computed."""
        if side not in self._farthest:
            # beyond this strike even a single term is worth less than the smallest price
            far = (0.5 / self.sigma + math.sqrt(-2 * math.log(tuning.SMALLEST))) / self.sigma
            near, far = 0.0, far if side == "call" else -far
            while abs(far - near) > 1e-2 * abs(far):
                middle = (near + far) / 2
                strike = self.n * math.exp(middle)
                estimate = self._planner.place(side, strike).estimate
                is_beyond = estimate < 10 * self._least(side, strike)
                near, far = (near, middle) if is_beyond else (middle, far)
            self._farthest[side] = self.n * math.exp(near)
        return self._farthest[side]

    def _by(self, contour: Contour, strike: float) -> Price:
        found = contour.price(strike)
        if contour.is_put:
            return found._replace(missing=contour.bound_on_puts(strike, self._law.above(contour.terms.cut)))
        more = self._beyond(contour, strike)
        return Price(found.value + more.value, found.error + more.error, more.missing)

    def _beyond(self, contour: Contour, strike: float) -> Price:
        """Return what terms above the cuts add to a call."""
        law, n, terms = self._law, self.n, contour.terms
        above, kept_mean = law.above(terms.cut), law.mean_below(terms.cut)
        log_none = math.log1p(-above)
        others_above = -math.expm1((n - 1) * log_none)
        if terms.cut >= strike and not terms.jumps.index.size:
            # one term above the cut makes S - K > 0, so its share is an expectation in closed form
            value = n * law.call(terms.cut)[0] + terms.cut * _expected_excess(n, above)
            value += n * kept_mean * others_above - (terms.cut - strike) * math.expm1(n * log_none)
            return Price(value, 1e-11 * value)
        # two terms or more above the cut: (S - K)_+ <= S, whose expectation this is
        missing = n * (law.mean_above(terms.cut) * others_above + (n - 1) * (n - 2) / 2 * above * above)
        # one term above the second cut leaves the part ``left`` of the strike to the others
        one, jump, left = (
            law.above(terms.second_cut),
            law.call(terms.second_cut)[0],
            strike - terms.second_cut,
        )
        others, weight = (n - 1) * kept_mean / law.below(terms.cut), n * math.exp((n - 1) * log_none)
        at_least = max(one * (others - left) + jump, 0.0)
        at_most = one * contour.bound_on_others(left, others) + jump
        missing += weight * max(at_most - at_least, 0.0)
        return Price(
            weight * at_least, 1e-11 * weight * (one * abs(others - left) + jump), missing * (1 + 1e-6)
        )


def _expected_excess(n: int, p: float) -> float:
    """Return E(J - 1)_+ for J ~ Bin(n, p)."""
    if n * p > 1e-3:
        return n * p + math.expm1(n * math.log1p(-p))
    return n * (n - 1) / 2 * p * p * (1 - (n - 2) / 3 * p)
