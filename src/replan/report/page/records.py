"""The page of any run, from plain records, as `replan run` has them in its store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from replan.errors import InputError
from replan.report.page.assemble import assemble
from replan.report.page.headline import headline
from replan.report.page.setting_view import setting_view
from replan.report.page.tables import records_table
from replan.report.study_tables import CELLS
from replan.schedule.registry import make_rule
from replan.schedule.rule import Rule
from replan.study.estimators import TRUE_KERNEL
from replan.study.settings import Setting, parse_setting
from replan.study.store import Store

SETTINGS_DRAWN = 12  # at most; each takes a second or two
USUAL = ("map", TRUE_KERNEL)  # execution and estimator that a rule's name need not mention

Record = Mapping[str, Any]


def write_records_page(
    records: Sequence[Record],
    folder: str | Path,
    *,
    title: str,
    settings: Mapping[str, Setting] | None = None,
) -> Path:
    """The report of records with at least setting, rule, and exact_regret or sampled_regret.

    A record's `parameters` (a mapping, or its JSON) say how to make its rule again; where `settings` has its
    setting, that is drawn too. Of several records of one rule the one with the least regret is shown.
    """
    best: dict[str, dict[str, Record]] = {}  # setting -> rule
    for record in records:
        rules = best.setdefault(str(record["setting"]), {})
        if _regret(record) < _regret(rules.get(_label(record), {})):
            rules[_label(record)] = record
    regrets = {name: {rule: _regret(r) for rule, r in rules.items()} for name, rules in best.items() if rules}
    known = {name: setting for name, setting in (settings or {}).items() if name in best}
    drawn = list(known.items())[:SETTINGS_DRAWN]
    made = {name: _rules(best[name]) for name, _ in drawn}
    views = [setting_view(name, setting, made[name]) for name, setting in drawn if made[name]]
    left_out = len(known) - len(drawn)
    notes = [f"Only the first {SETTINGS_DRAWN} of {len(known)} settings are drawn."] if left_out else []
    return assemble(folder, title, headline(regrets), [records_table(records, notes=notes)], views)


def write_run_page(store: Store, folder: str | Path) -> Path:
    """The report of a run of `replan run`, from its store alone."""
    columns, rows = store.query(CELLS)
    ((name,),) = store.execute("select value from meta where key = 'study'")
    settings = store.execute("select setting, data from settings")
    return write_records_page(
        [dict(zip(columns, row, strict=True)) for row in rows],
        folder,
        title=f"Study {name}",
        settings={name: parse_setting(json.loads(data), where=name) for name, data in settings},
    )


def _label(record: Record) -> str:
    """The rule, and where they are not the usual ones, execution and estimator."""
    more = [record.get("execution", "map"), record.get("estimator", TRUE_KERNEL)]
    return ", ".join([str(record["rule"]), *(str(name) for name in more if name not in USUAL)])


def _regret(record: Record) -> float:
    """Exact where it was computed, else sampled; infinite where neither was."""
    for key in ("exact_regret", "sampled_regret"):
        if record.get(key) is not None:
            return float(record[key])
    return float("inf")


def _rules(records: Mapping[str, Record]) -> dict[str, Rule]:
    """The rules as they were run; not those with another execution or estimator than the page draws."""
    made = {label: _rule(record) for label, record in records.items() if label == record["rule"]}
    return {label: rule for label, rule in made.items() if rule is not None}


def _rule(record: Record) -> Rule | None:
    parameters = record.get("parameters")
    if parameters is None:
        return None
    given = json.loads(parameters) if isinstance(parameters, str) else parameters
    try:
        return make_rule(str(record["rule"]).split()[0], **given)
    except InputError:  # a rule of the user's own, or one with a name of the user's: it cannot be made again
        return None
