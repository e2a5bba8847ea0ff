"""The loop of a robot that knows where it is: every step is seen, missing states and jumps do not stop it."""

from dataclasses import replace

import numpy as np
import pytest

from replan import Agent, Decision, InputError, Need, Rule, Spending, load_setting, make_mission, make_rule
from replan.estimate.estimator import Nearby, Tracked
from replan.estimate.family_filter import FamilyFilter
from replan.evaluation.agent_runs import SimulatedRobot, run_agent
from replan.model.sizes import Sizes
from replan.planning.optimal_values import policy_values
from replan.schedule import last_moment
from replan.worlds.settings import parse_setting


def a_mission(name="thin-ice-medium", **options):
    return make_mission(load_setting(name), execution="localised", **options)


def fly(agent, robot, *, until=None, hidden=()):
    """Fly on to the end, or to a time; the state is not told at the times `hidden`."""
    actions = []
    while not agent.done and agent.time != until:
        state = None if agent.time in hidden else robot.look()
        if agent.due(state).update:
            agent.update(state)
        actions.append(agent.act(state))
        robot.do(actions[-1])
    return actions


def started(mission, rule="last-moment", *, seed=0, estimator=None):
    agent = Agent.on(mission, make_rule(rule), estimator=estimator, seed=seed)
    robot = SimulatedRobot(mission.world, seed=seed)
    agent.start(robot.look())
    return agent, robot


def times_of_updates(agent):
    return tuple(event.time for event in agent.log if event.what == "update")


def test_the_loop_of_the_docs_flies_as_a_simulated_run():
    mission = a_mission()
    agent, robot = started(mission)
    run = run_agent(mission, make_rule("last-moment"), seed=0)
    assert fly(agent, robot) == run.actions.tolist()
    assert robot.total_reward == run.total_reward
    assert times_of_updates(agent) == run.times


def test_while_its_state_is_missing_it_acts_by_belief_and_says_so():
    mission = a_mission()
    agent, robot = started(mission)
    fly(agent, robot, hidden=range(4, 8))
    missing = [event for event in agent.log if event.what == "state missing"]
    assert [event.time for event in missing] == [4, 5, 6, 7]
    assert sum(event.what == "act" for event in agent.log) == mission.horizon


def test_while_its_state_is_missing_the_rule_is_asked_at_the_likeliest_cell_on_what_is_tracked():
    mission = a_mission()
    agent, robot = started(mission)
    fly(agent, robot, hidden=range(3, 15))
    seen, other = started(mission)
    fly(seen, other)
    assert times_of_updates(agent) == times_of_updates(seen) == (8,)


def test_on_a_large_map_the_likeliest_cell_is_that_of_a_sparse_belief():
    asked_at = []

    class Listening(Rule):
        name, needs = "listening", frozenset({Need.STATE})

        def decide(self, context):
            asked_at.append(context.state)
            return Decision(False, "it listens")

    mission = a_large_map(budget=2)
    agent = Agent.on(mission, Listening())
    agent.start(mission.world.start)
    asked_at.clear()
    for _ in range(4):
        agent.due()
        likeliest = int(agent.estimate.argmax())
        agent.act()
    assert not isinstance(agent._now.estimate, np.ndarray)
    assert asked_at[-1] == likeliest != mission.world.start


def test_without_slip_nothing_is_lost_while_the_state_is_missing():
    mission = a_mission("crosswind-hard")
    seen, robot = started(mission, "even")
    told = fly(seen, robot, until=3)
    hidden, other = started(mission, "even")
    untold = fly(hidden, other, until=3, hidden=(2,))
    assert hidden.estimate.sum() == pytest.approx(1.0)
    assert untold[:2] == told[:2]


def test_a_state_that_jumps_does_not_stop_it_and_teaches_nothing_impossible():
    mission = a_mission("crosswind-hard")
    world = mission.world
    learner = FamilyFilter(world.family, world.local_drift_bounds, start=world.kernel(0))
    agent, robot = started(mission, estimator=learner)
    fly(agent, robot, until=5)
    robot.state = world.states - 1
    fly(agent, robot)
    assert agent.done
    assert learner.weights(agent.learned).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["tracked", "nearby", "family"])
