"""One moment of a mission on its grid, as coloured text for a terminal."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from rich.columns import Columns
from rich.text import Text

from replan.evaluation.agent_runs import AgentRun
from replan.execute.mission import Mission
from replan.model.grid_map import GridMap

MELTED = 0.5
"""Change of a probability since t = 0 from which on a cell is drawn as changed."""


class Sign(NamedTuple):
    """A sign of the map, its style and its meaning."""

    text: str
    ascii: str
    style: str
    meaning: str


SIGNS = {
    "robot": Sign("●", "R", "bold white on blue", "the robot"),
    "believed": Sign("○", "?", "bold white on dark_orange3", "where it believes it is"),
    "update": Sign("◆", "U", "bold red", "replanned here"),
    "trail": Sign("•", "o", "blue", "its way"),
    "goal": Sign("★", "G", "bold green", "goal"),
    "wall": Sign("█", "#", "bright_black", "wall"),
    "costly": Sign("≈", "w", "blue", "water"),
    "changed": Sign("▒", "x", "magenta", "melted ice"),
    "changing": Sign("░", "-", "cyan", "ice"),
    "ground": Sign("·", ".", "bright_black", "ground"),
}
"""Things that a cell can show, the first one that applies."""


def map_text(ground: GridMap, mission: Mission, run: AgentRun, time: int, *, plain: bool = False) -> Text:
    """Return the grid at a time of a run, two characters for each cell; `plain` has ASCII signs only."""
    updates = {int(run.states[t]) for t in run.times if t <= time}
    changed = mission.world.kernel(0).entrywise_distance(mission.world.kernel(time)).max(axis=1)
    layers = {
        "robot": {int(run.states[time])},
        "believed": {int(run.believed[time])},
        "update": updates,
        "trail": {int(state) for state in run.states[: time + 1]},
        "goal": set(ground.goals),
        "wall": set(ground.walls),
        "costly": set(ground.costly),
        "changed": {state for state in ground.drifting if changed[state] >= MELTED},
        "changing": set(ground.drifting),
    }
    text = Text()
    for row in range(ground.rows):
        for state in range(row * ground.columns, (row + 1) * ground.columns):
            name = next((name for name, cells in layers.items() if state in cells), "ground")
            text.append((SIGNS[name].ascii if plain else SIGNS[name].text) + " ", SIGNS[name].style)
        text.append("\n")
    return text


def legend(hidden: Container[str], *, plain: bool = False) -> Columns:
    """Return the signs of the map that are not `hidden`, with their meanings; lines break between signs."""
    shown = [sign for name, sign in SIGNS.items() if name not in hidden]
    signs = [(sign.ascii if plain else sign.text, sign.style) for sign in shown]
    return Columns(
        [Text.assemble(mark, f" {sign.meaning}") for mark, sign in zip(signs, shown, strict=True)],
        padding=(0, 3),
    )
