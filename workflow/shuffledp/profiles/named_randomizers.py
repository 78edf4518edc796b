"""Randomisers by name: what is known of each (``two_valued.Known``) at an eps0 and with its own parameters.

f, b, omega, S_x and tv are those of ``two_valued``; e = exp(eps0).

Adding a named randomiser takes one function of eps0 and of its own parameters, entered by ``_entry``.
"""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from shuffledp import checks
from shuffledp.profiles import caps
from shuffledp.profiles.two_valued import UNKNOWN, Known, Overlaps, bounded, disjoint, independent, two_valued

_BINS = 32  # of the unit interval, in which reports of the Laplace mechanism are merged

_Function = TypeVar("_Function", bound=Callable[..., Known])


class _Entry(NamedTuple):
    """A randomiser: the function that returns what is known of it, and what lists say of it."""

    known: Callable[..., Known]
    words: str


_REGISTRY: dict[str, _Entry] = {}


def _entry(name: str, words: str) -> Callable[[_Function], _Function]:
    """Enter a function under the name of its randomiser.

    Args:
        name: of the randomiser.
        words: what it is, for lists of randomisers.
    """

    def enter(known: _Function) -> _Function:
        _REGISTRY[name] = _Entry(known, words)
        return known

    return enter


@_entry("krr", "k-ary randomised response")
def krr(*, eps0: float, categories: int) -> Known:
    """Return what is known of k-ary randomised response.

    It sends the true category with e times the probability of each other one. omega is uniform on the k
    categories and S_x = {x}: f = 1/k, b = k/(e + k - 1), and the sets are disjoint.

    Args:
        eps0: local privacy parameter, > 0.
        categories: their number k, >= 2.

    Raises:
        ValueError: an argument is out of range.
    """
    k = checks.count("categories", categories, at_least=2)
    if k == 2:
        return two_valued(eps0, {(1, 0): 0.5, (0, 1): 0.5}, share=0.5, apart=0.5)
    return two_valued(eps0, disjoint(1 / k, 0.0), share=1 / k, apart=1 / k)


@_entry("subset-selection", "subset selection: a set of categories is sent")
def subset_selection(*, eps0: float, categories: int, subset: int) -> Known:
    """Return what is known of subset selection.

    It sends a set of s of k categories, which is e times as likely if the true one is in it. omega is uniform
    on the sets of s categories, S_x those that hold x: f = s/k, b = k/(k + (e - 1) s), and
    omega(S_x0 \\ S_x1) = s (k - s)/(k (k - 1)). For s > k/2 the blanket is smaller than that of the worst
    randomiser, and tv alone is used.

    Args:
        eps0: local privacy parameter, > 0.
        categories: their number k, >= 2.
        subset: the size s of the set that is sent, 1 <= s < k.

    Raises:
        ValueError: an argument is out of range.
    """
    k, s = checks.count("categories", categories, at_least=2), checks.count("subset", subset)
    if s >= k:
        raise ValueError(
            f"subset must be smaller than categories={k}, got {subset!r}; all of them say nothing"
        )
    if k == 2:
        return krr(eps0=eps0, categories=2)

    def pattern(*inside: int) -> float:
        probability, taken = 1.0, 0
        for place, one in enumerate(inside):
            probability *= (s - taken if one else k - s - (place - taken)) / (k - place)
            taken += one
        return max(probability, 0.0)

    overlaps: Overlaps = {(i, j, m): pattern(i, j, m) for i in range(2) for j in range(2) for m in range(2)}
    return two_valued(eps0, overlaps, share=s / k, apart=pattern(1, 0))


