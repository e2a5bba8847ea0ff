"""`last-moment` and `gain` decide by a cheap judge; the planner of the robot runs in updates only."""

import time
from dataclasses import replace

import numpy as np
import pytest
from tests.execute.loop import PATIENCE, events, with_robot

from replan import (
    Agent,
    FamilyFilter,
    InputError,
    SimulatedRobot,
    Spending,
    evaluate,
    load_setting,
    make_mission,
    make_rule,
    plan_by_induction,
)
from replan.worlds.settings import parse_setting

RULES = ("last-moment", "gain")
STILL = {"world": "rover", "n": 5, "horizon": 15, "planning_horizon": 7, "budget": 14}
STILL["drift"] = {"kind": "linear", "slip": 0.1, "rate": 0.0}


class Planner:
    """Backward induction that notes its calls, may take its time or fail, or be wrong in every n-th state."""

    def __init__(self, *, seconds=0.0, fails_at=(), wrong_every=None):
        self.times, self.seconds, self.fails_at, self.wrong_every = [], seconds, fails_at, wrong_every

    def __call__(self, kernel, reward, when, horizon, ties):
        self.times.append(when)
        time.sleep(self.seconds)
        if when in self.fails_at:
            raise RuntimeError("no way found")
        made = plan_by_induction(kernel, reward, when, horizon, ties)
        policy = made.policy.copy()
        if self.wrong_every is not None:
            policy[:: self.wrong_every] = (policy[:: self.wrong_every] + 1) % kernel.actions
        return replace(made, policy=policy)


def a_mission(name="thin-ice-medium", **robot):
    mission = make_mission(load_setting(name), execution="localised")
    return with_robot(mission, **robot).with_spending(Spending.at_most(8))


def fly(mission, rule="last-moment", *, wait=False, estimator=None, **options):
    agent = Agent.on(mission, make_rule(rule), estimator=estimator, **options)
    robot = SimulatedRobot(mission.world)
    agent.start(robot.look())
    actions = []
    while not agent.done:
        state = robot.look()
        if agent.due(state).update:
            agent.update(state)
        end = time.monotonic() + PATIENCE
        while wait and agent.busy and time.monotonic() < end:
            time.sleep(0.01)
        actions.append(agent.act(state))
        robot.do(actions[-1])
    return agent, actions


def decided(agent):
    return [(event.time, event.what, event.why, event.action) for event in agent.log]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["thin-ice-medium", "crosswind-medium", "terrain-medium"])
def test_the_planner_is_called_once_for_each_update_and_once_before_the_first_step(name, rule):
    planner = Planner()
    agent, _ = fly(a_mission(name, planner=planner), rule)
    updates = events(agent, "update")
    assert updates
    assert planner.times == [0, *updates]


def test_nor_is_it_called_between_updates_by_a_robot_that_learns():
    mission = a_mission("crosswind-hard")
    world, planner = mission.world, Planner()
    estimator = FamilyFilter(world.family, world.local_drift_bounds, start=world.kernel(0))
    agent, _ = fly(with_robot(mission, planner=planner), estimator=estimator)
    assert planner.times == [0, *events(agent, "update")] != [0]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("steps", [0, 2])
def test_a_planner_as_good_as_the_judge_decides_and_acts_as_the_built_in_one(steps, rule):
    built_in, own = (a_mission(update_steps=steps, **planner) for planner in ({}, {"planner": Planner()}))
    assert evaluate(own, make_rule(rule)).regret == evaluate(built_in, make_rule(rule)).regret
    assert decided(fly(own, rule)[0]) == decided(fly(built_in, rule)[0])


@pytest.mark.parametrize("rule", RULES)
def test_the_judge_decides_whatever_planner_makes_the_updates(rule):
    judge = Planner()
    agent, _ = fly(a_mission(planner=Planner(wrong_every=3), judge=judge), rule)
    built_in, _ = fly(a_mission(planner=Planner(wrong_every=3)), rule)
    assert decided(agent) == decided(built_in)
    assert len(judge.times) > len(events(agent, "update")) + 1

    def content(kernel, reward, when, horizon, ties):
        made = plan_by_induction(kernel, reward, when, horizon, ties)
        return replace(made, policy=np.zeros_like(made.policy))

    assert events(fly(a_mission(judge=content), rule)[0], "update") == []


@pytest.mark.parametrize("rule", RULES)
def test_a_planner_that_is_bad_is_not_asked_again_while_the_judge_would_do_the_same(rule):
    planner = Planner(wrong_every=1)
    mission = make_mission(parse_setting(STILL), execution="localised")
    assert not mission.world.drift_bounds.any()
    fly(with_robot(mission, planner=planner), rule)
    assert planner.times == [0], "a new plan would be the old one"


