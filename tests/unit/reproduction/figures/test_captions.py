"""Captions are made from the resolved configuration, so that they cannot disagree with what is drawn."""

import copy
import dataclasses
import re
from pathlib import Path

import docutils.core
import docutils.utils
import jinja2
import pytest
import yaml

from shuffledp import accountants
from shuffledp.accountants import systems
from shuffledp.accountants.systems import dependent_variable
from shuffledp.convergence import girgis2021_convergence, step_size
from shuffledp.randomizers import constants
from shuffledp.records import files, tables
from shuffledp.reproduction import config
from shuffledp.reproduction.figures.captions import render, render_gallery
from shuffledp.reproduction.figures.numbers import short
from shuffledp.reproduction.figures.words import by_part, dummies, plain, titled, unless_told
from shuffledp.reproduction.sections.captions import Caption
from shuffledp.reproduction.trainings import recorded
from shuffledp.training.experiment import Experiment

SHORT = [
    (0, "0"),
    (1, "1"),
    (0.5, "0.5"),
    (2.0, "2"),
    (100.0, "100"),
    (1000.0, "1000"),
    (1259.0, "1259"),
    (1e4, "1e4"),
    (1e5, "1e5"),
    (2.5e6, "2.5e6"),
    (1e-2, "0.01"),
    (1e-3, "1e-3"),
    (1e-8, "1e-8"),
    (1.5e-12, "1.5e-12"),
    (-1e5, "-1e5"),
    (-0.25, "-0.25"),
]


@pytest.mark.parametrize(("value", "text"), SHORT)
def test_numbers_are_written_as_people_do(value, text):
    assert short(value) == text
    assert float(short(value)) == value


@pytest.fixture(scope="session")
def shipped_captions(root, shipped):
    """Every figure of the configuration, trained or not, with its caption."""
    figures = dataclasses.replace(shipped, results=str(root / shipped.results)).plotted
    assert len(figures) > 30
    return [(figure, figure.text(str(root / shipped.results))) for figure in figures]


def systems_of(figure):
    """The systems whose neighbours a figure is about."""
    if figure.kind == "simulation":
        return {accountants.get("shuffled-gaussian-pair").system}
    if figure.kind == "convergence":
        return {accountants.get("girgis2021-upper").system}
    if figure.kind == "progress":
        protocols = {line.experiment.protocol for line in figure.lines}
        return {one for one in systems.systems() if one.protocol in protocols and one.mechanism == "ldp"}
    if figure.name == "closed_forms":  # of epsilon, though by no accountant
        return {accountants.get("fixed-window-printed").system}
    entries = [one.entry for one in figure.tables if hasattr(one, "entry")]
    entries += [entry for one in figure.tables for entry in getattr(one, "entries", ())]
    return {entry.system for entry in entries}


def document_of(text):
    """Parse reStructuredText; anything that its author should be warned of is an error."""
    return docutils.core.publish_doctree(
        text, settings_overrides={"halt_level": docutils.utils.Reporter.WARNING_LEVEL, "report_level": 5}
    )


def facts_of(text, panel):
    """What a caption says of a panel, fact by fact."""
    setting = text.split("\n\n")[1].split("\n")
    starts = ("- All panels: ", f"- Panel {panel}: ") if len(setting) > 1 else ("- ",)
    lines = [line.removeprefix(start) for line in setting for start in starts if line.startswith(start)]
    facts = [fact for line in lines for fact in line.removesuffix(".").split(", ")]
    return {*facts, *(fact[:1].lower() + fact[1:] for fact in facts)}


def test_a_title_that_the_setting_begins_with_is_not_told_twice():
    facts = ["MNIST, accuracy on its 10,000 test images", "n = 6e4"]
    assert unless_told("MNIST", facts) == []
    assert unless_told(r"$\gamma = 0.01$", facts) == ["rate = 0.01"]
    assert unless_told("Fashion-MNIST", facts) == ["Fashion-MNIST"]


