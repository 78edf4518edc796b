"""The figures as products of the workflow: what each is made from, and what its caption is told."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shuffledp import accountants
from shuffledp.accountants.systems import answer
from shuffledp.records import files
from shuffledp.records.provenance import Product
from shuffledp.reproduction.config import (
    AccuracyFigure,
    Caption,
    Convergence,
    Drawn,
    Figure,
    Progress,
    QuantityFigure,
    Settings,
    SimulationFigure,
)
from shuffledp.reproduction.figures.captions import power_of_ten, render_caption, short
from shuffledp.reproduction.studies import quantities as registry
from shuffledp.reproduction.studies.grid import FOLDER, Sweep
from shuffledp.reproduction.trainings import recorded
from shuffledp.training.experiment import Experiment
from shuffledp.training.sgd.schedule import SAMPLING
from shuffledp.variables import VARIABLES


def _product(
    settings: Settings, figure: Drawn, *, drawn_by: str, parameters: Mapping[str, Any], inputs: Sequence[str]
) -> Product:
    """Return a figure as a product: what a module of ``figures`` makes of tables."""
    stem = f"{settings.figures}/{figure.paper}/{figure.name}"
    return Product(
        record=f"{stem}.json",
        parameters=parameters,
        modules=(f"shuffledp.reproduction.figures.{drawn_by}", "shuffledp.records.tables"),
        outputs=(f"{stem}.pdf", f"{stem}.png"),
        inputs=inputs,
    )


def _about(figure: Drawn) -> dict[str, Any]:
    """Return what every caption is told."""
    return {
        "paper": figure.paper,
        "figure": figure.name,
        "shows": figure.caption.shows,
        "choices": list(figure.caption.choices),
    }


def bounds(settings: Settings, figure: Figure) -> Product:
    """Return a figure of bounds as a product."""
    paths = {curve: f"{curve.stem(settings.results)}.csv" for curve in figure.drawn}
    panels: dict[str, Any] = {
        name: {"variable": panel["x"]["variable"], "title": panel["title"], "curves": []}
        for name, panel in figure.settings["panels"].items()
    }
    for curve, path in paths.items():
        panels[curve.panel]["curves"].append([curve.accountant, path])
    return _product(
        settings,
        figure,
        drawn_by="bounds",
        parameters={
            "panels": panels,
            "order": list(panels),
            "styles": figure.settings["styles"],
            "ratio": figure.settings["ratio"],
            "relative": figure.settings["relative"],
        },
        inputs=tuple(paths.values()),
    )


def bounds_caption(settings: Settings, figure: Figure) -> dict[str, Any]:
    """Return what the caption's template is told about a figure of bounds, all from the configuration."""
    panels = []
    for name in figure.settings["panels"]:
        curves = [curve for curve in figure.curves if curve.panel == name]
        curve, fixed = curves[0], dict(pair for curve in curves for pair in curve.fixed)
        panels.append(
            {
                "name": name,
                "title": figure.settings["panels"][name]["title"],
                "variable": curve.variable,
                "answer": answer(curve.variable),
                "from": short(curve.values[0]),
                "to": short(curve.values[-1]),
                "points": len(curve.values),
                "fixed": ", ".join(f"{key} = {short(value)}" for key, value in fixed.items()),
            }
        )
    by_name = {curve.accountant: curve.entry for curve in figure.drawn}
    return {**_described(figure, [by_name[name] for name in figure.settings["curves"]]), "panels": panels}


def _described(figure: Drawn, drawn: Iterable[accountants.Accountant]) -> dict[str, Any]:
    """Return what captions with curves of accountants are told."""
    entries = []
    for entry in drawn:
        entries.append(
            {
                "label": figure.settings["styles"][entry.name]["label"],
                "name": entry.name,
                "kind": entry.kind,
                "citation": entry.citation,
                "theorem": entry.theorem,
                "note": entry.note,
            }
        )
    return {
        **_about(figure),
        "curves": entries,
    }


def quantities(settings: Settings, figure: QuantityFigure) -> Product:
    """Return a figure of quantities of check-in protocols as a product."""
    panels: dict[str, Any] = {
        name: {
            "variable": panel["x"]["variable"],
            "axes": [panel["x"]["label"], panel["y"]],
            "title": panel["title"],
            "curves": [],
        }
        for name, panel in figure.settings["panels"].items()
    }
    for curve in figure.curves:
        panels[curve.panel]["curves"].append([curve.quantity, f"{curve.stem(settings.results)}.csv"])
    return _product(
        settings,
        figure,
        drawn_by="quantities",
        parameters={"panels": panels, "order": list(panels), "styles": figure.settings["styles"]},
        inputs=tuple(f"{curve.stem(settings.results)}.csv" for curve in figure.curves),
    )


