"""Rewards: of a state and action, of the realised next state, or the sum of both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from replan.errors import InputError
from replan.model.kernel import Array, Indices, Kernel


def expectation(distributions: Array, actions: Indices, table: Array) -> Array:
    """(R,) mean of (S, A) numbers over (R, S) distributions, dense or sparse, each under its action."""
    if isinstance(distributions, np.ndarray):
        return np.einsum("rs,rs->r", distributions, table.T[actions])
    row = np.repeat(np.arange(len(actions)), np.diff(distributions.indptr))
    weighted = distributions.data * table[distributions.indices, actions[row]]
    return np.bincount(row, weights=weighted, minlength=len(actions))


@dataclass(frozen=True)
class Reward:
    """The reward of one step, r(s, a) + R(s'). Planning uses its expectation under the kernel at hand.

    Parameters
    ----------
    state_action : array of shape (S, A), optional
        r; None: 0.
    next_state : array of shape (S,), optional
        R; None: 0.

    Raises
    ------
    InputError
        If both are None, or one has another number of dimensions.
    """

    state_action: Array | None = None
    next_state: Array | None = None

    def __post_init__(self) -> None:
        if self.state_action is None and self.next_state is None:
            raise InputError("a reward needs state_action (S, A), next_state (S,) or both")
        for name, dimensions in (("state_action", 2), ("next_state", 1)):
            part = getattr(self, name)
            if part is not None:
                try:
                    part = np.ascontiguousarray(part, dtype=float)
                except (TypeError, ValueError):
                    raise InputError(f"{name} must be an array of numbers, not {part!r}") from None
                if not part.size:
                    raise InputError(f"{name} of the shape {part.shape} is empty")
                if part.ndim != dimensions:
                    raise InputError(f"{name} has {part.ndim} dimensions, not {dimensions}")
                object.__setattr__(self, name, part)

    def check(self, states: int, actions: int, *, time: int) -> None:
        """Raise `InputError` if a part is not of that many states and actions, or has NaN."""
        for part, shape in ((self.state_action, (states, actions)), (self.next_state, (states,))):
            if part is not None and part.shape != shape:
                raise InputError(f"the reward of time {time} has the shape {part.shape}, not {shape}")
            if part is not None and np.isnan(part).any():
                raise InputError(f"the reward of time {time} is not a number in some states")

    def q_values(self, kernel: Kernel, values: Array) -> Array:
        """(S, A) expected reward plus the (S,) values of the next state."""
        ahead = kernel.expect(values if self.next_state is None else values + self.next_state)
        return ahead if self.state_action is None else ahead + self.state_action

    def backup(self, kernel: Kernel, values: Array, *, out: Array | None = None) -> Array:
        """(S,) max over actions of `q_values`, into `out` where given."""
        return kernel.backup(values, self.state_action, plus=self.next_state, out=out)

    def expected(self, kernel: Kernel) -> Array:
        """(S, A) expected reward, the paper's r_P(s, a)."""
        return self.q_values(kernel, np.zeros(kernel.states))

    def along(self, distributions: Array, actions: Indices, pushed: Array) -> Array:
        """(R,) expected reward of (R, S) distributions that (R,) actions have pushed to `pushed`."""
        total = np.zeros(len(actions))
        if self.next_state is not None:
            total += pushed @ self.next_state
        if self.state_action is not None:
            total += expectation(distributions, actions, self.state_action)
        return total

    def realised(self, states: Indices, actions: Indices, next_states: Indices) -> Array:
        """(R,) reward of single transitions."""
        if self.state_action is None:
            return self.next_state[next_states]  # pyright: ignore[reportOptionalSubscript]
        total = self.state_action[states, actions]
        return total if self.next_state is None else total + self.next_state[next_states]

    def change(self, other: Reward) -> float:
        """Return a bound on |r' - r| over all states and actions, where r' is another reward."""
        largest = 0.0
        for ours, theirs in ((self.state_action, other.state_action), (self.next_state, other.next_state)):
            if ours is not theirs:
                ours, theirs = (0.0 if part is None else part for part in (ours, theirs))
                largest += float(np.abs(np.subtract(theirs, ours)).max())
        return largest

    def bounds(self) -> tuple[float, float]:
        """Return the least and the greatest reward of a single step."""
        parts = [part for part in (self.state_action, self.next_state) if part is not None]
        return sum(float(part.min()) for part in parts), sum(float(part.max()) for part in parts)


def reward_range(reward: Callable[[int], Reward], horizon: int) -> float:
    """Return the greatest minus the least reward of any single step."""
    bounds = np.array([reward(t).bounds() for t in range(horizon)])
    return float(bounds[:, 1].max() - bounds[:, 0].min())
