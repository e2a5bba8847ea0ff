"""Acting between updates: the action of a blind robot, and its estimate of the state afterwards.

`MapPropagation` is the paper's propagated-MAP estimate; `BeliefPropagation` keeps the whole distribution.
Both treat R robots at once that share one plan and the kernels that it expects. From the state at the last
update their actions are fixed, so `skip_interval` pushes the true state's distribution through the world's
kernels and gives the expected rewards exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from replan.errors import require_word
from replan.model.combination import stack_kernels
from replan.model.kernel import Array, Indices, Kernel
from replan.model.reward import Reward
from replan.model.sizes import DEFAULT_SIZES, Sizes
from replan.model.slip import SlipKernel
from replan.planning.backward_induction import Plan
from replan.typing import Execution

EXECUTIONS: tuple[Execution, ...] = ("map", "belief", "localised")

FEW = 8
"""Robots times this below the number of states: their successors are worked out one by one."""


class Propagation(Protocol):
    """Actions and state estimates of R robots that act on one plan without seeing their states."""

    def begin(self, states: Indices) -> Any:
        """Return the estimate right after (R,) states were seen."""
        ...

    def act(self, estimate: Any, time: int) -> Indices:
        """(R,) actions at `time`."""
        ...

    def advance(self, estimate: Any, actions: Indices, time: int) -> Any:
        """Return the estimate one step after `time`."""
        ...


@dataclass(frozen=True)
class MapPropagation:
    """The estimate is a state: the most likely successor under the expected kernel."""

    time: int
    """Time of the update."""
    policy: Indices = field(repr=False)
    """(L, S) of the times from the update on; the last one is kept."""
    kernels: tuple[Kernel, ...] = field(repr=False)
    """(L,) expected at these times."""

    @cached_property
    def following(self) -> Indices:
        """(L, S) MAP successor under the policy."""
        everyone = np.arange(self.policy.shape[1])
        parts = zip(self.kernels, self.policy, strict=True)
        return np.stack([kernel.most_likely_of(everyone, policy) for kernel, policy in parts])

    def begin(self, states: Indices) -> Indices:
        """(R,) the states themselves."""
        return np.asarray(states, dtype=np.int64)

    def act(self, estimate: Indices, time: int) -> Indices:
        """(R,) actions of the plan."""
        return self.policy[self.row(time)][estimate]

    def advance(self, estimate: Indices, actions: Indices, time: int) -> Indices:
        """(R,) most likely successors; where many follow the plan, those of all states are kept."""
        row = self.row(time)
        many = FEW * len(estimate) >= self.policy.shape[1]
        if many and np.array_equal(actions, self.policy[row][estimate]):
            return self.following[row][estimate]
        return self.kernels[row].most_likely_of(estimate, actions)

    def row(self, time: Any) -> Any:
        """Return the row of `policy` that is followed at a time, or at each of several.

        That is the first row before the plan's time, of which look-ahead asks for a plan yet to arrive.
        """
        last = len(self.policy) - 1
        return np.minimum(np.maximum(time - self.time, 0), last) if last else 0 * time


@dataclass(frozen=True)
class BeliefTables:
    """The plans of the times from an update on and the kernels expected then; the last ones are kept."""

    successors: Indices = field(repr=False)
    """(K, S, A, k) of each action"""
    probabilities: Array = field(repr=False)
    """(K, S, A, k)"""
    kernel_of: Indices = field(repr=False)
    """(L,) which of the K kernels is expected."""
    q_values: Array = field(repr=False)
    """(L, S, A)"""
    preference: Indices = field(repr=False)
    """(L, A) the actions in the order in which the tie rule prefers them."""


@dataclass(frozen=True)
class BeliefPropagation:
    """The estimate is a distribution, pushed with the expected kernels; the action is best on its average."""

    plan: Plan
    """The plan in force."""
    kernel_at: Callable[[int], Kernel]
    """t -> the kernel expected at t."""
    stacked: tuple[Indices, Array] | None = field(default=None, repr=False)
    """(K, S, A, k) successors and probabilities of the plan's times, where they are known."""
    is_sparse: bool = False
    """Whether beliefs are sparse matrices: on a large grid they hold the cells that can be reached."""

    @cached_property
    def tables(self) -> BeliefTables:
        """Arrays for compiled loops."""
        plans = (self.plan, *self.plan.later)
        kernels, kernel_of = [], []
        for each in plans:
            kernel = self.kernel_at(each.time)
            if not kernels or kernel is not kernels[-1]:
                kernels.append(kernel)
            kernel_of.append(len(kernels) - 1)
        return BeliefTables(
            *(self.stacked or stack_kernels(kernels)),
            np.array(kernel_of),
            np.stack([each.q_values for each in plans]),
            np.stack([each.ties.preference(each.time, each.q_values.shape[1]) for each in plans]),
        )

    def begin(self, states: Indices) -> Any:
        """(R, S) certainty; sparse on a large grid."""
        if self.is_sparse:
            return certain_rows(states, len(self.plan.policy))
        belief = np.zeros((len(states), len(self.plan.policy)))
        belief[np.arange(len(states)), states] = 1.0
        return belief

    def act(self, estimate: Array, time: int) -> Indices:
        """(R,) the action with the best sum over s of b(s) Z_0(s, a)."""
        plan = self.plan.at(time)
        if estimate.shape[0] == 1 and not isinstance(estimate, np.ndarray):
            worth = (estimate.data @ plan.q_values_at(estimate.indices))[None]
        else:
            worth = estimate @ plan.q_values
        return plan.ties.choose(worth, plan_time=plan.time)

    def advance(self, estimate: Array, actions: Indices, time: int) -> Array:
        """(R, S) the distributions one step later."""
        return self.kernel_at(time).push(estimate, actions)


