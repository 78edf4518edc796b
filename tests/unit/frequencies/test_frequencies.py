"""Frequency oracles: the law of their messages, counts, unbiased estimates, standard errors, refusals."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from shuffledp import accountants, frequencies
from shuffledp.frequencies import base, draws
from shuffledp.profiles.named_randomizers import named

OWN = {
    "krr": {},
    "subset-selection": {"subset": 3},
    "local-hashing": {"cells": 4},
    "public-hashing": {"cells": 4, "hash_seed": 5},
    "hadamard-response": {},
    "oue": {},
    "rappor": {},
}
ALL = pytest.mark.parametrize("name", frequencies.NAMES)
# The order of classes of reports in the accountant's laws, by whether the sets of three records hold them.
DISJOINT = [(1, 0, 1), (1, 0, 0), (0, 1, 1), (0, 1, 0), (0, 0, 1), (0, 0, 0)]
INDEPENDENT = list(itertools.product((0, 1), repeat=3))


def oracle_of(name, *, eps0=1.5, categories=10, **changed):
    return frequencies.create(name, eps0=eps0, categories=categories, **{**OWN[name], **changed})


def known_of(oracle):
    return named(oracle.name, eps0=oracle.eps0, **oracle.own)


def records_apart(oracle):
    """Three records whose sets are as the accountant's three are."""
    if oracle.name == "public-hashing":
        cells = [int(np.flatnonzero(oracle.supports(np.arange(4), at))[0]) for at in range(oracle.categories)]
        return [cells.index(cell) for cell in (0, 1, 2)]
    return [0, 1, 3]  # of Hadamard response, rows of which none is the product of the others


def classes_of(oracle):
    return DISJOINT if oracle.name in ("krr", "public-hashing") else INDEPENDENT


def test_every_oracle_is_tried():
    assert tuple(OWN) == frequencies.NAMES


@ALL
@pytest.mark.parametrize("eps0", [1e-3, 0.7, 3.0, 20.0])
def test_support_is_that_of_the_accountants_densities(name, eps0):
    oracle = oracle_of(name, eps0=eps0)
    law, classes = known_of(oracle).first, classes_of(oracle)
    own = sum(mass for mass, inside in zip(law, classes, strict=True) if inside[0])
    other = sum(mass for mass, inside in zip(law, classes, strict=True) if inside[1])
    if name == "public-hashing":  # the other record is in a cell of its own, or in the same by chance
        other = 0.75 * other + 0.25 * own
    assert oracle.support.own == pytest.approx(own, rel=1e-8)
    assert oracle.support.other == pytest.approx(other, rel=1e-8)
    assert oracle.support.gap == pytest.approx(own - other, rel=1e-8, abs=1e-15)


@ALL
@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.few(9)
def test_messages_have_the_accountants_law(name, which):
    oracle = oracle_of(name)
    records = records_apart(oracle)
    known = known_of(oracle)
    law = [known.first, known.second, known.third][which]
    messages = oracle.privatize(np.full(100_000, records[which]), rng=np.random.default_rng(which))
    inside = np.stack([oracle.supports(messages, record) for record in records], axis=1).astype(int)
    classes, used = classes_of(oracle), 3
    if name == "local-hashing":  # affine hashes of two records are independent, those of three are not
        if which == 2:
            return
        used = 2
    expected, found = {}, {}
    for pattern, mass in zip(classes, law, strict=True):
        expected[pattern[:used]] = expected.get(pattern[:used], 0.0) + mass
    for pattern in map(tuple, inside[:, :used].tolist()):
        found[pattern] = found.get(pattern, 0) + 1
    possible = [pattern for pattern, mass in expected.items() if mass > 0]
    assert set(found) <= set(possible)
    counted = [found.get(pattern, 0) for pattern in possible]
    masses = np.array([expected[pattern] for pattern in possible])
    assert stats.chisquare(counted, 100_000 * masses / masses.sum()).pvalue > 1e-4


