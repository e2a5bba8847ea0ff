"""An estimator with the view of a local costmap: true rows near the robot, elsewhere those last seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from replan.errors import InputError
from replan.estimate.estimator import Observation
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Indices, Kernel
from replan.model.world import World


@dataclass
class Nearby:
    """The rows of states within a radius of a localised robot follow P_{t-1}; the others stay as last seen.

    On a grid the radius counts cells in a square, as a costmap does; elsewhere it counts steps.
    """

    world: World
    """The world that is seen."""
    radius: int = 3
    """Cells, or steps, that the sensors reach; 0: the state in which the robot is."""
    _shown: Indices = field(init=False, repr=False)
    """(S,) time of the kernel that each row is of."""
    _kernel: Kernel = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.radius, bool) or not isinstance(self.radius, int) or self.radius < 0:
            raise InputError(f"radius must be a whole number of at least 0, not {self.radius!r}")
        self._shown = np.zeros(self.world.states, dtype=np.int64)
        self._kernel = self.world.kernel(0)

    def estimate(self, observation: Observation) -> Kernel:
        """Return the kernel with the rows around the robot as they were in the step before."""
        rows, time = self._around(observation.state), self._first_of[max(observation.time - 1, 0)]
        if (self._shown[rows] != time).any():
            self._shown[rows] = time
            self._kernel = self._patched()
        return self._kernel

    def save(self) -> dict[str, np.ndarray]:
        """Return the time that each row is of."""
        return {"shown": self._shown.copy()}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Continue from the array of `save`."""
        shown = np.asarray(arrays["shown"])
        if shown.shape != (self.world.states,) or not np.isin(shown, self._first_of).all():
            raise InputError("what was seen is of another world")
        self._shown = shown.astype(np.int64)
        self._kernel = self._patched() if self._shown.any() else self.world.kernel(0)

    @cached_property
    def _first_of(self) -> Indices:
        """(T,) the first time that has the kernel of each time."""
        kernels = [self.world.kernel(t) for t in range(self.world.horizon)]
        first = {id(kernel): t for t, kernel in reversed(list(enumerate(kernels)))}
        return np.array([first[id(kernel)] for kernel in kernels])

    def _around(self, state: int) -> Indices:
        """Return the states within the radius."""
        if self.world.grid is not None:
            rows, columns = self.world.grid
            row, column = divmod(state, columns)
            down = np.abs(np.arange(rows) - row) <= self.radius
            across = np.abs(np.arange(columns) - column) <= self.radius
            return np.flatnonzero(np.logical_and.outer(down, across))
        reached, successors = np.array([state]), self.world.kernel(0).general().successors
        for _ in range(self.radius):
            reached = np.union1d(reached, successors[reached].ravel())
        return reached

    def _patched(self) -> GeneralKernel:
        """Return the kernel whose rows are of the times that they were seen at."""
        times, which = np.unique(self._shown, return_inverse=True)
        lists = [self.world.kernel(int(t)).general() for t in times]
        width = max(each.successors.shape[1] for each in lists)
        states, actions = lists[0].states, lists[0].actions
        successors, probabilities = np.empty((states, width), np.int64), np.zeros((states, actions, width))
        for number, each in enumerate(lists):
            rows, size = np.flatnonzero(which == number), each.successors.shape[1]
            successors[rows, :size] = each.successors[rows]
            successors[rows, size:] = each.successors[rows, -1:]
            probabilities[rows, :, :size] = each.probabilities[rows]
        return GeneralKernel.of_merged(successors, probabilities)
