"""Agents whose updates take time: with plans held back, and with a real thread and a slow planner."""

from __future__ import annotations

from concurrent.futures import wait
from dataclasses import dataclass, field, replace
from itertools import product
from threading import Condition

import numpy as np
import pytest
from tests.execute.loop import PATIENCE, events, with_robot
from tests.skip.test_one_programme import DURATIONS, EXECUTIONS, MEANWHILES, Table
from tests.tiny_worlds import late_mission

from replan import Agent, FixedTimes, InputError, SimulatedRobot, Spending, make_rule, rollout
from replan.estimate.slip_mle import PooledSlip
from replan.evaluation.agent_runs import run_agent
from replan.execute.mission import Mission
from replan.execute.robot import Robot, plan_by_induction
from replan.forecast.given import Given
from replan.model.slip import SlipKernel
from replan.model.streams import DURATION, uniforms
from replan.worlds.slip_grid import rover


@dataclass
class SimulatedClock:
    """Steps of the mission as time: a planner sleeps until a step that the robot's loop reaches."""

    now: int = 0
    wakes: int = 0
    ticks: Condition = field(default_factory=Condition)

    def sleep(self) -> None:
        """Block the planner's thread until its time has come."""
        with self.ticks:
            assert self.ticks.wait_for(lambda: self.now >= self.wakes, PATIENCE)

    def advance(self, time: int, agent: Agent) -> None:
        """Go on to a step; a planner that wakes by then has done its work before the robot goes on."""
        with self.ticks:
            self.now = time
            self.ticks.notify_all()
        pending = agent._now.pending
        if pending is not None and time >= self.wakes:
            assert wait([pending.work], PATIENCE).done


def slow_planner(clock: SimulatedClock):
    """Backward induction by a planner that takes its time."""

    def plan(kernel, reward, time, horizon, ties):
        if time:  # the free plan of t = 0 is there at once
            clock.sleep()
        return plan_by_induction(kernel, reward, time, horizon, ties)

    return plan


def on_a_clock(mission: Mission, rule, clock: SimulatedClock, **options) -> Agent:
    """An agent with a planner in a thread. All missions of a test share the text of their planner."""
    slow = with_robot(mission, planner=slow_planner(clock))
    return Agent.on(slow, rule, time_limit=PATIENCE, trial=False, **options)


def drawn(mission: Mission, seed: int, time: int) -> int:
    return mission.latency.drawn(float(uniforms(seed, time, DURATION)))


def fly_with_a_thread(mission: Mission, rule, seed: int, *, kill_at=(), path=None) -> tuple[list[int], float]:
    """Actions and return of a mission whose planner takes the drawn number of steps."""
    clock, robot, actions = SimulatedClock(), SimulatedRobot(mission.world, seed=seed), []
    agent = on_a_clock(mission, rule, clock)
    agent.start(robot.look())
    for t in range(mission.horizon):
        clock.advance(t, agent)
        if t in kill_at and agent.updating:
            agent.save(path)
            agent = on_a_clock(mission, rule, clock)
            agent.restore(path)
            clock.advance(t, agent)
        sight = (robot.look(),) if mission.robot.sees else ()
        if agent.due(*sight).update:
            clock.wakes = t + drawn(mission, seed, t)
            agent.update(robot.look())
            clock.advance(t, agent)
        actions.append(agent.act(*sight))
        robot.do(actions[-1])
    clock.advance(10**6, agent)
    return actions, robot.total_reward


CASES = list(product(EXECUTIONS, DURATIONS, MEANWHILES))


@pytest.mark.parametrize(("execution", "steps", "meanwhile"), CASES, ids=str)
def test_an_agent_acts_as_the_robot_of_exact_evaluation(execution, steps, meanwhile):
    for world in range(3):
        mission, rule = late_mission(world, execution, steps, meanwhile), Table(world)
        returns = rollout(mission, rule, np.arange(5)).returns
        for seed in range(5):
            assert run_agent(mission, rule, seed=seed).total_reward == pytest.approx(returns[seed], abs=1e-12)


