"""The page of any run, drawn from its records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf, isfinite
from pathlib import Path
from typing import Any

from replan import Setting
from replan.errors import InputError
from replan.report.leaderboard import NOTE, profile_svg, result_words
from replan.report.page.assemble import assemble, figure_panel, glossary, table_panel
from replan.report.page.setting_view import Causes, KnownResults, Shown, setting_view
from replan.report.regret_words import WORDS, headline
from replan.report.reports import beyond as beyond_report
from replan.report.reports import paper_regrets, reference
from replan.report.reports.paper import comparisons, table_2
from replan.report.study_tables import cells_table, idle_settings, rule_table
from replan.results.key import BEST_POSSIBLE, Record, RecordKey, Variant, differing
from replan.results.run import Run, failed
from replan.results.table import Table, number
from replan.study.work import rule_of
from replan.suite.cards import reference_cards
from replan.suite.catalogue import suite_worlds
from replan.worlds.estimators import check_estimator
from replan.worlds.robot_words import describe_latency

SETTINGS_DRAWN = 12  # at most; each takes a second or two
RULES_DRAWN = 16  # of a setting, at most
DRAWINGS = 96  # rules of all settings together, at most
SHOWN_FIRST = "two-burst"  # among the settings
TITLES = {"study": "Results of a study", "compare": "Rules compared"}
"""Titles of runs whose name says too little."""
IN_BELIEF = ("regret-guided", "periodic", "even", "lookahead")  # rules whose causes are also shown for belief
BestRecords = Mapping[str, Mapping[str, Record]]  # setting -> rule -> the record with the least regret
Drawing = tuple[str, Setting, Mapping[str, Shown], KnownResults]


def write_page(
    run: Run,
    folder: str | Path,
    *,
    past: Run | None = None,
    beyond: Run | None = None,
    more: Sequence[Table] = (),
    views: Iterable[dict[str, Any]] | None = None,
    doing: Callable[[str], None] = lambda what: None,
) -> Path:
    """Write report.html of a study and return its path. `doing` is called with what is being drawn.

    Of several records of one rule on one setting the one with the least regret is shown. The paper's study
    stands beside the paper's figures, and beside the studies `lookahead` (`past`) and `beyond` where they are
    given. `more` are further tables, shown last. `views` are those of `drawings`, if they are made elsewhere.
    """
    paper = run.name.startswith("table1")
    best = _best(_all_records(run, past))
    if views is None:
        drawn, views = drawings(run, past=past, beyond=beyond), []
        for place, each in enumerate(drawn, start=1):
            doing(f"drawing {each[0]}, {place} of {len(drawn)} settings")
            views.append(setting_view(*each))
    same = idle_settings(record for rules in best.values() for record in rules.values())
    views = [
        {**view, "winner": None if view["name"] in same else _winner(best[view["name"]], view["rules"])}
        for view in views
    ]
    tables = [*_tables(run, best, paper=paper), *more]
    panels = _panels() if paper else []
    notes = _not_drawn(best, _in_order(run), run.settings)
    words = glossary([record for rules in best.values() for record in rules.values()])
    title = "When should a robot replan?" if paper else TITLES.get(run.name, f"Study {run.name}")
    said = sentence(run, past)
    return assemble(folder, title, said, tables, views, notes=notes, panels=panels, words=words)


def _winner(rules: Mapping[str, Record], drawn: Iterable[str]) -> str | None:
    """Return the drawn rule of least regret, with which the charts open."""
    return min(drawn, key=lambda label: _regret(rules[label]), default=None)


def drawings(run: Run, *, past: Run | None = None, beyond: Run | None = None) -> list[Drawing]:
    """Return the arguments of `setting_view` for each setting that the page of a run draws."""
    paper, best = run.name.startswith("table1"), _best(_all_records(run, past))
    causes = _causes_beyond(beyond, run) if beyond and paper else {}
    curves = _lookahead_curves() if paper else {}
    shown, found = _in_order(run)[:SETTINGS_DRAWN], []
    for name in shown:
        setting = run.settings[name]
        if rules := _drawn(_expecting(best[name], setting), most=_rules_of_each(len(shown))):
            known = KnownResults(causes.get(name) or _causes(best[name]), curves.get(name, {}))
            found.append((name, setting, rules, known))
    return found


def _in_order(run: Run) -> list[str]:
    return sorted(run.settings, key=lambda name: name != SHOWN_FIRST)


def sentence(run: Run, past: Run | None = None) -> str:
    """Return the result of a run in one sentence; `past` is the study `lookahead` beside the paper's."""
    best = _best(_all_records(run, past))
    regrets = {each: _regrets(best, execution=each) for each in WORDS}
    first = next((each for each in WORDS if regrets[each]), "map")
    belief = regrets["belief"] if first == "map" else None
    floors, sees = _floors(best, execution=first), first == "localised"
    acting_alike = [r for rules in best.values() for r in rules.values() if r["execution"] == first]
    same = idle_settings(acting_alike)
    return headline(regrets[first], belief=belief, floors=floors, priced=_priced(run), sees=sees, same=same)


