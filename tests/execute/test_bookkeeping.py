"""Time and budget, whatever is asked of an agent and whatever fails; and how far plans reach."""

import warnings
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.execute.loop import Faulty, events, fly
from tests.tiny_worlds import tiny_missions

from replan import Agent, Mission, Periodic
from replan.errors import InputError
from replan.evaluation import evaluate
from replan.execute import Progress, plan_by_induction
from replan.schedule import DriftThreshold, Need, Rule
from replan.schedule.budget import Kind


@given(tiny_missions(max_horizon=8), st.data())
def test_no_sequence_of_calls_and_failures_spends_more_than_the_budget(mission, data):
    times = st.sets(st.integers(1, mission.horizon - 1)).map(tuple)
    agent = Agent.on(mission, Periodic(), estimator=Faulty(mission.estimator, fail_at=data.draw(times)))
    agent.start(mission.world.start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while not agent.done:
            for _ in range(data.draw(st.integers(0, 2), label="updates asked for")):
                agent.update(0)
            spent = sorted(events(agent, "update") + events(agent, "kept plan"))
            assert agent.budget_left == mission.budget - len(spent) >= 0
            assert len(spent) == len(set(spent)) and 0 not in spent
            progress = agent._now.progress
            assert progress.last_update == (spent[-1] if spent else 0)
            assert progress.update.time == max([0, *events(agent, "update")]) == agent.plan.time
            agent.act()
    assert agent.update(0) is False, "nor after the end"


def test_a_look_that_fails_spends_a_look_and_no_plan(mission):
    apart = mission.with_budget(None, looks=3, plans=2)
    agent = Agent.on(apart, Periodic(), estimator=Faulty(apart.estimator, fail_at=(2,)))
    agent.start(0)
    agent.act()
    assert agent.update(0)
    agent.act()
    with pytest.warns(UserWarning, match="no lock on the beacon"):
        assert not agent.look(0)
    progress = agent._now.progress
    assert (progress.looks_left, progress.plans_left) == (1, 1)
    assert (progress.last_look, progress.update.time) == (2, 1)


@given(tiny_missions(max_horizon=8), st.data())
def test_progress_counts_down_and_remembers_the_update_before(mission, data):
    progress, times, made = mission.progress(0, mission.budget), [0], [0]
    for _ in range(mission.budget):
        later = st.integers(times[-1] + 1, mission.horizon)
        if (time := data.draw(later)) == mission.horizon:
            break
        if data.draw(st.booleans(), label="fails"):
            progress = progress.keeping(time)
        else:
            progress = progress.after(mission.update(time))
            made.append(time)
        times.append(time)
        assert progress.budget_left == mission.budget - len(times) + 1
        assert (progress.last_update, progress.update.time) == (time, made[-1])
        assert (progress.earlier.time if progress.earlier else 0) == (made[-2] if len(made) > 1 else 0)


def test_missions_that_differ_in_their_budget_share_their_updates(mission):
    assert mission.with_budget(2).update(5) is mission.update(5)
    assert mission.update(5, 3) is mission.update(5), "whatever came before, as the forecast does not compare"


def test_an_update_that_fails_changes_neither_the_plan_nor_the_update_before(mission):
    first = mission.progress(0, 4).after(mission.update(1))
    assert first.earlier is None, "the free plan of t = 0 is no update"
    second = first.after(mission.update(5))
    kept = second.keeping(9)
    third = kept.after(mission.update(12))
    for progress, last, plan, earlier, left in (
        (second, 5, 5, 1, 2),
        (kept, 9, 5, 1, 1),
        (third, 12, 12, 5, 0),
    ):
        assert (progress.last_update, progress.update.time) == (last, plan)
        assert (progress.earlier.time, progress.budget_left) == (earlier, left)


@pytest.mark.parametrize(
    ("looks", "plans", "after_look", "after_plan", "after_both"),
    [(3, 1, 2, 3, 2), (1, 3, 3, 2, 2), (2, 2, 2, 2, 1)],
)
def test_of_looks_and_plans_the_larger_rest_is_left(
    mission, looks, plans, after_look, after_plan, after_both
):
    progress = Progress(mission.update(9), looks, plans_left=plans)
    assert progress.left_after(Kind.LOOK) == progress.keeping(10, Kind.LOOK).budget_left == after_look
    assert progress.left_after(Kind.PLAN) == progress.keeping(10, Kind.PLAN).budget_left == after_plan
    assert progress.left_after(Kind.BOTH) == progress.after(mission.update(10)).budget_left == after_both


class Compares(Periodic):
    needs = frozenset({Need.EARLIER_ESTIMATE})


@pytest.mark.parametrize(("rule", "earlier"), [(Periodic(), 0), (Compares(), 4)])
def test_progress_is_told_apart_by_the_update_before_only_for_rules_that_compare(
    mission, rule: Rule, earlier
):
    assert mission.progress(9, 2, 4).key(rule) == (9, 2, 2, earlier, 9, True)
    assert mission.progress(9, 2).key(rule) == (9, 2, 2, 0, 9, True)
    assert Progress(mission.update(9), 2).last_update == 9
    assert mission.progress(9, 2).earlier is None and mission.progress(9, 2, 4).earlier.time == 4


def test_a_plan_reaches_as_far_as_the_planning_horizon_and_no_further_than_the_mission(mission):
    made = []

    def planner(kernel, reward, time, horizon, ties):
        made.append((time, horizon))
        return plan_by_induction(kernel, reward, time, horizon, ties)

    agent = Agent.on(mission, Periodic(), planner=planner, trial=False)
    fly(agent, mission)
    assert made == [(0, 7), (1, 7), (17, 7), (33, 7), (49, 1)]
    far = Mission(mission.world, 4, planning_horizon=60)
    agent = Agent.on(far, Periodic(), planner=planner, trial=False)
    del made[:]
    fly(agent, far)
    assert made == [(0, 50), (1, 49), (17, 33), (33, 17), (49, 1)]


def test_a_mission_refuses_what_could_not_be_flown(mission):
    with pytest.raises(InputError, match="forecast must be a Forecast"):
        replace(mission, forecast="trend")
    with pytest.raises(InputError, match="a function of time"):
        replace(mission, world=replace(mission.world, reward=mission.world.reward(0)))


def test_drift_bounds_are_computed_for_rules_that_read_them(mission):
    for rule, read in ((Periodic(), False), (DriftThreshold(), True)):
        fresh = replace(mission, world=replace(mission.world))
        evaluate(fresh, rule)
        assert ("drift_bounds" in vars(fresh.world)) == read
