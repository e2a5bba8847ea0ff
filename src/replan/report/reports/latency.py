"""Studies `latency` and `latency-suite`: regret by the steps of an update and the action meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from replan.report.reports import REPORTS, table_of
from replan.report.reports.localised import kind_and_limit
from replan.report.style import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    QUIET,
    arrange,
    new_figure,
    save,
    style,
)
from replan.results.key import BEST_POSSIBLE, Record
from replan.results.pivot import group
from replan.results.run import Run
from replan.results.table import Table, number
from replan.worlds.settings import PAPER_SETTINGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORDS = {"go-on": "goes on", "wait": "waits"}
UNAWARE = ", unaware"
COLOURS = {BEST_POSSIBLE: BLACK, "even": BLUE, "periodic": BLUE, "last-moment": ORANGE, "lookahead": GREEN}
COLOURS |= {"lookahead, mixture": PURPLE}

Totals = dict[tuple[str, str, str], dict[int, float]]
"""Sums of regrets by execution, meanwhile and rule, and by steps."""


def steps_of(record: Record) -> int:
    """Return the steps that an update takes."""
    return 0 if record["latency"] == "instant" else int(record["latency"].split()[0])


def meanwhile_of(record: Record) -> str | None:
    """Return what the robot does meanwhile; None if updates take no time."""
    return None if record["latency"] == "instant" else record["latency"].rpartition(", ")[2]


def rule_of(record: Record) -> str:
    """Return the name of the rule, with the robot's forecast unless that is `frozen`."""
    rule, forecast = record["rule"], record["forecast"]
    if forecast == "frozen":
        return rule
    end = UNAWARE if rule.endswith(UNAWARE) else ""
    return f"{rule.removesuffix(UNAWARE)}, {forecast}{end}"


def worlds_of(record: Record) -> str:
    """Return the kind of the record's world: paper, hand-made, or a family of the suite."""
    if record["setting"].partition(" ")[0] in PAPER_SETTINGS:
        return "paper"
    kind, _ = kind_and_limit(record)
    return "rover" if kind.startswith("rover-") else kind


def totals(records: Iterable[Record]) -> Totals:
    """Return regrets, summed over the settings, by execution, meanwhile and rule, and by steps."""
    found: Totals = {}
    for (execution, rule), each_rule in group(records, "execution", rule_of).items():
        meanwhiles = dict.fromkeys(map(meanwhile_of, each_rule))
        for meanwhile in (each for each in meanwhiles if each is not None):
            here = [each for each in each_rule if meanwhile_of(each) in (None, meanwhile)]
            found[execution, meanwhile, rule] = {
                steps: sum(each["exact_regret"] for each in cells)
                for (steps,), cells in sorted(group(here, steps_of).items())
            }
    return found


@table_of("latency", "latency")
@table_of("latency-suite", "latency-suite")
def latency_table(run: Run) -> Table:
    """Return the sum of exact regrets by kind of world, execution, meanwhile, rule and steps."""
    steps = sorted({steps_of(record) for record in run.records})
    rows, counts = [], []
    for (worlds,), records in group(run.records, worlds_of).items():
        found = totals(records)
        order = sorted(found, key=lambda key: (*key[:2], key[2] != BEST_POSSIBLE))
        rows += [
            (worlds, key[0], WORDS[key[1]], key[2], *(number(found[key].get(each), "z.3f") for each in steps))
            for key in order
        ]
        counts.append(f"{worlds} ({len({record['setting'] for record in records})})")
    return Table(
        title="Updates that take time: exact regret by the steps of an update",
        columns=("worlds", "execution", "meanwhile", "rule", *(f"d = {each}" for each in steps)),
        labels=4,
        rows=rows,
        notes=(
            f"Sums over the worlds of a kind: {', '.join(counts)}; two updates. "
            f"Ties: {run.ties}. {BEST_POSSIBLE}: the floor of the robot with the same d that expects no "
            "change. unaware: the same rule deciding as if updates took no time.",
        ),
    )


def latency_figure(run: Run) -> Figure:
    """Draw regret by steps: one panel for each execution, the robot going on."""
    found = totals(run.records)
    executions = [each for each in ("localised", "belief", "map") if any(key[0] == each for key in found)]
    titles = {"localised": "sees where it is", "belief": "blind, belief", "map": "blind, likeliest cell"}
    with style():
        figure = new_figure(height=3.6, width=9.6)
        panels = figure.subplots(1, len(executions), squeeze=False)[0]
        for axes, execution in zip(panels, executions, strict=True):
            for (acting, meanwhile, rule), sums in found.items():
                if acting != execution or meanwhile != "go-on":
                    continue
                colour = COLOURS.get(rule.removesuffix(UNAWARE), QUIET)
                mark = "x" if rule == BEST_POSSIBLE else "s" if ", mixture" in rule else "o"
                dashes = ":" if rule == BEST_POSSIBLE else "--" if rule.endswith(UNAWARE) else "-"
                hollow = {"markerfacecolor": "white"} if dashes == "--" else {}
                axes.plot(list(sums), list(sums.values()), mark + dashes, color=colour, label=rule, **hollow)
            axes.set_title(titles[execution])
            axes.set_xlabel("steps that an update takes")
            axes.set_ylim(bottom=0)
            axes.grid(visible=True)
            axes.legend()
        worlds = len({record["setting"] for record in run.records})
        panels[0].set_ylabel(f"regret, sum of {worlds} worlds")
        return arrange(figure)


def draw(run: Run, folder: Path) -> None:
    """Write the figure."""
    save(latency_figure(run), folder, "latency")


REPORTS["latency"].figures.append(draw)
