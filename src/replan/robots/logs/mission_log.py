"""The run of a simulated robot as an MCAP file: one second for each step, one metre for each cell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from replan.evaluation.agent_runs import AgentRun
from replan.execute.mission import Mission
from replan.model.kernel import Array
from replan.report.world_drawing import GridDrawing
from replan.robots.logs.mcap_log import McapLog, grid_message, path_message, pose_message
from replan.worlds.cell_map import CellMap

COSTLY, DRIFTING = 0.6, 0.4
"""Values of cells of the map that cost more or drift, beside 1 for walls."""


def write_mission_log(path: str | Path, mission: Mission, run: AgentRun) -> None:
    """Write a run: decisions, and where the world is a grid also map, path, poses and belief."""
    decisions = dict(run.decisions)
    with McapLog(path) as log:
        ground = GridDrawing.of(mission.world)
        cells = None if ground is None else _cells(ground)
        if ground is not None and cells is not None:
            log.add(0.0, "/map", grid_message(0.0, cells, _costs(ground), "cost"))
        for t, belief in enumerate(beliefs(mission, run)):
            if cells is not None:
                log.add(t, "/robot/pose", pose_message(t, cells.positions_of(run.states[t])))
                log.add(t, "/robot/believed", pose_message(t, cells.positions_of(run.believed[t])))
                log.add(t, "/belief", grid_message(t, cells, belief, "probability"))
                log.add(t, "/path", path_message(t, cells.positions_of(run.states[: t + 1])))
            if t in decisions:
                log.decide(t, t, decisions[t], int(run.states[t]) if decisions[t].update else None)


def beliefs(mission: Mission, run: AgentRun) -> Iterator[Array]:
    """Yield (S,) the probabilities of the robot's state as it knows them, at t = 0..T-1."""
    states = mission.world.states
    plan, estimate = mission.update(0), None
    for t in range(mission.horizon):
        if t in run.times:
            plan = mission.update(t)
        if t == 0 or t in run.times or mission.robot.sees:
            estimate = plan.propagation.begin(run.states[[t]])
        if mission.robot.execution == "belief":
            dense = estimate if isinstance(estimate, np.ndarray) else estimate.toarray()  # pyright: ignore
            yield np.asarray(dense)[0]
        else:
            yield np.eye(states)[run.believed[t]]
        if not mission.robot.sees:
            estimate = plan.propagation.advance(estimate, run.actions[[t]], t)


def _cells(ground: GridDrawing) -> CellMap:
    blocked = np.zeros(ground.rows * ground.columns, dtype=bool)
    blocked[list(ground.walls)] = True
    return CellMap(1.0, (ground.rows, ground.columns), blocked)


def _costs(ground: GridDrawing) -> Array:
    """(S,) the values of the map's cells."""
    costs = np.zeros(ground.rows * ground.columns)
    costs[list(ground.drifting)] = DRIFTING
    costs[list(ground.costly)] = COSTLY
    costs[list(ground.walls)] = 1.0
    return costs
