"""Tables 1 and 2 of the paper, its figures beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from replan.report.paper_figures import write_figures
from replan.report.reports import REPORTS, listed, paper_regrets, reference, table_of
from replan.report.study_tables import PLACEMENT, pooled_placement
from replan.results.key import BEST_POSSIBLE, Record
from replan.results.pivot import Pivot, group, pivot
from replan.results.run import Run
from replan.results.table import SAME, Table, TableCell, least_in_bold, number
from replan.schedule.drift_threshold import PACE_WEIGHTS
from replan.schedule.regret_guided import ALPHAS, CHOSEN_FAMILIES, DIAMETERS, MS
from replan.study.protocol import VALIDATION_SEEDS, bootstrap_interval

ADAPTIVE = "regret-guided"
RIVALS = ("best-offset", "drift-threshold")
OBLIVIOUS = ("periodic", "random", "front-loaded", "back-loaded")
SECOND_TIES = "last"
"""The tie rule of the second row of exact figures; that of the study is `first`."""
PAST_NOTE = (
    "exact: acting between updates by the likeliest cell, as in the paper (propagated MAP). ties last: the "
    "same where ties are `last`, hyper-parameters chosen anew on the same seeds. belief: exact "
    "too, acting on all cells that the robot may be in. best possible: the least regret that any rule can "
    "have with the budget and this way of acting. even: updates at 1 + k (T - 1) / B, rounded; the paper's "
    "periodic puts its last one at T - 1."
)


def by_rule(run: Run) -> Pivot:
    """Return the exact regrets of a run with one execution, by setting and rule."""
    return pivot(run.records, ["setting"], "rule", "exact_regret")


@table_of("table1", "table1")
def table_1(run: Run) -> Table:
    """Return regret: the paper's figure, ours sampled with its interval, ours exact.

    The study `lookahead` adds the columns `even`, `lookahead` and `best possible`, the rows `ties last` and
    `belief`.
    """
    records = [] if run.beside is None else run.beside.records
    second = {f"{name} ties={SECOND_TIES}": name for name in run.settings}
    past = [record for record in records if record["setting"] in run.settings]
    added = dict.fromkeys(each["rule"] for each in past if each["rule"] not in (*run.rules, BEST_POSSIBLE))
    columns = [*run.rules, *added, *([BEST_POSSIBLE] if past else [])]
    own = {(record["setting"], record["rule"], record["execution"]) for record in run.records}
    more = [each for each in past if (each["setting"], each["rule"], each["execution"]) not in own]
    exact = pivot([*run.records, *more], ["setting", "execution"], "rule", "exact_regret")
    tied = [{**each, "setting": second[each["setting"]]} for each in records if each["setting"] in second]
    last = pivot(tied, ["setting"], "rule", "exact_regret")
    means = pivot(run.records, ["setting"], "rule", "sampled_regret")
    rows: list[Sequence[Any]] = []
    for (name,) in means.rows:
        printed = paper_regrets().get(name, {})
        named = f"{name} ({'/'.join(map(str, setting_sizes(run, name)))})"
        rows.append(
            (named, "paper", *(f"{printed[rule]:.2f}" if rule in printed else "" for rule in columns))
        )
        rows.append(("", "sampled", *(sampled(means.record((name,), rule)) for rule in columns)))
        for label, found, row in (
            ("exact", exact, (name, "map")),
            (f"ties {SECOND_TIES}", last, (name,)),
            ("belief", exact, (name, "belief")),
        ):
            if row in found.rows:
                rows.append(("", label, *_exact_row(found, row, columns)))
    return Table(
        title="Table 1: regret of nine update rules"
        + (", even spacing, look-ahead and the best possible" if past else ", propagated-MAP execution"),
        columns=("setting (n/T/H/B)", "", *columns),
        labels=2,
        rows=rows,
        notes=[*_notes(run), *([PAST_NOTE] if past else [])],
    )


def _exact_row(exact: Pivot, row: tuple[str, ...], rules: Sequence[str]) -> list[TableCell]:
    """Return a row with the least of the rules in bold; empty where a rule was not run."""
    values = {rule: exact[row, rule] for rule in rules}
    cells = least_in_bold([None if rule == BEST_POSSIBLE else value for rule, value in values.items()])
    return [
        TableCell("") if value is None else number(value) if rule == BEST_POSSIBLE else cell
        for (rule, value), cell in zip(values.items(), cells, strict=True)
    ]


def setting_sizes(run: Run, name: str) -> tuple[Any, Any, int, int]:
    """Return n, T, H and B of a setting."""
    setting = run.settings[name].model_dump()
    return (
        setting.get("n", ""),
        setting.get("horizon", ""),
        setting["planning_horizon"],
        setting.get("budget", ""),
    )


def sampled(record: Record | None) -> str:
    """Return the sampled regret with half its interval, empty if it was not sampled."""
    if record is None:
        return ""
    return f"{record['sampled_regret']:.2f} ± {(record['high'] - record['low']) / 2:.2f}"


def _notes(run: Run) -> list[str]:
    return [
        f"Ties: {run.ties}. Sampled: mean over {run.records[0]['samples']} held-out seeds ± half the 95 % "
        f"bootstrap interval; hyper-parameters chosen on {len(VALIDATION_SEEDS)} other seeds (candidates: "
        f"{run.records[0]['search']}). Exact: expected regret without sampling; bold is the least of the "
        "row.",
        f"Grids. regret-guided: score {listed(CHOSEN_FAMILIES)}; alpha {listed(ALPHAS)}; m {listed(MS)}; D "
        f"{listed(DIAMETERS)}. drift-threshold: pace weight {listed(PACE_WEIGHTS)}. Thresholds and offsets "
        f"are each setting's own: `validation` in `{run.name}.csv` lists them.",
        *comparisons(run),
    ]


def comparisons(run: Run) -> list[str]:
    """Return where the adaptive rule beats its rivals on exact regret, and where not."""
    found, notes = by_rule(run), []
    for rival in (*RIVALS, *OBLIVIOUS):
        if where := [row[0] for row in found.rows if rival in as_good(found, row)]:
            notes.append(f"{ADAPTIVE} does NOT beat {rival} on exact regret in: {', '.join(where)}.")
        elif rival in RIVALS:
            notes.append(f"{ADAPTIVE} beats {rival} on exact regret everywhere.")
    return notes


def as_good(regrets: Pivot, row: tuple[Any, ...]) -> list[str]:
    """Return the rules whose exact regret is not above the adaptive rule's."""
    least = regrets[row, ADAPTIVE] + SAME
    values = zip(regrets.columns, regrets.row(row), strict=True)
    return [rule for rule, value in values if rule != ADAPTIVE and value is not None and value <= least]


