"""An agent in mid-mission as one .npz file: arrays and a JSON header, nothing that can run code."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from replan.errors import InputError
from replan.execute.memory import Event, Memory
from replan.execute.usable import usable_kernel, usable_number, usable_update
from replan.model.kernel import GeneralKernel, Kernel
from replan.model.reward import Reward
from replan.model.slip import SlipKernel
from replan.planning.backward_induction import Plan
from replan.planning.ties import Ties
from replan.schedule.rule import Decision
from replan.skip.propagation import Execution

VERSION = 2
DAMAGED = (OSError, EOFError, zipfile.BadZipFile, ValueError, KeyError, TypeError, IndexError)
_SCALARS = ("time", "budget_left", "last_update", "state", "planned_update", "commanded", "earlier_update")


def write(
    path: str | Path,
    memory: Memory,
    log: list[Event],
    learned: dict[str, np.ndarray],
    *,
    identity: dict[str, str],
) -> None:
    """Write in one stroke: a crash leaves the old file or the new one, never half of it."""
    made = memory.in_force.plan
    header = {
        "version": VERSION,
        "identity": identity,
        "memory": {name: getattr(memory, name) for name in _SCALARS},
        "plan_time": made.time,
        "log": [_event_fields(event) for event in log],
    }
    arrays = {
        "estimate": memory.estimate,
        "policy": made.policy,
        "next_values": made.next_values,
        **{f"kernel_{name}": array for name, array in kernel_arrays(memory.in_force.kernel).items()},
        **{f"learned_{name}": array for name, array in learned.items()},
    }
    if memory.earlier_kernel is not None:
        arrays |= {f"earlier_{name}": array for name, array in kernel_arrays(memory.earlier_kernel).items()}
    path = Path(path)
    unfinished = path.with_name(path.name + ".part")
    with unfinished.open("wb") as file:
        np.savez(file, header=np.array(json.dumps(header, default=_plain)), **arrays)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


def read(
    path: str | Path,
    *,
    identity: dict[str, str],
    nominal: Kernel,
    reward: Callable[[int], Reward],
    horizon: int,
    execution: Execution,
    ties: Ties,
) -> tuple[Memory, list[Event], dict[str, np.ndarray]]:
    """The agent's memory, its log, and what its estimator had learned; an `InputError` if it is no use."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        header = json.loads(str(arrays.pop("header")))
        saved_by, saved_with = header["version"], dict(header["identity"])
    except DAMAGED as error:
        raise not_a_saved_agent(path, error) from None
    if saved_by != VERSION:
        raise InputError(f"{path}: saved by another version ({saved_by}, not {VERSION})")
    for name, value in identity.items():
        if saved_with.get(name) != value:
            raise InputError(f"{path}: saved with {name} {saved_with.get(name)}, not {value}")
    try:
        kernel = usable_kernel(_kernel(_named("kernel_", arrays)), like=nominal)
        when = header["plan_time"]
        made = Plan(when, arrays["policy"], arrays["next_values"], kernel, reward(when), ties)
        in_force = usable_update(kernel, made, execution)
        memory = Memory(**header["memory"], in_force=in_force, estimate=arrays["estimate"])
        if memory.earlier_update:
            memory.earlier_kernel = usable_kernel(_kernel(_named("earlier_", arrays)), like=nominal)
        _check(memory, horizon)
        log = [_event(fields) for fields in header["log"]]
    except DAMAGED as error:
        raise not_a_saved_agent(path, error) from None
    return memory, log, _named("learned_", arrays)


def not_a_saved_agent(path: str | Path, error: Exception) -> InputError:
    """The one line for a file that is half written or something else."""
    return InputError(f"{path}: not a saved agent ({error})")


def kernel_arrays(kernel: Kernel) -> dict[str, np.ndarray]:
    """All that makes the kernel, as arrays."""
    if isinstance(kernel, SlipKernel):
        return {
            "shape": np.array(kernel.shape),
            "slip": kernel.slip,
            "law": kernel.law,
            "blocked": kernel.blocked,
        }
    general = kernel.general()
    return {"successors": general.successors, "probabilities": general.probabilities}


def _kernel(arrays: dict[str, np.ndarray]) -> Kernel:
    if "slip" in arrays:
        rows, columns = (int(size) for size in arrays["shape"])
        return SlipKernel((rows, columns), arrays["slip"], law=arrays["law"], blocked=arrays["blocked"])
    return GeneralKernel(arrays["successors"], arrays["probabilities"])


def _check(memory: Memory, horizon: int) -> None:
    """That the loop can go on from here."""
    states = memory.in_force.kernel.states
    usable_number(memory.time, horizon + 1, "time")
    usable_number(memory.last_update, memory.time + 1, "last_update")
    usable_number(memory.earlier_update, memory.last_update + 1, "earlier_update")
    usable_number(memory.budget_left, horizon, "budget_left")
    usable_number(memory.state, states)
    fresh = memory.in_force.propagation.begin(np.array([memory.state]))
    if (memory.estimate.shape, memory.estimate.dtype) != (fresh.shape, fresh.dtype):
        raise InputError(f"an estimate of the shape {memory.estimate.shape}, not {fresh.shape}")
    if fresh.ndim == 1:
        usable_number(memory.estimate[0], states, "estimate")


def _named(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _event_fields(event: Event) -> dict[str, Any]:
    decision = event.decision
    fields = None if decision is None else {**vars(decision), "terms": dict(decision.terms)}
    return {**vars(event), "decision": fields}


def _event(fields: dict[str, Any]) -> Event:
    decision = fields["decision"]
    return Event(**{**fields, "decision": None if decision is None else Decision(**decision)})


def _plain(value: Any) -> Any:
    """NumPy's numbers, which a rule may well decide with, as Python's."""
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else str(value)
