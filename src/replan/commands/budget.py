"""`replan optimum`: the least regret of any rule; `replan budget`: how many updates a mission needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf, isnan
from pathlib import Path
from typing import Annotated, Any

import typer

from replan.commands import CommandAnswer, Output, find_writer
from replan.commands.missions import NamedMission
from replan.commands.options import (
    MissionOptions,
    RobotOptions,
    RuleOption,
    SetOption,
    SettingArgument,
    SpendingOptions,
)
from replan.errors import InputError
from replan.evaluation.optimal_schedule import Optimum
from replan.evaluation.optimal_schedule import optimum as find_optimum
from replan.evaluation.scale import (
    BudgetCurve,
    RegretScale,
    budget_curve,
    regret_scale,
)
from replan.execute.mission import Mission
from replan.model.kernel import Array
from replan.planning.optimal_values import oracle
from replan.schedule.registry import find_rule, list_parameters, parse_parameters
from replan.schedule.rule import Rule
from replan.worlds.robot_words import as_durations

MOST = 12
WRITERS = {".png": ("replan.report.curves:write_budget_figure", "study")}
"""Function and extra for files of the figure."""


@dataclass(frozen=True)
class OptimumAnswer(CommandAnswer):
    """The best schedules of a mission."""

    named: NamedMission
    best: Optimum
    scale: RegretScale

    def record(self) -> dict[str, Any]:
        best = self.best
        return {
            **self.named.record(),
            "oracle_return": best.oracle_return,
            **self.scale.record(best.feedback_regret),
            "fixed": {
                "times": best.fixed_times,
                "regret": best.fixed_regret,
                "label": best.fixed_label,
                "expected_updates": len(best.fixed_times),
                "objective": best.fixed_objective,
            },
            "feedback": {
                "regret": best.feedback_regret,
                "expected_updates": best.feedback_updates,
                "objective": best.feedback_objective,
            },
        }

    def lines(self) -> list[str]:
        best = self.best
        times = ", ".join(map(str, best.fixed_times)) or "no time"
        return [
            f"best fixed times  {best.fixed_regret:z.4f}   at {times} ({best.fixed_label})",
            f"best possible     {best.feedback_regret:z.4f}   each next time chosen by the state just seen",
            f"   {self.scale.words(best.feedback_regret)}",
            *self.named.objective_lines(best.feedback_objective, best.feedback_updates),
            *self.named.lines(),
        ]


def optimum(mission: MissionOptions, output: Output) -> OptimumAnswer:
    """Print the best fixed schedule, and the best one that may depend on the states seen."""
    named = NamedMission.from_options(mission)
    with output.waiting() as doing:
        doing("searching for the best update times")
        best = find_optimum(named.mission)
        scale = regret_scale(named.mission, best_possible=best.feedback_regret)
    return OptimumAnswer(named, best, scale)


@dataclass(frozen=True)
class BudgetAnswer(CommandAnswer):
    """The regret of a rule for every budget."""

    named: NamedMission
    curve: BudgetCurve
    scale: RegretScale
    regret: float | None
    """The regret that was asked for."""
    price: float | None
    """The price that was asked for."""
    by_steps: Mapping[int, BudgetCurve] = field(default_factory=dict)
    """The curve of updates that take other numbers of steps."""

    @property
    def smallest_budget(self) -> int | None:
        """The smallest budget with no more than the regret asked for."""
        return None if self.regret is None else self.curve.smallest_budget(self.regret)

    @property
    def budget_at_price(self) -> int | None:
        """The best budget at the price asked for."""
        return None if self.price is None else self.curve.budget_at_price(self.price, never=self.scale.never)

    def budgets(self) -> list[dict[str, Any]]:
        """Return one row for each budget."""
        curve = self.curve
        floors = [None] * len(curve.rules) if curve.floors is None else curve.floors
        columns = zip(curve.rules, curve.regrets, floors, curve.worth, strict=True)
        return [
            {
                "budget": budget,
                "regret": value,
                "floor": floor,
                "regret_share": self.scale.share(value),
                "worth": None if isnan(worth) else worth,
                "parameters": list_parameters(rule),
            }
            for budget, (rule, value, floor, worth) in enumerate(columns, start=1)
        ]

    def record(self) -> dict[str, Any]:
        record = {
            **self.named.record(self.curve.rules[0]),
            "rule": self.curve.rules[0].name,
            "never_updating": self.scale.never,
            "makes_a_difference": self.scale.makes_a_difference,
            "budgets": self.budgets(),
        }
        if self.regret is not None:
            record["smallest_budget"] = self.smallest_budget
        if self.price is not None:
            record["budget_at_price"] = self.budget_at_price
        if self.by_steps:
            record["by_update_steps"] = [
                {"update_steps": steps, "regrets": curve.regrets.tolist(), "floors": _listed(curve.floors)}
                for steps, curve in self.by_steps.items()
            ]
        return record

    def lines(self) -> list[str]:
        lines = [
            f"budget  {self.curve.rules[0].name:>16}  of never updating  best possible  one more is worth"
        ]
        for row in self.budgets():
            floor, worth = ("" if row[key] is None else f"{row[key]:z.4f}" for key in ("floor", "worth"))
            share = "" if row["regret_share"] is None else f"{row['regret_share']:.0%}"
            figures = f"{row['regret']:>z16.4f}  {share:>17}  {floor:>13}  {worth:>17}"
            lines.append(f"{row['budget']:>6}  {figures}".rstrip())
        if not self.scale.makes_a_difference:
            lines.append(self.scale.no_difference())
        if self.regret is not None:
            found = self.smallest_budget
            least = f"more than {len(self.curve.rules)} updates" if found is None else _updates(found)
            lines.append(f"regret of at most {self.regret:g}: {least}")
        if self.price is not None:
            found = self.budget_at_price
            words = _updates(found) if found else "no update: each costs more than it is worth"
            lines.append(f"price of {self.price:g} an update: {words}")
        if self.by_steps:
            lines += ["", "regret by the steps that an update takes (best possible)"]
            lines.append("budget  " + "  ".join(f"{steps:>17}" for steps in self.by_steps))
            for budget in range(len(self.curve.rules)):
                figures = [_figures(curve, budget) for curve in self.by_steps.values()]
                lines.append(f"{budget + 1:>6}  " + "  ".join(f"{each:>17}" for each in figures))
        return [*lines, *self.named.lines()]


def budget(
    setting: SettingArgument,
    robot: RobotOptions,
    output: Output,
    rule: RuleOption = "lookahead",
    assignments: SetOption = None,
    most: Annotated[
        int | None, typer.Option(help=f"The largest budget; {MOST}, or as many as fit, if not given.")
    ] = None,
    regret: Annotated[
        float | None, typer.Option(help="Name the smallest budget with no more regret.")
    ] = None,
    price: Annotated[
        float | None, typer.Option(help="Name the best budget if an update costs this much reward.")
    ] = None,
    floor: Annotated[
        bool, typer.Option("--floor/--no-floor", help="Compute the least possible regret too.")
    ] = True,
    by_steps: Annotated[
        str | None, typer.Option(help="Compare updates that take these steps, as 0,2,4: a faster planner.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A PNG file for the figure.")] = None,
) -> BudgetAnswer:
    """Print the regret of a rule for every budget, the floor, and what one more update is worth."""
    for name, value in (("--regret", regret), ("--price", price)):
        if value is not None and not 0 <= value < inf:
            raise InputError(f"{name} must be a number of at least 0, not {value}")
    draw = None if out is None else find_writer(out, WRITERS)
    named = NamedMission.of(setting, robot, SpendingOptions(budget=1))  # its own budget may not fit
    mission = named.mission
    most = min(MOST, mission.spending.room(mission.horizon)) if most is None else most
    if not 1 <= most < mission.horizon:
        raise InputError(f"--most must lie between 1 and {mission.horizon - 1} (horizon - 1), not {most}")
    taking = list(_taking(mission, by_steps))  # refused before anything is computed
    best = oracle(mission.world)
    chosen = find_rule(rule).make(**parse_parameters(assignments or []))
    with output.waiting() as doing:

        def rule_for(spending: Mission) -> Rule:
            doing(f"budget {spending.spending.limit} of {most}")
            return chosen

        def curve_of(each: Mission, most: int) -> BudgetCurve:
            return budget_curve(each, rule_for, most=most, floor=floor, best=best)

        curve = curve_of(mission, most)
        delayed = {steps: curve_of(each, min(most, room)) for steps, each, room in taking}
    scale = RegretScale.of_never_updating(mission, best=best)
    answer = BudgetAnswer(named, curve, scale, regret, price, delayed)
    if draw is not None:
        marked = answer.smallest_budget or answer.budget_at_price
        draw(out, curve, title=f"{setting}, {mission.robot.execution}", chosen=marked, by_steps=delayed)
    return answer


def _taking(mission: Mission, by_steps: str | None) -> Iterator[tuple[int, Mission, int]]:
    """Yield the steps that updates take, the mission with them, and the largest budget that fits."""
    for text in () if by_steps is None else by_steps.split(","):
        steps = as_durations(text)
        if not isinstance(steps, int):
            raise InputError(f"--by-steps takes whole numbers with commas between, not {by_steps!r}")
        each = replace(mission, robot=replace(mission.robot, update_steps=steps))
        yield steps, each, each.spending.room(mission.horizon)


def _listed(numbers: Array | None) -> list[float] | None:
    return None if numbers is None else numbers.tolist()


def _figures(curve: BudgetCurve, budget: int) -> str:
    """Return the regret of a budget and its floor; nothing for a budget that does not fit."""
    if budget >= len(curve.regrets):
        return ""
    floor = "" if curve.floors is None else f" ({curve.floors[budget]:z.4f})"
    return f"{curve.regrets[budget]:z.4f}{floor}"


def _updates(budget: int) -> str:
    return f"{budget} update" + ("s" if budget > 1 else "")
