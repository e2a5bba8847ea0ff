"""Flights of the hardware experiment: one over any backend, or many in simulated physics at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np

from replan.errors import InputError
from replan.execute.agent import Agent
from replan.execute.mission import Mission
from replan.model.kernel import Array, Indices
from replan.planning.backward_induction import Plan
from replan.results.measure import ColumnFormat, JointMeasure, Measure
from replan.robots.crazyflie.crazyflow_flight import CrazyflowFlight
from replan.robots.crazyflie.flight import (
    COLLISION_LENGTH,
    Flight,
    FlightOutcome,
    Flown,
    OnMove,
    fly,
    outcome,
)
from replan.robots.crazyflie.layouts import (
    FIRST_VALIDATION_LAYOUT,
    Density,
    Wind,
    layout,
    make_wind,
    middles_at,
)
from replan.robots.crazyflie.physics import Physics
from replan.robots.crazyflie.world import crazyflie_mission
from replan.schedule.regret_guided import RegretGuided
from replan.schedule.rule import Rule
from replan.skip.latency import Meanwhile
from replan.skip.propagation import Execution
from replan.study.candidates import candidates, schedule_of
from replan.study.cells import Cell
from replan.study.measures import RuleColumns
from replan.study.protocol import Bench, exact_regret, parameters, with_given
from replan.study.rule_source import given_rule
from replan.worlds.forecasts import ForecastParameters

VALIDATION_LAYOUTS = 3  # for each density
LARGEST_BATCH = 1536  # drones flown at once; with their missions they take about 2 GB
HEAVY_BATCH = 64  # of drones that plan on sub-cells or on a forecast, which take up to 30 MB each
FEWEST_CELLS = 10  # flown together, on some of their layouts at a time
BATCH_UNIT = 512  # batches are filled up to a multiple: in those a drone flies alike in any place, to the bit
DRAWN_LAYOUT = 8  # whose flights are kept for the figure: the rules end differently on it


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


@dataclass(frozen=True)
class Flights(JointMeasure, name="flight"):
    """The measure `flight` of studies: the layouts of a density, flown in simulated physics."""

    flights: list[dict[str, Any]] | None = None
    """The outcome of every layout."""
    collision_length: float | None = None
    """Length in m that a collision adds to the cost."""
    drawn: Annotated[dict[str, Any] | None, ColumnFormat(in_csv=False)] = None
    """The way flown over one layout, for the figure."""
    largest_batch: ClassVar[int] = LARGEST_BATCH
    heavy_batch: ClassVar[int] = HEAVY_BATCH
    batch_unit: ClassVar[int] = BATCH_UNIT

    @classmethod
    def together(cls, cell: Cell) -> tuple[tuple[int, bool], int]:
        """Return cuts and whether there is a forecast, and the number of such cells in a batch of work.

        Batches are large because a step costs little more for many drones.
        """
        setting = json.loads(cell.setting)
        most = max(FEWEST_CELLS, cls.largest_batch // setting["layouts"])
        return (setting["cuts"], "forecast" in setting), most

    @classmethod
    def of_all(cls, cells: Sequence[Cell]) -> list[tuple[Measure, ...]]:
        """Fly the layouts of cells that go together.

        A rule is chosen on layouts of its own, for the density and the execution. `trial` fixes the wind
        and, with the number of the layout, what a rule draws. The way over one layout is kept for the figure.
        """
        jobs = [_jobs(cell) for cell in cells]
        tracks: list[list[Track]] = [[] for _ in cells]
        largest = cls.largest_batch if cells[0].together == (1, False) else cls.heavy_batch
        together = max(1, largest // len(cells))  # layouts of each cell
        for first in range(0, max(map(len, jobs)), together):
            batch = [(k, job) for k, some in enumerate(jobs) for job in some[first : first + together]]
            flown = fly_batch([job for _, job in batch], unit=cls.batch_unit)
            for (k, _), made in zip(batch, flown, strict=True):
                tracks[k].append(made)
        return [
            (RuleColumns(parameters(some[0].rule)), cls._of_tracks(made))
            for some, made in zip(jobs, tracks, strict=True)
        ]

    @classmethod
    def _of_tracks(cls, tracks: Sequence[Track]) -> Flights:
        drawn = tracks[min(DRAWN_LAYOUT, len(tracks) - 1)]
        kept = {
            "number": drawn.number,
            "path": drawn.path.round(6).tolist(),
            "updates": drawn.updates.round(6).tolist(),
            "update_times": drawn.update_times,
        }
        return cls([asdict(made.outcome) for made in tracks], COLLISION_LENGTH, kept)


def _jobs(cell: Cell) -> list[Job]:
    """The flights of a cell, one for each layout."""
    setting = json.loads(cell.setting)
    density, layouts, trial = setting["density"], setting["layouts"], setting["trial"]
    forecast = ForecastParameters(**setting["forecast"]) if "forecast" in setting else None
    execution: Execution = cell.execution  # pyright: ignore[reportAssignmentType]
    given = json.loads(cell.given)
    if cell.search is None:
        rule = given_rule(cell.rule, given, cell.source)
    else:
        rule = choose_rule(cell.rule, density, execution, given=given)
    latency = {name: setting[name] for name in ("update_steps", "meanwhile") if name in setting}
    scenes = [
        FlightScene(density, k, execution, trial, setting["cuts"], forecast, **latency)
        for k in range(layouts)
    ]
    return [Job(scene, rule, draws=trial * layouts + k) for k, scene in enumerate(scenes)]


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
    return [Bench(FlightScene(density, number, execution).mission()) for number in numbers]


def fly_batch(jobs: Sequence[Job], *, unit: int = BATCH_UNIT) -> list[Track]:
    """Fly jobs with the same cuts as one batch of simulated drones. Jobs in one scene share its plans.

    The batch is filled up to a multiple of `unit` drones.
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
