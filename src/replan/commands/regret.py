"""`replan regret`: what a schedule or rule costs, exactly and, if asked, by rollouts."""

from __future__ import annotations

from typing import Annotated, Any

import typer

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
from replan.errors import InputError


def regret(
    setting: SettingArgument,
    times: TimesOption = None,
    rule: RuleOption = None,
    assignments: SetOption = None,
    execution: ExecutionOption = "map",
    rollouts: Annotated[int | None, typer.Option(help="Sample this many rollouts as well.")] = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """The exact regret of a schedule or rule, and the loss of every step."""
    import numpy as np

    from replan.evaluate.exact import ALL_STARTS_LIMIT, evaluate
    from replan.evaluate.rollout import oracle_rollout, rollout, sampled_regret
    from replan.plan import oracle
    from replan.study.settings import load_setting, make_mission

    if rollouts is not None and rollouts < 2:
        raise InputError(f"--rollouts must be at least 2, not {rollouts}")
    mission = make_mission(load_setting(setting), execution=check_execution(execution))
    chosen = chosen_rule(mission, times=times, rule=rule, assignments=assignments, seed=seed)
    best = oracle(mission.world)
    exact = evaluate(mission, chosen.rule, best=best)
    shown = rollout(mission, chosen.rule, [seed], trace=True)
    assert shown.updates is not None
    answer: dict[str, Any] = {
        "setting": setting,
        "execution": execution,
        "ties": str(mission.ties),
        **chosen.record,
        "regret": exact.regret,
        "dynamic_regret": exact.dynamic_regret,
        "oracle_return": exact.oracle_return,
        "return": exact.expected_return,
        "times": np.flatnonzero(shown.updates[0]),
        "steps": _steps(exact.steps),
    }
    lines = [
        f"regret          {exact.regret:.4f}"
        f"   (return {exact.expected_return:.4f}, best {exact.oracle_return:.4f})",
        f"dynamic regret  {exact.dynamic_regret:.4f}   (worst start)"
        if exact.dynamic_regret is not None
        else f"dynamic regret  not computed: more than {ALL_STARTS_LIMIT} states, so the given start alone",
        f"update times    {', '.join(str(t) for t in answer['times'])}",
        f"lost at updates {exact.steps.update_loss.sum():.4f}, at skips {exact.steps.skip_loss.sum():.4f}",
        f"execution {execution}, ties {mission.ties}",
    ]
    if rollouts is not None:
        seeds = np.arange(seed, seed + rollouts)
        sampled = sampled_regret(
            oracle_rollout(mission.world, seeds, best=best, ties=mission.ties),
            rollout(mission, chosen.rule, seeds).returns,
        )
        answer["rollouts"] = vars(sampled)
        lines.append(
            f"sampled         {sampled.regret:.4f} +- {sampled.standard_error:.4f}   ({rollouts} rollouts)"
        )
    emit(answer, as_json=as_json, lines=lines)


def _steps(steps) -> list[dict[str, Any]]:
    rows = []
    for t, probability in enumerate(steps.update_probability):
        kind = (
            "start"
            if t == 0
            else "update"
            if probability > 1 - 1e-12
            else "skip"
            if probability == 0
            else "either"
        )
        rows.append(
            {
                "t": t,
                "kind": kind,
                "loss": steps.loss[t],
                "update_loss": steps.update_loss[t],
                "skip_loss": steps.skip_loss[t],
                "update_probability": probability,
            }
        )
    return rows
