"""The protocols: rounds as they should be, and draws against the laws that the theorems assume.

Statistics are held to limits that a true law passes with its fixed seed and that a wrong one does not: each
check is shown a wrong law too.
"""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from shuffledp import protocols
from shuffledp.checkin import balle2020

LIMIT = 5.0  # standard deviations
ROUNDS = 20_000
LEAST = 1e-6  # probability of a chi-square statistic

every = settings(deadline=None, max_examples=60, derandomize=True, database=None)

SETTINGS = {
    "subsampled-shuffle": {"k": 5},
    "shuffled-check-in": {"rate": 0.25},
    "fixed-window": {"slots": 6, "participation": 0.7},
    "sliding-window": {"slots": 6},
    "averaged-window": {"slots": 6},
}
N = 20


def protocol(name, *, n=N, seed=0, **changes):
    return protocols.create(name, n=n, seed=seed, **{**SETTINGS[name], **changes})


def test_the_names_are_those_of_the_accountants():
    from shuffledp.accountants import systems

    known = {
        system.protocol: set(system.variables) for system in systems.systems() if system.mechanism == "ldp"
    }
    for name, kind in protocols.PROTOCOLS.items():
        assert set(kind.settings) <= known[name]
        assert known[name] <= {*kind.settings, "n", "eps0", "k"}


# --- rounds


@every
@given(
    name=st.sampled_from(list(SETTINGS)),
    n=st.integers(6, 50),
    seed=st.integers(0, 2**40),
    index=st.integers(0, 300),
)
def test_a_round_is_what_it_says(name, n, seed, index):
    of = protocol(name, n=n, seed=seed)
    found = of.round(index)
    for clients in (found.checked_in, found.participants):
        assert clients.dtype == np.int64
        assert (np.diff(clients) > 0).all()
        assert set(clients.tolist()) <= set(range(n))
    came = found.checked_in.size
    if of.crowded == "average":
        assert found.participants.tolist() == found.checked_in.tolist()
    else:
        assert found.participants.size == min(came, 1)
        assert set(found.participants.tolist()) <= set(found.checked_in.tolist())
    assert found.dummies == int(came == 0 and of.empty == "dummy")
    assert found.messages == found.participants.size + found.dummies
    assert (found.messages == 0) == (came == 0 and of.empty == "skip")


def test_what_servers_do_with_empty_and_crowded_rounds():
    """Algorithm 1 and figure 2 of balle2020, and footnote 5 of liew2022."""
    rules = {name: (kind.empty, kind.crowded) for name, kind in protocols.PROTOCOLS.items()}
    assert rules == {
        "subsampled-shuffle": ("skip", "average"),
        "shuffled-check-in": ("skip", "average"),
        "fixed-window": ("dummy", "pick"),
        "sliding-window": ("dummy", "pick"),
        "averaged-window": ("skip", "average"),
    }


@pytest.mark.parametrize("name", SETTINGS)
def test_rounds_may_be_asked_for_in_any_order(name):
    forward = list(itertools.islice(protocol(name), 40))
    assert [found.index for found in forward] == list(range(40))
    other = protocol(name)
    for index in np.random.default_rng(1).permutation(40).tolist():
        again = other.round(index)
        assert again.checked_in.tolist() == forward[index].checked_in.tolist()
        assert again.participants.tolist() == forward[index].participants.tolist()
    changed = list(itertools.islice(protocol(name, seed=1), 40))
    assert any(
        one.checked_in.tolist() != two.checked_in.tolist() for one, two in zip(forward, changed, strict=True)
    )


def test_fixed_size_sampling_is_that_of_training():
    pytest.importorskip("torch")
    from shuffledp.training.sgd import cldp_sgd

    for n, k, seed in ((60_000, 10_000, 0), (60_000, 600, 3), (10, 10, 1), (1, 1, 0), (10_001, 7, 2**33)):
        of = protocols.FixedSize(n=n, k=k, seed=seed)
        for index in (0, 1, 1199):
            expected = cldp_sgd.participants(n=n, k=k, seed=seed, round_index=index)
            assert np.array_equal(of.round(index).participants, expected)


@pytest.mark.parametrize("name", ["fixed-window", "averaged-window"])
def test_in_a_window_each_client_comes_once_at_most(name):
    of = protocol(name)
    for run in range(5):
        rounds = [of.round(index) for index in range(6 * run, 6 * run + 6)]
        came = np.concatenate([found.checked_in for found in rounds])
        assert np.unique(came).size == came.size
        assert came.size == N if name == "averaged-window" else 0 < came.size < N
        assert [found.checked_in.size for found in rounds] == of.loads(run).tolist()