def _all_records(run: Run, past: Run | None) -> list[Record]:
    """Return the records of the run, and those of its settings in `past` that it does not hold itself."""
    own = {(record["setting"], _name(record)) for record in run.records}
    names = {record["setting"] for record in run.records}
    more = [] if past is None else [record for record in past.records if record["setting"] in names]
    return [*run.records, *(record for record in more if (record["setting"], _name(record)) not in own)]


def _tables(run: Run, best: BestRecords, *, paper: bool) -> list[Table]:
    """Return regret by setting and rule, the cells at length, and the paper's other tables that were run."""
    tables, flat = [], [record for rules in best.values() for record in rules.values()]
    if regrets := _regrets(best):
        notes = [f"Ties between equally good actions: {run.ties}.", *(comparisons(run) if paper else [])]
        if shared := Variant.of(_shared(run.records)).unusual():
            notes.insert(0, f"All robots: {', '.join(shared)}.")
        if _priced(run):
            notes.insert(0, "Where updates have a price, it is added to the regret.")
        printed, same = paper_regrets() if paper else {}, idle_settings(flat)
        tables.append(rule_table(regrets, printed=printed, notes=notes, same=same))
    tables.append(cells_table(flat, total=max(len(run.records), len(flat))))
    if paper:
        tables.append(table_2(run))
    return tables


def _panels() -> list[str]:
    """Return panels beyond the paper: the value of forecasts, and the profile of the benchmark."""
    totals = reference("forecast-totals")
    rows = [
        [name, *(number(float(value), ".2f") for value in row)] for name, *row in map(dict.values, totals)
    ]
    title = "What a forecast is worth in all, and what a wrong one costs"
    note = (
        "Total exact regret over nine settings, as a multiple of that of a robot that expects nothing to "
        "move (`replan reproduce forecast`)."
    )
    forecasts = Table(title, list(totals[0]), rows, [note], name="forecast-totals-long")
    cards = reference_cards()
    named = next(card for card in cards if card.name == "lookahead")
    title = f"On the {len(suite_worlds('test'))} worlds of the benchmark"
    return [
        table_panel("What the robot expects", forecasts),
        figure_panel(title, profile_svg(cards), result_words(named), NOTE),
    ]


def _lookahead_curves() -> dict[str, dict[str, list[float]]]:
    """Return the regret of look-ahead for each budget, by setting."""
    rows = reference("lookahead-budgets")
    return {row.pop("setting"): {"lookahead": list(map(float, row.values()))} for row in rows}


def _causes_beyond(beyond: Run, run: Run) -> dict[str, Causes]:
    """Return the causes of all rules on a point estimate by setting, and of some of them on a belief."""
    found = beyond_report.regrets(beyond)
    causes = {}
    for name in run.settings:
        records = {
            RecordKey.of(record).name: record
            for (row, rule), (record,) in found.records.items()
            if row[0] == name and (row[1] == "map" or rule in IN_BELIEF)
        }
        causes[name] = _causes(records)
    return causes


def _causes(rules: Mapping[str, Record]) -> Causes:
    return {rule: record["decomposition"] for rule, record in rules.items() if record.get("decomposition")}


def _best(records: Sequence[Record]) -> BestRecords:
    best: dict[str, dict[str, Record]] = {}
    shared = _shared(records)
    for record in records:
        label = _name({key: value for key, value in record.items() if key not in shared})
        rules = best.setdefault(str(record["setting"]), {})
        if label not in rules or _regret(record) < _regret(rules[label]):
            rules[label] = record
    return best


def _shared(records: Sequence[Record]) -> Record:
    """Return how all robots of the records are alike."""
    different = differing(records)
    return {name: value for name, value in vars(Variant.of(records[0])).items() if name not in different}


