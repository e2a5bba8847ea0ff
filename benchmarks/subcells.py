"""Simulated flights planned on cells and on sub-cells, with either execution (needs the extra `crazyflow`).

`python -m benchmarks.subcells --layouts 30` prints success, collisions and cost of each model, rule and
execution on the same layouts in the same wind, and the difference of cost to `lookahead` (map) on cells.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np

from replan.execute.agent import Agent
from replan.model.kernel import Array, Indices
from replan.robots.crazyflie.crazyflow_flight import CrazyflowFlight
from replan.robots.crazyflie.flight import FlightOutcome, fly, outcome
from replan.robots.crazyflie.layouts import DENSITIES, cells_at, layout, make_wind, middles_at
from replan.robots.crazyflie.physics import Physics
from replan.robots.crazyflie.world import crazyflie_mission
from replan.schedule.registry import make_rule
from replan.skip.acting import EXECUTIONS
from replan.study.protocol import bootstrap_interval

RULES = ("periodic", "lookahead")
CUTS = 3


def subcells_at(positions: Array) -> Indices:
    """Return the sub-cells of positions."""
    return cells_at(positions, CUTS)


MODELS: dict[str, tuple[int, int, Callable[[Array], Indices]]] = {  # cuts of model and flight, and states
    "cells": (1, 1, cells_at),
    "sub-cells": (CUTS, CUTS, subcells_at),
    "sub-cells, middle after an update": (CUTS, 1, partial(middles_at, cuts=CUTS)),
}


def fly_model(
    physics: Physics, density, layouts: int, model: str
) -> dict[tuple[str, str], list[FlightOutcome]]:
    """Fly every rule and execution on the layouts as one batch."""
    cuts, flown_cuts, locate = MODELS[model]
    jobs = list(product(RULES, EXECUTIONS, range(layouts)))
    missions = {
        (execution, number): crazyflie_mission(
            layout(density, number), make_wind(density, number), execution=execution, cuts=cuts
        )
        for execution, number in product(EXECUTIONS, range(layouts))
    }
    agents = [Agent.on(missions[execution, number], make_rule(rule)) for rule, execution, number in jobs]
    flight = CrazyflowFlight(physics, [make_wind(density, number) for *_, number in jobs], cuts=flown_cuts)
    flown = fly(flight, agents, locate=locate)
    results: dict[tuple[str, str], list[FlightOutcome]] = {}
    for k, (rule, execution, number) in enumerate(jobs):
        results.setdefault((rule, execution), []).append(outcome(layout(density, number), flown.log, k))
    return results


def main() -> None:
    """Fly and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layouts", type=int, default=30)
    parser.add_argument("--density", choices=DENSITIES, default="dense")
    parser.add_argument("--models", nargs="*", default=list(MODELS)[1:], help="beside cells")
    arguments = parser.parse_args()
    physics = Physics(arguments.layouts * len(RULES) * len(EXECUTIONS))
    print("| model | rule | execution | success | collisions | cost | difference of cost |")
    print("|---|---|---|---:|---:|---:|---:|")
    reference = None
    for model in ("cells", *arguments.models):
        results = fly_model(physics, arguments.density, arguments.layouts, model)
        if reference is None:
            reference = np.array([made.cost for made in results["lookahead", "map"]])
        for (rule, execution), made in results.items():
            cost = np.array([one.cost for one in made])
            low, high = bootstrap_interval(cost - reference)
            cells = (
                f"{np.mean([one.success for one in made]):.2f}",
                f"{np.mean([one.collisions for one in made]):.2f}",
                f"{cost.mean():.2f}",
                f"{(cost - reference).mean():+.2f} [{low:+.2f}, {high:+.2f}]",
            )
            print("|", " | ".join((model, rule, execution, *cells)), "|", flush=True)
    physics.close()


if __name__ == "__main__":
    main()
