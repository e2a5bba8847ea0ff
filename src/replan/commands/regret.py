"""`replan regret`: the regret of a schedule or rule, exactly and, if asked, by rollouts."""

from __future__ import annotations

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
    spent,
    spent_lines,
)
from replan.commands.output import emit
from replan.commands.waiting import waiting
from replan.errors import InputError
from replan.report.regret_words import scale_words
from replan.schedule.rule import Need, Rule

if TYPE_CHECKING:
    from replan.evaluation.exact import Evaluation, Steps
    from replan.evaluation.rollouts import SampledRegret
    from replan.execute.mission import Mission
    from replan.planning import Oracle

MOST_ROLLOUTS = 100_000_000


@forecast_options
@spending_options
def command(
    setting: SettingArgument,
    times: TimesOption = None,
    rule: RuleOption = None,
    assignments: SetOption = None,
    execution: ExecutionOption = "map",
    at_most: AtMostOption = False,
    rollouts: Annotated[int | None, typer.Option(help="Sample this many rollouts as well.")] = None,
    seed: SeedOption = 0,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
    *,
    spending: Given,
    expecting: Given,
) -> None:
    """Print the exact regret of a schedule or rule, how it compares, and the loss of every step."""
    from replan.evaluation.exact import evaluate, reach_and_oracle
    from replan.evaluation.scale import best_objective, regret_scale

    if rollouts is not None and rollouts < 2:
        raise InputError(f"--rollouts must be at least 2, not {rollouts}")
    if rollouts is not None and rollouts > MOST_ROLLOUTS:
        raise InputError(f"--rollouts must be at most {MOST_ROLLOUTS}")
    named = NamedMission.of(setting, execution, at_most=at_most, expecting=expecting, spending=spending)
    mission = named.mission
    with waiting(quiet=as_json) as doing:
        doing("solving the world for the oracle")
        reach, best = reach_and_oracle(mission, None)
        doing("choosing the rule's parameters")
        chosen = chosen_rule(mission, times=times, rule=rule, assignments=assignments, seed=seed)
        doing("computing the regret of every step")
        exact = evaluate(reach, chosen.rule, best=best)
        update_times = _times(reach, chosen.rule, seed)
        doing("computing the best possible")
        scale = regret_scale(reach, best=best)
        most = None if mission.prices is None else best_objective(mission)
        notes = _notes(mission, chosen.rule, exact, seed)
    answer: dict[str, Any] = {
        **named.record(),
        **chosen.record,
        "regret": exact.regret,
        **scale.record(exact.regret),
        "dynamic_regret": exact.dynamic_regret,
        "oracle_return": exact.oracle_return,
        "return": exact.expected_return,
        **spent(exact),
        "best_objective": most,
        "times": update_times,
        **notes,
        "steps": _steps(exact.steps),
    }
    lines = [
        *chosen.lines(verbose=verbose),
        f"regret          {exact.regret:.4f}: {scale_words(exact.regret, scale)}",
        *spent_lines(
            mission.prices,
            exact.objective,
            exact.expected_looks,
            exact.expected_plans,
            together=exact.updates_are_both,
            best=most,
        ),
        f"update times    {', '.join(str(t) for t in update_times) or 'none'}"
        + (f"   ({notes['times_note']})" if "times_note" in notes else ""),
        *(_further(exact, notes) if verbose else []),
    ]
    if rollouts is not None:
        with waiting(quiet=as_json) as doing:
            doing(f"sampling {rollouts} rollouts")
            sampled = _sampled(reach, chosen.rule, best, range(seed, seed + rollouts))
        answer["rollouts"] = vars(sampled)
        lines.append(
            f"sampled         {sampled.regret:.4f} +- {sampled.standard_error:.4f}   ({rollouts} rollouts)"
        )
    emit(answer, as_json=as_json, lines=[*lines, *named.lines()])


def _further(exact: Evaluation, notes: dict[str, str]) -> list[str]:
    dynamic = "" if exact.dynamic_regret is None else f"{exact.dynamic_regret:.4f}   (worst start)"
    return [
        f"return          {exact.expected_return:.4f}   (oracle {exact.oracle_return:.4f})",
        f"dynamic regret  {notes.get('dynamic_regret_note', dynamic)}",
        f"lost at updates {exact.steps.update_loss.sum():.4f}, at skips {exact.steps.skip_loss.sum():.4f}",
    ]


def _notes(mission: Mission, rule: Rule, exact: Evaluation, seed: int) -> dict[str, str]:
    """Return remarks on figures that are missing, or that hold for one seed only."""
    from replan.evaluation.exact import ALL_STARTS_LIMIT
    from replan.evaluation.visited_steps import draws_times

    notes = {}
    if exact.dynamic_regret is None:
        why = "looks and plans are apart" if mission.apart else f"more than {ALL_STARTS_LIMIT} states"
        notes["dynamic_regret_note"] = f"not computed: {why}, so the given start alone"
    if draws_times(mission, rule):
        notes["times_note"] = f"one draw, seed {seed}; the regret is the mean over all draws"
    elif Need.STATE in rule.needs:
        notes["times_note"] = (
            f"one mission, seed {seed}; they depend on the states seen, the regret is the mean"
        )
    return notes


def _times(mission: Mission, rule: Rule, seed: int) -> list[int]:
    """Return the update times of one mission."""
    import numpy as np

    from replan.evaluation.rollouts import rollout

    updates = rollout(mission, rule, [seed], trace=True).updates
    assert updates is not None
    return np.flatnonzero(updates[0]).tolist()


def _sampled(mission: Mission, rule: Rule, best: Oracle, seeds: range) -> SampledRegret:
    import numpy as np

    from replan.evaluation.rollouts import oracle_rollout, rollout, sampled_regret

    drawn = np.array(seeds)
    most = oracle_rollout(mission.world, drawn, best=best, ties=mission.ties)
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
