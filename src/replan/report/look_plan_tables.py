"""The heat map of `replan budget --looks --plans`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from replan.evaluation.look_plan_grid import LookPlanGrid
from replan.report.style import arrange, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def look_plan_figure(grid: LookPlanGrid, *, title: str) -> Figure:
    """Draw the regret of the rule, and the floor where it is known, as heat maps over looks and plans."""
    maps = {grid.rules[0].name: grid.regrets}
    if grid.floors is not None:
        maps["best found"] = grid.floors
    highest = max(float(values.max()) for values in maps.values())
    with style():
        figure = new_figure(height=3.6, width=3.4 * len(maps) + 0.6)
        panels = np.atleast_1d(figure.subplots(1, len(maps)))
        for axes, (name, values) in zip(panels, maps.items(), strict=True):
            axes.imshow(values.T, origin="lower", cmap="viridis_r", vmin=0, vmax=highest, aspect="auto")
            for (i, j), value in np.ndenumerate(values):
                axes.text(i, j, f"{value:z.2f}", ha="center", va="center", fontsize=7, color="white")
            axes.set_xticks(range(len(grid.looks)), [str(looks) for looks in grid.looks])
            axes.set_yticks(range(len(grid.plans)), [str(plans) for plans in grid.plans])
            axes.set_xlabel("looks")
            axes.set_ylabel("plans")
            axes.set_title(f"{title}: {name}")
        return arrange(figure)
