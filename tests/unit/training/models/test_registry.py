"""The models that an experiment may name: their size, their initial weights, and layers that are refused."""

import math
import re

import pytest

torch = pytest.importorskip("torch")

from torch import nn

from shuffledp.training import experiment
from shuffledp.training.models import networks
from shuffledp.training.models import registry as models
from shuffledp.training.sgd import cldp_sgd, gradients


def size_of(model):
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (nn.BatchNorm2d(2), ["'1'", "BatchNorm2d", "GroupNorm"]),
        (nn.Sequential(nn.Dropout(0.5)), ["'1.0'", "Dropout", "remove"]),
        (nn.Sequential(nn.RReLU()), ["'1.0'", "RReLU", "remove"]),
    ],
)
def test_hard_case_f3_layers_that_mix_clients_are_refused(layer, words):
    with pytest.raises(ValueError, match="model") as caught:
        models.check(nn.Sequential(nn.Conv2d(1, 2, 3), layer))
    for word in words:
        assert word in str(caught.value)


def test_the_models_are_those_that_experiments_name():
    for name in networks.NAMES:
        model = models.create(name, seed=0)
        models.check(model)
        two = name == "logistic_binary"
        assert isinstance(gradients.of(model), gradients.Functional if two else gradients.Layerwise)
        width = re.fullmatch(r"linear_(\d+)", name)
        shape = (int(width[1]),) if width else (1, 28, 28)
        assert model(torch.zeros(2, *shape)).shape == (2, 2 if two else 10)
        assert size_of(model) == networks.DIMENSIONS[name]
    assert experiment.CLIPS == cldp_sgd.CLIPS


def test_initial_weights_are_glorots():
    model = models.create("mnist_cnn_16", seed=0)
    dense = model[7].weight
    limit = math.sqrt(6 / (256 + 32))
    assert float(dense.detach().abs().max()) == pytest.approx(limit, rel=1e-2)
    kernel = model[3].weight
    assert float(kernel.detach().abs().max()) == pytest.approx(math.sqrt(6 / (16 * 16 + 16 * 16)), rel=1e-2)
    assert not model[7].bias.any()
    assert not torch.equal(dense, models.create("mnist_cnn_16", seed=1)[7].weight)