def every_message(oracle):
    """All messages of an oracle of few categories, and their masses under omega, by ``named_randomizers``."""
    k = oracle.categories
    if oracle.name == "krr":
        return np.arange(k), np.full(k, 1 / k)
    if oracle.name == "hadamard-response":
        return np.arange(8), np.full(8, 1 / 8)
    if oracle.name == "subset-selection":
        sets = np.array(list(itertools.combinations(range(k), 3)))
        return sets, np.full(len(sets), 1 / len(sets))
    bits = np.array(list(itertools.product((0, 1), repeat=k)), dtype=np.uint8)
    q = oracle.support.other
    return np.packbits(bits, axis=1), np.prod(np.where(bits == 1, q, 1 - q), axis=1)


@pytest.mark.parametrize("name", ["krr", "hadamard-response", "subset-selection", "oue", "rappor"])
def test_every_single_message_has_its_probability(name):
    oracle = oracle_of(name, eps0=1.0, categories=6)
    everything, omega = every_message(oracle)
    mass = omega * np.where(oracle.supports(everything, 4), math.e, 1.0)
    messages = oracle.privatize(np.full(60_000, 4), rng=np.random.default_rng(3))
    rows, counts = np.unique(messages.reshape(60_000, -1), axis=0, return_counts=True)
    found = dict(zip(map(tuple, rows.tolist()), counts, strict=True))
    counted = [found.pop(tuple(np.atleast_1d(one).tolist()), 0) for one in everything]
    assert not found
    assert stats.chisquare(counted, 60_000 * mass / mass.sum()).pvalue > 1e-4


@pytest.mark.parametrize("cells", [2, 3, 7, 50])
def test_two_categories_have_one_hash_as_often_as_is_said(cells):
    oracle = oracle_of("local-hashing", cells=cells)
    rng = np.random.default_rng(cells)
    factors, shifts = rng.integers(2**31 - 1, size=(2, 200_000))
    first, second = (oracle._hash(factors, shifts, record) for record in (2, 9))
    assert first.max() == second.max() == cells - 1
    table = np.bincount(first * cells + second, minlength=cells**2)
    assert stats.chisquare(table).pvalue > 1e-4
    assert 0 <= 1 / cells - oracle.own["collision"] < 1e-15


def test_hashes_are_counted_to_the_last_value():
    # cells of two values each: a hash that is off by one is in another cell
    oracle = oracle_of("local-hashing", categories=40, cells=2**30)
    factors, shifts = np.random.default_rng(1).integers(2**31 - 1, size=(2, 1000))
    cells = oracle._hash(factors, shifts, 37)
    assert oracle.aggregate(np.stack([factors, shifts, cells], axis=1)).supporting[37] == 1000


@ALL
@pytest.mark.parametrize("categories", [2, 10, 33])
def test_counts_are_those_of_the_messages_one_by_one(name, categories, monkeypatch):
    monkeypatch.setattr(base, "_CELLS", 1000)
    changed = {"subset": 1} if name == "subset-selection" and categories == 2 else {}
    oracle = oracle_of(name, categories=categories, **changed)
    rng = np.random.default_rng(7)
    messages = oracle.privatize(rng.integers(categories, size=500), rng=rng)
    tally = oracle.aggregate(frequencies.shuffle(messages, rng=rng))
    assert tally.reports == len(messages) == 500
    assert tally.supporting.tolist() == [oracle.supports(messages, at).sum() for at in range(categories)]
    parts = oracle.aggregate(messages[:123]) + oracle.aggregate(messages[123:])
    assert parts.supporting.tolist() == tally.supporting.tolist()
    assert parts.reports == 500


@ALL
def test_estimates_are_unbiased_and_as_spread_as_they_say(name):
    repeats, rng = 600, np.random.default_rng(11)
    records = np.repeat(np.arange(6), [300, 100, 50, 30, 19, 1])
    truth = np.bincount(records) / records.size
    found, said = [], []
    for seed in range(repeats):
        changed = {"hash_seed": seed} if name == "public-hashing" else {}
        oracle = oracle_of(name, categories=6, **changed)
        estimate = oracle.estimate(oracle.aggregate(oracle.privatize(records, rng=rng)))
        found.append(estimate.frequencies)
        said.append(estimate.standard_errors)
    spread = np.std(found, axis=0, ddof=1)
    mean_error = (np.mean(found, axis=0) - truth) / (spread / math.sqrt(repeats))
    assert np.abs(mean_error).max() < 4
    # a standard deviation from so many has a relative error of 1/sqrt(2 * 600) = 3%; hashes are less normal
    # than messages
    of_said = np.sqrt(np.mean(np.square(said), axis=0)) / spread
    assert np.abs(of_said - 1).max() < (0.2 if name == "public-hashing" else 0.12)


