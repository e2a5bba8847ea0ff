"""Twenty robots share one planner: a price for each update is what couples them.

The planner can make so many updates in a mission, for all robots together. Each robot decides for itself,
with the same price for an update; the price is raised until the updates that all of them expect to make fit.
A robot that gains much from an update buys it, a robot that gains little does without, and nobody has to
know the others. The price holds on average and over the mission as a whole. It does not spread the updates
over time: robots that set out together all gain most from the same moment, and ask in the same step.
"""

from __future__ import annotations

import numpy as np

from replan import Lookahead, Mission, Robot, Spending, World, evaluate, linear, rollout, rover

STEPS = 20
GROUPS = {"dry": 0.0, "damp": 0.005, "wet": 0.012, "thawing": 0.02}
"""Rise of the slip in a step, where each group of five robots drives."""
EACH = 5
CAPACITY = 40  # updates of all robots in one mission


def world_of(rate: float) -> World:
    """The ground of one group."""
    return rover(5, linear(STEPS, slip=0.05, rate=rate))


def missions_at(price: float, worlds: dict[str, World]) -> dict[str, Mission]:
    """The mission of each group, all at one price."""
    robot = Robot(planning_horizon=6)
    return {name: Mission(world, robot, Spending.at_price(price)) for name, world in worlds.items()}


def expected_updates(missions: dict[str, Mission]) -> dict[str, float]:
    """The updates that a robot of each group expects to make."""
    found = {name: evaluate(each, Lookahead(), all_starts=False) for name, each in missions.items()}
    return {name: each.expected_updates for name, each in found.items()}


def price_that_fits(worlds: dict[str, World], *, dearest: float = 1.0, tries: int = 8) -> float:
    """Halve the interval of prices until it is narrow; return its upper end, where the updates fit."""
    low, high = 0.0, dearest
    for _ in range(tries):
        price = (low + high) / 2
        fits = EACH * sum(expected_updates(missions_at(price, worlds)).values()) <= CAPACITY
        low, high = (low, price) if fits else (price, high)
    return high


def requests(missions: dict[str, Mission], *, delay: int) -> np.ndarray:
    """Updates asked for in each step by the clock, of robots that set out `delay` steps apart."""
    asked = np.zeros(STEPS + delay * EACH * len(missions), dtype=int)
    for number, mission in enumerate(missions.values()):
        seeds = range(EACH * number, EACH * (number + 1))
        updates = rollout(mission, Lookahead(), seeds, trace=True).updates
        for seed, of_one in zip(seeds, updates, strict=True):
            asked[delay * seed : delay * seed + STEPS] += of_one
    return asked


def main() -> None:
    worlds = {name: world_of(rate) for name, rate in GROUPS.items()}
    price = price_that_fits(worlds)
    missions = missions_at(price, worlds)
    expected = expected_updates(missions)
    print(f"{EACH * len(worlds)} robots, {CAPACITY} updates: the price is {price:.4f}")
    for name, updates in expected.items():
        print(f"  {name:8s} {updates:.2f} updates for each robot")
    print(f"  together {EACH * sum(expected.values()):.1f} of {CAPACITY}")
    for delay, words in ((0, "all set out together"), (1, "one sets out in each step")):
        asked = requests(missions, delay=delay)
        print(f"{words}: {asked.sum()} updates, at most {asked.max()} in one step")


if __name__ == "__main__":
    main()
