"""`replan explain`: the causes of a rule's regret."""

from __future__ import annotations

from typing import Any

from replan.commands.common import (
    AtMostOption,
    ExecutionOption,
    Given,
    JsonOption,
    NamedMission,
    RuleOption,
    SeedOption,
    SetOption,
    SettingArgument,
    TimesOption,
    VerboseOption,
    chosen_rule,
    forecast_options,
    spending_options,
)
from replan.commands.output import emit
from replan.commands.waiting import waiting
from replan.report.regret_words import scale_words

PARTS = {"state": "not seeing the state", "plan": "the stale plan", "model": "the wrong model"}


@forecast_options
@spending_options
def command(
    setting: SettingArgument,
    times: TimesOption = None,
    rule: RuleOption = None,
    assignments: SetOption = None,
    execution: ExecutionOption = "map",
    at_most: AtMostOption = False,
    seed: SeedOption = 0,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
    *,
    spending: Given,
    expecting: Given,
) -> None:
    """Split regret into the cost of not seeing the state, of the stale plan and of the wrong model."""
    from replan.evaluation.decomposition import decompose
    from replan.evaluation.scale import regret_scale
    from replan.planning import oracle

    named = NamedMission.of(setting, execution, at_most=at_most, expecting=expecting, spending=spending)
    mission = named.mission
    with waiting(quiet=as_json) as doing:
        doing("choosing the rule's parameters")
        chosen = chosen_rule(mission, times=times, rule=rule, assignments=assignments, seed=seed)
        doing("splitting the regret")
        values = oracle(mission.world)
        parts, scale = decompose(mission, chosen.rule, best=values), regret_scale(mission, best=values)
    best = max(parts.combinations.values())
    answer: dict[str, Any] = {
        **named.record(),
        **chosen.record,
        "regret": parts.regret,
        **scale.record(parts.regret),
        "parts": {"state": parts.state, "plan": parts.plan, "model": parts.model},
        "shares": parts.shares,
        "combinations": [
            {**on._asdict(), "regret": best - value} for on, value in parts.combinations.items()
        ],
    }
    lines = [
        *chosen.lines(verbose=verbose),
        f"regret          {parts.regret:.4f}: {scale_words(parts.regret, scale)}",
        "of which",
    ]
    lines += [
        f"  {value:8.4f}  {parts.shares[name]:6.1%}  {PARTS[name]}" for name, value in answer["parts"].items()
    ]
    emit(answer, as_json=as_json, lines=[*lines, *named.lines()])