def test_a_caption_says_what_is_drawn(shipped, shipped_figure):
    text = shipped_figure.text(shipped.results)
    assert "{{" not in text
    assert "{%" not in text
    assert shipped_figure.caption.shows in text
    for choice in shipped_figure.caption.choices:
        assert choice in text
    for curve in shipped_figure.curves:
        told = facts_of(text, curve.panel)
        first, last = short(curve.values[0]), short(curve.values[-1])
        points = f"({len(curve.values)} points from {first} to {last})"
        assert f"{dependent_variable(curve.variable)} against {curve.variable} {points}" in told
        for name, value in curve.fixed:
            assert f"{name} = {short(value)}" in told
    lines = text.split("\n")
    for curve in shipped_figure.plotted:
        entry = curve.entry
        line = next(line for line in lines if f"``{entry.name}``" in line)
        assert ("estimate" if entry.kind == "estimate" else f"{entry.kind} bound") in line.partition(";")[0]
        assert entry.theorem in line
        assert any(key in line for key in (*entry.citation.split(", "), "this project"))
    undrawn = {curve.accountant for curve in shipped_figure.curves} - {
        curve.accountant for curve in shipped_figure.plotted
    }
    for name in undrawn:
        assert f"``{name}``" not in text


def test_a_caption_follows_the_configuration(root):
    path = root / "config/config.yaml"
    raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    changed = copy.deepcopy(raw)
    figure = changed["bounds"]["girgis2021"]["fig2"]
    figure["panels"]["a"].update(eps0=0.75)
    figure["delta"] = "1e-7"
    changed["styles"]["girgis2021-upper"] = {"color": "#000000", "line": "solid", "label": "our bound"}
    before, after = (
        settings.figure("girgis2021", "fig2").text(settings.results)
        for settings in (config.resolve(one, files=[str(path)]) for one in (raw, changed))
    )
    assert "All panels: eps0 = 2, delta = 1e-8." in before
    assert "All panels: delta = 1e-7." in after
    assert "n = 1e6, k = 1000, eps0 = 0.75." in after
    assert "1e-8" not in after.partition("Differences and choices")[0]
    assert re.search(r"^- our bound: upper bound; .*\(``girgis2021-upper``\)$", after, re.MULTILINE)


@pytest.mark.usefixtures("in_root")
def test_every_caption_names_the_neighbours_and_the_privacy_unit(shipped_captions, root):
    """Removal where the accountants are of removal, and substitution where they are of that."""
    for figure, text in shipped_captions:
        said = text.partition("\n\n")[0]
        relations = {system.neighbours for system in systems_of(figure)}
        assert len(relations) <= 1, "one relation a figure"
        if not relations:
            assert "no neighbouring data sets and no privacy unit here" in said, figure.name
            continue
        (relation,) = relations
        assert f"Neighbouring data sets differ by the {relation} of one client" in said, figure.name
        assert "privacy unit" in said, figure.name
        other = {"removal": "substitution", "substitution": "removal"}[relation]
        assert other not in said, figure.name
    study = yaml.safe_load((root / "config/sweep.yaml").read_text(encoding="utf-8"))
    said = study["captions"]["sweep"]["frontier"]["neighbours"]
    assert re.search(r"substitution of one client's .* privacy unit", said)


def test_every_caption_tells_the_differences_before_the_details(shipped_captions):
    for figure, text in shipped_captions:
        shown, *rest = text.split("\n\n")
        assert shown.startswith(f"**{figure.paper}, {figure.name}.** {figure.caption.shows}")
        heads = [part for part in rest if part.endswith(":") or not part.startswith("- ")]
        assert heads[0] == "Differences and choices:", figure.name
        first, choices = text.split("Differences and choices:")
        assert "``" not in first, "names that the code has come last"
        details = choices.partition("\n\nCurves")[2] or choices.partition("\n\nRuns:")[2]
        assert details or figure.kind == "simulation"
        assert "``" not in choices.removesuffix(details)
        assert len(shown.split()) <= 120, "what is shown is short"
        assert sum(len(choice.split()) for choice in figure.caption.choices) <= 220, "and so is what differs"


def test_captions_without_choices_claim_none(shipped):
    figure = shipped.of("bounds")[0]
    without = dataclasses.replace(figure, caption=Caption(shows=figure.caption.shows))
    assert "Differences and choices" in figure.text(shipped.results)
    assert "Differences and choices" not in without.text(shipped.results)


