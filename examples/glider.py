"""An underwater glider in currents: when should it surface?

Below, a glider is blind. At the surface it gets a position fix, the newest map of the currents and a new
plan, but it loses time. The field is made here, two eddies that drift west past an island; a NetCDF file of
yours takes its place with `field_world("currents.nc", ...)`.
"""

from __future__ import annotations

import numpy as np
import xarray

from replan import (
    Lookahead,
    Mission,
    Robot,
    Rule,
    Spending,
    evaluate,
    make_rule,
    optimum,
    rollout,
)
from replan.robots import field_world

PER_DEGREE = 111_195.0
"""Metres."""
SEEDS = np.arange(200)


def eddies(days: int = 14) -> xarray.Dataset:
    """Return the currents: two eddies that turn against each other and drift west, and an island."""
    lat, lon = np.arange(-35.5, -32.4, 0.25), np.arange(20.0, 25.1, 0.25)
    day, north, east = np.meshgrid(np.arange(days + 1.0), lat, lon, indexing="ij")
    stream = sum(
        turn * 38_000 * np.exp(-2 * ((north + 34 + 0.5 * turn) ** 2 + (east - at + 0.12 * day) ** 2))
        for at, turn in ((22.2, 1), (24.6, -1))
    )
    u = -np.gradient(stream, lat, axis=1) / PER_DEGREE
    v = np.gradient(stream, lon, axis=2) / (PER_DEGREE * np.cos(np.radians(north)))
    u[:, 8:10, 6:8] = v[:, 8:10, 6:8] = np.nan  # no current on land
    named = {"uo": ("eastward_sea_water_velocity", u), "vo": ("northward_sea_water_velocity", v)}
    return xarray.Dataset(
        {
            key: (("time", "lat", "lon"), values, {"standard_name": name, "units": "m s-1"})
            for key, (name, values) in named.items()
        },
        {"time": ("time", np.arange(days + 1), {"units": "days since 2024-05-01"}), "lat": lat, "lon": lon},
    )


def main() -> None:
    world = field_world(eddies(), start_time="2024-05-02", start=(5, 1), goal=(7, 18), horizon=24, speed=0.35)
    mission = Mission(world, Robot(planning_horizon=16, execution="belief"), Spending.exactly(3))
    print(f"{world.states} cells of 1/4 degree, {world.horizon} half days, 3 surfacings")
    rules: tuple[Rule, ...] = (make_rule("even"), Lookahead())
    for rule in rules:
        regret = evaluate(mission, rule).regret
        water = world.simulated_regret(mission, rule, SEEDS)
        print(
            f"{rule.name:<10} regret {regret:.3f} on cells, {water.regret:.3f} +- {water.margin:.3f} "
            f"in the water; surfaces at {surfacings(mission, rule)}"
        )
    print(f"{'best':<10} regret {optimum(mission).feedback_regret:.3f} with 3 surfacings")
    loss = world.discretisation_loss(missions=100)
    print(f"cells spread a step by {loss.extra_spread:.2f} cells more than the water does")


def surfacings(mission: Mission, rule: Rule) -> str:
    """Return the times of the surfacings of one glider in the water."""
    particles = mission.world.particles([0])
    updates = rollout(mission, rule, [0], trace=True, motion=particles).updates
    return ", ".join(map(str, np.flatnonzero(updates[0])))


if __name__ == "__main__":
    main()
