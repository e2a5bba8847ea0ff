"""State of an agent in mid-mission, and the same as one .npz file: arrays and a JSON header, no code."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replan.errors import InputError
from replan.estimate.estimator import Observation, validate_kernel, validate_number
from replan.execute.identity import kernel_arrays, kernel_from
from replan.execute.mission import Progress
from replan.execute.update_maker import RunningUpdate, begun_from, without_prefix
from replan.model.kernel import Kernel
from replan.planning.backward_induction import Plan
from replan.schedule.rule import Decision
from replan.skip.acting import Update
from replan.skip.spending import FIRST_UPDATE

if TYPE_CHECKING:
    from replan.execute.agent import Agent

VERSION = 10
BELIEF_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Event:
    """One line of the agent's log."""

    time: int
    what: str
    """start, act, update, kept plan, refused update, failed rule, kept estimate, state missing or, of updates
    that take time, arrival, late plan or cancelled update."""
    why: str = ""
    state: int | None = None
    action: int | None = None
    decision: Decision | None = None


@dataclass
class Memory:
    """State of an agent in mid-mission."""

    time: int
    state: int
    """Seen last."""
    progress: Progress
    estimate: Any
    """State estimate of the propagation: (1,) the likeliest state, or (1, S) the belief."""
    running: Kernel
    """The estimate of the kernel in use now; that of the last update unless the robot is localised."""
    named_update: int | None = None
    """The next update time, if the rule named one."""
    named: bool = False
    """Whether the rule was asked for it since the last update."""
    commanded: list[int] = field(default_factory=list)
    """Actions since the state was seen."""
    seen_at: int = 0
    """Time at which the state was seen last: at the last update, or by a localised robot."""
    pending: RunningUpdate | None = None
    """The update that has begun and whose plan is not yet in force."""

    def observation(self, state: int, previous: int | None = None) -> Observation:
        """Return what a look at the state shows now."""
        last = self.commanded[-1] if self.commanded else None
        return Observation(self.time, state, previous, last, tuple(self.commanded))


def write(path: str | Path, agent: Agent, attached: Mapping[str, Any] | None = None) -> None:
    """Write in one stroke: a crash leaves the old file or the new one, never half of it.

    `attached` are plain values of the caller's, which `read_attached` returns.
    """
    now, path = agent._now, Path(path)
    progress = now.progress
    before = progress.update.before or progress.earlier
    header = {
        "version": VERSION,
        "identity": agent.identity,
        "attached": dict(attached or {}),
        "time": now.time,
        "state": now.state,
        "named_update": now.named_update,
        "named": now.named,
        "commanded": now.commanded,
        "budget_left": progress.budget_left,
        "last_update": progress.last_update,
        "seen_at": now.seen_at,
        **_plan_fields("plan", progress.update),
        **_plan_fields("earlier", before),
        "pending": None if now.pending is None else now.pending.fields(),
        "log": [_event_fields(event) for event in agent.log[-(agent.log_length or len(agent.log)) :]],
    }
    estimate = now.estimate if isinstance(now.estimate, np.ndarray) else now.estimate.toarray()
    arrays = {"estimate": estimate, **_prefixed("learned_", _learned(agent))}
    if now.pending is not None:
        arrays |= _prefixed("begun_", now.pending.arrays())
    if agent.robot.sees:
        arrays |= _prefixed("running_", kernel_arrays(now.running))
    for prefix, update in (("", progress.update), ("earlier_", before)):
        if update is not None:
            plan = update.plan
            arrays |= {f"{prefix}policy": plan.policy, f"{prefix}next_values": plan.next_values}
            arrays |= _prefixed(f"{prefix}kernel_", kernel_arrays(update.kernel))
            arrays |= _prefixed(f"{prefix}then_", update.learned)
    try:
        text = json.dumps(header, default=_plain)
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: cannot be written ({error})") from None
    unfinished = path.with_name(path.name + ".part")
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: not a plain file")
        with unfinished.open("wb") as file:
            np.savez(file, header=np.array(text), **arrays)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from None


def read(path: str | Path, agent: Agent) -> tuple[Memory, list[Event]]:
    """Return memory and log of a saved agent and restore what its estimator had learned.

    Raises `InputError`, and leaves the agent as it is, if the file does not fit it.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        header = json.loads(str(arrays.pop("header")))
        if not all(array.dtype.kind in "biuf" for array in arrays.values()):
            raise ValueError("an array that does not hold numbers")
        version, saved_with = header["version"], dict(header["identity"])
    except Exception as error:
        raise _not_a_saved_agent(path, error) from None
    if version != VERSION:
        raise InputError(f"{path}: saved by another version ({version}, not {VERSION})")
    for name, value in agent.identity.items():
        if saved_with.get(name) != value:
            raise InputError(f"{path}: saved with {name} {saved_with.get(name)}, not {value}")
    before = agent.estimator.save()
    try:
        agent.estimator.restore(without_prefix("learned_", arrays))  # first: a forecast may go on from it
        memory, log = _memory(header, arrays, agent), [_event(fields) for fields in header["log"]]
    except Exception as error:
        agent.estimator.restore(before)
        raise _not_a_saved_agent(path, error) from None
    return memory, log


def read_attached(path: str | Path) -> dict[str, Any]:
    """Return the values that were saved beside an agent. Raises `InputError` if the file is damaged."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return dict(json.loads(str(file["header"]))["attached"])
    except Exception as error:
        raise _not_a_saved_agent(path, error) from None


