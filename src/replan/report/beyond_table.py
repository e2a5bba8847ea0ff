"""The table past the paper: exact regret, its ratio to the optimum, and what it is made of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from replan.report.tables import Table, bold, write_csv
from replan.study.beyond import RULES, BeyondResult
from replan.study.paper import METHODS, TABLE_1
from replan.study.protocol import parameters


def regret_table(results: Sequence[BeyondResult]) -> Table:
    """Exact regret of every rule beside the best schedule that exists, and how many times that it is."""
    return Table(
        title="Past the paper: exact regret of every rule, and the best that exists",
        columns=("setting", "", "paper's Adapt", *(METHODS.get(name, name) for name in RULES),
                 "best fixed", "best feedback"),
        labels=2,
        rows=tuple(row for result in results for row in (_regrets(result), _ratios(result))),
        notes=(
            "Ties: first. Hyper-parameters of the paper's rules: those with the least exact regret among its "
            "candidates. lookahead has none; it holds the last estimate fixed, or lets it grow by the drift "
            "bounds, that of the last step held or those ahead known. Bold: least of the row's rules. "
            "x best: how many times the best feedback schedule's.",
        ),
    )  # fmt: skip


def _regrets(result: BeyondResult) -> tuple[str, ...]:
    least = min(entry.regret for entry in result.entries.values())
    printed = TABLE_1.get(result.setting, {}).get("regret-guided")
    return (
        result.setting if result.execution == "map" else "",
        result.execution,
        f"{printed:.2f}" if printed is not None and result.execution == "map" else "",
        *(
            bold(f"{entry.regret:.3f}") if entry.regret <= least + 1e-9 else f"{entry.regret:.3f}"
            for entry in result.entries.values()
        ),
        f"{result.best.fixed_regret:.3f}",
        f"{result.best.feedback_regret:.3f}",
    )


def _ratios(result: BeyondResult) -> tuple[str, ...]:
    regrets = [*(entry.regret for entry in result.entries.values()), result.best.fixed_regret]
    return ("", "x best", "", *(f"{ratio_to_best(result, each):.2f}" for each in regrets), "")


def parts_table(results: Sequence[BeyondResult]) -> Table:
    """What the regret of every rule is made of."""
    rows = [
        (
            result.setting if result.execution == "map" else "",
            result.execution,
            *(
                " / ".join(f"{100 * share:.0f}" for share in entry.parts.shares.values())
                for entry in result.entries.values()
            ),
        )
        for result in results
    ]
    return Table(
        title="What regret is made of: the state not seen, the stale plan, the wrong model",
        columns=("setting", "", *(METHODS.get(name, name) for name in RULES)),
        labels=2,
        rows=tuple(rows),
        notes=(
            "Shapley shares of the exact regret in per cent, state / plan / model; see "
            "replan.evaluation.decomposition for the three switches.",
        ),
    )


def ratio_to_best(result: BeyondResult, regret: float) -> float:
    """How many times the regret of the best feedback schedule."""
    return regret / max(result.best.feedback_regret, 1e-12)


def records(results: Sequence[BeyondResult]) -> list[dict[str, Any]]:
    """One for every rule, setting and execution: regret, ratio, parts and hyper-parameters."""
    return [
        {
            "setting": result.setting,
            "execution": result.execution,
            "rule": name,
            "regret": entry.regret,
            "ratio_to_best": ratio_to_best(result, entry.regret),
            "state": entry.parts.state,
            "plan": entry.parts.plan,
            "model": entry.parts.model,
            "best_fixed": result.best.fixed_regret,
            "best_fixed_times": list(result.best.fixed_times),
            "best_fixed_label": result.best.fixed_label,
            "best_feedback": result.best.feedback_regret,
            "parameters": parameters(entry.rule),
        }
        for result in results
        for name, entry in result.entries.items()
    ]


def write_beyond(results: Sequence[BeyondResult], folder: Path) -> Table:
    """All files; returns the table of regrets."""
    one, two = regret_table(results), parts_table(results)
    one.write(folder, "beyond")
    two.write(folder, "beyond-parts")
    write_csv(
        folder / "beyond.csv",
        [
            record
            | {
                "best_fixed_times": " ".join(str(t) for t in record["best_fixed_times"]),
                "parameters": json.dumps(record["parameters"]),
            }
            for record in records(results)
        ],
    )
    return one
