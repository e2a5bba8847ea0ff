"""A robot's run as an MCAP file that Foxglove opens, the same topics for simulated robots, drones and ROS 2.

`foxglove_layout.json` beside this file is a layout for it: map, path, belief, decisions and scores. Messages
are JSON with the fields of Foxglove's own schemas, which it knows by name.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from replan import Decision, Mission, World
from replan.errors import InputError
from replan.evaluation.agent_runs import AgentRun
from replan.typing import Array
from replan.worlds.cell_map import CellMap

LAYOUT = Path(__file__).with_name("foxglove_layout.json")
"""The layout to import into Foxglove."""
FRAME = "map"
FLOAT32 = 7
"""Foxglove's number for this type."""
INFO, WARNING = 2, 3

_TIME = {"type": "object", "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}}}
_OBJECT, _ARRAY, _NUMBER = {"type": "object"}, {"type": "array"}, {"type": ["number", "null"]}
_STRING, _WHOLE = {"type": "string"}, {"type": "integer"}
_SCHEMAS: dict[str, dict[str, Any]] = {
    "foxglove.PoseInFrame": {"timestamp": _TIME, "frame_id": _STRING, "pose": _OBJECT},
    "foxglove.PosesInFrame": {"timestamp": _TIME, "frame_id": _STRING, "poses": _ARRAY},
    "foxglove.Grid": {
        "timestamp": _TIME,
        "frame_id": _STRING,
        "pose": _OBJECT,
        "column_count": _WHOLE,
        "cell_size": _OBJECT,
        "row_stride": _WHOLE,
        "cell_stride": _WHOLE,
        "fields": _ARRAY,
        "data": {"type": "string", "contentEncoding": "base64"},
    },
    "foxglove.SceneUpdate": {"deletions": _ARRAY, "entities": _ARRAY},
    "foxglove.Log": {"timestamp": _TIME, "level": _WHOLE, "message": _STRING},
    "replan.Decision": {
        "step": _WHOLE,
        "update": {"type": "boolean"},
        "state": {"type": ["integer", "null"]},
        "reason": _STRING,
        "score": _NUMBER,
        "threshold": _NUMBER,
        "terms": _OBJECT,
    },
}
TOPICS = {
    "/map": "foxglove.Grid",
    "/scene": "foxglove.SceneUpdate",
    "/path": "foxglove.PosesInFrame",
    "/robot/pose": "foxglove.PoseInFrame",
    "/robot/believed": "foxglove.PoseInFrame",
    "/robot/setpoint": "foxglove.PoseInFrame",
    "/belief": "foxglove.Grid",
    "/decisions": "replan.Decision",
    "/log": "foxglove.Log",
}
"""Schema of each topic."""


def mcap_writer() -> Any:
    """Return the class that writes MCAP files. Raises `InputError` if the extra is not installed."""
    try:
        from mcap.writer import Writer
    except ImportError as error:
        raise InputError(
            f"robot logs need the extra: pip install -e '.[mcap]' in the checkout ({error})"
        ) from None
    return Writer


class McapLog:
    """An MCAP file that is being written; close it, or use it in a `with` statement."""

    def __init__(self, path: str | Path) -> None:
        writer = mcap_writer()
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            self._file = Path(path).open("wb")  # noqa: SIM115
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror})") from None
        self._writer = writer(self._file)
        self._writer.start(library="replan")
        self._channels: dict[str, int] = {}

    def add(self, seconds: float, topic: str, message: dict[str, Any]) -> None:
        """Write one message on a topic of `TOPICS`."""
        if topic not in self._channels:
            schema = {"type": "object", "properties": _SCHEMAS[TOPICS[topic]]}
            number = self._writer.register_schema(TOPICS[topic], "jsonschema", json.dumps(schema).encode())
            self._channels[topic] = self._writer.register_channel(topic, "json", number)
        stamp = round(seconds * 1e9)
        self._writer.add_message(self._channels[topic], stamp, json.dumps(message).encode(), stamp)

    def decide(self, seconds: float, step: int, decision: Decision, state: int | None = None) -> None:
        """Write a decision, and a line in the log if it is for an update."""
        self.add(seconds, "/decisions", decision_message(step, decision, state))
        if decision.update:
            self.add(seconds, "/log", line_message(seconds, f"update at {step}: {decision.reason}"))

    def close(self) -> None:
        """Finish the file."""
        self._writer.finish()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def decision_message(step: int, decision: Decision, state: int | None = None) -> dict[str, Any]:
    """Return a decision as a message; numbers that JSON does not have are null."""
    return {
        "step": step,
        "update": bool(decision.update),
        "state": state,
        "reason": decision.reason,
        "score": _finite(decision.score),
        "threshold": _finite(decision.threshold),
        "terms": decision.finite_terms,
    }


