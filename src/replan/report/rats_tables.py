"""Tables of study `rats`: the published planners on the bridge, and the same world with few updates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from replan.report.tables import Table
from replan.study.rats import RATS, SETTINGS, best_return, comparisons
from replan.study.records import Run
from replan.worlds.ns_bridge import NSBridge


def published_table() -> Table:
    """Return published mean and standard error beside the exact value of each planner."""
    cells = {(cell.setting, cell.planner): cell for cell in comparisons()}
    rows = []
    for (setting, epsilon), mean in zip(SETTINGS.items(), RATS, strict=True):
        row = [f"{epsilon:g}"]
        for planner in ("future", "snapshot"):
            cell = cells[setting, planner]
            row += [f"{cell.mean:.3f} ± {cell.standard_error:.3f}", f"{cell.exact:z.3f}"]
        rows.append((*row, f"{mean:.3f}", f"{best_return(setting):z.3f}"))
    within = sum(cell.standard_errors_apart < 2 for cell in cells.values())
    return Table(
        title="The bridge of RATS: published returns and exact ones",
        columns=(
            "epsilon",
            "plans on the future, published",
            "exact",
            "plans on a snapshot, published",
            "exact",
            "RATS, published",
            "optimum",
        ),
        rows=rows,
        notes=(
            "Published: mean and standard error of 1,008 episodes (Lecarpentier and Rachelson, 2019). "
            f"{within} of {len(cells)} exact values lie within 2 standard errors of the published means. "
            "These planners see the state and plan anew at every step.",
        ),
    )


def budget_table(run: Run) -> Table:
    """Return the exact regret of every rule by budget; rules that agree in all budgets share a row."""
    regrets: dict[tuple[float, str], dict[str, dict[int, float]]] = {}
    for record in run.records:
        setting = run.settings[record["setting"]]
        assert isinstance(setting, NSBridge)
        group = regrets.setdefault((setting.epsilon, record["execution"]), {})
        group.setdefault(record["rule"], {})[setting.required_budget] = record["exact_regret"]
    budgets = sorted({setting.required_budget for setting in run.settings.values()})
    rows = [
        (f"{epsilon:g}" if first else "", execution if first else "", names, *shown)
        for (epsilon, execution), group in regrets.items()
        for first, names, shown in _merged(group, budgets)
    ]
    return Table(
        title="The bridge of RATS with few updates: exact regret by rule and budget",
        columns=("epsilon", "", "rule", *(f"B = {budget}" for budget in budgets)),
        labels=3,
        rows=rows,
        notes=(
            f"Ties: {run.ties}. Hyper-parameters are chosen on validation seeds. "
            "all rules: the best possible too.",
        ),
    )


def _merged(
    group: dict[str, dict[int, float]], budgets: Sequence[int]
) -> Iterator[tuple[bool, str, tuple[str, ...]]]:
    """Yield whether it is the first, the names and the regrets of the rules of each row."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for rule, values in group.items():
        rows.setdefault(tuple(f"{values[budget]:z.3f}" for budget in budgets), []).append(rule)
    for index, (shown, names) in enumerate(rows.items()):
        yield index == 0, "all rules" if len(rows) == 1 else ", ".join(names), shown
