"""Table 3, the hardware experiment in simulated physics: three densities, every rule, both executions.

Thresholds are chosen on layouts of their own, by exact regret in the calibrated grid model, one choice for a
density, rule and execution. Then all flights are flown, on the same layouts and in the same wind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any

import numpy as np

from replan.errors import InputError
from replan.evaluation.exact import regret
from replan.execute.mission import Mission
from replan.model.kernel import Array
from replan.planning.optimal_values import oracle
from replan.planning.ties import Ties
from replan.schedule.regret_guided import RegretGuided
from replan.schedule.rule import Rule
from replan.skip.propagation import EXECUTIONS, Execution
from replan.study.candidates import candidates, schedule_of
from replan.study.flights import Job, Track, fly_batch, track
from replan.study.protocol import bootstrap_interval, parameters
from replan.worlds.crazyflie.layouts import DENSITIES, FIRST_VALIDATION_LAYOUT, Density, layout
from replan.worlds.crazyflie.metrics import Outcome
from replan.worlds.crazyflie.physics import Physics
from replan.worlds.crazyflie.wind import wind
from replan.worlds.crazyflie.world import COLLISION_LENGTH, crazyflie_mission

VALIDATION_LAYOUTS = 3  # for each density
LARGEST_BATCH = 900  # drones flown at once
DRAWN_LAYOUT = 8  # whose flights are kept for the figure: the rules end differently on it
REFERENCE = ("regret-guided", "map")  # what the others' costs are compared with, layout by layout

Progress = Callable[[str, float], None]  # what is going on, and the share of it that is done
Paper = tuple[float, float, float]  # success, collisions, cost

PAPER: dict[str, dict[Density, Paper]] = {
    name: dict(zip(DENSITIES, rows, strict=True))
    for name, rows in {
        "regret-guided": ((0.93, 0.00, 1.07), (0.87, 0.20, 1.42), (0.73, 0.47, 2.05)),
        "periodic": ((0.93, 0.00, 1.08), (0.73, 0.40, 1.72), (0.53, 0.87, 2.70)),
        "best-offset": ((1.00, 0.00, 1.05), (0.80, 0.33, 1.58), (0.60, 0.73, 2.42)),
        "random": ((0.87, 0.00, 1.13), (0.67, 0.53, 1.84), (0.47, 1.00, 2.85)),
        "front-loaded": ((0.87, 0.00, 1.18), (0.60, 0.67, 2.05), (0.40, 1.27, 3.22)),
        "back-loaded": ((0.87, 0.00, 1.17), (0.60, 0.73, 2.12), (0.40, 1.33, 3.35)),
        "drift-threshold": ((0.93, 0.00, 1.09), (0.80, 0.27, 1.53), (0.67, 0.60, 2.20)),
        "self-triggered": ((0.93, 0.00, 1.10), (0.80, 0.33, 1.56), (0.67, 0.60, 2.25)),
        "lazy-value": ((0.93, 0.00, 1.11), (0.73, 0.40, 1.69), (0.60, 0.73, 2.38)),
    }.items()
}
METHODS = (*PAPER, "lookahead")


@dataclass(frozen=True)
class Estimate:
    """A mean over layouts with its 95 % interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """One rule in one execution on the layouts of one density."""

    density: Density
    rule: str
    execution: Execution
    parameters: dict[str, Any]
    success: Estimate
    collisions: Estimate
    cost: Estimate
    cost_difference: Estimate  # to regret-guided with map execution, on the same layouts
    paper: Paper | None
    outcomes: tuple[Outcome, ...] = field(repr=False)  # layout by layout


@dataclass(frozen=True)
class Table3:
    """The table, and the flights over one layout of each density."""

    layouts: int
    seed: int
    ties: str
    rows: tuple[Row, ...]
    tracks: tuple[Track, ...] = field(repr=False)

    def record(self) -> dict[str, Any]:
        """As plain data."""
        rows = [{key: value for key, value in asdict(row).items() if key != "outcomes"} for row in self.rows]
        return {
            "layouts": self.layouts,
            "seed": self.seed,
            "ties": self.ties,
            "kappa": COLLISION_LENGTH,
            "validation_layouts": [FIRST_VALIDATION_LAYOUT, FIRST_VALIDATION_LAYOUT + VALIDATION_LAYOUTS - 1],
            "rows": rows,
        }


