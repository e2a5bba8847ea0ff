"""Tables on the terminal: nothing is cut, and what is best is told from the rest."""

import pytest

from replan.results.table import Table, TableCell, column_blocks

TABLE = Table(
    title="Regret",
    columns=("setting", "", *(f"rule {k}" for k in range(9))),
    labels=2,
    rows=(
        ("sinusoidal-medium (12/50/7/3)", "sampled", *(f"1.5{k} ± 0.0{k}" for k in range(9))),
        ("", "exact", *(TableCell(f"0.{k}61", best=True) for k in range(9))),
    ),
    notes=("Ties: first.",),
)
CELLS = {*TABLE.columns, *(cell.text for row in TABLE.cells for cell in row)}


def terminal(monkeypatch, width):
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": str(width)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)


def plain(text):
    from rich.text import Text

    return Text.from_ansi(text).plain


@pytest.mark.parametrize("width", [57, 80, 100, 120, 200])
def test_a_terminal_of_any_width_shows_every_cell(monkeypatch, capsys, width):
    terminal(monkeypatch, width)
    TABLE.show()
    lines = plain(capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) <= width
    shown = [[cell.strip() for cell in line.strip("│┃").replace("┃", "│").split("│")] for line in lines]
    assert {cell for row in shown for cell in row} >= CELLS
    for row in shown:
        assert not any("1.5" in cell for cell in row) or row[:2] == [TABLE.rows[0][0], "sampled"]
    assert lines[0] == "Regret" and lines[-1] == "Ties: first."


def test_a_terminal_too_narrow_for_one_column_cuts_nothing_either(monkeypatch, capsys):
    terminal(monkeypatch, 30)
    TABLE.show()
    shown = plain(capsys.readouterr().out)
    assert all(cell in shown for cell in CELLS)


def test_bold_is_bold_on_a_terminal_and_marked_in_plain_text(monkeypatch, capsys):
    terminal(monkeypatch, 80)
    TABLE.show()
    assert "**" not in capsys.readouterr().out
    for name in ("FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name)
    TABLE.show()
    out = capsys.readouterr().out
    assert "\x1b" not in out and out.count("**") == 2 * 9
    assert len([line for line in out.splitlines() if "setting" in line]) == 1


def test_blocks_repeat_the_labels_and_keep_the_order():
    assert column_blocks([5, 4, 3, 3, 3], 1, 12) == [[0, 1, 2], [0, 3, 4]]
    assert column_blocks([5, 4, 3, 3, 3], 2, 3) == [[0, 1, 2], [0, 1, 3], [0, 1, 4]]
    assert column_blocks([5, 4, 3], 1, None) == [[0, 1, 2]]
