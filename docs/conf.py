"""How the documentation is built: ``make docs``, which needs no network and takes warnings for errors."""

import sys
from pathlib import Path

import shuffledp

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "extensions"))

project = "shuffledp"
author = "The shuffledp contributors"
version = release = shuffledp.__version__
project_copyright = author

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx-mathjax-offline",
    "sphinx_click",
    "generated",
    "inventories",
    "options",
]
exclude_patterns = ["_generated"]
nitpicky = False

html_theme = "furo"
html_title = f"shuffledp {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False

# Options of commands keep their two hyphens.
smartquotes_action = "qe"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
# The notebook is committed with its outputs, which the tests compare with those of a fresh run.
nb_execution_mode = "off"

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
