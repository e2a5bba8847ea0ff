"""`replan optimum`: the best update times, and so the least regret of any rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from replan.commands.common import (
    AtMostOption,
    ExecutionOption,
    Given,
    JsonOption,
    NamedMission,
    SettingArgument,
    forecast_options,
    spending_options,
    spent_lines,
)
from replan.commands.output import emit
from replan.commands.waiting import waiting
from replan.report.regret_words import scale_words

if TYPE_CHECKING:
    from replan.evaluation.optimal_schedule import Optimum


@forecast_options
@spending_options
def command(
    setting: SettingArgument,
    execution: ExecutionOption = "map",
    at_most: AtMostOption = False,
    as_json: JsonOption = False,
    *,
    spending: Given,
    expecting: Given,
) -> None:
    """Print the best fixed schedule, and the best one that may depend on the states seen.

    With --looks and --plans, or prices of both, looks and plans are chosen apart: exactly on small worlds,
    else plans are at fixed times that a search finds.
    """
    from replan.evaluation.optimal_schedule import optimum as find
    from replan.evaluation.scale import regret_scale

    named = NamedMission.of(setting, execution, at_most=at_most, expecting=expecting, spending=spending)
    with waiting(quiet=as_json) as doing:
        doing("searching for the best update times")
        if named.mission.apart and not named.mission.priced_apart:
            answer, lines = _apart(named)
            emit(answer, as_json=as_json, lines=lines)
            return
        if named.mission.priced_apart:
            answer, lines = _priced_apart(named)
            emit(answer, as_json=as_json, lines=lines)
            return
        best = find(named.mission)
    scale = regret_scale(named.mission, best_possible=best.feedback_regret)
    times = _listed(best.fixed_times)
    answer = {
        **named.record(),
        "oracle_return": best.oracle_return,
        **scale.record(best.feedback_regret),
        **_updates(best),
    }
    lines = [
        f"best fixed times  {best.fixed_regret:z.4f}   at {times} ({best.fixed_label})",
        f"best possible     {best.feedback_regret:z.4f}   each next time chosen by the state just seen",
        f"   {scale_words(best.feedback_regret, scale)}",
        *spent_lines(
            named.mission.prices,
            best.feedback_objective,
            best.feedback_updates,
            best.feedback_updates,
            together=True,
        ),
        *named.lines(),
    ]
    emit(answer, as_json=as_json, lines=lines)


def _updates(best: Optimum) -> dict[str, Any]:
    return {
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


def _priced_apart(named: NamedMission) -> tuple[dict[str, Any], list[str]]:
    from replan.evaluation.priced_looks_and_plans import priced_optimum, updates_optimum
    from replan.evaluation.scale import regret_scale

    mission = named.mission
    together = updates_optimum(mission)
    found = priced_optimum(mission, together=together)
    scale = regret_scale(mission, best_possible=found.regret)
    best, updates = found.best, _updates(together)
    answer = {
        **named.record(),
        "oracle_return": found.oracle_return,
        **scale.record(found.regret),
        **updates,
        "together": updates["feedback"],
        "feedback": {
            "regret": found.regret,
            "label": found.label,
            "plan_times": found.plan_times,
            "expected_updates": best.updates,
            "expected_looks": best.looks,
            "expected_plans": best.plans,
            "objective": best.objective,
        },
    }
    how = "chosen by the states seen" if found.plan_times is None else f"at {_listed(found.plan_times)}"
    lines = [
        f"best possible     {found.regret:z.4f}   plans {how} ({found.label})",
        f"   {scale_words(found.regret, scale)}",
        *spent_lines(found.prices, best.objective, best.looks, best.plans, together=False),
        f"   {together.feedback_objective:.4f} with updates that are both "
        f"({together.feedback_updates:.2f} at {found.prices.update:g})",
        *named.lines(),
    ]
    return answer, lines


def _listed(times: tuple[int, ...]) -> str:
    return ", ".join(map(str, times)) or "no time"


def _apart(named: NamedMission) -> tuple[dict[str, Any], list[str]]:
    from replan.evaluation.look_plan_optimum import look_plan_optimum
    from replan.evaluation.scale import regret_scale

    mission = named.mission
    best = look_plan_optimum(mission)
    scale = regret_scale(mission, best_possible=best.regret)
    answer = {
        **named.record(),
        "looks": mission.looks,
        "plans": mission.plans,
        **scale.record(best.regret),
        "feedback": {"regret": best.regret, "label": best.label, "plan_times": best.plans},
    }
    how = "chosen by the states seen" if best.plans is None else f"at {_listed(best.plans)}"
    lines = [
        f"best possible     {best.regret:z.4f}   plans {how} ({best.label})",
        f"   {scale_words(best.regret, scale)}",
        *named.lines(),
    ]
    return answer, lines
