"""Words of captions on accountants, on trainings, and on the devices that trained."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from shuffledp.accountants import Description
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
# Names for formulas. Two variables have the letter gamma: where a title gives a value it is that of the rate,
# elsewhere the first of the table counts. Longer symbols come first: that of epsilon begins that of eps0.
_PLAIN = {
    f"{VARIABLES['rate'].symbol} =": "rate =",
    **{
        one.symbol: one.name
        for one in sorted(reversed(VARIABLES.values()), key=lambda one: -len(one.symbol))
        if one.symbol.startswith("\\")
    },
}
_WORDS = 4  # largest number of words in a line of a title, so that it fits above one panel
# Template of a caption's lines about curves, for what ``curves`` returns; the names of accountants come last.
CURVES = """\
{% for curve in curves %}
- {{ curve.label }}: {% if curve.kind not in curve.label %}{{ curve.kind }}; {% endif %}{{ curve.theorem }}. {{ curve.names }}
{% endfor %}
"""  # noqa: E501  # a line of the page is a line here
# Template of a caption's lines about runs, for what ``runs`` returns.
RUNS = """\
Runs:

{% for line in runs %}
- {{ line }}
{% endfor %}
"""
# What ``style.draw_over_seeds`` draws.
OVER_SEEDS = "Of three seeds or more: their mean and a band of one standard deviation; of two: both."
_SCOPES = {
    "renyi": "lower bound for accounting by Renyi DP",
    "clones": "lower bound for accounting by clones",
}


def curves(
    entries: Iterable[Description], looks: Mapping[str, Mapping[str, str]], *, proviso: str = ""
) -> list[dict[str, str]]:
    """Return the values for the lines about curves; accountants of one label and kind share a line.

    Args:
        entries: the accountants.
        looks: labels, by accountant.
        proviso: what the upper bounds presuppose beyond the setting, in words that follow "upper bound".
    """
    found: dict[tuple[str, str], list[Description]] = {}
    for entry in entries:
        kind = f"{_kind(entry)} {proviso}".strip() if entry.kind == "upper" else _kind(entry)
        found.setdefault((looks[entry.name]["label"], kind), []).append(entry)
    return [
        {
            "label": plain(label),
            "kind": kind,
            "theorem": _each(map(_theorem, alike)),
            "names": f"({_each(f'``{entry.name}``' for entry in alike)})",
        }
        for (label, kind), alike in found.items()
    ]


def _kind(entry: Description) -> str:
    if entry.kind == "estimate":
        return "estimate"
    return _SCOPES.get(entry.scope, f"{entry.kind} bound")


def _theorem(entry: Description) -> str:
    """Return the theorems of an accountant, and its papers if the theorems name none."""
    named = any(key in entry.theorem for key in (*entry.citation.split(", "), "this project"))
    return entry.theorem if named else f"{entry.theorem} ({entry.citation})"


def _each(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(words))


def by_part(facts: Mapping[str, Sequence[str]], every: str = "All panels", one: str = "Panel") -> list[str]:
    """Return one line for the facts that all parts of a figure have in common, and one for each part.

    Args:
        facts: by part, in their order in the line.
        every: words for all parts.
        one: word for a part, before its name.
    """
    told = {name: list(dict.fromkeys(own)) for name, own in facts.items()}
    common = [fact for fact in next(iter(told.values())) if all(fact in own for own in told.values())]
    if len(told) == 1:
        return [f"{_sentence(common)}."]
    lines = [f"{every}: {', '.join(common)}."] if common else []
    own = {
        name: [fact for fact in words if fact not in common and fact not in name.split(", ")]
        for name, words in told.items()
    }
    return lines + [f"{one} {name}: {', '.join(rest)}." for name, rest in own.items() if rest]


def _sentence(facts: Sequence[str]) -> str:
    words = ", ".join(facts)
    return words[:1].upper() + words[1:]


def plain(text: str) -> str:
    """Return a title or label without formulas, with the variables' names in captions in their place."""
    for symbol, name in _PLAIN.items():
        text = text.replace(symbol, name)
    return text.replace("$", "")


def unless_told(title: str, facts: Sequence[str]) -> list[str]:
    """Return a title as a fact beside others, without formulas; nothing where one of them begins with it."""
    words = plain(title)
    return [] if any(words == fact.partition(",")[0] for fact in facts) else [words]


def trained_on(experiment: Experiment) -> str:
    """Return in words the data of an experiment, and those on which its accuracy is measured."""
    words = [DATA[experiment.data]]
    if experiment.features is not None:
        words.append(_FEATURES[experiment.features])
    if experiment.data != "synthetic":
        words.append("accuracy on its 10,000 test images")
    return ", ".join(words)


