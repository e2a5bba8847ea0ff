"""Table 3: success, collisions and cost of simulated flights, the paper's figures beside ours."""

from __future__ import annotations

from replan.report.tables import Table
from replan.study.table3 import REFERENCE, Estimate, Row, Table3
from replan.worlds.crazyflie.layouts import Density
from replan.worlds.crazyflie.world import COLLISION_LENGTH

TITLES: dict[Density, str] = {
    "none": "no obstacles",
    "sparse": "sparse obstacles",
    "dense": "dense obstacles",
}
COLUMNS = ("rule", "", "success", "paper", "collisions", "paper", "cost", "paper", "cost against adaptive")


def table_3(result: Table3) -> list[Table]:
    """One table for each density."""
    densities: list[Density] = list(dict.fromkeys(row.density for row in result.rows))
    return [
        Table(
            title=f"Table 3, {TITLES[density]}: {result.layouts} layouts, simulated Crazyflie",
            columns=COLUMNS,
            labels=2,
            rows=tuple(_cells(row) for row in result.rows if row.density == density),
            notes=tuple(_notes(result, density)),
        )
        for density in densities
    ]


def _cells(row: Row) -> tuple[str, ...]:
    paper = [f"{value:.2f}" for value in row.paper] if row.paper else ["", "", ""]
    ours = [_text(row.success), _text(row.collisions), _text(row.cost)]
    beside = [cell for pair in zip(ours, paper, strict=True) for cell in pair]
    star = " *" if _differs(row.cost_difference) else ""
    return (row.rule, row.execution, *beside, _text(row.cost_difference, signed=True) + star)


def _notes(result: Table3, density: Density) -> list[str]:
    rows = [row for row in result.rows if row.density == density and (row.rule, row.execution) != REFERENCE]
    apart = [f"{row.rule} ({row.execution})" for row in rows if _differs(row.cost_difference)]
    inside = len(rows) - len(apart)
    return [
        f"Seed {result.seed}, ties {result.ties}, kappa {COLLISION_LENGTH:g} m. In brackets 95 % intervals "
        "over layouts (Wilson for success, bootstrap for the others).",
        "Cost against adaptive: the difference to regret-guided with map execution on the same layouts; a "
        f"star marks an interval that leaves out 0. {inside} of {len(rows)} differences cannot be told from 0"
        + (f"; the others are {', '.join(apart)}." if apart else "."),
    ]


def _differs(estimate: Estimate) -> bool:
    return estimate.low > 0 or estimate.high < 0


def _text(estimate: Estimate, *, signed: bool = False) -> str:
    form = "+.2f" if signed else ".2f"
    return f"{estimate.mean:{form}} [{estimate.low:{form}}, {estimate.high:{form}}]"
