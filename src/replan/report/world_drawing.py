"""One drawing of a grid world as SVG, for page and explorer: walls, costs, drift, start and goals.

Colours are CSS variables with a fallback, so that a page can set them for light and dark.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from replan.model.flow_kernel import FlowKernel
from replan.model.kernel import Kernel
from replan.model.slip import SlipKernel
from replan.model.world import World
from replan.report.style import BLUE, GREEN, INK, ORANGE, PURPLE, QUIET, SKY, VERMILLION
from replan.worlds.slip_grid import DISTANCE_SCALE

CELL = 36
"""Side of a cell in the drawing's units."""
LINES_UP_TO = 2_500
"""Cells beyond which no lines are drawn between them."""
SEARCHED = 20_000_000
"""States times steps up to which cells are searched for drift."""
LONGEST_ARROW = 0.8
"""Length, in cells, of the arrow where drifting goes farthest."""
STAR = "M0-15.8 4.1-5.2 15.5-4.9 6.9 2.3 9.8 13.2 0 6.9-9.8 13.2-6.9 2.3-15.5-4.9-4.1-5.2Z"


class Look(NamedTuple):
    """A colour by its CSS variable and fallback, and a sign for legends."""

    variable: str
    colour: str
    sign: str

    @property
    def css(self) -> str:
        """The colour as CSS."""
        return f"var(--{self.variable}, {self.colour})"


LOOKS = {
    "true path": Look("true", BLUE, "━"),
    "believed path": Look("believed", ORANGE, "╍"),
    "update": Look("update", VERMILLION, "◆"),
    "start": Look("ink", "currentColor", "□"),
    "goal": Look("goal", GREEN, "★"),
    "wall": Look("wall", QUIET, "■"),
    "costly to enter": Look("cost", SKY, "■"),
    "drifts most": Look("drift", PURPLE, "■"),
    "carried at the start": Look("ink", INK, "→"),
}
ALWAYS = ("true path", "believed path", "update", "start")


@dataclass(frozen=True)
class GridDrawing:
    """The parts of a grid world that a drawing shows."""

    rows: int
    columns: int
    start: int
    goals: tuple[int, ...]
    walls: tuple[int, ...]
    costly: tuple[int, ...]
    drifting: dict[int, float]
    """Greatest drift of each cell over that of the whole world, if cells differ."""
    arrows: dict[int, tuple[float, float]]
    """Rows and columns, drawn to scale, by which the flow carries a vehicle that drifts at t = 0."""

    @classmethod
    def of(cls, world: World) -> GridDrawing | None:
        """Return the drawing of a world; None if its states are not cells."""
        if world.grid is None:
            return None
        rewards, kernel = world.reward(0).next_state, world.kernel(0)
        goals, walls = np.zeros(world.states, dtype=bool), _walls(kernel)
        if rewards is not None and np.ptp(rewards) > 0:
            goals = rewards == rewards.max()
        return cls(
            *world.grid,
            start=world.start,
            goals=_cells(goals),
            walls=_cells(walls),
            costly=_cells(_costly(world, walls)),
            drifting=_drifting(world),
            arrows=_arrows(kernel),
        )

    def legend(self) -> dict[str, Look]:
        """Return the styles of the things in this drawing, by name."""
        shown = {
            "goal": self.goals,
            "wall": self.walls,
            "costly to enter": self.costly,
            "drifts most": self.drifting,
            "carried at the start": self.arrows,
        }
        names = [*ALWAYS, *(name for name, cells in shown.items() if cells)]
        return {name: LOOKS[name] for name in names}

    def svg(self) -> str:
        """Return the ground as SVG elements, rows downwards, `CELL` units to a cell."""
        squares = [self._square(state, LOOKS["wall"].css) for state in self.walls]
        squares += [self._square(state, LOOKS["costly to enter"].css, 0.6) for state in self.costly]
        squares += [
            self._square(state, LOOKS["drifts most"].css, 0.45 * share)
            for state, share in self.drifting.items()
        ]
        squares += [self._square(state, LOOKS["goal"].css, 0.25) for state in self.goals]
        signs = [*map(self._arrow, self.arrows), self._start(), *map(self._star, self.goals)]
        return "".join([*squares, self._lines(), *signs])

    def centre(self, state: int) -> tuple[float, float]:
        """Return the middle of a cell."""
        row, column = divmod(state, self.columns)
        return (column + 0.5) * CELL, (row + 0.5) * CELL

    def _square(self, state: int, colour: str, opacity: float = 1.0) -> str:
        row, column = divmod(state, self.columns)
        return (
            f'<rect x="{column * CELL}" y="{row * CELL}" width="{CELL}" height="{CELL}" '
            f'style="fill:{colour};fill-opacity:{opacity:.2f}"/>'
        )

    def _lines(self) -> str:
        wide, high = self.columns * CELL, self.rows * CELL
        if self.rows * self.columns > LINES_UP_TO:
            path = f"M0 0H{wide}V{high}H0Z"
        else:
            path = "".join(f"M0 {k * CELL}H{wide}" for k in range(self.rows + 1))
            path += "".join(f"M{k * CELL} 0V{high}" for k in range(self.columns + 1))
        return f'<path d="{path}" style="fill:none;stroke:{LOOKS["wall"].css};stroke-opacity:0.3"/>'

    def _start(self) -> str:
        x, y = self.centre(self.start)
        half = CELL / 2 - 6
        return (
            f'<rect x="{x - half:g}" y="{y - half:g}" width="{2 * half:g}" height="{2 * half:g}" '
            f'style="fill:none;stroke:{LOOKS["start"].css};stroke-width:2"/>'
        )

    def _arrow(self, state: int) -> str:
        x, y = self.centre(state)
        down, right = (CELL * part for part in self.arrows[state])
        tip_x, tip_y = x + right / 2, y + down / 2
        barbs = "".join(
            f"M{tip_x:.1f} {tip_y:.1f}l{-0.3 * right - side * down:.1f} {-0.3 * down + side * right:.1f}"
            for side in (0.2, -0.2)
        )
        return (
            f'<path d="M{x - right / 2:.1f} {y - down / 2:.1f}L{tip_x:.1f} {tip_y:.1f}{barbs}" '
            f'style="fill:none;stroke:{LOOKS["carried at the start"].css};stroke-opacity:0.6"/>'
        )

    def _star(self, state: int) -> str:
        x, y = self.centre(state)
        return f'<path d="{STAR}" transform="translate({x:g} {y:g})" style="fill:{LOOKS["goal"].css}"/>'


