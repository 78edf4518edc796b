"""The page of keys as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def key_table(keys: Iterable[Sequence[str]], variables: Iterable[Sequence[str]]) -> str:
    """Return the page that documents every key of the configuration, in Markdown.

    Args:
        keys: of each its name, a star if it must be there, its meaning, and its values.
        variables: of each its name, option, symbol, meaning, values and unit.
    """
    lines = [
        "# Keys of the configuration",
        "",
        "Written by the workflow from the models in `workflow/shuffledp/reproduction` and the table of",
        "`workflow/shuffledp/variables.py`. Names in angle brackets are yours to choose (accountants: from",
        "the registry); * marks a key that must be there.",
        "",
        "| key | meaning | values |",
        "|---|---|---|",
    ]
    lines += [f"| `{key}`{star} | {meaning} | {values} |" for key, star, meaning, values in keys]
    lines += [
        "",
        "# Variables",
        "",
        "What the configuration may fix or vary, the library takes by these names, and the command line by",
        "these options.",
        "",
        "| variable | option | symbol | meaning | values | unit |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {name} | `{option}` | ${symbol}$ | {meaning} | {values} | {unit} |"
        for name, option, symbol, meaning, values, unit in variables
    ]
    return "\n".join(lines) + "\n"
