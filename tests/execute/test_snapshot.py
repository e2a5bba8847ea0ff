"""Stopped in mid-mission and taken up again, by the same agent in another process and by no other."""

import json
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
from tests.execute.loop import Deciding, events, fly

from replan import Agent, FixedTimes, Given, InputError, Lookahead, Periodic, load_setting, make_mission
from replan.estimate.slip_mle import PooledSlip
from replan.forecast.base import Frozen
from replan.model.slip import SlipKernel
from replan.schedule.regret_guided import RegretGuided
from replan.schedule.rule import Decision
from replan.schedule.score import pacing_limit


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


def test_restored_it_expects_what_it_expected(tmp_path):
    mission = make_mission(load_setting("crosswind-medium"), forecast="mixture")
    foretold = replace(mission.robot.forecast, given=Given(mission.world.kernel))
    mission = replace(mission, robot=replace(mission.robot, forecast=foretold))
    first, second = (Agent.on(mission, Lookahead(), trial=False) for _ in range(2))
    fly(first, mission, seed=0, until=11)  # from here on nothing moves, and the given kernels say so
    first.save(tmp_path / "agent.npz")
    second.restore(tmp_path / "agent.npz")
    assert second.due() == first.due()
    assert second._now.progress.earlier.time == first._now.progress.earlier.time > 0
    with pytest.raises(InputError, match=r"saved with forecast mixture .*, not frozen"):
        Agent.on(
            replace(mission, robot=replace(mission.robot, forecast=Frozen())), Lookahead(), trial=False
        ).restore(tmp_path / "agent.npz")


def test_a_save_that_belongs_to_another_mission_is_refused(mission, tmp_path):
    agent = Agent.on(mission, Periodic())
    agent.start(0)
    agent.save(tmp_path / "agent.npz")
    with pytest.raises(InputError, match="saved with rule Periodic"):
        Agent.on(mission, FixedTimes((1, 2, 3, 4))).restore(tmp_path / "agent.npz")
    (tmp_path / "agent.npz").write_bytes(b"PK nonsense")
    with pytest.raises(InputError, match="not a saved agent"):
        Agent.on(mission, Periodic()).restore(tmp_path / "agent.npz")


def every_ten(context):
    """Decides in NumPy's numbers."""
    since = np.int64(context.time) - context.last_update
    return Decision(since >= 10, "ten", since, np.float32(10), MappingProxyType({"since": since}))


def test_a_rule_may_decide_in_numpy_numbers(mission, tmp_path):
    agent = Agent.on(mission, Deciding(every_ten))
    fly(agent, mission)
    agent.save(tmp_path / "agent.npz")
    second = Agent.on(mission, Deciding(every_ten))
    second.restore(tmp_path / "agent.npz")
    assert second.log == agent.log and events(second, "update") == [1, 11, 21, 31]


def warned(context):
    """Gives a warning as its reason."""
    return Decision(context.time - context.last_update >= 10, UserWarning("low battery"))


def test_a_reason_that_is_no_text_is_saved_as_its_text(mission, tmp_path):
    agent = Agent.on(mission, Deciding(warned))
    fly(agent, mission)
    agent.save(tmp_path / "agent.npz")
    second = Agent.on(mission, Deciding(warned))
    second.restore(tmp_path / "agent.npz")
    assert events(second, "update") == events(agent, "update") == [1, 11, 21, 31]
    assert second.log[-1].time == agent.log[-1].time
    assert {event.decision.reason for event in second.log if event.decision} >= {"low battery"}


def with_functions():
    """A rule as each process makes it: the same functions at other addresses."""

    def twice(x):
        return 2 * x

    def pace(context):
        return pacing_limit(context)

    return RegretGuided(phi=twice, pacing=pace)


def test_a_rule_with_functions_is_restored_by_an_agent_made_anew(mission, tmp_path):
    agent = Agent.on(mission, with_functions())
    state = fly(agent, mission, until=5)
    agent.save(tmp_path / "agent.npz")
    second = Agent.on(mission, with_functions())
    assert repr(second.rule) != repr(agent.rule)
    second.restore(tmp_path / "agent.npz")
    for each in (agent, second):
        fly(each, mission, state=state)
    assert second.log == agent.log


def one_way(context):
    return Decision(False, "")


def other_way(context):
    return Decision(False, "")


def test_another_function_is_another_rule(mission, tmp_path):
    agent = Agent.on(mission, Deciding(one_way))
    agent.start(0)
    agent.save(tmp_path / "agent.npz")
    with pytest.raises(InputError, match=r"saved with rule .*one_way.*, not .*other_way"):
        Agent.on(mission, Deciding(other_way)).restore(tmp_path / "agent.npz")


def test_an_agent_of_another_world_or_estimator_is_refused(mission, tmp_path):
    agent = Agent.on(mission, Periodic())
    agent.start(0)
    agent.save(tmp_path / "agent.npz")
    elsewhere = make_mission(load_setting("alternating"))
    assert (elsewhere.horizon, elsewhere.spending) == (mission.horizon, mission.spending)
    with pytest.raises(InputError, match="saved with world 144 states, 5 actions, fingerprint"):
        Agent.on(elsewhere, Periodic()).restore(tmp_path / "agent.npz")
    learner = PooledSlip(SlipKernel((12, 12), 0.05), 0.005)
    with pytest.raises(InputError, match=r"saved with estimator TrueKernel.*, not .*PooledSlip"):
        Agent.on(mission, Periodic(), estimator=learner).restore(tmp_path / "agent.npz")
    again = make_mission(load_setting("two-burst"))
    Agent.on(again, Periodic()).restore(tmp_path / "agent.npz")


