"""Studies `beyond` (exact regret of every rule, its ratio to the best, its causes) and `certificates`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replan.report.curves import certificate_figure, certificate_table
from replan.report.reports import REPORTS, paper_regrets, table_of
from replan.report.style import save
from replan.results.key import BEST_POSSIBLE
from replan.results.pivot import Pivot, pivot
from replan.results.run import Run
from replan.results.table import Table, least_in_bold


def regrets(run: Run) -> Pivot:
    """Return the exact regrets by setting and execution, and rule."""
    return pivot(run.records, ["setting", "execution"], "rule", "exact_regret")


@table_of("beyond", "beyond")
def regret_table(run: Run) -> Table:
    """Return exact regret of every rule beside the best that exists, and its ratio to that."""
    found = regrets(run)
    rules = [rule for rule in found.columns if rule != BEST_POSSIBLE]
    rows: list[tuple[Any, ...]] = []
    for row, labels in found.labelled(once=1):
        optimum = found.record(row, BEST_POSSIBLE)
        assert optimum is not None
        best, fixed = optimum["exact_regret"], optimum["optimum"]["fixed_regret"]
        values = [found[row, rule] for rule in rules]
        printed = paper_regrets().get(row[0], {}).get("regret-guided") if row[1] == "map" else None
        paper = "" if printed is None else f"{printed:.2f}"
        rows.append((*labels, paper, *least_in_bold(values), f"{fixed:.3f}", f"{best:.3f}"))
        rows.append(("", "x best", "", *(f"{each / max(best, 1e-12):.2f}" for each in (*values, fixed)), ""))
    return Table(
        title="Past the paper: exact regret of every rule, and the best that exists",
        columns=("setting", "", "regret-guided, paper", *rules, "best fixed", "best feedback"),
        labels=2,
        rows=rows,
        notes=(
            "Ties: first. Hyper-parameters of the paper's rules: those with the least exact regret among its "
            "candidates. lookahead has none. The robot expects that nothing moves (forecast frozen). Bold: "
            "least of the row's rules. "
            "x best: how many times the best feedback schedule's.",
        ),
    )


@table_of("beyond", "beyond-parts")
def causes_table(run: Run) -> Table:
    """Return the causes of every rule's regret."""
    measured = [record for record in run.records if record["rule"] != BEST_POSSIBLE]
    found = pivot(measured, ["setting", "execution"], "rule", _shares)
    return Table(
        title="What regret is made of: the state not seen, the stale plan, the wrong model",
        columns=("setting", "", *found.columns),
        labels=2,
        rows=[(*labels, *found.row(row)) for row, labels in found.labelled(once=1)],
        notes=(
            "Shapley shares of the exact regret in per cent, state / plan / model; see "
            "replan.evaluation.decomposition for the three switches.",
        ),
    )


def _shares(record: Mapping[str, Any]) -> str:
    whole, causes = record["exact_regret"], record["decomposition"]
    shares = [causes[name] / whole if whole > 0 else 0.0 for name in ("state", "plan", "model")]
    return " / ".join(f"{100 * share:z.0f}" for share in shares)


REPORTS["certificates"].tables["certificates"] = certificate_table
REPORTS["certificates"].figures.append(
    lambda run, folder: save(certificate_figure(run), folder, "certificates")
)
