"""A flight as an MCAP file that Foxglove opens: poses, setpoints, poles, and updates with their reasons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from replan.errors import InputError
from replan.robots.crazyflie.flight import Flown
from replan.robots.crazyflie.layouts import POLE_RADIUS, Layout

FRAME = "layout"
POLE_HEIGHT = 1.0  # m
_TIME = {"type": "object", "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}}}
_OBJECT = {"type": "object"}
_SCHEMAS = {  # Foxglove goes by the names; the fields are its own
    "foxglove.PoseInFrame": {"timestamp": _TIME, "frame_id": {"type": "string"}, "pose": _OBJECT},
    "foxglove.SceneUpdate": {"deletions": {"type": "array"}, "entities": {"type": "array"}},
    "foxglove.Log": {"timestamp": _TIME, "level": {"type": "integer"}, "message": {"type": "string"}},
    "replan.Update": {
        "step": {"type": "integer"},
        "state": {"type": "integer"},
        "reason": {"type": "string"},
        "score": {"type": ["number", "null"]},
        "threshold": {"type": ["number", "null"]},
        "terms": _OBJECT,
    },
}
_TOPICS = {
    "/drone/pose": "foxglove.PoseInFrame",
    "/drone/setpoint": "foxglove.PoseInFrame",
    "/layout": "foxglove.SceneUpdate",
    "/log": "foxglove.Log",
    "/updates": "replan.Update",
}
_INFO, _WARNING = 2, 3


def mcap_writer():
    """Return the class that writes MCAP files; refuse where the extra is not installed."""
    try:
        from mcap.writer import Writer
    except ImportError as error:
        raise InputError(
            f"flight logs need the extra: pip install -e '.[mcap]' in the checkout ({error})"
        ) from None
    return Writer


def write_flight_log(path: str | Path, flown: Flown, layout: Layout, *, drone: int = 0) -> None:
    """Write the log of one drone's flight."""
    Writer = mcap_writer()
    messages = sorted(_messages(flown, layout, drone), key=lambda message: message[0])
    with Path(path).open("wb") as file:
        writer = Writer(file)
        writer.start(library="replan")
        schemas = {
            name: writer.register_schema(name, "jsonschema", _json({"type": "object", "properties": fields}))
            for name, fields in _SCHEMAS.items()
        }
        channels = {
            topic: writer.register_channel(topic, "json", schemas[name]) for topic, name in _TOPICS.items()
        }
        for seconds, topic, message in messages:
            nanoseconds = round(seconds * 1e9)
            writer.add_message(channels[topic], nanoseconds, _json(message), nanoseconds)
        writer.finish()


def _messages(flown: Flown, layout: Layout, drone: int) -> list[tuple[float, str, dict[str, Any]]]:
    """(seconds, topic, message) of everything."""
    log = flown.log
    found: list[tuple[float, str, dict[str, Any]]] = [(float(log.times[0]), "/layout", _poles(layout))]
    for topic, places in (("/drone/pose", log.positions), ("/drone/setpoint", log.setpoints)):
        found += [
            (float(t), topic, _pose(float(t), p))
            for t, p in zip(log.times, places[:, drone].tolist(), strict=True)
            if all(x == x for x in p)  # JSON has no NaN
        ]
    for event in flown.agents[drone].log:
        if event.what in ("update", "kept plan"):
            seconds = float(log.times[log.moves <= event.time - 1][-1])
            decision = event.decision
            found.append(
                (seconds, "/log", _line(seconds, _INFO, f"{event.what} at {event.time}: {event.why}"))
            )
            update = {
                "step": event.time,
                "state": event.state,
                "reason": event.why,
                "score": decision.score if decision else None,
                "threshold": decision.threshold if decision else None,
                "terms": decision.finite_terms if decision else {},
            }
            found.append((seconds, "/updates", update))
    seconds = float(log.times[-1])
    if flown.aborted:
        found.append((seconds, "/log", _line(seconds, _WARNING, f"aborted: {flown.aborted}")))
    if flown.landing:
        level = _INFO if flown.landing.outcome == "landed" else _WARNING
        found.append((seconds, "/log", _line(seconds, level, str(flown.landing))))
    return found


def _pose(seconds: float, position: list[float]) -> dict[str, Any]:
    pose = {
        "position": dict(zip("xyz", position, strict=True)),
        "orientation": {"x": 0, "y": 0, "z": 0, "w": 1},
    }
    return {"timestamp": _stamp(seconds), "frame_id": FRAME, "pose": pose}


def _line(seconds: float, level: int, message: str) -> dict[str, Any]:
    return {
        "timestamp": _stamp(seconds),
        "level": level,
        "message": message,
        "name": "replan",
        "file": "",
        "line": 0,
    }


def _poles(layout: Layout) -> dict[str, Any]:
    size = {"x": 2 * POLE_RADIUS, "y": 2 * POLE_RADIUS, "z": POLE_HEIGHT}
    cylinders = [
        {
            "pose": _pose(0.0, [x, y, POLE_HEIGHT / 2])["pose"],
            "size": size,
            "bottom_scale": 1.0,
            "top_scale": 1.0,
            "color": {"r": 0.5, "g": 0.5, "b": 0.5, "a": 1.0},
        }
        for x, y in layout.poles.tolist()
    ]
    entity = {"timestamp": _stamp(0.0), "frame_id": FRAME, "id": "poles", "cylinders": cylinders}
    return {"deletions": [], "entities": [entity]}


def _stamp(seconds: float) -> dict[str, int]:
    whole = int(seconds)
    return {"sec": whole, "nsec": round((seconds - whole) * 1e9)}


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()
