"""CLDP-SGD against a loop that takes each client's gradient by itself, and gradients against torch.func."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn
from torch.nn import functional

from shuffledp.randomizers import registry
from shuffledp.randomizers.clt import GaussianLimit
from shuffledp.training.models import registry as models
from shuffledp.training.sgd import cldp_sgd, gradients, layers

pytestmark = pytest.mark.usefixtures("one_thread")

N, K = 40, 12
STRENGTH = {"eps0": 1.5}


def tiny(*, closed=True, seed=0):
    """A network of some forty parameters on images of 8 x 8; with a sigmoid it has no closed form."""
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(1, 2, 4, stride=2, padding=1),
        nn.MaxPool2d(2, stride=1),
        nn.Tanh() if closed else nn.Sigmoid(),
        nn.Flatten(),
        nn.Linear(18, 3),
    )


def data(count=N, seed=1):
    random = torch.Generator().manual_seed(seed)
    images = torch.rand(count, 1, 8, 8, generator=random)
    images[:, :, :3] = 0  # so that pooling windows have equal inputs
    return images, torch.randint(3, (count,), generator=random)


def size_of(model):
    return sum(parameter.numel() for parameter in model.parameters())


def randomizer_of(name, model, radius=0.05):
    # its sums draw one noise for all clients, so that only noise below the tolerance compares with a loop
    strength = {"noise_multiplier": 1e-6} if name == "gaussian" else STRENGTH
    return registry.create(name, dimension=size_of(model), radius=radius, **strength)


def one_gradient(model, image, label):
    """A single client's gradient, by autograd."""
    loss = functional.cross_entropy(model(image[None]), label[None])
    return torch.cat([part.flatten() for part in torch.autograd.grad(loss, list(model.parameters()))])


def slow_round(model, images, labels, randomizer, clip, source, clients, rate, mu, radius):
    """Algorithm 1 read aloud: one client after the other, and no shortcut for a single coordinate."""
    theta = nn.utils.parameters_to_vector(model.parameters()).detach()
    vectors = torch.stack([one_gradient(model, images[i], labels[i]) + mu * theta for i in clients])
    if clip == "none":
        total = vectors.sum(0)
    elif clip == "coordinate":
        drawn = torch.randint(theta.numel(), (len(clients),), generator=source)
        order = torch.sort(drawn, stable=True).indices
        scale = (math.exp(1.5) + 1) / (math.exp(1.5) - 1)
        total = torch.zeros_like(theta)
        for i in order.tolist():
            value = float(vectors[i, drawn[i]].clamp(-randomizer.radius, randomizer.radius))
            wrong = (1 - abs(value) / randomizer.radius / scale) / 2
            flip = float(torch.rand(1, dtype=torch.float64, generator=source)) < wrong
            sign = math.copysign(1, value) * (-1 if flip else 1)
            total[drawn[i]] += theta.numel() * randomizer.radius * scale * sign
    else:
        order = {"linf": math.inf, "l1": 1, "l2": 2}[randomizer.norm]
        for vector in vectors:
            vector /= max(1.0, float(vector.norm(order)) / randomizer.radius)
        total = torch.zeros(vectors.shape[1], dtype=torch.float64)
        randomizer.add(total, vectors, generator=source)
    theta = theta - (rate * total / len(clients)).to(theta.dtype)
    if radius is not None:
        theta = theta / max(1.0, float(theta.norm()) / radius)
    nn.utils.vector_to_parameters(theta, model.parameters())


CASES = [("none", None), ("coordinate", "linf_coordinate"), *(("norm", name) for name in registry.NAMES)]


@pytest.mark.parametrize("closed", [True, False], ids=["closed forms", "torch.func"])
@pytest.mark.parametrize(("mu", "radius"), [(0.0, None), (0.1, 1.5)], ids=["plain", "regularised, projected"])
@pytest.mark.parametrize(("clip", "name"), CASES)
def test_engine_against_one_client_after_the_other(clip, name, mu, radius, closed):
    images, labels = data()
    model, reference = tiny(closed=closed), tiny(closed=closed)
    randomizer = randomizer_of(name, model) if name else None
    run = cldp_sgd.CldpSgd(
        model,
        images=images,
        labels=labels,
        k=K,
        randomizer=randomizer,
        clip=clip,
        seed=7,
        projection=radius,
        regularization=mu,
    )
    assert isinstance(run.gradients, gradients.Layerwise if closed else gradients.Functional)
    source = torch.Generator()
    source.set_state(run.state()["noise"])
    for index in range(3):
        clients = cldp_sgd.participants(n=N, k=K, seed=7, round_index=index).tolist()
        run.round(index, rate=0.1)
        slow_round(reference, images, labels, randomizer, clip, source, clients, 0.1, mu, radius)
        expected = nn.utils.parameters_to_vector(reference.parameters())
        torch.testing.assert_close(run.parameters, expected, rtol=1e-4, atol=1e-4)
    if radius is not None and name is not None:
        assert float(run.parameters.norm()) <= radius * (1 + 1e-6)


