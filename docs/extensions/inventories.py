"""Cross references into the documentation of others without fetching their inventories.

Intersphinx reads an inventory from a file. Those of Python and numpy would have to be fetched, so the few
objects that are referred to here are listed, and made into inventories when the documentation is built.
"""

from __future__ import annotations

import zlib
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

_PYTHON = "https://docs.python.org/3"
_NUMPY = "https://numpy.org/doc/stable"
# By documentation: objects by name, with their kind and the page that describes them.
OBJECTS = {
    ("python", _PYTHON): {
        "ValueError": ("py:exception", "library/exceptions.html#ValueError"),
        "ArithmeticError": ("py:exception", "library/exceptions.html#ArithmeticError"),
        "OSError": ("py:exception", "library/exceptions.html#OSError"),
        "float": ("py:class", "library/functions.html#float"),
        "int": ("py:class", "library/functions.html#int"),
    },
    ("numpy", _NUMPY): {
        "numpy.ndarray": ("py:class", "reference/generated/numpy.ndarray.html"),
        "numpy.random.Generator": ("py:class", "reference/random/generator.html"),
    },
}


def inventory(project: str, objects: dict[str, tuple[str, str]]) -> bytes:
    """Return an inventory in the format, version 2, that intersphinx reads."""
    head = (
        "# Sphinx inventory version 2\n"
        f"# Project: {project}\n"
        "# Version: \n"
        "# The remainder of this file is compressed using zlib.\n"
    )
    lines = "".join(f"{name} {kind} 1 {page} -\n" for name, (kind, page) in objects.items())
    return head.encode() + zlib.compress(lines.encode())


def _write(app: Sphinx, config: Config) -> None:
    folder = Path(app.doctreedir) / "inventories"
    folder.mkdir(parents=True, exist_ok=True)
    config.intersphinx_mapping = {}
    for (project, address), objects in OBJECTS.items():
        path = folder / f"{project}.inv"
        path.write_bytes(inventory(project, objects))
        config.intersphinx_mapping[project] = (address, str(path))


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx read the inventories."""
    app.connect("config-inited", _write, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
