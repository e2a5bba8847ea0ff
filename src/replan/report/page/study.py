"""The page of the paper's study, as `replan reproduce` has it in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from replan.report.page.assemble import assemble
from replan.report.page.headline import headline
from replan.report.page.setting_view import Parts, Shown, setting_view
from replan.report.page.tables import flight_table, placement_table, regret_table, samples_table
from replan.study.beyond import BeyondResult
from replan.study.simulation import SettingResult

IN_BELIEF = ("regret-guided", "periodic", "lookahead")  # rules whose regret is also shown for belief


def write_page(
    results: Sequence[SettingResult],
    folder: str | Path,
    *,
    beyond: Sequence[BeyondResult] = (),
    flights: Sequence[Mapping[str, Any]] | None = None,
    search: str = "paper",
) -> Path:
    """The report of the paper's study, and of what lies past it where `beyond` or `flights` are given.

    `flights` are the rows of Table 3 as plain records (see `flight_table`).
    """
    regrets = {
        result.name: {method: entry.measured.exact for method, entry in result.entries.items()}
        for result in results
    }
    here = {(result.setting, result.execution): result for result in beyond if result.setting in regrets}
    ratios = [
        result.entries["lookahead"].regret / result.best.feedback_regret
        for (_, execution), result in here.items()
        if execution == "map" and result.best.feedback_regret > 0
    ]
    tables = [
        regret_table(results, search=search),
        samples_table(results),
        placement_table(results),
        flight_table(flights),
    ]
    views = [
        setting_view(
            result.name,
            result.setting,
            {method: Shown(entry.choice.rule) for method, entry in result.entries.items()}
            | _lookahead(here.get((result.name, "map"))),
            parts=_parts(here.get((result.name, "map")), here.get((result.name, "belief"))),
        )
        for result in results
    ]
    return assemble(
        folder, "When should a robot replan?", headline(regrets, ratios_to_best=ratios), tables, views
    )


def _lookahead(past: BeyondResult | None) -> dict[str, Shown]:
    return {} if past is None else {"lookahead": Shown(past.entries["lookahead"].rule)}


def _parts(point: BeyondResult | None, belief: BeyondResult | None) -> Parts | None:
    """All rules on a point estimate, and some of them on a belief."""
    if point is None:
        return None
    parts = {name: entry.parts for name, entry in point.entries.items()}
    if belief is not None:
        parts |= {f"{name}, belief": belief.entries[name].parts for name in IN_BELIEF}
    return parts
