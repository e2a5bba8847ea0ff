"""One file with everything in it: tables as HTML, charts from plain data, the scripts, and Plotly once."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from replan.report.page.glossary import glossary
from replan.results.table import Table, note_html, write_whole

NAME = "report.html"
SCRIPTS = ("theme.js", "tables.js", "charts.js", "path.js", "page.js")


def assemble(
    folder: str | Path,
    title: str,
    sentence: str,
    tables: Sequence[Table],
    views: list[dict[str, Any]],
    *,
    notes: Sequence[str] = (),
    panels: Sequence[str] = (),
    words: str | None = None,
) -> Path:
    """Write report.html into the folder and return its path.

    The first table stands at the top, the others at the end. Notes name omissions; panels are HTML, and so
    are the words, the glossary.
    """
    from plotly.offline import get_plotlyjs

    filled = {
        "title": escape(title),
        "sentence": escape(sentence),
        "notes": "\n".join(note_html(note) for note in notes),
        "glossary": glossary() if words is None else words,
        "style": _asset("page.css"),
        "first": "".join(_boxed(table) for table in tables[:1]),
        "tables": "\n".join(_boxed(table) for table in tables[1:]),
        "panels": "\n".join(panels),
        "charts": _asset("charts.html") if views else "",
        "data": json.dumps({"settings": views}, separators=(",", ":"), allow_nan=False).replace("</", "<\\/"),
        "plotly": get_plotlyjs() if views else "",
        "scripts": "\n".join(_asset(name) for name in SCRIPTS),
    }
    page = re.sub(r"\{\{(\w+)\}\}", lambda found: filled[found[1]], _asset("page.html"))
    return write_whole(Path(folder) / NAME, page)


def figure_panel(title: str, figures: Sequence[str], *notes: str) -> str:
    """Return figures, as SVG, side by side under a heading; on a narrow screen one below the other."""
    box = f'<div class="figures" role="img" aria-label="{escape(title)}">{"".join(figures)}</div>'
    return f"<section><h2>{escape(title)}</h2>{box}{''.join(map(note_html, notes))}</section>"


def table_panel(title: str, table: Table) -> str:
    """Return a table under a heading."""
    return f"<section><h2>{escape(title)}</h2>{_boxed(table)}</section>"


def _boxed(table: Table) -> str:
    """Return the table as HTML; a long one can be unfolded."""
    if not table.name.endswith("-long"):
        return f"<section>{table.html()}</section>"
    return f"<details><summary>{escape(table.title)}</summary>{table.html()}</details>"


def _asset(name: str) -> str:
    return (resources.files("replan.report.page") / "assets" / name).read_text(encoding="utf-8")
