"""The robot's loop: what it says and what it refuses."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.execute.loop import Deciding, Faulty, events, fly, with_robot
from tests.tiny_worlds import tiny_missions

from replan import (
    Agent,
    Decision,
    InputError,
    Periodic,
    PooledSlip,
    Spending,
    Trend,
    TrueKernel,
    load_setting,
    make_mission,
    make_rule,
)
from replan.execute.agent import Event
from replan.forecast.base import Frozen
from replan.schedule.fixed import Random
from replan.schedule.lookahead import Lookahead

PERIODIC = Periodic()


def test_every_update_and_action_is_in_the_log_with_its_reason(mission):
    agent = Agent.on(mission, Periodic())
    fly(agent, mission)
    assert events(agent, "update") == [1, 17, 33, 49]
    assert events(agent, "act") == list(range(50))
    whys = [event.why for event in agent.log if event.what == "update"]
    assert whys[0] == "the first update is at 1" and all("periodic times" in why for why in whys[1:])
    assert agent.budget_left == 0 and agent.done


def test_a_rule_that_has_not_drawn_its_times_is_refused(mission):
    with pytest.raises(InputError, match="seed"):
        Agent.on(mission, Random())


def agent_without_a_world(mission, *, rule=PERIODIC, knowledge=None, robot=None, spending=None):
    """An agent made of the parts of a mission, some of them changed."""
    return Agent(
        replace(mission.world.knowledge, **knowledge) if knowledge else mission.world.knowledge,
        replace(mission.robot, **{"estimator": mission.estimator, **(robot or {})}),
        spending or mission.spending,
        rule,
    )


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"rule": Lookahead}, r"an instance: Lookahead\(\)"),
        ({"rule": "periodic"}, "rule must be a Rule"),
        ({"rule": Deciding(lambda context: True)}, "decided True, not a Decision"),
        ({"knowledge": {"drift_bounds": np.zeros(48)}}, r"drift bounds must be 49 numbers .*, not \(48,\)"),
        ({"knowledge": {"drift_bounds": np.full(49, -0.1)}}, "drift bound 0 is negative"),
        ({"knowledge": {"drift_bounds": np.full(49, np.nan)}}, "drift bound 0 is negative or not finite"),
        ({"knowledge": {"drift_bounds": 0.1}}, "drift bounds must be 49 numbers"),
        ({"knowledge": {"drift_bounds": lambda: np.zeros(48)}}, "drift bounds must be 49 numbers"),
        ({"knowledge": {"reward": 3}}, "reward must be a function of time"),
        ({"knowledge": {"reward": lambda t: 3}}, "reward must be a function of time that returns a Reward"),
        ({"robot": {"estimator": None}}, "an agent needs a robot with an estimator"),
        ({"spending": Spending.exactly(50)}, "budget must lie between 1 and 49"),
    ],
)
def test_what_could_not_work_is_refused_at_construction(mission, arguments, named):
    with pytest.raises(InputError, match=named):
        agent_without_a_world(mission, **arguments)


@pytest.mark.parametrize("trial", [True, False])
def test_a_budget_that_the_rule_cannot_spend_is_refused_at_construction(trial):
    robot = {"execution": "localised", "update_steps": 17}
    mission = make_mission(load_setting("two-burst"), **robot)
    with pytest.raises(InputError, match="budget 4 does not fit: updates of 17 steps leave room for 3 in 50"):
        Agent.on(mission, Periodic(), trial=trial)


def test_an_agent_without_a_world_flies_as_one_on_a_mission(mission):
    alone, on_mission = agent_without_a_world(mission), Agent.on(mission, Periodic())
    for agent in (alone, on_mission):
        fly(agent, mission)
    assert alone.log == on_mission.log
    assert alone.knowledge is mission.world.knowledge and alone.spending is mission.spending
    assert alone.robot.estimator is alone.estimator and alone.horizon == 50


def test_an_agent_is_made_on_a_mission_and_not_on_a_setting(mission):
    with pytest.raises(InputError, match="mission must be a Mission, not 'two-burst': make_mission"):
        Agent.on("two-burst", Periodic())


def test_the_estimator_of_the_robot_is_asked_unless_another_one_is_given(mission):
    own, other = Faulty(TrueKernel(mission.world)), Faulty(TrueKernel(mission.world))
    learns = with_robot(mission, estimator=own)
    assert Agent.on(mission, Periodic()).estimator == TrueKernel(mission.world)
    assert Agent.on(learns, Periodic()).estimator is own
    assert Agent.on(learns, Periodic(), estimator=other).estimator is other


def test_the_estimator_is_told_what_the_update_reveals(mission):
    estimator = Faulty(TrueKernel(mission.world))
    agent = Agent.on(mission, Periodic(), estimator=estimator, trial=False)
    fly(agent, mission)
    acted = [event.action for event in agent.log if event.what == "act"]
    assert [seen.time for seen in estimator.asked] == [1, 17, 33, 49]
    assert estimator.asked[1].commanded == tuple(acted[1:17])
    assert estimator.asked[1].previous_action == acted[16]


def test_the_estimator_is_told_the_state_before_where_it_was_seen(mission):
    estimator = Faulty(TrueKernel(mission.world))
    agent = Agent.on(mission, Periodic(), estimator=estimator, trial=False)
    agent.start(0)
    for previous in (7, 8, None):
        agent.act()
        agent.update(1, previous=previous)
    assert [seen.previous_state for seen in estimator.asked] == [7, 8, None]


def test_the_log_begins_with_the_state_that_is_seen_for_free(mission):
    agent = Agent.on(mission, Periodic())
    assert agent.log == []
    agent.start(5)
    assert agent.log == [Event(0, "start", state=5)]


def test_a_forecast_goes_on_from_what_the_estimator_has_learned(mission):
    @dataclass(frozen=True)
    class Informed(Frozen):
        source: object = None

        def informed_by(self, knowledge, estimator):
            return replace(self, source=estimator)

    agent = Agent.on(with_robot(mission, forecast=Informed()), Periodic())
    assert agent.mission.forecast.source is agent.estimator


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
            assert agent.budget_left == mission.spending.limit - len(spent) >= 0
            assert len(spent) == len(set(spent)) and 0 not in spent
            progress = agent._now.progress
            assert progress.last_update == (spent[-1] if spent else 0)
            assert progress.update.time == max([0, *events(agent, "update")]) == agent.plan.time
            agent.act()
    assert agent.update(0) is False, "nor after the end"


def test_after_the_last_step_nothing_is_due_and_no_rule_is_asked(mission):
    agent = Agent.on(
        mission.with_spending(Spending.at_price(0.1)), Deciding(lambda context: Decision(True, "always"))
    )
    agent.start(0)
    while not agent.done:
        assert agent.due().update == (agent.time > 0)
        agent.act()
    assert agent.due() == Decision(False, f"all {mission.horizon} steps have been taken")


def test_an_update_beyond_the_budget_is_refused_and_recorded(mission):
    agent = Agent.on(mission, Periodic())
    agent.start(0)
    assert agent.update(0) is False, "the first step is free, the first update at 1"
    agent.act()
    for _ in range(4):
        agent.update(1)
        agent.act()
    assert agent.update(1) is False
    assert events(agent, "refused update") == [0, 5]
    assert [event.state for event in agent.log if event.what == "refused update"] == [0, 1]


def test_a_second_update_at_one_time_is_refused_and_costs_nothing(mission):
    agent = Agent.on(mission, Periodic())
    fly(agent, mission, until=1)
    assert agent.update(1) is True
    assert agent.update(1) is False
    assert agent.budget_left == 3
    assert agent.log[-1].what == "refused update" and "already" in agent.log[-1].why


@pytest.mark.parametrize("state", [999, 144, -1, None, True, float("nan"), 1.5, "1"])
def test_what_is_not_a_state_is_refused_and_costs_nothing(mission, state):
    agent = Agent.on(mission, Periodic())
    with pytest.raises(InputError, match="state must be a whole number from 0 to 143"):
        agent.start(state)
    fly(agent, mission, until=1)
    before = list(agent.log)
    with pytest.raises(InputError, match="state must be a whole number from 0 to 143"):
        agent.update(state)
    if state is not None:
        with pytest.raises(InputError, match="previous must be a whole number from 0 to 143"):
            agent.update(1, previous=state)
    assert agent.budget_left == 4 and agent.log == before
    assert agent.update(np.int64(1)) and agent.act() >= 0


def test_an_engineer_may_update_before_the_rule_says_so(mission):
    agent = Agent.on(mission, Periodic())
    state = fly(agent, mission, until=5)
    against = agent.due()
    assert not against.update
    assert agent.update(state)
    assert agent.budget_left == 2
    assert agent.log[-1].what == "update" and agent.log[-1].decision == against
    assert agent.log[-1].why == "made by the caller, though none was due"


def test_misuse_is_said_plainly(mission):
    with pytest.raises(InputError, match=r"call start\(state\) first"):
        Agent.on(mission, Periodic()).act()
    agent = Agent.on(mission, Periodic())
    fly(agent, mission)
    with pytest.raises(InputError, match="all 50 steps"):
        agent.act()


def spread(states, *cells):
    belief = np.zeros(states)
    for cell, probability in cells:
        belief[cell] = probability
    return belief


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_a_certain_distribution_is_a_state(execution):
    mission = make_mission(load_setting("two-burst"), execution=execution)
    actions = []
    for look in (17, spread(144, (17, 1.0))):
        agent = Agent.on(mission, Periodic())
        agent.start(0)
        agent.act()
        assert agent.update(look)
        actions.append([agent.act() for _ in range(10)])
    assert actions[0] == actions[1]


def test_an_uncertain_look_goes_on_as_a_belief_or_from_its_mode():
    belief = spread(144, (17, 0.5), (30, 0.3), (45, 0.2))
    for execution in ("map", "belief"):
        mission = make_mission(load_setting("two-burst"), execution=execution)
        agent = Agent.on(mission, Periodic())
        agent.start(0)
        agent.act()
        agent.update(belief)
        assert agent.log[-1].state == 17
        if execution == "map":
            assert agent.estimate == 17
        else:
            assert agent.estimate == pytest.approx(belief)
            kernel = mission.update(1).kernel.general().dense()
            action = agent.act()
            assert agent.estimate == pytest.approx(belief @ kernel[:, action])


@pytest.mark.parametrize(
    "look", [[0.5, 0.5], np.full(144, 0.1), np.full(144, np.nan), -np.eye(144)[0], np.eye(144), ["a"] * 144]
)
def test_what_is_no_distribution_over_the_states_is_refused(mission, look):
    agent = Agent.on(mission, Periodic())
    agent.start(0)
    agent.act()
    with pytest.raises(InputError, match="144 probabilities"):
        agent.update(look)
    assert agent.budget_left == mission.spending.limit


def test_only_rules_that_need_the_current_kernel_are_refused_where_it_is_not_known(mission):
    blind = {"current_kernel": None}
    agent_without_a_world(mission, knowledge=blind)
    with pytest.raises(InputError, match="the rule lazy-value needs current_kernel"):
        agent_without_a_world(mission, rule=make_rule("lazy-value"), knowledge=blind)


def test_a_second_start_begins_a_new_mission_for_the_estimator_too(mission):
    def first_estimate():
        agent.start(0)
        agent.act()
        agent.update(1, previous=0)
        return agent.plan.kernel.slip.copy()

    learner = PooledSlip(mission.world.kernel(0), mission.world.drift_bounds)
    agent = Agent.on(mission, Periodic(), estimator=learner)
    before = first_estimate()
    while not agent.done:
        agent.update(agent.time % 5)
        agent.act()
    np.testing.assert_array_equal(first_estimate(), before)


@pytest.mark.parametrize("execution", ["map", "localised"])
def test_a_plan_that_was_made_elsewhere_is_put_in_force_and_followed(mission, execution):
    mission = replace(mission, robot=replace(mission.robot, execution=execution))
    agent, up = Agent.on(mission, make_rule("periodic")), np.full(mission.world.states, 3)
    agent.start(mission.world.start, policy=up)
    assert agent.act() == 3
    assert agent.update(mission.world.start)
    assert (agent.plan.policy != 3).any(), "its own plan"
    agent.act()
    assert agent.update(mission.world.start, policy=up)
    assert (agent.plan.policy == up).all()
    with pytest.warns(UserWarning, match="policy is not"):
        agent.act()
        assert not agent.update(mission.world.start, policy=np.full(mission.world.states, 9))
    assert (agent.plan.policy == up).all(), "the last plan stays in force"


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"execution": "belief"}, "a belief is weighed with the values of a plan"),
        ({"forecast": Trend()}, "it needs the forecast frozen"),
        ({"forecast": Trend(), "execution": "localised"}, "it needs the forecast frozen"),
    ],
)
def test_a_plan_that_was_made_elsewhere_is_refused_by_robots_that_could_not_follow_it(mission, changes, line):
    agent = Agent.on(replace(mission, robot=replace(mission.robot, **changes)), make_rule("periodic"))
    up = np.full(mission.world.states, 3)
    with pytest.raises(InputError, match=line):
        agent.start(mission.world.start, policy=up)
    agent.start(mission.world.start)
    agent.act()
    with pytest.raises(InputError, match=line):
        agent.update(mission.world.start, policy=up)
    assert agent.budget_left == mission.spending.limit, "and it costs nothing"
