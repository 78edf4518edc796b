"""CIFAR-10 and CIFAR-100: fetched by torchvision's addresses and checksums, or read from a JPEG archive.

Downloads go on where they stopped, give up a source that stalls, and are checked before they are used. Of
several processes that want one, a single one fetches it, and the others wait.
"""

from __future__ import annotations

import hashlib
import http.client
import logging
import urllib.error
import urllib.request
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np

from shuffledp import optional_packages
from shuffledp.records import files, locks
from shuffledp.training.data import colour_images
from shuffledp.training.data.checksums import CIFAR_SUMS
from shuffledp.training.data.dataset import Dataset
from shuffledp.training.data.datasets import data_root

JPEG = "cifar10_jpeg.npz"
_STALL = 30  # seconds without a byte after which a try is given up
_TRIES = 3
_BLOCK = 1 << 16

log = logging.getLogger(__name__)


def load(name: str, *, root: Path | str | None = None) -> Dataset:
    """Return a data set with images of shape (count, 32, 32, 3).

    Args:
        name: "cifar10", "cifar100", or "cifar10-jpeg" for the archive ``cifar10_jpeg.npz``, whose images have
            been through lossy compression.
        root: folder of the files, as for ``datasets.data_root``.

    Raises:
        ValueError: a file is missing and cannot be had, or is not what it should be; the message names it and
            the remedy.
    """
    folder = data_root(root)
    return _archive(folder) if name == "cifar10-jpeg" else _torchvision(name, folder)


def _archive(folder: Path) -> Dataset:
    path = folder / JPEG
    if not path.is_file():
        raise ValueError(
            f"there is no {path}; put the archive there, name its folder by data.root or SHUFFLEDP_DATA, or "
            "use data 'cifar10', which is fetched"
        )
    expected = CIFAR_SUMS["cifar10-jpeg"][JPEG]
    if files.sha256(path) != expected:
        raise ValueError(f"{path} is not the archive: its SHA-256 is not {expected}; replace it")
    with np.load(path) as found:
        parts = [
            (colour_images.decoded(found[f"{part}_jpeg"], found[f"{part}_offsets"]), found[f"{part}_labels"])
            for part in ("train", "test")
        ]
    return Dataset(*parts[0], *parts[1])


def _torchvision(name: str, folder: Path) -> Dataset:
    optional_packages.need("torchvision", extra="training")
    from torchvision import datasets

    kind = {"cifar10": datasets.CIFAR10, "cifar100": datasets.CIFAR100}[name]
    try:
        found = [kind(root=str(folder), train=train) for train in (True, False)]
    except RuntimeError:  # the files are not there, or not what they should be
        archive = folder / kind.filename
        fetch(kind.url, archive, md5=kind.tgz_md5)
        with _alone(archive):  # it is unpacked into files of fixed names
            found = [kind(root=str(folder), train=train, download=True) for train in (True, False)]
    parts = [(np.asarray(part.data), np.asarray(part.targets, dtype=np.uint8)) for part in found]
    return Dataset(*parts[0], *parts[1])


def fetch(address: str, target: Path, *, md5: str) -> None:
    """Fetch a file, in several tries that go on where the last one stopped; while another process does, wait.

    Args:
        address: where it is.
        target: where it goes, once its checksum is right; until then ``target`` with ".part" is kept. Beside
            it stays ``target`` with ".lock".
        md5: its checksum, in hexadecimal.

    Raises:
        ValueError: every try failed, or the file is not what it should be.
    """
    part = target.with_name(f"{target.name}.part")
    tried = []
    with _alone(target):
        if target.is_file() and _md5(target) == md5:  # by another process, for instance, that was waited for
            return
        for _ in range(_TRIES):
            try:
                _append(address, part)
            except (OSError, http.client.HTTPException) as error:
                tried.append(str(error))
                log.warning("%s: %s; trying again", address, error)
                continue
            if _md5(part) == md5:
                part.replace(target)
                return
            part.unlink()
            tried.append("the checksum is wrong")
    raise ValueError(
        f"{target.name} could not be fetched from {address} ({'; '.join(tried)}). Remedies: connect to the "
        f"network and run again; or put the file into {target.parent}; for CIFAR-10, data 'cifar10-jpeg'"
    )


def _alone(archive: Path) -> AbstractContextManager[None]:
    """Return the lock of an archive, which one process holds while it fetches or unpacks it."""
    return locks.held(archive.with_name(f"{archive.name}.lock"), wait=True)


# pooch checks and renames too, but starts a broken download anew, and these archives have 170 MB.
def _append(address: str, part: Path) -> None:
    done = part.stat().st_size if part.exists() else 0
    asked = urllib.request.Request(address, headers={"Range": f"bytes={done}-"} if done else {})
    try:
        answer = urllib.request.urlopen(asked, timeout=_STALL)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # all of it is there
            return
        raise
    with answer, open(part, "ab" if answer.status == 206 else "wb") as stream:
        expected = answer.length
        start = stream.tell()
        while block := answer.read(_BLOCK):
            stream.write(block)
        if expected is not None and stream.tell() - start < expected:
            raise OSError(f"the connection ended {expected - stream.tell() + start} bytes early")


def _md5(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