def _name(record: Record) -> str:
    """Return the rule with whatever is unusual about its robot."""
    return RecordKey.of(record).name


def _priced(run: Run) -> bool:
    """Return whether updates have a price in a mission of the run."""
    return any(record.get("priced_regret") is not None for record in run.records)


def _regret(record: Record) -> float:
    """Return the exact regret, with the price of the updates, else the sampled one; infinite for neither."""
    found = (record.get(key) for key in ("priced_regret", "exact_regret", "sampled_regret"))
    return next((float(regret) for regret in found if regret is not None), inf)


def _regrets(best: BestRecords, *, execution: str | None = None) -> dict[str, dict[str, float]]:
    """Return regret by setting and name; of one execution without the floor, by what else differs."""
    found: dict[str, dict[str, float]] = {}
    records = [record for rules in best.values() for record in rules.values()]
    same = set(RecordKey.names()) - {"setting", "rule", "label", *differing(records)} | {"execution"}
    for name, rules in best.items():
        for label, record in rules.items():
            if not isfinite(_regret(record)):
                continue
            if execution is None:
                found.setdefault(name, {})[label] = _regret(record)
            elif record["execution"] == execution and record["rule"] != BEST_POSSIBLE:
                shown = _name({key: value for key, value in record.items() if key not in same})
                found.setdefault(name, {})[shown] = _regret(record)
    return found


def _floors(best: BestRecords, *, execution: str) -> dict[str, float]:
    """Return the least possible regret of each setting for which it was computed, over all forecasts."""
    floors: dict[str, float] = {}
    for name, rules in best.items():
        for record in rules.values():
            if record["rule"] == BEST_POSSIBLE and record["execution"] == execution:
                floors[name] = min(_regret(record), floors.get(name, inf))
    return floors


def _rules_of_each(settings: int) -> int:
    """Return the number of rules to draw of one setting, so that all drawings take about the same time."""
    return min(RULES_DRAWN, max(1, DRAWINGS // max(settings, 1)))


def _expecting(rules: Mapping[str, Record], setting: Setting) -> dict[str, Record]:
    """Return the records of robots with the forecast and the durations of updates of the setting."""
    forecast = "frozen" if setting.forecast is None else str(setting.forecast)
    robot = forecast, describe_latency(setting.update_steps, setting.meanwhile)
    keys = {label: RecordKey.of(each) for label, each in rules.items()}
    return {label: rules[label] for label, key in keys.items() if (key.forecast, key.latency) == robot}


def _drawn(rules: Mapping[str, Record], *, most: int) -> dict[str, Shown]:
    """Return the rules of least regret that can be made again, in the order of the study."""
    made = {label: shown for label, record in rules.items() if (shown := _shown(record)) is not None}
    least = sorted(made, key=lambda label: _regret(rules[label]))[:most]
    return {label: shown for label, shown in made.items() if label in least}


def _shown(record: Record) -> Shown | None:
    """Return the rule as it was run; None if it failed or cannot be made again."""
    try:
        return (
            None
            if failed(record)
            else Shown(rule_of(record), record["execution"], check_estimator(record["estimator"]))
        )
    except InputError:
        return None


def _not_drawn(best: BestRecords, known: Sequence[str], settings: Mapping[str, Setting]) -> list[str]:
    """Return sentences that name what the charts leave out."""
    notes = []
    if any(len(_expecting(best[name], settings[name])) < len(best[name]) for name in known[:SETTINGS_DRAWN]):
        notes.append("Charts are of one forecast and one duration of updates; the tables have all.")
    if len(known) > SETTINGS_DRAWN:
        notes.append(f"Only the first {SETTINGS_DRAWN} of {len(known)} settings are drawn.")
    made = [
        {
            label: _shown(each) is not None
            for label, each in best[name].items()
            if each["rule"] != BEST_POSSIBLE
        }
        for name in known[:SETTINGS_DRAWN]
    ]
    lost = dict.fromkeys(label for rules in made for label, is_made in rules.items() if not is_made)
    if lost:
        notes.append(f"Not drawn where they failed or cannot be made again: {'; '.join(lost)}.")
    most = _rules_of_each(len(made))
    if any(sum(rules.values()) > most for rules in made):
        notes.append(f"Of a setting the {most} rules of least regret are drawn.")
    return notes
