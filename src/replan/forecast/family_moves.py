"""Moves within a declared family of models: a parameter rises or falls as far as the drift bounds allow."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from replan.forecast.trend import Moved
from replan.model.family import Family
from replan.model.kernel import Kernel
from replan.model.slip import SlipKernel

UP, DOWN = 1, -1


class FamilyMoves:
    """The members of a family, by how far their entries differ along each parameter."""

    def __init__(self, family: Family) -> None:
        self.family, self.positions = family, family.positions
        self.member = lru_cache(maxsize=None)(lambda index: family.member(*family.points[index]))
        self.nearest = lru_cache(maxsize=256)(self._nearest)

    def directions(self) -> Iterator[tuple[str, int, int]]:
        """Yield name, axis and sign of every way in which one parameter can move."""
        for axis, name in enumerate(self.family.values):
            yield f"{name} rises", axis, UP
            yield f"{name} falls", axis, DOWN

    def moved(self, kernel: Kernel, axis: int, sign: int) -> Moved:
        """Return a function from the change that is allowed to the kernel moved by it."""
        if self.family.is_slip and isinstance(kernel, SlipKernel):
            return self._more_slip(kernel, axis, sign)
        centre, along = self.nearest(kernel), self.positions[axis]

        def moved(change: float) -> Kernel:
            at = int(np.abs(along - (along[centre[axis]] + sign * change)).argmin())
            if at == centre[axis]:
                return kernel
            index = (*centre[:axis], at, *centre[axis + 1 :])
            return self.member(int(np.ravel_multi_index(index, self.family.shape)))

        return moved

    def _more_slip(self, kernel: SlipKernel, axis: int, sign: int) -> Moved:
        """Return the kernel with more or less slip in the cells that the parameter changes."""
        values, along = self.family.grids[axis], self.positions[axis]
        per_change = sign * (values[-1] - values[0]) / along[-1]
        cells = self.family.depends[axis].any(axis=1)

        def moved(change: float) -> Kernel:
            slip = np.clip(kernel.slip + change * per_change, 0.0, 1.0)
            slip = slip if cells.all() else np.where(cells, slip, kernel.slip)
            return kernel if np.array_equal(slip, kernel.slip) else kernel.with_slip(slip)

        return moved

    def _nearest(self, kernel: Kernel) -> tuple[int, ...]:
        """Return the indices of the member nearest to a kernel, by the rows that depend on the parameters."""
        apart = self.family.distances(kernel)
        rows = self.family.depends.any(axis=0)
        rows = rows if rows.any() else np.ones_like(rows)
        return tuple(int(i) for i in np.unravel_index(apart[:, rows].max(axis=1).argmin(), self.family.shape))
