"""Tables and figure of study `localised`."""

import numpy as np
import pytest

from replan import Spending, evaluate, load_setting, make_mission, make_rule
from replan.evaluation.agent_runs import learned_samples
from replan.evaluation.optimal_schedule import feedback_regrets
from replan.evaluation.rollouts import rollout
from replan.report.reports.localised import (
    budget_table,
    estimate_table,
    learned_table,
    price_table,
    replans_figure,
    suite_table,
)
from replan.schedule.drift_threshold import SelfTriggered
from replan.study.definition import load_study
from replan.suite.catalogue import suite_world
from replan.worlds.estimators import ESTIMATORS
from study_runs import computed


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The study on one setting, with fewer rules and seeds."""
    study = load_study("localised")[0].model_dump(mode="json", by_alias=True, exclude_none=True)
    for block in study["blocks"]:
        sampled = block["measure"] == ["sampled"]
        vary = {"price": [0.5]} if "price" in block["settings"][0]["vary"] else {"budget": [1, 39]}
        block["settings"] = [{"base": "terrain-mild"} if sampled else {"base": "terrain-mild", "vary": vary}]
        block["seeds"] = {"first": 0, "count": 2}
    study["blocks"] = [
        block for block in study["blocks"] if block["rules"][0]["rule"] not in ("periodic", "lookahead")
    ]
    return computed(study, tmp_path_factory.mktemp("run"))


def rows_of(table, labels=1):
    return {
        row[:labels] if labels > 1 else row[0]: [getattr(cell, "text", cell) for cell in row[labels:]]
        for row in table.rows
    }


def test_budgets_are_exact_and_the_last_column_counts_updates(run):
    rows, mission = (
        rows_of(budget_table(run)),
        make_mission(load_setting("terrain-mild"), execution="localised"),
    )
    for rule in ("last-moment", "even"):
        exact = [evaluate(mission.with_spending(Spending.at_most(b)), make_rule(rule)) for b in (1, 39)]
        assert rows[rule][:2] == [f"{each.regret:z.2f}" for each in exact]
        assert rows[rule][2] == f"{exact[1].expected_updates:.2f}"
    assert rows["fixed-rate every=1"][1:] == [rows["even"][1], "39.00"]
    assert rows["best possible"][0] == f"{feedback_regrets(mission, 1)[-1]:z.2f}"


def test_prices_are_paid_for_every_update(run):
    rows = rows_of(price_table(run), 2)
    for (_, _), (regret, updates, both) in rows.items():
        assert float(regret) + 0.5 * float(updates) == pytest.approx(float(both), abs=2e-3)
    least = min(float(both) for _, _, both in rows.values())
    assert float(rows["terrain-mild price=0.5", "best possible"][2]) == least


def test_estimates_name_regret_and_updates(run):
    rows = rows_of(estimate_table(run))
    sensed = ["true-kernel", "tracked", "nearby-3", "nearby-1", "nearby-0"]
    learned = ["model-family", "drift-bounded-mle", "drift-bounded-mle-local", "slip-transitions"]
    assert list(rows) == sensed + learned
    assert rows["true-kernel"][0].endswith("(0.0)")  # what the last update showed calls for no other


def test_what_is_learned_stands_beside_the_tracked_kernel_on_the_same_seeds(tmp_path):
    study = load_study("localised-learned")[0].model_dump(mode="json", by_alias=True, exclude_none=True)
    for block in study["blocks"]:
        block["settings"] = [each for each in block["settings"] if each["name"] == "terrain-1005"]
        block["estimators"] = [each for each in block["estimators"] if each in ("tracked", "nearby-1")]
        block["seeds"] = {"first": 0, "count": 9}
    study["blocks"] = [block for block in study["blocks"] if block["settings"]]
    made = computed(study, tmp_path)
    mission, rule = suite_world("terrain-1005").mission("localised"), make_rule("last-moment")
    mission = mission.with_spending(Spending.at_most(mission.horizon - 1))
    known = rollout(mission, rule, np.arange(9))
    own, updates = learned_samples(mission, rule, ESTIMATORS["nearby-1"], np.arange(9))
    (row,) = rows_of(learned_table(made), 3).values()
    assert row[:2] == ["1", "9"] and float(row[-2]) == pytest.approx(updates.mean(), abs=6e-4)
    assert float(row[-1].split()[0]) == pytest.approx((known.returns - own).mean(), abs=6e-4)


def test_the_figure_has_a_point_for_every_rate_and_budget(run):
    (axes,) = replans_figure(run).axes
    rates, even, ours = axes.get_lines()
    assert len(rates.get_xdata()) == 5 and max(rates.get_xdata()) == pytest.approx(39)
    assert even.get_xdata() == pytest.approx([1]) and len(ours.get_xdata()) == 2
    assert min(ours.get_ydata()) <= min(rates.get_ydata()) + 0.01


def test_the_suites_table_sums_worlds_and_takes_the_best_point_of_a_grid(tmp_path):
    study = load_study("localised-suite")[0].model_dump(mode="json", by_alias=True, exclude_none=True)
    kept = ("terrain-mild", "kernels-1013", "kernels-1005")
    for block in study["blocks"]:
        block["settings"] = [each for each in block["settings"] if each.get("name", each["base"]) in kept]
    rows = rows_of(suite_table(computed(study, tmp_path)), 2)
    worlds = [suite_world(name) for name in kept[1:]]
    missions = [world.mission("localised").with_spending(Spending.at_most(2)) for world in worlds]
    floors = sum(feedback_regrets(mission, 2)[-1] for mission in missions)
    assert rows["best possible", "2"][1].split()[0] == f"{floors:.2f}"
    drift = [
        [evaluate(mission, SelfTriggered(threshold, exact_budget=False)) for mission in missions]
        for threshold in (0.05, 0.1, 0.2, 0.4, 0.8)
    ]
    least = min(drift, key=lambda each: sum(one.regret for one in each))
    regret, updates = (sum(getattr(one, name) for one in least) for name in ("regret", "expected_updates"))
    assert rows["drift threshold", "2"][1] == f"{regret:.2f} ({updates / 2:.2f})"
    assert rows["never", "no limit"][1].endswith("(0.00)")
