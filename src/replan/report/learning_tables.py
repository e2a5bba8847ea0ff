"""What having to learn costs, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from replan.estimate import MISSPECIFICATIONS
from replan.report.tables import Table, write_csv
from replan.study.estimators import ESTIMATORS
from replan.study.learning import LearnedRegret, WrongBounds


def learned_table(learned: Sequence[LearnedRegret]) -> Table:
    """Sampled regret by estimator."""
    found = {(each.setting, each.rule, each.estimator): each for each in learned if each.told == "right"}
    rows = [
        (setting, rule, *(_cell(found.get((setting, rule, estimator))) for estimator in ESTIMATORS))
        for setting, rule in dict.fromkeys((each.setting, each.rule) for each in learned)
    ]
    count = learned[0].sampled.n if learned else 0
    return Table(
        title="What learning costs: regret by estimator",
        columns=("setting", "rule", *ESTIMATORS),
        labels=2,
        rows=tuple(rows),
        notes=(
            f"Mean over {count} held-out seeds ± half the 95 % bootstrap interval. MAP execution, ties first,"
            " rules as validated with the true kernel.",
            "Empty: pooled slip does not apply (not a slip kernel, or where a slip goes changes with time).",
        ),
    )


def told_table(learned: Sequence[LearnedRegret]) -> Table:
    """Sampled regret by what the estimator is told of the drift."""
    found = {(each.setting, each.estimator, each.told): each for each in learned if each.rule == "periodic"}
    told = ("right", *MISSPECIFICATIONS)
    pairs = dict.fromkeys((each.setting, each.estimator) for each in learned if each.told != "right")
    return Table(
        title="Wrong drift bounds: regret by what the estimator is told",
        columns=("setting", "estimator", *told),
        rows=tuple((*pair, *(_cell(found.get((*pair, what))) for what in told)) for pair in pairs),
        notes=(
            "Periodic updates, so that the times are the same in every column; otherwise as in the table of"
            " estimators.",
        ),
    )


def _cell(each: LearnedRegret | None) -> str:
    return "" if each is None else f"{each.sampled.regret:.2f} ± {(each.high - each.low) / 2:.2f}"


def bounds_table(wrong: Sequence[WrongBounds]) -> Table:
    """Exact regret by what the rule is told of the drift."""
    columns = list(wrong[0].regrets) if wrong else []
    return Table(
        title="Wrong drift bounds: exact regret of rules that read them",
        columns=("setting", "rule", *columns),
        labels=2,
        rows=tuple(
            (each.setting, each.rule, *(f"{each.regrets[name]:.3f}" for name in columns)) for each in wrong
        ),
        notes=(
            "The rule as validated with the right bounds, then told bounds four times too small, four times "
            "too large, or shifted by ten steps. True kernel at updates, MAP execution, ties first.",
        ),
    )


def write_learning(learned: Sequence[LearnedRegret], wrong: Sequence[WrongBounds], folder: Path) -> Table:
    """All files; returns the table of estimators."""
    one, two = learned_table(learned), bounds_table(wrong)
    one.write(folder, "learning")
    two.write(folder, "learning-bounds")
    told_table(learned).write(folder, "learning-told")
    write_csv(
        folder / "learning.csv",
        [
            {
                "setting": each.setting,
                "rule": each.rule,
                "estimator": each.estimator,
                "told": each.told,
                "regret": each.sampled.regret,
                "standard_error": each.sampled.standard_error,
                "low": each.low,
                "high": each.high,
                "seeds": each.sampled.n,
            }
            for each in learned
        ],
    )
    write_csv(
        folder / "learning-bounds.csv",
        [{"setting": each.setting, "rule": each.rule, **each.regrets} for each in wrong],
    )
    return one