def likeliest(estimate: Any) -> Indices:
    """(R,) the likeliest states of an estimate: the states themselves, or the modes of (R, S) beliefs."""
    estimate = getattr(estimate, "acting", estimate)
    return estimate if estimate.ndim == 1 else np.asarray(estimate.argmax(axis=1)).reshape(-1)


def certain_rows(states: Indices, size: int) -> Any:
    """(R, S) sparse rows of robots that know where they are."""
    from scipy.sparse import csr_array

    offsets = np.arange(len(states) + 1, dtype=np.int32)
    return csr_array((np.ones(len(states)), states.astype(np.int32), offsets), shape=(len(states), size))


def check_execution(execution: str) -> None:
    """Raise `InputError` if there is no execution of that name."""
    require_word(EXECUTIONS, execution=execution)


def make_propagation(
    execution: Execution,
    plan: Plan,
    kernel: Kernel,
    kernel_at: Callable[[int], Kernel] | None = None,
    *,
    stacked: tuple[Indices, Array] | None = None,
    sizes: Sizes = DEFAULT_SIZES,
) -> Propagation:
    """Return the propagation of that name for a plan and the kernel it was made with.

    A localised robot acts by belief while it does not see its state.

    Where the plan has later steps, `kernel_at` gives the kernels expected at their times; `stacked` are these
    as in `BeliefPropagation`.
    """
    check_execution(execution)
    if execution == "map":
        plans = (plan, *plan.later)
        kernels = (kernel,) if kernel_at is None else tuple(kernel_at(each.time) for each in plans)
        policy = plan.policy[None] if not plan.later else np.stack([each.policy for each in plans])
        return MapPropagation(plan.time, policy, kernels)
    is_sparse = len(plan.policy) > sizes.whole_world and isinstance(plan.kernel, SlipKernel)
    return BeliefPropagation(plan, kernel_at or (lambda t: kernel), stacked, is_sparse)


@dataclass(frozen=True)
class SkipStep:
    """One step of R robots that set out from different states."""

    time: int
    """t."""
    actions: Indices
    """(R,) actions taken."""
    before: Array
    """(R, S) distribution of the true state at `time`."""
    after: Array
    """(R, S) distribution of the true state one step later."""
    reward: Array
    """(R,) expected reward of the step."""


def skip_interval(
    kernel: Callable[[int], Kernel],
    reward: Callable[[int], Reward],
    propagation: Propagation,
    states: Indices,
    *,
    begin: int,
    end: int,
    sparse: bool = False,
) -> Iterator[SkipStep]:
    """Yield the steps begin..end-1 of robots that saw `states` (R,) at `begin` and nothing since.

    With `sparse`, for slip kernels, distributions are sparse matrices: their size is that of what is reached.
    """
    if sparse:
        before = certain_rows(states, kernel(begin).states)
        estimate = before if isinstance(propagation, BeliefPropagation) else propagation.begin(states)
    else:
        estimate = propagation.begin(states)
        before = np.zeros((len(states), kernel(begin).states))
        before[np.arange(len(states)), states] = 1.0
    for t in range(begin, end):
        actions = propagation.act(estimate, t)
        after = kernel(t).push(before, actions)
        yield SkipStep(t, actions, before, after, reward(t).along(before, actions, after))
        estimate = propagation.advance(estimate, actions, t)
        before = after
