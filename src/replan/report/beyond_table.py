"""The table past the paper: exact regret, its ratio to the optimum, and what it is made of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from replan.report.tables import Table, bold, write_csv
from replan.study.beyond import RULES, BeyondResult
from replan.study.paper import METHODS, TABLE_1
from replan.study.protocol import parameters


def regret_table(results: Sequence[BeyondResult]) -> Table:
    """Exact regret of every rule beside the best schedule that exists."""
    rows = []
    for result in results:
        least = min(entry.regret for entry in result.entries.values())
        printed = TABLE_1.get(result.setting, {}).get("regret-guided")
        cells = [f"{entry.regret:.3f}" for entry in result.entries.values()]
        cells = [
            bold(cell) if entry.regret <= least + 1e-9 else cell
            for cell, entry in zip(cells, result.entries.values(), strict=True)
        ]
        ratio = result.entries["lookahead"].regret / max(result.best.feedback_regret, 1e-12)
        rows.append(
            (
                result.setting if result.execution == "map" else "",
                result.execution,
                f"{printed:.2f}" if printed is not None and result.execution == "map" else "",
                *cells,
                f"{result.best.fixed_regret:.3f}",
                f"{result.best.feedback_regret:.3f}",
                f"{ratio:.2f}",
            )
        )
    return Table(
        title="Past the paper: exact regret of every rule, and the best that exists",
        columns=("setting", "", "paper's Adapt", *(METHODS.get(name, name) for name in RULES),
                 "best fixed", "best feedback", "lookahead / best"),
        labels=2,
        rows=tuple(rows),
        notes=(
            "Ties: first. Hyper-parameters of the paper's rules: those with the least exact regret among its "
            "candidates. lookahead has none; it holds the last estimate fixed, or lets it grow by the drift "
            "bounds. Bold: least of the row's rules.",
        ),
    )  # fmt: skip


def parts_table(results: Sequence[BeyondResult]) -> Table:
    """What the regret of periodic updates and of look-ahead is made of."""
    rows = []
    for result in results:
        cells = []
        for name in ("periodic", "lookahead"):
            parts = result.entries[name].parts
            cells += [f"{parts.regret:.3f}", *(f"{share:.0%}" for share in parts.shares.values())]
        rows.append((result.setting if result.execution == "map" else "", result.execution, *cells))
    names = ("regret", "state", "plan", "model")
    return Table(
        title="What regret is made of: the state not seen, the stale plan, the wrong model",
        columns=(
            "setting",
            "",
            *(f"periodic {name}" for name in names),
            *(f"lookahead {name}" for name in names),
        ),
        labels=2,
        rows=tuple(rows),
        notes=("Shapley shares of the exact regret; see replan.evaluate.decompose for the three switches.",),
    )


def write_beyond(results: Sequence[BeyondResult], folder: Path) -> Table:
    """All files; returns the table of regrets."""
    one, two = regret_table(results), parts_table(results)
    one.write(folder, "beyond")
    two.write(folder, "beyond-parts")
    write_csv(
        folder / "beyond.csv",
        [
            {
                "setting": result.setting,
                "execution": result.execution,
                "rule": name,
                "regret": entry.regret,
                "ratio_to_best": entry.regret / max(result.best.feedback_regret, 1e-12),
                "state": entry.parts.state,
                "plan": entry.parts.plan,
                "model": entry.parts.model,
                "best_fixed": result.best.fixed_regret,
                "best_fixed_times": " ".join(str(t) for t in result.best.fixed_times),
                "best_fixed_label": result.best.fixed_label,
                "best_feedback": result.best.feedback_regret,
                "parameters": json.dumps(parameters(entry.rule)),
            }
            for result in results
            for name, entry in result.entries.items()
        ],
    )
    return one