def test_what_parts_of_a_figure_share_is_said_once():
    facts = {"a": ["MNIST", "n = 5", "k = 1", "k = 1"], "b": ["MNIST", "n = 5", "k = 2"]}
    assert by_part(facts) == ["All panels: MNIST, n = 5.", "Panel a: k = 1.", "Panel b: k = 2."]
    assert by_part({"a": ["some data", "n = 5"]}) == ["Some data, n = 5."]
    assert by_part({"a": ["n = 5"], "b": ["n = 5"]}) == ["All panels: n = 5."]
    assert by_part({"a": ["n = 5"], "b": ["n = 6"]}, "All lines", "Line") == [
        "Line a: n = 5.",
        "Line b: n = 6.",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (r"$\epsilon_0 = 8$, noise for a distance of $C$", "eps0 = 8, noise for a distance of C"),
        (r"$\gamma = 0.01$", "rate = 0.01"),
        (r"the pair $(\gamma P, Q)$", "the pair (gamma P, Q)"),
        (r"$\sigma = 0.65$, noise $\sigma C$", "sigma = 0.65, noise sigma C"),
        (r"fixed $(\epsilon_0, \delta_0)$", "fixed (eps0, delta0)"),
    ],
)
def test_formulas_are_plain_text_in_captions(text, said):
    assert plain(text) == said


@pytest.mark.parametrize("placeholder", ["{{ pannels }}", "{{ curves[0].nmae }}"])
def test_a_misspelt_placeholder_is_an_error(shipped, placeholder):
    figure = shipped.of("bounds")[0]
    about = {"paper": "paper", "figure": "fig1", "shows": "Something.", "neighbours": None, "choices": []}
    with pytest.raises(jinja2.UndefinedError, match=r"pannels|nmae"):
        render(f"Words. {placeholder}\n", {**about, **figure.in_caption(shipped.results)})


