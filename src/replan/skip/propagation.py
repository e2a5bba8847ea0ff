"""Acting between updates: the action of a blind robot, and its estimate of the state afterwards.

`MapPropagation` is the paper's propagated-MAP estimate; `BeliefPropagation` keeps the whole distribution.
Both treat R robots at once that share one plan and one estimated kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from replan.errors import InputError
from replan.model.kernel import Array, Indices, Kernel
from replan.planning.backward_induction import Plan

Execution = Literal["map", "belief"]
EXECUTIONS: tuple[Execution, ...] = ("map", "belief")


class Propagation(Protocol):
    """Actions and state estimates of R robots that act on one plan without seeing their states."""

    def begin(self, states: Indices) -> Any:
        """The estimate right after (R,) states were seen."""
        ...

    def act(self, estimate: Any) -> Indices:
        """(R,) actions."""
        ...

    def advance(self, estimate: Any, actions: Indices) -> Any:
        """The estimate one step later."""
        ...


@dataclass(frozen=True)
class MapPropagation:
    """The estimate is a state: the most likely successor under the stale kernel."""

    policy: Indices  # (S,)
    following: Indices  # (S,) MAP successor under the policy

    def begin(self, states: Indices) -> Indices:
        """(R,) the states themselves."""
        return np.asarray(states, dtype=np.int64)

    def act(self, estimate: Indices) -> Indices:
        """(R,) actions of the stale policy."""
        return self.policy[estimate]

    def advance(self, estimate: Indices, actions: Indices) -> Indices:
        """(R,) most likely successors."""
        return self.following[estimate]


@dataclass(frozen=True)
class BeliefPropagation:
    """The estimate is a distribution, pushed with the stale kernel; the action is best on its average."""

    plan: Plan
    kernel: Kernel

    def begin(self, states: Indices) -> Array:
        """(R, S) certainty."""
        belief = np.zeros((len(states), self.kernel.states))
        belief[np.arange(len(states)), states] = 1.0
        return belief

    def act(self, estimate: Array) -> Indices:
        """(R,) the action with the best sum over s of b(s) Z_0(s, a)."""
        return self.plan.ties.choose(estimate @ self.plan.q_values, plan_time=self.plan.time)

    def advance(self, estimate: Array, actions: Indices) -> Array:
        """(R, S) the distributions one step later."""
        return self.kernel.push(estimate, actions)


def make_propagation(execution: Execution, plan: Plan, kernel: Kernel) -> Propagation:
    """Return the propagation of that name for a plan and the kernel it was made with."""
    if execution == "map":
        following = kernel.most_likely()[np.arange(kernel.states), plan.policy]
        return MapPropagation(plan.policy, following)
    if execution == "belief":
        return BeliefPropagation(plan, kernel)
    raise InputError(f'execution must be "map" or "belief", not {execution!r}')