def table3(
    *,
    layouts: int = 15,
    seed: int = 0,
    rules: Sequence[str] = METHODS,
    executions: Sequence[Execution] = EXECUTIONS,
    densities: Sequence[Density] = DENSITIES,
    drawn_layout: int | None = None,
    ties: Ties | None = None,
    progress: Progress | None = None,
) -> Table3:
    """Choose, fly and measure. `seed` fixes the wind's trial and the draws of `random`."""
    if layouts < 1:
        raise InputError(f"layouts must be at least 1, not {layouts}")
    drawn_layout = min(DRAWN_LAYOUT, layouts - 1) if drawn_layout is None else drawn_layout
    ties, tell = ties or Ties(), progress or (lambda what, share: None)
    count = layouts * len(densities) * len(executions) * len(rules)
    physics = Physics(min(count, LARGEST_BATCH))  # builds itself while thresholds are chosen
    tell("choosing thresholds on validation layouts", 0.0)
    jobs = [
        Job(density, number, rule, execution, draws=seed * layouts + number)
        for (density, execution), chosen in _choose_all(rules, densities, executions, ties).items()
        for number in range(layouts)
        for rule in chosen
    ]
    outcomes, drawn = [], []
    for made in _fly_all(jobs, physics, seed=seed, ties=ties, tell=tell):
        outcomes.append(made.outcome)
        if made.number == drawn_layout:
            drawn.append(made)
    physics.close()
    return Table3(layouts, seed, str(ties), _rows(jobs, outcomes), tuple(drawn))


def choose_rules(
    names: Sequence[str], density: Density, execution: Execution = "map", *, ties: Ties | None = None
) -> list[Rule]:
    """For each rule the candidate with the least mean exact regret on the validation layouts."""
    numbers = range(FIRST_VALIDATION_LAYOUT, FIRST_VALIDATION_LAYOUT + VALIDATION_LAYOUTS)
    missions = [
        crazyflie_mission(layout(density, k), wind(density, k), execution=execution, ties=ties)
        for k in numbers
    ]
    regret_of = [_regret_once(mission) for mission in missions]

    def total(rule: Rule) -> float:
        return sum(of(rule) for of in regret_of)

    chosen: list[Rule] = []
    for name in names:
        options = candidates(name, missions[0])
        if name == "regret-guided":  # the paper flies this one score
            options = [
                rule for rule in options if isinstance(rule, RegretGuided) and rule.score == "gap+drift"
            ]
        chosen.append(options[0] if len(options) == 1 else min(options, key=total))
    return chosen


def _choose_all(
    names: Sequence[str], densities: Sequence[Density], executions: Sequence[Execution], ties: Ties
) -> dict[tuple[Density, Execution], list[Rule]]:
    """`choose_rules` for every density and execution, on all cores."""
    from joblib import Parallel, delayed

    keys = list(product(densities, executions))
    chosen = Parallel(n_jobs=-1)(delayed(choose_rules)(names, *key, ties=ties) for key in keys)
    return dict(zip(keys, chosen, strict=True))  # pyright: ignore


def _regret_once(mission: Mission) -> Callable[[Rule], float]:
    """Exact regret of rules, computed once for each schedule."""
    best, known = oracle(mission.world), {}

    def of(rule: Rule) -> float:
        schedule = schedule_of(mission, rule)
        if schedule not in known:
            known[schedule] = regret(mission, schedule, best=best)
        return known[schedule]

    return of


def _fly_all(
    jobs: Sequence[Job], physics: Physics, *, seed: int, ties: Ties, tell: Progress
) -> Iterator[Track]:
    """Fly in batches of one fixed shape, so that the physics is compiled once."""
    for first in range(0, len(jobs), physics.drones):
        batch = jobs[first : first + physics.drones]

        def report(t: int, flight, agents, first=first) -> None:
            tell("flying", (first + len(agents) * (t + 1) / agents[0].horizon) / len(jobs))

        flown = fly_batch(batch, physics, seed=seed, ties=ties, progress=report)
        yield from (track(job, flown, k) for k, job in enumerate(batch))


def _rows(jobs: Sequence[Job], results: Sequence[Outcome]) -> tuple[Row, ...]:
    grouped: dict[tuple[Density, str, Execution], list[tuple[Job, Outcome]]] = {}
    for job, made in zip(jobs, results, strict=True):
        grouped.setdefault((job.density, job.rule.name, job.execution), []).append((job, made))
    rows = []
    for (density, name, execution), flights in grouped.items():
        outcomes = tuple(made for _, made in flights)
        reference = grouped.get((density, *REFERENCE), flights)  # pyright: ignore[reportArgumentType]
        cost = np.array([made.cost for made in outcomes])
        rows.append(
            Row(
                density,
                name,
                execution,
                parameters(flights[0][0].rule) if name != "random" else {},
                _proportion([made.success for made in outcomes]),
                _mean(np.array([float(made.collisions) for made in outcomes])),
                _mean(cost),
                _mean(cost - np.array([made.cost for _, made in reference])),
                PAPER.get(name, {}).get(density) if execution == "map" else None,
                outcomes,
            )
        )
    return tuple(rows)


def _mean(values: Array) -> Estimate:
    return Estimate(float(values.mean()), *bootstrap_interval(values))


def _proportion(successes: Sequence[bool]) -> Estimate:
    """Wilson's interval."""
    from scipy.stats import binomtest

    result = binomtest(sum(successes), len(successes))
    interval = result.proportion_ci(method="wilson")
    return Estimate(float(result.statistic), float(interval.low), float(interval.high))
