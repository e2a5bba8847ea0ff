"""`replan regret`: the regret of a schedule or rule; `replan explain`: its causes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from replan.commands import CommandAnswer, Output
from replan.commands.missions import ChosenRule, NamedMission
from replan.commands.options import MissionOptions, RuleOptions, VerboseOption
from replan.evaluation import exact
from replan.evaluation.exact import Evaluation, Steps, oracle_of
from replan.evaluation.rollouts import SampledRegret, draws_times, oracle_rollout, rollout, sampled_regret
from replan.evaluation.scale import RegretScale, best_objective, regret_scale
from replan.execute.mission import Mission
from replan.planning.optimal_values import Oracle, oracle
from replan.schedule.rule import Need, Rule

if TYPE_CHECKING:
    from replan.evaluation.decomposition import Decomposition

MOST_ROLLOUTS = 100_000_000
PARTS = {
    "state": "not seeing the state",
    "plan": "the stale plan",
    "model": "the wrong model",
    "lateness": "updates that take time",
}


@dataclass(frozen=True)
class RegretAnswer(CommandAnswer):
    """The regret of a rule on a mission."""

    named: NamedMission
    chosen: ChosenRule
    evaluation: Evaluation
    scale: RegretScale
    best_objective: float | None
    times: list[int]
    notes: dict[str, str]
    sampled: SampledRegret | None
    verbose: bool

    def record(self) -> dict[str, Any]:
        found = self.evaluation
        return {
            **self.named.record(self.chosen.rule),
            **self.chosen.record,
            "regret": found.regret,
            **self.scale.record(found.regret),
            "dynamic_regret": found.dynamic_regret,
            "oracle_return": found.oracle_return,
            "return": found.expected_return,
            "expected_updates": found.expected_updates,
            "objective": found.objective,
            "best_objective": self.best_objective,
            "times": self.times,
            **self.notes,
            "steps": _steps(found.steps),
            **({} if self.sampled is None else {"rollouts": vars(self.sampled)}),
        }

    def lines(self) -> list[str]:
        found, note = self.evaluation, self.notes.get("times_note")
        lines = [
            *self.chosen.lines(verbose=self.verbose),
            f"regret          {found.regret:z.4f}: {self.scale.words(found.regret)}",
            *self.named.objective_lines(found.objective, found.expected_updates, self.best_objective),
            f"update times    {', '.join(map(str, self.times)) or 'none'}"
            + (f"   ({note})" if note is not None else ""),
            *(self._further() if self.verbose else []),
        ]
        if self.sampled is not None:
            sampled = f"{self.sampled.regret:z.4f} +- {self.sampled.margin:.4f}"
            lines.append(f"sampled         {sampled}   (mean of {self.sampled.n} rollouts, 95 % interval)")
        return [*lines, *self.named.lines()]

    def _further(self) -> list[str]:
        found = self.evaluation
        dynamic = "" if found.dynamic_regret is None else f"{found.dynamic_regret:z.4f}   (worst start)"
        lost = found.steps.update_loss.sum(), found.steps.skip_loss.sum()
        return [
            f"return          {found.expected_return:.4f}   (oracle {found.oracle_return:.4f})",
            f"dynamic regret  {self.notes.get('dynamic_regret_note', dynamic)}",
            f"lost at updates {lost[0]:z.4f}, at skips {lost[1]:z.4f}",
        ]


def regret(
    mission: MissionOptions,
    rule: RuleOptions,
    output: Output,
    rollouts: Annotated[
        int | None, typer.Option(min=2, max=MOST_ROLLOUTS, help="Sample this many rollouts as well.")
    ] = None,
    verbose: VerboseOption = False,
) -> RegretAnswer:
    """Print the exact regret of a schedule or rule, how it compares, and the loss of every step."""
    named, seed = NamedMission.from_options(mission), rule.seed
    with output.waiting() as doing:
        doing("solving the world for the oracle")
        reach = named.mission.cropped
        best = oracle_of(reach, None)
        chosen = ChosenRule.from_options(rule, named.mission)
        doing("computing the regret of every step")
        all_starts = verbose or output.as_json  # takes longer than the rest, and nobody sees it otherwise
        evaluation = exact.evaluate(
            reach, chosen.rule, best=best, all_starts=all_starts and reach is named.mission
        )
        times = _times(reach, chosen.rule, evaluation, seed)
        doing("computing the best possible")
        scale = regret_scale(reach, best=best)
        most = None if named.mission.spending.price is None else best_objective(named.mission)
        notes = _notes(named.mission, chosen.rule, seed)
        sampled = None
        if rollouts is not None:
            doing(f"sampling {rollouts} rollouts")
            sampled = _sampled(reach, chosen.rule, best, range(seed, seed + rollouts))
    return RegretAnswer(named, chosen, evaluation, scale, most, times, notes, sampled, verbose)


@dataclass(frozen=True)
class Explanation(CommandAnswer):
    """The causes of a rule's regret."""

    named: NamedMission
    chosen: ChosenRule
    parts: Decomposition
    scale: RegretScale
    verbose: bool

    def record(self) -> dict[str, Any]:
        parts = self.parts
        best = max(parts.combinations.values())
        combinations = [
            {**removed._asdict(), "regret": best - value} for removed, value in parts.combinations.items()
        ]
        return {
            **self.named.record(self.chosen.rule),
            **self.chosen.record,
            "regret": parts.regret,
            **self.scale.record(parts.regret),
            "parts": parts.parts,
            "shares": parts.shares,
            "combinations": combinations,
        }

    def lines(self) -> list[str]:
        parts = self.parts
        return [
            *self.chosen.lines(verbose=self.verbose),
            f"regret          {parts.regret:z.4f}: {self.scale.words(parts.regret)}",
            *(self._causes() if self.scale.share(parts.regret) is not None else []),
            *self.named.lines(),
        ]

    def _causes(self) -> list[str]:
        parts = self.parts
        rows = (
            f"  {part:>z8.4f}  {parts.shares[name]:6.1%}  {PARTS[name]}" for name, part in parts.parts.items()
        )
        return ["of which", *rows]