def _memory(header: dict[str, Any], arrays: dict[str, np.ndarray], agent: Agent) -> Memory:
    """Rebuild the memory, checked so that the loop can go on from it."""
    nominal, most = agent.knowledge.nominal, agent.spending.most(agent.horizon)
    time = validate_number(header["time"], agent.horizon + 1, "time")
    last = validate_number(header["last_update"], min(time, agent.horizon - 1) + 1, "last_update")
    left = validate_number(header["budget_left"], most + 1, "budget_left")
    commanded = [validate_number(action, nominal.actions, "commanded") for action in header["commanded"]]
    seen_at = validate_number(header["seen_at"], time + 1, "seen_at")
    if len(commanded) != time - seen_at or (left < most) != (last >= FIRST_UPDATE):
        raise ValueError("time, last update, commands and budget do not fit together")
    if most - left > last:
        raise ValueError(f"{most - left} updates by time {last}")
    earlier = None
    if header["earlier_time"] is not None:
        until = validate_number(header["plan_time"], last + 1, "plan_time")
        fields = without_prefix("earlier_", header)
        earlier = _update(without_prefix("earlier_", arrays), fields, agent, None, until=until)
    update = _update(arrays, without_prefix("plan_", header), agent, earlier, until=last + 1)
    if earlier is not None and earlier.time < FIRST_UPDATE:
        earlier = None  # the free plan of t = 0
    progress = Progress(update, left, last, earlier)
    for name, kind in (("named", bool), ("log", list), ("attached", dict)):
        if not isinstance(header[name], kind):
            raise ValueError(f"{name} has another type")
    named = header["named_update"]
    if named is not None:
        named = validate_number(named, agent.horizon + 1, "named_update")
    running, begun = progress.update.kernel, without_prefix("begun_", arrays)
    if agent.robot.sees:
        running = validate_kernel(kernel_from(without_prefix("running_", arrays)), like=nominal)
    return Memory(
        time,
        validate_number(header["state"], nominal.states),
        progress,
        _estimate(arrays["estimate"], nominal.states, agent.robot.execution),
        running,
        named,
        header["named"],
        commanded,
        seen_at,
        None if header["pending"] is None else _pending(header["pending"], begun, agent, progress.update),
    )


def _plan_fields(name: str, update: Update | None) -> dict[str, int | None]:
    """Return the time of an update, its steps, and the steps that its plan was made for."""
    fields = {"time": None, "steps": None, "planned": None}
    if update is not None:
        fields = {"time": update.time, "steps": update.steps, "planned": update.plan.time - update.time}
    return {f"{name}_{field}": value for field, value in fields.items()}


def _update(
    arrays: dict[str, np.ndarray], fields: dict[str, Any], agent: Agent, earlier: Update | None, *, until: int
) -> Update:
    """Make an update that was in force; `earlier` is the one before, which acted until it arrived."""
    time = validate_number(fields["time"], until, "time of an update")
    steps, planned = (
        validate_number(fields[name], agent.horizon, "steps of an update") for name in ("steps", "planned")
    )
    kernel = validate_kernel(kernel_from(without_prefix("kernel_", arrays)), like=agent.knowledge.nominal)
    reward, ties = agent.knowledge.reward(time + planned), agent.robot.ties
    plan = Plan(time + planned, arrays["policy"], arrays["next_values"], kernel, reward, ties)
    before = (earlier.time, earlier.kernel) if earlier and earlier.time >= FIRST_UPDATE else None
    learned = without_prefix("then_", arrays)
    made = agent.mission.make_update(
        time, kernel, before, steps=planned, learned=learned, planner=lambda *_: plan
    )
    made = made if steps == planned else replace(made, steps=steps)
    return made if earlier is None else agent.mission.begun(made, earlier)


def _learned(agent: Agent) -> Mapping[str, np.ndarray]:
    """Return the arrays of the estimator, as they were before a running update that has asked it."""
    pending = agent._now.pending
    if pending is None or pending.begun.seen is None or pending.begun.learned is None:
        return agent.estimator.save()
    return pending.begun.learned


def _pending(
    fields: dict[str, Any], arrays: dict[str, np.ndarray], agent: Agent, before: Update
) -> RunningUpdate:
    """Begin a running update again."""
    begun = begun_from(
        fields,
        arrays,
        like=agent.knowledge.nominal,
        horizon=agent.horizon,
        durations=agent._maker.durations,
    )
    pending = agent._maker.resume(begun, before, arrays.get("policy"))
    pending.told = bool(fields["told"])
    return pending


def _estimate(estimate: np.ndarray, states: int, execution: str) -> np.ndarray:
    if execution == "map":
        if estimate.shape != (1,):
            raise ValueError(f"an estimate of the shape {estimate.shape}")
        validate_number(estimate[0], states, "estimate")
    elif estimate.shape != (1, states) or not (
        (estimate >= 0).all() and abs(estimate.sum() - 1) <= BELIEF_TOLERANCE
    ):
        raise ValueError("the belief is no distribution over the states")
    return estimate


def _not_a_saved_agent(path: str | Path, error: Exception) -> InputError:
    return InputError(f"{path}: not a saved agent ({' '.join(str(error).split()) or type(error).__name__})")


def _prefixed(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {f"{prefix}{name}": array for name, array in arrays.items()}


def _event_fields(event: Event) -> dict[str, Any]:
    decision = event.decision
    fields = None if decision is None else {**vars(decision), "terms": dict(decision.terms)}
    return {**vars(event), "decision": fields}


def _event(fields: dict[str, Any]) -> Event:
    decision = fields["decision"]
    return Event(**{**fields, "decision": None if decision is None else Decision(**decision)})


def _plain(value: Any) -> Any:
    """Return NumPy's numbers as Python's."""
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else str(value)
