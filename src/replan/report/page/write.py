"""One file with everything in it: tables as HTML, charts from plain data, the scripts, and Plotly once."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from replan.errors import InputError
from replan.report.page.headline import headline
from replan.report.page.setting_view import Parts, setting_view
from replan.report.page.sortable import SortableTable
from replan.report.page.tables import (
    flight_table,
    placement_table,
    records_table,
    regret_table,
    samples_table,
)
from replan.schedule.registry import make_rule
from replan.schedule.rule import Rule
from replan.study.beyond import BeyondResult
from replan.study.settings import Setting
from replan.study.simulation import SettingResult

NAME = "report.html"
SCRIPTS = ("theme.js", "tables.js", "charts.js", "path.js", "page.js")
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
            {method: entry.choice.rule for method, entry in result.entries.items()}
            | _lookahead(here.get((result.name, "map"))),
            parts=_parts(here.get((result.name, "map")), here.get((result.name, "belief"))),
        )
        for result in results
    ]
    return _write(
        folder, "When should a robot replan?", headline(regrets, ratios_to_best=ratios), tables, views
    )


def write_records_page(
    records: Sequence[Mapping[str, Any]],
    folder: str | Path,
    *,
    title: str,
    settings: Mapping[str, Setting] | None = None,
) -> Path:
    """The report of any run from plain records: setting, rule, exact_regret or sampled_regret, and more.

    A record's `parameters` (a mapping, or its JSON) say how to make its rule again; where `settings` has its
    setting, that is drawn too. Of several records of one rule the one with the least regret is shown.
    """
    regrets: dict[str, dict[str, float]] = {}
    rules: dict[str, dict[str, Rule]] = {}
    for record in sorted(records, key=_regret):
        setting, rule = str(record["setting"]), _label(record)
        if _regret(record) < float("inf"):
            regrets.setdefault(setting, {}).setdefault(rule, _regret(record))
        made = _rule(record)
        if made is not None and record.get("execution", "map") == "map":
            rules.setdefault(setting, {}).setdefault(rule, made)
    views = [
        setting_view(name, setting, rules[name])
        for name, setting in (settings or {}).items()
        if name in rules
    ]
    return _write(folder, title, headline(regrets), [records_table(records)], views)


def _label(record: Mapping[str, Any]) -> str:
    """The rule, and where they differ from the paper's, execution and estimator."""
    more = [record.get("execution", "map"), record.get("estimator", "true-kernel")]
    usual = ("map", "true-kernel")
    return ", ".join([str(record["rule"]), *(str(x) for x in more if x not in usual)])


def _regret(record: Mapping[str, Any]) -> float:
    """Exact where it was computed, else sampled; infinite where neither was."""
    for key in ("exact_regret", "sampled_regret"):
        if record.get(key) is not None:
            return float(record[key])
    return float("inf")


def _rule(record: Mapping[str, Any]) -> Rule | None:
    parameters = record.get("parameters")
    if parameters is None:
        return None
    try:
        return make_rule(
            record["rule"], **(json.loads(parameters) if isinstance(parameters, str) else parameters)
        )
    except InputError:  # a rule of the user's own, which the page cannot make again
        return None


def _lookahead(past: BeyondResult | None) -> dict[str, Rule]:
    return {} if past is None else {"lookahead": past.entries["lookahead"].rule}


def _parts(point: BeyondResult | None, belief: BeyondResult | None) -> Parts | None:
    """All rules on a point estimate, and some of them on a belief."""
    if point is None:
        return None
    parts = {name: entry.parts for name, entry in point.entries.items()}
    if belief is not None:
        parts |= {f"{name}, belief": belief.entries[name].parts for name in IN_BELIEF}
    return parts


def _write(
    folder: str | Path,
    title: str,
    sentence: str,
    tables: Sequence[SortableTable],
    views: list[dict[str, Any]],
) -> Path:
    from plotly.offline import get_plotlyjs

    filled = {
        "title": escape(title),
        "sentence": escape(sentence),
        "style": _asset("page.css"),
        "tables": "\n".join(_boxed(table) for table in tables),
        "charts": _asset("charts.html") if views else "",
        "data": json.dumps({"settings": views}, separators=(",", ":"), allow_nan=False).replace("</", "<\\/"),
        "plotly": get_plotlyjs() if views else "",
        "scripts": "\n".join(_asset(name) for name in SCRIPTS),
    }
    page = re.sub(r"\{\{(\w+)\}\}", lambda found: filled[found[1]], _asset("page.html"))
    path = Path(folder) / NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    return path


def _boxed(table: SortableTable) -> str:
    """Long tables are folded away."""
    if not table.name.endswith("-long"):
        return f"<section>{table.html()}</section>"
    return f"<details><summary>{escape(table.title)}</summary>{table.html()}</details>"


def _asset(name: str) -> str:
    return (resources.files("replan.report.page") / "assets" / name).read_text(encoding="utf-8")