@_entry(
    "local-hashing",
    "randomised response over hashes; a hash function is drawn for each report and sent with it (the lower "
    "end is for the worst family of hash functions)",
)
def local_hashing(*, eps0: float, cells: int, collision: float = 0.0) -> Known:
    """Return what is known of local hashing.

    It is randomised response over g cells of the hash of the record, sent with the seed. The hash function is
    drawn uniformly from a family for each report anew, and its seed is part of the report. omega is uniform
    on functions and cells, S_x = {(h, h(x))}: f = 1/g, b = g/(e + g - 1), and omega(S_x0 \\ S_x1) = (1 -
    collision)/g.

    For one hash function that is public for the round there is ``public_hashing``; a bound with a collision
    probability does not hold for that. Nor does any hold for a function for each client: it says who sent.

    The numbers hold for every family with this collision probability, and the laws are those of one of them:
    the hashes of three records are independent, or, as often as it takes to collide so often, all one. So a
    lower end from these laws is one for the worst family; another one, whose hashes depend on each other,
    may leak less.

    Args:
        eps0: local privacy parameter, > 0.
        cells: their number g, >= 2.
        collision: lower bound on the probability that two records have one hash: 1/g if the values of two are
            independent; at 0 the bound holds for every family.

    Raises:
        ValueError: an argument is out of range.
    """
    g = checks.count("cells", cells, at_least=2)
    collision = checks.probability("collision", collision, zero=True)
    overlaps = dict(independent(1 / g))
    # independent hashes collide with probability 1/g by themselves
    one = max((collision - 1 / g) / (1 - 1 / g), 0.0)
    overlaps = {key: (1 - one) * mass for key, mass in overlaps.items()}
    overlaps[1, 1, 1] += one / g
    overlaps[0, 0, 0] += one * (1 - 1 / g)
    return two_valued(eps0, overlaps, share=1 / g, apart=(1 - collision) / g)


@_entry("public-hashing", "randomised response over hashes; one hash function is public for the round")
def public_hashing(*, eps0: float, cells: int) -> Known:
    """Return what is known of public hashing.

    It is randomised response over g cells of a hash that is public for the round, one for all clients. The
    hash is known before the reports are sent, so the numbers must hold given any hash function: given one
    that tells the two records apart it is randomised response over the cells. How often two records collide
    is of no help: the divergence is not concave in their total variation, and may not be bounded at the mean
    over hash functions. The laws are those given such a hash function, and a lower end from them is one for
    clients who know it.

    Args:
        eps0: local privacy parameter, > 0.
        cells: their number g, >= 2.

    Raises:
        ValueError: an argument is out of range.
    """
    return krr(eps0=eps0, categories=checks.count("cells", cells, at_least=2))


@_entry("hadamard-response", "Hadamard response")
def hadamard_response(*, eps0: float) -> Known:
    """Return what is known of Hadamard response.

    It sends a column of a Hadamard matrix, e times as likely where the record's row has a one. omega is
    uniform on the columns. The sets of two rows have measure 1/2 and meet in 1/4, and those of three rows in
    general position are independent: f = 1/2, b = 2/(e + 1), omega(S_x0 \\ S_x1) = 1/4.

    Args:
        eps0: local privacy parameter, > 0.
    """
    return two_valued(eps0, independent(0.5), share=0.5, apart=0.25)


def _unary(eps0: float, q: float) -> Known:
    """Return what is known of a unary encoding.

    It sends a bit for every category, set with probability p for the true one and q for each other, with
    e = p (1 - q)/((1 - p) q). For omega let every bit be set with probability q, independently, and let S_x
    be where the bit of x is: relative to omega, R_x is (1 - p)/(1 - q) off S_x and e times that on it. So
    f = q, b = (1 - p)/(1 - q), and omega(S_x0 \\ S_x1) = q (1 - q).
    """
    return two_valued(eps0, independent(q), share=q, apart=q * (1 - q))


@_entry("oue", "optimised unary encoding")
def oue(*, eps0: float) -> Known:
    """Return what is known of optimised unary encoding.

    The true bit is set with probability 1/2, every other with q = 1/(e + 1). As of all unary encodings: f =
    q, b = (1 - p)/(1 - q) = (e + 1)/(2 e), omega(S_x0 \\ S_x1) = q (1 - q).

    Args:
        eps0: local privacy parameter, > 0.
    """
    return _unary(eps0, math.exp(-eps0) / (1 + math.exp(-eps0)))


@_entry("rappor", "basic RAPPOR, the symmetric unary encoding")
def rappor(*, eps0: float) -> Known:
    """Return what is known of basic RAPPOR, the symmetric unary encoding.

    Every bit is flipped with probability q = 1/(e^(eps0/2) + 1). As of all unary encodings: f = q, b = (1 -
    p)/(1 - q) = e^(-eps0/2), omega(S_x0 \\ S_x1) = q (1 - q).

    Args:
        eps0: local privacy parameter, > 0.
    """
    return _unary(eps0, math.exp(-eps0 / 2) / (1 + math.exp(-eps0 / 2)))


def _dimension(value: object) -> int:
    """Return the dimension of PrivUnit's vectors, >= 2."""
    return checks.count("dimension", value, at_least=2)


