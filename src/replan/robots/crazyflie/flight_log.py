"""A flight as an MCAP file that Foxglove opens: poses, setpoints, poles, and updates with their reasons."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from replan.robots.crazyflie.flight import Flown
from replan.robots.crazyflie.layouts import POLE_RADIUS, Layout
from replan.robots.logs.mcap_log import (
    FRAME,
    INFO,
    WARNING,
    McapLog,
    decision_message,
    line_message,
    path_message,
    pose_at,
    pose_message,
    stamp,
)
from replan.schedule.rule import Decision

POLE_HEIGHT = 1.0  # m

Message = tuple[float, str, dict[str, Any]]  # seconds, topic, message


def write_flight_log(path: str | Path, flown: Flown, layout: Layout, *, drone: int = 0) -> None:
    """Write the log of one drone's flight."""
    with McapLog(path) as log:
        for message in sorted(_messages(flown, layout, drone), key=lambda message: message[0]):
            log.add(*message)


def _messages(flown: Flown, layout: Layout, drone: int) -> list[Message]:
    log = flown.log
    found: list[Message] = [(float(log.times[0]), "/scene", _poles(layout))]
    for topic, places in (("/robot/pose", log.positions), ("/robot/setpoint", log.setpoints)):
        found += [
            (float(t), topic, pose_message(float(t), p))
            for t, p in zip(log.times, places[:, drone].tolist(), strict=True)
            if all(x == x for x in p)  # JSON has no NaN
        ]
    flight = log.positions[:, drone]
    seconds = float(log.times[-1])
    found.append((seconds, "/path", path_message(seconds, flight[~(flight != flight).any(axis=1)])))
    for event in flown.agents[drone].log:
        if event.what in ("update", "kept plan"):
            at = float(log.times[log.moves <= event.time - 1][-1])
            decision = replace(event.decision or Decision(True, ""), reason=event.why)
            found += [
                (at, "/log", line_message(at, f"{event.what} at {event.time}: {event.why}")),
                (at, "/decisions", decision_message(event.time, decision, event.state)),
            ]
    if flown.aborted:
        found.append((seconds, "/log", line_message(seconds, f"aborted: {flown.aborted}", level=WARNING)))
    if flown.landing:
        level = INFO if flown.landing.outcome == "landed" else WARNING
        found.append((seconds, "/log", line_message(seconds, str(flown.landing), level=level)))
    return found


def _poles(layout: Layout) -> dict[str, Any]:
    size = {"x": 2 * POLE_RADIUS, "y": 2 * POLE_RADIUS, "z": POLE_HEIGHT}
    cylinders = [
        {
            "pose": pose_at((x, y, POLE_HEIGHT / 2)),
            "size": size,
            "bottom_scale": 1.0,
            "top_scale": 1.0,
            "color": {"r": 0.5, "g": 0.5, "b": 0.5, "a": 1.0},
        }
        for x, y in layout.poles.tolist()
    ]
    entity = {"timestamp": stamp(0.0), "frame_id": FRAME, "id": "poles", "cylinders": cylinders}
    return {"deletions": [], "entities": [entity]}
