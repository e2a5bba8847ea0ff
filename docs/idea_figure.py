"""The picture of the page on the idea: the question, how rules answer it, and what each answer costs.

Run `python docs/idea_figure.py` in the repository to write docs/images/idea.png again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from replan.evaluation.agent_runs import run_agent
from replan.evaluation.exact import regret as exact_regret
from replan.model.kernel import Array
from replan.report.reports import paper_rules
from replan.report.style import (
    BLACK,
    LINES,
    ORANGE,
    SKY,
    arrange,
    new_figure,
    rule_colour,
    save_png,
    shade,
    style,
    update_rows,
)
from replan.schedule.rule import Rule
from replan.study.protocol import Bench, choose
from replan.worlds.mars_rover import PiecewiseDrift, Rover
from replan.worlds.settings import load_setting, make_mission

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SETTING = "two-burst"
SHOWN_RULES = (*paper_rules(), "lookahead")
SHOWN_TIMES = ("periodic", "regret-guided", "lookahead")
PATH = Path("docs/images/idea.png")

EXECUTIONS = {
    "map": ("robot acts on its likeliest cell (as in the paper)", SKY),
    "belief": ("robot acts on its whole belief", ORANGE),
}


@dataclass(frozen=True)
class IdeaData:
    """Data of the picture."""

    budget: int
    slip: Array  # (T,) probability that a move goes wrong
    intervals: Sequence[tuple[int, int]]  # [begin, end) of fast drift
    schedules: Mapping[str, tuple[int, ...]]  # of the rules in SHOWN_TIMES
    regrets: Mapping[str, Mapping[str, float]]  # rule -> execution -> exact regret
    ties: str = "first"


def idea_data(rules: Mapping[str, Rule] | None = None) -> IdeaData:
    """Return exact figures of the two-burst setting; rules that are not given are chosen by validation.

    Both executions run the same rules with the same hyper-parameters, those chosen for the paper's execution.
    """
    setting = load_setting(SETTING)
    assert isinstance(setting, Rover) and isinstance(setting.drift, PiecewiseDrift)
    missions = {how: make_mission(setting, execution=how) for how in ("map", "belief")}
    bench = Bench(missions["map"])
    rules = rules or {name: choose(bench, name).rule for name in SHOWN_RULES}
    return IdeaData(
        budget=setting.required_budget,
        slip=setting.drift.profile(setting.horizon),
        intervals=setting.drift.intervals(setting.horizon),
        schedules={
            name: run_agent(missions["map"], rules[name]).times for name in SHOWN_TIMES if name in rules
        },
        regrets={
            name: {how: exact_regret(mission, rule, best=bench.best) for how, mission in missions.items()}
            for name, rule in rules.items()
        },
        ties=setting.ties,
    )


def idea_figure(data: IdeaData) -> Figure:
    """Draw slip and update times at the top, the regret of each rule at the bottom."""
    bars = len(data.regrets)
    with style():
        figure = new_figure(width=8.0, height=3.3 + 0.27 * len(data.schedules) + 0.36 * bars)
        figure.suptitle(
            f"When should a robot replan, if it can afford {data.budget} updates in {len(data.slip)} steps?",
            x=0.01, ha="left", fontsize=13,
        )  # fmt: skip
        heights = [1.3, 0.3 * len(data.schedules), 0.36 * bars]
        slip, times, cost = figure.subplots(3, 1, height_ratios=heights)
        times.sharex(slip)
        _slip(slip, data)
        _times(times, data)
        _cost(cost, data)
        figure.align_ylabels()
        return arrange(figure)


def _slip(axes: Axes, data: IdeaData) -> None:
    shade(axes, data.intervals)
    axes.plot(np.arange(len(data.slip)), 100 * data.slip, color=BLACK, linewidth=2)
    axes.set_ylim(0, 100 * 1.1 * data.slip.max())
    axes.set_ylabel("moves that\nslip (%)")
    axes.set_title("The ground gets slippery, fastest in the shaded bursts ...")
    axes.tick_params(axis="x", labelbottom=False)


def _times(axes: Axes, data: IdeaData) -> None:
    shade(axes, data.intervals)
    update_rows(axes, dict(data.schedules))
    axes.set_xlim(0, len(data.slip))
    one = "; those of lookahead depend on what the robot sees, here in one mission"
    axes.set_xlabel("time (steps)" + (one if "lookahead" in data.schedules else ""))
    axes.set_ylabel("rule")
    axes.set_title("... each rule spends its updates (look, estimate, plan again) ...")
    for label, name in zip(axes.get_yticklabels(), data.schedules, strict=True):
        label.set_color(rule_colour(name))


def _cost(axes: Axes, data: IdeaData) -> None:
    names = sorted(data.regrets, key=lambda name: data.regrets[name]["map"])
    rows = np.arange(len(names))
    for offset, (how, (label, colour)) in zip((-0.2, 0.2), EXECUTIONS.items(), strict=True):
        values = [data.regrets[name][how] for name in names]
        bars = axes.barh(rows + offset, values, height=0.38, color=colour, label=label)
        axes.bar_label(bars, fmt="%.2f", padding=3)
    axes.set_yticks(rows, names)
    axes.set_ylabel("rule")
    for tick, name in zip(axes.get_yticklabels(), names, strict=True):
        tick.set_color(rule_colour(name))
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="x", color=LINES, linewidth=0.6)
    against = "regret: reward lost, on average, against a robot that sees and knows everything"
    axes.set_xlabel(f"{against}\n(exact; {SETTING} setting, ties: {data.ties})")
    axes.set_title("... and loses this much (shorter is better)", pad=24)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.005), ncols=2, borderaxespad=0, borderpad=0.2)


def main() -> None:
    """Write the picture."""
    PATH.parent.mkdir(parents=True, exist_ok=True)
    save_png(idea_figure(idea_data()), PATH)
    print(PATH)


if __name__ == "__main__":
    main()
