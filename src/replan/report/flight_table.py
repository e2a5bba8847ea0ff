"""Table 3 from the records of study `table3`: success, collisions and cost of flights beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from replan.model.kernel import Array
from replan.report.tables import Table
from replan.study.flights import Track
from replan.study.paper import TABLE_3
from replan.study.protocol import bootstrap_interval
from replan.study.records import Record, Run
from replan.worlds.crazyflie.metrics import Outcome
from replan.worlds.crazyflie.world import COLLISION_LENGTH

TITLES = {"none": "no obstacles", "sparse": "sparse obstacles", "dense": "dense obstacles"}
COLUMNS = ("rule", "", "success", "paper", "collisions", "paper", "cost", "paper", "cost difference")
REFERENCE = ("regret-guided", "map")  # the others' costs are compared with it, or else with the first row

Estimate = dict[str, float]  # mean over layouts, low and high of its 95 % interval
Row = Mapping[str, Any]


def table_3(run: Run) -> list[Table]:
    """Return one table for each density."""
    first = run.records[0]
    present = {(record["rule"], record["execution"]) for record in run.records}
    reference = REFERENCE if REFERENCE in present else (first["rule"], first["execution"])
    rows = _rows(run, reference)
    trial, layouts = first["trial"], first["layouts"]
    return [
        Table(
            title=f"Table 3, {TITLES[density]}: {layouts} layouts, simulated Crazyflie",
            columns=COLUMNS,
            labels=2,
            rows=[_cells(row) for row in rows if row["density"] == density],
            notes=_notes([row for row in rows if row["density"] == density], trial, reference),
            name=f"table3-{density}",
        )
        for density in dict.fromkeys(row["density"] for row in rows)
    ]


def _rows(run: Run, reference: tuple[str, str]) -> list[Row]:
    """The mean figures of every density, rule and execution, with their intervals over layouts."""
    costs = {_key(record): _figures(record, "cost") for record in run.records}
    return [
        {
            "density": record["density"],
            "rule": record["rule"],
            "execution": record["execution"],
            "success": _proportion(_figures(record, "success")),
            "collisions": _mean(_figures(record, "collisions")),
            "cost": _mean(costs[_key(record)]),
            "cost_difference": _mean(
                costs[_key(record)] - costs.get((record["density"], *reference), costs[_key(record)])
            ),
        }
        for record in run.records
    ]


def _key(record: Record) -> tuple[str, str, str]:
    return record["density"], record["rule"], record["execution"]


def _figures(record: Mapping[str, Any], name: str) -> Array:
    """(L,) of every layout."""
    return np.array([float(each[name]) for each in record["flights"]["outcomes"]])


def _mean(values: Array) -> Estimate:
    low, high = bootstrap_interval(values)
    return {"mean": float(values.mean()), "low": low, "high": high}


def _proportion(successes: Array) -> Estimate:
    """Wilson's interval."""
    from scipy.stats import binomtest

    result = binomtest(int(successes.sum()), len(successes))
    interval = result.proportion_ci(method="wilson")
    return {"mean": float(result.statistic), "low": float(interval.low), "high": float(interval.high)}


def _cells(row: Row) -> tuple[str, ...]:
    printed = TABLE_3[row["density"]].get(row["rule"]) if row["execution"] == "map" else None
    paper = [f"{value:.2f}" for value in printed] if printed else ["", "", ""]
    ours = [_text(row[name]) for name in ("success", "collisions", "cost")]
    beside = [cell for pair in zip(ours, paper, strict=True) for cell in pair]
    star = " *" if _differs(row) else ""
    return (row["rule"], row["execution"], *beside, _text(row["cost_difference"], "+.2f") + star)


def _notes(rows: Sequence[Row], trial: int, reference: tuple[str, str]) -> list[str]:
    others = [row for row in rows if (row["rule"], row["execution"]) != reference]
    inside = sum(not _differs(row) for row in others)
    return [
        f"Seed {trial}, ties first, kappa {COLLISION_LENGTH:g} m. In brackets 95 % intervals over layouts "
        "(Wilson for success, bootstrap for the others).",
        f"Cost difference: to {reference[0]} with {reference[1]} execution on the same layouts. A star marks "
        f"an interval that leaves out 0; {inside} of {len(others)} differences cannot be told from 0.",
    ]


def _differs(row: Row) -> bool:
    return row["cost_difference"]["low"] > 0 or row["cost_difference"]["high"] < 0


def _text(estimate: Estimate, form: str = ".2f") -> str:
    return f"{estimate['mean']:{form}} [{estimate['low']:{form}}, {estimate['high']:{form}}]"


def drawn_tracks(run: Run) -> list[Track]:
    """Return the flights over the layout that is kept for the figure."""
    return [
        Track(
            record["density"],
            drawn["number"],
            record["rule"],
            record["execution"],
            np.array(drawn["path"]).reshape(-1, 2),
            np.array(drawn["updates"]).reshape(-1, 2),
            tuple(drawn["update_times"]),
            Outcome(**record["flights"]["outcomes"][drawn["number"]]),
        )
        for record in run.records
        for drawn in [record["flights"]["drawn"]]
    ]
