"""`replan schedule`: when a rule updates, and why."""

from __future__ import annotations

from typing import Any

from replan.commands.common import (
    ExecutionOption,
    JsonOption,
    RuleOption,
    SeedOption,
    SetOption,
    SettingArgument,
    TimesOption,
    check_execution,
    chosen_rule,
)
from replan.commands.output import emit


def schedule(
    setting: SettingArgument,
    times: TimesOption = None,
    rule: RuleOption = None,
    assignments: SetOption = None,
    execution: ExecutionOption = "map",
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """The update times of one mission with the given seed, and the reason of every decision."""
    from replan.study.settings import load_setting, make_mission
    from replan.study.trace import trace_mission

    mission = make_mission(load_setting(setting), execution=check_execution(execution))
    chosen = chosen_rule(mission, times=times, rule=rule, assignments=assignments, seed=seed)
    trace = trace_mission(mission, chosen.rule, seed=seed)
    decisions: list[dict[str, Any]] = [
        {
            "t": t,
            "update": decision.update,
            "score": decision.score,
            "threshold": decision.threshold,
            "terms": dict(decision.terms),
            "reason": decision.reason,
        }
        for t, decision in trace.decisions
    ]
    lines = [f"updates at {', '.join(str(t) for t in trace.times)}"]
    for t, decision in trace.decisions:
        if decision.update:
            terms = ", ".join(f"{name} {value:.4g}" for name, value in decision.terms.items())
            lines.append(f"{t:4d}  {decision.reason}" + (f"   ({terms})" if terms else ""))
    answer = {
        "setting": setting,
        "execution": execution,
        "ties": str(mission.ties),
        **chosen.record,
        "times": list(trace.times),
        "decisions": decisions,
    }
    emit(answer, as_json=as_json, lines=lines)
