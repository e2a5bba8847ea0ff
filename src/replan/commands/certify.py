"""`replan certify`: bounds on the regret of a schedule, from estimates and drift bounds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from replan.certificates.certificate import Certificate, Tightening
from replan.certificates.certificate import certify as certified_regret
from replan.certificates.legs import OnEstimates
from replan.certificates.premises import learned_estimates
from replan.certificates.regret_bound import Theorem, theorem
from replan.commands import CommandAnswer, Output
from replan.commands.missions import ChosenRule, NamedMission
from replan.commands.options import RobotOptions, RuleOptions, SettingArgument, VerboseOption
from replan.errors import InputError
from replan.estimate.observations import read_transitions
from replan.evaluation.exact import regret
from replan.evaluation.scale import RegretScale, regret_scale
from replan.execute.mission import Mission
from replan.schedule.fixed import FixedTimes
from replan.schedule.rule import Rule


@dataclass(frozen=True)
class CertificateAnswer(CommandAnswer):
    """The certificate of a schedule or rule, with the paper's bound."""

    named: NamedMission
    chosen: ChosenRule
    certificate: Certificate
    bound: Theorem
    regret: float
    scale: RegretScale
    seed: int
    verbose: bool

    def record(self) -> dict[str, Any]:
        certificate, bound = self.certificate, self.bound
        return {
            **self.named.record(),
            **self.chosen.record,
            "regret": self.regret,
            **self.scale.record(self.regret),
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
                **{name: vars(bound)[name] for name in ("total", "terms", "alpha", "m", "diameter", "says")},
                "printed": {name: vars(bound.printed)[name] for name in ("total", "alpha", "m")},
            },
        }

    def lines(self) -> list[str]:
        certificate, bound = self.certificate, self.bound
        lines = [
            f"regret          {self.regret:z.4f}: {self.scale.words(self.regret)}",
            f"certificate     {certificate.value:z.4f}: in any world that meets the assumptions below, "
            f"these times lose no more ({certificate.when})",
            f"paper's bound   {bound.total:.4g}" if bound.m else f"paper's bound   none: {bound.says}",
        ]
        if self.verbose:
            lines += [
                f"   {bound.says}; as the paper prints it, which is false: {bound.printed.total:.4g}",
                f"estimates: {certificate.estimates}",
            ]
        lines += [f"assumed: {assumed}" for assumed in certificate.assumed]
        if certificate.one_of_many:
            times = ", ".join(map(str, certificate.times))
            lines += [
                f"all of this is of updating at {times}, as the mission with seed {self.seed} does;",
                "   the rule's times depend on what it sees or draws: another mission may take others",
            ]
        if certificate.contradiction:
            lines.append(f"nothing is promised: {certificate.contradiction}")
        return [*lines, *self.named.lines()]


def certify(
    setting: SettingArgument,
    robot: RobotOptions,
    rule: RuleOptions,
    output: Output,
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
    verbose: VerboseOption = False,
) -> CommandAnswer:
    """Print the certificate of a schedule or rule with the paper's bound."""
    named = NamedMission.of(setting, robot)
    if delta is not None and observations is None:
        raise InputError("--delta belongs to --observations")
    with output.waiting() as doing:
        chosen, seed = ChosenRule.from_options(rule, named.mission), rule.seed
        doing("computing the certificate")
        mission, estimates = named.mission, None
        if observations is not None:
            mission, estimates = _on_observations(mission, chosen.rule, observations, delta)
        found = certified_regret(
            named.mission,
            chosen.rule,
            tightening=Tightening(structure=False if boxes else None),
            seed=seed,
            estimates=estimates,
        )
        loss, scale = regret(mission, FixedTimes(found.times)), regret_scale(named.mission)
        bound = theorem(named.mission, found.times)
    return CertificateAnswer(named, chosen, found, bound, loss, scale, seed, verbose)


def _on_observations(mission: Mission, rule: Rule, path: Path, delta: float | None):
    """Return the mission of the robot that plans on frequencies of transitions, and its estimates."""
    if not isinstance(rule, FixedTimes):
        raise InputError("--observations needs --times: what is learned decides the times of a rule")
    failing = 0.05 if delta is None else delta
    estimates = learned_estimates(read_transitions(path), mission.world, rule.times, delta=failing)
    return OnEstimates.of(mission, estimates), estimates
