"""Training by the check-in protocols: a round, what its sum is divided by, empty rounds, and whole runs."""

import itertools
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn
from torch.nn import functional

from shuffledp import protocols
from shuffledp.randomizers import registry
from shuffledp.randomizers.clt import GaussianLimit
from shuffledp.training import runs
from shuffledp.training.experiment import Experiment
from shuffledp.training.sgd import loop, schedule
from shuffledp.training.sgd.checkin_sgd import CheckInSgd
from shuffledp.training.sgd.cldp_sgd import CldpSgd, DivergenceError

pytestmark = pytest.mark.usefixtures("one_thread")

N, K = 40, 12
CASES = [("none", None), ("coordinate", "linf_coordinate"), *(("norm", name) for name in registry.NAMES)]


def data(seed=1):
    random = torch.Generator().manual_seed(seed)
    return torch.rand(N, 1, 4, 4, generator=random), torch.randint(3, (N,), generator=random)


def begin(kind, clip, name, *, images=None, seed=0, **setting):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(16, 3))
    randomizer = None
    if name:
        strength = {"noise_multiplier": 0.5} if name == "gaussian" else {"eps0": 1.5}
        randomizer = registry.create(name, dimension=51, radius=0.05, **strength)
    own, labels = data()
    images = own if images is None else images
    return kind(
        model, images=images, labels=labels, k=K, randomizer=randomizer, clip=clip, seed=seed, **setting
    )


class Given(protocols.Protocol):
    """Rounds as listed."""

    def __init__(self, rounds, *, dummies=False, n=N):
        super().__init__(n=n, seed=0)
        self.rounds, self.empty = rounds, "dummy" if dummies else "skip"

    expected = 1.0

    def checked_in(self, index):
        return np.array(self.rounds[index], dtype=np.int64)


@pytest.mark.parametrize(("mu", "radius"), [(0.0, None), (0.1, 0.5)], ids=["plain", "regularised, projected"])
@pytest.mark.parametrize(("clip", "name"), CASES)
def test_sampling_as_a_protocol_is_the_engine_itself(clip, name, mu, radius):
    kept = {"seed": 5, "regularization": mu, "projection": radius}
    plain = begin(CldpSgd, clip, name, **kept)
    found = begin(CheckInSgd, clip, name, **kept, protocol=protocols.FixedSize(n=N, k=K, seed=5))
    for index in range(4):
        assert found.round(index, rate=0.3) == plain.round(index, rate=0.3)
        assert torch.equal(found.parameters, plain.parameters)
    assert found.counts == {"skipped": 0, "dummies": 0, "messages": 4 * K}


@pytest.mark.parametrize("name", ["shuffled-check-in", "fixed-window", "sliding-window", "averaged-window"])
def test_a_step_is_the_mean_of_the_messages_that_came(name):
    setting = {"rate": 0.05} if name == "shuffled-check-in" else {"slots": 20}
    of = protocols.create(name, n=N, seed=3, **setting)
    run = begin(CheckInSgd, "none", None, protocol=of)
    images, labels = data()
    sizes = set()
    for found in itertools.islice(of, 30):
        before, who = run.parameters.clone(), torch.from_numpy(found.participants)
        sizes.add(who.numel())
        theta = before.clone().requires_grad_()
        logits = functional.linear(images[who].flatten(1), theta[:48].view(3, 16), theta[48:])
        loss = functional.cross_entropy(logits, labels[who])  # nan for nobody
        reported = run.round(found.index, rate=0.4)
        if who.numel():
            (gradient,) = torch.autograd.grad(loss, theta)
            torch.testing.assert_close(run.parameters, before - 0.4 * gradient)
            assert reported == pytest.approx(float(loss.detach()), rel=1e-5)
        else:
            assert math.isnan(reported)
            assert torch.equal(run.parameters, before)
    assert 0 in sizes
    assert sizes == {0, 1} if of.crowded == "pick" else len(sizes) > 3
    empty = run.counts["dummies" if of.empty == "dummy" else "skipped"]
    assert 0 < empty < 30
    assert sum(run.counts[key] for key in ("skipped", "dummies")) == empty


