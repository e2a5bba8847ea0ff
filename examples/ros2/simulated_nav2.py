"""A simulated robot under Nav2, to see what a replanning rule is worth before a real one drives.

It drives through seven kinds of halls, in six of which ways get closed and floor gets wet at times and places
that a seed draws and nobody is told. It sees 3 m far, feels the floor under it, and its planner finds the
fastest way on what it knows. It replans by one of these triggers:

- 1 Hz: Nav2's default tree.
- path expired: a new path every 15 s (`PathExpiringTimer`).
- distance: a new path every metre (`DistanceController`).
- last-moment: asks the scheduler of `replan` once a second, as Nav2's trees ask IsPathValid.

All is done in one process on a simulated clock. With `--dds N` the first N missions of each hall are driven
again with `replan ros` as a process of its own, over real DDS (extra `ros`, no ROS), and must come out the
same, replan by replan. `--out FOLDER` writes the table as Markdown and CSV. The halls are in `halls.py`,
robot and triggers in `hall_robot.py`, beside this file.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from hall_robot import TRIGGERS, Driven, HallRobot, PathTrigger, drive_mission
from halls import HALLS, draw_hall

from replan.results.table import Table, TableCell

OURS = "replan, last-moment"
OFTEN = "1 Hz, Nav2's default"


def missions(hall: str, trigger: PathTrigger, count: int) -> list[Driven]:
    """Drive the missions of a hall."""
    return [drive_mission(HallRobot(draw_hall(hall, seed), seed), trigger) for seed in range(count)]


def compare(halls: list[str], count: int) -> dict[tuple[str, str], list[Driven]]:
    """Return the missions by hall and trigger."""
    return {
        (hall, label): missions(hall, make(), count) for hall in halls for label, make in TRIGGERS.items()
    }


def differences_over_dds(halls: list[str], count: int, domain: int) -> list[str]:
    """Return the missions that come out otherwise over DDS than in one process."""
    from asking_over_dds import asking_over_dds

    found = []
    with tempfile.TemporaryDirectory() as folder, asking_over_dds(Path(folder), domain) as asking:
        for hall in halls:
            here, there = missions(hall, TRIGGERS[OURS](), count), missions(hall, asking, count)
            found += [f"{hall} {k}" for k in range(count) if here[k] != there[k]]
    return found


def table(found: dict[tuple[str, str], list[Driven]], count: int) -> Table:
    """The means of every hall and trigger."""
    rows = []
    for (hall, label), driven in found.items():
        seconds = np.array([each.seconds for each in driven])
        often = np.array([each.seconds for each in found[hall, OFTEN]])
        figures = {
            "replans": (np.mean([len(each.replans) for each in driven]), "{:.2f}"),
            "most": (max(len(each.replans) for each in driven), "{}"),
            "seconds": (seconds.mean(), "{:.1f}"),
            "of 1 Hz": (seconds.mean() / often.mean(), "{:.3f}"),
            "arrived": (np.mean([each.arrived for each in driven]), "{:.0%}"),
            "flips": (np.mean([each.flips for each in driven]), "{:.2f}"),
        }
        cells = [TableCell(form.format(value), float(value)) for value, form in figures.values()]
        rows.append([hall, label, *cells])
    columns = ["hall", "trigger", "replans", "most", "seconds to the goal", "of 1 Hz", "arrived", "flips"]
    notes = [f"Means over {count} missions a hall with the same halls and slips for every trigger."]
    return Table("Replans and time to the goal under Nav2", columns, rows, notes, labels=2, name="nav2")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--missions", type=int, default=5, help="of each hall")
    parser.add_argument("--halls", nargs="+", default=list(HALLS), metavar="HALL", help=", ".join(HALLS))
    parser.add_argument("--dds", type=int, default=0, help="missions of each hall driven over DDS too")
    parser.add_argument("--domain", type=int, default=87)
    parser.add_argument("--out", type=Path, help="folder for nav2.md and nav2.csv")
    options = parser.parse_args(arguments)
    shown = table(compare(options.halls, options.missions), options.missions)
    print(shown.markdown())
    if options.dds:
        differing = differences_over_dds(options.halls, options.dds, options.domain)
        driven = options.dds * len(options.halls)
        print(f"over DDS: {driven - len(differing)} of {driven} missions the same", *differing, sep="\n")
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "nav2.md").write_text(shown.markdown())
        (options.out / "nav2.csv").write_text(shown.csv())


if __name__ == "__main__":
    main()
