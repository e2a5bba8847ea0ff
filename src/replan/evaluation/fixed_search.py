"""Fixed update times by branch and bound, under the values of the best feedback schedule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from replan.execute.mission import Mission
from replan.model.kernel import Array, Indices


class BestOnward(Protocol):
    """The best feedback schedule after updates at given times."""

    @property
    def values(self) -> Array:
        """(T + 1, S, B + 1) what an update at each time makes of a state; the last column is 1."""
        ...

    def onward(self, time: int, mass: Array) -> tuple[Array, Array]:
        """(T - time + 1,) gains of robots that do not update again, and (T + 1, S) where they go."""
        ...


class FixedSearch:
    """Depth first over fixed schedules, the most promising time first, cut where feedback cannot win."""

    def __init__(
        self,
        mission: Mission,
        programme_after: Callable[[tuple[int, ...]], BestOnward],
        nodes: int,
    ) -> None:
        self.mission, self.programme_after, self.nodes = mission, programme_after, nodes
        self.spend_all, self.price = mission.spending.exact, mission.spending.price or 0.0
        self.times: tuple[int, ...] = ()
        self.value = -np.inf
        self.proved = True

    def extend(self, times: tuple[int, ...], gained: float, mass: Array) -> None:
        """Continue a schedule that has gained so much by its last update, where it sees (S,) `mass`."""
        horizon, last, left = self.mission.horizon, times[-1] if times else 0, self.mission.limit - len(times)
        self.nodes -= 1
        programme = self.programme_after(times)
        more, spread = programme.onward(last, mass)
        if left == 0 or not self.spend_all:
            self._offer(times, gained + float(more[-1]))
        if left == 0:
            return
        spending = self.mission.spending
        earliest = last + (spending.spacing if times else 1)
        latest = max(spending.latest(left, horizon), earliest) if self.spend_all else horizon - 1
        candidates = np.arange(earliest, min(latest, horizon - 1) + 1)
        gains = gained + more - self.price
        bounds = gains[candidates - last] + _worth(programme, spread, candidates, left - 1)
        for i in np.argsort(-bounds, kind="stable"):
            if bounds[i] <= self.value + 1e-12:
                return
            if self.nodes <= 0 and self.times:
                self.proved = False
                return
            u = int(candidates[i])
            if left == 1 and self.spend_all:
                self._offer((*times, u), float(bounds[i]))
            else:
                self.extend((*times, u), float(gains[u - last]), spread[u])

    def _offer(self, times: tuple[int, ...], value: float) -> None:
        if value > self.value:
            self.times, self.value = times, value


def _worth(programme: BestOnward, spread: Array, times: Indices, left: int) -> Array:
    """(U,) what the best feedback schedule makes of the mass that it sees at each of the times."""
    values = programme.values[times]
    worth = np.einsum("us,us->u", spread[times], values[:, :, min(left, values.shape[2] - 2)])
    return worth / np.einsum("us,us->u", spread[times], values[:, :, -1])