@pytest.mark.parametrize(("clip", "name"), CASES[1:])
@pytest.mark.few(3)
def test_a_dummy_update_is_a_message_about_nothing(clip, name):
    """It moves the parameters as a client without a gradient would, whatever the data are."""
    ends = []
    for images in (data()[0], data(seed=2)[0]):
        run = begin(CheckInSgd, clip, name, images=images, protocol=Given([[]] * 400, dummies=True))
        run.parameters.zero_()
        moves = []
        for index in range(400):
            assert math.isnan(run.round(index, rate=1.0))
            moves.append(run.parameters.clone())
        ends.append(torch.stack(moves))
        assert run.counts == {"skipped": 0, "dummies": 400, "messages": 0}
    assert torch.equal(*ends)
    moves = ends[0].diff(dim=0)
    expected = run.randomizer.randomize(torch.zeros(4000, 51), generator=torch.Generator().manual_seed(1))
    length = expected.norm(dim=1)
    assert abs(float(moves.norm(dim=1).mean() - length.mean())) <= 5 * float(length.std()) / 20 + 1e-4
    # mean zero
    assert float((moves.mean(0).abs() / (moves.std(0) / 20 + 1e-9)).max()) < 5


def test_the_regularisation_is_no_part_of_a_dummy_update():
    run = begin(CheckInSgd, "none", None, protocol=Given([[]], dummies=True), regularization=0.5)
    before = run.parameters.clone()
    run.round(0, rate=1.0)
    assert torch.equal(run.parameters, before)
    assert run.counts["dummies"] == 1


def test_dummies_by_the_gaussian_limit():
    run = begin(CheckInSgd, "norm", "l2_hemisphere", protocol=Given([[]] * 20, dummies=True))
    run.randomizer = GaussianLimit(run.randomizer)
    before = run.parameters.clone()
    for index in range(20):
        run.round(index, rate=1.0)
    assert 0 < float((run.parameters - before).norm()) < 20 * run.randomizer.exact.scale


@pytest.mark.parametrize(("clip", "name"), CASES)
def test_a_skipped_round_changes_nothing(clip, name):
    run, other = (
        begin(CheckInSgd, clip, name, protocol=Given(rounds)) for rounds in ([[1, 2], [], [7]], [[1, 2], [7]])
    )
    losses = [run.round(index, rate=0.1) for index in range(3)]
    assert [losses[0], losses[2]] == [other.round(index, rate=0.1) for index in range(2)]
    assert math.isnan(losses[1])
    assert torch.equal(run.parameters, other.parameters)
    assert run.counts == {"skipped": 1, "dummies": 0, "messages": 3}


def test_a_run_is_taken_up_with_its_counts():
    of = protocols.FixedWindow(n=N, slots=30, seed=2)
    whole = begin(CheckInSgd, "norm", "l2_privunit", protocol=of)
    for index in range(20):
        whole.round(index, rate=0.1)
        if index == 9:
            saved = whole.state()
    rest = begin(CheckInSgd, "norm", "l2_privunit", protocol=of, seed=9)
    rest.restore(saved)
    for index in range(10, 20):
        rest.round(index, rate=0.1)
    assert torch.equal(rest.parameters, whole.parameters)
    assert rest.counts == whole.counts
    assert whole.counts["dummies"] > saved["counts"]["dummies"] > 0


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="protocol must be of as many clients as there are images, got 41"):
        begin(CheckInSgd, "none", None, protocol=Given([[1]], n=N + 1))
    run = begin(CheckInSgd, "none", None, protocol=Given([[1]] * 99), regularization=1.0)

    def go_on():
        for index in range(99):
            run.round(index, rate=1e3)

    with pytest.raises(DivergenceError, match=r"round [1-9]\d* .*lower the learning rate"):
        go_on()


# --- whole runs

