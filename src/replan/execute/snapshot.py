"""An agent in mid-mission as one .npz file: arrays and a JSON header, nothing that can run code."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from replan.errors import InputError
from replan.model.kernel import GeneralKernel, Kernel
from replan.model.reward import Reward
from replan.model.slip import SlipKernel
from replan.plan.backward_induction import Plan
from replan.plan.ties import Ties

VERSION = 1
_SCALARS = ("time", "budget_left", "last_update", "state", "planned_update", "commanded")


def write(
    path: str | Path, memory: Any, log: list, learned: dict[str, np.ndarray], *, identity: dict
) -> None:
    """Write in one stroke: a crash leaves the old file or the new one, never half of it."""
    header = {
        "version": VERSION,
        "identity": identity,
        "memory": {name: getattr(memory, name) for name in _SCALARS},
        "plan_time": memory.plan.time,
        "log": [asdict(event) for event in log],
    }
    arrays = {
        "estimate": memory.estimate,
        "policy": memory.plan.policy,
        "next_values": memory.plan.next_values,
        **{f"kernel_{name}": array for name, array in _kernel_arrays(memory.kernel).items()},
        **{f"learned_{name}": array for name, array in learned.items()},
    }
    path = Path(path)
    unfinished = path.with_name(path.name + ".part")
    with unfinished.open("wb") as file:
        np.savez(file, header=np.array(json.dumps(header)), **arrays)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


def read(
    path: str | Path, *, identity: dict, ties: Ties, reward: Callable[[int], Reward]
) -> tuple[dict[str, Any], list, dict[str, np.ndarray]]:
    """The fields of the agent's memory, its log, and what its estimator had learned."""
    from replan.execute.agent import Event
    from replan.schedule.rule import Decision

    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        header = json.loads(str(arrays.pop("header")))
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path}: not a saved agent ({error})") from None
    if header.get("version") != VERSION:
        raise InputError(f"{path}: saved by another version ({header.get('version')}, not {VERSION})")
    for name, value in identity.items():
        if header["identity"].get(name) != value:
            raise InputError(f"{path}: saved with {name} {header['identity'].get(name)}, not {value}")
    log = []
    for event in header["log"]:
        decision = event.pop("decision")
        log.append(Event(**event, decision=None if decision is None else Decision(**decision)))
    kernel = _kernel({name[7:]: array for name, array in arrays.items() if name.startswith("kernel_")})
    planned = header["plan_time"]
    made = Plan(planned, arrays["policy"], arrays["next_values"], kernel, reward(planned), ties)
    learned = {name[8:]: array for name, array in arrays.items() if name.startswith("learned_")}
    return {**header["memory"], "kernel": kernel, "plan": made, "estimate": arrays["estimate"]}, log, learned


def _kernel_arrays(kernel: Kernel) -> dict[str, np.ndarray]:
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
