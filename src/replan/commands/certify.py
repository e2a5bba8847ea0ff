"""`replan certify`: bounds on the regret of a schedule from estimates and drift bounds alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from replan.commands.common import (
    ExecutionOption,
    Given,
    JsonOption,
    NamedMission,
    RuleOption,
    SetOption,
    SettingArgument,
    TimesOption,
    VerboseOption,
    chosen_rule,
    forecast_options,
)
from replan.commands.output import emit
from replan.commands.waiting import waiting
from replan.errors import InputError
from replan.report.regret_words import scale_words


@forecast_options
def command(
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
    observations: Annotated[
        Path | None,
        typer.Option(help="CSV of transitions (t,s,a,next): the robot plans on their frequencies."),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="With --observations: probability that the promise fails; 0.05.")
    ] = None,
    execution: ExecutionOption = "map",
    seed: Annotated[int | None, typer.Option(help="Seed of random draws; 0 if not given.")] = None,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
    *,
    expecting: Given,
) -> None:
    """Print the certificate of a schedule or rule with the paper's bound, or the budget of a promise."""
    named = NamedMission.of(setting, execution, expecting=expecting)
    mission, head = named.mission, named.record()
    if delta is not None and observations is None:
        raise InputError("--delta belongs to --observations")
    if promise is not None:
        if any(option is not None for option in (times, rule, assignments or None, seed, observations)):
            raise InputError(
                "--promise finds its own schedule: leave --times, --rule, --set, --seed, --observations out"
            )
        answer, lines = _promise(mission, promise, boxes=boxes, quiet=as_json)
    else:
        with waiting(quiet=as_json) as doing:
            doing("choosing the rule's parameters")
            chosen = chosen_rule(mission, times=times, rule=rule, assignments=assignments, seed=seed or 0)
            head |= chosen.record
            seen = None if observations is None else (observations, 0.05 if delta is None else delta)
            doing("computing the certificate")
            answer, lines = _certificate(
                mission, chosen.rule, seed or 0, boxes=boxes, seen=seen, verbose=verbose
            )
    emit(head | answer, as_json=as_json, lines=[*lines, *named.lines()])


def _certificate(
    mission, rule, seed: int, *, boxes: bool, seen: tuple[Path, float] | None, verbose: bool
) -> tuple[dict[str, Any], list[str]]:
    from replan.certificates import Tightening, certify, theorem
    from replan.evaluation.exact import regret
    from replan.evaluation.scale import regret_scale
    from replan.schedule import FixedTimes

    tightening = Tightening(structure=False if boxes else None)
    robot, estimates = (mission, None) if seen is None else _on_observations(mission, rule, *seen)
    certificate = certify(mission, rule, tightening=tightening, seed=seed, estimates=estimates)
    true, scale = regret(robot, FixedTimes(certificate.times)), regret_scale(mission)
    bound = theorem(mission, certificate.times)
    answer = {
        "regret": true,
        **scale.record(true),
        "certificate": certificate.value,
        "dynamic_certificate": certificate.dynamic,
        "when": certificate.when,
        "estimates": certificate.estimates,
        "probability": certificate.probability,
        "assumed": certificate.assumed,
        "contradiction": certificate.contradiction,
        "times": certificate.times,
        "times_of_one_mission": certificate.one_of_many,
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
        f"regret          {true:z.4f}: {scale_words(true, scale)}",
        f"certificate     {certificate.value:z.4f}: no world that fits what is assumed loses more, "
        f"as can be told {certificate.when}",
        f"paper's bound   {bound.total:.4g}" if bound.m else f"paper's bound   none: {bound.says}",
    ]
    if verbose:
        lines += [
            f"   {bound.says}; as the paper prints it, which is false: {bound.printed.total:.4g}",
            f"estimates: {certificate.estimates}",
        ]
    lines += [f"assumed: {assumed}" for assumed in certificate.assumed]
    if certificate.one_of_many:
        times = ", ".join(str(t) for t in certificate.times)
        lines.append(f"all of this is of updating at {times}, as the mission with seed {seed} does;")
        lines.append("   the rule's times depend on what it sees or draws: another mission may take others")
    if certificate.contradiction:
        lines.append(f"nothing is promised: {certificate.contradiction}")
    return answer, lines


def _on_observations(mission, rule, path: Path, delta: float):
    """The mission of the robot that plans on frequencies of transitions, and its estimates."""
    from replan.certificates import learned_estimates
    from replan.certificates.mission_legs import OnEstimates
    from replan.estimate import read_transitions
    from replan.schedule import FixedTimes

    if not isinstance(rule, FixedTimes):
        raise InputError("--observations needs --times: what is learned decides the times of a rule")
    estimates = learned_estimates(read_transitions(path), mission.world, rule.times, delta=delta)
    return OnEstimates.of(mission, estimates), estimates


def _promise(mission, amount: float, *, boxes: bool, quiet: bool) -> tuple[dict[str, Any], list[str]]:
    from replan.certificates import promise
    from replan.certificates.in_advance import ADVANCE

    def tell(budget: int, value: float) -> None:
        if not quiet:
            typer.echo(f"tried a budget of {budget}: at most {value:z.4f}", err=True)

    tightening = replace(ADVANCE, structure=False if boxes else None)
    promised = promise(mission, amount, tightening=tightening, progress=tell)
    answer = {
        "promise": amount,
        "budget": promised.budget,
        "times": promised.times,
        "certificate": promised.certificate.value,
        "when": promised.certificate.when,
        "assumed": promised.certificate.assumed,
        "tried": promised.tried,
    }
    times = ", ".join(str(t) for t in promised.times)
    lines = [
        f"{promised.budget} updates at {times}, the smallest budget found,",
        f"certify, {promised.certificate.when}, that regret is at most {promised.certificate.value:z.4f}",
        *(f"assumed: {assumed}" for assumed in promised.certificate.assumed),
    ]
    return answer, lines
