"""Loading of the configuration: files are read, laid over each other, checked, and resolved."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, create_model

from shuffledp.records.yaml_files import with_numbers
from shuffledp.reproduction.config.settings import Settings
from shuffledp.reproduction.figures.kind import PaperFigure, kinds
from shuffledp.reproduction.sections import faults
from shuffledp.reproduction.sections.captions import Caption, Captions, check_captions, with_captions
from shuffledp.reproduction.sections.context import Context, Randomizers, Styles, of_randomizers
from shuffledp.reproduction.sections.model import LEFT_OUT, Section
from shuffledp.reproduction.sections.paths import Paths, wrong_path
from shuffledp.reproduction.sections.places import fault, refuse_repeated
from shuffledp.reproduction.sections.reading import overlay, read
from shuffledp.reproduction.sections.training import Training, experiments, tunings


class _Common(Section):
    paths: Paths
    """Where the workflow writes, relative to the repository."""
    captions: Captions = Field(default={})
    styles: Styles
    randomizers: Randomizers = Field(default={})
    training: Training = Training()
    """Runs of CLDP-SGD, and their data."""


@functools.cache
def model() -> type[_Common]:
    """Return the model of a whole configuration: its common sections, and one for each kind of figure."""
    sections = dict(kind.section() for kind in kinds().values())
    fields: dict[str, Any] = {key: (annotation, LEFT_OUT) for key, annotation in sections.items()}
    return create_model("Configuration", __base__=_Common, **fields)


def load(paths: Iterable[Path | str]) -> Settings:
    """Read configuration files, each laid over those before it, and resolve them.

    Raises:
        ValueError: a file cannot be read as YAML, or the result breaks the model or a rule across fields.
    """
    names = [str(path) for path in paths]
    merged: dict[str, Any] = {}
    for name in names:
        merged = overlay(merged, read(name))
    return resolve(merged, files=names)


def resolve(raw: Mapping[str, Any], *, files: Sequence[str] = ()) -> Settings:
    """Check a configuration and fill in its defaults.

    Args:
        raw: the configuration as a YAML reader returns it.
        files: the files that it comes from, in order, where later ones override earlier ones; they serve to
            find the line of a fault.

    Returns:
        The settings, with all points and parameters of every curve.

    Raises:
        ValueError: naming the key, its line, the value and the remedy.
    """
    for name in files:
        refuse_repeated(name)
    data = with_numbers(copy.deepcopy(dict(raw)))
    data = with_captions(data, _papers(data), files)
    found = _checked(data, files)
    by_section = {kind.section()[0]: kind for kind in kinds().values()}
    declared = [
        (kind, *entry)
        for key, kind in by_section.items()
        if getattr(found, key) is not None
        for entry in kind.declared(getattr(found, key))
    ]
    known = experiments(found.training, files)
    check_captions(found.captions, [(at, paper, name) for _, at, paper, name, _ in declared], files)
    context = Context(
        files=files,
        styles=found.styles,
        randomizers=of_randomizers(found.randomizers, files),
        experiments=known,
    )
    return Settings(
        **found.paths.model_dump(),
        declared=_figures(declared, found.captions, context),
        experiments=known,
        tunings=tunings(found.training, known, files),
        data_root=found.training.data.root,
        device=found.training.device,
        batch_seeds=found.training.batch_seeds,
    )


def _papers(data: Mapping[str, Any]) -> list[str]:
    """Return the papers of the figures in a configuration that is not checked yet."""
    sections = (data.get(kind.section()[0]) for kind in kinds().values())
    names = (name for section in sections if isinstance(section, dict) for name in section)
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def _checked(data: dict[str, Any], files: Sequence[str]) -> Any:
    """Return a configuration, checked by its model."""
    wrong = faults.not_finite(data)
    found = None
    if not wrong:
        try:
            found = model().model_validate(data)
        except ValidationError as error:
            wrong = faults.first(error, faults.schema_of(model()))
    if not wrong:
        wrong = wrong_path(data["paths"])
    if wrong:
        path, message = wrong
        raise fault(message, path, files)
    return found


def _figures(
    declared: Iterable[tuple[type[PaperFigure], list[str], str, str, Any]],
    captions: Mapping[str, Mapping[str, Caption]],
    context: Context,
) -> tuple[PaperFigure, ...]:
    """Return the resolved figures of a configuration."""
    found: dict[tuple[str, str], PaperFigure] = {}
    for kind, at, paper, name, own in declared:
        if (paper, name) in found:
            raise context.fault(
                f"figure {name!r} of {paper!r} stands under {found[paper, name].kind} too; give one of them "
                f"another name",
                at,
            )
        found[paper, name] = kind.resolve(paper, name, own, captions[paper][name], context)
    return tuple(found.values())
