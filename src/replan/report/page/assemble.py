"""One file with everything in it: tables as HTML, charts from plain data, the scripts, and Plotly once."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from replan import list_names
from replan.commands import write_whole
from replan.errors import InputError
from replan.results.key import BEST_POSSIBLE, Record
from replan.results.run import failed
from replan.results.table import Table, note_html
from replan.study.work import rule_of


def glossary(records: Sequence[Record] = ()) -> str:
    """Return the glossary as HTML, with the rules of the records; without records, all that it has."""
    text = _asset("glossary.html")
    told = set(re.findall(r"<dt>(.*?)</dt>", text))
    if records:
        ran = {str(record.get("registered_rule") or record["rule"]).partition(" ")[0] for record in records}
        left_out = told & set(list_names("rules")) - ran
        entry = re.compile(r"<dt>(.*?)</dt><dd>.*?</dd>\n", re.DOTALL)
        text = entry.sub(lambda found: "" if found[1] in left_out else found[0], text)
    more = _rules(records, told).items()
    lines = (f"<dt>{escape(name)}</dt><dd>{escape(words)}</dd>\n" for name, words in more)
    return text.replace("{{of this run}}", "".join(lines))


def _rules(records: Iterable[Record], told: set[str]) -> dict[str, str]:
    """Return the first line on each rule that is not among `told`, by the name that the page shows."""
    found: dict[str, str] = {}
    for record in records:
        name = str(record["rule"])
        if name == BEST_POSSIBLE or name in found or name.partition(" ")[0] in told or failed(record):
            continue
        try:
            rule = rule_of(record)
        except InputError:
            found[name] = "A rule that cannot be made again on this machine."
            continue
        source = str(record.get("registered_rule") or "")
        own = f" A rule of your own, {source}." if ":" in source else ""
        given = f" It is {rule.name} under another name." if rule.name in told else ""
        found[name] = (_first_line(type(rule)) if not given else given.strip()) + own
    return found


def _first_line(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0].replace("`", "")


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
        "data": json.dumps({"settings": views}, separators=(",", ":"), allow_nan=False).replace(
            "<", "\\u003c"
        ),
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
