"""The text of the page of keys, in the form that catalogues of workflows show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_BEFORE = """\
# Configuration

## Workflow overview

This workflow redraws the figures of four papers on shuffle-model differential privacy, and decides which of
their numbers come out. It takes these steps:

1. Tables of numbers are made for the figures: curves of bounds and of other quantities are computed, and
   estimates are drawn by Monte Carlo.
2. Networks are trained with local randomisers (`training`): hours, and only if `all_trainings` is asked for.
   Their accuracy is set against epsilon, rounds and theorems.
3. Figures with captions, the ledger of the papers' claims and this page are written. Each kind of figure has
   a key of its own at the top of the configuration, under which its figures stand by paper and name.

Results are kept in the repository with a record of what each was made from, so that a run computes only what
your configuration changes.

## Running the workflow

Nothing has to be configured to redraw the figures: `snakemake --cores all` reads `config/config.yaml`. What
you change goes into a file of your own, which is laid over it key by key (a list replaces a list):

```yaml
# mine.yaml: fewer points in one figure, into folders of its own
paths: {results: results/mine, figures: figures/mine, ledger: results/mine/pages/claims.md}
bounds:
  girgis2021:
    fig2: {panels: {a: {x: {points: 5}}}}
```

```sh
snakemake --cores all --configfile mine.yaml
snakemake --cores 1 --configfile mine.yaml -- figures/mine/girgis2021/fig2.pdf   # one figure
```

In folders of its own nothing is there yet: the first command computes all curves, for about an hour, and
draws no figure of a training. The second makes what its figure needs.

A misspelt key, or a value that a key may not have, is refused in a line that names the file, the line and
what is possible. `config/smoke.yaml` is such a file, with the same jobs in seconds; `config/sweep.yaml` is
for a large study. Another Snakefile may take the workflow as a module, and gives the configuration with it.

### Keys

Written by the workflow from the models in `workflow/shuffledp/reproduction` and the table of
`workflow/shuffledp/variables.py`. Names in angle brackets are yours to choose (accountants: from
the registry); * marks a key that must be there.

| key | meaning | values |
|---|---|---|
"""
_BEFORE_VARIABLES = """
### Variables

What the configuration may fix or vary, the library takes by these names, and the command line by
these options.

| variable | option | symbol | meaning | values | unit |
|---|---|---|---|---|---|
"""


def key_table(keys: Iterable[Sequence[str]], variables: Iterable[Sequence[str]]) -> str:
    """Return the page that documents the configuration and every key of it, in Markdown.

    Args:
        keys: name, a star if it is required, meaning and values of each key.
        variables: name, option, symbol, meaning, values and unit of each variable.
    """
    of_keys = [f"| `{key}`{star} | {meaning} | {values} |\n" for key, star, meaning, values in keys]
    of_variables = [
        f"| {name} | `{option}` | ${symbol}$ | {meaning} | {values} | {unit} |\n"
        for name, option, symbol, meaning, values, unit in variables
    ]
    return "".join([_BEFORE, *of_keys, _BEFORE_VARIABLES, *of_variables])
