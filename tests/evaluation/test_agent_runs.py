"""An agent, followed through every branch of a tiny world, earns what exact evaluation says."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan import Agent, FixedTimes, InputError, Observation, TrueKernel, load_setting, make_mission
from replan.evaluation.agent_runs import learned_samples, run_agent
from replan.evaluation.exact import evaluate
from replan.evaluation.rollouts import rollout
from replan.execute.robot import plan_by_induction
from replan.schedule.drift_threshold import DriftThreshold, SelfTriggered
from replan.schedule.lazy_value import LazyValue
from replan.schedule.lookahead import Lookahead
from replan.schedule.periodic import Periodic
from replan.schedule.regret_guided import RegretGuided
from tiny_worlds import random_times, tiny_missions

RULES = (
    Periodic(),
    RegretGuided("gap+drift", alpha=0.5),
    DriftThreshold(0.7),
    SelfTriggered(0.7),
    LazyValue(0.2),
    Lookahead(),
)


def return_of_all_branches(mission, rule, path=()) -> float:
    """Expected return from the end of a path of states on; every branch is flown by an agent of its own."""
    t, world = len(path), mission.world
    if t == mission.horizon:
        return 0.0
    agent = Agent.on(mission, rule, trial=False)
    agent.start(world.start)
    for state in (world.start, *path):
        if agent.due().update:
            agent.update(state)
        action = agent.act()
    reward, row = world.reward(t), world.kernel(t).general().dense()[state, action]
    total = 0.0 if reward.state_action is None else reward.state_action[state, action]
    for following in np.flatnonzero(row):
        gain = 0.0 if reward.next_state is None else reward.next_state[following]
        total += row[following] * (gain + return_of_all_branches(mission, rule, (*path, int(following))))
    return total


@given(tiny_missions(max_horizon=4), st.sampled_from(RULES))
def test_the_branches_of_an_agent_add_up_to_the_exact_return(mission, rule):
    assert return_of_all_branches(mission, rule) == pytest.approx(
        evaluate(mission, rule, all_starts=False).expected_return, abs=1e-9
    )


@given(tiny_missions(max_horizon=6), st.integers(0, 1000))
def test_a_run_reports_what_was_seen_done_and_earned(mission, seed):
    times = random_times(np.random.default_rng(seed), mission)
    run, world = run_agent(mission, FixedTimes(times), seed=seed), mission.world
    assert run.times == times
    assert [t for t, decision in run.decisions] == list(range(1, mission.horizon))
    assert tuple(t for t, decision in run.decisions if decision.update) == times
    assert (
        run.states[0] == world.start
        and run.believed[[0, *times]].tolist() == run.states[[0, *times]].tolist()
    )
    steps = zip(run.states[:-1, None], run.actions[:, None], run.states[1:, None], strict=True)
    earned = sum(float(world.reward(t).realised(*step)[0]) for t, step in enumerate(steps))
    assert run.total_reward == pytest.approx(earned, abs=1e-12)


def test_a_run_without_a_seed_is_the_rollout_of_seed_0():
    mission = make_mission(load_setting("two-burst"))
    run = run_agent(mission, Periodic())
    assert run.states.tolist() == rollout(mission, Periodic(), [0], trace=True).states[0].tolist()


def test_a_rule_that_raises_is_named_with_the_time():
    class Raises(Periodic):
        name = "raises"

        def next_update(self, context, states):
            raise ZeroDivisionError("no time")

    match = r"^raises: at time 2: .*no time"
    with pytest.warns(UserWarning, match="the rule failed"), pytest.raises(InputError, match=match):
        run_agent(make_mission(load_setting("two-burst")), Raises())


def test_the_robot_plans_with_its_own_planner():
    mission, planned = make_mission(load_setting("two-burst")), []

    def planner(kernel, reward, time, horizon, ties):
        planned.append(time)
        return plan_by_induction(kernel, reward, time, horizon, ties)

    mission = replace(mission, robot=replace(mission.robot, planner=planner))
    run_agent(mission, Periodic())
    assert planned == [0, 1, 17, 33, 49]
    learned_samples(mission, Periodic(), lambda mission: mission.estimator, [3, 4])
    assert planned == [0, 1, 17, 33, 49] * 3


def test_a_look_shows_the_state_before_as_well():
    class Noting(TrueKernel):
        def estimate(self, learned, observation):
            seen.append(observation)
            return super().estimate(learned, observation)

    seen: list[Observation] = []
    mission = make_mission(load_setting("two-burst"), budget=6)
    run = run_agent(mission, Periodic(), seed=4, estimator=Noting(mission.world))
    assert [each.time for each in seen] == [1, 11, 20, 30, 39, 49]
    for each in seen:
        assert each.previous_state == run.states[each.time - 1]