def quantities_caption(settings: Settings, figure: QuantityFigure) -> dict[str, Any]:
    """Return what the caption's template is told about a figure of quantities, all from the configuration."""
    panels = []
    for name, panel in figure.settings["panels"].items():
        curve = next(curve for curve in figure.curves if curve.panel == name)
        panels.append(
            {
                "name": name,
                "y": panel["y"],
                "variable": curve.variable,
                "from": short(curve.values[0]),
                "to": short(curve.values[-1]),
                "points": len(curve.values),
                "fixed": ", ".join(f"{key} = {short(value)}" for key, value in panel["fixed"].items()),
            }
        )
    names = dict.fromkeys(curve.quantity for curve in figure.curves)
    entries = [registry.get(name) for name in names]
    return {
        **_about(figure),
        "panels": panels,
        "curves": [
            {"label": entry.label, "name": entry.name, "kind": entry.kind, "theorem": entry.theorem}
            for entry in entries
        ],
        "drawn": any(entry.kind == "estimate" for entry in entries),
    }


def accuracy(settings: Settings, figure: AccuracyFigure) -> Product:
    """Return a figure of accuracy against epsilon as a product."""
    paths = {panel.panel: f"{panel.stem(settings.results)}.csv" for panel in figure.panels}
    return _product(
        settings,
        figure,
        drawn_by="accuracy",
        parameters={
            "panels": [list(entry) for entry in paths.items()],
            "titles": {
                panel.panel: _titled(
                    settings, figure.settings["panels"][panel.panel]["title"], [panel.experiment]
                )
                for panel in figure.panels
            },
            "stated": figure.settings["stated"],
            "curves": [list(entry) for entry in figure.settings["styles"].items()],
            "x_scale": figure.settings["x_scale"],
            "x_limit": figure.settings["x_limit"],
        },
        inputs=tuple(paths.values()),
    )


_DATA = {
    "mnist": "MNIST",
    "synthetic": "generated images, of no meaning",
    "cifar10": "CIFAR-10",
    "cifar10-jpeg": "CIFAR-10 (JPEG re-encoding)",
}
_FEATURES = {
    "scattering": "scattering features, without public data",
    "cifar100": "features of a network pre-trained on CIFAR-100 without noise",
    "public-half": (
        "a surrogate: features of a network pre-trained without noise on a public half of the training "
        "images, the private half being the clients'"
    ),
}


def _trained_on(experiment: Experiment) -> str:
    """Return in words what an experiment's data are, and what its accuracy is measured on."""
    words = [_DATA[experiment.data]]
    if experiment.features is not None:
        words.append(_FEATURES[experiment.features])
    if experiment.data != "synthetic":
        words.append("accuracy on its 10,000 test images")
    return ", ".join(words)


def _devices(runs: Iterable[str]) -> str:
    """Return in words what runs were trained on, as the records beside their tables say; "?" before that."""
    paths = [Path(run).with_suffix(".json") for run in runs]
    # asked for a plan too, when nothing is trained yet
    records = [files.read_json(path) if path.exists() else {} for path in paths]
    devices = [record.get("environment", {}).get("device", {}).get("name", "?") for record in records]
    return " and ".join(dict.fromkeys(devices))


def _titled(settings: Settings, title: str, experiments: Sequence[Experiment]) -> str:
    """Return the title of a panel, and below it what all that was trained for it has in common."""
    lines = []
    for of in (_symbols, functools.partial(_runs, settings)):
        each = [of(experiment) for experiment in experiments]
        lines.append(", ".join(word for word in each[0] if all(word in other for other in each)))
    return "\n".join(filter(None, [title, *lines]))


def _symbols(experiment: Experiment) -> list[str]:
    """Return in formulas what decides the privacy of an experiment."""
    of_protocol = ("k",) if experiment.protocol == SAMPLING else ("rate", "slots", "participation")
    values = {name: getattr(experiment, name) for name in ("n", *of_protocol, "eps0", "delta")}
    words = [
        f"${VARIABLES[name].tex} = {power_of_ten(value)}$"
        for name, value in values.items()
        if value is not None
    ]
    if experiment.eps0 is None and experiment.noise is not None:
        words.append(f"$z = {power_of_ten(experiment.noise)}$")
    return words


def _runs(settings: Settings, experiment: Experiment) -> list[str]:
    """Return in words how many runs there are, and on what."""
    seeds = "1 seed" if experiment.seeds == 1 else f"{experiment.seeds} seeds"
    return [seeds, _devices(recorded.runs(experiment, settings.results))]