@pytest.mark.parametrize(("name", "size"), [("mnist_cnn_16", 13_706), ("mnist_cnn_32", 26_010)])
def test_closed_forms_equal_torch_func(name, size):
    model = models.create(name, seed=3)
    fast, slow = gradients.of(model), gradients.Functional(model)
    assert isinstance(fast, gradients.Layerwise)
    assert fast.size == slow.size == size
    random = torch.Generator().manual_seed(2)
    images = torch.rand(24, 1, 28, 28, generator=random)
    images *= torch.rand(24, 1, 28, 28, generator=random) < 0.3
    images[0] = 0
    labels = torch.randint(10, (24,), generator=random)
    expected, losses = slow.full(images, labels)
    found, fast_losses = fast.full(images, labels)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=3e-6)
    torch.testing.assert_close(fast_losses, losses)
    torch.testing.assert_close(fast.logits(images), slow.logits(images), rtol=1e-5, atol=3e-6)
    # every layer, weights and biases, first and last parameter
    ends = np.cumsum([0, *(parameter.numel() for parameter in model.parameters())])
    for start in (0, 5):
        drawn = torch.linspace(0, size - 1, 24).long()
        drawn[: len(ends) - 1] = torch.from_numpy(ends[:-1]) + start
        drawn = drawn.sort().values
        values, _ = fast.drawn(images, labels, drawn)
        torch.testing.assert_close(values, expected.gather(1, drawn[:, None])[:, 0], rtol=1e-4, atol=3e-6)


