"""Learning, on one setting."""

from dataclasses import replace

import numpy as np
import pytest

from replan.model import SlipKernel
from replan.report.learning_tables import bounds_table, learned_table, told_table, write_learning
from replan.study import learning
from replan.study.estimators import ESTIMATORS, applies
from replan.worlds.settings import load_setting, make_mission


def test_learning_compares_estimators_and_wrong_bounds(monkeypatch, tmp_path):
    monkeypatch.setattr(learning, "RULES", ("periodic",))
    monkeypatch.setattr(learning, "BOUND_RULES", ("drift-threshold",))
    learned, wrong = learning.learn_setting("two-burst", seeds=30)
    assert [each.estimator for each in learned if each.told == "right"] == list(ESTIMATORS)
    assert {each.told for each in learned} == {"right", "too-small", "too-large", "shifted"}
    assert all(each.low <= each.sampled.regret <= each.high for each in learned)
    assert set(wrong[0].regrets) == {"right", "too-small", "too-large", "shifted"}
    assert wrong[0].regrets["right"] == pytest.approx(0.497, abs=1e-3)
    assert max(wrong[0].regrets.values()) > wrong[0].regrets["right"]
    assert learned_table(learned).rows[0][:2] == ("two-burst", "periodic")
    assert bounds_table(wrong).columns[2] == "right"
    told = told_table(learned)
    assert [row[:2] for row in told.rows] == [
        ("two-burst", name) for name in ESTIMATORS if name != "true-kernel"
    ]
    assert all(all(row) for row in told.rows)
    assert any(len(set(row[2:])) > 1 for row in told.rows)
    write_learning(learned, wrong, tmp_path)
    assert (tmp_path / "learning.csv").read_text().count("\n") == 1 + 4 + 3 * 3


def test_pooled_slip_does_not_apply_where_obstacles_come_and_go():
    mission = make_mission(load_setting("two-burst"))
    clear = mission.world.kernel(0)
    assert isinstance(clear, SlipKernel)
    closed = SlipKernel(clear.shape, clear.slip, law=clear.law, blocked=np.arange(clear.states) == 5)
    world = replace(mission.world, kernel=lambda t: closed if t == 7 else clear)
    assert not applies("slip-intervals", replace(mission, world=world))


def test_pooled_slip_applies_where_a_slip_goes_the_same_way_at_all_times():
    for name, there in (
        ("two-burst", True),
        ("terrain-medium", True),
        ("crosswind-hard", False),
        ("thin-ice-hard", False),
    ):
        assert applies("slip-intervals", make_mission(load_setting(name))) is there
        assert applies("drift-bounded-mle", make_mission(load_setting(name)))
