"""`replan optimum`: the best update times, and so the least regret of any rule."""

from __future__ import annotations

from typing import Any

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

    With --looks and --plans the best of both, or of plans at fixed times that a search finds.
    """
    from replan.evaluation.optimal_schedule import optimum as find
    from replan.evaluation.scale import regret_scale

    named = NamedMission.of(setting, execution, at_most=at_most, expecting=expecting, spending=spending)
    with waiting(quiet=as_json) as doing:
        doing("searching for the best update times")
        if named.mission.apart:
            answer, lines = _apart(named)
            emit(answer, as_json=as_json, lines=lines)
            return
        best = find(named.mission)
    scale = regret_scale(named.mission, best_possible=best.feedback_regret)
    times = ", ".join(str(t) for t in best.fixed_times) or "no time"
    answer = {
        **named.record(),
        "oracle_return": best.oracle_return,
        **scale.record(best.feedback_regret),
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
    lines = [
        f"best fixed times  {best.fixed_regret:z.4f}   at {times} ({best.fixed_label})",
        f"best possible     {best.feedback_regret:z.4f}   each next time chosen by the state just seen",
        f"   {scale_words(best.feedback_regret, scale)}",
        *spent_lines(named.mission.prices, best.feedback_updates, best.feedback_objective),
        *named.lines(),
    ]
    emit(answer, as_json=as_json, lines=lines)


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
    how = "chosen by the states seen" if best.plans is None else "at " + ", ".join(map(str, best.plans))
    lines = [
        f"best possible     {best.regret:z.4f}   plans {how} ({best.label})",
        f"   {scale_words(best.regret, scale)}",
        *named.lines(),
    ]
    return answer, lines
