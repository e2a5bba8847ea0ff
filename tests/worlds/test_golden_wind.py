"""Recorded winds, against figures kept from an earlier version."""

from pathlib import Path

import pytest

from replan import evaluate, load_setting, make_mission, make_rule, optimum

GOLDEN = Path(__file__).with_name("golden_wind.json")
SETTING = """
world = "wind"
station = "JFK"
start_time = "2013-03-05T06:00"
rows = 7
columns = 8
start = [0, 0]
goal = [6, 7]
horizon = 20
planning_horizon = 10
budget = 3
"""


@pytest.mark.parametrize("execution", ["map", "belief", "localised"])
def test_wind(golden, tmp_path, execution):
    (tmp_path / "wind.toml").write_text(SETTING)
    setting = load_setting(tmp_path / "wind.toml")
    for forecast in ("frozen", "trend"):
        mission = make_mission(setting, execution=execution, forecast=forecast)
        for rule in ("periodic", "lookahead"):
            found = evaluate(mission, make_rule(rule))
            figures = {"regret": found.regret, "loss": found.steps.loss, "updates": found.expected_updates}
            golden(GOLDEN, f"{execution} {forecast} {rule}", figures)
        best = optimum(mission)
        golden(GOLDEN, f"{execution} {forecast} floor", [best.feedback_regret, best.fixed_times])
