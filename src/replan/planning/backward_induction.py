"""Planning by backward induction: on one kernel held fixed, and over the whole time-varying world.

`plan` solves the paper's equation (policy optimisation) at an update: W_h(s) = max_a r_{t+h}(s, a) +
E[W_{h+1}] under the estimated kernel, and keeps the first step. `oracle` is V*_t of the appendix's "Value
Functions".
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from replan.errors import InputError
from replan.model.kernel import Array, Indices, Kernel
from replan.model.reward import Reward
from replan.model.tvmdp import TVMDP
from replan.planning.sweep import open_course, passes, sweep
from replan.planning.ties import TIE_TOLERANCE, Ties


@dataclass(frozen=True)
class Plan:
    """What to do, as far as the kernel at hand holds."""

    time: int  # when it was made
    policy: Indices = field(repr=False)  # (S,) first-step action of each state
    next_values: Array = field(repr=False)  # (S,) W_1
    kernel: Kernel = field(repr=False)  # planned on
    reward: Reward = field(repr=False)  # of the first step
    ties: Ties = field(default_factory=Ties)

    @cached_property
    def q_values(self) -> Array:
        """(S, A) Z_0, made when first asked for."""
        return self.reward.q_values(self.kernel, self.next_values)


def plan(
    kernel: Kernel, reward: Callable[[int], Reward], *, time: int, horizon: int, ties: Ties | None = None
) -> Plan:
    """The plan at `time` for `horizon` steps with the kernel held fixed."""
    if horizon < 1:
        raise InputError(f"a plan needs a horizon of at least 1, not {horizon}")
    ties = ties or Ties()
    values, spare = _buffers(kernel.states, swaps=horizon - 1)
    values.fill(0.0)
    for h in range(horizon - 1, 0, -1):
        values, spare = reward(time + h).backup(kernel, values, out=spare), values
    first = reward(time)
    if ties.kind == "first":
        ahead = values if first.next_state is None else np.add(values, first.next_state, out=spare)
        policy = kernel.greedy(ahead, first.state_action, TIE_TOLERANCE)
    else:
        policy = ties.choose(first.q_values(kernel, values), plan_time=time, states=np.arange(kernel.states))
    return Plan(time, policy, values, kernel, first, ties)


_scratch = threading.local()  # one array a thread, kept: fresh memory costs as much as the work done in it


def _buffers(states: int, *, swaps: int) -> tuple[Array, Array]:
    """Two (S,) arrays; after so many swaps the first is a fresh one that may be given away."""
    if getattr(_scratch, "array", np.empty(0)).size != states:
        _scratch.array = np.empty(states)
    fresh = np.empty(states)
    return (fresh, _scratch.array) if swaps % 2 == 0 else (_scratch.array, fresh)


@dataclass(frozen=True)
class Oracle:
    """The best that full knowledge and full sight can do."""

    world: TVMDP
    values: Array = field(repr=False)  # (T + 1, S) V*_t

    def q_values(self, t: int) -> Array:
        """(S, A) Q*_t."""
        return self.world.reward(t).q_values(self.world.kernel(t), self.values[t + 1])

    def loss(self, t: int) -> Array:
        """(S, A) V*_t - Q*_t, what each action gives away."""
        return self.values[t][:, None] - self.q_values(t)


def oracle(world: TVMDP) -> Oracle:
    """The optimal values of every time and state."""
    values = np.empty((world.horizon + 1, world.states))
    values[-1] = 0.0
    if (course := open_course(world)) is not None:
        for begin, end in passes(world.horizon):
            sweep(course, values[end], values[begin:end], begin=begin, end=end)
        return Oracle(world, values)
    for t in range(world.horizon - 1, -1, -1):
        world.reward(t).backup(world.kernel(t), values[t + 1], out=values[t])
    return Oracle(world, values)


def oracle_return(world: TVMDP) -> Array:
    """(S,) V*_0 alone, in the memory of two value functions."""
    values, spare = np.zeros(world.states), np.empty(world.states)
    if (course := open_course(world)) is not None:
        for begin, end in passes(world.horizon):
            sweep(course, values, spare, begin=begin, end=end)
            values, spare = spare, values
        return values
    for t in range(world.horizon - 1, -1, -1):
        values, spare = world.reward(t).backup(world.kernel(t), values, out=spare), values
    return values