@pytest.mark.parametrize(
    ("name", "categories", "changed"),
    [
        ("oue", 10, {}),
        ("local-hashing", 10, {"cells": 8}),
        # k/(e^eps0 + 1) of many categories
        ("subset-selection", 80_000, {"subset": 10_000}),
    ],
)
def test_standard_errors_of_rare_categories_are_those_of_the_papers(name, categories, changed):
    # Wang and others (2017): 4 e^eps0/(n (e^eps0 - 1)^2), which Ye and Barg (2018) find too
    oracle = oracle_of(name, eps0=math.log(7), categories=categories, **changed)
    nobody = base.Tally(np.full(categories, round(oracle.support.other * 10**9)), 10**9)
    squared = oracle.estimate(nobody).standard_errors[0] ** 2 * 10**9
    assert squared == pytest.approx(4 * 7 / 36, rel=1e-4)


def test_standard_errors_of_randomised_response_are_those_of_the_papers():
    # Wang and others (2017): (k - 2 + e^eps0)/(n (e^eps0 - 1)^2)
    oracle = oracle_of("krr", eps0=math.log(7), categories=12)
    nobody = base.Tally(np.full(12, round(oracle.support.other * 18 * 10**8)), 18 * 10**8)
    assert oracle.estimate(nobody).standard_errors[0] ** 2 * 18e8 == pytest.approx(17 / 36, rel=1e-9)


@ALL
@pytest.mark.few(3)
def test_accountants_take_what_an_oracle_says_of_itself(name):
    oracle = oracle_of(name, eps0=1.0)
    found = accountants.epsilon(n=1000, rounds=1, delta=1e-6, **oracle.accounting)
    assert found == accountants.epsilon(n=1000, rounds=1, delta=1e-6, randomizer=name, eps0=1.0, **oracle.own)
    assert 0 < found < 1.0


@pytest.mark.parametrize("probability", [0.0, 1e-4, 0.3, 0.5, 1 - 1e-4, 1.0])
def test_events_are_as_rare_as_asked(probability):
    events = draws.rare(probability, (1000, 1001), rng=np.random.default_rng(2))
    assert events.shape == (1000, 1001)
    error = 4 * math.sqrt(probability * (1 - probability) / events.size)
    assert abs(events.mean() - probability) <= error


def test_very_rare_events_are_rounded_up():
    class Ends(np.random.Generator):
        """All words are those of the tie, and the rest is the smallest that there is."""

        def integers(self, low, high, *, size, dtype, endpoint):
            return np.zeros(size, dtype=dtype)

        def random(self, size):
            return np.zeros(size)

    assert draws.rare(1e-300, (3,), rng=Ends(np.random.PCG64())).all()
    assert not draws.rare(0.0, (3,), rng=Ends(np.random.PCG64())).any()


def test_shuffled_messages_are_the_same_ones():
    oracle, rng = oracle_of("local-hashing"), np.random.default_rng(4)
    messages = oracle.privatize(np.arange(1000) % 10, rng=rng)
    shuffled = frequencies.shuffle(messages, rng=rng)
    assert (shuffled != messages).any()
    assert sorted(map(tuple, shuffled.tolist())) == sorted(map(tuple, messages.tolist()))


@ALL
def test_no_clients_have_no_messages_and_no_estimate(name):
    oracle = oracle_of(name)
    messages = oracle.privatize(np.zeros(0, dtype=int), rng=np.random.default_rng(0))
    tally = oracle.aggregate(messages)
    assert tally.reports == 0
    with pytest.raises(ValueError, match=r"^reports must be at least 1, got 0; aggregate some messages$"):
        oracle.estimate(tally)


RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: frequencies.create("laplace", eps0=1, categories=3), "randomizer must be one of krr, "),
        (lambda: frequencies.create("krr", eps0=0, categories=3), "eps0 must be a finite number > 0, got 0"),
        (lambda: frequencies.create("krr", eps0=1, categories=1), "categories must be a whole number >= 2"),
        (
            lambda: frequencies.create("krr", eps0=1, categories=1e9),
            "categories must be at most 1e.08, since",
        ),
        (
            lambda: frequencies.create("krr", eps0=1, categories=3, cells=2),
            "randomizer 'krr' takes eps0, categories, got cells=2; leave cells out",
        ),
        (
            lambda: frequencies.create("local-hashing", eps0=1, categories=3),
            "randomizer 'local-hashing' needs cells, got none; give cells",
        ),
        (lambda: oracle_of("local-hashing", cells=1), "cells must be a whole number >= 2, got 1"),
        (lambda: oracle_of("local-hashing", cells=2**31), r"cells must be below 2\^31 - 1, got"),
        (lambda: oracle_of("public-hashing", hash_seed=-1), "hash_seed must be a whole number >= 0, got -1"),
        (
            lambda: oracle_of("subset-selection", subset=10),
            "subset must be smaller than categories=10, got 10; all of them say nothing",
        ),
        (
            lambda: oracle_of("krr").privatize([1, 2, 10, 11], rng=RNG),
            r"records must lie from 0 to 9 \(categories - 1\), got 10 in row 2; leave the row out or",
        ),
        (
            lambda: oracle_of("krr").privatize([-1], rng=RNG),
            "records must lie from 0 to 9 .*, got -1 in row 0",
        ),
        (lambda: oracle_of("krr").privatize([0.5], rng=RNG), "records must be whole numbers of shape"),
        (
            lambda: oracle_of("krr").privatize([[1]], rng=RNG),
            r"records must .* of shape \(1, 1\); number the",
        ),
        (
            lambda: oracle_of("krr").privatize([1], rng=3),
            r"rng must be a numpy.random.Generator, got 3; make",
        ),
        (lambda: frequencies.shuffle(np.arange(3), rng=3), "rng must be a numpy.random.Generator, got 3"),
        (
            lambda: oracle_of("krr").aggregate([10]),
            r"messages must lie from 0 to 9 \(categories - 1\), got 10",
        ),
        (lambda: oracle_of("krr").aggregate([[1]]), "messages must be whole numbers of shape"),
        (lambda: oracle_of("krr").aggregate(7), "messages must be whole numbers of shape"),
        (lambda: oracle_of("hadamard-response").aggregate([16]), "messages must lie from 0 to 15"),
        (lambda: oracle_of("public-hashing").aggregate([4]), r"messages must lie from 0 to 3 \(cells - 1\)"),
        (lambda: oracle_of("local-hashing").aggregate([[0, 0, 4]]), "messages must lie from 0 to 3"),
        (lambda: oracle_of("local-hashing").aggregate([[2**31, 0, 0]]), "messages must lie from 0 to 21474"),
        (lambda: oracle_of("oue").aggregate([[0, 0]]), "messages must be uint8 of shape"),
        (
            lambda: oracle_of("oue").aggregate(np.array([[0, 64], [0, 1]], dtype=np.uint8)),
            "messages must have no bits beyond categories=10, got some in row 1; leave the row out",
        ),
        (
            lambda: oracle_of("subset-selection").aggregate([[1, 2, 3], [3, 1, 2]]),
            r"messages must hold increasing categories, got \[3, 1, 2\] in row 1; leave the row out",
        ),
        (
            lambda: oracle_of("krr").estimate(base.Tally(np.zeros(3, dtype=int), 5)),
            "tally must be of categories=10, got one of 3; make it by this oracle's aggregate",
        ),
        (
            lambda: base.Tally(np.zeros(3, dtype=int), 5) + base.Tally(np.zeros(4, dtype=int), 5),
            "tallies must be of one number of categories to be added, got 3 and 4; make both by one oracle",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(call, message):
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        call()
    assert "\n" not in str(caught.value)
