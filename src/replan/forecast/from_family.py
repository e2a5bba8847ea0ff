"""`family`: the parameters of a family of models go on at the pace at which they moved.

Where the robot learns with a `FamilyFilter`, its weights of parameters and paces go on. With any other
estimate the parameters are those of the nearest members, and the pace is judged by how far they have moved
since the estimate before, in units of the drift bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np

from replan.errors import InputError
from replan.estimate.estimator import Estimator
from replan.estimate.family_filter import FamilyFilter, step_bounds
from replan.estimate.movement import Movement
from replan.forecast.base import Evidence, Forecast, Future
from replan.model.family import Family
from replan.model.kernel import Array, Kernel

FUTURES_KEPT = 1e-6  # futures with less weight are left out


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
    learner: FamilyFilter | None = field(default=None, repr=False)
    """Estimator whose weights go on; None: those of the estimates themselves."""

    name = "family"
    compares = True

    def informed_by(self, estimator: Estimator) -> Forecast:
        """Return the forecast that goes on from the estimator's weights, if it is a `FamilyFilter`."""
        if not isinstance(estimator, FamilyFilter):
            return self
        if estimator.family.shape != self.family.shape:
            raise InputError("the forecast and the estimator have different families of models")
        return replace(self, learner=estimator)

    def futures(self, evidence: Evidence) -> tuple[Future, ...]:
        """Return one future for each direction in which the parameters may go."""
        bounds = self._bounds(evidence)
        if self.learner is not None and self.learner.time == evidence.since:
            belief = self.learner.belief
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
        """(H,) weights by the estimate and the one before it, the nominal kernel where there was none."""
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
