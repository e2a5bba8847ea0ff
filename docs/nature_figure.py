"""The picture of docs/nature.md: a glider's ways over the currents under three rules, and its surfacings.

Run `python docs/nature_figure.py` in the repository to write docs/images/glider.png again, in the field of
examples/glider.py; with a folder of GlobCurrent files of 2002 it writes docs/images/ocean.png.
"""

from __future__ import annotations

import runpy
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replan import SimulatedWorld
from replan.evaluation.exact import evaluate
from replan.execute.agent import Agent
from replan.execute.mission import Mission
from replan.execute.robot import Robot
from replan.report.style import (
    GREEN,
    INK,
    QUIET,
    SKY,
    VERMILLION,
    arrange,
    new_figure,
    rule_colour,
    save_png,
    style,
)
from replan.robots import field_world
from replan.schedule.fixed import FixedTimes
from replan.schedule.lookahead import Lookahead
from replan.schedule.periodic import Even
from replan.schedule.rule import Rule
from replan.skip.spending import Spending
from replan.study.definition import study_data
from replan.typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

IMAGES = Path("docs/images")
MISSION = {"start_time": "2024-05-02", "start": (5, 1), "goal": (7, 18), "horizon": 24, "speed": 0.35}
OCEAN = 4
"""Mission of study `ocean` that is drawn."""
SEED = 3


@dataclass(frozen=True)
class Dive:
    """One mission in the water."""

    path: Array  # (T + 1, 2) longitude and latitude
    surfaced: tuple[int, ...]
    reason: str  # of the last surfacing
    lost: float  # expected regret


def dive(world: SimulatedWorld, mission: Mission, rule: Rule) -> Dive:
    """Take a glider through the water once."""
    agent, particles, state = Agent.on(mission, rule), world.particles([SEED]), world.start
    times, reason = [], ""
    agent.start(state)
    for t in range(world.horizon):
        decision = agent.due()
        if decision.update:
            agent.update(state)
            times.append(t)
            reason = decision.reason
        (state,), _ = particles.step(t, np.array([0]), np.array([state]), np.array([agent.act()]))
    return Dive(particles.path[:, 0], tuple(times), reason, evaluate(mission, rule).regret)


def figure_of(world: SimulatedWorld, mission: Mission) -> Figure:
    """Draw one panel for each rule."""
    rules = {"surfaces once": FixedTimes((1,)), "evenly spaced": Even(), "lookahead": Lookahead()}
    with style():
        figure = new_figure(width=6.2, height=10.4)
        for axes, (name, rule) in zip(
            figure.subplots(len(rules), 1, sharex=True), rules.items(), strict=True
        ):
            spending = Spending.exactly(1) if name == "surfaces once" else mission.spending
            found = dive(world, Mission(world, mission.robot, spending), rule)
            draw_dive(axes, world, found, rule_colour(rule.name) if name != "surfaces once" else INK)
            times = ", ".join(map(str, found.surfaced))
            axes.set_title(
                f"{name}: surfaces at {times}; expected regret {found.lost:.2f}\n{_short(found.reason)}",
                fontsize=9,
            )
        figure.supxlabel("longitude (degrees); arrows: the current at the start", fontsize=10)
        figure.supylabel("latitude (degrees)", fontsize=10)
        return arrange(figure)


def draw_dive(axes: Axes, world: SimulatedWorld, found: Dive, colour: str) -> None:
    """Draw the currents at the start, the land, the path and its surfacings."""
    centres, side = world.simulation.centres, float(world.simulation.sides[0])
    kernel: Any = world.kernel(0)
    water, longest = ~kernel.land, np.linalg.norm(kernel.drift, axis=1).max()
    arrows = kernel.drift[water] * 1.3 * side / longest
    axes.quiver(
        *centres[water].T, arrows[:, 1], -arrows[:, 0], color=SKY, width=0.0022, headwidth=4,
        angles="xy", scale_units="xy", scale=1.0, pivot="middle",
    )  # fmt: skip
    for x, y in centres[kernel.land]:
        axes.add_patch(_square(x, y, side))
    axes.plot(*found.path.T, "-", color=colour, linewidth=2)
    at = list(found.surfaced)
    axes.plot(*found.path[at].T, "D", color=VERMILLION, markersize=6)
    for t in at:
        axes.annotate(str(t), found.path[t], textcoords="offset points", xytext=(5, 5), color=VERMILLION)
    axes.plot(*centres[world.start], "s", markerfacecolor="none", color=INK, markersize=9)
    goal = int(np.argmax(world.reward(0).next_state))
    axes.plot(*centres[goal], "*", color=GREEN, markersize=15)
    axes.set_aspect(1 / np.cos(np.radians(centres[:, 1].mean())))


def _square(x: float, y: float, side: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - side / 2, y - side / 2), side, side, color=QUIET, alpha=0.6)


def _short(reason: str) -> str:
    return f"last surfacing: {reason}" if len(reason) <= 100 else f"last surfacing: {reason[:97]}..."


def main() -> None:
    """Write the picture."""
    if len(sys.argv) > 1:
        base = study_data("ocean")["settings"][OCEAN]["base"]
        given = {
            key: value for key, value in base.items() if key not in ("world", "planning_horizon", "budget")
        }
        world, budget, name = field_world(sys.argv[1], **given), base["budget"], "ocean.png"
    else:
        eddies = runpy.run_path("examples/glider.py")["eddies"]
        world, budget, name = field_world(eddies(), **MISSION), 3, "glider.png"
    mission = Mission(world, Robot(planning_horizon=20, execution="belief"), Spending.exactly(budget))
    IMAGES.mkdir(parents=True, exist_ok=True)
    save_png(figure_of(world, mission), IMAGES / name)
    print(IMAGES / name)


if __name__ == "__main__":
    main()
