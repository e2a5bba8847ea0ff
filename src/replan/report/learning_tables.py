"""What having to learn costs, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from replan.report.tables import Table, write_csv
from replan.study.estimators import ESTIMATORS
from replan.study.learning import LearnedRegret, WrongBounds


def learned_table(learned: Sequence[LearnedRegret]) -> Table:
    """Sampled regret by estimator."""
    found = {(each.setting, each.rule, each.estimator): each for each in learned}
    rows = []
    for setting, rule in dict.fromkeys((each.setting, each.rule) for each in learned):
        cells = []
        for estimator in ESTIMATORS:
            each = found.get((setting, rule, estimator))
            cells.append(f"{each.sampled.regret:.2f} ± {(each.high - each.low) / 2:.2f}" if each else "")
        rows.append((setting, rule, *cells))
    count = learned[0].sampled.n if learned else 0
    return Table(
        title="What learning costs: regret by estimator",
        columns=("setting", "rule", *ESTIMATORS),
        rows=tuple(rows),
        notes=(
            f"Mean over {count} held-out seeds ± half the 95 % bootstrap interval. MAP execution, ties first,"
            " rules as validated with the true kernel.",
            "Empty: pooled slip does not apply (not a slip kernel, or where a slip goes changes with time).",
        ),
    )


def bounds_table(wrong: Sequence[WrongBounds]) -> Table:
    """Exact regret by what the rule is told of the drift."""
    columns = list(wrong[0].regrets) if wrong else []
    return Table(
        title="Wrong drift bounds: exact regret of rules that read them",
        columns=("setting", "rule", *columns),
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
    write_csv(
        folder / "learning.csv",
        [
            {
                "setting": each.setting,
                "rule": each.rule,
                "estimator": each.estimator,
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
