"""A scheduler in mid-mission as a folder of two files, so that a restarted process goes on where it was."""

from __future__ import annotations

import json
import os
from pathlib import Path as File
from zipfile import BadZipFile

import numpy as np

from replan.errors import InputError
from replan.robots.ros2.nav2_scheduler import Nav2Scheduler, Path
from replan.schedule.rule import Decision
from replan.worlds.cell_map import CellMap

HEADER = "scheduler.npz"
_PLAIN = ("start", "goal", "moves", "began", "asked", "paths", "beyond_budget")


def save(scheduler: Nav2Scheduler, folder: str | File) -> None:
    """Write the mission. A crash leaves the old one or the new one, never half of it."""
    folder = File(folder)
    folder.mkdir(parents=True, exist_ok=True)
    drive = scheduler.drive
    header: dict = {"mission": drive is not None}
    arrays = {}
    if drive is not None:
        agent = f"agent-{scheduler.changes}-{os.getpid()}.npz"
        drive.agent.save(folder / agent)
        due = None if drive.due is None else {**vars(drive.due), "terms": dict(drive.due.terms)}
        header |= {name: getattr(drive, name) for name in _PLAIN}
        header |= {"agent": agent, "due": due, "stamp": drive.path.stamp}
        cells = drive.cells
        header |= {"cell": cells.cell, "inflation": cells.inflation, "origin": list(cells.origin)}
        arrays = {
            "blocked": cells.blocked.reshape(cells.shape),
            "points": drive.path.points,
            "way": drive.way,
        }
    unfinished = folder / f"{HEADER}.part"
    with unfinished.open("wb") as file:
        np.savez(file, header=np.array(json.dumps(header, default=float)), **arrays)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(folder / HEADER)
    for old in folder.glob("agent-*.npz"):
        if old.name != header.get("agent"):
            old.unlink(missing_ok=True)


def restore(scheduler: Nav2Scheduler, folder: str | File) -> bool:
    """Take up a saved mission. Return False if there is none; `InputError` if it is of no use."""
    folder = File(folder)
    if not (folder / HEADER).exists():
        return False
    try:
        with np.load(folder / HEADER, allow_pickle=False) as file:
            arrays = dict(file)
        header = json.loads(str(arrays["header"]))
        if not header["mission"]:
            return False
        blocked = arrays["blocked"]
        cells = CellMap(
            header["cell"], blocked.shape, blocked.reshape(-1), tuple(header["origin"]), header["inflation"]
        )
        path = Path(arrays["points"], header["stamp"])
        drive = scheduler.make_drive(
            path,
            arrays["way"],
            header["began"],
            cells=cells,
            start=header["start"],
            goal=header["goal"],
            moves=header["moves"],
        )
        drive.agent.restore(folder / header["agent"])
        drive.due = None if header["due"] is None else Decision(**header["due"])
        drive.asked, drive.paths, drive.beyond_budget = (header[name] for name in _PLAIN[-3:])
    except InputError:
        raise
    except (OSError, EOFError, BadZipFile, ValueError, LookupError, TypeError) as error:
        raise InputError(f"{folder}: not a saved mission ({error})") from None
    scheduler.drive = drive
    if scheduler.cells is None:
        scheduler.cells = cells
    return True
