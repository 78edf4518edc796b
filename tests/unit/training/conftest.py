"""Tiny stand-ins for the data sets of colour images, in the form of torchvision."""

import hashlib
import io
import pickle
import tarfile

import numpy as np
import pytest

from shuffledp.training.data import cifar


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
