"""Flights of the hardware experiment: one over any backend, or many in simulated physics at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from replan.execute.agent import Agent
from replan.execute.mission import Mission
from replan.model.kernel import Array
from replan.schedule.regret_guided import RegretGuided
from replan.schedule.rule import Rule
from replan.skip.propagation import Execution
from replan.study.axes import given_rule
from replan.study.candidates import candidates, schedule_of
from replan.study.cells import Cell, canonical
from replan.study.protocol import Bench, exact_regret, parameters, with_given
from replan.worlds.crazyflie.crazyflow_flight import CrazyflowFlight
from replan.worlds.crazyflie.flight import Flight, Flown, Progress, fly
from replan.worlds.crazyflie.layouts import FIRST_VALIDATION_LAYOUT, Density, layout
from replan.worlds.crazyflie.metrics import Outcome, outcome
from replan.worlds.crazyflie.physics import Physics
from replan.worlds.crazyflie.wind import wind
from replan.worlds.crazyflie.world import crazyflie_mission

VALIDATION_LAYOUTS = 3  # for each density
LARGEST_BATCH = 900  # drones flown at once
BATCH_UNIT = 512  # batches are filled up to a multiple, in which a drone flies alike in whatever place
DRAWN_LAYOUT = 8  # whose flights are kept for the figure: the rules end differently on it


@dataclass(frozen=True)
class Job:
    """A flight to be flown."""

    density: Density
    number: int  # of the layout
    rule: Rule
    execution: Execution = "map"
    draws: int = 0  # seed of a rule that draws its times


@dataclass(frozen=True)
class Track:
    """A flight that was flown, to be measured and drawn."""

    density: Density
    number: int
    rule: str
    execution: Execution
    path: Array = field(repr=False)  # (M, 2) m, to the goal, the touch or the horizon
    updates: Array = field(repr=False)  # (K, 2) where the drone was at its updates on this way
    update_times: tuple[int, ...]  # all of them
    outcome: Outcome


def fly_one(
    job: Job,
    *,
    seed: int = 0,
    link: str | None = None,
    progress: Progress | None = None,
) -> tuple[Flown, Track]:
    """One flight: in simulated physics, or over a cflib link with the wind simulated in its setpoints."""
    air = wind(job.density, job.number, trial=seed)
    agent = Agent.on(_mission(job.density, job.number, job.execution, seed), job.rule, seed=seed)
    if link is None:
        physics = Physics(1)
        flown = fly(CrazyflowFlight(physics, [air]), [agent], progress=progress)
        physics.close()
    else:
        from replan.worlds.crazyflie.cflib_flight import CflibFlight

        drone: Flight = CflibFlight(link, wind=air)
        flown = fly(drone, [agent], progress=progress)
    return flown, track(job, flown)


def fly_cell(cell: Cell) -> dict[str, Any]:
    """Fly the layouts of one density with one rule; returns columns of the store's `results`.

    The rule is chosen on layouts of its own, for the density and the execution. `trial` fixes the wind and,
    with the number of the layout, what a rule draws. The way flown over one layout is kept for the figure.
    """
    setting = json.loads(cell.setting)
    density, layouts, trial = setting["density"], setting["layouts"], setting["trial"]
    given = json.loads(cell.given)
    if cell.search is None:
        rule = given_rule(cell.rule, given, cell.source)
    else:
        rule = choose_rule(cell.rule, density, cell.execution, given=given)  # pyright: ignore[reportArgumentType]
    jobs = [
        Job(density, number, rule, cell.execution, draws=trial * layouts + number)  # pyright: ignore[reportArgumentType]
        for number in range(layouts)
    ]
    tracks = [
        made
        for first in range(0, layouts, LARGEST_BATCH)
        for made in _fly(jobs[first:][:LARGEST_BATCH], trial)
    ]
    drawn = tracks[min(DRAWN_LAYOUT, layouts - 1)]
    flights = {
        "outcomes": [asdict(made.outcome) for made in tracks],
        "drawn": {
            "number": drawn.number,
            "path": drawn.path.round(6).tolist(),
            "updates": drawn.updates.round(6).tolist(),
            "update_times": drawn.update_times,
        },
    }
    return {"parameters": json.dumps(parameters(rule)), "flights": canonical(flights)}


def choose_rule(
    name: str, density: Density, execution: Execution = "map", *, given: dict[str, Any] | None = None
) -> Rule:
    """Return the candidate with the least total exact regret on the validation layouts."""
    benches = _validation(density, execution)
    options = with_given(name, candidates(name, benches[0].mission), given or {})
    if name == "regret-guided" and not given:  # the paper flies this one score
        options = [rule for rule in options if isinstance(rule, RegretGuided) and rule.score == "gap+drift"]
    if len(options) == 1:
        return options[0]
    known = [{} for _ in benches]  # exact regret by schedule, on each layout

    def total(rule: Rule) -> float:
        found = 0.0
        for bench, regrets in zip(benches, known, strict=True):
            schedule = schedule_of(bench.mission, rule)
            if schedule not in regrets:
                regrets[schedule] = exact_regret(bench, schedule)
            found += regrets[schedule]
        return found

    return min(options, key=total)


@lru_cache(maxsize=1)
def _validation(density: Density, execution: Execution) -> list[Bench]:
    numbers = range(FIRST_VALIDATION_LAYOUT, FIRST_VALIDATION_LAYOUT + VALIDATION_LAYOUTS)
    return [Bench(_mission(density, number, execution, 0)) for number in numbers]


def _fly(jobs: Sequence[Job], trial: int) -> list[Track]:
    """Fly the jobs as one batch of simulated drones."""
    agents = []
    for job in jobs:
        mission = _mission(job.density, job.number, job.execution, trial)
        agents.append(
            Agent.on(mission, job.rule, planner=_shared_planner(mission), seed=job.draws, trial=False)
        )
    winds = [wind(job.density, job.number, trial=trial) for job in jobs]
    flown = fly(CrazyflowFlight(_physics(len(jobs)), winds), agents)
    return [track(job, flown, k) for k, job in enumerate(jobs)]


@lru_cache(maxsize=1)
def _physics(drones: int) -> Physics:
    """Return the simulator, which takes seconds to build, for batches of one size."""
    return Physics(drones)


def track(job: Job, flown: Flown, drone: int = 0) -> Track:
    """What one drone of a flight did."""
    made = outcome(layout(job.density, job.number), flown.log, drone)
    times = tuple(time for time, _ in flown.updates(drone))
    places = [flown.log.after_move(t - 1)[drone, :2] for t in times if t <= made.moves]
    updates = np.array(places).reshape(-1, 2)
    path = flown.log.positions[flown.log.moves < made.moves, drone, :2]
    return Track(job.density, job.number, job.rule.name, job.execution, path, updates, times, made)


@lru_cache(maxsize=64)
def _mission(density: Density, number: int, execution: Execution, trial: int) -> Mission:
    return crazyflie_mission(layout(density, number), wind(density, number, trial=trial), execution=execution)


def _shared_planner(mission: Mission):
    """All agents of a mission plan alike at a time, so each plan is made once."""
    return lambda kernel, reward, time, horizon, ties: mission.update(time).plan