def _finite(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)


def line_message(seconds: float, text: str, *, level: int = INFO) -> dict[str, Any]:
    """Return a line of the log."""
    return {
        "timestamp": stamp(seconds),
        "level": level,
        "message": text,
        "name": "replan",
        "file": "",
        "line": 0,
    }


def pose_message(seconds: float, position: ArrayLike) -> dict[str, Any]:
    """Return the pose of a robot at x, y and, if given, z."""
    return {"timestamp": stamp(seconds), "frame_id": FRAME, "pose": pose_at(position)}


def path_message(seconds: float, points: ArrayLike) -> dict[str, Any]:
    """Return a path of (n, 2) points."""
    poses = [pose_at(point) for point in np.asarray(points, dtype=float)]
    return {"timestamp": stamp(seconds), "frame_id": FRAME, "poses": poses}


def grid_message(seconds: float, cells: CellMap, values: ArrayLike, name: str) -> dict[str, Any]:
    """Return (S,) values of the cells of a map, as the field `name`; Foxglove's rows go upwards."""
    rows = np.asarray(values, dtype="<f4").reshape(cells.shape)[::-1]
    x, y, yaw = cells.origin
    return {
        "timestamp": stamp(seconds),
        "frame_id": FRAME,
        "pose": pose_at((x, y), yaw),
        "column_count": cells.shape[1],
        "cell_size": {"x": cells.cell, "y": cells.cell},
        "row_stride": 4 * cells.shape[1],
        "cell_stride": 4,
        "fields": [{"name": name, "offset": 0, "type": FLOAT32}],
        "data": b64encode(rows.tobytes()).decode(),
    }


def pose_at(position: ArrayLike, yaw: float = 0.0) -> dict[str, Any]:
    """Return a pose at x, y and, if given, z."""
    x, y, z = (*np.asarray(position, dtype=float).tolist(), 0.0)[:3]
    return {
        "position": {"x": x, "y": y, "z": z},
        "orientation": {"x": 0.0, "y": 0.0, "z": float(np.sin(yaw / 2)), "w": float(np.cos(yaw / 2))},
    }


def stamp(seconds: float) -> dict[str, int]:
    """Return a time as Foxglove writes it."""
    whole, rest = divmod(round(seconds * 1e9), 1_000_000_000)
    return {"sec": whole, "nsec": rest}


COSTLY, DRIFTING = 0.6, 0.4
"""Values of cells of the map that cost more or drift, beside 1 for walls."""


def write_mission_log(path: str | Path, mission: Mission, run: AgentRun) -> str:
    """Write a run: decisions, and where the world is a grid also map, path, poses and belief.

    Return a hint at the layout.
    """
    decisions = dict(run.decisions)
    with McapLog(path) as log:
        cells, costs = _floor(mission.world) or (None, None)
        if cells is not None and costs is not None:
            log.add(0.0, "/map", grid_message(0.0, cells, costs, "cost"))
        for t, belief in enumerate(beliefs(mission, run)):
            if cells is not None:
                log.add(t, "/robot/pose", pose_message(t, cells.positions_of(run.states[t])))
                log.add(t, "/robot/believed", pose_message(t, cells.positions_of(run.believed[t])))
                log.add(t, "/belief", grid_message(t, cells, belief, "probability"))
                log.add(t, "/path", path_message(t, cells.positions_of(run.states[: t + 1])))
            if t in decisions:
                log.decide(t, t, decisions[t], int(run.states[t]) if decisions[t].update else None)
    return f"; in Foxglove import the layout {LAYOUT}"


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


def _floor(world: World) -> tuple[CellMap, Array] | None:
    """Return the cells of a grid world and (S,) the values of its map; None if its states are not cells."""
    ground = world.grid_map()
    if ground is None:
        return None
    costs = np.zeros(world.states)
    costs[list(ground.drifting)] = DRIFTING
    costs[list(ground.costly)] = COSTLY
    costs[list(ground.walls)] = 1.0
    return CellMap(1.0, (ground.rows, ground.columns), costs == 1.0), costs
