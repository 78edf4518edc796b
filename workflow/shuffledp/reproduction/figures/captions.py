"""Captions, from templates over the resolved configuration."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jinja2


def short(value: float) -> str:
    """Return a number as people write it: 0.5, 100, 1e5, 1e-8."""
    if value != 0 and not 1e-3 < abs(value) < 1e4:
        mantissa, exponent = f"{value:.6e}".split("e")
        return f"{float(mantissa):g}e{int(exponent)}"
    return f"{value:.6g}"


def power_of_ten(value: float) -> str:
    """Return a number for use inside mathtext: in powers of ten if it is 1000 or more, or below 0.001."""
    value = float(f"{value:.3g}")
    if 1e-3 < abs(value) < 1e3 or value == 0:
        return f"{value:g}"
    mantissa, exponent = f"{value:.2e}".split("e")
    factor = "" if float(mantissa) == 1 else rf"{float(mantissa):g} \cdot "
    return f"{factor}10^{{{int(exponent)}}}"


# Once for all figures of a kind: compiling takes longer than filling in.
@functools.cache
def _compiled(text: str) -> jinja2.Template:
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(text)


def render_caption(template: Path | str, params: Mapping[str, Any]) -> str:
    """Render a caption as Snakemake's report does: the template sees ``snakemake.params``.

    Raises:
        jinja2.UndefinedError: the template names a setting that is not there.
    """
    text = Path(template).read_text(encoding="utf-8")
    return _compiled(text).render(snakemake=SimpleNamespace(params=SimpleNamespace(**params))).strip() + "\n"


def render_gallery(entries: Sequence[tuple[str, str, str]]) -> str:
    """Return a page in reStructuredText: for each figure its title, its picture and its caption.

    Args:
        entries: title, path of the picture relative to the page, caption.
    """
    parts = ["Figures", "=======", "", "Written by the workflow from ``config/config.yaml``.", ""]
    for title, picture, caption in entries:
        parts += [title, "-" * len(title), "", f".. image:: {picture}", "   :width: 100%", "", caption]
    return "\n".join(parts).rstrip() + "\n"