@_entry("privunit", "PrivUnit with the best cap, on the unit ball")
def privunit(*, eps0: float, dimension: int) -> Known:
    """Return what is known of PrivUnit with the best cap, on unit vectors or, by a random sign, on the ball.

    omega is uniform on the sphere, S_x the cap around x, and f the cap's share of the sphere. The caps of
    opposite vectors are disjoint. A vector inside the ball sends the report of a random one of two opposite
    unit vectors: a mixture, for which the bound holds by joint convexity. The third record is a vector at
    right angles to the two.

    Args:
        eps0: local privacy parameter, > 0.
        dimension: d >= 2.

    Raises:
        ValueError: an argument is out of range.
    """
    d = _dimension(dimension)
    from shuffledp.randomizers import constants

    made = constants.privunit(dimension=d, eps0=eps0)
    overlap, error = caps.overlap(d, made.threshold)
    found = two_valued(eps0, disjoint(made.cap, overlap), share=made.cap, apart=made.cap)
    # by which the third law moves from classes in which the first two differ to the others
    assert found.third is not None  # two values have laws of all three records
    moved = float(found.third[:4].sum()) * error
    rest = max(float(found.third[4:].sum()), np.finfo(np.float64).tiny)
    of_cap = caps.SHARE_ERROR * (1 + 2 * made.cap / rest)
    return replace(
        found,
        error=min(found.error + of_cap, UNKNOWN),
        third_error=min(found.third_error + of_cap + error + moved / rest, UNKNOWN),
    )


@_entry("hemisphere", "the hemisphere randomiser of unit vectors")
def hemisphere(*, eps0: float) -> Known:
    """Return what is known of the hemisphere randomiser of unit vectors.

    It is PrivUnit with half of the sphere for a cap: f = 1/2 and b = 2/(e + 1); the sets of opposite vectors
    are disjoint. So nothing is gained over the worst randomiser. The third record is a vector at right
    angles, whose set halves those of the two.

    Args:
        eps0: local privacy parameter, > 0.
    """
    return two_valued(eps0, disjoint(0.5, 0.5), share=0.5, apart=0.5)


