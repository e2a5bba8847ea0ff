"""Exact evaluation on large grids: time and peak memory, on the cells that the robot can reach and on all.

`python -m benchmarks.reach WORK N EXECUTION [whole]` runs one case and prints its seconds and megabytes. The
mission has T = 50, B = 4 and H = 7; the robot sets out in the middle of the map, six rows and columns from
the goal. On all cells, with dense distributions, only the sizes in `WORK` are run: larger ones take
gigabytes, many minutes, or do not fit.
"""

from __future__ import annotations

import subprocess
import sys
import time

from benchmarks.timing import Row, peak_megabytes
from replan import Robot, Spending

WORK = {
    "regret of a schedule": {"map": 400, "belief": 100},
    "regret of look-ahead": {"map": 100},
    "optimum": {"map": 400},
    "certificate": {"map": 0, "belief": 0},
}
"""By execution the largest map that is also evaluated on all cells."""
SIZES = (100, 400, 1000)


def rows() -> list[Row]:
    table = []
    for work, executions in WORK.items():
        for execution, largest in executions.items():
            for n in SIZES:
                ours, megabytes = in_new_process(work, str(n), execution)
                whole = in_new_process(work, str(n), execution, "whole") if n <= largest else None
                table.append(
                    Row(
                        what=f"{work}, {execution}, n = {n}, T = 50, B = 4: {megabytes:.0f} MB",
                        ours_seconds=ours,
                        peer=f"all cells, dense: {whole[1]:.0f} MB" if whole else None,
                        peer_seconds=whole[0] if whole else None,
                    )
                )
    return table


def in_new_process(*case: str) -> tuple[float, ...]:
    """The numbers of `measure` in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.reach", *case]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    return tuple(map(float, ran.stdout.split()))


def measure(work: str, n: int, execution: str, *, whole: bool) -> tuple[float, float]:
    """Seconds of the work, loops loaded, and the peak memory of the process in megabytes."""
    from replan.certificates.certificate import certify
    from replan.evaluation.exact import regret
    from replan.evaluation.optimal_schedule import optimum
    from replan.execute.mission import Mission
    from replan.model.drift import piecewise
    from replan.model.sizes import Sizes
    from replan.schedule.periodic import Periodic
    from replan.schedule.registry import make_rule
    from replan.worlds.slip_grid import rover

    sizes = Sizes(whole_world=sys.maxsize) if whole else Sizes()  # no sparse distributions either

    def mission(n: int) -> Mission:
        slip = piecewise(50, slip=0.03, quiet=0.001, bursts=[(0.2, 0.34, 0.018), (0.62, 0.82, 0.018)])
        start, goal = (n // 2, n // 2), (n // 2 + 6, n // 2 + 6)
        world = rover(n, slip, start=start, goal=goal)
        return Mission(world, Robot(planning_horizon=7, execution=execution), Spending.exactly(4), sizes)

    def run(mission: Mission) -> None:
        if work == "optimum":
            optimum(mission)
        elif work == "certificate":
            certify(mission, Periodic())
        else:
            regret(mission, Periodic() if work.endswith("schedule") else make_rule("lookahead"))

    run(mission(14))
    began = time.perf_counter()
    run(mission(n))
    return time.perf_counter() - began, peak_megabytes()


if __name__ == "__main__":
    print(*measure(sys.argv[1], int(sys.argv[2]), sys.argv[3], whole="whole" in sys.argv))
