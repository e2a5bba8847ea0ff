"""Tables that come with replan: results that take too long to compute for a page.

They are Markdown files as `Table.markdown` writes them, in the folder `reference`.
"""

from __future__ import annotations

import re
from importlib import resources

from replan.report.tables import Cell, Table


def reference_table(name: str) -> Table | None:
    """Return the table of a file, with the names of rows that continue filled in; None if there is none."""
    file = resources.files("replan.report") / "reference" / f"{name}.md"
    if not file.is_file():
        return None
    title, *lines = file.read_text(encoding="utf-8").splitlines()
    head, _, *body = [_cells(line) for line in lines if line.startswith("|")]
    rows: list[list[Cell]] = []
    for row in body:
        rows.append([rows[-1][0], *row[1:]] if rows and not row[0].text else row)
    notes = [line for line in lines if line and not line.startswith("|")]
    return Table(title.removeprefix("# "), [cell.text for cell in head], rows, notes, name=name)


def _cells(line: str) -> list[Cell]:
    return [_cell(text.strip()) for text in re.split(r"(?<!\\)\|", line)[1:-1]]


def _cell(text: str) -> Cell:
    bold = text.startswith("**") and text.endswith("**")
    plain = re.sub(r"\\([\\|`<>~*\[])", r"\1", text.strip("*") if bold else text)
    return Cell(plain, _value(plain), best=bold)


def _value(text: str) -> float | None:
    try:
        return float(text.removesuffix("%"))
    except ValueError:
        return None
