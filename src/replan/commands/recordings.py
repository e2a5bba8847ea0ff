"""`replan log`: a world with its drift from a robot's log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from replan.commands import PlainAnswer
from replan.errors import InputError
from replan.robots.logs.bags import cell_log, read_bag
from replan.robots.logs.log_tables import parse_duration, read_log
from replan.robots.logs.log_worlds import map_cells, summarise_bag, summarise_table

BAGS = (".db3", ".mcap")


def read_recording(
    file: Annotated[Path, typer.Argument(help="A CSV file of times, states and actions, or a bag.")],
    drift_bound: Annotated[
        float | None, typer.Option(help="Drift bound of the world, in place of the one suggested.")
    ] = None,
    columns: Annotated[str | None, typer.Option(help="The columns for t,s,a,next, by name.")] = None,
    step: Annotated[str | None, typer.Option(help="Length of a step, as 0.1s or 100ms.")] = None,
    goal: Annotated[int | None, typer.Option(help="Goal of the world written; else the last state.")] = None,
    map_file: Annotated[Path | None, typer.Option("--map", help="For a bag: the map's YAML file.")] = None,
    cell: Annotated[float, typer.Option(help="For a bag: side of a cell in metres.")] = 0.5,
    inflation: Annotated[float, typer.Option(help="For a bag: metres kept from obstacles.")] = 0.0,
    pose_topic: Annotated[str | None, typer.Option(help="For a bag: topic of poses.")] = None,
    command_topic: Annotated[str | None, typer.Option(help="For a bag: topic of velocities.")] = None,
    out: Annotated[Path | None, typer.Option(help="Files written, without their suffix.")] = None,
) -> PlainAnswer:
    """Summarise a robot's log, suggest a drift bound, and write a world, a setting and a figure."""
    if drift_bound is not None and not 0 <= drift_bound <= 1:
        raise InputError(f"--drift-bound must lie between 0 and 1, not {drift_bound}")
    out = Path(f"{file.stem}-world") if out is None else out
    out.parent.mkdir(parents=True, exist_ok=True)
    seconds = None if step is None else parse_duration(step)
    if file.is_dir() or file.suffix in BAGS:
        if map_file is None:
            raise InputError("a bag needs --map MAP.yaml")
        cells = map_cells(map_file, cell=cell, inflation=inflation)
        recording = read_bag(file, pose_topic=pose_topic, command_topic=command_topic)
        log = cell_log(recording, cells, step=seconds)
        ends = recording.poses[[0, -1], :2]
        answer = summarise_bag(log, cells, map_file, out, ends=ends, drift_bound=drift_bound)
    else:
        names = None if columns is None else [name.strip() for name in columns.split(",")]
        log = read_log(file, columns=names, step=seconds)
        answer = summarise_table(log, out, goal=goal, drift_bound=drift_bound)
    return PlainAnswer(answer, _lines(answer))


def _lines(found: dict[str, Any]) -> list[str]:
    size = (
        f"{found['states']} states and {found['actions']} actions"
        if "states" in found
        else f"{found['cells'][0]} x {found['cells'][1]} cells"
    )
    windows, drift = found["windows"], found["drift"]
    return [
        f"{found['transitions']} transitions of {size} in {found['steps']} steps of {found['step']:.6g}",
        f"{found['runs']} runs, {found['gaps']} gaps, {found['jumps']} jumps",
        *(
            f"{found['quantity']:<15} {window['share']:.3f}   [{window['low']:.3f}, {window['high']:.3f}]"
            f"   in steps {window['begin']} to {window['end'] - 1}"
            for window in ([windows[0], windows[-1]] if len(windows) > 1 else windows)
        ),
        f"drift per step  {drift['rate']:.5f}   [{drift['low']:.5f}, {drift['high']:.5f}]   at its fastest",
        f"drift bound     {found['drift_bound']:.5f}   (suggested: no window changed faster, with 95 %)",
        f"world, setting and figure: {', '.join(found['files'])}",
        f"try: replan regret {found['files'][1]} --rule periodic",
    ]
