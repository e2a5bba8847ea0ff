"""Sphinx: furo, Markdown by MyST, the API from docstrings. Warnings are errors (see `make docs`)."""

from replan import __version__

project = "replan"
author = "The replan authors"
copyright = "2026, the replan authors"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "replan"
html_static_path = []
exclude_patterns = ["_build"]
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_class_signature = "separated"
nitpicky = False
