"""Your map, your planner, no ROS: the robot drives on while its planner takes two seconds in a thread.

Two corridors lead to the goal, and a door in the lower one shuts while the robot is coming. The robot knows
where it is and sees five metres to each side. The planner runs once at the start and once for each update;
where nothing changes none is made. docs/own_map.md goes through the steps.
"""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from replan import Agent, Mission, Robot, SimulatedRobot, Spending, World, make_rule
from replan.robots import CellMap, Closure, KnownFloor, OccupancyMap, cell_world, cells_shown

CELL = 0.5  # metres
RANGE = 10  # cells that the sensors see, to each side
MOVES = ((0, 1), (0, -1), (1, 0), (-1, 0))  # right, left, down, up: the actions 0 to 3; 4 is to stay


def hall() -> CellMap:
    """Two corridors that meet in the middle and at the right end."""
    walls = np.ones((7, 30), dtype=bool)
    walls[[1, 5], 1:29] = False
    walls[1:6, [12, 28]] = False
    return CellMap(CELL, walls.shape, walls.reshape(-1))


def make_mission(cells: CellMap, *, shuts: int) -> Mission:
    """From the left end of the lower corridor to the right; updates take four steps and must save one."""
    door = Closure(corners=(10.0, 0.5, 11.0, 1.0), begin=shuts)
    start, goal = (int(cells.states_at(place)) for place in ((0.75, 0.75), (14.25, 0.75)))
    slip = np.full(80, 0.05)
    world = cell_world(cells, slip, start=start, goal=goal, objective="time", closures=[door])
    robot = Robot(planning_horizon=60, execution="localised", update_steps=4)
    return Mission(world, robot, Spending.at_price(1.0, limit=3))


class Planner:
    """Stands for yours: from walls to an action for each cell, slowly."""

    def __init__(self, cells: CellMap, goal: int, *, seconds: float) -> None:
        self.shape, self.goal, self.seconds = cells.shape, divmod(goal, cells.shape[1]), seconds
        self.calls = 0

    def __call__(self, blocked: np.ndarray) -> np.ndarray:
        """(S,) whether each cell is blocked -> (S,) the first action of a shortest way."""
        self.calls += 1
        time.sleep(self.seconds)
        reached = np.pad(blocked.reshape(self.shape), 1, constant_values=True)
        actions, goal = np.full(reached.shape, 4), (self.goal[0] + 1, self.goal[1] + 1)
        front, reached[goal] = deque([goal]), True
        while front:
            row, column = front.popleft()
            for action, (down, right) in enumerate(MOVES):
                before = row - down, column - right
                if not reached[before]:
                    reached[before], actions[before] = True, action
                    front.append(before)
        return actions[1:-1, 1:-1].reshape(-1)


def costmap_at(world: World, cells: CellMap, robot: SimulatedRobot) -> OccupancyMap:
    """Return what the sensors see around the robot: occupancy in percent, row 0 at the least y."""
    taken = world.kernel(robot.time).blocked.reshape(cells.shape)[::-1]
    row, column = cells.shape[0] - 1 - robot.state // cells.shape[1], robot.state % cells.shape[1]
    low, left = max(row - RANGE, 0), max(column - RANGE, 0)
    window = taken[low : row + RANGE + 1, left : column + RANGE + 1]
    return OccupancyMap(np.where(window, 100, 0), CELL, (left * CELL, low * CELL, 0.0))


def drive(mission: Mission, cells: CellMap, planner: Planner, *, step_seconds: float) -> Agent:
    """The loop, until the planner's goal is reached."""
    robot, floor, job = SimulatedRobot(mission.world), KnownFloor(mission.world.kernel(0)), None
    agent = Agent.on(mission, make_rule("last-moment"), estimator=floor, arrival="told")
    agent.start(robot.look(), policy=planner(agent.learned["blocked"]))
    with ThreadPoolExecutor(1) as thread:
        while not agent.done and divmod(robot.state, cells.shape[1]) != planner.goal:
            state = robot.look()
            agent.learn(floor.see, *cells_shown(costmap_at(mission.world, cells, robot), cells))
            if job is not None and job.done():
                agent.arrive(job.result())
                job = None
            if agent.due(state).update and agent.update(state):
                job = thread.submit(planner, agent.learned["blocked"])
            robot.do(agent.act(state))
            time.sleep(step_seconds)
    return agent


def main(planner_seconds: float = 2.0, step_seconds: float = 0.5) -> None:
    cells = hall()
    for shuts in (79, 5):
        mission = make_mission(cells, shuts=shuts)
        goal = int(cells.states_at((14.25, 0.75)))
        planner = Planner(cells, goal, seconds=planner_seconds)
        agent = drive(mission, cells, planner, step_seconds=step_seconds)
        for event in agent.log:
            if event.what in ("update", "arrival"):
                print(f"step {event.time}: {event.what}: {event.why}")
        updates = 3 - agent.budget_left
        print(f"there after {agent.time} steps, {updates} updates, {planner.calls} calls of the planner")


if __name__ == "__main__":
    main()
