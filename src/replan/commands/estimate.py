"""`replan estimate`: kernels by drift-bounded maximum likelihood, or a world from a robot's log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from replan.commands import PlainAnswer
from replan.errors import InputError, require_extra

BAGS = (".db3", ".mcap")


def estimate(
    observations: Annotated[Path, typer.Argument(help="A CSV file with the columns t,s,a,next, or a bag.")],
    states: Annotated[int | None, typer.Option(help="Number of states S.")] = None,
    actions: Annotated[int | None, typer.Option(help="Number of actions A.")] = None,
    drift_bound: Annotated[
        float | None, typer.Option(help="How much a probability can change in one step.")
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
    """Estimate kernels, or without --states, --actions and --drift-bound a world with its drift.

    With all three: print the most likely kernels at the times observed; any state may follow any other.
    Without: summarise the log, suggest a bound, and write a world, a setting and a figure.
    """
    if states is not None and actions is not None and drift_bound is not None:
        from replan.estimate.drift_bounded_mle import estimate_file

        found = estimate_file(observations, states=states, actions=actions, drift_bound=drift_bound)
        return PlainAnswer(found, _kernel_lines(found))
    if states is not None or actions is not None:
        raise InputError("give --states, --actions and --drift-bound together, or neither size")
    if drift_bound is not None and not 0 <= drift_bound <= 1:
        raise InputError(f"--drift-bound must lie between 0 and 1, not {drift_bound}")
    require_extra("study", "estimating a world")
    from replan.estimate.observations import parse_duration
    from replan.robots.logs.log_worlds import summarise_bag, summarise_table

    out = Path(f"{observations.stem}-world") if out is None else out
    out.parent.mkdir(parents=True, exist_ok=True)
    seconds = None if step is None else parse_duration(step)
    if observations.is_dir() or observations.suffix in BAGS:
        if map_file is None:
            raise InputError("a bag needs --map MAP.yaml")
        from replan.robots.logs.bags import cell_log, read_bag
        from replan.robots.logs.log_worlds import map_cells

        cells = map_cells(map_file, cell=cell, inflation=inflation)
        recording = read_bag(observations, pose_topic=pose_topic, command_topic=command_topic)
        log = cell_log(recording, cells, step=seconds)
        ends = recording.poses[[0, -1], :2]
        answer = summarise_bag(log, cells, map_file, out, ends=ends, drift_bound=drift_bound)
    else:
        from replan.estimate.observations import read_log

        names = None if columns is None else [name.strip() for name in columns.split(",")]
        log = read_log(observations, columns=names, step=seconds)
        answer = summarise_table(log, out, goal=goal, drift_bound=drift_bound)
    _draw(answer, out)
    answer["files"] = [str(out.with_suffix(suffix)) for suffix in (".npz", ".toml", ".png")]
    return PlainAnswer(answer, _log_lines(answer))


def _quantity(summary: dict[str, Any]) -> str:
    return "slip" if summary["quantity"] == "slip" else "unusual steps"


def _draw(answer: dict[str, Any], out: Path) -> None:
    from replan.estimate.drift_in_log import LogWindow
    from replan.report.curves import drift_figure
    from replan.report.style import save_png

    shown = [LogWindow(**window) for window in answer["windows"]]
    save_png(drift_figure(shown, quantity=_quantity(answer)), out.with_suffix(".png"))


def _kernel_lines(found: dict[str, Any]) -> list[str]:
    likelihood = f"log-likelihood {found['log_likelihood']:.9g}"
    lines = [f"{likelihood}, certified to within {found['gap']:.2g} of the greatest"]
    for kernel in found["kernels"]:
        likely = zip(kernel["next"], kernel["probabilities"], strict=True)
        shown = ", ".join(f"{s}: {p:.4f}" for s, p in likely)
        lines.append(f"t={kernel['t']} s={kernel['s']} a={kernel['a']}  {shown}")
    return lines


def _log_lines(found: dict[str, Any]) -> list[str]:
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
            f"{_quantity(found):<15} {window['share']:.3f}   [{window['low']:.3f}, {window['high']:.3f}]"
            f"   in steps {window['begin']} to {window['end'] - 1}"
            for window in ([windows[0], windows[-1]] if len(windows) > 1 else windows)
        ),
        f"drift per step  {drift['rate']:.5f}   [{drift['low']:.5f}, {drift['high']:.5f}]   at its fastest",
        f"drift bound     {found['drift_bound']:.5f}   (suggested: no window changed faster, with 95 %)",
        f"world, setting and figure: {', '.join(found['files'])}",
        f"try: replan regret {found['files'][1]} --rule periodic",
    ]
