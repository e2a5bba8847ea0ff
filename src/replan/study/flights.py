"""Flights of the hardware experiment: one over any backend, or many in simulated physics at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from replan.execute.agent import Agent
from replan.execute.mission import Mission
from replan.model.kernel import Array
from replan.planning.ties import Ties
from replan.schedule.rule import Rule
from replan.skip.propagation import Execution
from replan.worlds.crazyflie.crazyflow_flight import CrazyflowFlight
from replan.worlds.crazyflie.flight import Flight, Flown, Progress, fly
from replan.worlds.crazyflie.layouts import Density, layout
from replan.worlds.crazyflie.metrics import Outcome, outcome
from replan.worlds.crazyflie.physics import Physics
from replan.worlds.crazyflie.wind import wind
from replan.worlds.crazyflie.world import crazyflie_mission


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
    ties: Ties | None = None,
    link: str | None = None,
    progress: Progress | None = None,
) -> tuple[Flown, Track]:
    """One flight: in simulated physics, or over a cflib link with the wind simulated in its setpoints."""
    air = wind(job.density, job.number, trial=seed)
    agent = Agent.on(_mission(job, seed, ties or Ties()), job.rule, seed=seed)
    if link is None:
        physics = Physics(1)
        flown = fly(CrazyflowFlight(physics, [air]), [agent], progress=progress)
        physics.close()
    else:
        from replan.worlds.crazyflie.cflib_flight import CflibFlight

        drone: Flight = CflibFlight(link, wind=air)
        flown = fly(drone, [agent], progress=progress)
    return flown, track(job, flown)


def fly_batch(
    jobs: Sequence[Job],
    physics: Physics,
    *,
    seed: int = 0,
    ties: Ties | None = None,
    progress: Progress | None = None,
) -> Flown:
    """As many simulated flights as the physics has drones, or fewer."""
    missions: dict[tuple, Mission] = {}
    agents = []
    for job in jobs:
        key = (job.density, job.number, job.execution)
        if key not in missions:
            missions[key] = _mission(job, seed, ties or Ties())
        planner = _shared_planner(missions[key])
        agents.append(Agent.on(missions[key], job.rule, planner=planner, seed=job.draws, trial=False))
    winds = [wind(job.density, job.number, trial=seed) for job in jobs]
    return fly(CrazyflowFlight(physics, winds), agents, progress=progress)


def track(job: Job, flown: Flown, drone: int = 0) -> Track:
    """What one drone of a flight did."""
    made = outcome(layout(job.density, job.number), flown.log, drone)
    times = tuple(time for time, _ in flown.updates(drone))
    places = [flown.log.after_move(t - 1)[drone, :2] for t in times if t <= made.moves]
    updates = np.array(places).reshape(-1, 2)
    path = flown.log.positions[flown.log.moves < made.moves, drone, :2]
    return Track(job.density, job.number, job.rule.name, job.execution, path, updates, times, made)


def _mission(job: Job, seed: int, ties: Ties) -> Mission:
    air = wind(job.density, job.number, trial=seed)
    return crazyflie_mission(layout(job.density, job.number), air, execution=job.execution, ties=ties)


def _shared_planner(mission: Mission):
    """All agents of a mission plan alike at a time, so each plan is made once."""
    return lambda kernel, reward, time, horizon, ties: mission.update(time).plan
