"""CIFAR-10 and CIFAR-100: fetched from where it stopped, checked, and read from an archive of JPEG."""

import contextlib
import hashlib
import importlib
import io
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from shuffledp.training.data import cifar
from shuffledp.training.data.checksums import CIFAR_SUMS


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
    assert sorted(path.name for path in target.parent.iterdir()) == ["file.tar.gz", "file.tar.gz.lock"]


def at_once(task):
    """Run a task in two threads, which hold files as two processes do, and return both results."""
    with ThreadPoolExecutor(2) as pool:
        return [one.result(timeout=60) for one in [pool.submit(task) for _ in range(2)]]


def test_an_archive_that_two_want_at_once_is_fetched_once(tmp_path, monkeypatch):
    content = bytes(range(250)) * 4
    source, both = Source(content, []), threading.Barrier(2)

    def answer(request, timeout):
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(timeout=0.5)
        return source.open(request, timeout)

    monkeypatch.setattr(cifar.urllib.request, "urlopen", answer)
    target = tmp_path / "file.tar.gz"
    at_once(lambda: cifar.fetch("http://localhost/file", target, md5=hashlib.md5(content).hexdigest()))
    assert target.read_bytes() == content
    assert source.asked == [0]


def test_an_archive_that_two_want_at_once_is_unpacked_once(tiny_cifar, tmp_path, monkeypatch):
    place = importlib.import_module("torchvision.datasets.cifar")
    unpack, both, unpacked = place.download_and_extract_archive, threading.Barrier(2), []

    def slowly(*arguments, **named):
        unpacked.append(arguments)
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(timeout=0.5)
        unpack(*arguments, **named)

    monkeypatch.setattr(place, "download_and_extract_archive", slowly)
    found = at_once(lambda: cifar.load("cifar10", root=tmp_path / "data"))
    assert [one.train_images.shape for one in found] == [(200, 32, 32, 3)] * 2
    assert len(unpacked) == 1


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