def test_every_drawn_parameter_is_the_right_one():
    model = tiny()
    images, labels = data(1)
    every = torch.arange(size_of(model))
    count = every.numel()
    values, _ = gradients.of(model).drawn(images.expand(count, -1, -1, -1), labels.expand(count), every)
    torch.testing.assert_close(values, one_gradient(model, images[0], labels[0]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "module",
    [
        nn.MaxPool2d(2),
        nn.MaxPool2d(3, stride=1),
        nn.Conv2d(2, 2, 3, groups=2),
        nn.Conv2d(1, 2, 3, padding="same"),
        nn.Conv2d(1, 2, 3, padding=1, padding_mode="reflect"),
        nn.Conv2d(1, 2, 3, dilation=2),
        nn.Linear(3, 2, bias=False),
        nn.Flatten(2),
        nn.ReLU(),
    ],
    ids=repr,
)
def test_what_has_no_closed_form_is_left_to_torch_func(module):
    assert layers.closed_form(module) is None


@pytest.mark.parametrize(("clip", "name"), CASES)
def test_results_do_not_depend_on_the_chunk(clip, name):
    images, labels = data(300)
    ends = []
    for chunk in (32, 96, 512):
        model = tiny()
        run = cldp_sgd.CldpSgd(
            model,
            images=images,
            labels=labels,
            k=200,
            randomizer=randomizer_of(name, model) if name else None,
            clip=clip,
            seed=0,
            chunk=chunk,
        )
        loss = run.round(0, rate=0.05)
        ends.append(torch.cat([run.parameters, torch.tensor([loss])]))
    for end in ends[1:]:
        torch.testing.assert_close(end, ends[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("clip", "name"), CASES)
def test_the_same_seed_gives_the_same_run(clip, name):
    images, labels = data()

    def end(seed):
        model = tiny()
        run = cldp_sgd.CldpSgd(
            model,
            images=images,
            labels=labels,
            k=K,
            randomizer=randomizer_of(name, model) if name else None,
            clip=clip,
            seed=seed,
        )
        for index in range(3):
            run.round(index, rate=0.05)
        return run.parameters

    assert torch.equal(end(3), end(3))
    assert not torch.equal(end(3), end(4))


def test_hard_case_d3_participants_are_uniform_subsets():
    n, k, rounds = 20, 5, 20_000
    present = np.zeros((rounds, n))
    for index in range(rounds):
        chosen = cldp_sgd.participants(n=n, k=k, seed=0, round_index=index)
        assert len(set(chosen.tolist())) == k
        present[index, chosen] = 1
    together = present.T @ present / rounds
    pair = k * (k - 1) / (n * (n - 1))
    off = ~np.eye(n, dtype=bool)
    assert np.abs(together[off] - pair).max() < 5 * math.sqrt(pair / rounds)
    assert np.abs(np.diag(together) - k / n).max() < 5 * math.sqrt(k / n / rounds)
    again = (present[1:] * present[:-1]).mean(0)
    assert np.abs(again - (k / n) ** 2).max() < 5 * math.sqrt((k / n) ** 2 / rounds)


def test_participants_depend_on_seed_and_round_alone():
    first = cldp_sgd.participants(n=1000, k=30, seed=1, round_index=5)
    assert (first == cldp_sgd.participants(n=1000, k=30, seed=1, round_index=5)).all()
    assert (first != cldp_sgd.participants(n=1000, k=30, seed=1, round_index=6)).any()
    assert (first != cldp_sgd.participants(n=1000, k=30, seed=2, round_index=5)).any()


@pytest.mark.parametrize("rate", [1e6, math.nan])
def test_divergence_names_the_round(rate):
    images, labels = data()
    run = cldp_sgd.CldpSgd(
        tiny(), images=images, labels=labels, k=K, randomizer=None, clip="none", seed=0, regularization=1.0
    )
    run.round(0, rate=0.1)

    def go_on():
        for index in range(1, 30):
            run.round(index, rate=rate)

    with pytest.raises(ArithmeticError, match=r"round [1-9]\d* .*lower the learning rate"):
        go_on()


@pytest.mark.parametrize("chunk", [32, 64])
@pytest.mark.parametrize(("clip", "name"), CASES)
def test_a_gradient_that_is_not_finite_names_round_and_client(clip, name, chunk):
    """Its message would say something else than a random bit, or nothing."""
    images, labels = data(100)
    model = tiny()
    randomizer = randomizer_of(name, model) if name else None
    run = cldp_sgd.CldpSgd(
        model, images=images, labels=labels, k=100, randomizer=randomizer, clip=clip, seed=0, chunk=chunk
    )
    run.round(0, rate=0.01)
    run.images[71] = math.nan
    before = run.parameters.clone()
    message = r"diverged in round 1: the gradient of client 71 is not finite; lower the learning rate"
    with pytest.raises(cldp_sgd.DivergenceError, match=message):
        run.round(1, rate=0.01)
    assert torch.equal(run.parameters, before)


def test_parameters_whose_squares_overflow_are_projected():
    """Over an infinite length they would be 0."""
    images, labels = data()
    run = cldp_sgd.CldpSgd(
        tiny(), images=images, labels=labels, k=K, randomizer=None, clip="none", seed=0, projection=2.0
    )
    run.round(0, rate=1e30)
    assert float(run.parameters.norm()) == pytest.approx(2.0)


def test_the_gaussian_limit_trains_as_the_sum_does():
    """Steps of either have the same mean, the sum of clipped gradients, within the noise of many rounds."""
    images, labels = data()
    steps = {}
    for kind in ("sum", "limit"):
        model = tiny()
        randomizer = randomizer_of("l2_hemisphere", model)
        run = cldp_sgd.CldpSgd(
            model,
            images=images,
            labels=labels,
            k=N,
            randomizer=GaussianLimit(randomizer) if kind == "limit" else randomizer,
            clip="norm",
            seed=0,
        )
        start, taken = run.parameters.clone(), []
        for index in range(400):
            run.round(index, rate=1.0)
            taken.append(start - run.parameters)
            run.parameters.copy_(start)
        steps[kind] = torch.stack(taken)
    error = (steps["sum"].var(0) / 400 + steps["limit"].var(0) / 400).sqrt()
    assert bool(((steps["sum"].mean(0) - steps["limit"].mean(0)).abs() < 5 * error).all())
    spread = steps["sum"].var(0).mean() / steps["limit"].var(0).mean()
    assert float(spread) == pytest.approx(1, abs=0.05)
