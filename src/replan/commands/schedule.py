"""`replan schedule`: the update times of a rule and the reason of each."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
from replan.commands.output import emit, plain
from replan.commands.waiting import waiting

if TYPE_CHECKING:
    from replan.schedule import Decision

LISTED_HORIZON = 1_000
"""Steps up to which the JSON answer lists every decision, beyond only those of updates unless --verbose."""


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
    out: Annotated[
        Path | None, typer.Option(help="Write the updates to this file too: .csv, .yaml or .json.")
    ] = None,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
    *,
    spending: Given,
    expecting: Given,
) -> None:
    """Print the update times of one mission with the given seed, and the reason of every decision."""
    from replan.evaluation.agent_runs import run_agent
    from replan.execute.timeline import make_timeline
    from replan.report.schedule_file import check_schedule_file, write_schedule
    from replan.schedule import Need

    if out is not None:
        check_schedule_file(out)
    named = NamedMission.of(setting, execution, at_most=at_most, expecting=expecting, spending=spending)
    mission, whole = named.mission, verbose or named.mission.horizon <= LISTED_HORIZON
    with waiting(quiet=as_json) as doing:
        doing("choosing the rule's parameters")
        chosen = chosen_rule(mission, times=times, rule=rule, assignments=assignments, seed=seed)
        doing("running one mission")
        if whole or Need.STATE in chosen.rule.needs:
            with warnings.catch_warnings():  # a rule that fails is an InputError here
                warnings.filterwarnings("ignore", r"replan: at time \d+: the rule failed")
                trace = run_agent(mission, chosen.rule, seed=seed)
        else:
            trace = make_timeline(mission, chosen.rule, seed=seed, only_updates=True)
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
        if whole or decision.update
    ]
    spent = (
        f"   (all {mission.budget} are spent; --at-most allows fewer)"
        if mission.config.must_spend and not mission.apart
        else ""
    )
    lines = [
        *chosen.lines(verbose=verbose),
        f"update times    {', '.join(str(t) for t in trace.times) or 'none'}{spent}",
    ]
    lines += [f"{t:4d}  {_why(decision)}" for t, decision in trace.decisions if decision.update or verbose]
    answer = {
        **named.record(),
        **chosen.record,
        "times": list(trace.times),
        "decisions": decisions,
    }
    if out is not None:
        head = plain({name: value for name, value in answer.items() if name != "decisions"})
        write_schedule(out, head, plain([each for each in decisions if each["update"]]))
        lines.append(f"wrote {out}")
    emit(answer, as_json=as_json, lines=[*lines, *named.lines()])


def _why(decision: Decision) -> str:
    """Return the reason, and those terms of the score that it does not hold."""
    mentioned = decision.reason.replace(":", " ").split()
    terms = {name: f"{value:.4g}" for name, value in decision.terms.items() if value}
    missing = ", ".join(f"{name} {value}" for name, value in terms.items() if value not in mentioned)
    return decision.reason + (f"   ({missing})" if missing else "")
