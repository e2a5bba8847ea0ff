"""The computations behind the explorer's screen, independent of the browser.

A `Scene` is made when the world changes, a `View` whenever an update is moved, so moving is cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from replan import (
    FixedTimes,
    Mission,
    Optimum,
    Setting,
    evaluate,
    make_mission,
    optimum,
    oracle,
    regret_scale,
    run_agent,
)
from replan import regret as exact_regret
from replan.errors import InputError
from replan.evaluation.agent_runs import AgentRun
from replan.evaluation.exact import Steps
from replan.evaluation.scale import RegretScale
from replan.explore.link import check_size, setting_record
from replan.planning.optimal_values import Oracle
from replan.report.world_drawing import GridDrawing
from replan.schedule.registry import list_parameters
from replan.skip.latency import read_durations
from replan.study.protocol import Bench, choose
from replan.typing import Array, Execution
from replan.worlds.mars_rover import LinearDrift, PiecewiseDrift, Rover, SinusoidalDrift
from replan.worlds.robot_words import as_durations
from replan.worlds.settings import parse_setting

POINTS = 8  # that a profile is drawn with
DRIFT_KINDS = {"linear": LinearDrift, "sinusoidal": SinusoidalDrift, "piecewise": PiecewiseDrift}


@dataclass(frozen=True)
class Scene:
    """A mission with its oracle and its drift, which all views of it share."""

    mission: Mission
    best: Oracle = field(repr=False)
    curve: Array = field(repr=False)  # (T,) or (T-1,) how the world drifts, to be drawn over the horizon
    curve_name: str
    ground: GridDrawing | None = field(repr=False)  # None if the states are not cells
    scale: RegretScale  # without the best possible, which `floor` computes when it is asked for

    @cached_property
    def floor(self) -> float | None:
        """The least regret that any rule can have; None if it takes long to compute."""
        return regret_scale(self.mission, best=self.best).best_possible


@dataclass(frozen=True)
class View:
    """Regret of update times, and one robot's path under them."""

    times: tuple[int, ...]
    regret: float
    oracle_return: float
    steps: Steps = field(repr=False)
    trace: AgentRun = field(repr=False)


@dataclass(frozen=True)
class RuleView:
    """Update times and regret of a rule in the mission."""

    name: str
    times: tuple[int, ...]  # of one robot, if they depend on the states seen
    regret: float  # exact, of the rule itself
    parameters: dict[str, Any]  # none if there was nothing to choose


def make_scene(setting: Setting, execution: Execution = "map") -> Scene:
    """Return the mission of a setting, its oracle, and its drift as a curve."""
    check_size(setting)
    mission = make_mission(setting, execution=execution)
    best = oracle(mission.world)
    rover = isinstance(setting, Rover)
    curve = setting.drift.profile(setting.horizon) if rover else mission.world.drift_bounds
    return Scene(
        mission,
        best,
        curve,
        "slip" if rover else "drift",
        GridDrawing.of(mission.world),
        regret_scale(mission, best=best, floor=False),
    )


def make_view(scene: Scene, times: Sequence[int]) -> View:
    """Return the exact regret of the times, the loss of every step, and one robot's path."""
    mission = scene.mission
    times = mission.check_times(times)
    rule = FixedTimes(times)
    found = evaluate(mission, rule, best=scene.best, all_starts=False)
    return View(times, found.regret, found.oracle_return, found.steps, run_agent(mission, rule))


def best_times(scene: Scene) -> Optimum:
    """Return the best update times."""
    return optimum(scene.mission)


def rule_view(scene: Scene, name: str) -> RuleView:
    """Return the times and regret of a rule with the hyper-parameters that validation chooses."""
    choice = choose(Bench(scene.mission), name)
    rule = choice.rule
    times = run_agent(scene.mission, rule).times
    regret = exact_regret(scene.mission, rule, best=scene.best)
    chosen = {} if choice.validation_regret is None else list_parameters(rule)
    return RuleView(name, times, regret, chosen)