def test_clients_of_a_sliding_window_come_in_their_own_slots():
    of = protocol("sliding-window")
    assert of.length == N - 6 + 1
    for run in range(5):
        came = []
        for place in range(of.length):
            found = of.round(run * of.length + place).checked_in
            # slot place + m of the paper, of clients place + 1, ..., place + m
            assert set(found.tolist()) <= set(range(place, place + 6))
            came.extend(found.tolist())
        assert len(set(came)) == len(came)
        assert of.loads(run).sum() == len(came)
    whole = protocols.SlidingWindow(n=4, slots=4, seed=0)
    assert whole.length == 1
    assert protocols.SlidingWindow(n=4, slots=1, seed=0).loads().tolist() == [1, 1, 1, 1]


def test_extremes():
    assert protocols.FixedWindow(n=9, slots=4, participation=0, seed=0).loads().tolist() == [0, 0, 0, 0]
    nobody = protocols.FixedWindow(n=9, slots=4, participation=0, seed=0).round(2)
    assert (nobody.participants.size, nobody.dummies, nobody.messages) == (0, 1, 1)
    assert protocols.FixedWindow(n=9, slots=1, seed=0).round(3).checked_in.tolist() == list(range(9))
    assert protocols.FixedSize(n=3, k=3, seed=0).round(0).participants.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: protocol("subsampled-shuffle", k=21), "k must be at most n"),
        (lambda: protocol("shuffled-check-in", rate=1.0), r"rate must lie in \(0, 1\)"),
        (lambda: protocol("fixed-window", participation=1.1), r"participation must lie in \[0, 1\]"),
        (lambda: protocol("fixed-window", slots=0), "slots must be a whole number >= 1"),
        (lambda: protocol("sliding-window", slots=21), "slots must be at most n"),
        (lambda: protocol("averaged-window", slots=10**18), r"n \(n \+ slots\) < 2\^63"),
        (lambda: protocol("averaged-window", seed=-1), "seed must be a whole number >= 0"),
        (lambda: protocol("averaged-window", n=0), "n must be a whole number >= 1"),
        (lambda: protocols.create("lottery", n=5, seed=0), "protocol must be one of subsampled-shuffle"),
        (
            lambda: protocols.create("fixed-window", n=5, seed=0, rate=0.1),
            "fixed-window is set by slots, participation, got rate",
        ),
        (lambda: protocols.create("shuffled-check-in", n=5, seed=0), "is set by rate, got nothing"),
        (lambda: protocol("sliding-window").round(-1), "index must be a whole number >= 0, got -1"),
        (lambda: protocol("subsampled-shuffle").round(1.5), r"index must be a whole number >= 0, got 1\.5"),
    ],
)
def test_arguments_out_of_range(call, says):
    with pytest.raises(ValueError, match=says):
        call()


# --- memory


@pytest.mark.parametrize(
    ("name", "setting", "most"),
    [
        ("subsampled-shuffle", {"k": 1000}, 10**6),
        ("shuffled-check-in", {"rate": 1e-4}, 10**6),
        ("shuffled-check-in", {"rate": 0.1}, 11 * 10**7),
        ("fixed-window", {"slots": 10**5, "participation": 0.01}, 5 * 10**6),
        ("fixed-window", {"slots": 10**5, "participation": 1.0}, 25 * 10**7),
        ("sliding-window", {"slots": 1000}, 25 * 10**7),
        ("averaged-window", {"slots": 10**7}, 25 * 10**7),
    ],
)
def test_ten_million_clients_take_little_memory(name, setting, most):
    of = protocol(name, n=10**7, **setting)
    tracemalloc.start()
    try:
        assert of.round(3).messages or of.empty == "skip"
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < most


# --- laws


def presence(of, runs, *, used=False):
    """Who came to the first round of each of so many runs, or whose messages were used, as 0 and 1; these
    rounds are independent."""
    found = np.zeros((runs, of.n))
    for run, row in enumerate(found):
        one = of.round(of.length * run)
        row[one.participants if used else one.checked_in] = 1
    return found


