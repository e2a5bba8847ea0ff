"""Study `localised`: when robots that know where they are should replan, by budget, price and estimate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from replan.evaluation.rollouts import HALF_INTERVAL
from replan.report.reports import REPORTS, table_of
from replan.report.style import BLUE, QUIET, VERMILLION, arrange, new_figure, save, style
from replan.results.key import BEST_POSSIBLE, Record
from replan.results.run import Run
from replan.results.table import MISSING, Table, number
from replan.worlds.estimators import TRACKED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WORLDS = {"thin-ice": "ice that melts", "crosswind": "wind that turns", "terrain": "ground that gives way"}
"""Families of the settings, in words."""
NO_LIMIT = 39
"""The budget that allows an update at every step."""


def varied(record: Record) -> tuple[str, float | None]:
    """Return what the setting's name says of its spending, as in ("budget", 4); ("", None) if nothing."""
    _, _, given = record["setting"].partition(" ")
    name, _, value = given.partition("=")
    return name, float(value) if value else None


def family(record: Record) -> str:
    """Return the family of a record's setting."""
    return record["setting"].rpartition("-")[0]


def totals(run: Run, value: str, wanted: Callable[[Record], bool]) -> dict[tuple[str, Any], float]:
    """Return the sums of a column over settings, by label and by family, then of all settings (None)."""
    found: dict[tuple[str, Any], float] = {}
    for record in run.records:
        if wanted(record) and record[value] is not None:
            for group in (family(record), None):
                key = record["label"], group
                found[key] = found.get(key, 0.0) + record[value]
    return found


def of_budget(budget: int) -> Callable[[Record], bool]:
    """Return whether a record is exact and of a budget."""
    return lambda record: record["measure"] != "sampled" and varied(record) == ("budget", budget)


def labels(run: Run, wanted: Callable[[Record], bool]) -> list[str]:
    """Return the labels of the wanted records, in the order of the study, the floor last."""
    found = list(dict.fromkeys(record["label"] for record in run.records if wanted(record)))
    return sorted(found, key=lambda label: label == BEST_POSSIBLE)


@table_of("localised", "localised")
def budget_table(run: Run) -> Table:
    """Return the total exact regret of every rule by budget, and its updates where there is no limit."""
    budgets = sorted({int(value) for key, value in map(varied, run.records) if key == "budget" and value})
    regrets = {budget: totals(run, "exact_regret", of_budget(budget)) for budget in budgets}
    updates = totals(run, "expected_updates", of_budget(budgets[-1]))
    settings = len({record["setting"] for record in run.records if of_budget(budgets[-1])(record)})
    rows = []
    for label in labels(run, lambda record: varied(record)[0] == "budget"):
        cells = [number(regrets[budget].get((label, None)), "z.2f") for budget in budgets]
        made = updates.get((label, None))
        rows.append((label, *cells, number(None if made is None else made / settings, "z.2f")))
    return Table(
        title="Robots that know where they are: regret by number of updates",
        columns=("rule", *_budget_names(budgets), "updates it then makes"),
        rows=rows,
        notes=(
            f"Total exact regret over the {settings} thin-ice, crosswind and terrain settings, ties "
            f"{run.ties}, forecast frozen, kernel tracked, rules with their defaults. The last column is the "
            f"mean number of updates in a mission without a limit. {BEST_POSSIBLE}: the best feedback rule, "
            "which knows the future.",
        ),
    )


def _budget_names(budgets: list[int]) -> list[str]:
    return ["no limit" if budget == NO_LIMIT else f"at most {budget}" for budget in budgets]


HAND_MADE = "hand-made"
"""Family of the built-in settings."""


def kind_and_limit(record: Record) -> tuple[str, str]:
    """Return the suite's family of a record's setting, and its budget."""
    name, _, budget = record["setting"].partition(" budget=")
    kind, _, number = name.rpartition("-")
    return kind if number.isdigit() else HAND_MADE, budget


