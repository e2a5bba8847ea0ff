"""Tables and figure of the studies `latency` and `latency-suite`."""

import pytest

from replan import load_setting, make_mission, optimum
from replan.evaluation.exact import regret
from replan.report.reports.latency import latency_figure, latency_table
from replan.schedule.last_moment import LastMoment
from replan.schedule.lookahead import Lookahead
from replan.skip.spending import Spending
from replan.study.definition import load_study
from replan.study.study_rules import Unaware
from replan.suite.catalogue import SuiteRobot, suite_world
from study_runs import computed


def shortened(name, kept, steps):
    """A study on a few of its settings and steps."""
    study = load_study(name)[0].model_dump(mode="json", by_alias=True, exclude_none=True)
    for block in study["blocks"]:
        block["settings"] = [each for each in block["settings"] if each.get("name", each["base"]) in kept]
        block["update_steps"] = steps
    study["blocks"] = [block for block in study["blocks"] if block["settings"]]
    return study


def rows_of(table):
    return {row[:4]: [cell.text for cell in row[4:]] for row in table.rows}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    kept = ("two-burst", "three-short", "thin-ice-mild")
    return computed(shortened("latency", kept, [0, 4]), tmp_path_factory.mktemp("run"))


def test_every_cell_is_a_sum_over_the_worlds_of_its_kind(run):
    rows = rows_of(latency_table(run))

    def missions(steps, execution, forecast="frozen"):
        return [
            make_mission(
                load_setting(name), execution=execution, forecast=forecast, update_steps=steps
            ).with_spending(Spending.exactly(2))
            for name in ("two-burst", "three-short")
        ]

    for column, steps in enumerate((0, 4)):
        for (execution, name, forecast), rule in {
            ("map", "lookahead", "frozen"): Lookahead(),
            ("belief", "lookahead, mixture", "mixture"): Lookahead(),
            ("belief", "lookahead, mixture, unaware", "mixture"): Unaware(of="lookahead"),
            ("localised", "last-moment", "frozen"): LastMoment(),
        }.items():
            total = sum(regret(mission, rule) for mission in missions(steps, execution, forecast))
            assert rows["paper", execution, "goes on", name][column] == f"{total:z.3f}"
        floor = sum(optimum(mission).feedback_regret for mission in missions(steps, "belief"))
        assert rows["paper", "belief", "goes on", "best possible"][column] == f"{floor:z.3f}"


def test_updates_that_take_no_time_are_the_same_whatever_happens_meanwhile(run):
    rows = rows_of(latency_table(run))
    for (worlds, execution, meanwhile, rule), cells in rows.items():
        if meanwhile == "waits":
            assert cells[0] == rows[worlds, execution, "goes on", rule][0]
    assert {key[0] for key in rows} == {"paper", "hand-made"}


def test_the_figure_has_a_panel_for_each_execution(run):
    panels = latency_figure(run).axes
    assert [len(axes.get_lines()) for axes in panels] == [4, 6, 4]
    assert panels[0].get_ylabel() == "regret, sum of 3 worlds"
    assert all(list(line.get_xdata()) == [0, 4] for axes in panels for line in axes.get_lines())


def test_the_suites_worlds_are_summed_by_family(tmp_path):
    kept = ("rover-bursts-1001", "rover-sines-1001", "crosswind-1001")
    rows = rows_of(latency_table(computed(shortened("latency-suite", kept, [0, 2]), tmp_path)))
    assert {key[:2] for key in rows} == {
        ("rover", "belief"),
        ("crosswind", "belief"),
        ("crosswind", "localised"),
    }
    missions = [suite_world(name).mission("belief", SuiteRobot(update_steps=2)) for name in kept[:2]]
    floor = sum(optimum(each.with_spending(Spending.exactly(2))).feedback_regret for each in missions)
    assert rows["rover", "belief", "goes on", "best possible"][1] == f"{floor:z.3f}"
