"""`replan certify`: bounds on the regret of a schedule from estimates and drift bounds alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from replan.commands.common import (
    ExecutionOption,
    JsonOption,
    RuleOption,
    SetOption,
    SettingArgument,
    TimesOption,
    check_execution,
    chosen_rule,
)
from replan.commands.output import emit
from replan.errors import InputError


def certify(
    setting: SettingArgument,
    times: TimesOption = None,
    rule: RuleOption = None,
    assignments: SetOption = None,
    promise: Annotated[
        float | None, typer.Option(help="Find a small budget that certifies in advance at most this regret.")
    ] = None,
    boxes: Annotated[
        bool, typer.Option("--boxes", help="Assume no structure: rows of the kernel drift by themselves.")
    ] = False,
    execution: ExecutionOption = "map",
    seed: Annotated[int | None, typer.Option(help="Seed of what is drawn; 0 if not given.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the certificate of a schedule or rule with the paper's bound, or the budget of a promise."""
    from replan.worlds.settings import load_setting, make_mission

    mission = make_mission(load_setting(setting), execution=check_execution(execution))
    head = {"setting": setting, "execution": execution, "ties": str(mission.ties)}
    if promise is not None:
        if any(option is not None for option in (times, rule, assignments or None, seed)):
            raise InputError("--promise finds its own schedule: leave --times, --rule, --set and --seed out")
        answer, lines = _promise(mission, promise, boxes=boxes, quiet=as_json)
    else:
        chosen = chosen_rule(mission, times=times, rule=rule, assignments=assignments, seed=seed or 0)
        head |= chosen.record
        answer, lines = _certificate(mission, chosen.rule, seed or 0, boxes=boxes)
    emit(head | answer, as_json=as_json, lines=lines)


def _certificate(mission, rule, seed: int, *, boxes: bool) -> tuple[dict[str, Any], list[str]]:
    from replan.certificates import Tightening, theorem
    from replan.certificates import certify as certified
    from replan.evaluation.exact import regret
    from replan.schedule import FixedTimes

    tightening = Tightening(structure=False if boxes else None)
    found = certified(mission, rule, tightening=tightening, seed=seed)
    true = regret(mission, FixedTimes(found.times))
    bound = theorem(mission, found.times)
    answer = {
        "regret": true,
        "certificate": found.value,
        "dynamic_certificate": found.dynamic,
        "when": found.when,
        "estimates": found.estimates,
        "probability": found.probability,
        "assumed": found.assumed,
        "contradiction": found.contradiction,
        "times": found.times,
        "times_of_one_mission": found.one_of_many,
        "theorem": {
            "total": bound.total,
            "terms": bound.terms,
            "alpha": bound.alpha,
            "m": bound.m,
            "diameter": bound.diameter,
            "says": bound.says,
            "printed": {"total": bound.printed.total, "alpha": bound.printed.alpha, "m": bound.printed.m},
        },
    }
    lines = [
        f"regret       {true:z.4f}",
        f"certificate  {found.value:z.4f}   ({found.when}, estimates: {found.estimates})",
        f"theorem      {bound.total:.4g}   ({bound.says})",
        f"   as printed, which is false: {bound.printed.total:.4g}",
        *(f"assumed: {assumed}" for assumed in found.assumed),
    ]
    if found.one_of_many:
        times = ", ".join(str(t) for t in found.times)
        lines.append(f"all of this is of updating at {times}, as the mission with seed {seed} does;")
        lines.append("   the rule's times depend on what it sees or draws: another mission may take others")
    if found.contradiction:
        lines.append(f"nothing is promised: {found.contradiction}")
    return answer, lines


def _promise(mission, amount: float, *, boxes: bool, quiet: bool) -> tuple[dict[str, Any], list[str]]:
    from replan.certificates import promise
    from replan.certificates.in_advance import ADVANCE

    def tell(budget: int, value: float) -> None:
        if not quiet:
            typer.echo(f"tried a budget of {budget}: at most {value:z.4f}", err=True)

    tightening = replace(ADVANCE, structure=False if boxes else None)
    found = promise(mission, amount, tightening=tightening, progress=tell)
    answer = {
        "promise": amount,
        "budget": found.budget,
        "times": found.times,
        "certificate": found.certificate.value,
        "when": found.certificate.when,
        "assumed": found.certificate.assumed,
        "tried": found.tried,
    }
    lines = [
        f"{found.budget} updates at {', '.join(str(t) for t in found.times)}, the smallest budget found,",
        f"certify, {found.certificate.when}, that regret is at most {found.certificate.value:z.4f}",
        *(f"assumed: {assumed}" for assumed in found.certificate.assumed),
    ]
    return answer, lines
