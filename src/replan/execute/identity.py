"""Fingerprints: whether two agents were made with the same arguments."""

from __future__ import annotations

import hashlib
import inspect
import operator
import re
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from replan.model.flow_kernel import FlowKernel
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Kernel
from replan.model.past import Past
from replan.model.reward import Reward
from replan.model.slip import SlipKernel
from replan.model.world import World

if TYPE_CHECKING:
    from replan.execute.agent import Agent

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
SAMPLED_TIMES = 1_000
"""Of a long horizon; the drift bounds of all its steps are told apart anyway."""
DIGITS = 9
"""Two machines may compute the same world with other last digits."""


def describe_arguments(agent: Agent) -> dict[str, str]:
    """Return, by name, the arguments that another agent must share to go on from a snapshot of this one."""
    known, robot, rule = agent.knowledge, agent.robot, agent.rule
    rewards = _distinct(known.reward(t) for t in _sampled_times(known.horizon))
    expected = _distinct(agent.mission.forecast.sources(known.horizon) or ())
    nominal, past = known.nominal, getattr(agent.mission.forecast, "past", None)
    records = None if past is None else _records(past, nominal, known.horizon)
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
        "forecast": f"{robot.forecast.name} {_digest([_text(robot.forecast), expected, records])}",
        "world": f"{nominal.states} states, {nominal.actions} actions, "
        f"fingerprint {_digest([nominal, rewards, known.drift.bounds])}",
        "rule": _described(rule, {each.name: vars(rule)[each.name] for each in _fields(rule)}),
        "estimator": _described(agent.estimator, options(agent.estimator)),
    }


def options(made: Any) -> dict[str, Any]:
    """Return the attributes of an object that are named as arguments of its constructor."""
    names = inspect.signature(type(made)).parameters
    return {name: vars(made)[name] for name in names if name in vars(made)}


def kernel_arrays(kernel: Kernel) -> dict[str, np.ndarray]:
    """Return the arrays from which `kernel_from` makes the same kernel."""
    if isinstance(kernel, SlipKernel):
        return {
            "shape": np.array(kernel.shape),
            "slip": kernel.slip,
            "law": kernel.law,
            "blocked": kernel.blocked,
        }
    general = kernel.general()
    arrays = {"successors": general.successors, "probabilities": general.probabilities}
    if isinstance(kernel, FlowKernel):
        arrays |= {"land": kernel.land, "moves": kernel.moves}
    return arrays


def kernel_from(arrays: dict[str, np.ndarray]) -> Kernel:
    """Make the kernel that `kernel_arrays` took apart."""
    if "slip" in arrays:
        rows, columns = (operator.index(size) for size in arrays["shape"])
        return SlipKernel((rows, columns), arrays["slip"], law=arrays["law"], blocked=arrays["blocked"])
    lists = arrays["successors"], arrays["probabilities"]
    return FlowKernel(*lists, arrays["land"], arrays["moves"]) if "moves" in arrays else GeneralKernel(*lists)


def _sampled_times(horizon: int) -> range:
    """Times whose kernels and rewards are told apart: all, or evenly spaced ones of a long horizon."""
    return range(0, horizon, max(1, horizon // SAMPLED_TIMES))


def _records(past: Past, nominal: Kernel, horizon: int) -> list[Any]:
    """Return how far each record is from the nominal kernel, and how the first ones would change it."""
    apart = np.array([past.distance(nominal, start) for start in range(past.length)])
    return [past.period, apart, *(past.changed(nominal, 0, steps) for steps in range(1, horizon))]


def _described(made: Any, arguments: dict[str, Any]) -> str:
    text = _text(made) if is_dataclass(made) else type(made).__qualname__
    return f"{text} {_digest(arguments)}" if arguments else text


def _fields(made: Any) -> tuple:
    return fields(made) if is_dataclass(made) else ()


def _distinct(values) -> list[Any]:
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
        times = _sampled_times(value.horizon)
        kernels, rewards = (_distinct(of(t) for t in times) for of in (value.kernel, value.reward))
        _feed(digest, [value.horizon, value.start, kernels, rewards, value.drift_bounds])
    elif isinstance(value, Kernel):
        _feed(digest, kernel_arrays(value))
    elif isinstance(value, Reward):
        _feed(digest, vars(value))
    elif isinstance(value, dict):
        for name in sorted(value):
            digest.update(str(name).encode())
            _feed(digest, value[name])
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
