"""The workflow's configuration: read, checked against the schema, and resolved to what has to be made."""

from __future__ import annotations

import copy
import difflib
import functools
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import jsonschema
import numpy as np
import yaml

from shuffledp import accountants
from shuffledp.accountants import named, registry, systems
from shuffledp.accountants.systems import System, answer, variables
from shuffledp.records import refusals
from shuffledp.records.provenance import Product
from shuffledp.reproduction import simulations
from shuffledp.reproduction.curve import Curve
from shuffledp.reproduction.schema import schema
from shuffledp.reproduction.studies import quantities
from shuffledp.reproduction.studies.grid import FOLDER, Sweep, coordinates, parts
from shuffledp.reproduction.trainings import recorded
from shuffledp.reproduction.trainings.accounting import accounting
from shuffledp.reproduction.trainings.grid import Grid
from shuffledp.training.experiment import THEOREM3, Experiment
from shuffledp.variables import VARIABLES, beyond

# What YAML 1.2 calls a number and YAML 1.1, which the reader speaks, leaves a string: 1e-8, 1e5.
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+")
# Of quantities that are drawn, by simulation, and of those that are computed.
_DRAWN = {"runs": 1e6, "n": 1e8, "slots": 1e8}
_MOST_TRAININGS = 100_000  # of a study, since every run of the workflow plans them all
# Training images, of each digit for MNIST; generated ones are made in memory, some kilobytes each.
_MNIST_IMAGES = (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949)
_IMAGES = {"synthetic": 1_000_000, "cifar10": 50_000, "cifar10-jpeg": 50_000}


@dataclass(frozen=True)
class Caption:
    """What a figure's caption says in words of its own: what is shown, and what was chosen."""

    shows: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Drawn:
    """What every figure has: where it goes, its caption, and the resolved settings that it is made from.

    A class of figures names its kind, which is also its section of the configuration, and the field of those
    parts that are drawn only once their experiment's runs are there.
    """

    kind: ClassVar[str]
    parts: ClassVar[str | None] = None

    paper: str
    name: str
    settings: Mapping[str, Any]
    caption: Caption

    def with_runs(self, results: str) -> Drawn | None:
        """Return the figure with those of its parts whose runs are there; None if nothing is left to draw."""
        if self.parts is None:
            return self
        parts = getattr(self, self.parts)
        found = tuple(part for part in parts if recorded.is_trained(part.experiment, results))
        return replace(self, **{self.parts: found}) if found else None


@dataclass(frozen=True)
class Figure(Drawn):
    """One figure of bounds."""

    kind = "bounds"

    curves: tuple[Curve, ...]

    @property
    def drawn(self) -> tuple[Curve, ...]:
        """The curves that appear in the figure."""
        return tuple(curve for curve in self.curves if curve.drawn)


@dataclass(frozen=True)
class QuantityCurve:
    """One quantity of a check-in protocol along one variable."""

    paper: str
    figure: str
    panel: str
    quantity: str
    variable: str
    values: tuple[float, ...]
    fixed: tuple[tuple[str, float], ...]

    def stem(self, results: str) -> str:
        """Return the path of the result without its suffix."""
        return f"{results}/{self.paper}/{self.figure}/{self.panel}/{self.quantity}"

    def product(self, results: str) -> Product:
        """Return the curve as a product of the workflow."""
        stem = self.stem(results)
        return Product(
            record=f"{stem}.json",
            parameters={
                "quantity": self.quantity,
                "variable": self.variable,
                "values": list(self.values),
                "fixed": dict(self.fixed),
            },
            modules=("shuffledp.reproduction.studies.quantities", "shuffledp.records.tables"),
            outputs=(f"{stem}.csv",),
        )


@dataclass(frozen=True)
class QuantityFigure(Drawn):
    """One figure of quantities of check-in protocols."""

    kind = "quantities"

    curves: tuple[QuantityCurve, ...]


@dataclass(frozen=True)
class Utility:
    """The accuracies of an experiment's runs, joined with epsilon by several accountants."""

    paper: str
    figure: str
    panel: str
    experiment: Experiment
    accountants: tuple[str, ...]

    def stem(self, results: str) -> str:
        """Return the path of the result without its suffix."""
        return f"{results}/{self.paper}/{self.figure}/{self.panel}/privacy_utility"

    def product(self, results: str) -> Product:
        """Return the table as a product of the workflow."""
        runs = recorded.runs(self.experiment, results)
        stem = self.stem(results)
        entries = [accountants.get(name) for name in self.accountants]
        setting: dict[str, float] = {}
        for entry in entries:
            setting |= accounting(self.experiment)[entry.protocol, entry.mechanism]
        return Product(
            record=f"{stem}.json",
            parameters={"accountants": list(self.accountants), "setting": setting, "runs": list(runs)},
            modules=(
                "shuffledp.reproduction.studies.accuracy_against_epsilon",
                "shuffledp.records.tables",
                *(entry.compute.__module__ for entry in entries),
            ),
            outputs=(f"{stem}.csv",),
            inputs=runs,
        )


@dataclass(frozen=True)
class AccuracyFigure(Drawn):
    """One figure of accuracy against epsilon."""

    kind = "accuracy"
    parts = "panels"

    panels: tuple[Utility, ...]


