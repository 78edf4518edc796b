"""Products of the workflow, and whether they are current.

A product (a curve, a figure, a ledger) is made on a request, which holds its parameters and a digest of the
library code that it depends on (``digest``). The record beside the product keeps the request and the
checksums of its input and output files (``requests``). A product is current if its record has the parameters
and the digest of the request, and the checksums of the files. Content alone decides, so that the answer is
right in a fresh clone, where times of modification mean nothing. The modules that a record names are
information for readers: they may have been moved since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from shuffledp.records import digest, files

_DECIDING = ("parameters", "code")


@dataclass(frozen=True)
class Product:
    """Something the workflow makes.

    Attributes:
        record: path of the JSON record beside the outputs.
        parameters: everything that decides the content, apart from code and input files; JSON values.
        modules: the modules whose code decides the content.
        outputs: paths of the files made.
        inputs: paths of the files read.
        without: modules behind those that do not decide the content, such as checks of arguments.
    """

    record: str
    parameters: Mapping[str, Any]
    modules: Sequence[str]
    outputs: Sequence[str]
    inputs: Sequence[str] = field(default=())
    without: Sequence[str] = field(default=())

    def request(self) -> dict[str, Any]:
        """Return the request: parameters, modules, and the digest of the modules that count."""
        request = {"parameters": dict(self.parameters), "modules": list(self.modules)}
        if self.without:
            request["without"] = list(self.without)
        return {**request, "code": digest.code_digest(tuple(self.modules), tuple(self.without))}

    @classmethod
    def from_request(cls, content: Mapping[str, Any]) -> Product:
        """Return the product that a request asks for.

        Args:
            content: what ``requests.stage`` wrote.

        Raises:
            TypeError: the content names no record, parameters, modules or outputs.
        """
        known = {entry.name for entry in fields(cls)}
        return cls(**{key: value for key, value in content.items() if key in known})

    def is_current(self) -> bool:
        """Return whether outputs and record exist and match the request, the inputs and each other."""
        try:
            record = files.read_json(self.record)
            request = self.request()
            return (
                all(record["request"][key] == request[key] for key in _DECIDING)
                and record["outputs"] == checksums(self.outputs)
                and record["inputs"] == checksums(self.inputs)
            )
        except (OSError, ValueError, KeyError, TypeError):
            return False


def checksums(paths: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of each file, by its name."""
    return {Path(path).as_posix(): files.sha256(path) for path in paths}
