"""How a robot acts between decisions, and the update that it acts on.

`MapPropagation` is the paper's: the robot follows its plan at the likeliest state. `BeliefPropagation` keeps
the whole distribution. While an update runs the robot waits (`Waiting`) or goes on with the old plan, and at
the arrival its estimate is propagated anew from the look, with the new kernels (`UntilArrival`). All treat R
robots at once that share one plan; from the state at the last look their actions are settled (`commands`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from replan import _loops
from replan.errors import require_word
from replan.forecast.base import Future
from replan.model.combination import stack_kernels
from replan.model.kernel import Array, Indices, Kernel, band_results
from replan.model.sizes import DEFAULT_SIZES, Sizes
from replan.model.slip import SlipKernel
from replan.planning.backward_induction import Plan
from replan.planning.ties import TIE_TOLERANCE
from replan.typing import Execution

EXECUTIONS: tuple[Execution, ...] = ("map", "belief", "localised")
KernelAt = Callable[[int], Kernel]

FEW = 8
"""Robots times this below the number of states: their successors are worked out one by one."""
SERIAL_BELOW = 500
"""Robots times steps; under this, handing out work costs more than it gives."""


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

    def commands(
        self,
        states: Indices,
        *,
        begin: int,
        steps: int,
        tolerance: float = 0.0,
        taken: Indices | None = None,
        kernels: Sequence[Kernel] = (),
    ) -> Indices:
        """(R, steps) actions of robots that saw `states` at `begin`, and nothing since.

        The first ones are those `taken` (R, d) already, through which the estimate is propagated with
        `kernels` (d,). Beliefs drop probabilities below the tolerance.
        """
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

    def commands(self, states, *, begin, steps, tolerance=0.0, taken=None, kernels=()) -> Indices:
        """(R, steps) actions, as in `Propagation`."""
        actions = np.empty((len(states), steps), dtype=np.int64)
        estimate, known, given = self.begin(states), len(kernels), np.asarray(taken)
        for k, kernel in enumerate(kernels):
            actions[:, k] = given[:, k]
            estimate = kernel.most_likely_of(estimate, actions[:, k])
        for k in range(known, steps):
            actions[:, k] = self.act(estimate, begin + k)
            if k + 1 < steps:
                estimate = self.advance(estimate, actions[:, k], begin + k)
        return actions

    def row(self, time: Any) -> Any:
        """Return the row of `policy` that is followed at a time, or at each of several.

        That is the first row before the plan's time, of which look-ahead asks for a plan yet to arrive.
        """
        last = len(self.policy) - 1
        return np.minimum(np.maximum(time - self.time, 0), last) if last else 0 * time


@dataclass(frozen=True)
class BeliefTables:
    """The plans of the times from an update on and the kernels expected then; the last ones are kept."""

    kernels: tuple[Kernel, ...] = field(repr=False)
    """(K,) distinct kernels."""
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
    kernel_at: KernelAt
    """t -> the kernel expected at t."""
    stacked: tuple[Indices, Array] | None = field(default=None, repr=False)
    """(K, S, A, k) successors and probabilities of the plan's times, where they are known."""
    is_sparse: bool = False
    """Whether beliefs are sparse matrices: on a large grid they hold the cells that can be reached."""

    @cached_property
    def tables(self) -> BeliefTables:
        """Arrays for compiled loops."""
        plans = (self.plan, *self.plan.later)
        kernels, kernel_of = distinct([self.kernel_at(each.time) for each in plans])
        return BeliefTables(
            tuple(kernels),
            *(self.stacked or stack_kernels(kernels)),
            kernel_of,
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

    def commands(self, states, *, begin, steps, tolerance=0.0, taken=None, kernels=()) -> Indices:
        """(R, steps) actions, as in `Propagation`."""
        tables = self.tables
        rows = np.clip(np.arange(begin, begin + steps) - self.plan.time, 0, len(tables.q_values) - 1)
        given = np.empty((len(states), 0), dtype=np.int64) if taken is None else np.ascontiguousarray(taken)
        lists, kernel_of = (tables.successors, tables.probabilities), tables.kernel_of[rows]
        if kernels:
            all_kernels, which = distinct([*kernels, *tables.kernels])
            if len(all_kernels) > len(tables.kernels):
                lists = stack_kernels(all_kernels)
            ahead = len(kernels)
            kernel_of = np.concatenate([which[:ahead], which[ahead:][tables.kernel_of[rows[ahead:]]]])

        def choose(first: int, last: int) -> Indices:
            return _loops.segments.belief_commands(
                *lists, kernel_of, tables.q_values, tables.preference, rows, TIE_TOLERANCE, tolerance,
                states[first:last], given[first:last],
            )  # fmt: skip

        return np.concatenate(band_results(choose, len(states), serial=len(states) * steps < SERIAL_BELOW))


@dataclass(frozen=True)
class Waiting:
    """Robots that take one action, whatever the state."""

    action: int

    def begin(self, states: Indices) -> Indices:
        """(R,) the states seen."""
        return np.asarray(states, dtype=np.int64)

    def act(self, estimate: Indices, time: int) -> Indices:
        """(R,) the action."""
        return np.full(len(estimate), self.action)

    def advance(self, estimate: Indices, actions: Indices, time: int) -> Indices:
        """(R,) the states seen: nothing is kept track of."""
        return estimate

    def commands(self, states, *, begin, steps, tolerance=0.0, taken=None, kernels=()) -> Indices:
        """(R, steps) the action."""
        return np.full((len(states), steps), self.action)


@dataclass(frozen=True)
class BothEstimates:
    """The estimates of robots while an update runs."""

    acting: Any
    """The estimate that the old plan acts on."""
    arriving: Any
    """The estimate with the new kernels, through the actions taken so far."""


@dataclass(frozen=True)
class UntilArrival:
    """The old propagation acts until the arrival of the new plan, then the new one."""

    old: Propagation
    """Acts until the arrival."""
    new: Propagation
    """Acts from the arrival on."""
    kernel_at: KernelAt = field(repr=False)
    """t -> the kernel that the new estimate is propagated with, from the look on."""
    begun: int
    """Time of the look."""
    arrival: int
    """The first time at which the new plan is in force."""

    def begin(self, states: Indices) -> BothEstimates:
        """Return both estimates right after (R,) states were seen."""
        return BothEstimates(self.old.begin(states), self.new.begin(states))

    def act(self, estimate: Any, time: int) -> Indices:
        """(R,) actions at `time`."""
        if time < self.arrival:
            return self.old.act(estimate.acting, time)
        return self.new.act(estimate, time)

    def advance(self, estimate: Any, actions: Indices, time: int) -> Any:
        """Return the estimate one step after `time`."""
        if time >= self.arrival:
            return self.new.advance(estimate, actions, time)
        arriving, kernel = estimate.arriving, self.kernel_at(time)
        arriving = (
            kernel.most_likely_of(arriving, actions) if arriving.ndim == 1 else kernel.push(arriving, actions)
        )
        if time + 1 == self.arrival:
            return arriving
        return BothEstimates(self.old.advance(estimate.acting, actions, time), arriving)

    def commands(self, states, *, begin, steps, tolerance=0.0, taken=None, kernels=()) -> Indices:
        """(R, steps) actions, as in `Propagation`."""
        running = min(self.arrival - begin, steps)
        given = self.old.commands(states, begin=begin, steps=running, tolerance=tolerance)
        if running == steps:
            return given
        before = [self.kernel_at(t) for t in range(begin, self.arrival)]
        return self.new.commands(
            states, begin=begin, steps=steps, tolerance=tolerance, taken=given, kernels=before
        )


@dataclass(frozen=True, eq=False)
class Update:
    """Estimate, plan and propagation that an update at `time` puts in force."""

    time: int
    """Time at which it begins, with a look at the state."""
    kernel: Kernel = field(repr=False)
    """The estimate."""
    plan: Plan = field(repr=False)
    propagation: Propagation = field(repr=False)
    """How a robot that does not see its state acts from `time` on."""
    name: tuple[int, ...] = ()
    """Tells updates apart that act differently, among those of one mission or of one future."""
    expect: Callable[[int], tuple[Future, ...]] = field(default=lambda now: (), repr=False)
    """now -> the futures expected after the update, with the drift bounds known by now."""
    earlier: tuple[int, Kernel] | None = field(default=None, repr=False)
    """Time and estimate of the update before, where the forecast depends on it."""
    learned: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)
    """What the estimator had learned by then, where the forecast continues from it."""
    steps: int = 0
    """Steps from the beginning of the update to its arrival, from which on the plan is in force."""
    before: Update | None = field(default=None, repr=False)
    """The update whose plan acts until the arrival; None: this one takes no time, or the robot waits."""
    waiting: int | None = None
    """The action until the arrival, where the robot waits."""
    judge: Callable[[], Plan] | None = field(default=None, repr=False)
    """Makes the judge's plan on the same estimate; None: the judge made `plan`."""
    cache: dict[Any, Any] = field(default_factory=dict, repr=False)
    """Results that rules keep while this update is in force (`Context.cache`)."""

    @cached_property
    def judged(self) -> Plan:
        """The judge's plan on the same estimate and for the same time as `plan`."""
        return self.plan if self.judge is None else self.judge()

    @property
    def arrival(self) -> int:
        """The first time at which the plan is in force."""
        return self.time + self.steps

    @property
    def in_force(self) -> Propagation:
        """The propagation from the arrival on."""
        return self.propagation.new if isinstance(self.propagation, UntilArrival) else self.propagation

    def policy_at(self, time: int) -> Indices:
        """(S,) actions of a robot that sees its state."""
        if time < self.arrival and self.waiting is not None:
            return np.full(len(self.plan.policy), self.waiting)
        if time < self.arrival and self.before is not None:
            return self.before.plan.at(time).policy
        return self.plan.at(time).policy

    @property
    def futures(self) -> tuple[Future, ...]:
        """Expected from then on."""
        return self.expect(self.time)