@table_of("localised-suite", "localised-suite")
def suite_table(run: Run) -> Table:
    """Return the total exact regret by family, rule and budget; of a grid its best point in each cell."""
    sums: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    for record in run.records:
        key = *kind_and_limit(record), record["rule"], record["label"]
        sums.setdefault(key, []).append((record["exact_regret"], record["expected_updates"]))
    worlds = {kind: len(cells) for (kind, *_), cells in sums.items()}
    best: dict[tuple[str, ...], tuple[float, float]] = {}
    for (*key, _), cells in sums.items():
        regret, updates = (sum(each) for each in zip(*cells, strict=True))
        best[*key,] = min(best.get((*key,), (inf, 0.0)), (regret, updates))
    limits = list(dict.fromkeys(limit for _, limit, _ in best))
    rows = [
        (rule, limit, *(_with_updates(*best[kind, limit, rule], worlds[kind]) for kind in worlds))
        for rule in sorted(run.rules, key=lambda rule: rule == BEST_POSSIBLE)
        for limit in limits
        if (HAND_MADE, limit, rule) in best
    ]
    return Table(
        title="Robots that know where they are, on worlds drawn at random",
        columns=("rule", "at most", *(f"{kind} ({count})" for kind, count in worlds.items())),
        labels=2,
        rows=rows,
        notes=(
            "Total exact regret over the worlds of a family and, in brackets, the mean number of updates in "
            "missions: the thin-ice, crosswind and terrain settings, and the test part of suite v1. Ties "
            f"{run.ties}, forecast frozen, kernel tracked, rules with their defaults. drift threshold: the "
            "best of five thresholds in each cell, no update forced. "
            f"{BEST_POSSIBLE}: the best feedback rule, which knows the future.",
        ),
    )


def _with_updates(regret: float, updates: float, worlds: int) -> str:
    return f"{regret:z.2f} ({updates / worlds:.2f})"


@table_of("localised", "localised-prices")
def price_table(run: Run) -> Table:
    """Return regret, updates and both together where updates have a price."""
    rows = []
    priced = [record for record in run.records if varied(record)[0] == "price"]
    for setting, records in groupby(priced, key=lambda record: record["setting"]):
        for record in sorted(records, key=lambda record: record["rule"] == BEST_POSSIBLE):
            price, updates = varied(record)[1], record["expected_updates"]
            paid = record["priced_regret"]
            regret = None if paid is None or updates is None or price is None else paid - price * updates
            rows.append(
                (setting, record["label"], *(number(each, "z.3f") for each in (regret, updates, paid)))
            )
    return Table(
        title="Robots that know where they are: updates at a price",
        columns=("setting", "rule", "regret", "updates", "regret and price"),
        labels=2,
        rows=rows,
        notes=("Exact, no limit but the number of steps; the price is in units of reward.",),
    )


@table_of("localised", "localised-estimates")
def estimate_table(run: Run) -> Table:
    """Return sampled regret and updates by what the robot knows between its updates."""
    sampled = [record for record in run.records if record["sampled_regret"] is not None]
    settings = list(dict.fromkeys(record["setting"] for record in sampled))
    found = {(record["setting"], record["estimator"]): record for record in sampled}
    rows = []
    for estimator in dict.fromkeys(record["estimator"] for record in sampled):
        cells = (found.get((name, estimator)) for name in settings)
        rows.append((estimator, *(_regret_and_updates(cell) for cell in cells)))
    return Table(
        title="Robots that know where they are: what they know of the world",
        columns=("estimate", *settings),
        rows=rows,
        notes=(
            f"Mean regret over {sampled[0]['samples'] if sampled else 0} seeds and, in brackets, updates in "
            "a mission; last-moment, at most the setting's budget. true-kernel: what the last update showed; "
            "tracked: the kernel of the step before, at every step; nearby: that within so many cells, "
            "elsewhere as last seen. The others learn from every step of the robot. model-family: the "
            "parameters of the declared family; slip-transitions: one slip for each kind of ground, where "
            "slips always go the same ways; drift-bounded-mle: each state and action by itself, with one "
            "drift bound for all or one each (local).",
        ),
    )


