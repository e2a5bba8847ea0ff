"""Tables for the page: every column sorts, by the number behind a cell where there is one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite

MISSING = "–"


@dataclass(frozen=True)
class Cell:
    """What is shown, what it sorts by, and what stands small beside it."""

    text: str
    value: float | None = None  # None: sorts by its text
    beside: str = ""  # the paper's figure
    best: bool = False

    def html(self, tag: str = "td") -> str:
        """The cell; numbers are set to the right."""
        number = self.value is not None and isfinite(self.value)
        attributes = f' class="number" data-value="{self.value!r}"' if number else ""
        attributes = ' class="number"' if self.text == MISSING else attributes
        attributes += ' scope="row"' if tag == "th" else ""
        shown = f"<strong>{escape(self.text)}</strong>" if self.best else escape(self.text)
        beside = f" <small>{escape(self.beside)}</small>" if self.beside else ""
        return f"<{tag}{attributes}>{shown}{beside}</{tag}>"


def number(value: float | None, form: str = ".3f", *, beside: str = "", best: bool = False) -> Cell:
    """A cell with a number; a dash where there is none."""
    if value is None or not isfinite(value):
        return Cell(MISSING, None, beside)
    return Cell(f"{value:{form}}", float(value), beside, best)


def note_html(note: str) -> str:
    """A note in small print; what stands between backticks is code."""
    shown = re.sub("`(.*?)`", r"<code>\1</code>", escape(note))
    return f'<p class="note">{shown}</p>'


@dataclass(frozen=True)
class SortableTable:
    """A caption, headings, rows whose first cell names them, and notes below."""

    name: str  # id in the page
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()

    def html(self) -> str:
        """The table in a box of its own that scrolls, so that the page never does sideways."""
        heads = "".join(
            f'<th scope="col" aria-sort="none"><button type="button">{escape(column)}'
            '<span class="arrow" aria-hidden="true"></span></button></th>'
            for column in self.columns
        )
        body = "\n".join(
            "<tr>" + row[0].html("th") + "".join(cell.html() for cell in row[1:]) + "</tr>"
            for row in self.rows
        )
        notes = "".join(note_html(note) for note in self.notes)
        return (
            f'<h3 id="{self.name}-title">{escape(self.title)}</h3>'
            f'<div class="scroll" role="region" tabindex="0" aria-labelledby="{self.name}-title">'
            f'<table id="{self.name}" class="sortable" aria-labelledby="{self.name}-title">'
            f"<thead><tr>{heads}</tr></thead><tbody>\n{body}\n</tbody></table></div>{notes}"
        )
