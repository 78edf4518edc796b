"""Features of colour images: what they are, that they are kept, and the linear layer on them."""

import hashlib
import io
import pickle
import tarfile

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from shuffledp.records import digest
from shuffledp.reproduction.trainings import recorded
from shuffledp.training import checkpoints, runs
from shuffledp.training.data import cifar
from shuffledp.training.data.checksums import CIFAR_SUMS
from shuffledp.training.experiment import Experiment
from shuffledp.training.features import extraction, feature_net, pretraining, scattering
from shuffledp.training.models import registry as models
from shuffledp.training.sgd import gradients

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


class Cifar:
    """Tiny stand-ins for CIFAR-10 and CIFAR-100, in torchvision's form, with their checksums."""

    def __init__(self, kind, folder, monkeypatch, *, labels, fine):
        random = np.random.default_rng(0)
        source = folder / "source" / kind.base_folder
        source.mkdir(parents=True)

        def part(name, count):
            key = "fine_labels" if fine else "labels"
            pixels = random.integers(0, 256, (count, 3072), dtype=np.uint8)
            return [name, write(name, {"data": pixels, key: [index % labels for index in range(count)]})]

        def write(name, content):
            (source / name).write_bytes(pickle.dumps(content))
            return hashlib.md5((source / name).read_bytes()).hexdigest()

        names = [entry[0] for entry in kind.train_list]
        monkeypatch.setattr(kind, "train_list", [part(name, 200 // len(names)) for name in names])
        monkeypatch.setattr(kind, "test_list", [part(kind.test_list[0][0], 20)])
        meta = write(kind.meta["filename"], {kind.meta["key"]: [str(label) for label in range(labels)]})
        monkeypatch.setattr(kind, "meta", {**kind.meta, "md5": meta})
        with tarfile.open(folder / kind.filename, "w:gz") as archive:
            archive.add(source, arcname=kind.base_folder)
        self.archive = (folder / kind.filename).read_bytes()
        monkeypatch.setattr(kind, "tgz_md5", hashlib.md5(self.archive).hexdigest())
        (folder / kind.filename).unlink()


@pytest.fixture
def tiny_cifar(tmp_path, monkeypatch):
    """Both data sets, as downloads."""
    kinds = pytest.importorskip("torchvision").datasets
    (tmp_path / "made").mkdir()
    kept = {
        kind.url: Cifar(kind, tmp_path / "made", monkeypatch, labels=labels, fine=fine).archive
        for kind, labels, fine in ((kinds.CIFAR10, 10, False), (kinds.CIFAR100, 100, True))
    }

    def answer(request, timeout):
        content = io.BytesIO(kept[request.full_url])
        content.status, content.length = 200, len(kept[request.full_url])
        return content

    monkeypatch.setattr(cifar.urllib.request, "urlopen", answer)
    return kinds


def test_cifar_is_fetched_once_and_again_where_it_is_damaged(tiny_cifar, tmp_path, monkeypatch):
    for name, labels, batches in (("cifar10", 10, 5), ("cifar100", 100, 1)):
        found = cifar.load(name, root=tmp_path / "data")
        assert found.train_images.shape == (200, 32, 32, 3)
        assert found.test_images.shape == (20, 32, 32, 3)
        assert found.train_labels.dtype == np.uint8
        assert np.unique(found.train_labels).size == min(labels, 200 // batches)
    kind = tiny_cifar.CIFAR10
    folder, archive = (tmp_path / "data" / name for name in (kind.base_folder, kind.filename))
    archive.unlink()
    (folder / "test_batch").write_bytes(b"x")
    assert np.array_equal(cifar.load("cifar10", root=tmp_path / "data").test_labels, np.arange(20) % 10)

    def stall(request, timeout):
        assert timeout <= 60
        raise TimeoutError("timed out")

    monkeypatch.setattr(cifar.urllib.request, "urlopen", stall)
    cifar.load("cifar10", root=tmp_path / "data")
    archive.unlink()
    (folder / "test_batch").write_bytes(b"x")
    with pytest.raises(ValueError, match=r"could not be fetched .*timed out.*Remedies"):
        cifar.load("cifar10", root=tmp_path / "data")


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


@pytest.fixture
def archive(tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    random = np.random.default_rng(0)
    parts = {}
    for part, count in (("train", 6), ("test", 2)):
        coarse = random.integers(0, 256, (count, 2, 2, 3), dtype=np.uint8)
        pixels = coarse.repeat(16, axis=1).repeat(16, axis=2)
        coded = []
        for one in pixels:
            stream = io.BytesIO()
            image.fromarray(one).save(stream, "JPEG", quality=95, subsampling=0)
            coded.append(np.frombuffer(stream.getvalue(), dtype=np.uint8))
        parts[f"{part}_jpeg"] = np.concatenate(coded)
        parts[f"{part}_offsets"] = np.cumsum([0, *(each.size for each in coded)])
        parts[f"{part}_labels"] = np.arange(count, dtype=np.uint8)
        parts[f"{part}_pixels"] = pixels
    path = tmp_path / cifar.JPEG
    np.savez(path, **parts)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setitem(CIFAR_SUMS, "cifar10-jpeg", {cifar.JPEG: digest})
    monkeypatch.delenv("SHUFFLEDP_DATA", raising=False)
    return path, parts


def test_the_jpeg_archive_is_read(archive):
    path, parts = archive
    found = cifar.load("cifar10-jpeg", root=path.parent)
    assert found.train_images.shape == (6, 32, 32, 3)
    assert np.abs(found.test_images.astype(int) - parts["test_pixels"]).max() < 40
    assert np.abs(found.train_images.astype(int) - parts["train_pixels"]).mean() < 5
    assert found.train_labels.tolist() == list(range(6))
    path.write_bytes(path.read_bytes() + b"0")
    with pytest.raises(ValueError, match="is not the archive"):
        cifar.load("cifar10-jpeg", root=path.parent)
    path.unlink()
    with pytest.raises(ValueError, match=r"there is no .*cifar10_jpeg.npz; put the archive there"):
        cifar.load("cifar10-jpeg", root=path.parent)


class Source:
    """Answers requests as a server would, some of them badly."""

    def __init__(self, content, faults):
        self.content, self.faults, self.asked = content, list(faults), []

    def open(self, request, timeout):
        assert timeout <= 60
        start = int((request.get_header("Range") or "bytes=0-")[6:-1])
        self.asked.append(start)
        fault = self.faults.pop(0) if self.faults else None
        if fault == "stall":
            raise TimeoutError("timed out")
        rest = self.content[start:]
        answer = io.BytesIO(rest[: len(rest) // 2] if fault == "cut" else rest)
        if fault == "wrong":
            answer = io.BytesIO(b"0" * len(rest))
        answer.status, answer.length = 206 if start else 200, len(rest)
        return answer


@pytest.mark.parametrize(
    ("faults", "asked"),
    [
        ([], [0]),
        (["stall"], [0, 0]),
        (["cut"], [0, 500]),
        (["cut", "cut"], [0, 500, 750]),
        (["wrong"], [0, 0]),
    ],
)
def test_downloads_go_on_where_they_stopped(faults, asked, tmp_path, monkeypatch):
    content = bytes(range(250)) * 4
    source = Source(content, faults)
    monkeypatch.setattr(cifar.urllib.request, "urlopen", source.open)
    target = tmp_path / "deep" / "file.tar.gz"
    cifar.fetch("http://localhost/file", target, md5=hashlib.md5(content).hexdigest())
    assert target.read_bytes() == content
    assert source.asked == asked
    assert [path.name for path in target.parent.iterdir()] == ["file.tar.gz"]


def test_a_download_that_fails_says_what_to_do(tmp_path, monkeypatch):
    source = Source(b"12345678", ["stall"] * 9)
    monkeypatch.setattr(cifar.urllib.request, "urlopen", source.open)
    with pytest.raises(ValueError, match=r"f.tgz could not be fetched .*timed out.*Remedies"):
        cifar.fetch("http://localhost/f", tmp_path / "f.tgz", md5="0")


def test_checksums_are_those_of_torchvision():
    torchvision = pytest.importorskip("torchvision")
    for name, kind in (
        ("cifar10", torchvision.datasets.CIFAR10),
        ("cifar100", torchvision.datasets.CIFAR100),
    ):
        assert CIFAR_SUMS[name] == {kind.filename: f"md5:{kind.tgz_md5}"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": "sift"}, "features must be one of scattering"),
        ({"features": None}, "model 'linear_128' needs features"),
        ({"features": None, "data": "cifar10"}, "features must be one of .* for data 'cifar10'"),
        ({"data": "mnist"}, "features are of colour images"),
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
