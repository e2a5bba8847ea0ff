"""The page of any run, from plain records, as `replan run` has them in its store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import inf, isfinite
from pathlib import Path
from typing import Any

from replan.errors import InputError
from replan.report.page.assemble import assemble
from replan.report.page.headline import headline
from replan.report.page.run_tables import records_table, rule_table
from replan.report.page.setting_view import Shown, setting_view
from replan.report.study_tables import CELLS
from replan.study.definition import given_rule
from replan.study.estimators import TRUE_KERNEL, check_estimator
from replan.study.store import Store
from replan.worlds.settings import Setting, parse_setting

SETTINGS_DRAWN = 12  # at most; each takes a second or two
RULES_DRAWN = 16  # of a setting, at most
USUAL = ("map", TRUE_KERNEL)  # execution and estimator that a rule's name need not mention

Record = Mapping[str, Any]
Best = Mapping[str, Mapping[str, Record]]  # setting -> rule -> the record with the least regret


def write_records_page(
    records: Sequence[Record],
    folder: str | Path,
    *,
    title: str,
    settings: Mapping[str, Setting] | None = None,
    all_in: str = "the records",
) -> Path:
    """The report of records with at least setting, rule, and exact_regret or sampled_regret.

    A record's `parameters` (a mapping, or its JSON) say how to make its rule again, by the name in
    `registered_rule` or else the first word of `rule`; where `settings` has its setting, that is drawn too.
    Of several records of one rule the one with the least regret is shown; `all_in` says where all are.
    """
    best = _best(records)
    regrets = {name: _regrets(rules) for name, rules in best.items()}
    regrets = {name: found for name, found in regrets.items() if found}
    known = {name: setting for name, setting in (settings or {}).items() if name in best}
    drawn = {name: _drawn(best[name]) for name in list(known)[:SETTINGS_DRAWN]}
    views = [setting_view(name, known[name], rules) for name, rules in drawn.items() if rules]
    flat = [record for rules in best.values() for record in rules.values()]
    tables = [rule_table(regrets)] if regrets else []
    tables.append(records_table(flat, total=len(records), all_in=all_in))
    return assemble(folder, title, headline(regrets), tables, views, notes=_not_drawn(best, list(known)))


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
        all_in="`tables/cells.csv`",
    )


def _best(records: Sequence[Record]) -> Best:
    best: dict[str, dict[str, Record]] = {}
    for record in records:
        rules, label = best.setdefault(str(record["setting"]), {}), _label(record)
        if label not in rules or _regret(record) < _regret(rules[label]):
            rules[label] = record
    return best


def _label(record: Record) -> str:
    """The rule, and where they are not the usual ones, execution and estimator."""
    more = [record.get("execution", "map"), record.get("estimator", TRUE_KERNEL)]
    return ", ".join([str(record["rule"]), *(str(name) for name in more if name not in USUAL)])


def _regret(record: Record) -> float:
    """Exact where it was computed, else sampled; infinite where neither was."""
    for key in ("exact_regret", "sampled_regret"):
        if record.get(key) is not None:
            return float(record[key])
    return inf


def _regrets(rules: Mapping[str, Record]) -> dict[str, float]:
    return {rule: _regret(record) for rule, record in rules.items() if isfinite(_regret(record))}


def _drawn(rules: Mapping[str, Record]) -> dict[str, Shown]:
    """The rules of least regret among those that can be made again, in the order of the study."""
    made = {label: shown for label, record in rules.items() if (shown := _shown(record)) is not None}
    least = sorted(made, key=lambda label: _regret(rules[label]))[:RULES_DRAWN]
    return {label: shown for label, shown in made.items() if label in least}


def _shown(record: Record) -> Shown | None:
    """The rule as it was run; None where it failed, or is not registered here."""
    parameters = record.get("parameters")
    if parameters is None:
        return None
    given = json.loads(parameters) if isinstance(parameters, str) else parameters
    name = record.get("registered_rule") or str(record["rule"]).split()[0]
    try:
        estimator = check_estimator(record.get("estimator", TRUE_KERNEL))
        return Shown(given_rule(name, given), record.get("execution", "map"), estimator)
    except InputError:
        return None


def _not_drawn(best: Best, known: Sequence[str]) -> list[str]:
    """What the charts leave out, in words."""
    notes = []
    if len(known) > SETTINGS_DRAWN:
        notes.append(f"Only the first {SETTINGS_DRAWN} of {len(known)} settings are drawn.")
    made = [
        {label: _shown(record) is not None for label, record in best[name].items()}
        for name in known[:SETTINGS_DRAWN]
    ]
    lost = dict.fromkeys(label for rules in made for label, is_made in rules.items() if not is_made)
    if lost:
        notes.append(f"Not drawn where they failed or cannot be made again: {'; '.join(lost)}.")
    if any(sum(rules.values()) > RULES_DRAWN for rules in made):
        notes.append(f"Of a setting the {RULES_DRAWN} rules of least regret are drawn.")
    return notes
