"""Captions, made by templates from the resolved configuration, and the page that shows them with figures."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2

_HEAD = "**{{ paper }}, {{ figure }}.** {{ shows }}{% if neighbours %} {{ neighbours }}{% endif %}\n\n\n"
_SETTING = """\
{% for line in setting %}
- {{ line }}
{% endfor %}
"""
_CHOICES = """\
{% if choices %}

Differences and choices:

{% for choice in choices %}
- {{ choice }}
{% endfor %}
{% endif %}
"""


def render(details: str, about: Mapping[str, Any]) -> str:
    """Return a caption: what is shown, the setting, the differences from the paper, and the details.

    Args:
        details: jinja template of the kind of figure.
        about: values of the templates' variables: paper, figure, shows, neighbours, setting (one line for
            each panel), choices, and those of the details.

    Raises:
        jinja2.UndefinedError: a template has a variable without a value.
    """
    return _compiled(f"{_HEAD}{_SETTING}{_CHOICES}\n{details}").render(about).strip() + "\n"


_PAGE = """\
Written by the workflow from ``config/config.yaml``. Figures of "beyond" are of no paper. A claim, such as
G1, is what a paper states: docs/claims.md tells each, and what came out. The theory page is
docs/theory/every_randomiser.md. The share of a randomiser is at most 1/2, where its numerical bound is that
of every eps0-LDP randomiser (docs/tutorial/own_randomiser.md).

A curve ends in a ring where its next value is infinite. Small marks at the end of an axis, explained in the
panel, are for points that the axis cannot show.
""".splitlines()


# Cached for all figures of a kind, since compiling takes longer than rendering.
@functools.cache
def _compiled(text: str) -> jinja2.Template:
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(text)


def render_gallery(entries: Sequence[tuple[str, str, str]]) -> str:
    """Return a page in reStructuredText: for each figure its title, its picture and its caption.

    Args:
        entries: title, path of the picture relative to the page, caption.
    """
    parts = ["Figures", "=======", "", *_PAGE, ""]
    for title, picture, caption in entries:
        parts += [title, "-" * len(title), "", f".. image:: {picture}", "   :width: 100%", "", caption]
    return "\n".join(parts).rstrip() + "\n"
