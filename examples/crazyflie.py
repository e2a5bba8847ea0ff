"""Fly one layout in simulated physics with two rules, and compare (needs the extra `crazyflow`)."""

from __future__ import annotations

from replan import make_rule
from replan.robots import FlightScene, Job, fly_one


def main() -> None:
    for name in ("front-loaded", "periodic"):
        flown, track = fly_one(Job(FlightScene("sparse", 0), make_rule(name)))
        result = track.outcome
        reached = "reached the goal" if result.success else "did not reach the goal"
        print(
            f"{name}: {reached} after {result.moves} moves, {result.collisions} collision events,"
            f" cost {result.cost:.2f}; updates at {', '.join(str(t) for t, _ in flown.updates(0))}"
        )


if __name__ == "__main__":
    main()
