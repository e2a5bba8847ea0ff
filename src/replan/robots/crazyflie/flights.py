"""Flights of the hardware experiment: one over any backend, or many in simulated physics at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from replan import Agent, Mission, Plan, Rule
from replan.errors import InputError
from replan.robots.crazyflie.crazyflow_flight import CrazyflowFlight
from replan.robots.crazyflie.flight import (
    Flight,
    FlightOutcome,
    Flown,
    OnMove,
    fly,
    outcome,
)
from replan.robots.crazyflie.layouts import (
    Density,
    Wind,
    layout,
    make_wind,
    middles_at,
)
from replan.robots.crazyflie.physics import Physics
from replan.robots.crazyflie.world import crazyflie_mission
from replan.typing import Array, Execution, Indices, Meanwhile
from replan.worlds.forecasts import ForecastParameters

BATCH_UNIT = 512  # batches are filled up to a multiple: in those a drone flies alike in any place, to the bit


@dataclass(frozen=True)
class FlightScene:
    """A layout in its wind, and the grid model and execution of the drone that flies there.

    Parameters
    ----------
    density : {"none", "sparse", "dense"}
        Density of the poles.
    number : int
        Number of the layout.
    execution : {"map", "belief"}
        How the drone acts between updates.
    trial : int
        Number of the wind over the layout.
    cuts : {1, 3}
        States of the grid model are whole cells, or cells cut 3 x 3.
    forecast : ForecastParameters, optional
        What the drone expects of the wind; by default that it stays as it is.
    update_steps : int
        Moves from the beginning of an update until its plan is in force.
    meanwhile : {"go-on", "wait"}
        Until then the drone flies on by its old plan, or hovers.
    """

    density: Density
    number: int
    execution: Execution = "map"
    trial: int = 0
    cuts: int = 1
    forecast: ForecastParameters | None = None
    update_steps: int = 0
    meanwhile: Meanwhile = "go-on"

    def __post_init__(self) -> None:
        if not isinstance(self.update_steps, int):
            raise InputError(
                "updates of drones take a fixed number of moves: update_steps must be one number"
            )

    @property
    def wind(self) -> Wind:
        """The wind of the trial."""
        return make_wind(self.density, self.number, trial=self.trial)

    def mission(self) -> Mission:
        """Return the mission in the grid model."""
        poles = layout(self.density, self.number)
        made = crazyflie_mission(poles, self.wind, execution=self.execution, cuts=self.cuts)
        robot = replace(made.robot, update_steps=self.update_steps, meanwhile=self.meanwhile)
        if self.forecast is not None:
            robot = replace(robot, forecast=self.forecast.build(made.world))
        return replace(made, robot=robot)

    def states_at(self, positions: Array) -> Indices:
        """Return the states of positions that an update shows."""
        return middles_at(positions, self.cuts)


@dataclass(frozen=True)
class Job:
    """A flight to be flown.

    Parameters
    ----------
    scene : FlightScene
        Layout, wind, grid model and execution.
    rule : Rule
        The rule that decides when to update.
    draws : int
        Seed of a rule that draws its times.
    """

    scene: FlightScene
    rule: Rule
    draws: int = 0


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
    outcome: FlightOutcome


def fly_one(job: Job, *, link: str | None = None, progress: OnMove | None = None) -> tuple[Flown, Track]:
    """Fly once: in simulated physics, or over a cflib link with the wind simulated in its setpoints.

    Parameters
    ----------
    job : Job
        Layout, rule and seed.
    link : str, optional
        URI of a real drone.
    progress : callable, optional
        Called after each move.

    Returns
    -------
    tuple of Flown and Track
        The flight as it was flown, and its track for tables and pictures.
    """
    scene = job.scene
    agent = Agent.on(scene.mission(), job.rule, seed=job.draws)
    if link is None:
        physics = Physics(1)
        flight: Flight = CrazyflowFlight(physics, [scene.wind])
        flown = fly(flight, [agent], progress=progress, locate=scene.states_at)
        physics.close()
    else:
        from replan.robots.crazyflie.cflib_flight import CflibFlight

        flight = CflibFlight(link, wind=scene.wind)
        flown = fly(flight, [agent], progress=progress, locate=scene.states_at)
    return flown, track(job, flown)


def fly_batch(jobs: Sequence[Job], *, unit: int = BATCH_UNIT) -> list[Track]:
    """Fly jobs with the same cuts as one batch of simulated drones. Jobs in one scene share its plans.

    Parameters
    ----------
    jobs : sequence of Job
        The flights.
    unit : int
        The batch is filled up to a multiple of so many drones.

    Returns
    -------
    list of Track
        The flights as they were flown.
    """
    missions = {scene: _sharing_plans(scene.mission()) for scene in {job.scene: None for job in jobs}}
    agents = [Agent.on(missions[job.scene], job.rule, seed=job.draws, trial=False) for job in jobs]
    physics = _physics(-(-len(jobs) // unit) * unit)
    flight = CrazyflowFlight(physics, [job.scene.wind for job in jobs])
    flown = fly(flight, agents, locate=jobs[0].scene.states_at)
    return [track(job, flown, k) for k, job in enumerate(jobs)]


@lru_cache(maxsize=1)
def _physics(drones: int) -> Physics:
    """Return the simulator, which takes seconds to build, for batches of one size."""
    return Physics(drones)


def track(job: Job, flown: Flown, drone: int = 0) -> Track:
    """Return the track of one drone of a flight."""
    scene = job.scene
    made = outcome(layout(scene.density, scene.number), flown.log, drone)
    times = tuple(time for time, _ in flown.updates(drone))
    places = [flown.log.after_move(t - 1)[drone, :2] for t in times if t <= made.moves]
    updates = np.array(places).reshape(-1, 2)
    path = flown.log.positions[flown.log.moves < made.moves, drone, :2]
    return Track(scene.density, scene.number, job.rule.name, scene.execution, path, updates, times, made)


def _sharing_plans(mission: Mission) -> Mission:
    """Return the mission with a robot that makes each plan once for all agents; not on moving forecasts."""
    if mission.robot.forecast.moves:
        return mission
    ((steps, _),) = mission.robot.durations

    def planner(kernel, reward, time: int, horizon: int, ties) -> Plan:
        return mission.update(time - steps, steps=steps).plan if time else mission.update(0).plan

    return replace(mission, robot=replace(mission.robot, planner=planner))
