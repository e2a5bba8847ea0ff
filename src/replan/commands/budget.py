"""`replan budget`: how many updates a mission needs."""

from __future__ import annotations

from itertools import product
from math import inf, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replan.commands.common import (
    ExecutionOption,
    Given,
    JsonOption,
    NamedMission,
    SetOption,
    SettingArgument,
    choose_parameters,
    forecast_options,
)
from replan.commands.output import emit
from replan.commands.waiting import waiting
from replan.errors import InputError
from replan.schedule.registry import parse_parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from replan.evaluation.budget_curve import BudgetCurve
    from replan.evaluation.look_plan_grid import LookPlanGrid
    from replan.execute.mission import Mission
    from replan.schedule.rule import Rule

MOST = 12


@forecast_options
def command(
    setting: SettingArgument,
    rule: Annotated[str, typer.Option(help="The update rule.")] = "lookahead",
    assignments: SetOption = None,
    most: Annotated[
        int | None, typer.Option(help=f"The largest budget; {MOST} or T - 1 if not given.")
    ] = None,
    regret: Annotated[
        float | None, typer.Option(help="Name the smallest budget with no more regret.")
    ] = None,
    price: Annotated[
        float | None, typer.Option(help="Name the best budget if an update costs so much reward.")
    ] = None,
    floor: Annotated[
        bool, typer.Option("--floor/--no-floor", help="Compute the least possible regret too.")
    ] = True,
    looks: Annotated[
        int | None, typer.Option(help="With --plans: the most looks, where looks and plans are spent apart.")
    ] = None,
    plans: Annotated[
        int | None, typer.Option(help="With --looks: the most plans, where looks and plans are spent apart.")
    ] = None,
    execution: ExecutionOption = "map",
    out: Annotated[Path | None, typer.Option(help="A PNG file for the figure.")] = None,
    as_json: JsonOption = False,
    *,
    expecting: Given,
) -> None:
    """Print the regret of a rule for every budget, the floor, and what one more update is worth.

    With --looks and --plans for every pair of budgets; --out draws a heat map.
    """
    from replan.evaluation.budget_curve import budget_curve
    from replan.evaluation.look_plan_grid import look_plan_grid
    from replan.evaluation.scale import never_updating
    from replan.planning import oracle
    from replan.report.look_plan_tables import look_plan_figure
    from replan.schedule.budget import check_budget
    from replan.study.protocol import Bench
    from replan.study.rule_source import find_rule

    for name, value in (("--regret", regret), ("--price", price)):
        if value is not None and not 0 <= value < inf:
            raise InputError(f"{name} must be a number of at least 0, not {value}")
    named = NamedMission.of(setting, execution, expecting=expecting)
    mission = named.mission
    most = min(MOST, mission.horizon - 1) if most is None else most
    check_budget(most, mission.horizon, name="--most")
    best = oracle(mission.world)
    source, given = find_rule(rule), parse_parameters(assignments or [])
    if looks is not None or plans is not None:
        if looks is None or plans is None or regret is not None or price is not None:
            raise InputError("--looks and --plans go together, and not with --regret or --price")
        with waiting(quiet=as_json) as doing:
            doing(f"{looks} by {plans} budgets of looks and plans")
            grid = look_plan_grid(
                mission,
                lambda apart: choose_parameters(lambda: Bench(apart), source, given).rule,
                range(1, check_budget(looks, mission.horizon, name="--looks") + 1),
                range(1, check_budget(plans, mission.horizon, name="--plans") + 1),
                floor=floor,
                best=best,
            )
        if out is not None:
            _save(look_plan_figure(grid, title=f"{setting}, {execution}"), out)
        emit({**named.record(), **_pairs(grid)}, as_json=as_json, lines=[*_table(grid), *named.lines()])
        return
    with waiting(quiet=as_json) as doing:

        def rule_for(spending: Mission) -> Rule:
            doing(f"budget {spending.budget} of {most}")
            return choose_parameters(lambda: Bench(spending), source, given).rule

        curve = budget_curve(mission, rule_for, most=most, floor=floor, best=best)
    never = never_updating(mission, best=best)
    answer: dict[str, Any] = {
        **named.record(),
        "rule": curve.rules[0].name,
        "never_updating": never,
        "budgets": _budgets(curve, never),
    }
    if regret is not None:
        answer["smallest_budget"] = curve.smallest_budget(regret)
    if price is not None:
        answer["budget_at_price"] = curve.budget_at_price(price, never=never)
    if out is not None:
        _draw(curve, setting, execution, answer, out)
    emit(answer, as_json=as_json, lines=[*_lines(answer, regret, price), *named.lines()])


