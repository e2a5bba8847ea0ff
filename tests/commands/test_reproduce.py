"""`replan reproduce` in a folder where Table 3 was flown before."""

import json
from types import SimpleNamespace

import pytest

from full_disk import full_disk
from replan.cli import run
from replan.commands.reproduce import flights_in
from replan.report.tables import Table
from replan.study.simulation import simulate_setting

FLIGHT = {"density": "sparse", "rule": "periodic", "success": 0.5, "collisions": 0.25, "cost": 1.5}


@pytest.mark.parametrize(
    "broken",
    ["", '{"rows": [{"density": "spa', "[]", "{}", '{"rows": [{"rule": "periodic"}]}', '{"rows": [1]}',
     json.dumps({"rows": [FLIGHT | {"cost": {"mean": 1.0}}]}), json.dumps({"rows": [FLIGHT | {"rule": 3}]})],
)  # fmt: skip
def test_a_broken_table_of_flights_is_left_out_with_one_line(broken, tmp_path, capsys):
    (tmp_path / "table3.json").write_text(broken)
    assert flights_in(tmp_path) is None
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "table3.json does not hold the rows of Table 3" in said


def test_flights_flown_before_are_taken_up(tmp_path, capsys):
    assert flights_in(tmp_path) is None
    (tmp_path / "table3.json").write_text(json.dumps({"rows": [FLIGHT]}))
    assert flights_in(tmp_path) == [FLIGHT]
    assert capsys.readouterr().err == ""


def test_a_reproduction_ends_in_its_files_and_one_line_about_a_broken_table(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        "replan.study.simulation.simulate", lambda *_, **__: [simulate_setting("narrow-late")]
    )
    (tmp_path / "table3.json").write_text("{")
    assert run(["reproduce", "table1", "--out", str(tmp_path), "--json"]) == 0
    captured = capsys.readouterr()
    assert {"table1.md", "report.html"} <= set(json.loads(captured.out)["files"])
    assert captured.err.count("\n") == 1
    assert "No flights were flown" in (tmp_path / "report.html").read_text()


def test_a_full_disk_is_one_line_and_leaves_the_page_before(tmp_path, capsys, monkeypatch):
    done = [simulate_setting("narrow-late")]
    monkeypatch.setattr("replan.study.simulation.simulate", lambda *_, **__: done)
    page = tmp_path / "report.html"
    page.write_text("before")
    with full_disk(1_000_000):
        assert run(["reproduce", "table1", "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[-1].endswith("report.html: cannot be written (File too large)")
    assert page.read_text() == "before"


def test_a_figure_on_a_full_disk_is_one_line_too(tmp_path, capsys, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("replan.study.simulation.simulate", lambda *_, **__: [])
    monkeypatch.setattr("replan.report.simulation_tables.write_tables", lambda *_, **__: None)
    monkeypatch.setattr("replan.report.simulation_figures.write_figures", full)
    assert run(["reproduce", "figures", "--out", str(tmp_path)]) == 2
    assert f"{tmp_path}: cannot be written (No space left on device)" in capsys.readouterr().err


def test_what_is_flown_after_the_simulation_stands_in_its_page(tmp_path, capsys, monkeypatch):
    flown = SimpleNamespace(record=lambda: {"rows": [FLIGHT]}, tracks=[])
    monkeypatch.setattr("replan.worlds.settings.PAPER_SETTINGS", ("narrow-late",))
    monkeypatch.setattr("replan.study.table3.table3", lambda **_: flown)
    monkeypatch.setattr("replan.report.flight_table.table_3", lambda _: [Table("flights", (), ())])
    monkeypatch.setattr("replan.report.flight_figure.flight_figure", lambda *_, **__: None)
    page = tmp_path / "report.html"
    assert run(["reproduce", "table3", "--out", str(tmp_path), "--json"]) == 0
    assert not page.exists()
    assert run(["reproduce", "table1", "--out", str(tmp_path), "--search", "equal", "--json"]) == 0
    (tmp_path / "table3.json").unlink()
    page.unlink()
    assert run(["reproduce", "table3", "--out", str(tmp_path), "--json"]) == 0
    assert "No flights were flown" not in page.read_text()
    assert "narrow-late" in page.read_text()