def edit_setting(setting: Setting, **changes: Any) -> Setting:
    """Return the setting with other values, except those that are None or unknown to its world."""
    record = setting_record(setting)
    known = type(setting).model_fields
    record |= {key: value for key, value in changes.items() if value is not None and key in known}
    if record.get("horizon") != setting.horizon:
        record.pop("drift_bounds", None)  # stated for another horizon
    return parse_setting(record)


def with_forecast(setting: Setting, kind: str) -> Setting:
    """Return the setting with a forecast of this kind, keeping its own if that is of the same kind."""
    now = "frozen" if setting.forecast is None else setting.forecast.kind
    return setting if kind == now else parse_setting(setting_record(setting) | {"forecast": {"kind": kind}})


def with_latency(setting: Setting, update_steps: str, meanwhile: str) -> Setting:
    """Return the setting whose updates take these steps, such as "4" or "1:0.5, 3:0.5"."""
    durations = read_durations(as_durations(update_steps))
    now = setting.latency
    if durations == read_durations(now.get("update_steps", 0)) and meanwhile == now.get("meanwhile", "go-on"):
        return setting
    steps = durations[0][0] if len(durations) == 1 else {str(each): p for each, p in durations}
    return parse_setting(setting_record(setting) | {"update_steps": steps, "meanwhile": meanwhile})


def write_steps(setting: Setting) -> str:
    """Return the steps that an update takes as text that `with_latency` reads."""
    durations = read_durations(setting.latency.get("update_steps", 0))
    return ", ".join(f"{steps}:{p}" if len(durations) > 1 else f"{steps}" for steps, p in durations)


def drift_start(setting: Setting, kind: str) -> dict[str, Any]:
    """Return the initial values of a kind of drift, the setting's own if it is of that kind."""
    if isinstance(setting, Rover) and setting.drift.kind == kind:
        return setting_record(setting)["drift"]
    fields = DRIFT_KINDS[kind].model_fields
    return {"kind": kind} | {key: field.examples[0] for key, field in fields.items() if field.examples}


def drawn_times(horizon: int, count: int) -> list[int]:
    """Return the times at which a profile is drawn, from the first step to the last."""
    return [int(t) for t in np.round(np.linspace(0, horizon - 1, min(count, horizon)))]


def drawn_drift(points: Sequence[float], horizon: int) -> dict[str, Any]:
    """Return the piecewise drift whose slip goes in straight lines from point to point."""
    times = drawn_times(horizon, len(points))
    bursts = [
        [begin / horizon, end / horizon, (after - before) / (end - begin)]
        for (begin, end), (before, after) in zip(pairwise(times), pairwise(points), strict=False)
    ]
    return {"kind": "piecewise", "slip": float(points[0]), "quiet": 0.0, "bursts": bursts}


def points_of(setting: Setting) -> tuple[float, ...]:
    """Return the slips of the setting, with which drawing begins."""
    assert isinstance(setting, Rover)
    profile = setting.drift.profile(setting.horizon)
    return tuple(round(float(profile[t]), 3) for t in drawn_times(setting.horizon, POINTS))


def read_bursts(text: str) -> list[list[float]]:
    """Return the bursts in a text such as "0.2, 0.34, 0.018; 0.62, 0.82, 0.018"."""
    try:
        bursts = [[float(part) for part in burst.split(",")] for burst in text.split(";") if burst.strip()]
    except ValueError:
        bursts = [[]]
    if any(len(burst) != 3 for burst in bursts):
        raise InputError(f"bursts are written from, to, slope; from, to, slope; not {text!r}")
    return bursts


def write_bursts(bursts: Sequence[Sequence[float]]) -> str:
    """Return bursts as text that `read_bursts` reads."""
    return "; ".join(", ".join(f"{part:g}" for part in burst) for burst in bursts)
