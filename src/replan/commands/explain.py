"""`replan explain`: the causes of a rule's regret."""

from __future__ import annotations

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

PARTS = {"state": "not seeing the state", "plan": "the stale plan", "model": "the wrong model"}


def command(
    setting: SettingArgument,
    times: TimesOption = None,
    rule: RuleOption = None,
    assignments: SetOption = None,
    execution: ExecutionOption = "map",
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Split regret into the cost of not seeing the state, of the stale plan and of the wrong model."""
    from replan.evaluation.decomposition import decompose
    from replan.worlds.settings import load_setting, make_mission

    mission = make_mission(load_setting(setting), execution=check_execution(execution))
    chosen = chosen_rule(mission, times=times, rule=rule, assignments=assignments, seed=seed)
    parts = decompose(mission, chosen.rule)
    best = max(parts.combinations.values())
    answer = {
        "setting": setting,
        "execution": execution,
        "ties": str(mission.ties),
        **chosen.record,
        "regret": parts.regret,
        "parts": {"state": parts.state, "plan": parts.plan, "model": parts.model},
        "shares": parts.shares,
        "combinations": [
            {**on._asdict(), "regret": best - value} for on, value in parts.combinations.items()
        ],
    }
    lines = [f"regret {parts.regret:.4f}, of which"]
    lines += [
        f"  {getattr(parts, name):8.4f}  {parts.shares[name]:6.1%}  {words}" for name, words in PARTS.items()
    ]
    lines.append(f"execution {execution}, ties {mission.ties}")
    emit(answer, as_json=as_json, lines=lines)
