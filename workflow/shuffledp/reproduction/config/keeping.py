"""The resolved configuration, kept from one run of the workflow to the next.

To resolve a configuration takes most of the planning, and what it resolves to changes only with the
configuration, the code, and the packages that read and compute: so it is kept under a digest of the content
of all these. Nothing is decided by dates of files, and what is kept decides nothing that it does not decide
when it is resolved anew.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from shuffledp.records import files as written
from shuffledp.records.product import Product
from shuffledp.reproduction.config.settings import Settings
from shuffledp.reproduction.sections.paths import wrong_path

_PACKAGE = Path(__file__).parents[2]
_VERSIONS = ("numpy", "scipy", "pydantic", "pyyaml")


class Resolved:
    """A configuration as it resolves: as an earlier run has left it, or resolved now.

    Args:
        raw: the configuration as a YAML reader gives it.
        files: the files that it came from, those that override others last.
        path: where it is kept.

    Attributes:
        settings: the settings.
        key_page: the page of keys of the configuration as a product of the workflow.

    Raises:
        ValueError: as ``resolve``.
    """

    def __init__(self, raw: Mapping[str, Any], *, files: Sequence[str], path: Path | str) -> None:
        self._path = Path(path)
        self._key = _key(raw, files)
        found = _kept(self._path, self._key)
        self._new = found is None
        if found is None:
            # what reads and checks a configuration is loaded only where it is needed
            from shuffledp.reproduction.config.documentation import key_page
            from shuffledp.reproduction.config.loading import resolve

            found = resolve(raw, files=files), key_page()
        self.settings, self.key_page = found

    def keep(self) -> None:
        """Leave it to later runs, with all numbers that the settings have derived by now.

        Raises:
            OSError: the file cannot be written.
        """
        if self._new:
            with written.replacing(self._path) as temporary:
                temporary.write_bytes(pickle.dumps((self._key, self.settings, self.key_page)))


def _kept(path: Path, key: str) -> tuple[Settings, Product] | None:
    """Return what was kept under a key, or None."""
    try:
        kept, *found = pickle.loads(path.read_bytes())
        settings, page = found
    # it is no more than a shortcut, and a file that is cut off or of other code may raise anything
    except Exception:
        return None
    # whether its folders can be such is no matter of content
    paths = {"results": settings.results, "figures": settings.figures, "ledger": settings.ledger}
    return (settings, page) if kept == key and wrong_path(paths) is None else None


def _key(raw: Mapping[str, Any], files: Sequence[str]) -> str:
    """Return a digest of all that decides what a configuration resolves to."""
    digest = hashlib.sha256()
    versions = [f"{name} {metadata.version(name)}" for name in _VERSIONS]
    for part in (sys.version, *versions, repr(raw), *_sources(files)):
        content = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        digest.update(b"%d\0" % len(content) + content)
    return digest.hexdigest()


def _sources(files: Sequence[str]) -> Iterator[str | bytes]:
    """Yield names and contents of the configuration's files, of captions beside them, and of code."""
    folders = dict.fromkeys(Path(name).parent / "captions" for name in files)
    captions = [path for folder in folders for path in sorted(folder.glob("*.yaml"))]
    for path in (*map(Path, files), *captions, *sorted(_PACKAGE.rglob("*.py"))):
        yield str(path)
        yield path.read_bytes()