def explain(
    mission: MissionOptions, rule: RuleOptions, output: Output, verbose: VerboseOption = False
) -> Explanation:
    """Split regret by cause: the state not seen, the stale plan, the wrong model, updates that take time."""
    from replan.evaluation.decomposition import decompose

    named = NamedMission.from_options(mission)
    with output.waiting() as doing:
        chosen = ChosenRule.from_options(rule, named.mission)
        doing("splitting the regret")
        values = oracle(named.mission.world)
        parts = decompose(named.mission, chosen.rule, best=values)
        return Explanation(named, chosen, parts, regret_scale(named.mission, best=values), verbose)


def _notes(mission: Mission, rule: Rule, seed: int) -> dict[str, str]:
    """Return remarks on figures that are missing, or that hold for one seed only."""
    notes = {}
    if mission.world.states > mission.sizes.all_starts:
        why = f"more than {mission.sizes.all_starts} states"
        notes["dynamic_regret_note"] = f"not computed: {why}, so only the given start counts"
    if draws_times(mission, rule):
        notes["times_note"] = f"one draw, seed {seed}; the regret is the mean over all draws"
    elif Need.STATE in rule.needs:
        notes["times_note"] = (
            f"one mission, seed {seed}; they depend on the states seen, the regret is the mean"
        )
    return notes


def _times(mission: Mission, rule: Rule, evaluation: Evaluation, seed: int) -> list[int]:
    """Return the update times of one mission: the only ones that it can have, else those of a rollout."""
    kinds = [step["kind"] for step in _steps(evaluation.steps)]
    if "either" not in kinds:
        return [t for t, kind in enumerate(kinds) if kind == "update"]
    updates = rollout(mission, rule, [seed], trace=True).updates
    assert updates is not None
    return np.flatnonzero(updates[0]).tolist()


def _sampled(mission: Mission, rule: Rule, best: Oracle, seeds: range) -> SampledRegret:
    drawn = np.array(seeds)
    most = oracle_rollout(mission.world, drawn, best=best, ties=mission.robot.ties)
    return sampled_regret(most, rollout(mission, rule, drawn).returns)


def _steps(steps: Steps) -> list[dict[str, Any]]:
    return [
        {
            "t": t,
            "kind": _kind(t, probability),
            "loss": steps.loss[t],
            "update_loss": steps.update_loss[t],
            "skip_loss": steps.skip_loss[t],
            "update_probability": probability,
        }
        for t, probability in enumerate(steps.update_probability)
    ]


def _kind(t: int, update_probability: float) -> str:
    if t == 0:
        return "start"
    if update_probability == 0:
        return "skip"
    return "update" if update_probability > 1 - 1e-12 else "either"