@pytest.mark.parametrize("rule", ["last-moment", "gain", "random"])
def test_a_restored_agent_goes_on_as_the_one_that_was_saved(tmp_path, kind, rule):
    mission = a_mission("crosswind-hard")
    world = mission.world

    def estimator():
        if kind == "family":
            return FamilyFilter(world.family, world.local_drift_bounds, start=world.kernel(0))
        return Nearby(world, 2) if kind == "nearby" else Tracked(world)

    agent, robot = started(mission, rule, estimator=estimator())
    fly(agent, robot, until=9, hidden=(6,))
    agent.save(tmp_path / "agent.npz")
    again, _ = started(mission, rule, estimator=estimator())
    again.restore(tmp_path / "agent.npz")
    other = SimulatedRobot(world, seed=0)
    other.state, other.time = robot.state, robot.time
    assert fly(again, other) == fly(agent, robot)
    assert [e.time for e in again.log if e.what == "update"] == [
        e.time for e in agent.log if e.what == "update"
    ]
    assert np.array_equal(again.plan.policy, agent.plan.policy)


def test_at_most_the_budget_is_spent_and_nothing_is_forced():
    mission = a_mission().with_spending(Spending.at_most(1))
    agent, robot = started(mission, "gain")
    fly(agent, robot)
    assert agent.budget_left == 0
    calm, robot = started(a_mission("two-burst"))
    fly(calm, robot, until=20)
    assert calm.budget_left == calm.spending.limit


def test_an_estimator_that_fails_in_between_leaves_the_last_estimate_in_use():
    class Failing(Tracked):
        def estimate(self, learned, observation):
            if observation.time == 5:
                raise RuntimeError("boom")
            return super().estimate(learned, observation)

    mission = a_mission()
    agent, robot = started(mission, estimator=Failing(mission.world))
    with pytest.warns(UserWarning, match="boom"):
        fly(agent, robot)
    assert agent.done
    assert [event.time for event in agent.log if event.what == "kept estimate"] == [5]


def test_blind_robots_do_not_tell_their_state_in_between():
    mission = make_mission(load_setting("two-burst"))
    agent = Agent.on(mission, make_rule("periodic"))
    agent.start(0)
    with pytest.raises(InputError, match="tells its state at updates alone"):
        agent.due(3)
    with pytest.raises(InputError, match="tells its state at updates alone"):
        agent.act(3)


@pytest.mark.parametrize("state", [-1, 10**6, 2.5, "here", np.full(144, 1 / 144)])
def test_a_state_that_is_none_is_refused_in_one_line(state):
    agent, _ = started(a_mission())
    with pytest.raises(InputError, match="state must be a whole number") as refusal:
        agent.due(state)
    assert len(str(refusal.value).splitlines()) == 1


def a_large_map(**options):
    """A still map with sand in the way that gives way as the robot comes."""
    sand = {"slip": 0.02, "final_slip": 0.9, "begin": 3, "end": 12, "rows": (0, 40), "columns": (36, 38)}
    ground = {"slip": 0.02, "patches": [sand], "walls": [], "start": (36, 30), "goal": (36, 44)}
    data = {"world": "terrain", "horizon": 24, "planning_horizon": 12, "n": 90, "terrain": ground}
    return make_mission(parse_setting({**data, **options}), execution="localised")


@pytest.mark.parametrize("spent", [{"budget": 1}, {"budget": 3}, {"price": 0.02}])
@pytest.mark.parametrize("name", ["last-moment", "gain"])
def test_windows_of_a_large_map_give_the_decisions_of_the_whole(name, spent):
    mission = a_large_map(**spent)
    whole = replace(mission, sizes=Sizes(whole_world=mission.world.states))
    seen = 0
    for seed in range(6):
        near, all_cells = (run_agent(each, make_rule(name), seed=seed) for each in (mission, whole))
        for (t, here), (_, there) in zip(near.decisions, all_cells.decisions, strict=True):
            assert here.update == there.update, t
            assert here.score == (None if there.score is None else pytest.approx(there.score, abs=1e-12))
        seen += len(near.times)
    assert seen


def test_the_work_of_a_late_decision_is_tried_at_construction(monkeypatch):
    worked = []
    monkeypatch.setattr(
        last_moment, "policy_values", lambda *a, **k: worked.append(1) or policy_values(*a, **k)
    )
    Agent.on(a_mission(), make_rule("last-moment"))
    assert worked
