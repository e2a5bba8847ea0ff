"""Updates that take time: rollouts, timelines, what is refused, and the cost of lateness (convention 15).

Exact evaluation and floors are those of the literal robot: tests/skip/test_one_programme.py.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from tests.skip.test_one_programme import EXECUTIONS, Table
from tests.tiny_worlds import late_mission

from replan import InputError, Robot, Spending, evaluate, rollout
from replan.evaluation.decomposition import decompose
from replan.evaluation.exact import evaluate_times
from replan.evaluation.rollouts import draws_times
from replan.execute.mission import make_timeline
from replan.schedule.fixed import BackLoaded, FixedTimes, FrontLoaded
from replan.schedule.periodic import Periodic


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_rollouts_sample_drawn_durations(execution):
    mission = late_mission(3, execution, {1: 0.5, 3: 0.5}, "go-on")
    rule, seeds = Table(1), np.arange(20_000)
    sampled = rollout(mission, rule, seeds).returns
    expected = evaluate(mission, rule).expected_return
    assert abs(sampled.mean() - expected) < 4 * sampled.std() / len(seeds) ** 0.5


def test_the_times_of_a_rule_differ_between_seeds_where_durations_do():
    for steps, differ in ((2, False), ({1: 0.5, 3: 0.5}, True)):
        mission = late_mission(0, "map", steps, "go-on", horizon=12).with_spending(Spending.exactly(3))
        rule = FixedTimes((1, 3, 9))
        assert draws_times(mission, rule) == differ
        updates = rollout(mission, rule, np.arange(50), trace=True).updates
        assert (len(np.unique(updates, axis=0)) > 1) == differ


def test_front_loaded_updates_begin_when_the_last_one_has_arrived():
    mission = late_mission(0, "map", 2, "go-on", horizon=7).with_spending(Spending.exactly(3))
    assert make_timeline(mission, FrontLoaded()).times == (1, 3, 5)
    assert make_timeline(mission, BackLoaded()).times == (1, 3, 5)
    assert make_timeline(mission.with_spending(Spending.exactly(2)), BackLoaded()).times == (1, 5)


def test_fixed_times_that_fall_into_running_updates_move_to_their_ends():
    mission = late_mission(0, "map", 3, "go-on", horizon=12).with_spending(Spending.exactly(3))
    assert make_timeline(mission, FixedTimes((1, 2, 3))).times == (1, 4, 7)
    assert make_timeline(mission, FixedTimes((1, 3, 9))).times == (1, 4, 9)
    assert make_timeline(mission, Periodic()).times == (1, 6, 9), "forced: one left, three steps to go"


def test_what_cannot_be_is_refused_in_one_line():
    with pytest.raises(InputError, match="budget 3 does not fit: updates of 3 steps leave room for 2 in 7"):
        late_mission(0, "map", 3, "go-on", horizon=7).with_spending(Spending.exactly(3))
    for execution in EXECUTIONS:
        with pytest.raises(InputError, match="updates of 7 steps never arrive in 7 steps"):
            late_mission(0, execution, 7, "go-on", horizon=7).with_spending(Spending.at_most(1))
    with pytest.raises(InputError, match="action that stays"):
        mission = late_mission(0, "map", 3, "wait")
        replace(mission, world=replace(mission.world, waiting=None))
    for wrong in (-1, 1.5, True, {1: 0.5}, {1: 1.2, 2: -0.2}, {-1: 1.0}, "2"):
        with pytest.raises(InputError, match="update_steps"):
            Robot(planning_horizon=2, update_steps=wrong)
    with pytest.raises(InputError, match="meanwhile"):
        Robot(planning_horizon=2, meanwhile="hover")


@pytest.mark.parametrize(("execution", "steps"), list(product(EXECUTIONS, (2, {1: 0.5, 3: 0.5}))), ids=str)
def test_lateness_is_what_the_same_updates_would_save_if_they_took_no_time(execution, steps):
    mission = late_mission(1, execution, steps, "go-on", horizon=9)
    parts = decompose(mission, FixedTimes((1, 5)))
    assert parts.regret == pytest.approx(evaluate_times(mission, (1, 5)).regret, abs=1e-12)
    assert sum(parts.parts.values()) == pytest.approx(parts.regret, abs=1e-12)
    prompt = replace(mission, robot=replace(mission.robot, update_steps=0))
    saved = parts.regret - evaluate_times(prompt, (1, 5)).regret
    assert parts.lateness == pytest.approx(saved, abs=1e-12)
    assert decompose(prompt, FixedTimes((1, 5))).lateness is None
