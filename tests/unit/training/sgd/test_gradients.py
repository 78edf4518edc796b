"""Gradients of the linear layer on features."""

import pytest

torch = pytest.importorskip("torch")

from shuffledp.training.models import registry as models
from shuffledp.training.sgd import gradients


@pytest.mark.parametrize("width", [128, 972])
def test_gradients_of_the_linear_layer_are_outer_products(width):
    model = models.create(f"linear_{width}", seed=0)
    torch.nn.init.normal_(model[0].weight)
    rows, labels = torch.randn(6, width), torch.randint(10, (6,))
    source = gradients.of(model)
    assert isinstance(source, gradients.Layerwise)
    found, losses = source.full(rows, labels)
    by_vmap, same = gradients.Functional(model).full(rows, labels)
    torch.testing.assert_close(found, by_vmap, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(losses, same)
    derivative = torch.softmax(model(rows), 1) - torch.nn.functional.one_hot(labels, 10)
    outer = torch.einsum("ni,nj->nij", derivative, rows).flatten(1)
    torch.testing.assert_close(found[:, : 10 * width], outer.detach(), rtol=1e-4, atol=1e-6)
