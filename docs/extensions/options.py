"""Options of commands stay in one line: they get a class of their own, for which the style sheet says so."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform


class MarkOptions(SphinxPostTransform):
    """Mark literals that are an option and nothing else."""

    default_priority = 500

    def run(self, **kwargs: Any) -> None:
        """Mark those of one page."""
        for node in self.document.findall(nodes.literal):
            text = node.astext()
            if text.startswith("--") and " " not in text:
                node["classes"].append("option-name")


def setup(app: Sphinx) -> dict[str, bool]:
    """Mark options on all pages."""
    app.add_post_transform(MarkOptions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
