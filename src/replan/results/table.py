"""Tables in one plain form, as Markdown, LaTeX, CSV, HTML and on the terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replan.commands import csv_text, write_whole

if TYPE_CHECKING:
    from rich.text import Text

MISSING = "–"
LATEX = {sign: f"\\{sign}" for sign in "%_&#${}"} | {
    "±": r"$\pm$",
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
UNNAMED = ' aria-label="kind of row"'  # heading of a column without one
SAME = 1e-9  # figures closer than this are equal
PADDING = 3  # about each column on the terminal: two spaces and a line


@dataclass(frozen=True)
class TableCell:
    """A cell of a table."""

    text: str
    value: Any = None  # written to CSV and sorted by in HTML; None: the text is
    beside: str = ""  # in small print after the text, in HTML only
    best: bool = False  # in bold

    @property
    def marked(self) -> str:
        """The text, between ** if it is bold."""
        return f"**{self.text}**" if self.best else self.text

    def markdown(self) -> str:
        """The text as a cell of a Markdown table."""
        return replace(self, text=in_markdown(self.text)).marked

    def latex(self) -> str:
        """The text as LaTeX."""
        text = "".join(LATEX.get(sign, sign) for sign in self.text)
        return rf"\textbf{{{text}}}" if self.best else text

    def rich(self, *, styled: bool) -> Text:
        """Return the text for the terminal, in bold if that can be shown, else between **."""
        from rich.text import Text

        return Text(self.text, style="bold") if styled and self.best else Text(self.marked)

    def html(self, tag: str = "td") -> str:
        """An HTML cell; numbers are set to the right."""
        number = isinstance(self.value, (int, float)) and isfinite(self.value)
        attributes = f' class="number" data-value="{float(self.value)!r}"' if number else ""
        attributes = ' class="number"' if self.text == MISSING else attributes
        attributes += ' scope="row"' if tag == "th" else ""
        shown = f"<strong>{escape(self.text)}</strong>" if self.best else escape(self.text)
        beside = f" <small>{escape(self.beside)}</small>" if self.beside else ""
        return f"<{tag}{attributes}>{shown}{beside}</{tag}>"


@dataclass(frozen=True)
class Table:
    """Headings and rows; a row whose first cell is empty continues the row above."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | TableCell]]
    notes: Sequence[str] = ()
    labels: int = 1  # columns at the left that name a row
    name: str = "table"  # id in HTML

    @property
    def cells(self) -> list[list[TableCell]]:
        """The rows, each entry a `TableCell`."""
        return [
            [each if isinstance(each, TableCell) else TableCell(each) for each in row] for row in self.rows
        ]

    def markdown(self) -> str:
        """A Markdown table under its title, notes below; names show as they are."""
        head = "| " + " | ".join(map(in_markdown, self.columns)) + " |"
        rule = "|" + "|".join("---" if k == 0 else "---:" for k in range(len(self.columns))) + "|"
        body = ["| " + " | ".join(cell.markdown() for cell in row) + " |" for row in self.cells]
        notes = "".join(f"\n{note}\n" for note in self.notes)
        return f"# {self.title}\n\n" + "\n".join([head, rule, *body]) + "\n" + notes

    def latex(self) -> str:
        """A booktabs table."""
        lines = [r"\begin{table}", r"\centering", rf"\caption{{{TableCell(self.title).latex()}}}"]
        lines += [rf"\begin{{tabular}}{{l{'r' * (len(self.columns) - 1)}}}", r"\toprule"]
        lines += [" & ".join(TableCell(column).latex() for column in self.columns) + r" \\", r"\midrule"]
        lines += [" & ".join(cell.latex() for cell in row) + r" \\" for row in self.cells]
        lines += [r"\bottomrule", r"\end{tabular}"]
        lines += [rf"\par\footnotesize {TableCell(note).latex()}" for note in self.notes]
        return "\n".join([*lines, r"\end{table}", ""])

    def csv(self) -> str:
        """Values, or the text of cells without one; 12 digits."""
        values = [[cell.text if cell.value is None else cell.value for cell in row] for row in self.cells]
        return csv_text(self.columns, values)

    def html(self) -> str:
        """A sortable table in a box of its own that scrolls, so that the page never does sideways."""
        heads = "".join(
            f'<th scope="col" aria-sort="none"><button type="button"{"" if column else UNNAMED}>'
            f'{escape(column)}<span class="arrow" aria-hidden="true"></span></button></th>'
            for column in self.columns
        )
        body = "\n".join(
            "<tr>" + row[0].html("th") + "".join(cell.html() for cell in row[1:]) + "</tr>"
            for row in self.cells
        )
        notes = "".join(note_html(note) for note in self.notes)
        return (
            f'<h3 id="{self.name}-title">{escape(self.title)}</h3>'
            f'<div class="scroll" role="region" tabindex="0" aria-labelledby="{self.name}-title">'
            f'<table id="{self.name}" class="sortable" aria-labelledby="{self.name}-title">'
            f"<thead><tr>{heads}</tr></thead><tbody>\n{body}\n</tbody></table></div>{notes}"
        )

    def show(self) -> None:
        """Print the table, in blocks of columns on a narrow terminal; piped, `**` marks bold."""
        from rich.console import Console
        from rich.table import Table as Shown
        from rich.text import Text

        console = Console()
        piped = not console.is_terminal
        console.print(self.title, style="italic", markup=False, highlight=False, soft_wrap=piped)
        cells = [[cell.rich(styled=not piped) for cell in row] for row in self.cells]
        heads = [Text(column) for column in self.columns]
        widths = [
            max(text.cell_len for text in column) + PADDING for column in zip(heads, *cells, strict=True)
        ]
        for block in column_blocks(widths, self.labels, None if piped else console.width - 1):
            shown = Shown()
            for k in block:
                shown.add_column(heads[k], justify="left" if k < self.labels else "right", no_wrap=True)
            for row in cells:
                if row[0].plain and shown.row_count:
                    shown.add_section()
                shown.add_row(*(row[k] for k in block))
            Console(width=sum(widths[k] for k in block) + 1).print(shown)
        for note in self.notes:
            console.print(note, markup=False, highlight=False, soft_wrap=piped)


