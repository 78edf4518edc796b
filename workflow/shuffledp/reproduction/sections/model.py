"""The base of models of sections, and annotations for their fields.

Every field has a description, from which the page of keys is made.
"""

from __future__ import annotations

import ast
import functools
import itertools
import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from shuffledp.variables import Variable

# The default of a field that may be left out, whatever its type; null itself is refused.
LEFT_OUT: Any = None
NAME = "^[a-z0-9][a-z0-9_-]*$"
_EXACT = 2**53  # bounds up to it are written as whole numbers


class Section(BaseModel):
    """A part of the configuration: these keys, with values of these types, and no others."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the JSON schema of the section, with the docstrings below its fields as descriptions."""
        found = handler(schema)
        properties = handler.resolve_ref_schema(found)["properties"]
        for one in cls.__mro__:
            for field, words in _docstrings(one.__module__).get(one.__name__, {}).items():
                key = cls.model_fields[field].alias or field
                properties[key].setdefault("description", words)
        return found


# Pydantic could read them, but would do so whenever a section is imported, which doubles the time of that.
@functools.cache
def _docstrings(module: str) -> dict[str, dict[str, str]]:
    """Return the docstrings below the fields of a module's classes, by class and field."""
    path = getattr(sys.modules[module], "__file__", None)
    if not module.startswith(f"{__package__.partition('.')[0]}.") or path is None:
        return {}
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    return {node.name: dict(_below(node)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _below(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, after in itertools.pairwise(node.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            value = after.value if isinstance(after, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield field.target.id, value.value


@dataclass(frozen=True)
class Count:
    """Annotation of a whole number, which may also be written as 1e6.

    Attributes:
        least: the smallest.
        most: the largest; None if there is none.
    """

    least: float
    most: float | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return what pydantic checks the field by."""
        most = None if self.most is None else int(self.most)
        whole = core_schema.int_schema(strict=True, ge=int(self.least), le=most)
        return core_schema.no_info_before_validator_function(self._whole, whole)

    @staticmethod
    def _whole(value: Any) -> Any:
        return int(value) if isinstance(value, float) and value.is_integer() else value


@dataclass(frozen=True)
class OneOf:
    """Annotation of a field that must be one of these words."""

    words: tuple[str, ...]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return what pydantic checks the field by."""
        return core_schema.literal_schema(list(self.words))


@dataclass(frozen=True)
class By:
    """Annotation of a mapping whose keys are names that the user chooses.

    Attributes:
        what: the kind of thing that is named, for the page of keys.
        free: whether any text may be a name.
    """

    what: str
    free: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return what pydantic checks the field by."""
        inner: Any = handler(source)
        if not self.free:
            inner["keys_schema"] = core_schema.str_schema(pattern=NAME, strict=True)
        return cast("CoreSchema", inner)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the JSON schema of the field."""
        found = handler.resolve_ref_schema(handler(schema))
        values = found.get("additionalProperties") or next(iter(found["patternProperties"].values()))
        found = {key: value for key, value in found.items() if key != "patternProperties"}
        return {**found, "additionalProperties": values, "propertyNames": {"title": self.what}}


@dataclass(frozen=True)
class Unique:
    """Annotation of a list that must not have equal items."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return what pydantic checks the field by."""
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    @staticmethod
    def _checked(found: list[Any]) -> list[Any]:
        if any(one in found[:index] for index, one in enumerate(found)):
            raise PydanticCustomError("not_unique", "has non-unique elements")
        return found


def of_variable(variable: Variable) -> Any:
    """Return the annotation of a field that holds a variable of accounting, with its limits."""
    ends, limit = variable.range, variable.limit
    described = Field(description=variable.description)
    if variable.whole:
        most = min(ends.largest, limit.most if limit else math.inf)
        return Annotated[int, Count(ends.smallest, None if most == math.inf else most), described]
    found: dict[str, Any] = {}
    if limit and ends.without_least and limit.least > ends.least >= 0:
        found["ge"] = limit.least
    elif ends.least > -math.inf:
        found["gt" if ends.without_least else "ge"] = _bound(ends.least)
    if limit and limit.most < ends.most:
        found["le"] = _bound(limit.most)
    elif ends.most < math.inf:
        found["lt" if ends.without_most else "le"] = _bound(ends.most)
    return Annotated[float, Field(**found), described]


def _bound(value: float) -> float:
    return int(value) if value <= _EXACT and value == int(value) else value


def fields_of(variables: Iterable[Variable]) -> dict[str, Any]:
    """Return arguments of ``pydantic.create_model`` that make an optional field for each variable."""
    return {one.name: (of_variable(one), LEFT_OUT) for one in variables}


Name = Annotated[str, Field(pattern=NAME)]
Words = Annotated[list[str], Unique()]
Color = Annotated[str, Field(pattern="^#[0-9a-fA-F]{6}$")]
Target = Annotated[float, Field(gt=0, lt=1)]
Points = Annotated[int, Count(2, 10_000)]
