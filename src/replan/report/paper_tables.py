"""Tables 1 and 2 of the paper from the records of study `table1`, its figures beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from replan.report.study_tables import PLACEMENT, pooled_placement
from replan.report.tables import SAME, Cell, Table, least_in_bold, number
from replan.schedule.drift_threshold import PACE_WEIGHTS
from replan.schedule.regret_guided import ALPHAS, CHOSEN_FAMILIES, DIAMETERS, MS
from replan.study.cells import BEST_POSSIBLE
from replan.study.paper import METHODS, TABLE_1, TABLE_2
from replan.study.protocol import VALIDATION_SEEDS, bootstrap_interval
from replan.study.records import Record, Run

ADAPTIVE = "regret-guided"
RIVALS = ("best-offset", "drift-threshold")
LOOKAHEAD = "lookahead"
PAST = (
    "exact: acting between updates by the likeliest cell, as in the paper (propagated MAP). belief: exact "
    "too, acting on all cells that the robot may be in. best possible: the least regret that any rule can "
    "have with the budget and this way of acting."
)
OBLIVIOUS = ("periodic", "random", "front-loaded", "back-loaded")


def table_1(run: Run, past: Run | None = None) -> Table:
    """Return regret: the paper's figure, ours sampled with its interval, ours exact.

    `past`, the study `lookahead`, adds the columns `lookahead` and `best possible` and the row `belief`.
    """
    more = [] if past is None else [LOOKAHEAD, BEST_POSSIBLE]
    exact = {execution: _exact_regrets(run, past, execution) for execution in ("map", "belief")}
    rows: list[Sequence[Any]] = []
    for name, rules in run.by_setting().items():
        printed = TABLE_1.get(name, {})
        named = f"{name} ({'/'.join(map(str, setting_sizes(run, name)))})"
        figures = (f"{printed[rule]:.2f}" if rule in printed else "" for rule in run.rules)
        rows.append((named, "paper", *figures, *("" for _ in more)))
        rows.append(("", "sampled", *map(sampled, rules.values()), *("" for _ in more)))
        for label, execution in (("exact", "map"), ("belief", "belief")):
            if found := exact[execution].get(name):
                rows.append(("", label, *_exact_row(found, [*run.rules, *more])))
    return Table(
        title="Table 1: regret of nine update rules"
        + (", look-ahead and the best possible" if more else ", propagated-MAP execution"),
        columns=("setting (n/T/H/B)", "", *(METHODS.get(rule, rule) for rule in [*run.rules, *more])),
        labels=2,
        rows=rows,
        notes=[*_notes(run), *([PAST] if more else [])],
    )


def _exact_regrets(run: Run, past: Run | None, execution: str) -> dict[str, dict[str, float]]:
    """Return exact regret by setting and rule of one execution."""
    found: dict[str, dict[str, float]] = {}
    for record in [*run.records, *([] if past is None else past.records)]:
        if record["execution"] == execution and record["setting"] in run.settings:
            found.setdefault(record["setting"], {})[record["rule"]] = record["exact_regret"]
    return found


def _exact_row(regrets: Mapping[str, float], rules: Sequence[str]) -> list[Cell]:
    """Return a row with the least of the rules in bold; empty where a rule was not run."""
    cells = least_in_bold([None if rule == BEST_POSSIBLE else regrets.get(rule) for rule in rules])
    return [
        number(regrets[rule]) if rule == BEST_POSSIBLE else cell if rule in regrets else Cell("")
        for rule, cell in zip(rules, cells, strict=True)
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
    """Return the sampled regret with half its interval, empty where there is none."""
    if record is None:
        return ""
    return f"{record['sampled_regret']:.2f} ± {(record['high'] - record['low']) / 2:.2f}"


def _notes(run: Run) -> list[str]:
    return [
        f"Ties: {run.ties}. Sampled: mean over {run.records[0]['samples']} held-out seeds ± half the 95 % "
        f"bootstrap interval; hyper-parameters chosen on {len(VALIDATION_SEEDS)} other seeds (candidates: "
        f"{run.records[0]['search']}). Exact: expected regret without sampling; bold is the least of the "
        "row.",
        f"Grids. Adapt: score {_listed(CHOSEN_FAMILIES)}; alpha {_listed(ALPHAS)}; m {_listed(MS)}; D "
        f"{_listed(DIAMETERS)}. Drift: pace weight {_listed(PACE_WEIGHTS)}. Thresholds and offsets are each "
        f"setting's own: `validation` in `{run.name}.csv` lists them.",
        *comparisons(run),
    ]


def comparisons(run: Run) -> list[str]:
    """Return where the adaptive rule beats its rivals on exact regret, and where not."""
    notes = []
    for rival in (*RIVALS, *OBLIVIOUS):
        named = f"{rival} ({METHODS[rival]})"
        if where := [name for name, rules in run.by_setting().items() if rival in as_good(rules)]:
            notes.append(
                f"regret-guided (Adapt) does NOT beat {named} on exact regret in: {', '.join(where)}."
            )
        elif rival in RIVALS:
            notes.append(f"regret-guided (Adapt) beats {named} on exact regret everywhere.")
    return notes


def as_good(rules: Mapping[str, Record]) -> list[str]:
    """Return the rules whose exact regret is not above the adaptive rule's."""
    least = rules[ADAPTIVE]["exact_regret"] + SAME
    return [rule for rule, record in rules.items() if rule != ADAPTIVE and record["exact_regret"] <= least]


def differences(run: Run) -> list[dict[str, float]]:
    """Return sampled regret above the adaptive rule's for every record: mean and 95 % interval, paired."""
    found = []
    for rules in run.by_setting().values():
        for record in rules.values():
            paired = run.returns[rules[ADAPTIVE]["cell"]] - run.returns[record["cell"]]
            low, high = bootstrap_interval(paired)
            found.append({"above_adaptive": float(paired.mean()), "above_low": low, "above_high": high})
    return found


def table_2(run: Run) -> Table:
    """Return where updates are placed: the paper's figures, and ours by its printed definitions."""
    rows = []
    for rule in run.rules:
        ours = pooled_placement([record for record in run.records if record["rule"] == rule])
        pairs = zip(TABLE_2[rule], ours, strict=True)
        rows.append((METHODS[rule], *(Cell(f"{paper:.3f} / {mine:.3f}", mine) for paper, mine in pairs)))
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


def _listed(values: Sequence[str | float]) -> str:
    return ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)
