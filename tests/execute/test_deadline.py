"""Late work: nobody waits for it, it is never joined by more of the same, and nothing it learns is lost."""

import threading
import warnings
from dataclasses import dataclass, field
from threading import Event as Signal
from time import sleep

import numpy as np
import pytest
from tests.execute.loop import AT_ONCE, PATIENCE, Faulty, events, fly

from replan import (
    Agent,
    FixedTimes,
    InputError,
    Mission,
    Periodic,
    Reward,
    Robot,
    SlipKernel,
    Spending,
    TrueKernel,
    World,
)
from replan.execute.deadline import DeadlineExceeded, Work, Worker
from replan.execute.robot import plan_by_induction
from replan.model.kernel import constant
from replan.schedule.rule import Decision, Rule


def test_the_result_and_the_exceptions_of_the_work_come_through():
    worker = Worker()
    for limit in (None, PATIENCE, float("inf")):
        assert worker.begin(Work(lambda: 3, lambda learned: learned + 1)).outcome(limit) == 4
        with pytest.raises(ZeroDivisionError):
            worker.begin(Work(lambda: 1, lambda learned: learned / 0)).outcome(limit)
    assert not worker.busy


def test_work_that_leaves_its_thread_is_an_error_and_not_the_end_of_the_loop():
    def leave():
        raise SystemExit

    with pytest.raises(RuntimeError, match="SystemExit"):
        Worker().begin(Work(leave)).outcome(PATIENCE)


def test_late_work_goes_first_and_makes_nothing():
    worker, released, order = Worker(), Signal(), []

    def hang():
        assert released.wait(PATIENCE)
        order.append("first")

    with pytest.raises(DeadlineExceeded, match=r"within 0\.01 s$"):
        worker.begin(Work(hang, lambda _: order.append("made in vain"))).outcome(AT_ONCE)
    assert worker.busy
    with pytest.raises(DeadlineExceeded, match="behind the late work of an earlier update"):
        second = Work(lambda: order.append("second"), lambda _: order.append("made in vain"))
        worker.begin(second).outcome(AT_ONCE)
    assert order == []
    released.set()
    worker.begin(Work(lambda: order.append("third"), lambda _: order.append("made"))).outcome(PATIENCE)
    assert order == ["first", "second", "third", "made"]
    assert not worker.busy


def test_a_late_estimator_is_not_waited_for(mission):
    estimator = Faulty(TrueKernel(mission.world), hang_at=(33,))
    agent = Agent.on(mission, Periodic(), estimator=estimator, time_limit=PATIENCE)
    state = fly(agent, mission, until=33)
    agent.time_limit = AT_ONCE
    before = agent.plan
    assert agent.update(state) is False
    assert agent.plan is before and agent.budget_left == 1 and agent.estimate == state
    assert agent.log[-1].what == "kept plan" and "within 0.01 s" in agent.log[-1].why
    agent.time_limit = PATIENCE
    estimator.released.set()
    fly(agent, mission, state=state)
    assert events(agent, "kept plan") == [33] and events(agent, "update") == [1, 17, 49]


def test_an_estimator_is_asked_for_one_update_at_a_time_and_learns_them_in_order(mission):
    estimator = Faulty(TrueKernel(mission.world), hang_at=(1,))
    agent = Agent.on(mission, FixedTimes((1, 2, 3, 4)), estimator=estimator, time_limit=AT_ONCE, trial=False)
    state = fly(agent, mission, until=3)
    assert events(agent, "kept plan") == [1, 2]
    assert "behind the late work" in agent.log[-2].why
    assert estimator.hangs.wait(PATIENCE)
    assert [seen.time for seen in estimator.asked] == [1], "the second waits for its turn"
    agent.time_limit = PATIENCE
    estimator.released.set()
    assert agent.update(state)
    assert estimator.learned == [1, 2, 3]


