"""`family`: the parameters of a family of models go on at the pace at which they moved.

Where the robot learns with a `FamilyFilter`, its weights of parameters and paces go on. With any other
estimate the parameters are those of the nearest members, and the pace is judged by how far they have moved
since the estimate before, in units of the drift bounds.

`FamilyMoves` serves a mixture: a parameter rises or falls as far as the drift bounds allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np

from replan.errors import InputError
from replan.estimate.estimator import Estimator
from replan.estimate.family_filter import FamilyFilter, step_bounds
from replan.estimate.movement import Movement
from replan.forecast.base import Evidence, Forecast, Future
from replan.forecast.trend import Moved
from replan.model.family import Family
from replan.model.kernel import Array, Kernel
from replan.model.slip import SlipKernel
from replan.model.world import Knowledge

FUTURES_KEPT = 1e-6  # futures with less weight are left out
UP, DOWN = 1, -1


@dataclass(frozen=True, eq=False)
class FromFamily(Forecast):
    """Move the parameters on, one future for each direction.

    `drift_bounds` is (T-1,) numbers, or (T-1, S, A) with a bound for each pair. Bounds of steps that have not
    come are not used: the last one known is held, unless `knows_ahead`.
    """

    family: Family
    """The family whose parameters go on."""
    drift_bounds: Array = field(repr=False)
    """(T-1,) or (T-1, S, A) bounds on the change of an entry."""
    knows_ahead: bool = False
    """Whether the bounds of steps ahead are used."""
    continues: bool = False
    """Whether the weights of the robot's `FamilyFilter` go on; False: those of the estimates themselves."""

    name = "family"
    compares = True

    def informed_by(self, knowledge: Knowledge, estimator: Estimator | None) -> Forecast:
        """Return the forecast that goes on from the estimator's weights, if it is a `FamilyFilter`."""
        if not isinstance(estimator, FamilyFilter):
            return self
        if estimator.family.shape != self.family.shape:
            raise InputError("the forecast and the estimator have different families")
        return replace(self, continues=True)

    def futures(self, evidence: Evidence) -> tuple[Future, ...]:
        """Return one future for each direction in which the parameters may go."""
        bounds = self._bounds(evidence)
        if self.continues and evidence.learned and int(evidence.learned["time"]) == evidence.since:
            belief = evidence.learned["belief"]
        else:
            belief = self._belief(evidence, bounds)
        found = []
        for direction, inside in self._movement.directions():
            weight = float(belief[inside].sum())
            if weight > FUTURES_KEPT:
                course = self._movement.ahead(
                    np.where(inside, belief, 0.0) / weight, bounds[evidence.since :]
                )
                found.append((self._words(direction), weight, course))
        total = sum(weight for _, weight, _ in found)
        return tuple(
            Future(words, weight / total, self._kernels(course, evidence.since))
            for words, weight, course in found
        )

    @cached_property
    def _movement(self) -> Movement:
        return Movement(self.family)

    @cached_property
    def _stated(self) -> Array:
        return step_bounds(np.asarray(self.drift_bounds, dtype=float), self.family)

    def _bounds(self, evidence: Evidence) -> Array:
        """(T-1, d) bounds of each parameter, from the last one known on held."""
        known = len(evidence.drift_bounds)
        if self.knows_ahead or known >= len(self._stated):
            return self._stated
        held = self._stated[known - 1] if known else np.zeros(len(self.family.shape))
        return np.concatenate([self._stated[:known], np.tile(held, (len(self._stated) - known, 1))])

    def _belief(self, evidence: Evidence, bounds: Array) -> Array:
        """(H,) weights by the estimate and the one before it, or the nominal kernel if there was none."""
        then, before = evidence.earlier or (1, evidence.nominal)
        here, there = self.family.locate(evidence.kernel), self.family.locate(before)
        allowed = bounds[max(then - 1, 0) : evidence.since].sum(axis=0)
        return self._movement.after_move(there, here, allowed, evidence.since - max(then - 1, 0))

    def _kernels(self, course: Array, since: int):
        """t -> the mean kernel of (n, G) weights that begin at `since`."""

        def kernel(t: int) -> Kernel:
            return self.family.mean(course[min(t - since, len(course) - 1)])

        return lru_cache(maxsize=None)(kernel)

    def _words(self, direction: tuple[int, ...]) -> str:
        ways = {-1: "falls", 0: "stays", 1: "rises"}
        return ", ".join(
            f"{name} {ways[sign]}" for name, sign in zip(self.family.values, direction, strict=True)
        )


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
        known: dict[bytes, Kernel] = {kernel.slip.tobytes(): kernel}

        def moved(change: float) -> Kernel:
            slip = np.clip(kernel.slip + change * per_change, 0.0, 1.0)
            slip = slip if cells.all() else np.where(cells, slip, kernel.slip)
            key = slip.tobytes()
            if key not in known:
                known[key] = kernel.with_slip(slip)
            return known[key]

        return moved

    def _nearest(self, kernel: Kernel) -> tuple[int, ...]:
        """Return the indices of the member nearest to a kernel, by the rows that depend on the parameters."""
        apart = self.family.distances(kernel)
        rows = self.family.depends.any(axis=0)
        rows = rows if rows.any() else np.ones_like(rows)
        return tuple(int(i) for i in np.unravel_index(apart[:, rows].max(axis=1).argmin(), self.family.shape))
