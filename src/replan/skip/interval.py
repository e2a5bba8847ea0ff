"""Distributions and rewards in a skip interval, exactly.

Nothing is seen between updates, so from the state at the last one the actions are fixed and the true state's
distribution is pushed through the world's kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from replan.model.kernel import Array, Indices, Kernel
from replan.model.reward import Reward
from replan.skip.propagation import BeliefPropagation, Propagation, certain_rows


@dataclass(frozen=True)
class SkipStep:
    """One step of R robots that set out from different states."""

    time: int
    actions: Indices  # (R,)
    before: Array  # (R, S) distribution of the true state at `time`
    after: Array  # (R, S) and one step later
    reward: Array  # (R,) expected reward of the step
    estimate: Any = None  # of the propagation, at `time`


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
    """The steps begin..end-1 of robots that saw `states` (R,) at `begin` and nothing since.

    With `sparse`, for slip kernels, distributions are sparse matrices: their size is that of what is reached.
    """
    if sparse:
        before = certain_rows(states, kernel(begin).states)
        estimate = before if isinstance(propagation, BeliefPropagation) else propagation.begin(states)
    else:
        estimate = propagation.begin(states)
        before = np.zeros((len(states), kernel(begin).states))
        before[np.arange(len(states)), states] = 1.0
    return continue_interval(kernel, reward, propagation, before, estimate, begin=begin, end=end)


def continue_interval(
    kernel: Callable[[int], Kernel],
    reward: Callable[[int], Reward],
    propagation: Propagation,
    before: Array,
    estimate: Any,
    *,
    begin: int,
    end: int,
) -> Iterator[SkipStep]:
    """The steps begin..end-1 of robots that are distributed as (R, S) `before` and have that estimate."""
    for t in range(begin, end):
        actions = propagation.act(estimate, t)
        after = kernel(t).push(before, actions)
        yield SkipStep(t, actions, before, after, reward(t).along(before, actions, after), estimate)
        estimate = propagation.advance(estimate, actions, t)
        before = after