def devices(runs: Iterable[str]) -> str:
    """Return in words the devices in the records of runs; "?" if nothing is trained yet."""
    paths = [Path(run).with_suffix(".json") for run in runs]
    # also called for a plan, when there may be no records
    records = [files.read_json(path) if path.exists() else {} for path in paths]
    found = [record.get("environment", {}).get("device", {}).get("name", "?") for record in records]
    return " and ".join(dict.fromkeys(found))


def titled(title: str, experiments: Sequence[Experiment], results: str) -> str:
    """Return the title of a panel, and below it the settings that all its trainings have in common."""
    lines = []
    for of in (_symbols, functools.partial(made, results)):
        each = [of(experiment) for experiment in experiments]
        common = [word for word in each[0] if word != title and all(word in other for other in each)]
        half = len(common) if len(common) <= _WORDS else -(-len(common) // 2)
        lines += [", ".join(common[:half]), ", ".join(common[half:])]
    return "\n".join(filter(None, [title, *lines]))


def _symbols(experiment: Experiment) -> list[str]:
    """Return the variables that decide the privacy of an experiment, as formulas."""
    of_protocol = ("k",) if experiment.protocol == SAMPLING else ("rate", "slots", "participation")
    values = {name: getattr(experiment, name) for name in ("n", *of_protocol, "eps0", "delta")}
    return [
        f"${VARIABLES[name].tex} = {power_of_ten(value)}$"
        for name, value in values.items()
        if value is not None
    ]


def made(results: str, experiment: Experiment) -> list[str]:
    """Return in words the noise (if it does not follow from eps0), the number of runs, and their devices."""
    noise = []
    if experiment.eps0 is None and experiment.noise is not None:
        noise.append(rf"noise ${power_of_ten(experiment.noise)}\,C$")
    seeds = "1 seed" if experiment.seeds == 1 else f"{experiment.seeds} seeds"
    return [*noise, seeds, devices(recorded.runs(experiment, results))]


def setting(experiment: Experiment) -> list[str]:
    """Return the setting of an experiment, fact by fact."""
    named = {key: getattr(experiment, key) for key in ("n", "k", "rate", "slots", "participation")}
    if experiment.protocol != SAMPLING:
        named["k"] = None  # it follows from the protocol
    named |= {key: getattr(experiment, key) for key in ("eps0", "delta0", "delta")}
    facts = [trained_on(experiment)]
    facts += [f"{key} = {short(value)}" for key, value in named.items() if value is not None]
    if experiment.eps0 is None and experiment.noise is not None:
        facts.append(f"noise of standard deviation {short(experiment.noise)} C")
    seeds = "one seed" if experiment.seeds == 1 else f"{experiment.seeds} seeds"
    return [*facts, f"{experiment.rounds:,} rounds", seeds]


def trained(experiment: Experiment, results: str) -> list[str]:
    """Return how an experiment was trained, fact by fact."""
    words = [f"{key} = {getattr(experiment, key)}" for key in ("model", "randomizer", "clip")]
    if experiment.protocol != SAMPLING:
        words.insert(0, f"protocol {experiment.protocol}")
    noise = None if experiment.eps0 is None else experiment.noise  # which the setting has already
    named = {"clip norm C": experiment.clip_norm, "noise multiplier": noise}
    words += [f"{key} = {short(value)}" for key, value in named.items() if value is not None]
    if experiment.bootstrap:
        words.append("clients by bootstrap from the training images")
    words.append(f"learning rate {rates(experiment)}")
    words.append(f"trained on {devices(recorded.runs(experiment, results))}")
    return [*words, *filter(None, [dummies(experiment, results)])]


def runs(
    experiments: Mapping[str, Experiment], results: str, every: str = "All panels", one: str = "Panel"
) -> list[str]:
    """Return the lines of a caption about runs: how they were trained, and where they are found.

    Args:
        experiments: by part of the figure.
        results: folder of the results.
        every: words for all parts.
        one: word for a part, before its name.
    """
    facts = {name: trained(experiment, results) for name, experiment in experiments.items()}
    names = _each(f"``{experiment.name}``" for experiment in experiments.values())
    return [*by_part(facts, every, one), f"Recorded as {names}."]


def dummies(experiment: Experiment, results: str) -> str:
    """Return in words the expected number of dummy updates of a run of the protocol, and their number in the
    trainings; "" for a protocol without them."""
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


def rates(experiment: Experiment) -> str:
    """Return in words the learning rates."""
    epoch = "" if experiment.epoch_rounds is None else f" of {experiment.epoch_rounds} rounds"
    stretches = zip(experiment.epochs, experiment.learning_rates, strict=True)
    return ", ".join(f"{rate:g} for {epochs} epochs{epoch}" for epochs, rate in stretches)
