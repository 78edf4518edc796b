"""The workflow's configuration: read, checked, resolved to what has to be made, and documented."""

from shuffledp.reproduction.config.loading import load, resolve
from shuffledp.reproduction.config.settings import Settings
from shuffledp.reproduction.sections.reading import check_file

__all__ = ["Settings", "check_file", "load", "resolve"]