@_entry("coordinate", "coordinate sampling, also after a rotation")
def coordinate(*, eps0: float, dimension: int = 2) -> Known:
    """Return what is known of coordinate sampling.

    It sends a uniform coordinate and one bit by randomised response, also after a rotation. omega is uniform
    on coordinates and bits, S_x the bits that are those of x: f = 1/2 and b = 2/(e + 1); the sets of x and -x
    are disjoint. The third record agrees with either in half of the coordinates.

    Args:
        eps0: local privacy parameter, > 0.
        dimension: of the vectors, >= 1; any even one says the same.

    Raises:
        ValueError: an argument is out of range.
    """
    d = checks.count("dimension", dimension)
    if d == 1:
        return krr(eps0=eps0, categories=2)
    agree = (d // 2) / d
    overlaps: Overlaps = {
        (1, 0, 1): agree / 2,
        (1, 0, 0): (1 - agree) / 2,
        (0, 1, 1): (1 - agree) / 2,
        (0, 1, 0): agree / 2,
    }
    return two_valued(eps0, overlaps, share=0.5, apart=0.5)


@_entry("laplace", "Laplace noise on records in [0, 1]")
def laplace(*, eps0: float) -> Known:
    """Return what is known of Laplace noise of scale 1/eps0 on records in [0, 1].

    The farther of the records 0 and 1 gives the least density, so the infimum of all R_x is min(R_0, R_1), of
    mass b = 1 - tv, with tv = TV(R_0, R_1) = 1 - e^(-eps0/2). Hence f = 1/(e^(eps0/2) + 1). The third record
    is 1/2.

    Args:
        eps0: local privacy parameter, > 0.
    """
    edges = np.linspace(0.0, 1.0, _BINS + 1)
    laws = []
    for record in (0.0, 1.0, 0.5):
        near = np.minimum(np.abs(edges[:-1] - record), np.abs(edges[1:] - record))
        inner = 0.5 * np.exp(-eps0 * near) * -math.expm1(-eps0 / _BINS)
        ends = 0.5 * np.exp(-eps0 * np.abs(np.array([0.0, 1.0]) - record))
        law = np.concatenate([ends[:1], inner, ends[1:]])
        laws.append(law / law.sum())
    share = math.exp(-eps0 / 2) / (1 + math.exp(-eps0 / 2))
    return bounded(eps0, share, -math.expm1(-eps0 / 2), laws)


@_entry("piecewise", "the piecewise mechanism on records in [-1, 1]")
def piecewise(*, eps0: float) -> Known:
    """Return what is known of the piecewise mechanism on records in [-1, 1] (Wang and others, 2019).

    With r = e^(eps0/2) and C = (r + 1)/(r - 1), a report in [-C, C] has on an interval S_x of length C - 1 e
    times the density that it has off it. omega is uniform on [-C, C]: f = (C - 1)/(2 C) = 1/(r + 1), b = 1/r.
    The intervals of -1 and 1 are disjoint. The third record is 0.

    Args:
        eps0: local privacy parameter, > 0.
    """
    share = math.exp(-eps0 / 2) / (1 + math.exp(-eps0 / 2))
    # of [-C, C], S_1 = [1, C] and S_0 = [-(C - 1)/2, (C - 1)/2]
    bound = 1 / math.tanh(eps0 / 4)
    overlap = ((bound - 1) / 2 - 1) / (bound - 1) if bound > 3 else 0.0
    return two_valued(eps0, disjoint(share, overlap), share=share, apart=share)


NAMES = tuple(_REGISTRY)
# What randomisers of trainings are. One that is not listed is accounted for by its eps0 alone.
_TRAINED = {
    "l2_privunit": "privunit",
    "l2_hemisphere": "hemisphere",
    "linf_coordinate": "coordinate",
    # a row of the Hadamard matrix, and one bit
    "l1_hadamard": "coordinate",
}


def parameters(name: str) -> dict[str, bool]:
    """Return the parameters of a named randomiser besides eps0, and whether each must be given.

    Raises:
        ValueError: there is no such randomiser; the message lists the names and the closest.
    """
    if name not in _REGISTRY:
        if name in ("gaussian", "approximate-ldp"):
            raise ValueError(
                f"randomizer must be eps0-LDP, which {name!r} is not; use an accountant of mechanism {name!r}"
            )
        close = difflib.get_close_matches(str(name), NAMES, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise ValueError(f"randomizer must be one of {', '.join(NAMES)}, got {name!r}; {hint}".rstrip("; "))
    found = inspect.signature(_REGISTRY[name].known).parameters
    return {key: one.default is one.empty for key, one in found.items() if key != "eps0"}


def words(name: str) -> str:
    """Return what a randomiser is, in a few words.

    Args:
        name: one of ``NAMES``.
    """
    return _REGISTRY[name].words


def named(name: str, *, eps0: float, **given: Any) -> Known:
    """Return what is known of a randomiser.

    Args:
        name: one of ``NAMES``.
        eps0: local privacy parameter, > 0.
        given: the randomiser's own parameters; see its function in this module.

    Raises:
        ValueError: there is no such randomiser, or one of its parameters is missing, not its own or out of
            range.
    """
    check_parameters(name, given)
    return _REGISTRY[name].known(eps0=checks.positive("eps0", eps0), **given)


def check_parameters(name: str, given: Mapping[str, Any]) -> None:
    """Refuse parameters that are not those of a named randomiser.

    Raises:
        ValueError: one is missing, or not the randomiser's own.
    """
    wanted = parameters(name)
    for key, needed in wanted.items():
        if needed and key not in given:
            raise ValueError(f"randomizer {name!r} needs {key}, got {in_words(given)}; give {key}")
    for key, value in given.items():
        if key not in wanted:
            takes = ", ".join(wanted) or "no parameter"
            raise ValueError(f"randomizer {name!r} takes {takes}, got {key}={value!r}; leave {key} out")


def check_values(name: str, given: Mapping[str, Any]) -> None:
    """Refuse parameters that are not those of a named randomiser, and values out of range.

    Raises:
        ValueError: one is missing, not the randomiser's own, or out of range.
    """
    check_parameters(name, given)
    if name == "privunit":
        _dimension(given["dimension"])  # by itself, since its constants take long to compute
    else:
        _REGISTRY[name].known(eps0=1.0, **given)


def in_words(given: Mapping[str, Any], *, nothing: str = "no parameter") -> str:
    """Return parameters and their values for a message; ``nothing`` where there are none."""
    return ", ".join(f"{key}={value!r}" for key, value in given.items()) or nothing


def of_training(randomizer: str, *, dimension: int) -> tuple[str, dict[str, Any]] | None:
    """Return the name and the parameters of the randomiser of a training; None if only eps0 is known of it.

    Args:
        randomizer: one of ``randomizers.registry.PURE``, which the caller makes sure of.
        dimension: d, the length of the vectors.
    """
    name = _TRAINED.get(randomizer)
    if name is None:
        return None
    return name, {"dimension": dimension} if name == "privunit" else {}
