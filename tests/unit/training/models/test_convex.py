"""The convex problem: its loss against the network's, its minimum against scipy's, its Lipschitz constant."""

import numpy as np
import pytest
from scipy import optimize

torch = pytest.importorskip("torch")

from shuffledp.training.models import convex
from shuffledp.training.models import registry as models
from shuffledp.training.sgd import gradients

N = 60


@pytest.fixture(scope="module")
def data():
    random = torch.Generator().manual_seed(0)
    images = torch.rand(N, 1, 28, 28, generator=random)
    images *= torch.rand(N, 1, 28, 28, generator=random) < 0.1
    return images, torch.randint(2, (N,), generator=random)


def small(seed=0):
    """Images of two pixels, for which scipy finds the minimum."""
    random = torch.Generator().manual_seed(seed)
    images = torch.rand(N, 1, 1, 2, generator=random)
    labels = (images[:, 0, 0, 0] + 0.3 * torch.randn(N, generator=random) > 0.5).long()
    return images, labels


def test_loss_and_gradient_are_the_networks(data):
    images, labels = data
    risk = convex.ExcessRisk(images, labels, regularization=0.1, radius=0.5)
    model = models.create("logistic_binary", seed=0)
    source = gradients.of(model)
    theta = 0.3 * torch.randn(785, generator=torch.Generator().manual_seed(1))
    torch.nn.utils.vector_to_parameters(theta, model.parameters())
    each, losses = source.full(images, labels)
    half = 0.05 * float(theta.square().sum())
    assert float(risk.value(theta.double())) == pytest.approx(float(losses.mean()) + half, rel=1e-5)
    torch.testing.assert_close(
        risk.gradient(theta.double()).float(), each.mean(0) + 0.1 * theta, rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("radius", [0.5, 3.0, 50.0], ids=["on the surface", "surface", "inside"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_minimum_is_scipys(seed, radius):
    images, labels = small(seed)
    risk = convex.ExcessRisk(images, labels, regularization=0.01, radius=radius)
    rows = np.c_[images.flatten(1).double(), np.ones(N)] * (2 * labels.double().numpy() - 1)[:, None]

    def loss(theta):
        return np.logaddexp(0, -rows @ theta).mean() + 0.005 * theta @ theta

    found = optimize.minimize(
        loss,
        np.zeros(3),
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda theta: radius**2 - theta @ theta},
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert found.success
    assert found.fun - 2e-6 <= risk.least <= found.fun + 1e-9, "a lower bound, and a close one"
    assert 0 <= risk(torch.tensor(found.x)) <= 2e-6
    assert risk(torch.zeros(3)) == pytest.approx(np.log(2) - found.fun, abs=2e-6)


def test_no_gradient_is_longer_than_stated(data):
    images, labels = data
    mu, radius = 0.2, 3.0
    bound = convex.lipschitz(images, regularization=mu, radius=radius)
    model = models.create("logistic_binary", seed=0)
    source = gradients.of(model)
    random = torch.Generator().manual_seed(2)
    longest = 0.0
    for _ in range(20):
        theta = torch.randn(785, generator=random)
        theta *= radius / theta.norm()
        torch.nn.utils.vector_to_parameters(theta, model.parameters())
        each, _ = source.full(images, labels)
        longest = max(longest, float((each + mu * theta).norm(dim=1).max()))
    assert 0.5 * bound < longest <= bound


def test_a_search_that_does_not_end_says_so(monkeypatch):
    monkeypatch.setattr(convex, "_STEPS", 2)
    with pytest.raises(ArithmeticError, match="raise regularization or lower projection"):
        convex.ExcessRisk(*small(), regularization=0.0, radius=100.0)
