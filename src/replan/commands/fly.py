"""`replan fly`: one Crazyflie flight, simulated or real; `replan calibrate`: the wind's effect, measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from replan import ACTIONS, find_rule
from replan.commands import CommandAnswer, Output, PlainAnswer
from replan.commands.options import ExecutionOption, RuleOption, SeedOption, SetOption
from replan.errors import InputError
from replan.robots.crazyflie import crazyflow_flight
from replan.robots.crazyflie.flight import FlightStopped, Flown
from replan.robots.crazyflie.flight_report import draw_flights, write_flight_log
from replan.robots.crazyflie.flights import FlightScene, Job, Track, fly_one, track
from replan.robots.crazyflie.landing import Landing
from replan.robots.crazyflie.layouts import Density, layout
from replan.robots.logs.mcap_log import mcap_writer
from replan.schedule.registry import parse_parameters
from replan.typing import Meanwhile


@dataclass(frozen=True)
class FlightAnswer(CommandAnswer):
    """One flight."""

    head: dict[str, Any]
    """Layout, rule and execution."""
    flown: Flown
    track: Track
    picture: Path
    log: Path | None
    stopped: int
    """Exit status of a flight that a signal stopped, else 0."""

    @property
    def status(self) -> int:
        """Exit status: that of the signal that stopped the flight, 1 for an aborted flight, else 0."""
        return self.stopped or int(self.flown.aborted is not None)

    @property
    def landing(self) -> Landing:
        """The landing, which every finished flight has."""
        assert self.flown.landing is not None, "the flight is over"
        return self.flown.landing

    @property
    def has_flown(self) -> bool:
        """Whether the drone took off."""
        return self.landing.after_flight

    def write(self) -> None:
        """Write picture and log unless nothing was flown."""
        if self.has_flown:
            draw_flights([self.track], path=self.picture)
            if self.log is not None:
                write_flight_log(self.log, self.flown, layout(self.track.density, self.track.number))

    def record(self) -> dict[str, Any]:
        result, flew, tracking = self.track.outcome, self.has_flown, self.flown.tracking
        return {
            **self.head,
            "aborted": self.flown.aborted,
            "landing": self.landing.outcome,
            "landing_reason": self.landing.reason,
            "farthest_off": tracking.farthest if tracking else None,
            "excursions": tracking.excursions if tracking else None,
            "success": result.success and flew,
            "collisions": result.collisions if flew else None,
            "length": result.length if flew else None,
            "cost": result.cost if flew else None,
            "moves": result.moves if flew else 0,
            "updates": [{"t": t, "reason": why} for t, why in self.flown.updates(0)],
            "picture": str(self.picture) if flew else None,
            "log": str(self.log) if flew and self.log is not None else None,
        }

    def lines(self) -> list[str]:
        aborted, landing, result = self.flown.aborted, self.landing, self.track.outcome
        tracking = self.flown.tracking
        lines = [f"broken off: {aborted}"] if aborted else []
        lines.append(landing.outcome if landing.reason in (None, aborted) else str(landing))
        if not self.has_flown:
            return lines
        failed = "touched a pole" if result.touched else "did not reach the goal"
        return [
            *lines,
            f"{'reached the goal' if result.success else failed} after {result.moves} moves, "
            f"{result.length:.2f} m; {result.collisions} collision events; cost {result.cost:.2f}",
            *([f"at most {tracking.farthest:.2f} m from its setpoint"] if tracking else []),
            *(f"update at {t}: {why}" for t, why in self.flown.updates(0)),
            f"picture in {self.picture}" + ("" if self.log is None else f", log in {self.log}"),
        ]


def fly(
    output: Output,
    density: Annotated[Density, typer.Option(help="Obstacles.")] = "dense",
    number: Annotated[int, typer.Option("--layout", min=0, help="Number of the layout.")] = 0,
    rule: RuleOption = "lookahead",
    assignments: SetOption = None,
    execution: ExecutionOption = "map",
    cuts: Annotated[int, typer.Option(help="Cuts of a cell in the planner's model: 1, or 3 (3 x 3).")] = 1,
    update_steps: Annotated[int, typer.Option(min=0, help="Moves that an update takes.")] = 0,
    meanwhile: Annotated[Meanwhile, typer.Option(help="While an update runs: fly on, or hover.")] = "go-on",
    backend: Annotated[
        Literal["crazyflow"] | None, typer.Option(help="Simulated physics, if no --link is given.")
    ] = None,
    link: Annotated[str | None, typer.Option(help="URI of a real drone, as udp://127.0.0.1:19850.")] = None,
    log: Annotated[Path | None, typer.Option(help="Write a robot log, FILE.mcap.")] = None,
    picture: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("flight.png"),
    seed: SeedOption = 0,
) -> FlightAnswer:
    """Fly one layout and draw the flight."""
    if cuts not in (1, 3):
        raise InputError(f"--cuts must be 1 or 3, not {cuts}")
    if backend is not None and link is not None:
        raise InputError("give either --backend or --link")
    if log is not None:
        mcap_writer()
    for path in (picture, log):
        if path is not None and not path.absolute().parent.is_dir():
            raise InputError(f"there is no folder {path.parent} to write {path.name} to")
    source = find_rule(rule)
    chosen = source.make(**parse_parameters(assignments or []))
    scene = FlightScene(
        density, number, execution, seed, cuts, update_steps=update_steps, meanwhile=meanwhile
    )  # pyright: ignore[reportArgumentType]
    job = Job(scene, chosen, seed)
    status = 0
    try:
        flown, made = fly_one(job, link=link, progress=None if output.as_json else _progress)
    except FlightStopped as stop:
        flown, made, status = stop.flown, track(job, stop.flown), 128 + stop.number
    head = {"density": density, "layout": number, "rule": rule, "execution": execution, **source.record()}
    answer = FlightAnswer(head, flown, made, picture, log, status)
    answer.write()
    return answer


def calibrate(
    out: Annotated[Path, typer.Option(help="The table, a CSV file.")] = Path("calibration.csv"),
) -> PlainAnswer:
    """Measure in simulated flights how wind turns into drift of the believed position."""
    crazyflow_flight.calibrate().write(out)
    return PlainAnswer({"out": str(out)}, [f"calibration in {out}"])


def _progress(t: int, flight, agents) -> None:
    agent = agents[0]
    whys = [event.why for event in agent.log[-3:] if event.time == t and event.what == "update"]
    looked = f"   update: {whys[0]}" if whys else ""
    typer.echo(f"at {t:2d} of {agent.horizon}: {ACTIONS[agent.log[-1].action]}{looked}", err=True)
