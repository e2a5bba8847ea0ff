"""`replan fly`: one Crazyflie flight, simulated or real; `replan calibrate`: the wind's effect, measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
from replan.schedule.registry import make_rule, parse_parameters

DENSITIES = ("none", "sparse", "dense")


def fly(
    density: Annotated[str, typer.Option(help="Obstacles: none, sparse or dense.")] = "dense",
    layout: Annotated[int, typer.Option(help="Number of the layout.")] = 0,
    rule: Annotated[str, typer.Option(help="The update rule.")] = "lookahead",
    assignments: SetOption = None,
    execution: ExecutionOption = "map",
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
    if backend not in (None, "crazyflow"):
        raise InputError(f"--backend must be crazyflow, not {backend!r}; a real drone is given by --link")
    if backend is not None and link is not None:
        raise InputError("give either --backend or --link")
    chosen = _chosen(rule, parse_parameters(assignments or []), density, check_execution(execution))
    from replan.report.flight_figure import flight_figure
    from replan.report.flight_log import write_flight_log
    from replan.study.flights import Job, fly_one
    from replan.worlds.crazyflie.layouts import layout as make_layout

    job = Job(density, layout, chosen, execution)  # pyright: ignore[reportArgumentType]
    flown, track = fly_one(job, seed=seed, link=link, progress=None if as_json else _progress)
    flight_figure([track], path=picture)
    if log is not None:
        write_flight_log(log, flown, make_layout(density, layout))  # pyright: ignore[reportArgumentType]
    result = track.outcome
    answer: dict[str, Any] = {
        "density": density,
        "layout": layout,
        "rule": rule,
        "execution": execution,
        "aborted": flown.aborted,
        "success": result.success,
        "collisions": result.collisions,
        "length": result.length,
        "cost": result.cost,
        "moves": result.moves,
        "updates": [{"t": t, "reason": why} for t, why in flown.updates(0)],
        "picture": str(picture),
        "log": None if log is None else str(log),
    }
    reached = "reached the goal" if result.success else "did not reach the goal"
    lines = [
        f"{reached} after {result.moves} moves, {result.length:.2f} m; {result.collisions} collision events;"
        f" cost {result.cost:.2f}",
        *(f"update at {t}: {why}" for t, why in flown.updates(0)),
        f"picture in {picture}" + ("" if log is None else f", log in {log}"),
    ]
    if flown.aborted:
        lines.insert(0, f"broken off and landed: {flown.aborted}")
    emit(answer, as_json=as_json, lines=lines)
    if flown.aborted:
        raise typer.Exit(1)


def calibrate(
    out: Annotated[Path, typer.Option(help="The table, a CSV file.")] = Path("calibration.csv"),
    as_json: JsonOption = False,
) -> None:
    """Measure in simulated flights how wind turns into drift of the believed position."""
    from replan.worlds.crazyflie.calibration import calibrate as measure

    table = measure()
    table.write(out)
    emit({"out": str(out)}, as_json=as_json, lines=[f"calibration in {out}"])


def _chosen(rule: str, given: dict[str, Any], density: str, execution: str):
    """The rule with the parameters given, else with those that the validation layouts choose."""
    made = make_rule(rule, **given)
    if given:
        return made
    from replan.study.table3 import choose_rules

    return choose_rules([rule], density, execution)[0]  # pyright: ignore[reportArgumentType]


def _progress(t: int, flight, agents) -> None:
    agent = agents[0]
    whys = [event.why for event in agent.log[-3:] if event.time == t and event.what == "update"]
    looked = f"   update: {whys[0]}" if whys else ""
    typer.echo(f"move {t + 1:3d} of {agent.horizon}, {ACTIONS[agent.log[-1].action]}{looked}", err=True)
