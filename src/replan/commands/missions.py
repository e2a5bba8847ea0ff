"""The mission and the rule that the options of a command name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from replan.commands.options import MissionOptions, RobotOptions, RuleOptions, SpendingOptions
from replan.errors import InputError
from replan.evaluation.rollouts import draws_times
from replan.execute.mission import Mission
from replan.schedule.fixed import FixedTimes
from replan.schedule.rule import Rule
from replan.skip.acting import Execution
from replan.skip.spending import Spending
from replan.worlds import settings
from replan.worlds.robot_words import describe_latency

ACTING: dict[Execution, str] = {
    "map": "by the likeliest cell",
    "belief": "by weighing all cells it may be in",
    "localised": "on the state that it sees",
}
"""A robot's way of acting between updates, by the name of the execution."""


@dataclass(frozen=True)
class NamedMission:
    """The mission that a command is about."""

    setting: str
    mission: Mission
    notes: list[str]
    """Remarks on the setting that may surprise."""

    @classmethod
    def of(
        cls,
        setting: str,
        robot: RobotOptions,
        spending: SpendingOptions | None = None,
        *,
        at_most: bool = False,
    ) -> NamedMission:
        """Return the mission of a setting with the options of a command."""
        loaded = settings.load_setting(setting)
        mission = settings.make_mission(
            loaded,
            execution=robot.execution,
            forecast=robot.forecast_parameters(),
            ties=robot.ties,
            **robot.latency(),
            **({} if spending is None else spending.given()),
        )
        if at_most and mission.spending.exact:
            mission = mission.with_spending(Spending.at_most(mission.limit))
        return cls(setting, mission, settings.setting_notes(loaded, mission.world))

    @classmethod
    def from_options(cls, options: MissionOptions) -> NamedMission:
        """Return the mission that the options name."""
        return cls.of(options.setting, options.robot, options.spending, at_most=options.at_most)

    def record(self, rule: Rule | None = None) -> dict[str, Any]:
        """Return the mission as plain data; `rule` says whether a localised robot spends all of a budget."""
        mission = self.mission
        return {
            "setting": self.setting,
            "execution": mission.robot.execution,
            "forecast": mission.robot.forecast.name,
            "ties": str(mission.robot.ties),
            **_latency_record(mission),
            "spend_all": _spends_all(mission, rule),
            "notes": self.notes,
        }

    def lines(self) -> list[str]:
        return [acting_words(self.mission), *(f"note: {note}" for note in self.notes)]

    def objective_lines(self, objective: float, updates: float, best: float | None = None) -> list[str]:
        """Return the line on the objective if updates have a price."""
        price = self.mission.spending.price
        if price is None:
            return []
        compared = "" if best is None else f"; best possible {best:.4f}"
        return [f"objective       {objective:.4f}   ({updates:.2f} updates at {price:g}{compared})"]


def acting_words(mission: Mission) -> str:
    """Return how the robot acts between updates and which of equally good actions it takes, in sentences."""
    robot = mission.robot
    drawn = robot.ties.kind == "random"
    ties = f"an action at random (seed {robot.ties.seed})" if drawn else f"{robot.ties.kind} action"
    words = [f"Between updates the robot acts {ACTING[robot.execution]}.", f"Ties: {ties}."]
    if robot.forecast.moves:
        words.append(f"Forecast: {robot.forecast.name}.")
    if not mission.latency.instant:
        how_long = describe_latency(robot.update_steps, robot.meanwhile).rpartition(", ")[0]
        meanwhile = "waits" if robot.meanwhile == "wait" else "follows its old plan"
        words.append(f"Updates take {how_long}; until then the robot {meanwhile}.")
    return " ".join(words)


def _spends_all(mission: Mission, rule: Rule | None) -> bool:
    """Return whether all of the budget is spent: a localised robot spends it by rules of the paper alone."""
    if rule is None:
        return mission.spending.exact and not mission.robot.sees
    return mission.spending_for(rule).exact


def _latency_record(mission: Mission) -> dict[str, Any]:
    """Return how long updates take and what the robot does meanwhile, if they take time."""
    if mission.latency.instant:
        return {}
    return {"update_steps": mission.robot.update_steps, "meanwhile": mission.robot.meanwhile}


@dataclass(frozen=True)
class ChosenRule:
    """A rule, with its name and hyper-parameters as plain data."""

    rule: Rule
    record: dict[str, Any]

    @classmethod
    def from_options(cls, options: RuleOptions, mission: Mission) -> ChosenRule:
        """Return the rule of --times, or of --rule and --set; parameters not given have their defaults."""
        if (options.times is None) == (options.rule is None):
            raise InputError("give either --times or --rule")
        if options.rule is None:
            return cls(FixedTimes(mission.check_times(options.parsed_times())), {"rule": "fixed"})
        from replan.schedule.registry import find_rule, list_parameters, parse_parameters

        source, given = find_rule(options.rule), parse_parameters(options.assignments or [])
        rule = source.make(**given)
        parameters = list_parameters(rule)
        record = {
            "rule": rule.name,
            "parameters": parameters,
            "default_parameters": [name for name in parameters if name not in given],
            **source.record(),
        }
        if draws_times(mission, rule):
            record["seed"] = options.seed
        return cls(rule, record)

    def lines(self, *, verbose: bool) -> list[str]:
        """Return the rule, and with `verbose` its parameters, as a line; no line for given times."""
        if "parameters" not in self.record:
            return []
        parameters = self.record["parameters"].items() if verbose else ()
        given = [f"{name} {_short(value)}" for name, value in parameters if value is not None]
        defaults = self.record["default_parameters"]
        origin = "" if not defaults else "   (default parameters; --set gives others)"
        if 0 < len(defaults) < len(self.record["parameters"]):
            origin = "   (the other parameters are its defaults)"
        return [f"rule            {', '.join([self.record['rule'], *given])}{origin}"]


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