def test_a_caption_of_convergence_says_what_was_trained_and_on_what(shipped, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (figure,) = shipped.of("convergence", untrained=True)
    for seed, run in enumerate(shipped.trainings(figure.experiment)):
        device = {"name": "CPU" if seed else "a large GPU"}
        files.write_json(run.record, {"environment": {"device": device}})
    text = figure.text(shipped.results)
    for words in (
        *("4 seeds", "``girgis2021-theorem3``", "MNIST, digits 3 and 8 alone,", "12,000 rounds"),
        *("n = 1.1e4", "eps0 = 2", "delta = 1e-5", "d = 785", "L = 16", "D = 2", "mu = 0.01"),
        *("trained on a large GPU and CPU.", "l2_hemisphere", *figure.caption.choices),
    ):
        assert words in text
    assert document_of(text).astext()


def test_a_caption_of_monte_carlo_calls_nothing_a_guarantee(shipped):
    (figure,) = shipped.of("simulation")
    text = figure.text(shipped.results)
    words = ("n = 1, 2, 3, 4, 5, 6, 7.", "sigma = 2,", "from 5e7 points each", "L = 14", "seed 0")
    for part in (*words, "for these two data sets", *figure.caption.choices):
        assert part in text
    assert document_of(text).astext()
    pair = accountants.get("shuffled-gaussian-pair")
    assert pair.kind == "lower"
    for said in (text, pair.note, *(one.caption.shows for one in shipped.of("bounds"))):
        assert "guarantee" not in said.replace("no guarantee", "")


@pytest.mark.usefixtures("in_root")
def test_tracked_gallery_is_current(root, shipped):
    product = shipped.gallery()
    page = (root / product.outputs[0]).read_text(encoding="utf-8")
    assert page == render_gallery(product.parameters["entries"])
    assert product.is_current()


@pytest.mark.usefixtures("in_root")
def test_gallery_is_a_page_with_every_figure(root, shipped):
    drawn = shipped.plotted
    page = root / shipped.figures / "README.rst"
    document = document_of(page.read_text(encoding="utf-8"))
    pictures = [node["uri"] for node in document.findall(lambda node: node.tagname == "image")]
    assert pictures == [f"{figure.paper}/{figure.name}.png" for figure in drawn]
    for picture in pictures:
        assert (page.parent / picture).is_file()
    titles = [node.astext() for node in document.findall(lambda node: node.tagname == "title")]
    assert titles == ["Figures", *(f"{figure.paper}, {figure.name}" for figure in drawn)]


# What the captions say in words of the curves, checked on the curves


@pytest.fixture
def amplified(root):
    def read(figure, panel):
        table = tables.read_table(root / f"results/girgis2021/{figure}/{panel}/feldman2021-strong.csv")
        return table["amplified"] == 1, table

    return read


@pytest.mark.parametrize("panel", ["a", "c"])
def test_figure_2_says_where_the_closed_form_fails(amplified, panel):
    assert not amplified("fig2", panel)[0].any()
    assert amplified("fig2", "b")[0].all()


@pytest.mark.parametrize("panel", ["a", "b", "c"])
def test_figure_5_says_that_shuffling_is_not_shown_to_amplify(amplified, panel):
    assert not amplified("fig5", panel)[0].any()


def test_figure_4_says_up_to_where_the_closed_form_holds(amplified):
    holds, table = amplified("fig4", "a")
    last = table.loc[holds, "rounds"].max()
    first_without = table.loc[~holds, "rounds"].min()
    assert last < first_without, "it holds up to a point and fails from there on"
    assert last / 1.3 < 2e4 < first_without * 1.3


def test_what_the_caption_of_theorem3_says(root, shipped):
    (figure,) = shipped.of("convergence", untrained=True)
    experiment = figure.experiment
    if not recorded.is_trained(figure.experiment, str(root / shipped.results)):
        pytest.skip("not trained")
    read = [tables.read_table(root / path) for path in recorded.runs(experiment, shipped.results)]
    asked = shipped.product(figure).parameters["theorem"]
    bound = girgis2021_convergence(read[0]["round"].to_numpy(), **asked).excess_risk
    largest = experiment.clip_norm * experiment.diameter
    assert bound[-1] < largest, "the runs end after the bound says something"
    assert girgis2021_convergence(8_900, **asked).excess_risk > largest
    assert girgis2021_convergence(9_100, **asked).excess_risk < largest, "from some 9,000 rounds on"
    for table in read:
        assert table["round"].iloc[-1] == experiment.rounds
        assert (table["excess_risk"] >= 0).all()
        assert (table["excess_risk"] < bound / 100).all(), "by a wide margin"
    setting = {"dimension": experiment.dimension, "eps0": experiment.eps0}
    own = constants.hemisphere_scale(**setting) ** 2
    assert step_size.local_variance(lipschitz=1, norm=2, **setting) / own == pytest.approx(9, rel=0.05)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ""),
        (
            {"protocol": "fixed-window", "slots": 10, "k": None},
            # 10 (9/10)^20 of 10
            "1 of the 10 updates of a window (12.2%) expected as dummies, 15.0% made",
        ),
        (
            {"protocol": "sliding-window", "slots": 10, "k": None},
            # the slots 10 to 20, (9/10)^10 of them
            "4 of the 11 updates of a window (34.9%) expected as dummies, 13.6% made",
        ),
    ],
)
def test_a_caption_counts_dummy_updates(tmp_path, changes, expected):
    setting = {
        **{"name": "tiny", "data": "synthetic", "model": "mnist_cnn_16", "n": 20, "k": 10, "clip": "norm"},
        **{"randomizer": "l2_hemisphere", "clip_norm": 0.01, "eps0": 1.0, "delta": 1e-5},
        **{"epochs": (2,), "learning_rates": (0.1,)},
    }
    experiment = Experiment(**{**setting, **changes})
    (run,) = recorded.runs(experiment, str(tmp_path))
    assert dummies(experiment, str(tmp_path)) == expected.partition(",")[0]
    Path(run).parent.mkdir(parents=True)
    tables.write_table(run, {"epoch": [1, 2], "dummies": [1, 3]})
    assert dummies(experiment, str(tmp_path)) == expected


def test_a_title_of_many_formulas_takes_two_lines(tmp_path):
    setting = {
        **{"name": "tiny", "data": "synthetic", "model": "mnist_cnn_16", "n": 20, "clip": "norm"},
        **{"randomizer": "l2_hemisphere", "clip_norm": 0.01, "eps0": 1.0, "delta": 1e-5},
        **{"epochs": (2,), "learning_rates": (0.1,), "protocol": "fixed-window", "slots": 10},
    }
    everyone = Experiment(**setting, participation=1.0)
    first, *formulas, runs = titled("a window", [everyone], str(tmp_path)).split("\n")
    assert (first, runs) == ("a window", "1 seed, ?")
    assert [line.count("$") // 2 for line in formulas] == [3, 2]
    left_out = titled("a window", [Experiment(**setting)], str(tmp_path)).split("\n")
    assert [line.count("$") // 2 for line in left_out[1:-1]] == [4]
