"""The documentation site: `make docs`.

Pages are Markdown (MyST) of four kinds: tutorial, how-to, reference, explanation. `_extensions/` generates the
reference from the code: functions and classes from their docstrings, commands from argparse, SQLSTATEs from the mapping
of `python/interop/src/error.rs`, settings from a running server.
"""

import sys
from pathlib import Path

import colonnade

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "Colonnade"
author = "The Colonnade contributors"
release = version = colonnade.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "outside", "reference"]
exclude_patterns = ["_build", "study"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

# A name in single backticks is code, as in the source.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"Colonnade {release}"
html_show_sourcelink = False
html_copy_source = False
# Nothing is fetched to show a page: Furo has no web fonts, and the search works on local files.
html_theme_options = {"navigation_with_keys": True}
