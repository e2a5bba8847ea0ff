"""Study `learning`: regret by estimator, and by the drift bounds that are stated."""

from __future__ import annotations

from collections.abc import Sequence

from replan.estimate.drift_bounds import MISSPECIFICATIONS
from replan.report.reports import table_of
from replan.report.reports.paper import sampled
from replan.results.key import Record
from replan.results.pivot import Part, pivot
from replan.results.run import Run
from replan.results.table import Table
from replan.worlds.estimators import ESTIMATORS, FOR_LOCALISED

STATED = ("right", *MISSPECIFICATIONS)


def _learned(run: Run) -> list[Record]:
    """Return the sampled records, setting by setting in the order of the study."""
    order = list(dict.fromkeys(record["setting"] for record in run.records))
    found = [record for record in run.records if record["sampled_regret"] is not None]
    return sorted(found, key=lambda record: order.index(record["setting"]))


def _learner(record: Record) -> str:
    """Return the estimator, and the forecast if it is not the paper's."""
    expected = "" if record["forecast"] == "frozen" else f", forecast {record['forecast']}"
    return f"{record['estimator']}{expected}"


def _rows(
    records: Sequence[Record], rows: Sequence[Part], columns: Part, values: Sequence[str], *, least: int = 1
):
    """Return rows of sampled regrets with at least that many figures."""
    found = pivot(records, rows, columns, "sampled_regret")
    shown = {row: [sampled(found.record(row, value)) for value in values] for row in found.rows}
    return [(*row, *cells) for row, cells in shown.items() if sum(map(bool, cells)) >= least]


@table_of("learning", "learning")
def learned_table(run: Run) -> Table:
    """Return sampled regret by estimator."""
    right = [record for record in _learned(run) if record["stated_bounds"] == "right"]
    blind = [name for name in ESTIMATORS if name not in FOR_LOCALISED]
    learners = list(dict.fromkeys([*blind, *map(_learner, right)]))
    return Table(
        title="What learning costs: regret by estimator",
        columns=("setting", "rule", *learners),
        labels=2,
        rows=_rows(right, ["setting", "rule"], _learner, learners),
        notes=(
            f"Mean over {right[0]['samples'] if right else 0} held-out seeds ± half the 95 % bootstrap "
            "interval. MAP execution, ties first, rules as validated with the true kernel.",
            "Empty: pooled slip and online bounds do not apply (not a slip kernel, or where a slip goes "
            "changes with time), or not run.",
        ),
    )


@table_of("learning", "learning-bounds")
def bounds_table(run: Run) -> Table:
    """Return exact regret by the drift bounds that the rule is given."""
    found = pivot(run.records, ["setting", "rule"], "stated_bounds", "exact_regret")
    return Table(
        title="Wrong drift bounds: exact regret of rules that read them",
        columns=("setting", "rule", *STATED),
        labels=2,
        rows=[(*row, *(f"{found[row, name]:.3f}" for name in STATED)) for row in found.rows],
        notes=(
            "The rule as validated with the right bounds, then told bounds four times too small, four times "
            "too large, or shifted by ten steps. True kernel at updates, MAP execution, ties first.",
        ),
    )


@table_of("learning", "learning-told")
def stated_table(run: Run) -> Table:
    """Return sampled regret by the drift bounds that the estimator is given."""
    learned = [
        record
        for record in _learned(run)
        if record["rule"] == "periodic" and record["estimator"] != "true-kernel"
    ]
    return Table(
        title="Wrong drift bounds: regret by what the estimator is told",
        columns=("setting", "estimator", *STATED),
        rows=_rows(learned, ["setting", _learner], "stated_bounds", STATED, least=2),
        notes=(
            "Periodic updates, so that the times are the same in every column; otherwise as in the table of"
            " estimators.",
        ),
    )