def _setting(experiment: Experiment) -> str:
    """Return in words what was trained."""
    words = [f"{key} = {getattr(experiment, key)}" for key in ("model", "randomizer", "clip")]
    named = {key: getattr(experiment, key) for key in ("n", "k", "clip_norm", "eps0", "delta")}
    if experiment.protocol != SAMPLING:
        words.insert(0, f"protocol {experiment.protocol}")
        named["k"] = None  # it follows from the protocol
        named |= {key: getattr(experiment, key) for key in ("rate", "slots", "participation", "delta0")}
        named["noise multiplier"] = experiment.noise
    words += [f"{key} = {short(value)}" for key, value in named.items() if value is not None]
    if experiment.bootstrap:
        words.append("clients by bootstrap from the training images")
    return ", ".join([*words, f"learning rate {_rates(experiment)}"])


def _rates(experiment: Experiment) -> str:
    """Return in words the learning rates."""
    epoch = "" if experiment.epoch_rounds is None else f" of {experiment.epoch_rounds} rounds"
    stretches = zip(experiment.epochs, experiment.learning_rates, strict=True)
    return ", ".join(f"{rate:g} for {epochs} epochs{epoch}" for epochs, rate in stretches)


def accuracy_caption(settings: Settings, figure: AccuracyFigure) -> dict[str, Any]:
    """Return what the caption's template is told: the configuration, and the devices that the runs record."""
    panels = []
    for panel in figure.panels:
        experiment = panel.experiment
        panels.append(
            {
                "name": panel.panel,
                "experiment": experiment.name,
                "setting": _setting(experiment),
                "rounds": experiment.rounds,
                "seeds": experiment.seeds,
                "data": _trained_on(experiment),
                "device": _devices(recorded.runs(experiment, settings.results)),
            }
        )
    return {**_described(figure, map(accountants.get, figure.settings["curves"])), "panels": panels}


def progress(settings: Settings, figure: Progress) -> Product:
    """Return a figure of accuracy against rounds as a product."""
    runs = [list(recorded.runs(line.experiment, settings.results)) for line in figure.lines]
    lines = [[line.panel, dict(line.look), own] for line, own in zip(figure.lines, runs, strict=True)]
    return _product(
        settings,
        figure,
        drawn_by="progress",
        parameters={
            "lines": lines,
            "titles": {
                name: _titled(
                    settings, panel["title"], [line.experiment for line in figure.lines if line.panel == name]
                )
                for name, panel in figure.settings["panels"].items()
            },
        },
        inputs=tuple(dict.fromkeys(run for own in runs for run in own)),
    )


def progress_caption(settings: Settings, figure: Progress) -> dict[str, Any]:
    """Return what the caption's template is told: the configuration, and the devices that the runs record."""
    lines = [
        {
            "label": line.look["label"],
            "panel": line.panel,
            "experiment": line.experiment.name,
            "setting": _setting(line.experiment),
            "rounds": line.experiment.rounds,
            "seeds": line.experiment.seeds,
            "data": _trained_on(line.experiment),
            "device": _devices(recorded.runs(line.experiment, settings.results)),
        }
        for line in figure.lines
    ]
    return {
        **_about(figure),
        "several": len({line.panel for line in figure.lines}) > 1,
        "lines": lines,
    }


def convergence(settings: Settings, figure: Convergence) -> Product:
    """Return a figure of excess risk as a product."""
    experiment = figure.experiment
    runs = recorded.runs(experiment, settings.results)
    return _product(
        settings,
        figure,
        drawn_by="convergence",
        parameters={
            "runs": list(runs),
            "theorem": {
                **experiment.theorem3,
                "n": experiment.n,
                "delta": experiment.delta,
                "diameter": experiment.diameter,
            },
        },
        inputs=runs,
    )


def convergence_caption(settings: Settings, figure: Convergence) -> dict[str, Any]:
    """Return what the caption's template is told: the configuration, and the devices that the runs record."""
    experiment = figure.experiment
    numbers = {
        "n": experiment.n,
        "k": experiment.k,
        "eps0": experiment.eps0,
        "delta": experiment.delta,
        "d": experiment.dimension,
        "L": experiment.clip_norm,
        "D": experiment.diameter,
        "mu": experiment.regularization,
    }
    words = [f"{key} = {getattr(experiment, key)}" for key in ("model", "randomizer")]
    words += [f"{key} = {short(value)}" for key, value in numbers.items()]  # type: ignore[arg-type]
    digits = f", digits {' and '.join(map(str, experiment.digits))} alone" if experiment.digits else ""
    return {
        **_about(figure),
        "experiment": experiment.name,
        "setting": ", ".join(words),
        "rounds": experiment.rounds,
        "seeds": experiment.seeds,
        "data": f"{_DATA[experiment.data]}{digits}",
        "device": _devices(recorded.runs(experiment, settings.results)),
    }


