"""A robot on a map of 1000 x 1000 cells: what its loop costs at every step, and its regret, exactly.

The map has walls. The robot looks four times in fifty steps and chooses the times by look-ahead; between
looks it acts on its belief. Everything is computed on the cells that it can reach: the map's size costs only
the plans, which are made for every cell.
"""

from __future__ import annotations

import time

import numpy as np

from replan import Agent, Mission, Robot, SimulatedRobot, Spending, make_rule, piecewise, regret, rover

SIDE, STEPS, LOOKS = 1000, 50, 4


def make_mission(side: int = SIDE) -> Mission:
    """Walls with gaps across the whole map, and slip that grows in two bursts."""
    slip = piecewise(STEPS, slip=0.03, quiet=0.001, bursts=[(0.2, 0.34, 0.018), (0.62, 0.82, 0.018)])
    middle = side // 2
    walls = [(i, j) for i in range(3, side, 8) for j in range(side) if j % 9 and (i, j) != (middle, middle)]
    goal = (middle + 6, middle + 9)
    world = rover(side, slip, start=(middle, middle), goal=goal, obstacles=set(walls) - {goal})
    return Mission(world, Robot(planning_horizon=12, execution="belief"), Spending.exactly(LOOKS))


def drive(mission: Mission) -> dict[str, np.ndarray]:
    """Seconds of every decision, update and action of one mission."""
    agent = Agent.on(mission, make_rule("lookahead"))
    robot = SimulatedRobot(mission.world, seed=0)
    seconds = {"decide": [], "update": [], "act": [], "step": []}

    def timed(name: str, work, *arguments):
        began = time.perf_counter()
        result = work(*arguments)
        seconds[name].append(time.perf_counter() - began)
        return result

    agent.start(robot.look())
    while not agent.done:
        began = time.perf_counter()
        if timed("decide", agent.due).update:
            timed("update", agent.update, robot.look())
        action = timed("act", agent.act)
        seconds["step"].append(time.perf_counter() - began)
        robot.do(action)
    return {name: np.array(each) for name, each in seconds.items()}


def main() -> None:
    mission = make_mission()
    print(f"{mission.world.states:,} cells, {STEPS} steps, {LOOKS} looks")
    for name, seconds in drive(mission).items():
        median, late, worst = 1e3 * np.percentile(seconds, [50, 99, 100])
        print(f"  {name:<7} p50 {median:8.3f} ms   p99 {late:8.3f} ms   max {worst:8.3f} ms")
    began = time.perf_counter()
    exact = regret(mission, make_rule("lookahead"))
    print(f"  exact regret {exact:.3f}, computed in {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
