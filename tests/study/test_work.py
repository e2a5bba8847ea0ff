"""What a worker computes, against the same asked for directly."""

import json

import numpy as np
import pytest

from replan.estimate.estimator import TrueKernel
from replan.evaluation.exact import evaluate, regret
from replan.evaluation.rollouts import oracle_rollout, rollout
from replan.schedule.drift_threshold import DriftThreshold
from replan.schedule.fixed import Random
from replan.schedule.periodic import Periodic
from replan.study import measures
from replan.study.cells import entries
from replan.study.definition import parse_study
from replan.study.protocol import Bench, choose
from replan.study.versions import code_version
from replan.study.work import Failure, Result, compute, compute_batch, compute_elsewhere
from replan.worlds import estimators
from replan.worlds.settings import make_mission, parse_setting


def cells(**changes):
    data = {
        "name": "small",
        "settings": [{"base": "two-burst", "vary": {"n": [4]}}],
        "rules": ["periodic"],
        "seeds": {"first": 3, "count": 20},
        **changes,
    }
    return [entry.cell for entry in entries(parse_study(data), version=code_version())]


def mission_of(cell):
    return make_mission(parse_setting(json.loads(cell.setting)), execution=cell.execution)


def result(cell) -> Result:
    (found,) = compute(cell)
    assert isinstance(found, Result), found
    return found


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_exact_and_sampled_regret_are_those_of_the_library(execution):
    (cell,) = cells(executions=[execution], measure=["exact", "dynamic", "sampled"])
    found, mission, seeds = result(cell), mission_of(cell), np.arange(3, 23)
    assert found.values["exact_regret"] == regret(mission, Periodic())
    assert found.values["dynamic_regret"] == pytest.approx(evaluate(mission, Periodic()).dynamic_regret)
    returns = rollout(mission, Periodic(), seeds).returns
    assert np.array_equal(found.seeds, seeds)
    assert np.array_equal(found.returns, returns)
    assert np.array_equal(found.regrets, oracle_rollout(mission.world, seeds) - returns)
    assert found.values["sampled_regret"] == pytest.approx(found.regrets.mean())
    assert found.values["low"] <= found.values["sampled_regret"] <= found.values["high"]


def test_sampled_missions_and_their_update_times_are_sampled_once(monkeypatch):
    (cell,) = cells(rules=["random"], measure=["exact", "sampled", "placement"])
    (apart,) = cells(rules=["random"], measure=["sampled"])
    asked, sampled = [], measures.rollout
    monkeypatch.setattr(measures, "rollout", lambda *a, **k: asked.append(k) or sampled(*a, **k))
    found, alone = result(cell), result(apart)
    assert asked == [{"trace": True}, {"trace": False}]
    assert np.array_equal(found.returns, alone.returns)


def test_tuning_is_the_protocols():
    (cell,) = cells(rules=["self-triggered"])
    chosen = choose(Bench(mission_of(cell)), "self-triggered")
    found = result(cell)
    assert json.loads(found.values["parameters"]) == {
        "threshold": chosen.rule.threshold,
        "exact_budget": True,
    }
    assert found.values["validation_regret"] == chosen.validation_regret
    assert found.values["exact_regret"] == regret(mission_of(cell), chosen.rule)


def test_decisions_carry_the_terms_of_the_score():
    (cell,) = cells(rules=[{"rule": "regret-guided", "grid": {"alpha": [0.9]}}])
    decisions = dict(result(cell).decisions)
    assert sum(decision.update for decision in decisions.values()) == 4
    scored = [decision for decision in decisions.values() if decision.score is not None]
    assert scored
    assert all(sum(decision.terms.values()) == pytest.approx(decision.score) for decision in scored)


def test_a_rule_that_draws_is_shown_with_the_first_seed():
    (cell,) = cells(rules=["random"], measure=["sampled"])
    times = [t for t, decision in result(cell).decisions if decision.update]
    expected = rollout(mission_of(cell), Random(), [3], trace=True).updates
    assert times == np.flatnonzero(expected[0]).tolist()


def test_an_estimator_that_learns_is_sampled_by_one_agent_a_seed(monkeypatch):
    monkeypatch.setitem(estimators.ESTIMATORS, "told", lambda mission: TrueKernel(mission.world))
    learned, plain = cells(rules=["random"], estimators=["told", "true-kernel"], measure=["sampled"])
    assert learned.identity != plain.identity
    assert result(learned).returns == pytest.approx(result(plain).returns)


def test_placement_counts_a_schedule_once_where_all_seeds_share_it():
    periodic, random = cells(rules=["periodic", "random"], measure=["placement"])
    assert result(periodic).values["schedules"] == 1
    assert result(periodic).values["updates"] == 3
    assert result(random).values["schedules"] == 20
    assert result(random).values["updates"] == 60


def test_placement_is_that_in_the_world_whatever_bounds_the_rule_is_told():
    told = cells(rules=["periodic"], measure=["placement"], stated_bounds=["right", "too-small", "shifted"])
    right, *wrong = [result(cell).values for cell in told]
    assert right["max_stale_drift"] > 0
    assert all(values == right for values in wrong)


def test_a_localised_robot_that_makes_no_update_has_a_placement():
    (cell,) = cells(rules=["last-moment"], executions=["localised"], measure=["placement"])
    found = result(cell).values
    assert found["updates"] == 0
    assert found["max_stale_drift"] == pytest.approx(mission_of(cell).world.drift_bounds.sum())


def test_a_cell_that_fails_is_an_outcome_with_its_reason(monkeypatch):
    def broken(*_, **__):
        raise ArithmeticError("the planner\ngave up")

    good = cells(settings=["two-burst"])
    monkeypatch.setattr(measures.Dynamic, "of", broken)
    bad = cells(measure=["dynamic"])
    found = compute_batch((*bad, *good))
    assert isinstance(found[0], Failure)
    assert found[0].reason == "ArithmeticError: the planner gave up"
    assert isinstance(found[1], Result)


def test_a_worker_of_another_version_refuses():
    from dataclasses import replace

    from replan.errors import InputError

    with pytest.raises(InputError, match="a worker has replan"):
        compute_elsewhere((replace(cells()[0], version="0.0.0"),))


def test_every_candidate_of_a_rule_is_measured():
    (cell,) = cells(rules=[{"rule": "drift-threshold", "tune": False}], measure=["candidates"])
    found = json.loads(result(cell).values["candidate_regrets"])
    mission, rules = mission_of(cell), DriftThreshold.candidates()
    assert len(found) == len(rules) > 1
    for i in (0, 7, len(rules) - 1):
        assert found[i] == pytest.approx(regret(mission, rules[i]), abs=1e-12)
