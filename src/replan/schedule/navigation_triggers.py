"""`fixed-rate`, `distance-travelled` and `path-expired`: the replanning triggers of navigation stacks.

Nav2 replans at a fixed rate, after some distance, or when its path has been used up. The robot knows how far
it has come only by the path that it believes to follow, each state the likeliest successor of the one before.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from replan.errors import InputError, require_finite, require_whole
from replan.model.kernel import Indices
from replan.schedule.rule import Context, Decision, Need, Rule, register


def believed_paths(context: Context, states: Indices, steps: int) -> Indices:
    """(R, steps + 1) states under the plan in force, from the `states` (R,) seen at the last update."""
    policy = context.plan.policy
    following = context.kernel.most_likely()[np.arange(len(policy)), policy]
    paths = [states]
    for _ in range(steps):
        paths.append(following[paths[-1]])
    return np.stack(paths, axis=1)


@dataclass(frozen=True)
class Trigger(Rule):
    """Base class of triggers: the next update time follows from the last update alone."""

    needs = frozenset({Need.STATE})

    @abstractmethod
    def next_update(self, context: Context, states: Indices) -> Indices:
        """(R,) times at which the trigger fires; T: never."""

    def updates(self, context: Context, states: Indices) -> np.ndarray:
        """(R,) bool, whether the trigger has fired."""
        return context.time >= self.next_update(context, states)

    def decide(self, context: Context) -> Decision:
        """Compare the time with that of the trigger."""
        states = np.array([context.state if Need.STATE in self.needs else 0])
        at = int(self.next_update(context, states)[0])
        parameters = ", ".join(f"{name} {value}" for name, value in vars(self).items())
        return Decision(context.time >= at, f"the trigger ({parameters}) fires at {at}")


@register
@dataclass(frozen=True)
class FixedRate(Trigger):
    """Update every so many steps; Nav2's default is a fixed rate of one in a second."""

    every: int = 1
    """Steps between updates."""

    needs = frozenset()

    def __post_init__(self) -> None:
        require_whole(every=self.every)
        if self.every < 1:
            raise InputError(f"every must be at least 1, not {self.every}")

    @classmethod
    def candidates(cls) -> list[FixedRate]:
        """Return rules that update every 1 to 20 steps."""
        return [cls(every) for every in range(1, 21)]

    def next_update(self, context: Context, states: Indices) -> Indices:
        """(R,) times `every` steps after the last update."""
        return np.full(len(states), min(context.last_update + self.every, context.horizon))


@register
@dataclass(frozen=True)
class DistanceTravelled(Trigger):
    """Update after so many cells of the believed path."""

    cells: int = 1
    """Cells between updates."""

    def __post_init__(self) -> None:
        require_whole(cells=self.cells)
        if self.cells < 1:
            raise InputError(f"cells must be at least 1, not {self.cells}")

    @classmethod
    def candidates(cls) -> list[DistanceTravelled]:
        """Return one rule for each of a few distances."""
        return [cls(cells) for cells in (1, 2, 4, 6, 8, 12, 16)]

    def next_update(self, context: Context, states: Indices) -> Indices:
        """(R,) times at which the robot believes to have gone that far; T if it believes to stand still."""
        paths = believed_paths(context, states, context.horizon - context.last_update)
        far = (np.diff(paths) != 0).cumsum(axis=1) >= self.cells
        return np.where(far.any(axis=1), context.last_update + 1 + far.argmax(axis=1), context.horizon)


@register
@dataclass(frozen=True)
class PathExpired(Trigger):
    """Update when a share of the path is used up; a path ends at rest, or with the planning horizon."""

    share: float = 1.0
    """Share of the path after which the rule updates."""

    def __post_init__(self) -> None:
        require_finite(share=self.share)
        if self.share <= 0:
            raise InputError(f"share must be above 0, not {self.share}")

    @classmethod
    def candidates(cls) -> list[PathExpired]:
        """Return one rule for each of a few shares."""
        return [cls(share) for share in (0.5, 1.0, 1.5, 2.0)]

    def next_update(self, context: Context, states: Indices) -> Indices:
        """(R,) times at which that share of the path, or of the wait at its end, has passed."""
        paths = believed_paths(context, states, context.planning_horizon)
        moving = (np.diff(paths) != 0).sum(axis=1)
        length = np.where(moving > 0, moving, context.planning_horizon)
        within = np.minimum(float(self.share) * length, context.horizon)
        steps = np.maximum(1, np.rint(within).astype(np.int64))
        return np.minimum(context.last_update + steps, context.horizon)
