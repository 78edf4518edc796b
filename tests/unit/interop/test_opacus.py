"""Locally randomised gradients in Opacus, with the real package."""

import math

import pytest

pytest.importorskip("opacus", reason="needs the extra opacus")

import opacus
import torch

from shuffledp import accountants
from shuffledp.interop.opacus import LocallyRandomizedOptimizer, ShuffleAccountant

# Opacus warns that draws are not of its secure generator, and torch that inputs need no gradients
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

CLIENTS, RATE = 12, 0.25


def made(*, randomizer="l2_privunit", eps0=1.5, sample_count=CLIENTS, radius=1.0, seed=0, wrap=True, size=3):
    torch.manual_seed(seed)
    data = torch.utils.data.TensorDataset(torch.randn(sample_count, size), torch.randn(sample_count, 1))
    loader = torch.utils.data.DataLoader(data, batch_size=max(round(sample_count * RATE), 1))
    model = torch.nn.Linear(size, 1)
    engine = opacus.PrivacyEngine(accountant="shuffle")
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=loader,
        noise_multiplier=0.0,
        max_grad_norm=radius,
    )
    if wrap:
        optimizer = LocallyRandomizedOptimizer(
            optimizer,
            loader,
            randomizer=randomizer,
            eps0=eps0,
            generator=torch.Generator().manual_seed(seed + 1),
        )
    return engine, model, optimizer, loader


def backward(model, x, y):
    torch.nn.functional.mse_loss(model(x), y).backward()


def step(model, optimizer, x, y):
    optimizer.zero_grad()
    backward(model, x, y)
    optimizer.step()


def test_engine_counts_the_steps_as_shuffled_check_in():
    engine, model, optimizer, loader = made()
    sizes = []
    for _ in range(4):
        for x, y in loader:
            sizes.append(len(x))
            step(model, optimizer, x, y)
    assert len(engine.accountant) == len(sizes) == 16
    assert len(set(sizes)) > 2, "batches are drawn by Poisson sampling"
    setting = {"n": CLIENTS, "rate": RATE, "eps0": 1.5, "randomizer": "privunit", "dimension": 4}
    assert engine.get_epsilon(1e-5) == accountants.epsilon(**setting, rounds=16, delta=1e-5)
    assert engine.get_epsilon(1e-5) <= accountants.epsilon(
        "check-in-joint-pld", n=CLIENTS, rate=RATE, eps0=1.5, rounds=16, delta=1e-5
    )


@pytest.mark.parametrize("randomizer", ["l2_privunit", "linf_coordinate"])
def test_the_step_is_of_randomised_gradients_that_are_right_on_average(randomizer):
    _, model, optimizer, _ = made(randomizer=randomizer, eps0=3.0, radius=0.3)
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    before = [one.detach().clone() for one in model.parameters()]
    found = []
    for _ in range(600):
        optimizer.zero_grad()
        backward(model, x, y)
        optimizer.clip_and_accumulate()
        optimizer.add_noise()
        found.append(torch.cat([one.grad.flatten() for one in model.parameters()]))
        for one in model.parameters():
            one.summed_grad = None
    optimizer.zero_grad()
    backward(model, x, y)
    rows = torch.cat([one.grad_sample.reshape(5, -1) for one in model.parameters()], dim=1)
    wanted = optimizer.randomizer.clip_(rows.clone()).sum(0)
    assert optimizer.randomizer.lengths(rows).max() > 0.3, "something is clipped"
    sums = torch.stack(found)
    error = (sums.mean(0) - wanted) / (sums.std(0) / math.sqrt(600))
    assert error.abs().max() < 4
    # messages of the randomiser have one length, which these sums of 5 cannot exceed
    assert sums[0].norm() > wanted.norm()
    for old, new in zip(before, model.parameters(), strict=True):
        assert torch.equal(old, new)


def test_same_generator_same_steps_and_no_generator_others():
    ends = []
    for seed in (0, 0, None):
        _, model, optimizer, _ = made()
        if seed is None:
            optimizer._generator = None
        x, y = torch.ones(2, 3), torch.ones(2, 1)
        step(model, optimizer, x, y)
        ends.append(torch.cat([one.detach().flatten() for one in model.parameters()]))
    assert torch.equal(ends[0], ends[1])
    assert not torch.equal(ends[0], ends[2])


def test_an_empty_batch_is_a_round_too():
    engine, model, optimizer, _ = made()
    before = [one.detach().clone() for one in model.parameters()]
    step(model, optimizer, torch.zeros(0, 3), torch.zeros(0, 1))
    assert len(engine.accountant) == 1
    for old, new in zip(before, model.parameters(), strict=True):
        assert torch.equal(old, new)


def test_state_goes_on_where_it_was():
    engine, model, optimizer, loader = made()
    for x, y in loader:
        step(model, optimizer, x, y)
    other = ShuffleAccountant()
    assert other.get_epsilon(1e-5) == len(other) == 0
    other.load_state_dict(engine.accountant.state_dict())
    assert other.get_epsilon(1e-5) == engine.get_epsilon(1e-5)
    assert len(other) == 4
    other.randomized_step(clients=CLIENTS, sample_rate=1.0, eps0=1.5)
    assert len(other) == 5
    assert other.get_epsilon(1e-5) > engine.get_epsilon(1e-5)


def test_other_noise_is_refused_and_not_counted():
    engine, model, optimizer, _ = made(wrap=False)
    with pytest.raises(
        ValueError, match=r"^noise_multiplier is of Gaussian noise, got 0.0 at rate 0.25; wrap the"
    ):
        step(model, optimizer, torch.ones(2, 3), torch.ones(2, 1))
    assert len(engine.accountant) == 0


def test_several_passes_in_a_step_are_refused():
    engine, model, optimizer, _ = made()
    for one in model.parameters():
        one.grad_sample = [torch.ones(2, *one.shape)] * 2
    with pytest.raises(
        ValueError, match=r"^a step must be of one backward pass, got 2; call zero_grad after"
    ):
        optimizer.step()
    assert len(engine.accountant) == 0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"randomizer": "gaussian"}, "randomizer must be one of l1_hadamard, "),
        ({"eps0": 0}, "eps0 must be a finite number > 0, got 0"),
        (
            {"data_loader": torch.utils.data.DataLoader([1, 2])},
            "data_loader must be one of make_private with poisson_sampling, got one with BatchSampler; how",
        ),
        (
            {"optimizer": None},
            "optimizer must be one of make_private with noise_multiplier=0.0, got NoneType",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(changed, message):
    _, _, optimizer, loader = made(wrap=False)
    given = {
        "optimizer": optimizer,
        "data_loader": loader,
        "randomizer": "l2_privunit",
        "eps0": 1.0,
        **changed,
    }
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        LocallyRandomizedOptimizer(**given)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match=r"^sample_rate must lie in \(0, 1\], got 0"):
        ShuffleAccountant().randomized_step(clients=5, sample_rate=0, eps0=1.0)