SETTING = {
    "name": "tiny",
    "data": "synthetic",
    "model": "logistic",
    "n": 600,
    "randomizer": "l2_hemisphere",
    "clip": "norm",
    "clip_norm": 1.0,
    "eps0": 4.0,
    "epochs": (1, 2),
    "learning_rates": (0.3, 0.1),
}
PROTOCOLS = {
    "shuffled-check-in": {"rate": 0.1},
    "fixed-window": {"slots": 50, "participation": 0.1},
    "sliding-window": {"slots": 540},
    "averaged-window": {"slots": 20},
}


def experiment(protocol, **changes):
    return Experiment(**{**SETTING, "protocol": protocol, **PROTOCOLS[protocol], **changes})


def stopped_and_taken_up(setting, loaded, checkpoint):
    """The rows of a run that stops after its second epoch and goes on from its checkpoint."""

    def stop(row):
        if row["epoch"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runs.train(setting, seed=0, data=loaded, checkpoint=checkpoint, report=stop)
    return runs.train(setting, seed=0, data=loaded, checkpoint=checkpoint)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_run_that_stops_goes_on_where_it_was(protocol, tmp_path):
    setting = experiment(protocol)
    assert Experiment.from_parameters("tiny", setting.parameters(0)) == setting
    loaded = runs.load(setting, root=None, on=runs.device("cpu"))
    whole = runs.train(setting, seed=0, data=loaded)
    assert [row["round"] for row in whole] == [setting.rounds_per_epoch * epoch for epoch in (1, 2, 3)]
    assert all(math.isfinite(row["train_loss"]) for row in whole)
    resumed = stopped_and_taken_up(setting, loaded, tmp_path / "run.pt")
    kept = ("epoch", "round", "test_accuracy", "train_loss")
    assert [[row[key] for key in kept] for row in resumed] == [[row[key] for key in kept] for row in whole]
    other = runs.train(setting, seed=1, data=loaded)
    assert [row["train_loss"] for row in other] != [row["train_loss"] for row in whole]


@pytest.mark.slow
def test_check_in_learns_as_well_as_sampling_of_its_mean_size():
    changes = {"n": 2000, "epochs": (3, 3), "learning_rates": (0.3, 0.1)}
    ends = {}
    for setting in (
        experiment("shuffled-check-in", rate=0.25, **changes),
        Experiment(**{**SETTING, **changes, "k": 500}),
    ):
        assert setting.rounds == 24
        loaded = runs.load(setting, root=None, on=runs.device("cpu"))
        found = [runs.train(setting, seed=seed, data=loaded)[-1]["test_accuracy"] for seed in range(6)]
        ends[setting.protocol] = np.array(found)
    assert ends["shuffled-check-in"].mean() > 0.3, "it learns, where guessing has a tenth"
    noise = math.sqrt(sum(each.var(ddof=1) / each.size for each in ends.values()))
    assert abs(np.diff([each.mean() for each in ends.values()])[0]) < 4 * noise


FEDERATED = {
    "n": 10_000_000,
    "rate": 1e-5,
    "bootstrap": True,
    "epoch_rounds": 5,
    "randomizer": "gaussian",
    "eps0": 8.0,
    "delta0": 1e7**-1.5,
}
DISTRIBUTED = {"rate": 0.05, "randomizer": "gaussian", "eps0": None, "noise_multiplier": 0.5}


@pytest.mark.parametrize("changes", [{}, FEDERATED, DISTRIBUTED], ids=["ldp", "federated", "distributed"])
def test_the_algorithms_of_liew2022(changes, tmp_path):
    """A smoke run of each, stopped and taken up, with the counts of its rounds."""
    setting = experiment("shuffled-check-in", **{"epochs": (2, 1), **changes})
    loaded = runs.load(setting, root=None, on=runs.device("cpu"))
    whole = runs.train(setting, seed=0, data=loaded)
    assert len(whole) == 3
    assert whole[-1]["messages"] == pytest.approx(setting.n * setting.rate * setting.rounds, rel=0.3)
    resumed = stopped_and_taken_up(setting, loaded, tmp_path / "run.pt")
    kept = [name for name in whole[0] if name != "seconds"]
    assert set(loop.COUNTS) < set(kept)
    assert [[row[key] for key in kept] for row in resumed] == [[row[key] for key in kept] for row in whole]


@pytest.mark.parametrize(
    ("protocol", "changes", "counted"),
    [
        ("shuffled-check-in", {"rate": 1e-3, "epoch_rounds": 40}, "skipped"),
        ("fixed-window", {"slots": 100, "participation": 0.1}, "dummies"),
    ],
)
def test_rounds_without_anybody_are_counted_in_the_table(protocol, changes, counted):
    setting = experiment(protocol, epochs=(1, 1), **changes)
    loaded = runs.load(setting, root=None, on=runs.device("cpu"))
    rows = runs.train(setting, seed=0, data=loaded)
    empty = np.cumsum(
        [
            schedule.protocol_of(setting, seed=0).round(index).checked_in.size == 0
            for index in range(setting.rounds)
        ]
    )
    half = setting.rounds_per_epoch
    assert [row[counted] for row in rows] == [empty[half - 1], empty[-1]]
    assert empty[-1] > 5
    other = {"skipped": "dummies", "dummies": "skipped"}[counted]
    assert [row[other] for row in rows] == [0, 0]


def test_clients_of_a_population_hold_its_images():
    of = protocols.ShuffledCheckIn(n=1000, rate=0.02, seed=4)
    run = begin(CheckInSgd, "none", None, protocol=of, holds=lambda clients: clients % N)
    images, labels = data()
    who = torch.from_numpy(of.round(0).participants % N)
    theta = run.parameters.clone().requires_grad_()
    loss = functional.cross_entropy(
        functional.linear(images[who].flatten(1), theta[:48].view(3, 16), theta[48:]), labels[who]
    )
    (gradient,) = torch.autograd.grad(loss, theta)
    run.round(0, rate=0.4)
    torch.testing.assert_close(run.parameters, theta.detach() - 0.4 * gradient)


# Of the process itself: what getrusage tells may be that of the process which began it.
IN_A_PROCESS = """
import torch
from shuffledp.training import runs
from shuffledp.training.experiment import Experiment

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

loaded = peak()
torch.set_num_threads(1)
setting = Experiment(**{setting})
images = torch.rand(60_000, 1, 28, 28)
labels = torch.randint(10, (60_000,))
data = runs.Data(images, labels, images[:100], labels[:100])
(row,) = runs.train(setting, seed=0, data=data)
print(row["messages"], peak() - loaded)
"""


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the peak of memory is read as Linux has it"
)
@pytest.mark.slow
def test_ten_million_clients_take_less_than_a_gigabyte():
    setting = {
        **SETTING,
        **FEDERATED,
        "model": "mnist_cnn_32",
        "protocol": "shuffled-check-in",
        "rate": 1e-4,
        "epoch_rounds": 3,
        "epochs": (1,),
        "learning_rates": (0.1,),
    }
    done = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS.replace("{setting}", repr(setting))],
        check=True,
        capture_output=True,
        text=True,
    )
    messages, kilobytes = map(int, done.stdout.split())
    assert 2500 < messages < 3500
    # with the images, and without torch itself, which takes half as much again
    assert kilobytes < 1_000_000


def test_an_epoch_in_which_nobody_comes_has_no_loss():
    setting = experiment("fixed-window", participation=0.0, epochs=(1,), learning_rates=(0.1,))
    loaded = runs.load(setting, root=None, on=runs.device("cpu"))
    (row,) = runs.train(setting, seed=0, data=loaded)
    assert math.isnan(row["train_loss"])


@pytest.mark.parametrize(("clip", "name"), CASES)
def test_a_gradient_that_is_not_finite_names_the_client_and_not_its_image(clip, name):
    of = Given([[3, N + 5, N + 9]], n=2 * N)
    run = begin(CheckInSgd, clip, name, protocol=of, holds=lambda clients: clients % N)
    run.images[5] = math.nan
    with pytest.raises(
        DivergenceError, match=rf"round 0: the gradient of client {N + 5} is not finite; lower"
    ):
        run.round(0, rate=0.1)
