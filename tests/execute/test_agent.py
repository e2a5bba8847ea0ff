"""The robot's loop: what it says, what it survives, and how it comes back."""

import time
from dataclasses import dataclass, field

import numpy as np
import pytest

from replan import (
    Agent,
    FixedTimes,
    InputError,
    Mission,
    Observation,
    Periodic,
    TrueKernel,
    load_setting,
    make_mission,
)
from replan.execute.agent import plan_by_induction
from replan.model.streams import uniforms


@pytest.fixture
def mission() -> Mission:
    return make_mission(load_setting("two-burst"))


def fly(
    agent: Agent, mission: Mission, *, seed: int = 0, until: int | None = None, state: int | None = None
) -> int:
    """Run the loop of the module's docstring; the state at the end."""
    if state is None:
        state = mission.world.start
        agent.start(state)
    while not agent.done and agent.time != until:
        if agent.due().update:
            agent.update(state)
        t = agent.time
        row = np.array([state]), np.array([agent.act()]), uniforms([seed], t)
        state = int(mission.world.kernel(t).sample(*row)[0])
    return state


def events(agent: Agent, what: str) -> list[int]:
    return [event.time for event in agent.log if event.what == what]


def test_every_update_and_action_is_in_the_log_with_its_reason(mission):
    agent = Agent.on(mission, Periodic())
    fly(agent, mission)
    assert events(agent, "update") == [1, 17, 33, 49]
    assert events(agent, "act") == list(range(50))
    whys = [event.why for event in agent.log if event.what == "update"]
    assert whys[0] == "the first update" and all("raster" in why for why in whys[1:])
    assert agent.budget_left == 0 and agent.done


@dataclass
class Failing:
    """Raises or dawdles at the given times, else hands out the true kernel."""

    inner: TrueKernel
    fail_at: tuple[int, ...] = ()
    late_at: tuple[int, ...] = ()
    asked: list[Observation] = field(default_factory=list)

    def estimate(self, observation):
        self.asked.append(observation)
        if observation.time in self.fail_at:
            raise RuntimeError("no lock on the beacon")
        if observation.time in self.late_at:
            time.sleep(0.5)
        return self.inner.estimate(observation)

    def save(self):
        return {}

    def restore(self, arrays):
        pass


def test_a_failing_estimator_leaves_the_last_plan_in_force_and_spends_the_look(mission):
    estimator = Failing(TrueKernel(mission.world), fail_at=(17,))
    agent = Agent.on(mission, Periodic(), estimator=estimator)
    state = fly(agent, mission, until=17)
    before = agent.plan
    assert agent.due().update and agent.update(state) is False
    assert agent.plan is before
    assert agent.budget_left == 2
    assert agent.estimate == state, "the look resets where the agent believes itself to be"
    kept = agent.log[-1]
    assert kept.what == "kept plan" and "no lock on the beacon" in kept.why
    fly(agent, mission, state=state)
    assert events(agent, "update") == [1, 33, 49]
    assert agent.plan.time == 49


def test_a_late_estimator_is_not_waited_for(mission):
    estimator = Failing(TrueKernel(mission.world), late_at=(33,))
    agent = Agent.on(mission, Periodic(), estimator=estimator, time_limit=0.1)
    began = time.monotonic()
    fly(agent, mission)
    assert time.monotonic() - began < 10
    assert events(agent, "kept plan") == [33] and events(agent, "update") == [1, 17, 49]
    assert "within 0.1 s" in next(event.why for event in agent.log if event.what == "kept plan")


def test_a_failing_planner_is_survived_as_well(mission):
    def planner(kernel, reward, at, horizon, ties):
        if at == 33:
            raise MemoryError
        return plan_by_induction(kernel, reward, at, horizon, ties)

    agent = Agent.on(mission, Periodic(), planner=planner)
    fly(agent, mission)
    assert events(agent, "kept plan") == [33]


def test_the_estimator_is_told_what_the_update_reveals(mission):
    estimator = Failing(TrueKernel(mission.world))
    agent = Agent.on(mission, Periodic(), estimator=estimator)
    fly(agent, mission)
    acted = [event.action for event in agent.log if event.what == "act"]
    assert [seen.time for seen in estimator.asked] == [1, 17, 33, 49]
    assert estimator.asked[1].commanded == tuple(acted[1:17])
    assert estimator.asked[1].previous_action == acted[16]


@pytest.mark.parametrize("execution", ["map", "belief"])
@pytest.mark.parametrize("moment", [0, 1, 12, 17, 49])
def test_saved_in_mid_mission_and_restored_it_goes_on_as_if_nothing_had_been(tmp_path, execution, moment):
    mission = make_mission(load_setting("two-burst"), execution=execution)
    straight = Agent.on(mission, Periodic())
    fly(straight, mission, seed=4)
    first = Agent.on(mission, Periodic())
    state = fly(first, mission, seed=4, until=moment)
    first.save(tmp_path / "agent.npz")
    second = Agent.on(mission, Periodic())
    second.restore(tmp_path / "agent.npz")
    fly(second, mission, seed=4, state=state)
    assert second.log == straight.log


def test_a_save_that_belongs_to_another_mission_is_refused(mission, tmp_path):
    agent = Agent.on(mission, Periodic())
    agent.start(0)
    agent.save(tmp_path / "agent.npz")
    with pytest.raises(InputError, match="saved with rule Periodic"):
        Agent.on(mission, FixedTimes((1, 2, 3, 4))).restore(tmp_path / "agent.npz")
    (tmp_path / "agent.npz").write_bytes(b"PK nonsense")
    with pytest.raises(InputError, match="not a saved agent"):
        Agent.on(mission, Periodic()).restore(tmp_path / "agent.npz")


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


def test_an_engineer_may_update_before_the_rule_says_so(mission):
    agent = Agent.on(mission, Periodic())
    state = fly(agent, mission, until=5)
    assert not agent.due().update
    assert agent.update(state)
    assert agent.budget_left == 2


def test_misuse_is_said_plainly(mission):
    with pytest.raises(InputError, match=r"call start\(state\) first"):
        Agent.on(mission, Periodic()).act()
    agent = Agent.on(mission, Periodic())
    fly(agent, mission)
    with pytest.raises(InputError, match="all 50 steps"):
        agent.act()