def check_mean(values, expected, what):
    """Independent values against their mean, or columns of them against theirs."""
    mean, deviation = np.mean(values, axis=0), np.std(values, axis=0) / math.sqrt(len(values))
    far = np.abs(mean - expected) / np.maximum(deviation, 1e-9)
    assert far.max() < LIMIT, f"{what}: {mean} for {expected}, {far.max():.1f} standard deviations"


def check_inclusion(found, *, single, pair):
    """Frequencies of clients and of pairs of clients, of ``presence``."""
    check_mean(found, single, "inclusion")
    together = found.T @ found / len(found)
    off = together[~np.eye(len(together), dtype=bool)]
    spread = math.sqrt(pair * (1 - pair) / len(found))
    assert np.abs(off - pair).max() < LIMIT * spread, "pairs"


def check_law(values, law, what):
    """Independent whole numbers against a scipy law, by chi-square over cells that expect five or more."""
    ends = [0]  # of cells, the last of which has no end
    while len(values) * law.sf(ends[-1] - 1) >= 10:
        ends.append(int(law.isf(law.sf(ends[-1] - 1) - 5 / len(values))) + 1)
    inner = np.array(ends[1:-1])
    counts = np.bincount(np.searchsorted(inner, values, side="right"), minlength=inner.size + 1)
    expected = len(values) * np.diff([0.0, *law.cdf(inner - 1), 1.0])
    assert expected.min() > 4
    statistic = float(np.sum((counts - expected) ** 2 / expected))
    assert stats.chi2.sf(statistic, inner.size) > LEAST, f"{what}: chi-square {statistic:.1f}"


def test_inclusion_in_fixed_size_samples():
    single = SETTINGS["subsampled-shuffle"]["k"] / N
    check_inclusion(presence(protocol("subsampled-shuffle"), ROUNDS), single=single, pair=single * 4 / 19)


def test_inclusion_in_shuffled_check_in():
    rate = SETTINGS["shuffled-check-in"]["rate"]
    of = protocol("shuffled-check-in")
    check_inclusion(presence(of, ROUNDS), single=rate, pair=rate**2)
    counts = [of.round(index).messages for index in range(5000)]
    check_law(counts, stats.binom(N, rate), "check-ins")


@pytest.mark.parametrize("name", ["fixed-window", "averaged-window", "sliding-window"])
def test_inclusion_in_a_slot(name):
    m = 6
    chance = {"fixed-window": 0.7, "averaged-window": 1.0, "sliding-window": 1.0}[name] / m
    # of a sliding window's first round, slot m, clients 1 to m may be
    clients = N if name != "sliding-window" else m
    of = protocol(name)
    found = presence(of, ROUNDS)
    assert not found[:, clients:].any()
    check_inclusion(found[:, :clients], single=chance, pair=chance**2)
    if of.crowded == "pick":
        # somebody is picked unless the slot is empty, and all are alike
        used = presence(of, ROUNDS, used=True)
        check_mean(used[:, :clients], (1 - (1 - chance) ** clients) / clients, "who is picked")


@pytest.mark.parametrize("name", ["fixed-window", "averaged-window", "sliding-window"])
def test_loads_of_slots(name):
    n, m = 400, 40
    of = protocol(name, n=n, slots=m)
    loads = np.array([of.loads(run) for run in range(2000)])
    law = stats.binom(m if name == "sliding-window" else n, getattr(of, "participation", 1.0) / m)
    for place in (0, 17, of.length - 1):
        check_law(loads[:, place], law, "load")
    check_mean(loads, law.mean(), "loads")


def test_clients_of_one_slot_are_fewer_in_another():
    """Loads are multinomial: Cov(L_1, L_2) = -n/m^2, where independent loads would have 0."""
    n, m = 400, 8
    of = protocol("averaged-window", n=n, slots=m)
    loads = np.array([of.loads(run) for run in range(4000)]) - n / m
    check_mean(loads[:, 0] * loads[:, 5], -n / m**2, "covariance")


@pytest.mark.parametrize(("n", "m", "p0"), [(30, 10, 1.0), (100, 50, 0.3), (200, 20, 0.5)])
def test_dummy_updates_of_a_fixed_window(n, m, p0):
    """Proposition 3.4."""
    of = protocols.FixedWindow(n=n, slots=m, participation=p0, seed=2)
    expected, bound = balle2020.empty_slots(n=n, slots=m, participation=p0)
    counts = [sum(of.round(m * run + slot).dummies for slot in range(m)) for run in range(400)]
    check_mean(counts, expected, "dummy updates")
    check_mean([np.sum(of.loads(run) == 0) for run in range(3000)], expected, "empty slots")
    assert expected <= bound