@table_of("localised-learned", "localised-learned")
def learned_table(run: Run) -> Table:
    """Return sampled regret and updates on an estimate beside those on the tracked kernel, by family."""
    missions: dict[tuple[str, str, str], list[tuple[Record, Record]]] = {}
    tracked = {record["setting"]: record for record in run.records if record["estimator"] == TRACKED}
    for record in run.records:
        if record["estimator"] != TRACKED:
            kind, limit = kind_and_limit(record)
            key = "rover" if kind.startswith("rover-") else kind, limit, record["estimator"]
            missions.setdefault(key, []).append((tracked[record["setting"]], record))
    rows = []
    for key, pairs in missions.items():
        more = np.concatenate([run.returns[known["cell"]] - run.returns[own["cell"]] for known, own in pairs])
        regrets, updates = (
            np.mean([[each[column] for each in pair] for pair in pairs], axis=0)
            for column in ("sampled_regret", "mean_updates")
        )
        margin = HALF_INTERVAL * more.std(ddof=1) / np.sqrt(len(more))
        figures = (f"{each:z.3f}" for each in (*regrets, *updates))
        rows.append((*key, str(len(pairs)), str(len(more)), *figures, f"{more.mean():z.3f} ± {margin:.2f}"))
    return Table(
        title="Robots that know where they are: what they learn on the way",
        columns=(
            *("family", "at most", "estimate", "worlds", "missions", "regret, tracked", "regret"),
            *("updates, tracked", "updates", "regret more than tracked"),
        ),
        labels=3,
        rows=rows,
        notes=(
            "Means over missions of suite v1's test part, as many in each world of a family, last-moment; "
            "± half the 95 % interval of the paired difference. tracked: the true kernel of the step before; "
            "model-family: one wind, one slip, or the parameters of the ice or of patches of ground, learned "
            "from every step; nearby: the true kernel within so many cells, elsewhere as last seen.",
        ),
    )


def _regret_and_updates(record: Record | None) -> str:
    return MISSING if record is None else f"{record['sampled_regret']:z.2f} ({record['mean_updates']:.1f})"


def replans_figure(run: Run) -> Figure:
    """Draw regret against the number of replans: fixed rates, and replanning at the last moment."""
    limits = sorted({int(value) for key, value in map(varied, run.records) if key == "budget" and value})
    counts = {budget: totals(run, "expected_updates", of_budget(budget)) for budget in limits}
    regrets = {budget: totals(run, "exact_regret", of_budget(budget)) for budget in limits}
    names = [name for name in WORLDS if any(group == name for _, group in regrets[limits[-1]])]
    with style():
        figure = new_figure(height=3.2)
        panels = figure.subplots(1, len(names), squeeze=False)[0]
        for axes, name in zip(panels, names, strict=True):
            settings = len(
                {r["setting"] for r in run.records if family(r) == name and of_budget(limits[-1])(r)}
            )
            _points(axes, name, settings, counts, regrets)
            axes.set_title(WORLDS[name])
            axes.set_xlabel("replans in 40 steps")
            axes.set_xscale("symlog", linthresh=1)
            axes.set_xticks([0, 1, 2, 4, 10, 39], ["0", "1", "2", "4", "10", "39"])
            axes.minorticks_off()
            axes.set_ylim(bottom=0)
            axes.grid(visible=True)
        panels[0].set_ylabel("reward lost, mean of a mission")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        return arrange(figure)


def _points(axes: Axes, name: str, settings: int, counts: Mapping, regrets: Mapping) -> None:
    """Draw one family: fixed rates and even spacing as lines, last-moment as points."""
    last = max(regrets)

    def at(budget: int, label: str) -> tuple[float, float]:
        return counts[budget][label, name] / settings, regrets[budget][label, name] / settings

    rates = sorted(
        at(last, label) for label, group in regrets[last] if group == name and "fixed-rate" in label
    )
    even = [at(budget, "even") for budget in regrets if budget != last]
    ours = [at(budget, "last-moment") for budget in regrets]
    axes.plot(*zip(*rates, strict=True), "o-", color=QUIET, label="at a fixed rate", clip_on=False)
    axes.plot(*zip(*even, strict=True), "s--", color=BLUE, label="evenly spaced", clip_on=False)
    last_moment = {"color": VERMILLION, "markersize": 8, "zorder": 5, "clip_on": False}
    axes.plot(*zip(*ours, strict=True), "D", label="at the last moment (ours)", **last_moment)


REPORTS["localised"].figures.append(lambda run, folder: save(replans_figure(run), folder, "localised"))
