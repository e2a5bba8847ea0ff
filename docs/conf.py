"""Sphinx: furo, Markdown by MyST, the API from docstrings. Warnings are errors (see `make docs`)."""

import ast
import html
import re
import sys
from importlib import import_module
from inspect import isclass, isfunction
from pathlib import Path
from typing import ClassVar
from xml.etree import ElementTree

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util.docutils import SphinxDirective

import replan
from replan import __version__

sys.path.insert(0, str(Path(__file__).parent))  # gallery.py

project = "replan"
author = "The replan authors"
copyright = "2026, the replan authors"
release = version = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "gallery",
]
autosummary_generate = False  # its tables only, on the pages by stage
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "replan"
html_static_path = ["_static"]
html_css_files = ["docs.css"]
html_math_renderer = "mathml"
exclude_patterns = ["_build", "tables"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {name: name for name in ("Array", "ArrayLike", "Indices", "Kernel", "Setting")}
smartquotes = False  # s' is a state, not a quotation
autodoc_preserve_defaults = True
autodoc_default_options = {"exclude-members": "model_config"}
python_use_unqualified_type_names = True
nitpicky = False
suppress_warnings = ["ref.python"]  # "of shape (S,)" names no attribute

MATHML = "http://www.w3.org/1998/Math/MathML"
ElementTree.register_namespace("", MATHML)


COLON = "\ue000"
"""Stands for a colon in the first line of a field, of which napoleon would make the type of the field."""


def plain_text(app, what, name, obj, options, lines: list[str]) -> None:
    """Our docstrings are plain text: `code` in backticks, blocks by indentation, |x| is an absolute value."""
    rewritten: list[str] = []
    block = False
    for line in lines:
        if not line.startswith("    ") and line:
            block = line.startswith(">>>") or (block and not line[0].isspace() and rewritten[-1] != "")
        elif not block and line and rewritten and not rewritten[-1]:
            rewritten += ["::", ""]
            block = True
        rewritten.append(line if block else _escaped(line))
    lines[:] = rewritten
    if what in ("attribute", "property", "data") and lines:
        lines[0] = lines[0].replace(":", COLON)


def colons_again(app, what, name, obj, options, lines: list[str]) -> None:
    """Put back the colons that `plain_text` hid."""
    lines[:] = [line.replace(COLON, ":") for line in lines]


def _escaped(line: str) -> str:
    parts = line.split("`")
    parts[::2] = [re.sub(r"([\\*|]|(?<=\w)_(?!\w))", r"\\\1", part) for part in parts[::2]]
    return "``".join(parts)


def short_aliases(app, what, name, obj, options, signature, returns):
    """Array, not TypeAliasForwardRef('Array')."""
    return tuple(
        text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text) for text in (signature, returns)
    )


def mathml(translator, node) -> None:
    """A formula as MathML, which browsers show without a script and without a network."""
    block = isinstance(node, nodes.math_block)
    formula = re.sub(r"\\[bB]ig(?![a-z])", "", node.astext()).replace(r"\dots", r"\ldots")
    if block:
        translator.body.append('<div class="math">')
    translator.body.append(accents_before_subscripts(tex2mathml(formula, as_block=block)))
    if block:
        translator.body.append("</div>")
    raise nodes.SkipNode


def accents_before_subscripts(formula: str) -> str:
    """The subscript of a letter with a hat stands beside it; docutils puts it below."""
    named = re.compile(r"&(?!amp;|lt;|gt;)\w+;")  # which XML does not know
    root = ElementTree.fromstring(named.sub(lambda found: html.unescape(found[0]), formula))
    for both in root.iter(f"{{{MATHML}}}munderover"):
        base, low, high = both
        if high.get("stretchy") == "false":
            accented = ElementTree.Element(f"{{{MATHML}}}mover")
            accented[:] = [base, high]
            both.tag, both[:] = f"{{{MATHML}}}msub", [accented, low]
    return ElementTree.tostring(root, encoding="unicode")


def levels_of_captions(app, pagename, templatename, context, doctree) -> None:
    """Captions of the contents are headings; screen readers are told of which level."""
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')


SCROLLS = re.compile(r'<(?:pre|div class="(?:table-wrapper|math-wrapper)[^"]*")(?=>)')


ALIAS = re.compile(
    r'TypeAliasForwardRef</span><span class="p"><span class="pre">\(</span></span>'
    r'<span class="s"><span class="pre">\'(\w+)\'</span></span><span class="p"><span class="pre">\)</span>'
)


PICTURE = re.compile(r'<img [^>]*src="([^"]*_images/[^"]*)"[^>]*/?>(?!</a>)')


def finish_body(app, pagename, templatename, context, doctree) -> None:
    """Finish the HTML of a page.

    Blocks that scroll on a narrow screen can be focused, pictures are links to their full size, and the type
    of a property is Array, as in signatures.
    """
    body = SCROLLS.sub(r'\g<0> tabindex="0"', context.get("body", ""))
    body = PICTURE.sub(r'<a href="\1">\g<0></a>', body)
    context["body"] = ALIAS.sub(r"\1", body)


class Exported(SphinxDirective):
    """Documents the names of `replan` that are defined in one package: `.. exported:: schedule`.

    With the option `summary` it is a table of them with a line each.
    """

    required_arguments = 1
    option_spec: ClassVar = {"summary": directives.flag}

    def run(self) -> list[nodes.Node]:
        """Return the documentation of every name."""
        package = self.arguments[0]
        names = [name for name, module in MODULES.items() if module.startswith(f"replan.{package}.")]
        if "summary" in self.options:
            called = [
                name for name in names if isclass(getattr(replan, name)) or isfunction(getattr(replan, name))
            ]
            lines = [".. autosummary::", "   :nosignatures:", "", *(f"   replan.{name}" for name in called)]
        else:
            lines = [str(import_module(f"replan.{package}").__doc__).partition("\n")[0], ""]
            for name in names:
                thing = getattr(replan, name)
                kind = "class" if isclass(thing) else "function" if isfunction(thing) else "data"
                members = ["   :members:"] if kind == "class" else []
                lines += [f".. auto{kind}:: replan.{name}", *members, ""]
        return self.parse_text_to_nodes("\n".join(lines))


def exported_modules() -> dict[str, str]:
    """Return the module of each name of `replan`, from its stub."""
    stub = ast.parse(Path(str(replan.__file__)).with_suffix(".pyi").read_text())
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: f"replan.{node.module}" for node in imports for alias in node.names}


MODULES = exported_modules()


def setup(app) -> None:
    """Register the directive of exported names, and the readers of docstrings and formulas."""
    app.add_directive("exported", Exported)
    app.connect("autodoc-process-docstring", plain_text, priority=100)  # before napoleon
    app.connect("autodoc-process-docstring", colons_again, priority=900)  # after it
    app.connect("autodoc-process-signature", short_aliases)
    app.connect("html-page-context", levels_of_captions, priority=900)  # after furo
    app.connect("html-page-context", finish_body)
    app.add_html_math_renderer("mathml", (mathml, None), (mathml, None))
