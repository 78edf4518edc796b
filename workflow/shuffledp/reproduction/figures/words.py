"""What captions say of accountants, of what was trained, and on what."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shuffledp.accountants import Accountant
from shuffledp.records import files, tables
from shuffledp.reproduction.figures.numbers import power_of_ten, short
from shuffledp.reproduction.studies import quantities
from shuffledp.reproduction.trainings import recorded
from shuffledp.reproduction.trainings.accounting import rounds_of_one
from shuffledp.training.experiment import Experiment
from shuffledp.training.sgd.schedule import SAMPLING
from shuffledp.variables import VARIABLES

DATA = {
    "mnist": "MNIST",
    "fashion-mnist": "Fashion-MNIST",
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
_WORDS = 4  # of a line of a title, which fit above one panel
# The lines of a caption about curves, by what ``curves`` returns.
CURVES = """\
{% for curve in curves %}
- {{ curve.label }} (``{{ curve.name }}``, {{ curve.kind }}{% if curve.kind != "estimate" %} bound{% endif %}; {{ curve.citation }}: {{ curve.theorem }}). {{ curve.note }}
{% endfor %}
"""  # noqa: E501  # a line of the page is a line here


def curves(entries: Iterable[Accountant], looks: Mapping[str, Mapping[str, str]]) -> list[dict[str, Any]]:
    """Return what the lines about curves of accountants name."""
    keys = ("name", "kind", "citation", "theorem", "note")
    return [
        {"label": looks[entry.name]["label"], **{key: getattr(entry, key) for key in keys}}
        for entry in entries
    ]


def trained_on(experiment: Experiment) -> str:
    """Return in words what an experiment's data are, and what its accuracy is measured on."""
    words = [DATA[experiment.data]]
    if experiment.features is not None:
        words.append(_FEATURES[experiment.features])
    if experiment.data != "synthetic":
        words.append("accuracy on its 10,000 test images")
    return ", ".join(words)


def devices(runs: Iterable[str]) -> str:
    """Return in words what runs were trained on, as the records beside their tables say; "?" before that."""
    paths = [Path(run).with_suffix(".json") for run in runs]
    # asked for a plan too, when nothing is trained yet
    records = [files.read_json(path) if path.exists() else {} for path in paths]
    found = [record.get("environment", {}).get("device", {}).get("name", "?") for record in records]
    return " and ".join(dict.fromkeys(found))


def titled(title: str, experiments: Sequence[Experiment], results: str) -> str:
    """Return the title of a panel, and below it what all that was trained for it has in common."""
    lines = []
    for of in (_symbols, functools.partial(made, results)):
        each = [of(experiment) for experiment in experiments]
        common = [word for word in each[0] if all(word in other for other in each)]
        half = len(common) if len(common) <= _WORDS else -(-len(common) // 2)
        lines += [", ".join(common[:half]), ", ".join(common[half:])]
    return "\n".join(filter(None, [title, *lines]))


def _symbols(experiment: Experiment) -> list[str]:
    """Return what decides the privacy of an experiment, as formulas."""
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


def made(results: str, experiment: Experiment) -> list[str]:
    """Return in words how many runs there are, and on what."""
    seeds = "1 seed" if experiment.seeds == 1 else f"{experiment.seeds} seeds"
    return [seeds, devices(recorded.runs(experiment, results))]


def trained(experiment: Experiment) -> str:
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
    return ", ".join([*words, f"learning rate {rates(experiment)}"])


def dummies(experiment: Experiment, results: str) -> str:
    """Return in words how many dummy updates a run of the protocol makes, and how many the trainings made;
    "" of a protocol that makes none."""
    name = f"{experiment.protocol}-dummies"
    if name not in quantities.names():
        return ""
    entry, length = quantities.get(name), rounds_of_one(experiment)
    everyone = 1.0 if experiment.participation is None else experiment.participation
    setting = {"n": experiment.n, "slots": experiment.slots, "participation": everyone}
    expected = entry.compute(**{key: setting[key] for key in entry.variables})["value"]
    words = (
        f"{expected:,.0f} of the {length:,} updates of a window ({expected / length:.1%}) expected as dummies"
    )
    counts = [
        int(tables.read_table(path)["dummies"].iloc[-1])
        for path in recorded.runs(experiment, results)
        if Path(path).exists()
    ]
    if not counts:
        return words
    return f"{words}, {sum(counts) / len(counts) / experiment.rounds:.1%} made"


def run(experiment: Experiment, results: str) -> dict[str, Any]:
    """Return what a line about an experiment names: what was trained, how long, on what, and where."""
    return {
        "experiment": experiment.name,
        "setting": trained(experiment),
        "rounds": experiment.rounds,
        "seeds": experiment.seeds,
        "data": trained_on(experiment),
        "device": devices(recorded.runs(experiment, results)),
        "dummies": dummies(experiment, results),
    }


def rates(experiment: Experiment) -> str:
    """Return in words the learning rates."""
    epoch = "" if experiment.epoch_rounds is None else f" of {experiment.epoch_rounds} rounds"
    stretches = zip(experiment.epochs, experiment.learning_rates, strict=True)
    return ", ".join(f"{rate:g} for {epochs} epochs{epoch}" for epochs, rate in stretches)
