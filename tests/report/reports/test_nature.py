"""Tables of measured wind and currents: totals, scores, and updates saved."""

import json

import pytest
from tests.worlds.field_files import currents

from replan import Lookahead, evaluate, load_setting, make_mission, optimum
from replan.cli import run as command
from replan.report.reports.nature import (
    forecasts_tables,
    nature_tables,
    saved_updates,
    score,
    totals,
    worse_table,
)
from replan.schedule.periodic import Even
from replan.study.cells import _digest, entries
from replan.study.definition import load_study, parse_study
from study_runs import computed

WIND = {
    "world": "wind",
    "file": "wind.csv",
    "start_time": "2020-05-01",
    "rows": 5,
    "columns": 6,
    "start": [0, 0],
    "goal": [4, 5],
    "horizon": 8,
    "planning_horizon": 5,
    "budget": 2,
}
TABLE = "time,speed,direction\n2020-05-01T00:00,5,270\n2020-05-01T04:00,8,180\n2020-05-02T00:00,6,90\n"


@pytest.fixture
def measured(tmp_path):
    (tmp_path / "wind.csv").write_text(TABLE)
    base = WIND | {"file": str(tmp_path / "wind.csv")}
    vary = {"budget": [2, 4], "start_time": ["2020-05-01", "2020-05-01T03:00"]}
    blind = {"rules": ["even", "lookahead"], "executions": ["belief"], "measure": ["exact", "optimum"]}
    seeing = {"rules": ["even", "last-moment"], "executions": ["localised"]}
    settings = [{"name": "breeze", "base": base, "vary": vary}]
    return base, computed({"settings": settings, "blocks": [blind, seeing]}, tmp_path / "run")


def test_totals_are_sums_over_missions_and_scores_lie_between_even_spacing_and_the_best(measured, tmp_path):
    base, run = measured
    expected = {"even": 0.0, "lookahead": 0.0, "best possible": 0.0}
    for start_time in ("2020-05-01", "2020-05-01T03:00"):
        lines = [f"{key} = {json.dumps(value)}" for key, value in (base | {"start_time": start_time}).items()]
        (tmp_path / "one.toml").write_text("\n".join(lines))
        mission = make_mission(load_setting(tmp_path / "one.toml"), execution="belief")
        expected["even"] += evaluate(mission, Even()).regret
        expected["lookahead"] += evaluate(mission, Lookahead()).regret
        expected["best possible"] += optimum(mission).feedback_regret
    found = totals(run)
    for rule, value in expected.items():
        assert found["belief", "frozen", rule, 2] == pytest.approx(value)
    even, best = expected["even"], expected["best possible"]
    assert score(found, "belief", "frozen", "lookahead", 2) == pytest.approx(
        (even - expected["lookahead"]) / (even - best)
    )
    table, saved = nature_tables(run)
    assert "Total exact regret of 2 missions" in table.notes[0]
    assert ("belief", "frozen", "even") in [row[:3] for row in table.rows]
    assert {row[:2] for row in saved.rows} == {("belief", "lookahead"), ("localised", "last-moment")}


def test_saved_updates_is_the_smallest_budget_that_suffices():
    even, rule = {2: 5.0, 4: 3.0, 8: 1.0}, {2: 3.5, 4: 3.0, 8: 2.0}
    found = {("belief", "frozen", "even", budget): value for budget, value in even.items()}
    found |= {("belief", "frozen", "lookahead", budget): value for budget, value in rule.items()}
    assert saved_updates(found, "belief", "lookahead") == [(2, 2), (4, 4)]
    found["belief", "frozen", "lookahead", 2] = 3.0
    assert saved_updates(found, "belief", "lookahead") == [(2, 2), (4, 2)]


def test_forecasts_stand_side_by_side(tmp_path):
    (tmp_path / "wind.csv").write_text(TABLE)
    (tmp_path / "calm.csv").write_text(TABLE.replace(",8,", ",0,").replace(",6,", ",1,"))
    base = WIND | {"file": str(tmp_path / "wind.csv")}
    there = {"kind": "given", "world": {"file": str(tmp_path / "calm.csv")}}
    vary = {"start_time": ["2020-05-01", "2020-05-01T03:00"]}
    settings = [{"name": "breeze", "base": base, "vary": vary}]
    common = {"settings": settings, "executions": ["belief"], "rules": ["even", "lookahead"]}
    frozen = {"measure": ["exact", "optimum"], "forecasts": ["frozen"]}
    run = computed(common | {"blocks": [frozen, {"forecasts": [there, "given"]}]}, tmp_path / "run")
    shown, worse = forecasts_tables(run)
    rows = {row[:3]: row[3] for row in shown.rows}
    assert "(" not in rows["belief", "frozen", "even"]
    assert "(" in rows["belief", "given", "even"], "even spacing on another forecast has a score"
    assert len(rows) == 7 and len(worse.rows) == 5
    even, other = {}, {}
    for each in run.records:
        if (each["forecast"], each["rule"]) == ("frozen", "even"):
            even[each["setting"]] = each["exact_regret"]
        if each["forecast"].startswith("given, file") and each["rule"] == "lookahead":
            other[each["setting"]] = each["exact_regret"]
    (counted,) = [row[3] for row in worse_table(run).rows if "file" in row[1] and row[2] == "lookahead"]
    assert counted == str(sum(other[name] > even[name] for name in even))


def test_the_wind_of_another_file_is_part_of_a_cell(tmp_path):
    (tmp_path / "wind.csv").write_text(TABLE)
    (tmp_path / "there.csv").write_text(TABLE)
    base = WIND | {"file": str(tmp_path / "wind.csv")}
    forecast = {"kind": "given", "world": {"file": str(tmp_path / "there.csv")}}
    text = {"settings": [{"name": "breeze", "base": base}], "rules": ["periodic"], "forecasts": [forecast]}
    (before,) = entries(load(text), version="1")
    (tmp_path / "there.csv").write_text(TABLE.replace(",8,", ",7,"))
    _digest.cache_clear()
    (after,) = entries(load(text), version="1")
    assert before.cell.identity != after.cell.identity


def test_the_studies_load_and_the_ocean_asks_for_its_folder(tmp_path, capsys):
    nature, _ = load_study("nature")
    assert sum(block.cells() for block in nature.blocks) == 6 * 4 * (2 + 2)
    forecasts, _ = load_study("nature-forecasts")
    assert sum(block.cells() for block in forecasts.blocks) == 12 * 2 * (1 + 5)
    assert command(["reproduce", "ocean", "--out", str(tmp_path)]) == 2
    assert "--ocean FOLDER" in capsys.readouterr().err


def test_a_folder_of_files_is_part_of_a_cell(tmp_path):
    folder = tmp_path / "days"
    folder.mkdir()
    for day in range(3):
        currents().isel(time=slice(4 * day, 4 * day + 4)).to_netcdf(folder / f"{day}.nc")
    base = {
        "world": "field",
        "file": str(folder),
        "start_time": "2020-03-02",
        "start": [1, 1],
        "goal": [6, 8],
    }
    base |= {"horizon": 4, "planning_horizon": 3, "budget": 2}
    text = {"settings": [{"name": "ocean", "base": base}], "rules": ["periodic"]}
    (before,) = entries(load(text), version="1")
    (folder / "2.nc").write_bytes((folder / "1.nc").read_bytes())
    _digest.cache_clear()
    (after,) = entries(load(text), version="1")
    assert before.cell.identity != after.cell.identity


def load(data):
    return parse_study({"name": "test", **data})