def simulation(settings: Settings, figure: SimulationFigure) -> Product:
    """Return a figure of Monte Carlo estimates as a product."""
    paths = tuple(f"{panel.stem(settings.results)}.csv" for panel in figure.panels)
    return _product(
        settings,
        figure,
        drawn_by="simulation",
        parameters={"tables": list(paths)},
        inputs=paths,
    )


def simulation_caption(settings: Settings, figure: SimulationFigure) -> dict[str, Any]:
    """Return what the caption's template is told about Monte Carlo estimates, all from the configuration."""
    panel = figure.panels[0]
    clients = [one.n for one in figure.panels]
    return {
        **_about(figure),
        "clients": ", ".join(map(str, clients)),
        "largest": max(clients),
        "from": short(panel.eps[0]),
        "to": short(panel.eps[-1]),
        "epsilons": len(panel.eps),
        "sigma": short(panel.sigma),
        "points": short(panel.points),
        "half_width": short(panel.half_width),
        "seed": panel.seed,
    }


def _frontier(sweep: Sweep) -> Drawn:
    own = sweep.settings
    return Drawn(FOLDER, "frontier", own, Caption(own["shows"], tuple(own["choices"])))


def frontier(settings: Settings, sweep: Sweep) -> Product:
    """Return the figure of a sweep as a product."""
    (table,) = sweep.frontier(settings.results).outputs
    return _product(
        settings,
        _frontier(sweep),
        drawn_by="frontier",
        parameters={
            "table": table,
            "curves": [list(entry) for entry in sweep.settings["styles"].items()],
            "randomizers": [entry["name"] for entry in sweep.settings["grid"]["randomizer"]],
        },
        inputs=(table,),
    )


def frontier_caption(settings: Settings, sweep: Sweep) -> dict[str, Any]:
    """Return what the caption's template is told: the configuration, and the devices that the runs record."""
    grid, cell = sweep.settings["grid"], sweep.cells[0]
    runs = [run for _, product in sweep.trainings(settings.results) for run in product.outputs]
    numbers = {"n": cell.n, "delta": cell.delta}
    words = [f"model = {cell.model}", *(f"{key} = {short(value)}" for key, value in numbers.items())]  # type: ignore[arg-type]
    by_name = {cell.randomizer: cell for cell in sweep.cells}
    return {
        **_described(_frontier(sweep), map(accountants.get, sweep.settings["curves"])),
        "points": len(sweep.cells),
        "setting": ", ".join([*words, f"clip = {cell.clip}"]),
        "epochs": cell.total_epochs,
        "seeds": cell.seeds,
        "data": _trained_on(cell),
        "device": _devices(runs),
        "eps0": ", ".join(map(short, grid["eps0"])),
        "k": ", ".join(map(short, grid["k"])),
        "randomizers": [
            {"name": name, "clip_norm": short(one.clip_norm), "rates": _rates(one)}  # type: ignore[arg-type]
            for name, one in by_name.items()
        ],
    }


@dataclass(frozen=True)
class FigureKind:
    """What the workflow knows of a kind of figure.

    Attributes:
        product: returns a figure as a product of the workflow.
        caption: returns what the template ``workflow/report/<kind>.rst`` is told about a figure.

    Its drawing is ``draw`` of the module ``figures.<kind>``, which the records of its figures name.
    """

    product: Callable[[Settings, Any], Product]
    caption: Callable[[Settings, Any], dict[str, Any]]


KINDS = {
    Figure.kind: FigureKind(bounds, bounds_caption),
    QuantityFigure.kind: FigureKind(quantities, quantities_caption),
    AccuracyFigure.kind: FigureKind(accuracy, accuracy_caption),
    Convergence.kind: FigureKind(convergence, convergence_caption),
    SimulationFigure.kind: FigureKind(simulation, simulation_caption),
    Progress.kind: FigureKind(progress, progress_caption),
}


def product(settings: Settings, figure: Drawn) -> Product:
    """Return a figure of any kind as a product."""
    return KINDS[figure.kind].product(settings, figure)


def caption(settings: Settings, figure: Drawn, templates: Path) -> str:
    """Return the caption of a figure of any kind, as reStructuredText."""
    about = KINDS[figure.kind].caption(settings, figure)
    return render_caption(templates / f"{figure.kind}.rst", {"caption": about})


def gallery(settings: Settings, templates: Path) -> Product:
    """Return the page of figures and captions as a product."""
    entries = [
        [
            f"{figure.paper}, {figure.name}",
            f"{figure.paper}/{figure.name}.png",
            caption(settings, figure, templates),
        ]
        for figure in settings.drawn
    ]
    return Product(
        record=f"{settings.figures}/README.json",
        parameters={"entries": entries},
        modules=("shuffledp.reproduction.figures.captions",),
        outputs=(f"{settings.figures}/README.rst",),
    )
