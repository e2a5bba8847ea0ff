"""The thumbnails of the examples: each a small figure of a result that the example is about.

A drawing is a function with the name of its example that takes matplotlib's axes and the names defined in
the example. All are computed in a few seconds; nothing is copied from elsewhere. An example without a drawing
shows the first lines of its longest function.
"""

from __future__ import annotations

import ast
import csv
import runpy
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
from nature_figure import MISSION, dive, draw_dive

from replan import (
    DistanceTravelled,
    FixedRate,
    Lookahead,
    Mission,
    Periodic,
    Robot,
    Spending,
    decompose,
    evaluate,
    load_setting,
    make_mission,
    make_rule,
    optimum,
    regret,
)
from replan.evaluation.agent_runs import run_agent
from replan.report.benchmark_tables import card_scores
from replan.report.grid_path import centres, draw_mission
from replan.report.style import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    QUIET,
    SKY,
    VERMILLION,
    new_figure,
    rule_colour,
    style,
)
from replan.robots import field_world
from replan.suite.cards import reference_cards
from replan.suite.score import THRESHOLDS, performance_profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT, DOTS = 3.2, 2.0, 200  # inches, inches, dots per inch
COLOURS = {
    "lookahead": GREEN,
    "last-moment": GREEN,
    "periodic": BLUE,
    "confidence": VERMILLION,
    "learned": ORANGE,
}
TABLES = Path(__file__).parent / "tables"


def draw(example: Path, picture: Path) -> None:
    """Write the thumbnail of an example."""
    drawing = DRAWINGS.get(example.stem)
    with style():
        figure = new_figure(height=HEIGHT, width=WIDTH)
        figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
        axes = figure.subplots()
        if drawing is None:
            code(axes, example)
        else:
            drawing(axes, SimpleNamespace(**runpy.run_path(str(example))) if drawing in OWN else None)
        figure.savefig(picture, dpi=DOTS)


def code(axes: Axes, example: Path) -> None:
    """The first lines of the longest function."""
    functions = [node for node in ast.parse(example.read_text()).body if isinstance(node, ast.FunctionDef)]
    longest = max(functions, key=lambda node: int(node.end_lineno or 0) - node.lineno)
    lines = example.read_text().splitlines()[longest.lineno - 1 : longest.end_lineno][:11]
    axes.set_axis_off()
    text = "\n".join(line[:44] for line in lines)
    axes.text(0, 1, text, family="monospace", fontsize=7, color=QUIET, va="top", transform=axes.transAxes)


def bars(axes: Axes, values: Mapping[str, float], *, title: str) -> None:
    """One bar for each name, the first on top, with its value at its end."""
    colours = [COLOURS.get(name.partition(",")[0], QUIET) for name in values]
    drawn = axes.barh(list(values), list(values.values()), color=colours)
    axes.bar_label(drawn, fmt="%.3g", padding=2, fontsize=8)
    axes.invert_yaxis()
    axes.set_title(title, fontsize=9)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    axes.margins(x=0.18)


def robot_loop(axes: Axes, example: None) -> None:
    """The path of the robot, with its updates."""
    mission = make_mission(load_setting("two-burst"))
    draw_mission(axes, mission, run_agent(mission, Lookahead(), seed=0))
    axes.set_xticks([])
    axes.set_yticks([])


def own_rule(axes: Axes, example: SimpleNamespace) -> None:
    """The example's rule beside two others."""
    mission = make_mission(load_setting("two-burst"))
    rules = {"periodic": Periodic(), "confidence": example.Confidence(0.65), "lookahead": Lookahead()}
    bars(axes, {name: regret(mission, rule) for name, rule in rules.items()}, title="regret, two-burst")


def own_world(axes: Axes, example: SimpleNamespace) -> None:
    """How the gate of the example comes to jam."""
    world = example.jamming_gate()
    value = np.eye(world.states)[example.INSIDE]
    opens = [world.kernel(t).expect(value)[example.OUTSIDE, example.GATE] for t in range(world.horizon)]
    axes.fill_between(range(world.horizon), opens, color=SKY)
    axes.set(xlabel="step", ylabel="chance that the\ngate opens", ylim=(0, 1))


def where_regret_comes_from(axes: Axes, example: None) -> None:
    """Regret by its cause on three worlds."""
    names = ["two-burst", "crosswind-mild", "terrain-medium"]
    found = [decompose(make_mission(load_setting(name)), Periodic()) for name in names]
    left = np.zeros(len(names))
    for part, colour in (("state", BLUE), ("plan", ORANGE), ("model", PURPLE)):
        widths = np.array([getattr(each, part) for each in found])
        axes.barh(names, widths, left=left, color=colour, label=part)
        left += widths
    axes.invert_yaxis()
    axes.legend(fontsize=7, loc="upper right")
    axes.set_xlabel("regret by its cause")


def unknown_end(axes: Axes, example: SimpleNamespace) -> None:
    """Cost against the most steps, at a price and with a budget."""
    steps = (24, 36, 48)
    for rule, spending, label in (
        (Lookahead(), example.Spending.at_price(example.PRICE), "at a price"),
        (Periodic(), example.Spending.exactly(3), "3 updates"),
    ):
        missions = [example.mission_of(most, spending) for most in steps]
        costs = [-evaluate(each, rule, all_starts=False).expected_return for each in missions]
        axes.plot(steps, costs, "o-", color=COLOURS[rule.name], label=label)
    axes.set(xlabel="most steps", ylabel="cost", ylim=(0, None), xticks=steps)
    axes.legend(fontsize=7)


