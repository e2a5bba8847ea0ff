"""Learning, on one setting."""

from dataclasses import replace

import numpy as np
import pytest

from replan.errors import InputError
from replan.estimate.drift_bounds import MISSPECIFICATIONS
from replan.model.slip import SlipKernel
from replan.report.reports.learning import bounds_table, learned_table, stated_table
from replan.study.definition import load_study
from replan.worlds.estimators import ESTIMATORS, FOR_LOCALISED, applies
from replan.worlds.settings import load_setting, make_mission
from study_runs import computed


def test_learning_compares_estimators_and_wrong_bounds(tmp_path):
    blind = [name for name in ESTIMATORS if name not in FOR_LOCALISED]
    learned = [name for name in blind if name != "true-kernel"]
    wrong = list(MISSPECIFICATIONS)
    study = {
        "settings": ["two-burst"],
        "seeds": {"count": 12},
        "rules": ["periodic"],
        "measure": ["sampled"],
        "blocks": [
            {"rules": ["drift-threshold"], "measure": ["exact"], "stated_bounds": ["right", *wrong]},
            {"estimators": blind},
            {"estimators": learned, "stated_bounds": wrong},
            {"estimators": ["model-family"], "forecasts": ["family"]},
        ],
    }
    run = computed(study, tmp_path)
    assert len(run.records) == 4 + 7 + 6 * 3 + 1
    right, *others = [record["exact_regret"] for record in run.records[:4]]
    assert right == pytest.approx(0.497, abs=1e-3) and max(others) > right
    (row,) = bounds_table(run).rows
    assert row == ("two-burst", "drift-threshold", *(f"{each:.3f}" for each in (right, *others)))
    assert all(r["low"] <= r["sampled_regret"] <= r["high"] for r in run.records[4:])
    table = learned_table(run)
    assert table.columns[-1] == "model-family, forecast family"
    (row,) = table.rows
    assert row[:2] == ("two-burst", "periodic") and all(row)
    told = stated_table(run)
    assert [row[:2] for row in told.rows] == [("two-burst", name) for name in learned]
    assert all(all(row) for row in told.rows)
    assert any(len(set(row[2:])) > 1 for row in told.rows)


def test_the_study_that_comes_with_replan_uses_pooled_slip_where_it_applies():
    for block in load_study("learning")[0].blocks:
        for axis in block.settings:
            mission = make_mission(load_setting(axis.base))
            assert all(applies(estimator, mission) for estimator in block.estimators)


@pytest.mark.parametrize(
    ("estimator", "setting"),
    [
        ("slip-intervals", "crosswind-hard"),
        ("drift-bounded-mle-online", "thin-ice-hard"),
        ("model-family", "nsbridge-0"),
    ],
)
def test_an_estimator_that_does_not_apply_is_refused(estimator, setting):
    mission = make_mission(load_setting(setting))
    assert not applies(estimator, mission)
    with pytest.raises(InputError, match=estimator):
        ESTIMATORS[estimator](mission)


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