def missions(count: int):
    """Missions of all kinds, with a rule and the returns of a hundred seeds of each."""
    for number in range(count // 100):
        execution, steps, meanwhile = CASES[number % len(CASES)]
        mission, rule = late_mission(number, execution, steps, meanwhile), Table(number)
        yield mission, rule, rollout(mission, rule, np.arange(100)).returns


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_planner_in_a_thread_acts_as_exact_evaluation_at_the_durations_that_occurred(count):
    for mission, rule, returns in missions(count):
        for seed in range(100):
            _, total = fly_with_a_thread(mission, rule, seed)
            assert total == pytest.approx(returns[seed], abs=1e-12)


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_an_agent_that_is_killed_in_the_middle_of_an_update_goes_on_with_the_same_actions(count, tmp_path):
    killed = number = 0
    while killed < count:
        execution, _, meanwhile = CASES[number % len(CASES)]
        mission = late_mission(number, execution, ({1: 0.5, 3: 0.5}, 2, 3)[number % 3], meanwhile)
        rule, kill_at = Table(number), range(1, mission.horizon)
        expected = fly_with_a_thread(mission, rule, number)
        path = tmp_path / "agent.npz"
        path.unlink(missing_ok=True)
        assert fly_with_a_thread(mission, rule, number, kill_at=kill_at, path=path) == expected
        killed += path.exists()
        number += 1


def begun(*, arrival="declared", execution="map", steps=2, wakes=0):
    """An agent whose update has begun at 1, and its clock."""
    mission = late_mission(0, execution, steps, "go-on", horizon=8)
    clock = SimulatedClock(wakes=wakes)
    agent = on_a_clock(mission, FixedTimes((1,)), clock, arrival=arrival)
    agent.start(0)
    agent.act()
    assert agent.due().update and agent.update(1)
    return agent, clock


def test_a_plan_is_in_force_from_its_declared_arrival_on():
    agent, clock = begun()
    old = agent.plan
    assert agent.updating and agent.budget_left == 1
    for t in (1, 2):
        clock.advance(t, agent)
        assert not agent.due().update and agent.update(0) is False
        here = agent.estimate
        assert agent.act() == old.policy[here] and agent.plan is old
    refused = [event.why for event in agent.log if event.what == "refused update"]
    assert refused == ["updated at this time already", "an update is running"]
    clock.advance(3, agent)
    assert not agent.updating and agent.plan is not old and agent.plan.time == 3


def test_a_plan_that_comes_too_late_is_taken_when_it_is_done():
    agent, clock = begun(wakes=6)
    old = agent.plan
    for t in (1, 2, 3, 4, 5):
        clock.advance(t, agent)
        agent.act()
        assert agent.plan is old
    assert events(agent, "late plan") == [4], "told once, when its time has passed"
    clock.advance(6, agent)
    agent.act()
    assert events(agent, "arrival") == [6]
    assert agent.plan is not old and agent.budget_left == 1


def test_a_plan_that_comes_from_elsewhere_is_taken_when_it_is_told():
    agent, clock = begun(arrival="told")
    clock.advance(1, agent)
    agent.act()
    clock.advance(6, agent)
    assert agent.updating, "its own work is done, but the plan is not here"
    agent.arrive(np.array([2, 2, 2]))
    assert agent.plan.policy.tolist() == [2, 2, 2] and agent.act() == 2
    with pytest.raises(InputError, match="no update is running"):
        agent.arrive()


@pytest.mark.parametrize("spending", [Spending.exactly(4), Spending.at_most(4)], ids=["exactly", "at-most"])
@pytest.mark.parametrize("steps", [0, 2])
def test_random_times_after_a_plan_from_elsewhere_come_when_it_is_here(spending, steps):
    mission = late_mission(0, "map", steps, "go-on", horizon=20).with_spending(spending)
    for seed in range(5):
        agent, told = Agent.on(mission, make_rule("random"), arrival="told", seed=seed), None
        agent.start(0)
        while not agent.done:
            if agent.updating and agent.time == told:
                agent.arrive()
            if agent.due().update and agent.update(0):
                told = agent.time + 3
            agent.act()
        times = events(agent, "update")
        assert not events(agent, "failed rule")
        assert min(np.diff(times)) >= 3
        assert len(times) == 4 or times[-1] + 3 >= agent.horizon, "only the last plan may come too late"


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_plan_on_moving_kernels_may_be_told_before_its_declared_time(execution):
    def flown(seed: int, *, declared: int, told: int | None) -> tuple[list[int], list]:
        mission = late_mission(seed, execution, declared, "go-on", horizon=8)
        mission = with_robot(mission, forecast=Given(mission.world.kernel))
        agent = Agent.on(mission, FixedTimes((1,)), arrival="declared" if told is None else "told")
        agent.start(0)
        actions = []
        while not agent.done:
            if agent.time == 1:
                agent.update(2)
            if told is not None and agent.time == 1 + told:
                agent.arrive()
            actions.append(agent.act())
        return actions, events(agent, "arrival")

    for seed in range(20):
        expected = flown(seed, declared=2, told=None)
        assert flown(seed, declared=5, told=2) == flown(seed, declared=6, told=2) == expected


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_robot_that_waits_does_so_for_a_plan_whose_time_is_not_declared(execution):
    mission, clock = late_mission(0, execution, 0, "wait"), SimulatedClock(wakes=4)
    agent = on_a_clock(mission, FixedTimes((1,)), clock, arrival="told")
    agent.start(0)
    agent.act()
    agent.update(2)
    assert [agent.act() for _ in range(3)] == [mission.world.waiting] * 3
    clock.advance(4, agent)
    agent.arrive()
    assert not agent.updating
    with pytest.raises(InputError, match="action that stays"):
        still = replace(mission, world=replace(mission.world, waiting=None))
        on_a_clock(still, FixedTimes((1,)), clock, arrival="told")


@pytest.mark.parametrize("steps", [1, 2, {1: 0.5, 3: 0.5}], ids=str)
@pytest.mark.parametrize("name", ["last-moment", "gain"])
def test_where_nothing_moves_the_loop_weighs_late_updates_as_exact_evaluation_does(name, steps):
    for number in range(12):
        mission = late_mission(number, "localised", steps, "go-on", horizon=9)
        kernel, reward = mission.world.kernel(0), mission.world.reward(0)
        world = replace(mission.world, kernel=lambda t, k=kernel: k, reward=lambda t, r=reward: r)
        mission = with_robot(replace(mission, world=world), planning_horizon=4)
        returns = rollout(mission, make_rule(name), np.arange(3)).returns
        for seed in range(3):
            total = run_agent(mission, make_rule(name), seed=seed).total_reward
            assert total == pytest.approx(returns[seed], abs=1e-12)


def test_an_update_that_never_arrives_is_saved_and_restored(tmp_path):
    mission = late_mission(0, "map", {2: 0.5, 9: 0.5}, "go-on")
    seed = next(seed for seed in range(20) if drawn(mission, seed, 1) == 9)

    def begun_at_one() -> Agent:
        return Agent.on(mission, FixedTimes((1,)), seed=seed)

    agent = begun_at_one()
    agent.start(0)
    agent.act()
    agent.update(0)
    agent.save(tmp_path / "agent.npz")
    other = begun_at_one()
    other.restore(tmp_path / "agent.npz")
    for each in (agent, other):
        while not each.done:
            each.act()
        assert each.plan.time == 0
    assert [event.action for event in other.log] == [event.action for event in agent.log]


def test_an_update_can_be_cancelled_and_is_spent():
    agent, clock = begun(wakes=4)
    old = agent.plan
    agent.cancel()
    clock.advance(4, agent)
    for _ in range(4):
        agent.act()
    assert agent.plan is old and agent.budget_left == 1 and events(agent, "cancelled update") == [1]
    with pytest.raises(InputError, match="no update is running"):
        agent.cancel()


def test_a_planner_that_fails_in_its_thread_leaves_the_old_plan_in_force():
    def fails(kernel, reward, time, horizon, ties):
        if time:
            raise ArithmeticError("no convergence")
        return plan_by_induction(kernel, reward, time, horizon, ties)

    mission = with_robot(late_mission(0, "map", 2, "go-on"), planner=fails)
    agent = Agent.on(mission, FixedTimes((1,)), time_limit=PATIENCE, trial=False)
    agent.start(0)
    agent.act()
    agent.update(1)
    assert wait([agent._now.pending.work], PATIENCE).done
    with pytest.warns(UserWarning, match="no convergence"):
        while not agent.done:
            agent.act()
    assert events(agent, "kept plan") == [3] and agent.plan.time == 0


@pytest.mark.filterwarnings("ignore:replan")
@pytest.mark.parametrize("ends", ["cancelled update", "kept plan"])
@pytest.mark.parametrize("name", ["measuring-value", "accumulated-value"])
def test_where_an_update_is_cancelled_or_fails_rules_weigh_the_plan_that_stays_in_force(name, ends):
    def fails_later(kernel, reward, time, horizon, ties):
        if time > 4:
            raise ArithmeticError("no convergence")
        return plan_by_induction(kernel, reward, time, horizon, ties)

    due = 0
    for seed, execution in product(range(10), ("map", "belief")):
        mission = with_robot(late_mission(seed, execution, 2, "go-on", horizon=16), planner=fails_later)
        agent = Agent.on(mission.with_spending(Spending.at_most(6)), make_rule(name), trial=False)
        agent.start(0)
        total = 0.0
        for t in range(12):
            if t in (1, 6):
                agent.update(t % 3)
            if t == 7 and ends == "cancelled update":
                agent.cancel()
            decision, belief = agent.due(), agent.estimate
            q_values, action = agent.plan.q_values, agent.act()
            if t >= 6 and execution == "belief":
                value = belief @ q_values.max(axis=1) - belief @ q_values[:, action]
                total += value
                weighed = total if name == "accumulated-value" else value
                if decision.reason not in ("just updated", "an update is running"):
                    assert decision.update == (weighed >= 0.1)
                    due += decision.update
                    if decision.update:
                        break
        assert events(agent, "arrival") == [3] and len(events(agent, ends)) == 1
        assert not events(agent, "failed rule")
    assert due


def test_two_robots_in_one_process_wait_for_their_own_planners():
    (first, slow), (second, quick) = begun(wakes=6), begun(wakes=1)
    for t in (1, 2):
        slow.advance(t, first)
        quick.advance(t, second)
        first.act(), second.act()
    slow.advance(3, first)
    quick.advance(3, second)
    assert first.updating and not second.updating
    slow.advance(6, first)
    assert not first.updating


def test_a_robot_that_learns_at_every_step_goes_on_learning_while_its_planner_works(tmp_path):
    robot = Robot(planning_horizon=4, execution="localised", update_steps=2)
    mission = Mission(rover(4, np.full(12, 0.2)), robot, Spending.at_most(3))
    kernel, clock = SlipKernel((4, 4), 0.05), SimulatedClock()

    def fly(*, restart: bool) -> tuple[list[int], float]:
        clock.now = clock.wakes = 0
        agent = on_a_clock(mission, Table(3), clock, estimator=PooledSlip(kernel, 0.005))
        body, actions = SimulatedRobot(mission.world, seed=1), []
        agent.start(body.look())
        while not agent.done:
            clock.advance(agent.time, agent)
            if restart and agent.updating:
                agent.save(tmp_path / "agent.npz")
                agent = on_a_clock(mission, Table(3), clock, estimator=PooledSlip(kernel, 0.005))
                agent.restore(tmp_path / "agent.npz")
                clock.advance(agent.time, agent)
            if agent.due(body.look()).update:
                clock.wakes = agent.time + 2
                agent.update(body.look())
            actions.append(agent.act(body.look()))
            body.do(actions[-1])
        assert "kept estimate" not in {event.what for event in agent.log}
        assert events(agent, "arrival")
        return actions, float(agent._now.running.slip[0])

    whole = fly(restart=False)
    assert fly(restart=True) == whole
    assert whole[1] != pytest.approx(0.05), "it has learned"


def test_what_could_not_work_is_refused_at_construction():
    mission = late_mission(0, "map", {1: 0.5, 3: 0.5}, "go-on")
    with pytest.raises(InputError, match="give a seed, or a time limit"):
        Agent.on(mission, FixedTimes((1,)))
    with pytest.raises(InputError, match="arrival"):
        Agent.on(replace(mission), FixedTimes((1,)), seed=0, arrival="done")
