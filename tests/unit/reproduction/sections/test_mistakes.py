"""A mistake in a configuration is one sentence that names the key, the file and the line."""

import re

import pytest
import yaml

from shuffledp.reproduction import config

from ..small_configuration import (
    BASE,
    FIXED,
    PANEL_A,
    PANEL_B,
    QUANTITIES,
    STYLED,
    edited,
    line_of,
    line_of_edit,
    varying,
)

# Mistakes: the edit that makes one, the key that the message names, what it says. The line that it names is
# that of the edit, unless a fourth entry gives other words to find it by.

X = "x: {variable: rounds, from: 10, to: 1e5, points: 5}"
MISTAKES = {
    "misspelt key of a panel": ("eps0: 0.5", "epsO: 0.5", f"{PANEL_B}.epsO", "did you mean 'eps0'"),
    "misspelt key of x": ("points: 3", "pionts: 3", f"{PANEL_B}.x.pionts", "did you mean 'points'"),
    "misspelt key of a figure": (
        "undrawn: [girgis2021-lower]",
        "undrwan: [girgis2021-lower]",
        "bounds.paper.fig1.undrwan",
        "did you mean 'undrawn'",
    ),
    "misspelt key of a style": (
        'color: "#c0509e"',
        'colour: "#c0509e"',
        "styles.feldman2021-strong.colour",
        "did you mean 'color'",
    ),
    "misspelt key at the top": ("bounds:", "bound:", "bound", "did you mean 'bounds'"),
    "key like no other": ("rounds: 1e3", "zzz: 1e3", f"{PANEL_B}.zzz", "known are title, x, n"),
    "n of a word": ("n: 1e6", "n: many", f"{PANEL_A}.n", "'many' is not of type 'integer'"),
    "n not whole": ("n: 1e6", "n: 10.5", f"{PANEL_A}.n", "10.5 is not of type 'integer'"),
    "n of true": ("n: 1e6", "n: true", f"{PANEL_A}.n", "True is not of type 'integer'"),
    "n of nothing": ("n: 1e6", "n:", f"{PANEL_A}.n", "None is not of type 'integer'"),
    "k of 0": ("k: 1e3", "k: 0", f"{PANEL_A}.k", "0 is less than the minimum of 1"),
    "negative T": ("rounds: 1e3", "rounds: -1", f"{PANEL_B}.rounds", "-1 is less than the minimum of 0"),
    "negative eps0": ("eps0: 2", "eps0: -2", f"{PANEL_A}.eps0", "-2 is less than the minimum of 0"),
    "eps0 of nan": ("eps0: 2", "eps0: .nan", f"{PANEL_A}.eps0", "nan"),
    "eps0 of infinity": ("eps0: 2", "eps0: .inf", f"{PANEL_A}.eps0", "inf"),
    "delta of 2": ("delta: 1e-6", "delta: 2", f"{PANEL_B}.delta", "maximum of 1"),
    "delta of 1": ("delta: 1e-6", "delta: 1", f"{PANEL_B}.delta", "maximum of 1"),
    "delta of 0": ("delta: 1e-6", "delta: 0", f"{PANEL_B}.delta", "minimum of 0"),
    "negative delta": ("delta: 1e-6", "delta: -1e-6", f"{PANEL_B}.delta", "minimum of 0"),
    "delta of nan": ("delta: 1e-6", "delta: .nan", f"{PANEL_B}.delta", "nan"),
    "delta of infinity": ("delta: 1e-6", "delta: .inf", f"{PANEL_B}.delta", "inf"),
    "delta of a figure": ("delta: 1e-8", "delta: 1.5", "bounds.paper.fig1.delta", "maximum of 1"),
    "k above n": ("k: 1e3", "k: 1e7", f"{PANEL_A}.k", "k must be at most n"),
    "k above the least n": ("k: 100", "k: 20000", f"{PANEL_B}.k", "n from 10000"),
    "x backwards": ("from: 1e4", "from: 1e7", f"{PANEL_B}.x.from", "x.from must be less than x.to"),
    "points without end": (
        "points: 3",
        "points: 1e9",
        f"{PANEL_B}.x.points",
        "greater than the maximum of 10000",
    ),
    "clients without end": ("n: 1e6", "n: 1e16", f"{PANEL_A}.n", "greater than the maximum of"),
    "rounds without end": ("to: 1e5", "to: 1e16", f"{PANEL_A}.x", "rounds must be at most 1e+15, since"),
    "x of one value": ("from: 1e4", "from: 1e6", f"{PANEL_B}.x.from", "x.from must be less than x.to"),
    "x from nan": ("from: 1e4", "from: .nan", f"{PANEL_B}.x.from", "nan"),
    "x to nan": ("to: 1e6", "to: .nan", f"{PANEL_B}.x.to", "nan"),
    "x to infinity": ("to: 1e6", "to: .inf", f"{PANEL_B}.x.to", "inf"),
    "x from 0": ("from: 1e4", "from: 0", f"{PANEL_B}.x.from", "minimum of 0"),
    "one point": ("points: 3", "points: 1", f"{PANEL_B}.x.points", "minimum of 2"),
    "half a point": ("points: 3", "points: 2.5", f"{PANEL_B}.x.points", "not of type 'integer'"),
    "x of a word": (X, "x: rounds", f"{PANEL_A}.x", "not of type 'object'"),
    "no x": (X, "rounds: 5", PANEL_A, "'x' is a required property", "        a:"),
    "unknown variable": ("variable: n", "variable: m", f"{PANEL_B}.x.variable", "'m' is not one of"),
    "unknown curve": (
        "[girgis2021-upper, ",
        "[girgis2021-uper, ",
        "bounds.paper.fig1.curves",
        "did you mean 'girgis2021-upper'",
    ),
    "unknown undrawn": (
        "[girgis2021-lower]",
        "[girgis2021-lowr]",
        "bounds.paper.fig1.undrawn",
        "did you mean 'girgis2021-lower'",
    ),
    "unknown undrawn of a panel": (
        "[feldman2021-advanced-noamp]",
        "[feldman2021-advanced-noam]",
        f"{PANEL_B}.undrawn",
        "did you mean 'feldman2021-advanced-noamp'",
    ),
    "curve like no other": (
        "[girgis2021-upper, ",
        "[zzz, ",
        "bounds.paper.fig1.curves",
        "accountant must be a registered one, got 'zzz': known are ",
    ),
    "drawn without a style": (
        "[girgis2021-upper, ",
        "[girgis2021ccs-wang2019, ",
        "bounds.paper.fig1.curves",
        "'girgis2021ccs-wang2019' is drawn here and has no entry under styles",
    ),
    "drawn twice": (
        "feldman2021-strong]",
        "girgis2021-upper]",
        "bounds.paper.fig1.curves",
        "['girgis2021-upper', 'girgis2021-upper'] has non-unique elements",
    ),
    "drawn and undrawn": (
        "[girgis2021-lower]",
        "[girgis2021-upper]",
        "bounds.paper.fig1",
        "'girgis2021-upper' is named twice",
        "    fig1:",
    ),
    "drawn and undrawn in a panel": (
        "[feldman2021-advanced-noamp]",
        "[girgis2021-upper]",
        "bounds.paper.fig1",
        "'girgis2021-upper' is named twice",
        "    fig1:",
    ),
    "curves of a word": (
        "curves: [girgis2021-upper, feldman2021-strong]",
        "curves: all",
        "bounds.paper.fig1.curves",
        "'all' is not of type 'array'",
    ),
    "colour by name": ('color: "#c0509e"', "color: pink", "styles.feldman2021-strong.color", "#rrggbb"),
    "line of waves": ("line: dotted", "line: wavy", "styles.feldman2021-strong.line", "'wavy' is not one of"),
    "name in capitals": ("fig1:", "Fig1:", "bounds.paper", "'Fig1' does not match", "  paper:"),
    "absolute folder": ("{results: results", "{results: /results", "paths.results", "/results"),
    "folder outside": ("{results: results", "{results: ../results", "paths.results", "../results"),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named_with_its_key_file_and_line(tmp_path, refusal, mistake):
    old, new, key, says, *words = mistake
    text = edited(old, new)
    message = refusal(text)
    assert message.startswith("configuration: ")
    assert says in message
    assert "\n" not in message
    place = re.search(r"\(at (\S+), (\S+) line (\d+)\)$", message)
    assert place, message
    assert place[1] == key
    assert place[2] == str(tmp_path / "0.yaml")
    assert int(place[3]) == (line_of(words[0], text) if words else line_of_edit(BASE, text))


def test_every_mistake_is_one():
    """The text that the mistakes are edits of is free of any."""
    config.resolve(yaml.safe_load(BASE))


@pytest.mark.parametrize("variable", FIXED)
def test_a_variable_is_fixed_or_varies(variable):
    config.resolve(varying(variable))
    with pytest.raises(ValueError, match=f"{variable} varies along x and cannot be fixed too; remove one"):
        config.resolve(varying(variable, **{variable: FIXED[variable]}))


@pytest.mark.parametrize("variable", FIXED)
def test_each_other_variable_must_be_fixed(variable):
    for lacking in set(FIXED) - {variable}:
        with pytest.raises(ValueError, match=f"must fix {lacking}, since only {variable} varies"):
            config.resolve(varying(variable, **{lacking: None}))


def test_what_belongs_to_another_system_is_refused():
    with pytest.raises(ValueError, match="gamma is fixed here and no accountant of the panel takes it"):
        config.resolve(varying("rounds", gamma=0.5))
    with pytest.raises(ValueError, match="categories does not vary for 'girgis2021-upper', which takes n, k"):
        config.resolve(varying("categories"))


OVERLAY = """\
# a smaller version
bounds:
  paper:
    fig1:
      panels:
        a:
          x: {points: 3}
"""


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("points: 3", "points: 1", "minimum of 2"),
        ("points: 3", "pionts: 3", "unknown key 'pionts'"),
        ("x: {points: 3}", "epsO: 3", "unknown key 'epsO'"),
        ("x: {points: 3}", "k: 1e7", "k must be at most n"),
    ],
)
def test_a_mistake_in_a_later_file_is_placed_there(tmp_path, refusal, old, new, says):
    text = edited(old, new, OVERLAY)
    message = refusal(BASE, text)
    assert says in message
    assert message.endswith(f"{tmp_path / '1.yaml'} line {line_of_edit(OVERLAY, text)})")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("points: 5", "pionts: 5", "unknown key 'pionts'"),
        ("eps0: 2", "epsO: 2", "unknown key 'epsO'"),
        ("k: 1e3", "k: 1e7", "k must be at most n"),
        ("eps0: 0.5", "eps0: -1", "minimum of 0"),
    ],
)
def test_a_mistake_in_an_earlier_file_is_placed_there(tmp_path, refusal, old, new, says):
    text = edited(old, new)
    message = refusal(text, OVERLAY)
    assert says in message
    assert message.endswith(f"{tmp_path / '0.yaml'} line {line_of_edit(BASE, text)})")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[fixed-window-dummies]", "[dummies]", "quantity must be one of fixed-window-dummies, .*'dummies'"),
        ("n: 10, ", "", "'fixed-window-dummies' takes n, slots, participation; let one of them vary"),
        ("variable: slots", "variable: delta", "'fixed-window-dummies' takes n, slots, participation"),
        ("[fixed-window-dummies]", "[load-norm-bound]", "takes n, slots, delta|no entry under styles"),
        ("title: a title\n", "titel: a title\n", "unknown key 'titel': did you mean 'title'?|required"),
    ],
)
def test_mistakes_in_quantities_say_where(load, old, new, says):
    assert old in QUANTITIES
    with pytest.raises(ValueError, match=says):
        load(STYLED + QUANTITIES.replace(old, new))
