"""Wind, gusts and the planner's collision cost of Table 3, settled on layouts that are never evaluated.

`python -m benchmarks.flight_settings` (extra `crazyflow`) flies the three schedules without parameters on
layouts from `FIRST_LAYOUT` on. Wind and gusts are those whose success and collisions are nearest to the
paper's, in squared standard errors of its 15 layouts. Of the collision costs the one that flies at the least
cost is taken.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from replan.execute.agent import Agent
from replan.report.reports import reference
from replan.robots.crazyflie.crazyflow_flight import CrazyflowFlight, calibrate
from replan.robots.crazyflie.flight import FlightOutcome, fly, outcome
from replan.robots.crazyflie.flights import BATCH_UNIT
from replan.robots.crazyflie.layouts import Density, layout, make_wind
from replan.robots.crazyflie.physics import Physics
from replan.robots.crazyflie.world import COLLISION_COST, Calibration, crazyflie_mission
from replan.schedule.registry import make_rule
from replan.study.definition import LAYOUTS_AT_MOST

FIRST_LAYOUT = LAYOUTS_AT_MOST + 1_000  # beyond those on which thresholds are chosen
LAYOUTS = 32
DENSITIES: tuple[Density, ...] = ("sparse", "dense")
SCHEDULES = ("periodic", "front-loaded", "back-loaded")
STRENGTHS = (0.08, 0.10, 0.12)  # N
GUSTS = (0.010, 0.015, 0.020, 0.025, 0.030)  # N
COLLISION_COSTS = (0.5, 1.0, 2.0, 4.0)
PAPER_LAYOUTS = 15
SMALLEST_VARIANCE = 0.05  # of one flight, where the paper's figure is 0 or 1

Air = tuple[float, float, float]  # strength, gust, collision cost
Results = dict[tuple[Air, Density, str], list[FlightOutcome]]


def flown(airs: list[Air], tables: dict[float, Calibration]) -> Results:
    """Return the flights of every schedule and layout in each wind, flown as one batch."""
    numbers = range(FIRST_LAYOUT, FIRST_LAYOUT + LAYOUTS)
    jobs, agents, winds = [], [], []
    for air, density, number in product(airs, DENSITIES, numbers):
        strength, gust, cost = air
        made = make_wind(density, number, strength=strength, gust=gust)
        mission = crazyflie_mission(layout(density, number), made, table=tables[gust], collision_cost=cost)
        for schedule in SCHEDULES:
            jobs.append((air, density, schedule, number))
            agents.append(Agent.on(mission, make_rule(schedule), trial=False))
            winds.append(made)
    physics = Physics(-(-len(jobs) // BATCH_UNIT) * BATCH_UNIT)
    log = fly(CrazyflowFlight(physics, winds), agents).log
    physics.close()
    results: Results = {}
    for k, (air, density, schedule, number) in enumerate(jobs):
        results.setdefault((air, density, schedule), []).append(outcome(layout(density, number), log, k))
    return results


def distance(results: Results, air: Air) -> float:
    """Return the squared standard errors between the flights in one wind and the paper's figures."""
    total = 0.0
    printed = {
        (row["density"], row["rule"]): (float(row["success"]), float(row["collisions"]))
        for row in reference("paper-table3")
    }
    for density, schedule in product(DENSITIES, SCHEDULES):
        made = results[air, density, schedule]
        success, collisions = printed[density, schedule]
        variances = (max(success * (1 - success), SMALLEST_VARIANCE), max(collisions, SMALLEST_VARIANCE))
        ours = (np.mean([one.success for one in made]), np.mean([one.collisions for one in made]))
        gaps = np.subtract(ours, (success, collisions))
        total += float((gaps**2 / np.array(variances)).sum() * PAPER_LAYOUTS)
    return total


def row(results: Results, air: Air) -> str:
    """Return success, collisions and cost of both densities, means over schedules and layouts."""
    cells = [f"{value:g}" for value in air] + [f"{distance(results, air):.1f}"]
    for density in DENSITIES:
        made = [one for schedule in SCHEDULES for one in results[air, density, schedule]]
        cells += [
            f"{np.mean([getattr(one, name) for one in made]):.2f}"
            for name in ("success", "collisions", "cost")
        ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Fly and print."""
    columns = ["strength", "gust", "collision cost", "distance"]
    columns += [f"{density}: {name}" for density in DENSITIES for name in ("success", "collisions", "cost")]
    print("| " + " | ".join(columns) + " |\n|" + "---:|" * len(columns), flush=True)
    tables = {gust: calibrate(gust=gust) for gust in GUSTS}
    results: Results = {}
    for gust in GUSTS:
        airs = [(strength, gust, COLLISION_COST) for strength in STRENGTHS]
        results |= flown(airs, tables)
        print("\n".join(row(results, air) for air in airs), flush=True)
    strength, gust, _ = min({air for air, *_ in results}, key=lambda air: distance(results, air))
    airs = [(strength, gust, cost) for cost in COLLISION_COSTS]
    results = flown(airs, tables)
    print("\n".join(row(results, air) for air in airs))

    def cost_of(air: Air) -> float:
        return float(np.mean([one.cost for (a, *_), made in results.items() if a == air for one in made]))

    print("settled: strength {:g} N, gusts {:g} N, collision cost {:g}".format(*min(airs, key=cost_of)))


if __name__ == "__main__":
    main()
