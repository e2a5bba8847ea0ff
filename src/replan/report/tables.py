"""Tables as Markdown, LaTeX, CSV and for the terminal, from one plain form."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replan.report.files import write_whole


@dataclass(frozen=True)
class Table:
    """Headings and rows of text; a row whose first cell is empty goes on with the row above."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    labels: int = 1  # the first columns, which say what a row is

    def markdown(self) -> str:
        """A Markdown table under its title, notes below."""
        head = "| " + " | ".join(self.columns) + " |"
        rule = "|" + "|".join("---" if k == 0 else "---:" for k in range(len(self.columns))) + "|"
        body = ["| " + " | ".join(row) + " |" for row in self.rows]
        notes = "".join(f"\n{note}\n" for note in self.notes)
        return f"# {self.title}\n\n" + "\n".join([head, rule, *body]) + "\n" + notes

    def latex(self) -> str:
        """A booktabs table."""
        lines = [r"\begin{table}", r"\centering", rf"\caption{{{_tex(self.title)}}}"]
        lines += [rf"\begin{{tabular}}{{l{'r' * (len(self.columns) - 1)}}}", r"\toprule"]
        lines += [" & ".join(_tex(cell) for cell in self.columns) + r" \\", r"\midrule"]
        lines += [" & ".join(_tex(cell) for cell in row) + r" \\" for row in self.rows]
        lines += [r"\bottomrule", r"\end{tabular}"]
        lines += [rf"\par\footnotesize {_tex(note)}" for note in self.notes]
        return "\n".join([*lines, r"\end{table}", ""])

    def show(self) -> None:
        """On the terminal."""
        from replan.report.terminal import show

        show(self)

    def write(self, folder: Path, name: str) -> None:
        """NAME.md and NAME.tex."""
        write_whole(folder / f"{name}.md", self.markdown())
        write_whole(folder / f"{name}.tex", self.latex())


def write_csv(path: Path, records: Sequence[dict[str, Any]]) -> None:
    """One line a record, the columns of the first."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    write_whole(path, buffer.getvalue())


def bold(cell: str) -> str:
    """The cell marked as the best of its row."""
    return f"**{cell}**"


def unbold(cell: str) -> str:
    """The cell without the mark."""
    return cell[2:-2] if cell.startswith("**") else cell


def _tex(cell: str) -> str:
    cell = cell.replace("±", r"$\pm$").replace("%", r"\%").replace("_", r"\_").replace("&", r"\&")
    plain = unbold(cell)
    return plain if plain == cell else rf"\textbf{{{plain}}}"