def differences(run: Run) -> list[dict[str, float]]:
    """Return sampled regret above the adaptive rule's for every record: mean and 95 % interval, paired."""
    adaptive = {record["setting"]: record["cell"] for record in run.records if record["rule"] == ADAPTIVE}
    found = []
    for record in run.records:
        paired = run.returns[adaptive[record["setting"]]] - run.returns[record["cell"]]
        low, high = bootstrap_interval(paired)
        found.append({"above_adaptive": float(paired.mean()), "above_low": low, "above_high": high})
    return found


@table_of("table1", "table2")
def table_2(run: Run) -> Table:
    """Return where updates are placed: the paper's figures, and ours by its printed definitions."""
    printed = {row["rule"]: [float(row[name]) for name in PLACEMENT] for row in reference("paper-table2")}
    rows = []
    for (rule,), records in group(run.records, "rule").items():
        pairs = zip(printed[rule], pooled_placement(records), strict=True)
        rows.append((rule, *(TableCell(f"{paper:.3f} / {ours:.3f}", ours) for paper, ours in pairs)))
    return Table(
        title="Table 2: where updates are placed (paper / ours)",
        columns=("method", *PLACEMENT),
        rows=rows,
        notes=(
            f"Ties: {run.ties}. Ours by the printed definitions, updates pooled over all settings and "
            "held-out seeds.",
            "The stale-drift columns come close; precision and coverage do not follow from the definitions.",
        ),
        name="table2",
    )


REPORTS["table1"].figures.append(write_figures)
REPORTS["table1"].columns.append(differences)