def test_each_update_of_a_bad_planner_answers_another_action_of_the_judge():
    mission = a_mission("terrain-medium", planner=Planner(wrong_every=3))
    agent, _ = fly(mission.with_spending(Spending.at_price(0.01)))
    updates, last = [event for event in agent.log if event.what == "update"], 0
    assert len(updates) == 2

    def judge(seen_at, at):
        kernel, horizon = mission.world.kernel(max(seen_at - 1, 0)), mission.robot.planning_horizon
        steps = min(horizon, mission.horizon - at)
        return plan_by_induction(kernel, mission.world.reward, at, steps, agent.robot.ties).policy

    for event in updates:
        assert judge(event.time, event.time)[event.state] != judge(last, last)[event.state]
        last = event.time


@pytest.mark.parametrize("rule", RULES)
def test_a_planner_slower_than_the_limit_does_not_stop_the_rule(rule):
    planner = Planner()
    mission = a_mission(planner=planner)
    agent = Agent.on(mission, make_rule(rule), time_limit=0.2)
    planner.seconds, robot = 0.5, SimulatedRobot(mission.world)
    began = time.monotonic()
    agent.start(robot.look())
    assert time.monotonic() - began < 0.4, "the plan of the trial is used"
    with pytest.warns(UserWarning, match="not done within 0.2 s"):
        while not agent.done:
            state = robot.look()
            if agent.due(state).update:
                assert not agent.update(state)
            robot.do(agent.act(state))
    assert events(agent, "failed rule") == []
    assert 0 < len(events(agent, "kept plan")) <= 8


def test_a_slow_planner_in_the_background_gets_its_plan_in_force():
    planner = Planner(seconds=0.5)
    agent, _ = fly(with_robot(a_mission(planner=planner), update_steps=1), time_limit=0.2, wait=True)
    assert events(agent, "failed rule") == [] == events(agent, "kept plan")
    assert len(planner.times) == len(events(agent, "update")) + 1 == len(events(agent, "arrival")) + 1 >= 2


def test_after_an_update_whose_planner_failed_the_rule_asks_again():
    (first,) = events(fly(a_mission("terrain-medium"))[0], "update")
    planner = Planner(fails_at=(first,))
    with pytest.warns(UserWarning, match="no way found"):
        agent, _ = fly(a_mission("terrain-medium", planner=planner))
    assert events(agent, "kept plan") == [first]
    assert planner.times == [0, first, *events(agent, "update")] and events(agent, "update")


def test_every_start_uses_the_plan_of_the_trial():
    planner = Planner()
    mission = a_mission(planner=planner)
    agent = Agent.on(mission, make_rule("last-moment"))
    untried = Agent.on(a_mission(), make_rule("last-moment"), trial=False)
    for state in (mission.world.start, mission.world.start + 1):
        for each in (agent, untried):
            each.start(state)
        assert agent.plan.policy.tolist() == untried.plan.policy.tolist()
        assert agent.act(state) == untried.act(state)
    assert planner.times == [0]


def test_a_policy_given_at_the_start_does_not_outlast_a_second_start():
    mission = a_mission()
    agent = Agent.on(mission, make_rule("last-moment"))
    agent.start(0, policy=np.full(mission.world.states, 2))
    assert agent.act(0) == 2
    agent.start(0)
    assert agent.plan.policy.tolist() == mission.update(0).plan.policy.tolist()


@pytest.mark.parametrize("rule", RULES)
def test_a_restored_agent_judges_as_the_saved_one(rule, tmp_path):
    mission = a_mission(planner=Planner(wrong_every=3))
    whole, robot = Agent.on(mission, make_rule(rule)), SimulatedRobot(mission.world)
    whole.start(robot.look())
    while not whole.done:
        state = robot.look()
        whole.save(tmp_path / "agent.npz")
        other = Agent.on(mission, make_rule(rule))
        other.restore(tmp_path / "agent.npz")
        assert other.due(state) == whole.due(state)
        if whole.due(state).update:
            whole.update(state)
        robot.do(whole.act(state))
    assert events(whole, "update")


def test_a_judge_is_a_function_and_plans_on_one_kernel():
    with pytest.raises(InputError, match="judge must be a function, not 3"):
        a_mission(judge=3)
    with pytest.raises(InputError, match="a judge of your own plans on one kernel"):
        with_robot(make_mission(load_setting("two-burst"), forecast="trend"), judge=Planner())


def test_a_judge_that_cannot_work_is_refused_at_construction():
    with pytest.raises(InputError, match="cannot decide: RuntimeError: no way found"):
        Agent.on(a_mission(judge=Planner(fails_at=(0,))), make_rule("last-moment"))