@dataclass(frozen=True)
class Convergence(Drawn):
    """One figure of excess risk against Theorem 3 of girgis2021."""

    kind = "convergence"

    experiment: Experiment

    def with_runs(self, results: str) -> Convergence | None:
        """Return the figure if the runs of its experiment are there, and None otherwise."""
        return self if recorded.is_trained(self.experiment, results) else None


@dataclass(frozen=True)
class Simulation:
    """Monte Carlo estimates of the shuffled Gaussian's profile, for one number of clients."""

    paper: str
    figure: str
    n: int
    sigma: float
    eps: tuple[float, ...]
    points: int
    half_width: float
    seed: int

    @property
    def panel(self) -> str:
        """The folder of this number of clients."""
        return f"n{self.n}"

    def stem(self, results: str) -> str:
        """Return the path of the result without its suffix."""
        return f"{results}/{self.paper}/{self.figure}/{self.panel}/monte-carlo"

    def product(self, results: str) -> Product:
        """Return the table of estimates as a product of the workflow."""
        stem = self.stem(results)
        keys = ("n", "sigma", "points", "half_width", "seed")
        return Product(
            record=f"{stem}.json",
            parameters={"eps": list(self.eps), **{key: getattr(self, key) for key in keys}},
            modules=simulations.MODULES,
            outputs=(f"{stem}.csv",),
        )


@dataclass(frozen=True)
class SimulationFigure(Drawn):
    """One figure of Monte Carlo estimates beside the exact profile."""

    kind = "simulation"

    panels: tuple[Simulation, ...]


@dataclass(frozen=True)
class Line:
    """The runs of one experiment in a figure of accuracy against rounds."""

    panel: str
    look: Mapping[str, str]
    experiment: Experiment


@dataclass(frozen=True)
class Progress(Drawn):
    """One figure of accuracy against rounds."""

    kind = "progress"
    parts = "lines"

    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Settings:
    """The resolved configuration."""

    results: str
    figures: str
    ledger: str
    declared: tuple[Drawn, ...] = ()
    experiments: tuple[Experiment, ...] = ()
    grids: tuple[Grid, ...] = ()
    sweep: Sweep | None = None
    data_root: str | None = None
    device: str = "auto"
    batch_seeds: bool = False

    @property
    def drawn(self) -> tuple[Drawn, ...]:
        """The figures that can be drawn, each with those of its parts whose runs are there."""
        return self._with_runs(self.declared)

    def _with_runs(self, figures: Iterable[Drawn]) -> tuple[Any, ...]:
        found = (figure.with_runs(self.results) for figure in figures)
        return tuple(figure for figure in found if figure is not None)

    def of(self, kind: str, *, untrained: bool = False) -> tuple[Any, ...]:
        """Return the figures of a kind that can be drawn, or all of them, with runs or without."""
        figures = tuple(figure for figure in self.declared if figure.kind == kind)
        return figures if untrained else self._with_runs(figures)

    @property
    def curves(self) -> tuple[Curve, ...]:
        """All curves of all figures of bounds."""
        return tuple(curve for figure in self.of("bounds") for curve in figure.curves)

    @property
    def quantity_curves(self) -> tuple[QuantityCurve, ...]:
        """All curves of all figures of quantities."""
        return tuple(curve for figure in self.of("quantities") for curve in figure.curves)

    @property
    def joined(self) -> tuple[Utility, ...]:
        """All tables of accuracy against epsilon whose runs are there."""
        return tuple(panel for figure in self.of("accuracy") for panel in figure.panels)

    @property
    def simulations(self) -> tuple[Simulation, ...]:
        """All tables of Monte Carlo estimates."""
        return tuple(panel for figure in self.of("simulation") for panel in figure.panels)

    def experiment(self, name: str) -> Experiment:
        """Return the experiment of that name.

        Raises:
            ValueError: the configuration has none.
        """
        for experiment in self.experiments:
            if experiment.name == name:
                return experiment
        known = ", ".join(experiment.name for experiment in self.experiments)
        raise ValueError(f"the configuration has no experiment {name!r}; it has {known}")

    def grid(self, name: str) -> Grid:
        """Return what to try before the experiment of that name is run.

        Raises:
            ValueError: the configuration has nothing to try for it.
        """
        for grid in self.grids:
            if grid.experiment.name == name:
                return grid
        known = ", ".join(grid.experiment.name for grid in self.grids)
        raise ValueError(f"the configuration has no tuning of {name!r}; it has {known or 'none'}")

    def trainings(self, experiment: Experiment) -> tuple[Product, ...]:
        """Return the runs of an experiment, one a seed, as products of the workflow."""
        folder = recorded.folder(experiment, self.results)
        return tuple(recorded.product(experiment, folder, seed) for seed in range(experiment.seeds))

    def figure(self, paper: str, name: str) -> Any:
        """Return the figure of that name, with the parts whose runs are there.

        Raises:
            ValueError: the configuration has none, or no run of it is there.
        """
        for figure in self.drawn:
            if (figure.paper, figure.name) == (paper, name):
                return figure
        raise ValueError(f"the configuration has no figure {name!r} of {paper!r}")


