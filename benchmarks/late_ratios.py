"""Regret of rules whose updates take time, over the floor of the `frozen` robot with the same updates.

`python -m benchmarks.late_ratios belief|localised [--every N] [--keep FILE]` sums over the rover, ice, wind
and terrain worlds of suite v1's test part (localised: ice, wind and terrain) that have room for such updates,
with the suite's budgets. `--every N` takes every N-th world of each family. FILE holds one line for each
regret that is known; the same command goes on with it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path

from replan import regret
from replan.evaluation.optimal_schedule import feedback_regrets
from replan.execute.mission import Mission
from replan.schedule.last_moment import LastMoment
from replan.schedule.lookahead import Lookahead
from replan.schedule.rule import Rule
from replan.study.study_rules import Unaware
from replan.suite import SuiteWorld, suite_worlds
from replan.suite.catalogue import FIRST_VERSION, SuiteRobot

STEPS = (1, 2, 4, 8)
FLOOR, KNOWS, IGNORES = "floor", "knows d", "ignores d"
LOCAL = ("thin-ice", "crosswind", "terrain")
Known = dict[tuple[str, int, str], float]
"""Regrets by world, steps, and what was measured."""


def worlds_of(execution: str, every: int) -> list[SuiteWorld]:
    """Return every N-th world of each family."""
    families: dict[str, list[SuiteWorld]] = {}
    for world in suite_worlds("test", FIRST_VERSION):
        if world.family in LOCAL or (execution == "belief" and world.family.startswith("rover-")):
            families.setdefault(world.family, []).append(world)
    return [world for worlds in families.values() for world in worlds[::every]]


def measurements(world: SuiteWorld, execution: str, steps: int) -> Iterator[tuple[str, Callable[[], float]]]:
    """Yield what is measured in a world, and a function that measures it."""

    def mission(forecast: str = "frozen") -> Mission:
        return world.mission(execution, SuiteRobot(forecast, steps))  # pyright: ignore[reportArgumentType]

    rule: Rule = LastMoment() if execution == "localised" else Lookahead()
    forecast = "frozen" if execution == "localised" else "mixture"
    yield FLOOR, lambda: float(feedback_regrets(mission(), mission().limit)[-1])
    yield KNOWS, lambda: float(regret(mission(forecast), rule))
    yield IGNORES, lambda: float(regret(mission(forecast), Unaware(of=rule.name)))


def measure(worlds: list[SuiteWorld], execution: str, keep: Path | None) -> Known:
    """Return all regrets of the worlds in which updates have room."""
    lines = keep.read_text().splitlines() if keep is not None and keep.exists() else []
    known = {(world, steps, what): value for world, steps, what, value in map(json.loads, lines)}
    for world in worlds:
        for steps in STEPS:
            if world.has_room(SuiteRobot(update_steps=steps)):
                for what, work in measurements(world, execution, steps):
                    key = world.name, steps, what
                    if key not in known:
                        known[key] = work()
                        if keep is not None:
                            with keep.open("a") as file:
                                file.write(json.dumps([*key, known[key]]) + "\n")
    return known


def table(worlds: list[SuiteWorld], known: Known) -> list[str]:
    """Return the sums by steps, and the ratios to the floor, as lines of a Markdown table."""
    lines = ["| d | worlds | floor | knows d | ignores d | knows / floor | ignores / floor |"]
    lines.append("|---:|---:|---:|---:|---:|---:|---:|")
    for steps in STEPS:
        names = [world.name for world in worlds if (world.name, steps, FLOOR) in known]
        floor, knows, ignores = (
            sum(known[name, steps, what] for name in names) for what in (FLOOR, KNOWS, IGNORES)
        )
        sums = " | ".join(f"{each:.3f}" for each in (floor, knows, ignores, knows / floor, ignores / floor))
        lines.append(f"| {steps} | {len(names)} | {sums} |")
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("execution", choices=["belief", "localised"])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    worlds = worlds_of(given.execution, given.every)
    print("\n".join(table(worlds, measure(worlds, given.execution, given.keep))))


if __name__ == "__main__":
    main()