@pytest.mark.parametrize("late", [(1, 3), (1, 2, 3), (1, 2, 4, 5), (2, 3, 4, 5)])
def test_what_to_do_about_a_planner_that_is_too_slow_twice_in_a_row_is_said_once(late):
    world = World(8, constant(SlipKernel((1, 2), 0.1)), constant(Reward(next_state=np.array([0.0, 1.0]))))
    released = Signal()

    def planner(kernel, reward, time, horizon, ties):
        assert time not in late or released.wait(PATIENCE)
        return plan_by_induction(kernel, reward, time, horizon, ties)

    mission = Mission(world, Robot(planning_horizon=2, planner=planner), Spending.at_most(6))
    agent = Agent.on(mission, FixedTimes((1, 2, 3, 4, 5, 6)), trial=False)
    agent.start(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        while not agent.done:
            if agent.due().update:
                released.clear()
                agent.time_limit = AT_ONCE if agent.time in late else PATIENCE
                agent.update(0)
                agent.time_limit = PATIENCE
                released.set()
            while agent.busy:
                sleep(AT_ONCE)
            agent.act()
    assert events(agent, "kept plan") == list(late)
    advice = [each for each in caught if "update_steps" in str(each.message)]
    assert len(advice) == (late != (1, 3))
    assert all("the last 2 updates took longer than time_limit=0.01 s" in str(each) for each in advice)
    assert all(each.filename == __file__ for each in advice), "it points to the caller's line"


def test_an_agent_is_saved_and_restored_at_rest_only(mission, tmp_path):
    estimator = Faulty(TrueKernel(mission.world), hang_at=(1,))
    agent = Agent.on(mission, FixedTimes((1, 2, 3, 4)), estimator=estimator, time_limit=AT_ONCE, trial=False)
    state = fly(agent, mission, until=2)
    assert agent.busy
    for move in (agent.save, agent.restore):
        with pytest.raises(InputError, match="still runs"):
            move(tmp_path / "agent.npz")
    agent.time_limit = PATIENCE
    estimator.released.set()
    assert agent.update(state) and not agent.busy
    agent.save(tmp_path / "agent.npz")
    agent.restore(tmp_path / "agent.npz")


@pytest.mark.parametrize("limit", [-1, 0, float("nan")])
def test_a_time_limit_is_positive(mission, limit):
    with pytest.raises(InputError, match="time_limit must be a positive number of seconds"):
        Agent.on(mission, Periodic(), time_limit=limit)


def wait_for_late_work():
    for thread in threading.enumerate():
        if thread.name == "replan-worker":
            thread.join(PATIENCE)


class Blocking(Rule):
    """Decides at once until it is told to hang; then it waits for its release."""

    def __init__(self):
        self.hang, self.asked, self.released, self.hangs = False, [], Signal(), Signal()

    def decide(self, context):
        self.asked.append(context.time)
        if self.hang:
            self.hangs.set()
            assert self.released.wait(PATIENCE)
        return Decision(context.time == 10, "ten")


def test_a_late_decision_is_left_to_the_budget_and_not_asked_for_again_until_it_ends(mission):
    rule = Blocking()
    agent = Agent.on(mission, rule, time_limit=PATIENCE)
    state = fly(agent, mission, until=5)
    rule.hang, agent.time_limit = True, AT_ONCE
    late = agent.due()
    assert not late.update and "within 0.01 s" in late.reason
    assert rule.hangs.wait(PATIENCE) and agent.busy
    state = fly(agent, mission, until=8, state=state)
    assert rule.asked[-1] == 5, "no second question while the first is open"
    assert events(agent, "failed rule") == [5, 6, 7] and "still runs" in agent.log[-2].why
    rule.hang = False
    rule.released.set()
    wait_for_late_work()
    agent.time_limit = PATIENCE
    fly(agent, mission, state=state)
    assert events(agent, "update") == [1, 10, 48, 49]


def test_while_a_rule_hangs_the_budget_is_spent_as_late_as_it_can_be(mission):
    rule = Blocking()
    agent = Agent.on(mission, rule)
    state = fly(agent, mission, until=5)
    rule.hang, agent.time_limit = True, AT_ONCE
    fly(agent, mission, state=state)
    rule.released.set()
    wait_for_late_work()
    assert rule.asked[-1] == 5
    spent = sorted(events(agent, "update") + events(agent, "kept plan"))
    assert spent == [1, 47, 48, 49] and agent.budget_left == 0


def test_thousands_of_late_updates_use_three_threads():
    horizon, still = 5001, SlipKernel((2, 2), 0.1)
    world = World(horizon, constant(still), constant(Reward(next_state=np.zeros(4))))
    mission = Mission(world, Robot(planning_horizon=1), Spending.exactly(horizon - 1))
    estimator, before = Faulty(mission.estimator, hang_at=(1,)), set(threading.enumerate())
    agent = Agent.on(mission, Periodic(), estimator=estimator, trial=False, time_limit=1e-6)
    agent.start(0)
    agent.act()
    for _ in range(horizon - 1):
        assert agent.due().update and not agent.update(0)
        new = set(threading.enumerate()) - before
        assert len(new) <= 2, "beside the loop itself: one that learns, one that decides"
        assert all(thread.daemon and thread.name == "replan-worker" for thread in new)
        agent.act()
    assert agent.budget_left == 0 and len(events(agent, "kept plan")) == horizon - 1
    estimator.released.set()
    wait_for_late_work()
    assert estimator.learned == list(range(1, horizon)), "nothing is lost, and in order"
    assert not agent.busy


@dataclass(frozen=True)
class NamesLate(Rule):
    """Names the time three steps on, at its first update only when it is released."""

    started: Signal = field(default_factory=Signal)
    released: Signal = field(default_factory=Signal)

    def next_update(self, context, states):
        if context.last_update == 1 and self.started.is_set():
            assert self.released.wait(PATIENCE)
        return np.full(len(states), context.last_update + 3)

    def decide(self, context):
        return Decision(True, "three steps on")


def test_a_late_decision_changes_nothing_once_the_loop_has_moved_on(mission):
    rule = NamesLate()
    agent = Agent.on(mission, rule, time_limit=PATIENCE)
    state = fly(agent, mission, until=2)
    rule.started.set()
    agent.time_limit = AT_ONCE
    with pytest.warns(UserWarning, match="the rule failed"):
        assert not agent.due().update
    agent.act()
    agent.time_limit = PATIENCE
    assert agent.update(state), "the engineer updates at 3"
    rule.released.set()
    while agent.busy:
        threading.Event().wait(AT_ONCE)
    assert not agent.due().update
    fly(agent, mission, state=state, until=7)
    assert events(agent, "update") == [1, 3, 6]


class Noting(Faulty):
    """Learns the times at which it was asked."""

    def begin(self):
        return {"times": np.empty(0, dtype=np.int64)}

    def estimate(self, learned, observation):
        _, kernel = super().estimate({}, observation)
        return {"times": np.append(learned["times"], observation.time)}, kernel


def test_what_is_seen_beside_observations_is_learned_after_late_work(mission):
    def see(learned, time):
        return {"times": np.append(learned["times"], time)}

    estimator = Noting(TrueKernel(mission.world), hang_at=(1,))
    agent = Agent.on(mission, FixedTimes((1, 2, 3, 4)), estimator=estimator, time_limit=AT_ONCE, trial=False)
    agent.start(0)
    agent.learn(see, 0)
    assert agent.learned["times"].tolist() == [0]
    agent.act()
    assert not agent.update(0) and estimator.hangs.wait(PATIENCE)
    agent.learn(see, 100)
    assert agent.learned["times"].tolist() == [0], "it waits for the late work, and nobody waits for it"
    agent.time_limit = PATIENCE
    estimator.released.set()
    agent.act()
    assert agent.update(0)
    assert agent.learned["times"].tolist() == [0, 1, 100, 2]
    agent.time_limit = None
    with pytest.raises(InputError, match="the estimator learned NoneType, not arrays by name"):
        agent.learn(lambda learned: None)
    agent.start(0)
    assert not len(agent.learned["times"]), "a new mission"
