"""Updates of an agent that learns its kernel: the median and the slowest of a mission in a new process.

`python -m benchmarks.updates ESTIMATOR` runs one mission and prints the seconds of construction, of the
median update and of the slowest one. No update may take 20 times the median: everything is compiled or
loaded before. Updates are timed in processor seconds, so that other work of the machine does not count.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

import numpy as np

from benchmarks.timing import Row, alone
from replan import Robot, Spending

UPDATES = 500


def rows() -> list[Row]:
    table = []
    for name in ("DriftBoundedMLE", "PooledSlip"):
        construction, median, slowest = in_new_process(name)
        table.append(alone(f"first agent of a process, {name}, nothing compiled yet", construction))
        table.append(alone(f"median of its {UPDATES} updates", median))
        table.append(alone(f"slowest of them, {slowest / median:.1f} times the median", slowest))
    return table


def in_new_process(name: str) -> tuple[float, ...]:
    """The numbers of `mission` in a process that finds nothing compiled."""
    with tempfile.TemporaryDirectory() as empty:
        command, environment = [sys.executable, "-m", "benchmarks.updates", name], {"NUMBA_CACHE_DIR": empty}
        ran = subprocess.run(
            command, env=os.environ | environment, check=True, capture_output=True, text=True
        )
        return tuple(map(float, ran.stdout.split()))


def mission(estimator: str) -> tuple[float, float, float]:
    """Seconds to construct the agent, of its median update and of its slowest."""
    from replan.estimate.drift_bounded_mle import DriftBoundedMLE
    from replan.estimate.slip_mle import PooledSlip
    from replan.execute.agent import Agent
    from replan.execute.mission import Mission
    from replan.model.drift import linear
    from replan.schedule.periodic import Periodic
    from replan.worlds.slip_grid import rover

    world = rover(12, linear(UPDATES + 1, slip=0.05, rate=0.001))
    flown = Mission(world, Robot(planning_horizon=7), Spending.exactly(UPDATES))
    draws = np.random.default_rng(0).random((UPDATES + 1, 1))
    began = time.perf_counter()
    learn = DriftBoundedMLE if estimator == "DriftBoundedMLE" else PooledSlip
    agent = Agent.on(flown, Periodic(), estimator=learn(world.kernel(0), world.drift_bounds))
    agent.start(world.start)
    construction = time.perf_counter() - began
    state, previous, seconds = world.start, None, []
    while not agent.done:
        if agent.due().update:
            began = time.process_time()
            agent.update(state, previous)
            seconds.append(time.process_time() - began)
        previous, action = state, agent.act()
        step = world.kernel(agent.time - 1).sample(
            np.array([state]), np.array([action]), draws[agent.time - 1]
        )
        state = int(step[0])
    assert len(seconds) == UPDATES
    return construction, float(np.median(seconds)), max(seconds)


if __name__ == "__main__":
    print(*mission(sys.argv[1]))
