"""Sphinx extension: a gallery of `examples/`, with thumbnails drawn when the docs are built.

The directive `gallery` shows a card for each example, and with `code` its text and its code, both read from
the file, so that a new example appears by itself. Thumbnails are those of `thumbnails.py`, written next
to the built pages and drawn again only when the example or the drawing is newer.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import ClassVar

import thumbnails
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples"
FOLDER = "_static/gallery"  # in the built pages


@dataclass(frozen=True)
class Example:
    """One file: the beginning of its docstring, up to a colon, is the title."""

    path: Path
    title: str
    text: str

    @property
    def name(self) -> str:
        """The name of the file, which is also the anchor."""
        return self.path.stem

    @classmethod
    def of(cls, path: Path) -> Example:
        """Read the docstring of an example."""
        title, _, text = str(ast.get_docstring(ast.parse(path.read_text()))).partition("\n\n")
        return cls(path, " ".join(title.split()).partition(":")[0].rstrip("."), text or title)


def examples() -> list[Example]:
    """Return every example that has a `main`: those with a drawing in the order of these, then the others."""
    order = list(thumbnails.DRAWINGS)
    found = [Example.of(path) for path in sorted(EXAMPLES.rglob("*.py")) if "\ndef main(" in path.read_text()]
    return sorted(found, key=lambda each: order.index(each.name) if each.name in order else len(order))


class Gallery(SphinxDirective):
    """Cards of all examples; with the option `code` the text and code of each, as a section."""

    option_spec: ClassVar = {"code": directives.flag}

    def run(self) -> list[nodes.Node]:
        """Return the cards or the sections."""
        found = examples()
        for path in (Path(__file__), Path(thumbnails.__file__), *(example.path for example in found)):
            self.env.note_dependency(str(path))
        if "code" in self.options:
            return self.parse_text_to_nodes("\n\n".join(map(section, found)), allow_section_headings=True)
        cards = "".join(map(card, found))
        return [nodes.raw("", f'<div class="gallery">{cards}</div>', format="html")]


def card(example: Example) -> str:
    """Return the thumbnail of an example with its title, a link to its section."""
    picture = f'<img src="{FOLDER}/{example.name}.png" alt="" width="320" height="200" loading="lazy">'
    words = escape(example.title.replace("`", ""))
    return f'<a href="#{anchor(example)}">{picture}<span>{words}</span></a>'


def anchor(example: Example) -> str:
    """Return the address of an example on the page."""
    return example.name.replace("_", "-")


def section(example: Example) -> str:
    """Return the section of an example in Markdown."""
    where = example.path.relative_to(DOCS.parent).as_posix()
    return "\n".join(
        [
            f"({anchor(example)})=",
            f"## {example.title}",
            "",
            example.text,
            "",
            f"`python {where}`",
            "",
            f"```{{literalinclude}} ../{where}",
            ":language: python",
            ":start-after: from __future__ import annotations",
            "```",
        ]
    )


def draw_thumbnails(app, exception) -> None:
    """Draw the thumbnails that are missing or older than their example, at the end of a build."""
    if exception or app.builder.format != "html":
        return
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for example in examples():
        picture = folder / f"{example.name}.png"
        newest = max(example.path.stat().st_mtime, Path(thumbnails.__file__).stat().st_mtime)
        if not picture.exists() or picture.stat().st_mtime < newest:
            thumbnails.draw(example.path, picture)


def setup(app) -> dict[str, bool]:
    """Register the directive and the drawing."""
    app.add_directive("gallery", Gallery)
    app.connect("build-finished", draw_thumbnails)
    return {"parallel_read_safe": True}
