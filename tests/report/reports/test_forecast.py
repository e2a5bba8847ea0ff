"""Tables and figure of study `forecast`."""

from dataclasses import replace

import pytest

from replan.evaluation.exact import regret
from replan.evaluation.optimal_schedule import optimum
from replan.forecast.given import ForecastFault, Given
from replan.report.page.run_page import write_page
from replan.report.reports.forecast import ERRORS, forecast_figure, forecast_table, totals_table
from replan.schedule.periodic import Periodic
from replan.study.definition import load_study
from replan.worlds.settings import load_setting, make_mission
from study_runs import computed


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The study itself, on one small setting."""
    study = load_study("forecast")[0].model_dump(mode="json", by_alias=True, exclude_none=True)
    for block in study["blocks"]:
        block["settings"] = ["nsbridge-05"]
    return computed(study, tmp_path_factory.mktemp("run"))


def test_regrets_and_floors_are_those_of_missions_with_that_forecast(run):
    table = forecast_table(run)
    rows = {
        row[:3]: {name: cell.text for name, cell in zip(table.columns[3:], row[3:], strict=True)}
        for row in table.rows
    }
    assert len(rows) == 8
    mission = make_mission(load_setting("nsbridge-05"))
    late = replace(
        mission, robot=replace(mission.robot, forecast=Given(mission.world.kernel, ForecastFault(late=2)))
    )
    right = replace(mission, robot=replace(mission.robot, forecast=Given(mission.world.kernel)))
    assert rows["nsbridge-05", "map", "periodic"]["2 late"] == f"{regret(late, Periodic()):z.3f}"
    assert rows["nsbridge-05", "map", "best possible"]["given"] == f"{optimum(right).feedback_regret:z.3f}"
    assert rows["nsbridge-05", "map", "best possible"]["+60 %"] == "–"


def test_totals_are_multiples_of_what_a_robot_loses_that_expects_no_change(run):
    table = totals_table(run)
    totals = {row[0]: row[1:] for row in table.rows}
    assert set(totals["frozen"]) == {"1.00"}
    assert {"mixture", "mixture, 60 % too little", "given", "given, 5 steps late"} <= set(totals)


def test_the_figure_has_a_point_for_every_error_and_a_line_for_no_forecast(run):
    axes = forecast_figure(run).axes[0]
    given = axes.get_lines()[0]
    assert list(given.get_xdata()) == list(ERRORS)
    frozen = next(line for line in axes.get_lines() if "no change" in line.get_label())
    regrets = [each["exact_regret"] for each in run.records if each["forecast"] == "frozen"]
    assert frozen.get_ydata()[0] == pytest.approx(regrets[0])


def test_the_page_of_a_study_of_forecasts_names_them_and_draws_the_papers_robot(run, tmp_path):
    text = write_page(run, tmp_path).read_text()
    assert "lookahead, mixture" in text and "periodic, given, late 2" in text
