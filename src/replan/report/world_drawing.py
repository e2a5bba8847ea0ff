"""One drawing of a grid world as SVG, for page and explorer: walls, costs, drift, start and goals.

Colours are CSS variables with a fallback, so that a page can set them for light and dark.
"""

from __future__ import annotations

from math import hypot
from typing import NamedTuple

from replan import World
from replan.model.grid_map import GridMap
from replan.report.style import BLUE, GREEN, INK, ORANGE, PURPLE, QUIET, SKY, VERMILLION

CELL = 36
"""Side of a cell in the drawing's units."""
LINES_UP_TO = 2_500
"""Cells beyond which no lines are drawn between them."""
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


class GridDrawing(GridMap):
    """What a drawing shows of a grid world."""

    @classmethod
    def of(cls, world: World) -> GridDrawing | None:
        """Return the drawing of a world; None if its states are not cells."""
        found = world.grid_map()
        return None if found is None else cls(**vars(found))

    @property
    def arrows(self) -> dict[int, tuple[float, float]]:
        """Rows and columns of the arrow in each cell, drawn to scale; none where cells are too many."""
        if not self.flow or self.rows * self.columns > LINES_UP_TO:
            return {}
        longest = max(hypot(*carried) for carried in self.flow.values())
        scale = LONGEST_ARROW / max(longest, 1e-300)
        return {
            state: (scale * rows, scale * columns)
            for state, (rows, columns) in self.flow.items()
            if hypot(rows, columns) > 0.02 * longest
        }

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
        signs = [
            *(self._arrow(*each) for each in self.arrows.items()),
            self._start(),
            *map(self._star, self.goals),
        ]
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

    def _arrow(self, state: int, carried: tuple[float, float]) -> str:
        x, y = self.centre(state)
        down, right = (CELL * part for part in carried)
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
