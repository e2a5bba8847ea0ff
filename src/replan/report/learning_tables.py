"""The tables of study `learning`: regret by estimator, and by the drift bounds that are stated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from replan.estimate.drift_bounds import MISSPECIFICATIONS
from replan.report.paper_tables import sampled
from replan.report.tables import Table
from replan.study.estimators import ESTIMATORS
from replan.study.records import Record, Run

STATED = ("right", *MISSPECIFICATIONS)


def _learned(run: Run) -> list[Record]:
    """The sampled records, setting by setting in the order of the study."""
    order = list(dict.fromkeys(record["setting"] for record in run.records))
    found = [record for record in run.records if record["sampled_regret"] is not None]
    return sorted(found, key=lambda record: order.index(record["setting"]))


def _exact(run: Run) -> dict[tuple[str, str], dict[str, float]]:
    """Exact regret by setting, rule and stated bounds."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for record in run.records:
        if record["exact_regret"] is not None:
            stated = found.setdefault((record["setting"], record["rule"]), {})
            stated[record["stated_bounds"]] = record["exact_regret"]
    return found


def _row(labels: tuple[str, str], found: Mapping[str, Record], values: Sequence[str]):
    return (*labels, *(sampled(found.get(value)) for value in values))


def _learner(record: Record) -> str:
    """The estimator, and the forecast where it is not the paper's."""
    forecast = record["forecast"] or "frozen"
    return record["estimator"] if forecast == "frozen" else f"{record['estimator']}, forecast {forecast}"


def learned_table(run: Run) -> Table:
    """Return sampled regret by estimator."""
    right = [record for record in _learned(run) if record["stated_bounds"] == "right"]
    rows: dict[tuple[str, str], dict[str, Record]] = {}
    for record in right:
        rows.setdefault((record["setting"], record["rule"]), {})[_learner(record)] = record
    learners = list(dict.fromkeys([*ESTIMATORS, *(_learner(record) for record in right)]))
    return Table(
        title="What learning costs: regret by estimator",
        columns=("setting", "rule", *learners),
        labels=2,
        rows=[_row(labels, found, learners) for labels, found in rows.items()],
        notes=(
            f"Mean over {right[0]['samples'] if right else 0} held-out seeds ± half the 95 % bootstrap "
            "interval. MAP execution, ties first, rules as validated with the true kernel.",
            "Empty: pooled slip and online bounds do not apply (not a slip kernel, or where a slip goes "
            "changes with time), or not run.",
        ),
    )


def stated_table(run: Run) -> Table:
    """Return sampled regret by the drift bounds that the estimator is given."""
    rows: dict[tuple[str, str], dict[str, Record]] = {}
    for record in _learned(run):
        if record["rule"] == "periodic" and record["estimator"] != "true-kernel":
            rows.setdefault((record["setting"], _learner(record)), {})[record["stated_bounds"]] = record
    return Table(
        title="Wrong drift bounds: regret by what the estimator is told",
        columns=("setting", "estimator", *STATED),
        rows=[_row(labels, found, STATED) for labels, found in rows.items() if len(found) > 1],
        notes=(
            "Periodic updates, so that the times are the same in every column; otherwise as in the table of"
            " estimators.",
        ),
    )


def bounds_table(run: Run) -> Table:
    """Return exact regret by the drift bounds that the rule is given."""
    return Table(
        title="Wrong drift bounds: exact regret of rules that read them",
        columns=("setting", "rule", *STATED),
        labels=2,
        rows=[(*labels, *(f"{found[name]:.3f}" for name in STATED)) for labels, found in _exact(run).items()],
        notes=(
            "The rule as validated with the right bounds, then told bounds four times too small, four times "
            "too large, or shifted by ten steps. True kernel at updates, MAP execution, ties first.",
        ),
    )
