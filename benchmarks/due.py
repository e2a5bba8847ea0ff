"""Decisions of a localised robot on a map of 200 x 200 cells: the 99th percentile of `due`.

Still ground: nothing has changed. Sand: it gives way around the robot's way, so that a new plan takes other
actions there; no update is made, so that every later decision weighs both plans to the end again. Decisions
are timed in processor seconds, so that other work of the machine does not count. The peer is the same
decision worked out on the whole map.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from benchmarks.timing import Row, alone
from replan.evaluation.agent_runs import SimulatedRobot
from replan.execute.agent import Agent
from replan.execute.mission import Mission
from replan.model.sizes import Sizes
from replan.schedule.registry import make_rule
from replan.worlds.settings import make_mission, parse_setting

SIDE, HORIZON, PLANNING_HORIZON = 200, 60, 30
MISSIONS = 5


def rows() -> list[Row]:
    table = []
    for rule in ("last-moment", "gain"):
        for what, mission in (("nothing has changed", crossing()), ("it has changed", crossing(sand=True))):
            whole, moved = replace(mission, sizes=Sizes(whole_world=SIDE**2)), what.startswith("it has")
            ours, theirs = (slowest(each, rule, weighed=moved) for each in (mission, whole))
            row = alone(f"due of {rule}, {SIDE} x {SIDE} cells, T = {HORIZON}, {what}: 99th percentile", ours)
            table.append({**row, "peer": "the same on the whole map", "peer_seconds": theirs})
    return table


def crossing(*, sand: bool = False) -> Mission:
    """A robot that crosses the map, sand in its way or not."""
    patch = {"slip": 0.02, "final_slip": 0.9, "begin": 1, "end": 4, "rows": (97, 103), "columns": (50, 150)}
    ground = {"slip": 0.02, "patches": [patch] if sand else [], "start": (100, 40), "goal": (100, 120)}
    data = {"world": "terrain", "n": SIDE, "horizon": HORIZON, "planning_horizon": PLANNING_HORIZON}
    return make_mission(parse_setting({**data, "budget": 4, "terrain": ground}), execution="localised")


def slowest(mission: Mission, rule: str, *, weighed: bool) -> float:
    """Return the 99th percentile of the seconds of a decision, of those that weigh two plans or of all."""
    agent, seconds = Agent.on(mission, make_rule(rule)), []
    for seed in range(MISSIONS):
        robot = SimulatedRobot(mission.world, seed=seed)
        agent.start(robot.look())
        while not agent.done:
            state = robot.look()
            mission.world.kernel(max(agent.time - 1, 0))  # made here: it is not part of a decision
            began = time.process_time()
            decision = agent.due(state)
            taken = time.process_time() - began
            if agent.time and (decision.score or not weighed):
                seconds.append(taken)
            robot.do(agent.act(state))
    assert len(seconds) >= 100, len(seconds)
    return float(np.percentile(seconds, 99))
