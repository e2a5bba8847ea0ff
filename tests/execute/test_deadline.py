"""Late work: nobody waits for it, it is never joined by more of the same, and nothing it learns is lost."""

from threading import Event as Signal

import pytest
from tests.execute.loop import AT_ONCE, PATIENCE, Faulty, events, fly

from replan import Agent, FixedTimes, InputError, Periodic, TrueKernel
from replan.execute.deadline import DeadlineExceeded, Worker


def same(value):
    return value


def test_the_result_and_the_exceptions_of_the_work_come_through():
    worker = Worker()
    for limit in (None, PATIENCE, float("inf")):
        assert worker.run(lambda: 3, lambda learned: learned + 1, timeout=limit) == 4
        with pytest.raises(ZeroDivisionError):
            worker.run(lambda: 1, lambda learned: learned / 0, timeout=limit)
    assert not worker.busy


def test_work_that_leaves_its_thread_is_an_error_and_not_the_end_of_the_loop():
    def leave():
        raise SystemExit

    with pytest.raises(RuntimeError, match="SystemExit"):
        Worker().run(leave, same, timeout=PATIENCE)


def test_late_work_goes_first_and_makes_nothing():
    worker, released, order = Worker(), Signal(), []

    def hang():
        assert released.wait(PATIENCE)
        order.append("first")

    with pytest.raises(DeadlineExceeded, match=r"within 0\.01 s$"):
        worker.run(hang, lambda _: order.append("made in vain"), timeout=AT_ONCE)
    assert worker.busy
    with pytest.raises(DeadlineExceeded, match="behind the late work of an earlier update"):
        worker.run(lambda: order.append("second"), lambda _: order.append("made in vain"), timeout=AT_ONCE)
    assert order == []
    released.set()
    worker.run(lambda: order.append("third"), lambda _: order.append("made"), timeout=PATIENCE)
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
    agent = Agent.on(mission, FixedTimes((1, 2, 3, 4)), estimator=estimator, time_limit=AT_ONCE)
    state = fly(agent, mission, until=3)
    assert events(agent, "kept plan") == [1, 2]
    assert "behind the late work" in agent.log[-2].why
    assert estimator.hangs.wait(PATIENCE)
    assert [seen.time for seen in estimator.asked] == [1], "the second waits for its turn"
    agent.time_limit = PATIENCE
    estimator.released.set()
    assert agent.update(state)
    assert estimator.learned == [1, 2, 3]


def test_an_agent_is_saved_and_restored_at_rest_only(mission, tmp_path):
    estimator = Faulty(TrueKernel(mission.world), hang_at=(1,))
    agent = Agent.on(mission, FixedTimes((1, 2, 3, 4)), estimator=estimator, time_limit=AT_ONCE)
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
