"""A table on the terminal: nothing is cut, however narrow it is."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Shown
from rich.text import Text

from replan.report.tables import Cell, Table

PADDING = 3  # about each column: two spaces and a line


def show(table: Table) -> None:
    """Print a table, in blocks of columns on a narrow terminal; piped, it is whole and `**` marks bold."""
    console = Console()
    piped = not console.is_terminal
    styled = console.color_system is not None
    console.print(table.title, style="italic", markup=False, highlight=False, soft_wrap=piped)
    cells = [[_text(cell, styled) for cell in row] for row in table.cells]
    heads = [Text(column) for column in table.columns]
    widths = [
        max(cell_len(text.plain) for text in column) + PADDING for column in zip(heads, *cells, strict=True)
    ]
    for block in column_blocks(widths, table.labels, None if piped else console.width - 1):
        shown = Shown()
        for k in block:
            shown.add_column(heads[k], justify="left" if k < table.labels else "right", no_wrap=True)
        for row in cells:
            if row[0].plain and shown.row_count:
                shown.add_section()
            shown.add_row(*(row[k] for k in block))
        Console(width=sum(widths[k] for k in block) + 1).print(shown)
    for note in table.notes:
        console.print(note, markup=False, highlight=False, soft_wrap=piped)


def column_blocks(widths: Sequence[int], labels: int, room: int | None) -> list[list[int]]:
    """The columns of each block: the labels, and as many others in order as have room, at least one."""
    first = list(range(labels))
    blocks = [first]
    for k in range(labels, len(widths)):
        block = [*blocks[-1], k]
        if room is None or blocks[-1] == first or sum(widths[j] for j in block) <= room:
            blocks[-1] = block
        else:
            blocks.append([*first, k])
    return blocks


def _text(cell: Cell, styled: bool) -> Text:
    return Text(cell.text, style="bold") if styled and cell.best else Text(cell.marked)