def _budgets(curve: BudgetCurve, never: float) -> list[dict[str, Any]]:
    from replan.evaluation.scale import regret_share
    from replan.study.protocol import parameters

    return [
        {
            "budget": index + 1,
            "regret": value,
            "floor": None if curve.floors is None else curve.floors[index],
            "best_possible": None if curve.floors is None else curve.floors[index],
            "regret_share": regret_share(value, never),
            "worth": None if isnan(worth) else worth,
            "parameters": parameters(rule),
        }
        for index, (rule, value, worth) in enumerate(
            zip(curve.rules, curve.regrets, curve.worth, strict=True)
        )
    ]


def _lines(answer: dict[str, Any], regret: float | None, price: float | None) -> list[str]:
    lines = [f"budget  {answer['rule']:>16}  of never updating  best possible  one more is worth"]
    for row in answer["budgets"]:
        floor, worth = ("" if row[key] is None else f"{row[key]:z.4f}" for key in ("floor", "worth"))
        share = "" if row["regret_share"] is None else f"{row['regret_share']:.0%}"
        figures = f"{row['regret']:>z16.4f}  {share:>17}  {floor:>13}  {worth:>17}"
        lines.append(f"{row['budget']:>6}  {figures}".rstrip())
    if regret is not None:
        found = answer["smallest_budget"]
        least = f"more than {len(answer['budgets'])} updates" if found is None else _updates(found)
        lines.append(f"regret of at most {regret:g}: {least}")
    if price is not None:
        found = answer["budget_at_price"]
        words = _updates(found) if found else "no update: each costs more than it is worth"
        lines.append(f"price of {price:g} an update: {words}")
    return lines


def _updates(budget: int) -> str:
    return f"{budget} update" + ("s" if budget > 1 else "")


def _draw(curve: BudgetCurve, setting: str, execution: str, answer: dict[str, Any], path: Path) -> None:
    from replan.report.budget_figure import budget_figure

    chosen = answer.get("smallest_budget") or answer.get("budget_at_price")
    _save(budget_figure(curve, title=f"{setting}, {execution}", chosen=chosen), path)


def _pairs(grid: LookPlanGrid) -> dict[str, Any]:
    from replan.study.protocol import parameters

    pairs = []
    for index, (looks, plans) in enumerate(product(grid.looks, grid.plans)):
        row = {"looks": looks, "plans": plans, "regret": grid.regrets.flat[index]}
        if grid.optima is not None:
            best = grid.optima[looks, plans]
            row |= {"floor": best.regret, "label": best.label, "plan_times": best.plans}
        pairs.append(row | {"parameters": parameters(grid.rules[index])})
    return {"rule": grid.rules[0].name, "pairs": pairs, "plans_per_look": grid.plans_per_look.tolist()}


def _table(grid: LookPlanGrid) -> list[str]:
    """Return the regrets as lines, looks to the right and plans downwards."""
    tables = {f"regret of {grid.rules[0].name}": grid.regrets}
    if grid.floors is not None:
        tables["least found"] = grid.floors
    lines = []
    for words, values in tables.items():
        lines.append(f"{words}, looks to the right, plans downwards")
        lines.append(" " * 6 + "".join(f"{looks:>9}" for looks in grid.looks))
        for plans, column in zip(grid.plans, values.T, strict=True):
            lines.append(f"{plans:>6}" + "".join(f"{value:>z9.4f}" for value in column))
    return lines


def _save(figure: Figure, path: Path) -> None:
    from replan.report.style import save_png

    if path.suffix != ".png":
        raise InputError(f"--out must be a .png file, not {path}")
    try:
        save_png(figure, path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from None
