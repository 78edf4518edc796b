"""The figures as products of the workflow: what each is made from, and what its caption is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shuffledp import accountants, files
from shuffledp.accountants.systems import answer
from shuffledp.config import AccuracyFigure, Figure, Settings
from shuffledp.figures.captions import render_caption, short
from shuffledp.provenance import Product


def bounds(settings: Settings, figure: Figure) -> Product:
    """Return a figure of bounds as a product."""
    paths = {curve: f"{curve.stem(settings.results)}.csv" for curve in figure.drawn}
    panels: dict[str, Any] = {
        name: {"variable": panel["x"]["variable"], "curves": []}
        for name, panel in figure.settings["panels"].items()
    }
    for curve, path in paths.items():
        panels[curve.panel]["curves"].append([curve.accountant, path])
    stem = f"{settings.figures}/{figure.paper}/{figure.name}"
    return Product(
        record=f"{stem}.json",
        parameters={
            "panels": panels,
            "order": list(panels),
            "styles": figure.settings["styles"],
            "ratio": figure.settings["ratio"],
        },
        modules=("shuffledp.figures.bounds", "shuffledp.tables"),
        outputs=(f"{stem}.pdf", f"{stem}.png"),
        inputs=tuple(paths.values()),
    )


def caption(figure: Figure) -> dict[str, Any]:
    """Return what the caption's template is told about a figure of bounds, all from the configuration."""
    panels = []
    for name in figure.settings["panels"]:
        curves = [curve for curve in figure.curves if curve.panel == name]
        curve, fixed = curves[0], dict(pair for curve in curves for pair in curve.fixed)
        panels.append(
            {
                "name": name,
                "variable": curve.variable,
                "answer": answer(curve.variable),
                "from": short(curve.values[0]),
                "to": short(curve.values[-1]),
                "points": len(curve.values),
                "fixed": ", ".join(f"{key} = {short(value)}" for key, value in fixed.items()),
            }
        )
    return {**_described(figure), "panels": panels}


def _described(figure: Figure | AccuracyFigure) -> dict[str, Any]:
    """Return what all captions are told."""
    entries = []
    for accountant in figure.settings["curves"]:
        entry = accountants.get(accountant)
        entries.append(
            {
                "label": figure.settings["styles"][accountant]["label"],
                "name": entry.name,
                "kind": entry.kind,
                "citation": entry.citation,
                "theorem": entry.theorem,
                "note": entry.note,
            }
        )
    return {
        "paper": figure.paper,
        "figure": figure.name,
        "shows": figure.settings["shows"],
        "choices": figure.settings["choices"],
        "curves": entries,
    }


def accuracy(settings: Settings, figure: AccuracyFigure) -> Product:
    """Return a figure of accuracy against epsilon as a product."""
    paths = {panel.panel: f"{panel.stem(settings.results)}.csv" for panel in figure.panels}
    stem = f"{settings.figures}/{figure.paper}/{figure.name}"
    return Product(
        record=f"{stem}.json",
        parameters={
            "panels": [list(entry) for entry in paths.items()],
            "titles": {name: figure.settings["panels"][name]["title"] for name in paths},
            "curves": figure.settings["styles"],
            "x_scale": figure.settings["x_scale"],
            "x_limit": figure.settings["x_limit"],
        },
        modules=("shuffledp.figures.accuracy", "shuffledp.tables"),
        outputs=(f"{stem}.pdf", f"{stem}.png"),
        inputs=tuple(paths.values()),
    )


_DATA = {
    "mnist": "MNIST, accuracy on its 10,000 test images",
    "synthetic": "generated images, of no meaning",
}


def accuracy_caption(settings: Settings, figure: AccuracyFigure) -> dict[str, Any]:
    """Return what the caption's template is told: the configuration, and the devices that the runs record."""
    panels = []
    for panel in figure.panels:
        experiment = panel.experiment
        runs = experiment.runs(settings.results)
        records = [files.read_json(Path(run).with_suffix(".json")) for run in runs]
        devices = [record.get("environment", {}).get("device", {}).get("name", "?") for record in records]
        words = [f"{key} = {getattr(experiment, key)}" for key in ("model", "randomizer", "clip")]
        numbers = ("n", "k", "clip_norm", "eps0", "delta")
        words += [f"{key} = {short(getattr(experiment, key))}" for key in numbers]
        stretches = zip(experiment.epochs, experiment.learning_rates, strict=True)
        rates = ", ".join(f"{rate:g} for {epochs} epochs" for epochs, rate in stretches)
        words.append(f"learning rate {rates}")
        panels.append(
            {
                "name": panel.panel,
                "experiment": experiment.name,
                "setting": ", ".join(words),
                "rounds": experiment.rounds,
                "seeds": experiment.seeds,
                "data": _DATA[experiment.data],
                "device": " and ".join(dict.fromkeys(devices)),
            }
        )
    return {**_described(figure), "panels": panels}


def gallery(settings: Settings, templates: Path) -> Product:
    """Return the page of figures and captions as a product."""
    entries = [
        (
            f"{figure.paper}, {figure.name}",
            f"{figure.paper}/{figure.name}.png",
            render_caption(templates / "bounds.rst", {"caption": caption(figure)}),
        )
        for figure in settings.bounds
    ]
    entries += [
        (
            f"{figure.paper}, {figure.name}",
            f"{figure.paper}/{figure.name}.png",
            render_caption(templates / "accuracy.rst", {"caption": accuracy_caption(settings, figure)}),
        )
        for figure in settings.trained
    ]
    return Product(
        record=f"{settings.figures}/README.json",
        parameters={"entries": [list(entry) for entry in entries]},
        modules=("shuffledp.figures.captions",),
        outputs=(f"{settings.figures}/README.rst",),
    )
