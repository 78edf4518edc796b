"""The catalogue of all products of a run of the workflow: which are current, and which were made."""

from __future__ import annotations

import os
from pathlib import Path

from shuffledp.records import refusals, requests
from shuffledp.records.product import Product


class Catalogue:
    """All products of a workflow run: stages their requests, remembers which are current, and counts them.

    Args:
        folder: of the requests.
        staged: whether this process works for another one that has staged products already. Its requests say
            which of these are current; products that it has not staged are staged here.
    """

    def __init__(self, folder: Path | str, *, staged: bool = False) -> None:
        self.folder = str(folder)
        self._staged = staged
        self._folders: set[str] = set()
        self._made: set[str] = set()
        self._current: set[str] = set()
        self._entries: list[tuple[str, Product, int | None]] = []

    def add(self, kind: str, product: Product) -> None:
        """Stage a product; ``kind`` is the plural under which the summary counts it.

        A product that reads other products is current only if they are; they must have been added before.

        Raises:
            ValueError: a file is in the place of the folder of an output.
        """
        refusals.check_folders((os.path.dirname(path) for path in product.outputs), self._folders)
        request = Path(self.folder) / product.record
        if self._staged and request.exists():
            current = requests.is_of_current(request)
        else:
            current = all(self.is_current(path) for path in product.inputs if path in self._made)
            current = current and product.is_current()
            requests.stage(product, self.folder, current=current)
        self._made.update(product.outputs)
        if current:
            self._current.update(product.outputs)
        self._entries.append((kind, product, _made_at(product)))

    def products(self, *kinds: str) -> list[Product]:
        """Return the products of these kinds, in the order in which they were added."""
        return [product for kind, product, _ in self._entries if kind in kinds]

    def is_current(self, path: str) -> bool:
        """Return whether a file is the output of a product that was current when it was added."""
        return path in self._current

    def summary(self) -> str:
        """Return, in one line for each kind, how many products came from the cache and how many were made."""
        lines = []
        for kind in dict.fromkeys(kind for kind, _, _ in self._entries):
            entries = [(product, before) for other, product, before in self._entries if other == kind]
            made = sum(_made_at(product) not in (before, None) for product, before in entries)
            kept = sum(
                _made_at(product) == before and self.is_current(product.outputs[0])
                for product, before in entries
            )
            left = len(entries) - made - kept
            lines.append(
                f"{kind}: {kept} taken from the cache, {made} made now"
                + (f", {left} not up to date and not asked for" if left else "")
            )
        return "\n".join(lines)


def _made_at(product: Product) -> int | None:
    try:
        return os.stat(product.outputs[0]).st_mtime_ns
    except OSError:
        return None
