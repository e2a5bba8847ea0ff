"""Every entry of a snapshot, deleted, retyped or changed: refused, or as good as any other."""

import json

import numpy as np
import pytest
from tests.execute.loop import fly

from replan import Agent, InputError, Mission, Robot, SlipKernel, Spending
from replan.estimate.slip_mle import PooledSlip
from replan.model.drift import piecewise
from replan.schedule.lookahead import Lookahead
from replan.worlds.slip_grid import rover

MOMENT = 9


def make_agent(execution):
    slip = piecewise(14, slip=0.03, quiet=0.001, bursts=[(0.25, 0.5, 0.03)])
    mission = Mission(rover(4, slip), Robot(planning_horizon=4, execution=execution), Spending.exactly(4))
    estimator = PooledSlip(SlipKernel((4, 4), 0.05), 0.005)
    return Agent.on(mission, Lookahead(), estimator=estimator), mission


@pytest.fixture(scope="module", params=["map", "belief"])
def saved(request, tmp_path_factory):
    """Header and arrays of an agent with two updates behind it, and another agent with one."""
    path = tmp_path_factory.mktemp("saved") / "agent.npz"
    agent, mission = make_agent(request.param)
    state = fly(agent, mission, until=5)
    if agent.due().update is False:
        agent.update(state)
    agent.act()
    fly(agent, mission, until=MOMENT, state=state)
    agent.save(path)
    with np.load(path) as file:
        arrays = dict(file)
    other, _ = make_agent(request.param)
    fly(other, mission, until=3)
    other.save(path.with_name("other.npz"))
    return json.loads(str(arrays.pop("header"))), arrays, other, mission, path


def try_to_restore(saved, header, arrays) -> bool:
    """Whether an agent took the snapshot; it must go on from it, and be as it was if it did not."""
    _, _, agent, mission, path = saved
    memory, log, learned = agent._memory, list(agent.log), agent.estimator.save()
    np.savez(path, header=np.array(json.dumps(header)), **arrays)
    try:
        agent.restore(path)
    except InputError as error:
        assert "\n" not in str(error)
        assert agent._memory is memory and agent.log == log, "the agent is as it was"
        for name, array in agent.estimator.save().items():
            np.testing.assert_array_equal(array, learned[name])
        return False
    fly(agent, mission, state=agent._now.state)
    assert agent.done
    agent.restore(path.with_name("other.npz"))
    return True


def paths(entry, at=()):
    """Every place of a nested header; of a list its first and last entries."""
    yield at
    inner = entry.items() if isinstance(entry, dict) else enumerate(entry) if isinstance(entry, list) else ()
    inner = list(inner)
    for key, value in inner if isinstance(entry, dict) else [*inner[:1], *inner[1:][-1:]]:
        yield from paths(value, (*at, key))


def replaced(entry, at, value):
    if not at:
        return value
    copy = list(entry) if isinstance(entry, list) else dict(entry)
    copy[at[0]] = replaced(copy[at[0]], at[1:], value)
    return copy


def looked_up(entry, at):
    for key in at:
        entry = entry[key]
    return entry


def test_the_untouched_snapshot_is_taken(saved):
    assert try_to_restore(saved, *saved[:2])


def test_a_header_without_one_of_its_entries_is_refused(saved):
    header, arrays = saved[:2]
    for name in header:
        assert not try_to_restore(saved, {k: v for k, v in header.items() if k != name}, arrays), name
    for name in header["identity"]:
        identity = {k: v for k, v in header["identity"].items() if k != name}
        assert not try_to_restore(saved, {**header, "identity": identity}, arrays), name


OTHER_TYPES = (None, True, "text", 2.5, [], {}, [[1]], {"a": 1})


OPTIONAL = ("named_update", "earlier_time", "pending")


def test_a_header_with_an_entry_of_another_type_is_refused(saved):
    header, arrays = saved[:2]
    for name, value in header.items():
        for other in OTHER_TYPES:
            allowed = (int, type(None)) if name in OPTIONAL else (type(value),)
            if not isinstance(other, allowed) or (isinstance(other, bool) and not isinstance(value, bool)):
                assert not try_to_restore(saved, {**header, name: other}, arrays), (name, other)


NUMBERS = (-1, 10**9, 2**70)


def test_a_header_with_a_number_out_of_range_is_refused(saved):
    header, arrays = saved[:2]
    for name in (
        "time",
        "state",
        "budget_left",
        "last_update",
        "plan_time",
        "plan_steps",
        "plan_planned",
        "earlier_time",
        "named_update",
    ):
        for other in NUMBERS:
            assert not try_to_restore(saved, {**header, name: other}, arrays), (name, other)
    for other in NUMBERS:
        assert not try_to_restore(saved, {**header, "commanded": [other, *header["commanded"][1:]]}, arrays)


def test_a_header_with_a_number_one_past_its_range_is_refused(saved):
    header, arrays, agent = saved[:3]
    time, last = header["time"], header["last_update"]
    for other in (
        {"time": agent.horizon + 1, "commanded": [0] * (agent.horizon + 1 - last)},
        {"time": agent.horizon, "last_update": agent.horizon, "commanded": []},
        {"last_update": time + 1},
        {"plan_time": last + 1},
        {"earlier_time": header["plan_time"]},
        {"budget_left": agent.spending.limit + 1},
        {"budget_left": agent.spending.limit},
        {"state": agent.knowledge.nominal.states},
        {"named_update": agent.horizon + 1},
    ):
        assert not try_to_restore(saved, {**header, **other}, arrays), other


def test_any_other_change_of_the_header_is_refused_or_harmless(saved):
    header, arrays = saved[:2]
    for at in list(paths(header)):
        value = looked_up(header, at)
        changes = [value + 1, value - 1, 0] if isinstance(value, int) else [None, 0, "", []]
        for other in changes:
            try_to_restore(saved, replaced(header, at, other), arrays)


def changed_arrays(array):
    """The array with other types, shapes and values."""
    yield array.astype(str)
    yield array.astype(complex)
    yield array[..., None]
    if array.ndim:
        yield array[:0]
        yield np.concatenate([array, array])
    if array.dtype.kind == "f":
        yield np.full_like(array, np.nan)
        yield np.full_like(array, np.inf)
    elif array.dtype.kind == "i":
        yield array.astype(float)
        yield array - 10**6
        yield array + 10**6


def test_a_snapshot_without_an_array_or_with_a_spoiled_one_is_refused(saved):
    header, arrays = saved[:2]
    for name, array in arrays.items():
        left = {key: value for key, value in arrays.items() if key != name}
        assert not try_to_restore(saved, header, left), name
        for other in changed_arrays(array):
            taken = try_to_restore(saved, header, {**arrays, name: other})
            same = other.dtype == array.dtype and other.tobytes() == array.tobytes()
            assert not taken or same or name.startswith("learned_"), (name, other)