def in_markdown(text: str) -> str:
    """Return text that a Markdown table shows as it is: no sign of it is read as markup."""
    escaped = re.sub(r"([\\|`<>~]|\*(?=\S)|\[(?=[^\]]*\]\())", r"\\\1", text)
    return " ".join(escaped.split())


def write_tables(folder: Path, name: str, tables: Sequence[Table]) -> None:
    """Write all tables into one NAME.md and one NAME.tex."""
    write_whole(folder / f"{name}.md", "\n".join(table.markdown() for table in tables))
    write_whole(folder / f"{name}.tex", "\n".join(table.latex() for table in tables))


def number(value: float | None, form: str = ".3f", *, beside: str = "", best: bool = False) -> TableCell:
    """Return a cell with a number, or with a dash if it is missing."""
    if value is None or not isfinite(value):
        return TableCell(MISSING, None, beside)
    return TableCell(f"{value:{form}}", float(value), beside, best)


def least_in_bold(values: Sequence[float | None], form: str = ".3f") -> list[TableCell]:
    """Return a row of numbers whose least is in bold."""
    least = min((value for value in values if value is not None), default=None)
    return [
        number(value, form, best=value is not None and least is not None and value <= least + SAME)
        for value in values
    ]


def write_csv(path: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    """Write one line for each record; the columns are the keys of the first."""
    columns = tuple(records[0]) if records else ()
    rows = [[_plain(record[column]) for column in columns] for record in records]
    return write_whole(path, Table(path.stem, columns, rows).csv())


def note_html(note: str) -> str:
    """Return a note in small print; text between backticks is code."""
    shown = re.sub("`(.*?)`", r"<code>\1</code>", escape(note))
    return f'<p class="note">{shown}</p>'


def column_blocks(widths: Sequence[int], labels: int, room: int | None) -> list[list[int]]:
    """Return the columns of each block: the labels and at least one other, in order, within `room`."""
    first = list(range(labels))
    blocks = [first]
    for k in range(labels, len(widths)):
        block = [*blocks[-1], k]
        if room is None or blocks[-1] == first or sum(widths[j] for j in block) <= room:
            blocks[-1] = block
        else:
            blocks.append([*first, k])
    return blocks


def _plain(value: Any) -> TableCell:
    return TableCell("") if value is None else TableCell(str(value), value)
