"""`replan schedule`: the update times of a rule and the reason of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from replan.schedule import Decision


def command(
    setting: SettingArgument,
    times: TimesOption = None,
    rule: RuleOption = None,
    assignments: SetOption = None,
    execution: ExecutionOption = "map",
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Print the update times of one mission with the given seed, and the reason of every decision."""
    from replan.evaluation.agent_runs import run_agent
    from replan.worlds.settings import load_setting, make_mission

    mission = make_mission(load_setting(setting), execution=check_execution(execution))
    chosen = chosen_rule(mission, times=times, rule=rule, assignments=assignments, seed=seed)
    trace = run_agent(mission, chosen.rule, seed=seed)
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
    lines = [*chosen.lines(), f"updates at {', '.join(str(t) for t in trace.times)}"]
    lines += [f"{t:4d}  {_why(decision)}" for t, decision in trace.decisions if decision.update]
    answer = {
        "setting": setting,
        "execution": execution,
        "ties": str(mission.ties),
        **chosen.record,
        "times": list(trace.times),
        "decisions": decisions,
    }
    emit(answer, as_json=as_json, lines=lines)


def _why(decision: Decision) -> str:
    """Return the reason, and those terms of the score that it does not hold."""
    mentioned = decision.reason.replace(":", " ").split()
    terms = {name: f"{value:.4g}" for name, value in decision.terms.items() if value}
    missing = ", ".join(f"{name} {value}" for name, value in terms.items() if value not in mentioned)
    return decision.reason + (f"   ({missing})" if missing else "")