def test_dummy_updates_of_a_sliding_window():
    """Proposition 4.4."""
    n, m = 200, 15
    of = protocols.SlidingWindow(n=n, slots=m, seed=2)
    expected, bound = balle2020.sliding_window_empty_slots(n=n, slots=m)
    check_mean([np.sum(of.loads(run) == 0) for run in range(3000)], expected, "empty slots")
    assert sum(of.round(index).dummies for index in range(of.length)) == np.sum(of.loads(0) == 0)
    assert expected <= bound


@pytest.mark.parametrize(("n", "m"), [(100, 10), (1000, 1000), (5000, 20)])
def test_lemma_a_6(n, m):
    """The norm of the loads: its square has the mean of the proof, and the bound is rarely exceeded."""
    of = protocols.AveragedWindow(n=n, slots=m, seed=1)
    squares = np.array([np.sum(of.loads(run) ** 2) for run in range(1000)], dtype=float)
    check_mean(squares, n + n * (n - 1) / m, "square of the norm")
    for delta in (0.5, 0.1, 0.01):
        bound = balle2020.load_norm(n=n, slots=m, delta=delta)
        assert np.mean(np.sqrt(squares) > bound) <= delta


# --- the checks fail where the law is another


class Clumped(protocols.ShuffledCheckIn):
    """As many clients as there should be, but neighbours."""

    def checked_in(self, index):
        random = self._random(1, index)
        count, first = random.binomial(self.n, self.rate), random.integers(self.n)
        return np.sort((first + np.arange(count)) % self.n)


class FirstComes(protocols.FixedWindow):
    """Not picked uniformly: the first of those who came."""

    def round(self, index):
        present = self.checked_in(index)
        return protocols.Round(index, present, present[:1], int(not present.size))


class Steered(protocols.AveragedWindow):
    """Three clients in ten prefer the first half of the slots."""

    def _choose(self, random):
        clients, slots = super()._choose(random)
        slots[random.random(self.n) < 0.3] //= 2
        return clients, slots


class Dealt(protocols.AveragedWindow):
    """Clients are dealt to the slots in turn, so that loads are equal."""

    def _choose(self, random):
        clients, _ = super()._choose(random)
        return clients, random.permutation(self.n) % self.slots


def test_a_wrong_number_of_check_ins_fails():
    rate = SETTINGS["shuffled-check-in"]["rate"]
    of = protocol("shuffled-check-in", rate=rate + 0.01)
    with pytest.raises(AssertionError, match="inclusion"):
        check_inclusion(presence(of, ROUNDS), single=rate, pair=rate**2)
    fixed = [protocol("subsampled-shuffle").round(index).messages for index in range(5000)]
    with pytest.raises(AssertionError, match="chi-square"):
        check_law(fixed, stats.binom(N, rate), "check-ins")


def test_clients_who_come_together_fail():
    with pytest.raises(AssertionError, match="pairs"):
        check_inclusion(presence(Clumped(n=N, rate=0.25, seed=0), ROUNDS), single=0.25, pair=0.25**2)


def test_a_pick_that_is_not_uniform_fails():
    chance = 0.7 / 6
    of = FirstComes(n=N, slots=6, participation=0.7, seed=0)
    with pytest.raises(AssertionError, match="who is picked"):
        check_mean(presence(of, ROUNDS, used=True), (1 - (1 - chance) ** N) / N, "who is picked")


@pytest.mark.parametrize("wrong", [Steered, Dealt])
def test_wrong_loads_fail(wrong):
    of = wrong(n=400, slots=40, seed=0)
    loads = np.array([of.loads(run) for run in range(2000)])
    with pytest.raises(AssertionError, match="load"):
        check_law(loads[:, 0], stats.binom(400, 1 / 40), "load")
    with pytest.raises(AssertionError, match="square"):
        check_mean(np.sum(loads**2, axis=1), 400 + 400 * 399 / 40, "square of the norm")
    expected = balle2020.empty_slots(n=60, slots=40)[0]
    of = wrong(n=60, slots=40, seed=0)
    with pytest.raises(AssertionError, match="empty"):
        check_mean([np.sum(of.loads(run) == 0) for run in range(3000)], expected, "empty slots")