def test_values_that_cannot_be_attached_are_said_in_one_line_and_leave_no_file(mission, tmp_path):
    agent, path, around = Agent.on(mission, Periodic()), tmp_path / "agent.npz", []
    agent.start(mission.world.start)
    around.append(around)
    for attached in ({("a", 1): 2}, {"ring": around}):
        with pytest.raises(InputError, match=r"agent\.npz: cannot be written \(.*(tuple|[Cc]ircular)"):
            agent.save(path, attached=attached)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_half_written_file_is_said_plainly(mission, tmp_path, share):
    path = tmp_path / "agent.npz"
    agent = Agent.on(mission, Periodic())
    fly(agent, mission, until=5)
    agent.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(InputError, match=r"agent\.npz: not a saved agent"):
        agent.restore(path)
    assert agent.time == 5, "and the agent goes on as it was"


def test_an_array_under_that_name_is_said_plainly(mission, tmp_path):
    with (tmp_path / "agent.npz").open("wb") as file:
        np.save(file, np.arange(3))
    with pytest.raises(InputError, match="not a saved agent"):
        Agent.on(mission, Periodic()).restore(tmp_path / "agent.npz")


def test_a_bounded_log_keeps_the_newest_events_and_so_does_the_file(mission, tmp_path):
    whole, short = Agent.on(mission, Periodic()), Agent.on(mission, Periodic(), log_length=5)
    for agent in (whole, short):
        agent.start(mission.world.start)
        while not agent.done:
            if agent.due().update:
                agent.update(mission.world.start)
            agent.act()
            assert agent.log_length is None or len(agent.log) < 2 * agent.log_length
        agent.save(tmp_path / "saved.npz")
    assert short.log[-5:] == whole.log[-5:]
    again = Agent.on(mission, Periodic(), log_length=5)
    again.restore(tmp_path / "saved.npz")
    assert again.log == whole.log[-5:]
    assert Agent.on(mission, Periodic(), log_length=1).log_length == 1
    with pytest.raises(InputError, match="log_length"):
        Agent.on(mission, Periodic(), log_length=0)


@pytest.fixture(scope="module", params=["map", "belief", "localised"])
def saved(request, tmp_path_factory):
    """An agent in mid-mission that has learned, the arrays of its file, and another agent like it."""
    mission = make_mission(load_setting("two-burst"), execution=request.param)
    path = tmp_path_factory.mktemp("saved") / "agent.npz"
    agents = []
    for until in (20, 3):
        learner = PooledSlip(mission.world.kernel(0), mission.world.drift_bounds)
        agents.append(Agent.on(mission, Periodic(), estimator=learner))
        agents[-1].start(mission.world.start)
        while agents[-1].time < until:
            state = agents[-1].time % 7
            sight = (state,) if request.param == "localised" else ()
            if agents[-1].due(*sight).update:
                agents[-1].update(state)
            agents[-1].act(*sight)
    agents[0].save(path)
    with np.load(path) as file:
        return agents[1], dict(file), path


def changed(array):
    """An array with another value, of another type or of another shape."""
    if array.dtype.kind == "U":
        yield np.array(str(array).replace("1", "2"))
        yield np.array("{}")
        return
    yield array.astype(str)
    yield array[..., None]
    yield array.astype(float) if array.dtype.kind == "i" else array.astype(np.float32).astype(complex)
    if array.size:
        other = array.copy()
        other.reshape(-1)[-1] = not other.reshape(-1)[-1]
        yield other


def test_any_change_of_any_part_of_a_file_is_one_line_and_leaves_the_agent_as_it_was(saved):
    agent, arrays, path = saved
    memory, log, learned = agent._memory, list(agent.log), agent.learned
    assert any(name.startswith("learned/") for name in arrays)
    for name, array in arrays.items():
        rest = {key: each for key, each in arrays.items() if key != name}
        for spoiled in (rest, *({**rest, name: other} for other in changed(array))):
            np.savez(path, **spoiled)
            with pytest.raises(InputError, match=r"agent\.npz: (not a saved agent|saved )") as refusal:
                agent.restore(path)
            assert "\n" not in str(refusal.value)
            assert agent._memory is memory and agent.log == log and agent.learned is learned
    np.savez(path, **arrays)
    agent.restore(path)
    assert agent.time == 20 and agent.learned is not learned


def test_a_file_of_an_earlier_version_is_refused(mission, tmp_path):
    agent, path = Agent.on(mission, Periodic()), tmp_path / "agent.npz"
    agent.start(0)
    np.savez(path, header=np.array(json.dumps({"version": 10, "identity": agent.identity})))
    with pytest.raises(InputError, match=r"agent\.npz: saved by another version \(10, not 11\)"):
        agent.restore(path)