def legend_html(ground: GridDrawing) -> str:
    """Return the legend of a drawing as HTML."""
    return "".join(
        f'<span class="look"><span style="color:{look.css}" aria-hidden="true">{look.sign}</span> '
        f"{name}</span>"
        for name, look in ground.legend().items()
    )


def _cells(chosen: np.ndarray) -> tuple[int, ...]:
    return tuple(np.flatnonzero(chosen).tolist())


def _walls(kernel: Kernel) -> np.ndarray:
    """(S,) bool: cells that are never entered."""
    if isinstance(kernel, FlowKernel):
        return kernel.land
    blocked = kernel.blocked if isinstance(kernel, SlipKernel) else False
    return np.broadcast_to(blocked, kernel.states)


def _costly(world: World, walls: np.ndarray) -> np.ndarray:
    """(S,) bool: cells on ground with a lower reward than all around it, by more than two steps on the way.

    Walls lie between grounds. On maps whose reward counts steps, and in a flow, nothing is costly.
    """
    reward, states = world.reward(0), np.arange(world.states).reshape(world.grid)
    value, kernel = reward.next_state, world.kernel(0)
    steps = isinstance(kernel, SlipKernel) and reward.state_action is not None
    if value is None or steps or isinstance(kernel, FlowKernel):
        return np.zeros(world.states, dtype=bool)
    down, right = (states[:-1], states[1:]), (states[:, :-1], states[:, 1:])
    here, there = (np.concatenate([down[k].ravel(), right[k].ravel()]) for k in range(2))
    free = ~(walls[here] | walls[there])
    here, there = here[free], there[free]
    apart = np.abs(value[here] - value[there]) > 2 / DISTANCE_SCALE
    pairs = here[~apart], there[~apart]
    links = coo_array((np.ones(len(pairs[0])), pairs), shape=(world.states, world.states))
    ground = connected_components(links, directed=False)[1]
    here, there = here[apart], there[apart]
    falls = value[here] < value[there]
    lower, higher = np.where(falls, here, there), np.where(falls, there, here)
    inside = np.isin(ground, ground[lower]) & ~np.isin(ground, ground[higher])
    return inside & (ground != ground[world.start])


def _arrows(kernel: Kernel) -> dict[int, tuple[float, float]]:
    """Return rows and columns of the arrow of each cell; none for worlds without a flow."""
    if not isinstance(kernel, FlowKernel) or kernel.states > LINES_UP_TO:
        return {}
    length = np.linalg.norm(kernel.drift, axis=1)
    drawn = np.flatnonzero(~kernel.land & (length > 0.02 * length.max()))
    scaled = kernel.drift * LONGEST_ARROW / max(length.max(), 1e-300)
    return {int(state): (float(scaled[state, 0]), float(scaled[state, 1])) for state in drawn}


def _drifting(world: World) -> dict[int, float]:
    """Return the cells that drift, unless one slip drifts for all of them or the world is large."""
    if world.states * world.horizon > SEARCHED:
        return {}
    greatest, now, one_slip = np.zeros(world.states), world.kernel(0), True
    for t in range(1, world.horizon):
        following = world.kernel(t)
        if following is not now:
            greatest = np.maximum(greatest, now.entrywise_distance(following).max(axis=1))
            one_slip &= isinstance(following, SlipKernel) and np.ptp(following.slip) == 0
        now = following
    if one_slip or not greatest.any():
        return {}
    share = greatest / greatest.max()
    return {int(state): round(float(share[state]), 3) for state in np.flatnonzero(share > 0.005)}
