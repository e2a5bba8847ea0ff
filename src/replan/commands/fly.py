"""`replan fly`: one Crazyflie flight, simulated or real; `replan calibrate`: the wind's effect, measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replan.commands.common import (
    ExecutionOption,
    JsonOption,
    SeedOption,
    SetOption,
    check_execution,
)
from replan.commands.output import emit
from replan.errors import InputError
from replan.model.slip import ACTIONS
from replan.robots.crazyflie.flight_log import mcap_writer, write_flight_log
from replan.schedule.registry import parse_parameters
from replan.study.rule_source import RuleSource, find_rule

if TYPE_CHECKING:
    from replan.robots.crazyflie.flight import Flown
    from replan.robots.crazyflie.flights import Track

DENSITIES = ("none", "sparse", "dense")


def fly(
    density: Annotated[str, typer.Option(help="Obstacles: none, sparse or dense.")] = "dense",
    layout: Annotated[int, typer.Option(help="Number of the layout.")] = 0,
    rule: Annotated[str, typer.Option(help="The update rule.")] = "lookahead",
    assignments: SetOption = None,
    execution: ExecutionOption = "map",
    cuts: Annotated[int, typer.Option(help="Cuts of a cell in the planner's model: 1, or 3 (3 x 3).")] = 1,
    backend: Annotated[str | None, typer.Option(help="crazyflow: simulated physics (the default).")] = None,
    link: Annotated[str | None, typer.Option(help="URI of a real drone, as udp://127.0.0.1:19850.")] = None,
    log: Annotated[Path | None, typer.Option(help="Write a robot log, FILE.mcap.")] = None,
    picture: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("flight.png"),
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Fly one layout and end in a picture."""
    if density not in DENSITIES:
        raise InputError(f"--density must be one of {', '.join(DENSITIES)}, not {density!r}")
    if layout < 0:
        raise InputError(f"--layout must not be negative, not {layout}")
    if cuts not in (1, 3):
        raise InputError(f"--cuts must be 1 or 3, not {cuts}")
    if backend not in (None, "crazyflow"):
        raise InputError(f"--backend must be crazyflow, not {backend!r}; a real drone is given by --link")
    if backend is not None and link is not None:
        raise InputError("give either --backend or --link")
    if log is not None:
        mcap_writer()
    for path in (picture, log):
        if path is not None and not path.absolute().parent.is_dir():
            raise InputError(f"there is no folder {path.parent} to write {path.name} to")
    source = find_rule(rule)
    chosen = _chosen(source, parse_parameters(assignments or []), density, check_execution(execution))
    from replan.robots.crazyflie.flight import FlightStopped
    from replan.robots.crazyflie.flights import FlightScene, Job, fly_one, track

    job = Job(FlightScene(density, layout, execution, seed, cuts), chosen, seed)  # pyright: ignore[reportArgumentType]
    status = 0
    try:
        flown, made = fly_one(job, link=link, progress=None if as_json else _progress)
    except FlightStopped as stop:
        flown, made, status = stop.flown, track(job, stop.flown), 128 + stop.number
    answer: dict[str, Any] = {"density": density, "layout": layout, "rule": rule, "execution": execution}
    answer |= source.record()
    results, lines = _results(flown, made, picture, log)
    emit(answer | results, as_json=as_json, lines=lines)
    if status or flown.aborted:
        raise typer.Exit(status or 1)


def _results(flown: Flown, made: Track, picture: Path, log: Path | None) -> tuple[dict[str, Any], list[str]]:
    """Write picture and log unless nothing was flown; return the answer and its lines."""
    from replan.robots.crazyflie.flight_report import flight_figure
    from replan.robots.crazyflie.layouts import layout

    landing, result = flown.landing, made.outcome
    assert landing is not None, "the flight is over"
    has_flown = landing.outcome != "never took off"
    answer: dict[str, Any] = {
        "aborted": flown.aborted,
        "landing": landing.outcome,
        "landing_reason": landing.reason,
        "success": result.success and has_flown,
        "collisions": result.collisions if has_flown else None,
        "length": result.length if has_flown else None,
        "cost": result.cost if has_flown else None,
        "moves": result.moves if has_flown else 0,
        "updates": [{"t": t, "reason": why} for t, why in flown.updates(0)],
        "picture": str(picture) if has_flown else None,
        "log": str(log) if has_flown and log is not None else None,
    }
    lines = [f"broken off: {flown.aborted}"] if flown.aborted else []
    lines.append(landing.outcome if landing.reason in (None, flown.aborted) else str(landing))
    if has_flown:
        flight_figure([made], path=picture)
        if log is not None:
            write_flight_log(log, flown, layout(made.density, made.number))
        failed = "touched a pole" if result.touched else "did not reach the goal"
        reached = "reached the goal" if result.success else failed
        lines += [
            f"{reached} after {result.moves} moves, {result.length:.2f} m; {result.collisions} collision"
            f" events; cost {result.cost:.2f}",
            *(f"update at {t}: {why}" for t, why in flown.updates(0)),
            f"picture in {picture}" + ("" if log is None else f", log in {log}"),
        ]
    return answer, lines


def calibrate(
    out: Annotated[Path, typer.Option(help="The table, a CSV file.")] = Path("calibration.csv"),
    as_json: JsonOption = False,
) -> None:
    """Measure in simulated flights how wind turns into drift of the believed position."""
    from replan.robots.crazyflie.crazyflow_flight import calibrate as measure

    table = measure()
    table.write(out)
    emit({"out": str(out)}, as_json=as_json, lines=[f"calibration in {out}"])


def _chosen(source: RuleSource, given: dict[str, Any], density: str, execution: str):
    """The rule with the parameters given, else, if it is registered, with those that layouts choose."""
    made = source.make(**given)
    if given or source.text is not None:
        return made
    from replan.robots.crazyflie.flights import choose_rule

    return choose_rule(source.name, density, execution)  # pyright: ignore[reportArgumentType]


def _progress(t: int, flight, agents) -> None:
    agent = agents[0]
    whys = [event.why for event in agent.log[-3:] if event.time == t and event.what == "update"]
    looked = f"   update: {whys[0]}" if whys else ""
    typer.echo(f"at {t:2d} of {agent.horizon}: {ACTIONS[agent.log[-1].action]}{looked}", err=True)
