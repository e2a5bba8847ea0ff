"""Planning at an update by backward induction, with the estimated kernel held fixed or on a forecast.

`plan` solves the paper's equation (policy optimisation): W_h(s) = max_a r_{t+h}(s, a) + E[W_{h+1}], and keeps
the first step. `plan_ahead` does so for every time from the update on, on kernels that are expected to move.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from replan.errors import InputError
from replan.model.bands import SERIAL_BELOW
from replan.model.kernel import Array, GeneralKernel, Indices, Kernel
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
        """(C, A) Z_0 of some states alone."""
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
    """Plan at `time` for `horizon` steps, on `kernel_at` where given for the steps after the first."""
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


_scratch = threading.local()  # one array per thread: fresh memory costs as much as the work done in it


def _buffers(states: int, *, swaps: int) -> tuple[Array, Array]:
    """Return two (S,) arrays, so chosen that after `swaps` swaps the first is not the scratch array."""
    if getattr(_scratch, "array", np.empty(0)).size != states:
        _scratch.array = np.empty(states)
    fresh = np.empty(states)
    return (fresh, _scratch.array) if swaps % 2 == 0 else (_scratch.array, fresh)
