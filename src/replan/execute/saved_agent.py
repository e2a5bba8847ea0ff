"""Agents in mid-mission as files: a log, what the estimator has learned, and the plan in force.

A file is one .npz of arrays and a JSON header; it holds no code. Nothing is planned again from it: planners
may depend on what is outside of replan, and which plans came in time is in the log. (Plans on a forecast that
moves are replan's own. These are made again, from the estimate, and are the same.) What a blind robot
believes is played back from its last look. Files are told from damaged ones by a checksum, and agents from
others by their `identity`: by name, the arguments that two of them must share.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import operator
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replan.errors import InputError
from replan.estimate.estimator import Observation
from replan.execute.mission import Progress
from replan.execute.updates import Memory, RunningUpdate
from replan.model.flow_kernel import FlowKernel
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Kernel
from replan.model.reward import Reward
from replan.model.slip import SlipKernel
from replan.model.world import World
from replan.planning.backward_induction import Plan
from replan.skip.acting import Update
from replan.skip.spending import FIRST_UPDATE

if TYPE_CHECKING:
    from replan.execute.agent import Agent, Event

VERSION = 11
PLAIN = ("time", "state", "named_update", "named", "commanded", "seen_at")
"""Numbers of a `Memory` that are saved as they are."""
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
SAMPLED_TIMES = 1_000
"""Of a long horizon; the drift bounds of all its steps are told apart anyway."""
DIGITS = 9
"""Two machines may compute the same world with other last digits."""

NamedArrays = Mapping[str, np.ndarray]


def write(path: str | Path, agent: Agent, attached: Mapping[str, Any] | None = None) -> None:
    """Write in one stroke: a crash leaves the old file or the new one, never half of it.

    `attached` are plain values of the caller's, which `read_attached` returns.
    """
    now, path, pending = agent._now, Path(path), agent._now.pending
    progress, learned = now.progress, agent.learned
    plans = {"plan": progress.update, "before": progress.update.before or progress.earlier}
    header = {
        "version": VERSION,
        "identity": agent.identity,
        "attached": dict(attached or {}),
        "log": [_event_fields(each) for each in agent.log[-(agent.log_length or len(agent.log)) :]],
        "budget_left": progress.budget_left,
        "last_update": progress.last_update,
        **{name: getattr(now, name) for name in PLAIN},
        **{name: [each.time, each.steps, each.plan.time] for name, each in plans.items() if each},
    }
    parts: dict[str, Any] = {name: _plan_arrays(each) for name, each in plans.items() if each}
    parts["belief"] = now.belief
    if agent.robot.sees:
        dense = isinstance(now.estimate, np.ndarray)
        parts["estimate"] = now.estimate if dense else now.estimate.toarray()
        parts["running"] = kernel_arrays(now.running)
    if pending is not None:
        begun = {name: getattr(pending, name) for name in ("time", "steps", "told")}
        header["pending"] = {**begun, "seen": pending.seen and vars(pending.seen)}
        parts["pending"] = {"policy": pending.policy}
        if pending.seen is not None:
            learned = pending.learned or {}  # it learns from the look again
        elif pending.kernel is not None:
            parts["pending"] |= {"kernel": kernel_arrays(pending.kernel), "learned": pending.learned}
    arrays = _flat({**parts, "learned": learned})
    try:
        text = json.dumps(header, default=_plain)
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: cannot be written ({error})") from None
    unfinished = path.with_name(path.name + ".part")
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: not a plain file")
        with unfinished.open("wb") as file:
            checked = {"header": np.array(text), "checksum": np.array(_checksum(text, arrays))}
            np.savez(file, **{**arrays, **checked})  # pyright: ignore[reportArgumentType]
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from None


def read(path: str | Path, agent: Agent) -> tuple[Memory, list[dict[str, Any]], NamedArrays]:
    """Return the memory, the fields of the events, and what the estimator had learned.

    A running update has not begun its work again. Raises `InputError` if the file does not fit the agent,
    which is left as it is.
    """
    header, arrays = _read(path)
    for name, value in agent.identity.items():
        if header["identity"].get(name) != value:
            raise InputError(f"{path}: saved with {name} {header['identity'].get(name)}, not {value}")
    try:
        return _memory(header, arrays, agent), header["log"], _part("learned", arrays)
    except Exception as error:
        raise InputError(f"{path}: cannot be restored ({_line(error)})") from None


def read_attached(path: str | Path) -> dict[str, Any]:
    """Return the values that were saved beside an agent. Raises `InputError` if the file is damaged."""
    return _read(path)[0]["attached"]


def _read(path: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        text = str(arrays.pop("header"))
        header, checksum = json.loads(text), arrays.pop("checksum", None)
        if (version := header["version"]) != VERSION:
            raise InputError(f"{path}: saved by another version ({version}, not {VERSION})")
        if str(checksum) != _checksum(text, arrays):
            raise ValueError("it was changed after it was saved")
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{path}: not a saved agent ({_line(error)})") from None
    return header, arrays


def _checksum(text: str, arrays: NamedArrays) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()


def _memory(header: dict[str, Any], arrays: NamedArrays, agent: Agent) -> Memory:
    before = _update(header["before"], _part("before", arrays), agent, None) if "before" in header else None
    update = _update(header["plan"], _part("plan", arrays), agent, before)
    earlier = before if before is not None and before.time >= FIRST_UPDATE else None
    now = Memory(
        progress=Progress(update, header["budget_left"], header["last_update"], earlier),
        estimate=arrays.get("estimate"),
        running=_kernel(_part("running", arrays)) if agent.robot.sees else update.kernel,
        belief=arrays.get("belief"),
        **{name: header[name] for name in PLAIN},
    )
    if now.estimate is None:
        now.estimate_again()
    if (begun := header.get("pending")) is not None:
        seen, kernel, learned, parts = begun["seen"], None, None, _part("pending", arrays)
        if seen is not None:
            seen = Observation(**{**seen, "commanded": tuple(seen["commanded"])})
        else:
            kernel, learned = _kernel(_part("kernel", parts)), _part("learned", parts)
        policy, told = parts.get("policy"), begun["told"]
        now.pending = RunningUpdate(begun["time"], seen, kernel, learned, begun["steps"], policy, told)
    return now


def _update(times: list[int], arrays: NamedArrays, agent: Agent, before: Update | None) -> Update:
    """Return an update that was in force with its plan; until it arrived the one before it acted."""
    (time, steps, begin), kernel, mission = times, _kernel(_part("kernel", arrays)), agent.mission
    reward, ties = agent.knowledge.reward(begin), agent.robot.ties
    plan = Plan(begin, arrays["policy"], arrays["next_values"], kernel, reward, ties)
    made = mission.make_update(
        time,
        kernel,
        (before.time, before.kernel) if before is not None and before.time >= FIRST_UPDATE else None,
        steps=begin - time,
        learned=_part("then", arrays),
        planner=lambda *_: plan,
    )
    made = made if steps == made.steps else replace(made, steps=steps)
    return made if before is None else mission.begun(made, before)


def _plan_arrays(update: Update) -> dict[str, Any]:
    plan, kernel = update.plan, kernel_arrays(update.kernel)
    return {"policy": plan.policy, "next_values": plan.next_values, "kernel": kernel, "then": update.learned}


def _event_fields(event: Event) -> dict[str, Any]:
    decision = event.decision
    return {**vars(event), "decision": decision and {**vars(decision), "terms": dict(decision.terms)}}


def _plain(value: Any) -> Any:
    """Return NumPy's numbers as Python's."""
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else str(value)


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _flat(parts: Mapping[str, Any], prefix: str = "") -> dict[str, np.ndarray]:
    """Return the arrays of a tree by their paths, without what is None."""
    flat: dict[str, np.ndarray] = {}
    for name, part in parts.items():
        if isinstance(part, Mapping):
            flat |= _flat(part, f"{prefix}{name}/")
        elif part is not None:
            flat[f"{prefix}{name}"] = np.asarray(part)
    return flat


def _part(name: str, arrays: NamedArrays) -> dict[str, np.ndarray]:
    """Return one branch of the tree."""
    prefix = f"{name}/"
    return {path.removeprefix(prefix): each for path, each in arrays.items() if path.startswith(prefix)}


def kernel_arrays(kernel: Kernel) -> dict[str, np.ndarray]:
    """Return the arrays of a kernel, from which it is made again."""
    if isinstance(kernel, SlipKernel):
        shape = np.array(kernel.shape)
        return {"shape": shape, "slip": kernel.slip, "law": kernel.law, "blocked": kernel.blocked}
    general = kernel.general()
    arrays = {"successors": general.successors, "probabilities": general.probabilities}
    return arrays | ({"land": kernel.land, "moves": kernel.moves} if isinstance(kernel, FlowKernel) else {})


def _kernel(arrays: NamedArrays) -> Kernel:
    if "slip" in arrays:
        rows, columns = (operator.index(size) for size in arrays["shape"])
        return SlipKernel((rows, columns), arrays["slip"], law=arrays["law"], blocked=arrays["blocked"])
    lists = arrays["successors"], arrays["probabilities"]
    return FlowKernel(*lists, arrays["land"], arrays["moves"]) if "moves" in arrays else GeneralKernel(*lists)


def describe_arguments(agent: Agent) -> dict[str, str]:
    """Return, by name, the arguments that another agent must share to go on from a file of this one."""
    known, robot, forecast = agent.knowledge, agent.robot, agent.mission.forecast
    nominal, past, records = known.nominal, getattr(forecast, "past", None), []
    if past is not None:  # how far each record is from the nominal kernel, and how the first ones change it
        records = [past.period, *(past.distance(nominal, start) for start in range(past.length))]
        records += [past.changed(nominal, 0, steps) for steps in range(1, known.horizon)]
    expected = [_text(robot.forecast), _distinct(forecast.sources(known.horizon) or ()), records]
    world = [nominal, _distinct(known.reward(t) for t in _times(known.horizon)), known.drift.bounds]
    return {
        "horizon": str(known.horizon),
        "planning_horizon": str(robot.planning_horizon),
        "spending": str(agent.spending),
        "execution": robot.execution,
        "updates": f"of {robot.update_steps} steps, {robot.meanwhile}, {agent.arrival}",
        "ties": str(robot.ties),
        "seed": str(agent.seed),
        "planner": _text(robot.planner),
        "judge": _text(robot.judge),
        "forecast": f"{robot.forecast.name} {_digest(expected)}",
        "world": f"{nominal.states} states, {nominal.actions} actions, fingerprint {_digest(world)}",
        "rule": _described(agent.rule),
        "estimator": _described(agent.estimator),
    }


def _described(made: Any) -> str:
    """Return what an object is and, as a digest, the arguments that it was made with."""
    names = inspect.signature(type(made)).parameters
    arguments = {name: vars(made)[name] for name in names if name in vars(made)}
    text = _text(made) if is_dataclass(made) else type(made).__qualname__
    return f"{text} {_digest(arguments)}" if arguments else text


def _times(horizon: int) -> range:
    """Return the times at which worlds are told apart: all, or evenly spaced ones of a long horizon."""
    return range(0, horizon, max(1, horizon // SAMPLED_TIMES))


def _distinct(values: Iterable[Any]) -> list[Any]:
    """Return the values without immediate repetitions of the same object."""
    found: list[Any] = []
    for value in values:
        if not found or value is not found[-1]:
            found.append(value)
    return found


def _digest(value: Any) -> str:
    digest = hashlib.sha256()
    _feed(digest, value)
    return digest.hexdigest()[:12]


def _feed(digest: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        digest.update(str(value.shape).encode())
        digest.update((np.round(value.astype(float), DIGITS) + 0.0).tobytes())
    elif isinstance(value, World):
        kernels, rewards = (_distinct(map(of, _times(value.horizon))) for of in (value.kernel, value.reward))
        _feed(digest, [value.horizon, value.start, kernels, rewards, value.drift_bounds])
    elif isinstance(value, (Kernel, Reward)):
        _feed(digest, vars(value) if isinstance(value, Reward) else kernel_arrays(value))
    elif isinstance(value, dict):
        _feed(digest, sorted(value.items()))
    elif isinstance(value, (list, tuple)):
        digest.update(f"{len(value)} of".encode())
        for part in value:
            _feed(digest, part)
    else:
        digest.update(_text(value).encode())


def _text(value: Any) -> str:
    """Return a text that is the same in every process; a function counts by its name."""
    if inspect.isroutine(value):
        return f"{value.__module__}.{value.__qualname__}"
    return ADDRESS.sub("", repr(value))
