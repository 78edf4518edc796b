"""Features of colour images: what they are, that they are kept, and the linear layer on them."""

import io

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from shuffledp.records import digest
from shuffledp.reproduction.trainings import recorded
from shuffledp.training import checkpoints, runs
from shuffledp.training.experiment import Experiment
from shuffledp.training.features import extraction, feature_net, pretraining, scattering

SETTING = {
    "name": "tiny",
    "data": "synthetic",
    "features": "public-half",
    "model": "linear_128",
    "n": 100,
    "protocol": "shuffled-check-in",
    "rate": 0.2,
    "randomizer": "l2_hemisphere",
    "clip": "norm",
    "clip_norm": 0.5,
    "eps0": 4.0,
    "epochs": (1,),
    "learning_rates": (0.3,),
}


def experiment(**changes):
    return Experiment(**{**SETTING, **changes})


@pytest.mark.parametrize("kind", ["public-half", "cifar100"])
def test_features_are_computed_once_and_checked(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    setting = experiment(features=kind)
    first = extraction.load(setting)
    assert first.train_images.shape == (100, 128)
    assert first.train_images.dtype == np.float32
    assert first.train_labels.shape == (100,)
    assert np.isfinite(first.test_images).all()
    monkeypatch.setattr(extraction, "_computed", lambda *arguments: pytest.fail("computed again"))
    again = extraction.load(setting)
    assert np.array_equal(again.train_images, first.train_images)
    history = runs.train(setting, seed=0, data=runs.load(setting, root=None, on=runs.device("cpu")))
    assert history[-1]["messages"] > 0
    (table,) = (tmp_path / extraction.CACHE).glob("*.npz")
    assert not list(table.parent.glob("*.pt")), "the checkpoint is no longer needed"
    record, whole = table.with_suffix(".json"), table.read_bytes()
    damaged = pytest.raises(ValueError, match=r"npz and .*\.json are not what was written; delete both")
    for content in ("{}", "[]", "null"):
        said = record.read_text(encoding="utf-8")
        record.write_text(content, encoding="utf-8")
        with damaged:
            extraction.load(setting)
        record.write_text(said, encoding="utf-8")
    table.write_bytes(whole[:-1])
    with damaged:
        extraction.load(setting)


@pytest.mark.parametrize("content", [b"", b"junk", None])
def test_a_damaged_checkpoint_of_the_features_is_named(content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    setting = experiment(features="public-half")
    checkpoint = extraction.stem(setting).with_suffix(".pt")
    checkpoint.parent.mkdir(parents=True)
    if content is None:
        checkpoints.save(checkpoint, {"network": {}})
    else:
        checkpoint.write_bytes(content)
    with pytest.raises(ValueError, match=r"\.pt is no checkpoint .*; delete it and run again"):
        extraction.load(setting)


@pytest.mark.usefixtures("tiny_cifar")
def test_a_network_trained_on_cifar100_gives_the_features_of_cifar10(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(pretraining.EPOCHS, "cifar100", 1)
    setting = experiment(data="cifar10", features="cifar100", n=200)
    found = extraction.load(setting, root=tmp_path / "data")
    assert found.train_images.shape == (200, 128)
    assert found.test_images.shape == (20, 128)
    assert np.isfinite(found.train_images).all()
    assert np.array_equal(np.unique(found.train_labels), np.arange(10))


def test_what_is_private_stays_out_of_the_public_half():
    labels = np.random.default_rng(0).integers(0, 10, 501, dtype=np.uint8)
    public = pretraining.public_half(labels)
    for label in range(10):
        of_class = labels == label
        assert (public & of_class).sum() == of_class.sum() // 2
    assert np.array_equal(public, pretraining.public_half(labels))


def test_training_without_noise_learns_and_goes_on_where_it_was():
    labels = torch.arange(60) % 3
    images = torch.rand(60, 3, 32, 32, generator=torch.Generator().manual_seed(0)) * 0.3
    images[torch.arange(60), labels] += 0.7
    ends, states = [], []
    for saved in (None, 12):
        network = feature_net.create(3, seed=1)
        start = None if saved is None else states[saved - 1]

        def save(state):
            stream = io.BytesIO()
            torch.save(state, stream)
            states.append(torch.load(io.BytesIO(stream.getvalue()), weights_only=True))

        feature_net.train(network, images, labels, epochs=20, seed=2, saved=start, save=save)
        ends.append(torch.nn.utils.parameters_to_vector(network.parameters()))
    assert torch.equal(*ends)
    assert (network(images).argmax(1) == labels).float().mean() > 0.6
    rows = feature_net.features(network, images, public=images)
    torch.testing.assert_close(rows.mean(0), torch.zeros(128), atol=1e-5, rtol=0)
    alive = rows.std(0) > 0
    assert alive.sum() > 20
    torch.testing.assert_close(rows.std(0)[alive] * 128**0.5, torch.ones(int(alive.sum())))


def test_scattering_rows_have_length_one_and_know_of_no_other_image():
    coefficients = torch.rand(5, 3, 81, 8, 8, generator=torch.Generator().manual_seed(0))
    rows = scattering.normalized(coefficients)
    assert rows.shape == (5, scattering.WIDTH) == (5, 972)
    torch.testing.assert_close(rows.norm(dim=1), torch.ones(5), rtol=1e-3, atol=0)
    torch.testing.assert_close(rows[2:3], scattering.normalized(coefficients[2:3]))
    # brightness and contrast of an order do not matter
    torch.testing.assert_close(rows, scattering.normalized(3 * coefficients), rtol=1e-3, atol=1e-5)


def test_scattering_of_images():
    pytest.importorskip("kymatio")
    images = torch.rand(3, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    rows = scattering.features(images)
    assert rows.shape == (3, 972)
    torch.testing.assert_close(rows[1:2], scattering.features(images[1:2]), rtol=1e-4, atol=1e-5)
    assert float((rows[0] - rows[1]).norm()) > 0.01


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": "sift"}, "features must be one of scattering"),
        ({"features": None}, "model 'linear_128' needs features"),
        ({"features": None, "data": "cifar10"}, "features must be one of .* for data 'cifar10'"),
        ({"data": "mnist"}, "features are of colour images, got data 'mnist'; leave features out"),
        ({"digits": (0, 1)}, r"digits must be left out with features, got \(0, 1\)"),
        ({"data": "cifar10", "digits": [0, 1]}, r"digits must be left out with features, got \(0, 1\)"),
        ({"features": "scattering"}, "model must be 'linear_972' with features 'scattering'"),
    ],
)
def test_impossible_features_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        experiment(**changes)


def test_data_and_features_decide_a_run():
    original, encoded, pretrained = (
        experiment(**changes).parameters(0)
        for changes in (
            {"data": "cifar10"},
            {"data": "cifar10-jpeg"},
            {"data": "cifar10", "features": "cifar100"},
        )
    )
    assert len({str(each["sha256"]) for each in (original, encoded, pretrained)}) == 3
    assert len(pretrained["sha256"]) == 2
    product = recorded.product(experiment(), "results", 0)
    behind = digest.modules_behind(product.modules)
    for name in ("data.colour_images", "features.pretraining", "features.feature_net", "models.linear_head"):
        assert f"shuffledp.training.{name}" in behind
    assert "shuffledp.training.features.scattering" not in behind
    assert "shuffledp.training.data.cifar" not in behind, "fetching differently would make runs stale"