def load(paths: Iterable[Path | str]) -> Settings:
    """Read configuration files, each laid over those before it, and resolve them.

    Raises:
        ValueError: a file cannot be read as YAML, or the result breaks the schema or a rule across fields.
    """
    names, merged = [str(path) for path in paths], {}
    for name in names:
        merged = _overlay(merged, _read(name))
    return resolve(merged, files=names)


def check_file(path: Path | str) -> None:
    """Refuse a file that holds no settings at all, for readers that tell neither its name nor the line.

    Raises:
        ValueError: it cannot be read, is no YAML, or has no keys.
    """
    root = _parsed(str(path), _composed)
    if root is not None and not isinstance(root, yaml.MappingNode):
        raise ValueError(f"configuration: {path} must hold keys and values, got a {root.id}")


def _read(name: str) -> dict[str, Any]:
    """Return what a file holds."""
    found = _parsed(name, yaml.safe_load)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ValueError(f"configuration: {name} must hold keys and values, got {type(found).__name__}")
    return found


def _parsed(name: str, parse: Callable[[str], Any]) -> Any:
    """Return what a parser of YAML makes of a file, or say in a line what is wrong with it."""
    try:
        return parse(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"configuration: {refusals.of_system(error)}") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"configuration: {_invalid(name, error)}") from None


def _caption_files(paper: str, files: Sequence[str]) -> list[str]:
    """Return where captions of a paper may stand beside the files of the configuration."""
    folders = dict.fromkeys(Path(name).parent for name in files)
    return [str(folder / "captions" / f"{paper}.yaml") for folder in folders]


def _with_captions(data: dict[str, Any], files: Sequence[str]) -> dict[str, Any]:
    """Return a configuration with the captions that stand in files of their own."""
    found: dict[str, Any] = {}
    sections = (data.get(figures.kind) for figures in Drawn.__subclasses__())
    papers = dict.fromkeys(
        str(paper) for section in sections if isinstance(section, dict) for paper in section
    )
    for paper in papers:
        for name in _caption_files(paper, files):
            if Path(name).exists():
                _refuse_repeated(name)
                found[paper] = _overlay(found.get(paper, {}), _read(name))
    return {**data, "captions": _overlay(found, data.get("captions", {}))}


def _caption(captions: Mapping[str, Any], at: Sequence[str], files: Sequence[str]) -> Caption:
    """Return the caption of the figure at a place."""
    _, paper, name = at
    of_paper = captions.get(paper, {})
    if name not in of_paper:
        wanted = _caption_files(paper, files)[:1]
        place = f"{wanted[0]}" if wanted else f"captions.{paper}"
        raise ValueError(
            f"configuration: figure {name!r} of {paper!r} has no caption; say under {name!r} in {place} what "
            f"it shows (at {_where(at, files)})"
        )
    return Caption(of_paper[name]["shows"], tuple(of_paper[name].get("choices", ())))


def _check_captions(
    captions: Mapping[str, Any], declared: Iterable[tuple[str, str]], files: Sequence[str]
) -> None:
    """Refuse captions of figures that are not there."""
    by_paper: dict[str, list[str]] = {}
    for paper, name in declared:
        by_paper.setdefault(paper, []).append(name)
    for paper, by_name in captions.items():
        if paper not in by_paper:
            hint = _hint(paper, list(by_paper))
            raise ValueError(
                f"configuration: unknown paper {paper!r}: {hint} (at {_where(['captions', paper], files)})"
            )
        for name in by_name:
            if name not in by_paper[paper]:
                hint = _hint(name, by_paper[paper])
                raise ValueError(
                    f"configuration: unknown figure {name!r} of {paper!r}: {hint} "
                    f"(at {_where(['captions', paper, name], files)})"
                )


def _invalid(name: str, error: Exception) -> str:
    """Say in a line where a file is no YAML."""
    if isinstance(error, RecursionError):
        return f"{name} is nested too deeply to be read; write it flat"
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return f"{name} is not valid YAML: {' '.join(str(error).split())}"
    what = " ".join(filter(None, (getattr(error, "context", None), getattr(error, "problem", None))))
    return f"{name} line {mark.line + 1}, column {mark.column + 1} is not valid YAML: {what}"


def _repeated(name: str) -> str | None:
    """Say where a key stands twice in one mapping of a file, of which a reader takes the last; None if none.

    What cannot be read is left to the reader of the file.
    """
    try:
        root = _composed(Path(name).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError, RecursionError):
        return None
    waiting, seen = [root], set()
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in seen:  # an anchor's node stands in several places
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif isinstance(node, yaml.MappingNode):
            lines: dict[tuple[str, str], int] = {}
            for key, value in node.value:
                waiting.append(value)
                if not isinstance(key, yaml.ScalarNode):
                    continue
                line = key.start_mark.line + 1
                if (key.tag, key.value) in lines:
                    before = lines[key.tag, key.value]
                    return (
                        f"key {key.value!r} stands twice in one place of {name}, on line {before} and "
                        f"on line {line}; keep one"
                    )
                lines[key.tag, key.value] = line
    return None


def _refuse_repeated(name: str) -> None:
    twice = _repeated(name)
    if twice:
        raise ValueError(f"configuration: {twice}")


def _overlay(base: Any, layer: Any) -> Any:
    if not (isinstance(base, Mapping) and isinstance(layer, Mapping)):
        return layer
    return {
        key: _overlay(base.get(key), layer[key]) if key in layer else base[key] for key in {**base, **layer}
    }