def shared_planner(axes: Axes, example: SimpleNamespace) -> None:
    """Updates asked for in each step, set out together and one by one."""
    worlds = {name: example.world_of(rate) for name, rate in example.GROUPS.items()}
    missions = example.missions_at(0.0273, worlds)
    for delay, colour, label in ((0, VERMILLION, "together"), (1, BLUE, "one by one")):
        asked = example.requests(missions, delay=delay)
        axes.stairs(asked, color=colour, fill=delay == 0, alpha=0.8, label=label)
    axes.set(xlabel="step", ylabel="updates asked for")
    axes.legend(fontsize=7)


def nav2_style(axes: Axes, example: None) -> None:
    """Triggers of navigation stacks beside look-ahead."""
    mission = make_mission(load_setting("two-burst"))
    rules = {
        "every step": FixedRate(1),
        "every 13 steps": FixedRate(13),
        "every 6 cells": DistanceTravelled(6),
    }
    found = {name: regret(mission, rule) for name, rule in rules.items()}
    found |= {"lookahead": regret(mission, Lookahead()), "best possible": optimum(mission).feedback_regret}
    bars(axes, found, title="regret, two-burst")


def learner(axes: Axes, example: SimpleNamespace) -> None:
    """Regret of what is learned in 300 missions, between even spacing and look-ahead."""
    mission = example.small_mission()
    learned = example.train(mission, seed=1)
    found = {f"learned, {number}": regret(mission, rule) for number, rule in (next(learned), next(learned))}
    found |= {rule.name: regret(mission, rule) for rule in (Periodic(), Lookahead())}
    bars(axes, found, title="regret, 4 looks in 20 steps")


def large_map(axes: Axes, example: SimpleNamespace) -> None:
    """The path of the robot on a smaller map of the same kind, between its walls."""
    side = 40
    mission = example.make_mission(side)
    trace = run_agent(mission, Lookahead(), seed=0)
    for row in range(3, side, 8):
        columns = [column for column in range(side) if column % 9]
        axes.plot(columns, [row] * len(columns), "s", color=QUIET, markersize=8)
    path = centres(trace.states, side)
    axes.plot(*path.T, color=BLUE, linewidth=2)
    axes.plot(*path[list(trace.times)].T, "D", color=VERMILLION)
    axes.set(xlim=(16.5, 33.5), ylim=(28.5, 17.5), xticks=[], yticks=[])


def crazyflie(axes: Axes, example: None) -> None:
    """The poles of the layout that is flown."""
    from replan.robots.crazyflie.layouts import layout

    poles = np.array(layout("sparse", 0).obstacles)
    axes.plot(poles[:, 1], poles[:, 0], "o", color=QUIET, markersize=9)
    axes.plot([0], [0], "s", color=BLUE)
    axes.plot([11], [11], "*", color=GREEN, markersize=12)
    axes.set(xlim=(-1, 12), ylim=(12, -1), xticks=[], yticks=[])


def simulated_nav2(axes: Axes, example: None) -> None:
    """Replans of each trigger, of the table that the example writes."""
    rows = list(csv.DictReader((TABLES / "nav2.csv").read_text().splitlines()))
    triggers = list(dict.fromkeys(row["trigger"] for row in rows))
    means = {
        name: float(np.mean([float(row["replans"]) for row in rows if row["trigger"] == name]))
        for name in triggers
    }
    short = {
        name.replace(", Nav2's default", "").replace("replan, ", ""): mean for name, mean in means.items()
    }
    bars(axes, short, title="replans in a drive")


def glider(axes: Axes, example: SimpleNamespace) -> None:
    """The way of the glider with look-ahead over the currents, with its surfacings."""
    world = field_world(example.eddies(), **MISSION)
    mission = Mission(world, Robot(planning_horizon=20, execution="belief"), Spending.exactly(3))
    draw_dive(axes, world, dive(world, mission, Lookahead()), rule_colour("lookahead"))
    axes.set(xticks=[], yticks=[])


def behaviour_tree(axes: Axes, example: None) -> None:
    """The path of the robot of the example, with its one replan."""
    mission = make_mission(load_setting("thin-ice-medium"), execution="localised")
    draw_mission(axes, mission, run_agent(mission, make_rule("last-moment"), seed=0))
    axes.set(xticks=[], yticks=[])


def benchmark_learner(axes: Axes, example: None) -> None:
    """The performance profile of two rules, from their cards."""
    for card in reference_cards():
        if card.name in ("lookahead", "regret-guided"):
            profile = performance_profile(card_scores(card)[:, 0])
            axes.plot(THRESHOLDS, profile, color=rule_colour(card.name), label=card.name)
    axes.set(xlabel="score", ylabel="share of worlds")
    axes.legend(fontsize=7)


DRAWINGS = {
    each.__name__: each
    for each in (
        robot_loop, simulated_nav2, own_rule, own_world, where_regret_comes_from, nav2_style, unknown_end,
        shared_planner, large_map, glider, learner, benchmark_learner, crazyflie, behaviour_tree,
    )
}  # fmt: skip
"""In the order of the gallery."""
OWN = {own_rule, own_world, unknown_end, shared_planner, learner, large_map, glider}
"""Drawings that use names of their example."""
