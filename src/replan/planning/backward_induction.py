"""Backward induction: plans at an update.

`plan` solves the paper's equation (policy optimisation): W_h(s) = max_a r_{t+h}(s, a) + E[W_{h+1}], with the
estimated kernel held fixed, and keeps the first step. `plan_ahead` does so for every time from the update on,
on kernels that are expected to move.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from replan.errors import InputError, require, require_function, require_whole, shown
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import SERIAL_BELOW, Array, Indices, Kernel
from replan.model.reward import Reward
from replan.model.slip import SlipKernel
from replan.planning.ties import TIE_TOLERANCE, Ties


@dataclass(frozen=True)
class Plan:
    """The first step of an H-step plan, and those of later times where kernels are expected to move."""

    time: int
    """Time of the update that made the plan."""
    policy: Indices = field(repr=False)
    """(S,) first-step action of each state."""
    next_values: Array = field(repr=False)
    """(S,) W_1."""
    kernel: Kernel = field(repr=False)
    """Planned on."""
    reward: Reward = field(repr=False)
    """Reward of the first step."""
    ties: Ties = field(default_factory=Ties)
    """Choice among equally good actions."""
    later: tuple[Plan, ...] = field(default=(), repr=False)
    """For each later time up to T - 1; empty where this one is kept until the next update."""

    def at(self, time: int) -> Plan:
        """Return the plan that is followed at `time`."""
        return self.later[time - self.time - 1] if self.later and time > self.time else self

    @cached_property
    def q_values(self) -> Array:
        """(S, A) Z_0, computed on first use."""
        return self.reward.q_values(self.kernel, self.next_values)

    def q_values_at(self, states: Indices) -> Array:
        """(C, A) Z_0 of a subset of states."""
        kernel, reward = self.kernel, self.reward
        if "q_values" in vars(self) or not isinstance(kernel, SlipKernel):
            return self.q_values[states]
        ahead = kernel.expect_at(self.next_values, reward.next_state, states)
        return ahead if reward.state_action is None else ahead + reward.state_action[states]


def plan(
    kernel: Kernel,
    reward: Callable[[int], Reward],
    *,
    time: int,
    horizon: int,
    ties: Ties | None = None,
    kernel_at: Callable[[int], Kernel] | None = None,
) -> Plan:
    """Plan by backward induction.

    Parameters
    ----------
    kernel : Kernel
        The kernel of the first step, and of all steps unless `kernel_at` is given.
    reward : callable
        The reward of each time.
    time : int
        Time of the first step.
    horizon : int
        Number of steps to plan.
    ties : Ties, optional
        Which of equally good actions is taken.
    kernel_at : callable, optional
        The kernel of each time after the first step.

    Returns
    -------
    Plan
        The first-step policy and its Q-values.
    """
    require_whole(time=time, horizon=horizon)
    if not isinstance(kernel, (SlipKernel, GeneralKernel, Kernel)):  # the protocol last: it takes long
        raise InputError(f"kernel must be a Kernel, not {shown(kernel)}")
    require_function(reward=reward)
    if ties is not None:
        require(Ties, ties=ties)
    if kernel_at is not None:
        require_function(kernel_at=kernel_at)
    if horizon < 1:
        raise InputError(f"a plan needs a horizon of at least 1, not {horizon}")
    ties, first = ties or Ties(), reward(time)
    ahead = range(time + 1, time + horizon)
    still = kernel_at is None or all(kernel_at(t) is kernel for t in ahead)
    if ties.kind == "first" and still and all(reward(t) is first for t in ahead):
        if isinstance(kernel, SlipKernel) and first.state_action is None:
            values, policy = kernel.induction(horizon - 1, first.next_state, TIE_TOLERANCE)
            return Plan(time, policy, values, kernel, first, ties)
        if isinstance(kernel, GeneralKernel) and kernel.states < SERIAL_BELOW:
            values, policy = kernel.induction(
                horizon - 1, first.state_action, first.next_state, TIE_TOLERANCE
            )
            return Plan(time, policy, values, kernel, first, ties)
    values, spare = _buffers(kernel.states, swaps=horizon - 1)
    values.fill(0.0)
    for h in range(horizon - 1, 0, -1):
        here = kernel if kernel_at is None else kernel_at(time + h)
        values, spare = reward(time + h).backup(here, values, out=spare), values
    if ties.kind == "first":
        worth = values if first.next_state is None else np.add(values, first.next_state, out=spare)
        policy = kernel.greedy(worth, first.state_action, TIE_TOLERANCE)
    else:
        policy = ties.choose(first.q_values(kernel, values), plan_time=time, states=np.arange(kernel.states))
    return Plan(time, policy, values, kernel, first, ties)


def plan_ahead(
    kernel_at: Callable[[int], Kernel],
    reward: Callable[[int], Reward],
    *,
    time: int,
    end: int,
    horizon: int,
    ties: Ties | None = None,
) -> Plan:
    """Plan for every time from `time` to `end` - 1, each for `horizon` steps or as many as are left."""
    first, *later = (
        plan(kernel_at(t), reward, time=t, horizon=min(horizon, end - t), ties=ties, kernel_at=kernel_at)
        for t in range(time, end)
    )
    return replace(first, later=tuple(later))


def plans_of_all_lengths(kernel: Kernel, reward: Reward, ties: Ties, longest: int) -> list[Plan]:
    """Plan for 1 to `longest` steps on a kernel and a reward that stay; the plans have no time."""
    values, plans = np.zeros(kernel.states), []
    for _ in range(longest):
        if ties.kind == "first":
            worth = values if reward.next_state is None else values + reward.next_state
            policy = kernel.greedy(worth, reward.state_action, TIE_TOLERANCE)
        else:
            policy = ties.choose(reward.q_values(kernel, values))
        plans.append(Plan(0, policy, values, kernel, reward, ties))
        values = reward.backup(kernel, values)
    return plans


_scratch = threading.local()  # one array per thread: fresh memory costs as much as the work done in it


def _buffers(states: int, *, swaps: int) -> tuple[Array, Array]:
    """Return two (S,) arrays, so chosen that after `swaps` swaps the first is not the scratch array."""
    if getattr(_scratch, "array", np.empty(0)).size != states:
        _scratch.array = np.empty(states)
    fresh = np.empty(states)
    return (fresh, _scratch.array) if swaps % 2 == 0 else (_scratch.array, fresh)


def check_plan(made: Any, kernel: Kernel, *, time: int, later: int = 0, belief: bool) -> None:
    """Raise `InputError` unless a robot can act on the plan, its `later` steps and, by `belief`, Q-values."""
    if not isinstance(made, Plan):
        raise InputError(f"the planner returned {type(made).__name__}, not a plan")
    if not isinstance(made.later, tuple) or len(made.later) != later:
        raise InputError(f"the plan must have {later} later steps")
    for t, each in enumerate((made, *made.later), start=time):
        _check_step(each, kernel, time=t, belief=belief)


def _check_step(made: Any, kernel: Kernel, *, time: int, belief: bool) -> None:
    """Raise `InputError` unless a robot can act on one step of a plan."""
    if not isinstance(made, Plan) or not isinstance(made.ties, Ties) or not isinstance(made.reward, Reward):
        raise InputError(f"the plan of time {time} is not a plan with ties and a reward")
    states, actions = kernel.states, kernel.actions
    if made.time != time:
        raise InputError(f"the plan is made for time {made.time}, not {time}")
    if not _actions_within(made.policy, states, actions):
        raise InputError(f"the plan's policy is not {states} whole numbers from 0 to {actions - 1}")
    if not _finite(made.next_values, (states,)):
        raise InputError(f"the plan's next_values are not {states} finite numbers")
    if belief and not _finite_q_values(made, states, actions):
        raise InputError(f"the plan's q_values are not {states} x {actions} finite numbers")


def _actions_within(policy: Any, states: int, actions: int) -> bool:
    return (
        isinstance(policy, np.ndarray)
        and policy.shape == (states,)
        and np.issubdtype(policy.dtype, np.integer)
        and int(policy.min()) >= 0
        and int(policy.max()) < actions
    )


def _finite_q_values(plan: Plan, states: int, actions: int) -> bool:
    """Return whether a belief can act on the plan; on a grid its reward tells if they are unknown."""
    if "q_values" in vars(plan) or not isinstance(plan.kernel, SlipKernel):
        return _finite(plan.q_values, (states, actions))
    parts = ((plan.reward.next_state, (states,)), (plan.reward.state_action, (states, actions)))
    return plan.kernel.states == states and all(part is None or _finite(part, size) for part, size in parts)


def _finite(values: Any, shape: tuple[int, ...]) -> bool:
    if not isinstance(values, np.ndarray) or values.shape != shape:
        return False
    with np.errstate(invalid="ignore", over="ignore"):
        total = values.sum()  # finite only if they are
    return isfinite(total) or bool(np.isfinite(values).all())