def resolve(raw: Mapping[str, Any], *, files: Sequence[str] = ()) -> Settings:
    """Check a configuration and fill in what it leaves to defaults.

    Args:
        raw: the configuration as a YAML reader gives it.
        files: the files that it came from, those that override others last, to say on which line a fault is.

    Returns:
        The settings, with every curve's points and parameters spelt out.

    Raises:
        ValueError: naming the key, its line, the value and the remedy.
    """
    data = _with_numbers(copy.deepcopy(dict(raw)))
    for name in files:
        _refuse_repeated(name)
    data = _with_captions(data, files)
    fault = _not_finite(data, []) or _first_fault(data) or _wrong_path(data["paths"])
    if fault:
        path, message = fault
        raise ValueError(f"configuration: {message} (at {_where(path, files)})")

    def figures_of(section: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for paper, by_name in data.get(section, {}).items():
            for name, figure in by_name.items():
                yield paper, name, figure

    randomizers = _randomizers(data.get("randomizers", {}), files)
    training = data.get("training", {})
    experiments = tuple(
        _experiment(name, setting, ["training", "experiments", name], files)
        for name, setting in training.get("experiments", {}).items()
    )
    root = training.get("data", {}).get("root")
    styles = data["styles"]
    # The order is that of messages, and of the figures on their page.
    resolvers: dict[str, Callable[[str, str, dict[str, Any], Caption], Drawn]] = {
        Figure.kind: lambda *of: _figure(*of, styles, randomizers, files),
        QuantityFigure.kind: lambda *of: _quantities(*of, styles, files),
        AccuracyFigure.kind: lambda *of: _accuracy(*of, styles, experiments, files),
        Convergence.kind: lambda *of: _convergence(*of, experiments, files),
        SimulationFigure.kind: lambda *of: _simulation(*of, files),
        Progress.kind: lambda *of: _progress(*of, experiments, files),
    }
    named_figures = [(paper, name) for kind in resolvers for paper, name, _ in figures_of(kind)]
    _check_captions(data["captions"], named_figures, files)
    declared: dict[tuple[str, str], Drawn] = {}
    for kind, resolver in resolvers.items():
        for paper, name, figure in figures_of(kind):
            if (paper, name) in declared:
                raise ValueError(
                    f"configuration: figure {name!r} of {paper!r} stands under {declared[paper, name].kind} "
                    f"too; give one of them another name (at {_where([kind, paper, name], files)})"
                )
            caption = _caption(data["captions"], [kind, paper, name], files)
            declared[paper, name] = resolver(paper, name, figure, caption)
    return Settings(
        **data["paths"],
        declared=tuple(declared.values()),
        experiments=experiments,
        grids=tuple(
            _grid(name, setting, experiments, files) for name, setting in training.get("tuning", {}).items()
        ),
        sweep=_sweep(data["sweep"], data["styles"], files) if "sweep" in data else None,
        data_root=root,
        device=training.get("device", "auto"),
        batch_seeds=training.get("batch_seeds", False),
    )


def _with_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_numbers(item) for item in value]
    return float(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else value


def _not_finite(value: Any, path: list[str]) -> tuple[list[str], str] | None:
    """Return where a number is nan or infinite, which a schema's ranges let pass."""
    if isinstance(value, dict):
        inside = [(str(key), item) for key, item in value.items()]
    elif isinstance(value, list):
        inside = [(str(index), item) for index, item in enumerate(value)]
    else:
        wrong = isinstance(value, float) and not math.isfinite(value)
        return (path, f"{path[-1]} must be a finite number, got {value}") if wrong else None
    return next((fault for key, item in inside if (fault := _not_finite(item, [*path, key]))), None)


def _first_fault(data: dict[str, Any]) -> tuple[list[str], str] | None:
    validator = jsonschema.Draft202012Validator(schema())
    faults = sorted(validator.iter_errors(data), key=lambda fault: [str(key) for key in fault.absolute_path])
    if not faults:
        return None
    fault = faults[0]
    path = [str(key) for key in fault.absolute_path]
    if fault.validator == "additionalProperties":
        known = list(fault.schema["properties"])
        unknown = next(key for key in fault.instance if key not in known)
        return [*path, str(unknown)], f"unknown key {unknown!r}: {_hint(unknown, known)}"
    meaning = fault.schema.get("description", "") if isinstance(fault.schema, Mapping) else ""
    return path, fault.message + (f". {meaning}" if meaning else "")


def _hint(unknown: object, known: Sequence[str]) -> str:
    """Say what was meant, or what there is."""
    close = difflib.get_close_matches(str(unknown), known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"


def _wrong_path(paths: Mapping[str, str]) -> tuple[list[str], str] | None:
    """Return which path can be no product's: a file is where a folder must be, or the other way round."""
    for key, value in paths.items():
        is_file = key == "ledger"
        if is_file and Path(value).is_dir():
            return ["paths", key], f"{key} must be a file, got {value!r}, which is a folder"
        # a copy that is read only may be asked what is in it
        why_not = refusals.of_folder(str(Path(value).parent) if is_file else value, written=False)
        if why_not:
            return ["paths", key], f"{'the folder of ' if is_file else ''}{key} {why_not}"
    return None


def _where(path: Sequence[str], files: Sequence[str]) -> str:
    """Return the key and, as far as a file has it, the file and line; what overrides comes first."""
    dotted = ".".join(path) or "top level"
    places = [(name, 0) for name in reversed(files)]
    if len(path) > 2 and path[0] == "captions":  # figures stand at the top of a paper's file
        places += [(name, 2) for name in reversed(_caption_files(path[1], files))]
    for depth in range(len(path), 0, -1):
        for name, above in places:
            line = _line(path[above:depth], name)
            if line:
                return f"{dotted}, {name} line {line}"
    return dotted


def _line(path: Sequence[str], name: str) -> int | None:
    """Return the line of a key or list item in a file, if the file has it."""
    try:
        node = _composed(Path(name).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError):
        return None
    line = None
    for key in path:
        if isinstance(node, yaml.SequenceNode) and key.isdigit() and int(key) < len(node.value):
            node = node.value[int(key)]
            line = node.start_mark.line + 1
        elif isinstance(node, yaml.MappingNode):
            found = next(((at, value) for at, value in node.value if at.value == key), None)
            if found is None:
                return None
            line, node = found[0].start_mark.line + 1, found[1]
        else:
            return None
    return line


@functools.cache
def _composed(text: str) -> yaml.Node | None:
    """The nodes of a YAML file, which know their lines."""
    return yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _experiment(
    name: str,
    setting: dict[str, Any],
    at: list[str],
    files: Sequence[str],
    elsewhere: Mapping[str, list[str]] | None = None,
) -> Experiment:
    """Return an experiment whose settings are at one place of the configuration, but for those elsewhere."""
    lists = {key: tuple(value) for key, value in setting.items() if isinstance(value, list)}
    try:
        made = Experiment(name=name, **{**setting, **lists})
        _check_images(made)
        return made
    except ValueError as error:
        fault = next((key for key in setting if str(error).startswith(key)), None)
        place = (elsewhere or {}).get(fault, [*at, fault]) if fault else at
        raise ValueError(f"configuration: {error} (at {_where(place, files)})") from None


def _images(experiment: Experiment) -> int:
    """Return how many training images there are for an experiment's clients to hold."""
    if experiment.data in _IMAGES:
        return _IMAGES[experiment.data] // (2 if experiment.features == "public-half" else 1)
    return sum(_MNIST_IMAGES[digit] for digit in experiment.digits or range(10))


def _check_images(experiment: Experiment) -> None:
    most = _images(experiment)
    if not experiment.bootstrap and experiment.n > most:
        of = f" of {', '.join(map(str, experiment.digits))}" if experiment.digits else ""
        raise ValueError(
            f"n must be at most {most}, the training images of {experiment.data}{of}, one a client, got "
            f"{experiment.n}"
        )


def _sweep(setting: dict[str, Any], styles: dict[str, Any], files: Sequence[str]) -> Sweep:
    setting.setdefault("choices", [])
    grid, at = setting["grid"], ["sweep", "grid"]
    axes = {"eps0": grid["eps0"], "k": grid["k"], "randomizer": [one["name"] for one in grid["randomizer"]]}
    first = {axis: values[0] for axis, values in axes.items()}
    for axis, values in axes.items():
        seen = Counter(coordinates(**{**first, axis: value})[axis] for value in values)
        value, times = seen.most_common(1)[0]
        if times > 1:
            raise ValueError(
                f"configuration: {axis} must name each value once, numbers to ten digits, got {value} "
                f"{times} times (at {_where([*at, axis], files)})"
            )
    trainings = math.prod(map(len, axes.values())) * int(setting["experiment"].get("seeds", 1))
    if trainings > _MOST_TRAININGS:
        raise ValueError(
            f"configuration: grid and seeds must make at most {_MOST_TRAININGS} trainings, since every run "
            f"of the workflow plans them all, got {trainings} (at {_where(at, files)})"
        )
    cells = []
    for (row, eps0), (column, k), (layer, randomizer) in itertools.product(
        *(enumerate(grid[axis]) for axis in ("eps0", "k", "randomizer"))
    ):
        own = {key: value for key, value in randomizer.items() if key != "name"}
        elsewhere = {key: [*at, "randomizer", str(layer), key] for key in own}
        elsewhere |= {"eps0": [*at, "eps0", str(row)], "k": [*at, "k", str(column)]}
        point = {"eps0": eps0, "k": k, "randomizer": randomizer["name"]}
        name, found = "/".join(parts(coordinates(**point))), {**setting["experiment"], **own, **point}
        cells.append(_experiment(name, {**found, "clip": "norm"}, ["sweep", "experiment"], files, elsewhere))
    for index, accountant in enumerate(setting["curves"]):
        place = ["sweep", "curves", str(index)]
        _check_accountant(accountant, True, styles, place, files)
        _check_system(accountant, cells[0], _where(place, files))
        if accountants.get(accountant).mechanism != systems.MAIN[1]:
            raise ValueError(
                f"configuration: sweep.curves must be bounds by eps0 alone, which serve all randomisers, got "
                f"{accountant!r}; leave it out (at {_where(place, files)})"
            )
    curves = [
        Curve(
            FOLDER,
            *cell.name.split("/")[:2],
            accountant,
            "rounds",
            tuple(float(epoch * cell.rounds_per_epoch) for epoch in range(1, cell.total_epochs + 1)),
            tuple((key, float(value)) for key, value in accounting(cell)[systems.MAIN].items()),
            True,
        )
        # accounting by eps0 alone is the same for all randomisers
        for cell in {(cell.eps0, cell.k): cell for cell in cells}.values()
        for accountant in setting["curves"]
    ]
    looks = _looks(setting["curves"], styles)
    return Sweep({**setting, "styles": looks}, tuple(cells), tuple(curves))


def _grid(
    name: str, setting: dict[str, Any], experiments: Sequence[Experiment], files: Sequence[str]
) -> Grid:
    where = _where(["training", "tuning", name], files)
    known = {entry.name: entry for entry in experiments}
    if name not in known:
        raise ValueError(
            f"configuration: tuning is of one of training.experiments ({', '.join(known)}), got {name!r} "
            f"(at {where})"
        )
    rates = tuple(float(rate) for rate in setting["learning_rates"])
    try:
        return Grid(experiment=known[name], **{**setting, "learning_rates": rates})
    except ValueError as error:
        raise ValueError(f"configuration: {error} (at {where})") from None


def _accuracy(
    paper: str,
    name: str,
    figure: dict[str, Any],
    caption: Caption,
    styles: dict[str, Any],
    experiments: Sequence[Experiment],
    files: Sequence[str],
) -> AccuracyFigure:
    at = ["accuracy", paper, name]
    figure.setdefault("x_scale", "linear")
    figure.setdefault("x_limit", None)
    figure.setdefault("stated", [])
    for index, point in enumerate(figure["stated"]):
        for key, known in (("panel", figure["panels"]), ("curve", figure["curves"])):
            if point[key] not in known:
                where = _where([*at, "stated", str(index), key], files)
                raise ValueError(
                    f"configuration: {key} of what the paper states must be one of the figure's "
                    f"({', '.join(known)}), got {point[key]!r} (at {where})"
                )
    private = {entry.name: entry for entry in experiments if accounting(entry)}
    panels = []
    for accountant in figure["curves"]:
        _check_accountant(accountant, True, styles, [*at, "curves"], files)
    for label, panel in figure["panels"].items():
        where = _where([*at, "panels", label, "experiment"], files)
        if panel["experiment"] not in private:
            raise ValueError(
                f"configuration: experiment must be one with a local randomiser, a delta and a protocol "
                f"that is accounted for by rounds ({', '.join(private)}), got {panel['experiment']!r} "
                f"(at {where})"
            )
        experiment = private[panel["experiment"]]
        for accountant in figure["curves"]:
            _check_system(accountant, experiment, where)
        panels.append(Utility(paper, name, label, experiment, tuple(figure["curves"])))
    return AccuracyFigure(
        paper, name, {**figure, "styles": _looks(figure["curves"], styles)}, caption, tuple(panels)
    )


def _convergence(
    paper: str,
    name: str,
    figure: dict[str, Any],
    caption: Caption,
    experiments: Sequence[Experiment],
    files: Sequence[str],
) -> Convergence:
    fitting = {
        entry.name: entry for entry in experiments if entry.schedule == THEOREM3 and entry.delta is not None
    }
    if figure["experiment"] not in fitting:
        raise ValueError(
            f"configuration: experiment must be one with schedule {THEOREM3!r} and a delta "
            f"({', '.join(fitting)}), got {figure['experiment']!r} "
            f"(at {_where(['convergence', paper, name, 'experiment'], files)})"
        )
    return Convergence(paper, name, figure, caption, fitting[figure["experiment"]])


def _simulation(
    paper: str, name: str, figure: dict[str, Any], caption: Caption, files: Sequence[str]
) -> SimulationFigure:
    _, eps = _points(
        {"variable": "epsilon", **figure["epsilon"]}, ["simulation", paper, name], files, "epsilon"
    )
    keys = {"sigma": float, "points": int, "half_width": float, "seed": int}
    setting = {key: read(figure[key]) for key, read in keys.items()}
    panels = [Simulation(paper, name, int(n), eps=eps, **setting) for n in figure["clients"]]
    return SimulationFigure(paper, name, figure, caption, tuple(panels))


def _progress(
    paper: str,
    name: str,
    figure: dict[str, Any],
    caption: Caption,
    experiments: Sequence[Experiment],
    files: Sequence[str],
) -> Progress:
    known = {entry.name: entry for entry in experiments}
    lines = []
    for label, panel in figure["panels"].items():
        for index, line in enumerate(panel["lines"]):
            if line["experiment"] not in known:
                at = ["progress", paper, name, "panels", label, "lines", str(index), "experiment"]
                raise ValueError(
                    f"configuration: experiment must be one of training.experiments ({', '.join(known)}), "
                    f"got {line['experiment']!r} (at {_where(at, files)})"
                )
            look = {key: line[key] for key in ("color", "line", "label")}
            lines.append(Line(label, look, known[line["experiment"]]))
    return Progress(paper, name, figure, caption, tuple(lines))


def _looks(
    names: Sequence[str], styles: dict[str, Any], randomizers: Mapping[str, dict[str, Any]] | None = None
) -> dict[str, Any]:
    own = randomizers or {}
    return {
        name: {"label": named.accountant(name, **own.get(name, {})).label, **styles[name]} for name in names
    }


def _randomizers(section: Mapping[str, dict[str, Any]], files: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what ``named.accountant`` takes of each curve of a randomiser, by the curve's name."""
    found = {}
    for name, given in section.items():
        where = _where(["randomizers", name], files)
        for kind in ("upper", "lower"):
            curve = f"{name}-{kind}"
            try:
                named.accountant(curve, kind=kind, **given)
            except ValueError as error:
                raise ValueError(f"configuration: {error} (at {where})") from None
            found[curve] = {"kind": kind, **given}
            if registry.known(curve):
                raise ValueError(
                    f"configuration: {curve!r} is an accountant of the registry; give the randomiser another "
                    f"name (at {where})"
                )
    return found


def _figure(
    paper: str,
    name: str,
    figure: dict[str, Any],
    caption: Caption,
    styles: dict[str, Any],
    randomizers: Mapping[str, dict[str, Any]],
    files: Sequence[str],
) -> Figure:
    at = ["bounds", paper, name]
    undrawn = figure.setdefault("undrawn", [])
    ratio, relative = figure.setdefault("ratio", None), figure.setdefault("relative", None)
    if ratio and relative:
        raise ValueError(
            f"configuration: ratio and relative share the strip under a panel; remove one "
            f"(at {_where([*at, 'relative'], files)})"
        )
    curves: list[Curve] = []
    for label, panel in figure["panels"].items():
        here = [*at, "panels", label]
        if panel["x"]["variable"] in panel:
            raise ValueError(
                f"configuration: {panel['x']['variable']} varies along x and cannot be fixed too; remove one "
                f"(at {_where([*here, panel['x']['variable']], files)})"
            )
        if "delta" in figure and panel["x"]["variable"] != "epsilon":
            panel.setdefault("delta", figure["delta"])
        panel.setdefault("undrawn", [])
        panel.setdefault("title", "")
        variable, values = _points(panel["x"], here, files)
        given = {name: float(panel[name]) for name in variables() if name in panel}
        _check_range(given, variable, values, here, files)
        place = [*(here if "curves" in panel else at), "curves"]
        drawn = panel.get("curves", figure.get("curves", []))
        if not drawn:
            raise ValueError(
                f"configuration: curves must be named, by the figure or by each of its panels "
                f"(at {_where(here, files)})"
            )
        if ratio and not set(ratio) <= set(drawn):
            raise ValueError(
                f"configuration: ratio must name curves of each panel, got {', '.join(ratio)} "
                f"(at {_where([*at, 'ratio'], files)})"
            )
        if relative and relative not in drawn:
            raise ValueError(
                f"configuration: relative must name a curve of each panel, got {relative!r} "
                f"(at {_where([*at, 'relative'], files)})"
            )
        wanted = [(curve, place) for curve in drawn]
        wanted += [(curve, [*at, "undrawn"]) for curve in undrawn]
        wanted += [(curve, [*here, "undrawn"]) for curve in panel["undrawn"]]
        twice = [name for name, times in Counter(name for name, _ in wanted).items() if times > 1]
        if twice:
            raise ValueError(
                f"configuration: {twice[0]!r} is named twice among curves and undrawn; name it once "
                f"(at {_where(at, files)})"
            )
        for accountant, place in wanted:
            is_drawn = place[-1] == "curves"
            own = randomizers.get(accountant, {})
            if own and answer(variable) == "delta":
                raise ValueError(
                    f"configuration: {variable} cannot vary for {accountant!r}, which is of a randomiser; "
                    f"vary another variable (at {_where([*here, 'x', 'variable'], files)})"
                )
            _check_accountant(accountant, is_drawn, styles, place, files, own)
            system = named.accountant(accountant, **own).system
            fixed = tuple(_fixed(accountant, system, variable, given, here, files).items())
            found = (paper, name, label, accountant, variable, values, fixed, is_drawn)
            curves.append(Curve(*found, tuple(own.items())))
        used = {key for curve in curves if curve.panel == label for key, _ in curve.fixed}
        idle = [key for key in given if key not in used]
        if idle:
            raise ValueError(
                f"configuration: {idle[0]} is fixed here and no accountant of the panel takes it; remove it "
                f"(at {_where([*here, idle[0]], files)})"
            )
    names = list(dict.fromkeys(curve.accountant for curve in curves if curve.drawn))
    settings = {**figure, "curves": names, "styles": _looks(names, styles, randomizers)}
    return Figure(paper, name, settings, caption, tuple(curves))


def _quantities(
    paper: str,
    name: str,
    figure: dict[str, Any],
    caption: Caption,
    styles: dict[str, Any],
    files: Sequence[str],
) -> QuantityFigure:
    at = ["quantities", paper, name]
    curves: list[QuantityCurve] = []
    for label, panel in figure["panels"].items():
        here = [*at, "panels", label]
        variable, values = _points(panel["x"], here, files)
        for index, quantity in enumerate(panel["curves"]):
            place = [*here, "curves", str(index)]
            try:
                entry = quantities.get(quantity)
            except ValueError as error:
                raise ValueError(f"configuration: {error} (at {_where(place, files)})") from None
            _check_style(quantity, styles, place, files)
            missing = [key for key in entry.variables if key not in (*panel["fixed"], variable)]
            if missing or variable not in entry.variables:
                raise ValueError(
                    f"configuration: {quantity!r} takes {', '.join(entry.variables)}; let one of them vary "
                    f"and fix the others (at {_where(place, files)})"
                )
            fixed = tuple((key, float(panel["fixed"][key])) for key in entry.variables if key != variable)
            drawn = "runs" in entry.variables
            for key, value in (*fixed, (variable, max(values))):
                at_x = key == variable
                spot = _where([*here, "x", "to"] if at_x else [*here, "fixed", key], files)
                if drawn and value > _DRAWN.get(key, math.inf):
                    raise ValueError(
                        f"configuration: {key} must be at most {_DRAWN[key]:g}, since {quantity!r} is drawn "
                        f"by simulation, got {value:g} (at {spot})"
                    )
                _check_limit(key, value, spot)
            curves.append(QuantityCurve(paper, name, label, quantity, variable, values, fixed))
    looks = {
        quantity: {"label": quantities.get(quantity).label, **styles[quantity]}
        for quantity in dict.fromkeys(curve.quantity for curve in curves)
    }
    return QuantityFigure(paper, name, {**figure, "styles": looks}, caption, tuple(curves))


def _points(
    x: dict[str, Any], at: list[str], files: Sequence[str], key: str = "x"
) -> tuple[str, tuple[float, ...]]:
    first, last, variable = float(x["from"]), float(x["to"]), x["variable"]
    if first >= last:
        raise ValueError(
            f"configuration: {key}.from must be less than {key}.to, got {first:g} and {last:g} "
            f"(at {_where([*at, key, 'from'], files)})"
        )
    spaced = np.linspace if variable == "epsilon" else np.geomspace
    points = spaced(first, last, int(x["points"]))
    points[0], points[-1] = first, last
    if variable in VARIABLES and VARIABLES[variable].whole:
        points = np.unique(points.round())
        if points[0] < 1:
            raise ValueError(
                f"configuration: {variable} along x is rounded to whole numbers and must start at 1 or more, "
                f"got {first:g} (at {_where([*at, 'x', 'from'], files)})"
            )
    return variable, tuple(points.tolist())


def _check_range(
    given: dict[str, float], variable: str, values: tuple[float, ...], at: list[str], files: Sequence[str]
) -> None:
    for value in (min(values), max(values)):
        _check_limit(variable, value, _where([*at, "x"], files))
    smallest, largest = {variable: min(values), **given}, {variable: max(values), **given}
    if "k" in largest and "n" in smallest and largest["k"] > smallest["n"]:
        raise ValueError(
            f"configuration: k must be at most n, got k up to {largest['k']:g} and n from "
            f"{smallest['n']:g}; draw fewer clients per round or start x higher "
            f"(at {_where([*at, 'k'], files)})"
        )
    ends = VARIABLES[variable].range
    if ends.most < math.inf and max(values) not in ends:
        words = f"stay below {ends.most:g}" if ends.without_most else f"be at most {ends.most:g}"
        raise ValueError(f"configuration: {variable} must {words} along x (at {_where([*at, 'x'], files)})")


def _check_limit(variable: str, value: float, where: str) -> None:
    words = beyond(variable, value)
    if words:
        raise ValueError(f"configuration: {variable} {words} (at {where})")


def _fixed(
    accountant: str,
    system: System,
    variable: str,
    given: dict[str, float],
    at: list[str],
    files: Sequence[str],
) -> dict[str, float]:
    """Return what an accountant takes of the variables that a panel fixes."""
    wanted = system.curve_variables(variable)
    if variable not in wanted:
        raise ValueError(
            f"configuration: {variable} does not vary for {accountant!r}, which takes {', '.join(wanted)} "
            f"(at {_where([*at, 'x', 'variable'], files)})"
        )
    missing = [name for name in wanted if name not in given and name != variable]
    if missing:
        raise ValueError(
            f"configuration: the panel must fix {', '.join(missing)}, since only {variable} varies and "
            f"{accountant!r} takes them (at {_where(at, files)})"
        )
    return {name: given[name] for name in wanted if name != variable}


def _check_accountant(
    name: str,
    drawn: bool,
    styles: dict[str, Any],
    place: list[str],
    files: Sequence[str],
    own: Mapping[str, Any] | None = None,
) -> None:
    try:
        named.accountant(name, **(own or {}))
    except ValueError as error:
        raise ValueError(f"configuration: {error} (at {_where(place, files)})") from None
    if drawn:
        _check_style(name, styles, place, files)


def _check_system(accountant: str, experiment: Experiment, where: str) -> None:
    entry = accountants.get(accountant)
    if (entry.protocol, entry.mechanism) not in accounting(experiment):
        known = " or ".join(" with ".join(system) for system in accounting(experiment))
        raise ValueError(
            f"configuration: experiment must be of the system of each of curves: {accountant!r} is "
            f"for {entry.protocol} with {entry.mechanism}, and {experiment.name!r} is {known} (at {where})"
        )


def _check_style(name: str, styles: dict[str, Any], place: list[str], files: Sequence[str]) -> None:
    if name not in styles:
        raise ValueError(
            f"configuration: {name!r} is drawn here and has no entry under styles; add one "
            f"(at {_where(place, files)})"
        )