def distinct(objects: Sequence[Any]) -> tuple[list[Any], Indices]:
    """Return a sequence without immediate repetitions, and which of these each place has."""
    found, which = [], []
    for each in objects:
        if not found or each is not found[-1]:
            found.append(each)
        which.append(len(found) - 1)
    return found, np.array(which, dtype=np.int64)


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
    kernel_at: KernelAt | None = None,
    *,
    stacked: tuple[Indices, Array] | None = None,
    sizes: Sizes = DEFAULT_SIZES,
) -> Propagation:
    """Return the propagation of that name for a plan and the kernel it was made with.

    A localised robot acts by belief while it does not see its state. Where the plan has later steps,
    `kernel_at` gives the kernels expected at their times; `stacked` are these as in `BeliefPropagation`.
    """
    if execution == "map":
        plans = (plan, *plan.later)
        kernels = (kernel,) if kernel_at is None else tuple(kernel_at(each.time) for each in plans)
        policy = plan.policy[None] if not plan.later else np.stack([each.policy for each in plans])
        return MapPropagation(plan.time, policy, kernels)
    is_sparse = len(plan.policy) > sizes.whole_world and isinstance(plan.kernel, SlipKernel)
    return BeliefPropagation(plan, kernel_at or (lambda t: kernel), stacked, is_sparse)
