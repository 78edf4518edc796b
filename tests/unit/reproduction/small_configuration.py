"""A small configuration as text, to be edited, and where in it an edit lies."""

import copy

import yaml

BASE = """\
paths: {results: results, figures: figures, ledger: docs/claims.md}
captions: {paper: {'fig1': {shows: What it shows.}}}
styles:
  girgis2021-upper: {color: "#0072b2", line: solid}
  feldman2021-strong:
    color: "#c0509e"
    line: dotted
    label: clones
bounds:
  paper:
    fig1:
      delta: 1e-8
      curves: [girgis2021-upper, feldman2021-strong]
      undrawn: [girgis2021-lower]
      panels:
        a:
          x: {variable: rounds, from: 10, to: 1e5, points: 5}
          n: 1e6
          k: 1e3
          eps0: 2
        b:
          x:
            variable: n
            from: 1e4
            to: 1e6
            points: 3
          k: 100
          eps0: 0.5
          rounds: 1e3
          delta: 1e-6
          undrawn: [feldman2021-advanced-noamp]
"""
PANEL_A, PANEL_B = "bounds.paper.fig1.panels.a", "bounds.paper.fig1.panels.b"
# one panel in which everything but the x axis is fixed, to vary each variable in turn
FIXED = {"n": 1e6, "k": 1e3, "eps0": 1, "rounds": 100, "delta": 1e-6}
RANGES = {
    "n": (1e4, 1e6),
    "k": (10, 100),
    "eps0": (0.1, 2),
    "rounds": (10, 100),
    "delta": (1e-9, 1e-3),
    "epsilon": (0.1, 1),
    "categories": (2, 8),
}


def edited(old, new, text=BASE):
    assert text.count(old) == 1, f"{old!r} must name one place"
    return text.replace(old, new)


def line_of(words, text):
    """Return the number of the first line with ``words``."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if words in line)


def line_of_edit(old, new):
    """Return the number of the first line in which two texts differ."""
    pairs = zip(old.splitlines(), new.splitlines(), strict=False)
    return next(number for number, (one, other) in enumerate(pairs, 1) if one != other)


def varying(variable, **changes):
    """Return a raw configuration whose one panel varies ``variable``; a change of None drops the key."""
    raw = copy.deepcopy(yaml.safe_load(BASE))
    figure = raw["bounds"]["paper"]["fig1"]
    del figure["delta"]
    first, last = RANGES[variable]
    panel = {**FIXED, "x": {"variable": variable, "from": first, "to": last, "points": 4}}
    panel.pop(variable, None)
    panel.update(changes)
    figure["panels"] = {"a": {key: value for key, value in panel.items() if value is not None}}
    return raw


QUANTITIES = """\
quantities:
  paper:
    fig2:
      panels:
        a:
          title: a title
          x: {variable: slots, from: 2, to: 8, points: 3, label: slots}
          y: dummy updates
          fixed: {n: 10, participation: 1}
          curves: [fixed-window-dummies]
"""
STYLED = BASE.replace(
    "styles:\n", 'styles:\n  fixed-window-dummies: {color: "#000000", line: points}\n'
).replace("{'fig1': ", "{fig2: {shows: What it shows too.}, 'fig1': ")


WITHOUT_CAPTIONS = edited("captions: {paper: {'fig1': {shows: What it shows.}}}\n", "")

# a key that an edit takes away
LEFT_OUT = object()
