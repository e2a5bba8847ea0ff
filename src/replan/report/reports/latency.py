"""Study `latency`: regret by the steps that an update takes, and by what the robot does meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from replan.report.reports import REPORTS, table_of
from replan.report.style import BLACK, arrange, new_figure, rule_colour, save, style
from replan.results.key import BEST_POSSIBLE, Record
from replan.results.pivot import group
from replan.results.run import Run
from replan.results.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORDS = {"go-on": "goes on", "wait": "waits"}
UNAWARE = ", unaware"
COLOURED_AS = {"even": "periodic", "last-moment": "lookahead"}
"""Rules of localised robots have the colours of their counterparts."""


def steps_of(record: Record) -> int:
    """Return the steps that an update takes."""
    return 0 if record["latency"] == "instant" else int(record["latency"].split()[0])


def meanwhile_of(record: Record) -> str | None:
    """Return what the robot does meanwhile; None if updates take no time."""
    return None if record["latency"] == "instant" else record["latency"].rpartition(", ")[2]


def totals(run: Run) -> dict[tuple[str, str, str], dict[int, float]]:
    """Return regrets, summed over the settings, by execution, meanwhile and rule, and by steps."""
    found: dict[tuple[str, str, str], dict[int, float]] = {}
    for (execution, rule), records in group(run.records, "execution", "rule").items():
        for meanwhile in WORDS:
            here = [each for each in records if meanwhile_of(each) in (None, meanwhile)]
            found[execution, meanwhile, rule] = {
                steps: sum(each["exact_regret"] for each in cells)
                for (steps,), cells in sorted(group(here, steps_of).items())
            }
    return found


@table_of("latency", "latency")
def latency_table(run: Run, beside: Mapping[str, Run]) -> Table:
    """Return the sum of exact regrets by execution, meanwhile, rule and steps."""
    found = totals(run)
    steps = sorted({each for sums in found.values() for each in sums})
    order = sorted(found, key=lambda key: (*key[:2], key[2] != BEST_POSSIBLE, list(found).index(key)))
    return Table(
        title="Updates that take time: exact regret by the steps of an update",
        columns=("execution", "meanwhile", "rule", *(f"d = {each}" for each in steps)),
        labels=3,
        rows=[
            (key[0], WORDS[key[1]], key[2], *(f"{found[key][each]:z.3f}" for each in steps)) for key in order
        ],
        notes=(
            f"Sums over {', '.join(dict.fromkeys(each['setting'] for each in run.records))}. "
            f"Ties: {run.ties}. "
            "best possible: the floor of the robot with the same d. unaware: the same rule deciding as if "
            "updates took no time.",
        ),
    )


def latency_figure(run: Run) -> Figure:
    """Draw regret by steps: one panel for each execution, the robot going on."""
    found = totals(run)
    executions = [each for each in ("localised", "belief", "map") if any(key[0] == each for key in found)]
    titles = {"localised": "sees where it is", "belief": "blind, belief", "map": "blind, likeliest cell"}
    with style():
        figure = new_figure(height=3.2, width=9.6)
        panels = figure.subplots(1, len(executions), squeeze=False)[0]
        for axes, execution in zip(panels, executions, strict=True):
            for (acting, meanwhile, rule), sums in found.items():
                if acting != execution or meanwhile != "go-on":
                    continue
                base = rule.removesuffix(UNAWARE)
                colour = BLACK if rule == BEST_POSSIBLE else rule_colour(COLOURED_AS.get(base, base))
                line = "x:" if rule == BEST_POSSIBLE else "o--" if rule.endswith(UNAWARE) else "o-"
                axes.plot(list(sums), list(sums.values()), line, color=colour, label=rule)
            axes.set_title(titles[execution])
            axes.set_xlabel("steps that an update takes")
            axes.set_ylim(bottom=0)
            axes.grid(visible=True)
            axes.legend()
        panels[0].set_ylabel("regret, sum of four worlds")
        return arrange(figure)


def draw(run: Run, folder: Path) -> None:
    """Write the figure."""
    save(latency_figure(run), folder, "latency")


REPORTS["latency"].figures.append(draw)
