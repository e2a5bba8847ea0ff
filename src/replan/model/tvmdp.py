"""The time-varying Markov decision process of the paper's section 2.

Kernels and rewards are made when asked for, never T copies at once.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike

from replan.errors import InputError
from replan.model.drift import drift_bounds
from replan.model.family import KernelFamily
from replan.model.kernel import Array, GeneralKernel, Indices, Kernel
from replan.model.reward import Reward
from replan.model.successors import successor_lists

NPZ_ARRAYS = {
    "kernels",
    "successors",
    "probabilities",
    "rewards",
    "start",
    "drift_bounds",
    "possible_successors",
}


@dataclass(frozen=True)
class TVMDP:
    """A world: T steps, a kernel and a reward for each, a start."""

    horizon: int
    kernel: Callable[[int], Kernel] = field(repr=False)  # t -> P_t, for t in 0..T-1
    reward: Callable[[int], Reward] = field(repr=False)  # t -> r_t
    start: int = 0
    stated_bounds: Array | None = field(default=None, repr=False)  # (T-1,) epsilon_t; None: the true drift
    start_states: Indices | None = field(default=None, repr=False)  # where dynamic regret is taken; None: all
    grid: tuple[int, int] | None = None  # rows and columns, where the states are cells
    declared_successors: Indices | None = field(
        default=None, repr=False
    )  # (S, k) where steps can lead, at any time; a row may repeat a state; None: nothing is declared
    family: KernelFamily | None = field(
        default=None, repr=False
    )  # of which every P_t is a member; None: nothing is declared

    def __post_init__(self) -> None:
        if self.horizon < 2:
            raise InputError(f"horizon must be at least 2, not {self.horizon}")
        if not 0 <= self.start < self.states:
            raise InputError(f"start {self.start} is not a state (0 to {self.states - 1})")
        if self.stated_bounds is not None:
            bounds = np.asarray(self.stated_bounds, dtype=float)
            if bounds.shape != (self.horizon - 1,):
                raise InputError(
                    f"drift bounds must be {self.horizon - 1} numbers (T - 1), not {bounds.shape}"
                )
            if not (bounds >= 0).all():
                raise InputError(f"drift bound {np.argmin(bounds >= 0)} is negative or not a number")
            object.__setattr__(self, "stated_bounds", bounds)
        if self.declared_successors is not None:
            lists = successor_lists(self.declared_successors, self.states)
            object.__setattr__(self, "declared_successors", lists)

    @cached_property
    def states(self) -> int:
        """Number of states S."""
        return self.kernel(0).states

    @cached_property
    def actions(self) -> int:
        """Number of actions A."""
        return self.kernel(0).actions

    @cached_property
    def drift_bounds(self) -> Array:
        """(T-1,) epsilon_t: as stated, else the largest entrywise change from P_t to P_{t+1}."""
        if self.stated_bounds is not None:
            return self.stated_bounds
        return drift_bounds(self.kernel, self.horizon)


def constant(value):
    """The same kernel or reward at every time."""
    return lambda t: value


def from_arrays(
    kernels: ArrayLike | Sequence,
    rewards: ArrayLike,
    *,
    horizon: int | None = None,
    start: int = 0,
    stated_bounds: ArrayLike | None = None,
    declared_successors: ArrayLike | None = None,
) -> TVMDP:
    """A world from plain arrays.

    `kernels`: (S, A, S) for one, (T, S, A, S) for one per step; or a list of A sparse (S, S) matrices, or a
    list of T such lists. `rewards`: (S,) of the next state, (S, A) of state and action, or T of either.
    `declared_successors`: (S, k) where steps can lead, at any time.
    """
    steps = _kernels(kernels)
    horizon = horizon if horizon is not None else len(steps)
    if horizon < 2:
        raise InputError("one kernel alone needs a horizon of at least 2")
    if len(steps) not in (1, horizon):
        raise InputError(f"{len(steps)} kernels do not fit a horizon of {horizon}: give 1 or {horizon}")
    parts = _rewards(np.asarray(rewards, dtype=float), steps[0].states, steps[0].actions)
    if len(parts) not in (1, horizon):
        raise InputError(f"{len(parts)} rewards do not fit a horizon of {horizon}: give 1 or {horizon}")
    bounds = None if stated_bounds is None else np.asarray(stated_bounds, dtype=float)
    lists = None if declared_successors is None else np.asarray(declared_successors)
    return TVMDP(horizon, _indexed(steps), _indexed(parts), start, bounds, declared_successors=lists)


def load_npz(path: str | Path, *, horizon: int | None = None) -> TVMDP:
    """A world from an .npz file.

    Its arrays: `kernels` as in `from_arrays`, or `successors` (S, k) with `probabilities` (S, A, k) or
    (T, S, A, k); `rewards`; and where wanted `start`, `drift_bounds` and `possible_successors` (S, k), where
    steps can lead at any time: without it, `successors` where given.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
    except (OSError, EOFError, TypeError, ValueError, BadZipFile, zlib.error) as error:
        raise InputError(f"{path}: not a readable .npz file ({error})") from None
    if unknown := sorted(set(arrays) - NPZ_ARRAYS):
        raise InputError(f"{path}: unknown array {unknown[0]!r}")
    if "rewards" not in arrays:
        raise InputError(f"{path}: the array 'rewards' is missing")
    _check_arrays(path, arrays)
    if "kernels" in arrays:
        kernels = arrays["kernels"]
    elif {"successors", "probabilities"} <= set(arrays):
        probabilities = arrays["probabilities"]
        steps = probabilities if probabilities.ndim == 4 else probabilities[None]
        kernels = [GeneralKernel(arrays["successors"], step) for step in steps]
    else:
        raise InputError(f"{path}: give 'kernels', or 'successors' and 'probabilities'")
    return from_arrays(
        kernels,
        arrays["rewards"],
        horizon=horizon,
        start=int(arrays["start"].item()) if "start" in arrays else 0,
        stated_bounds=arrays.get("drift_bounds"),
        declared_successors=arrays.get("possible_successors", arrays.get("successors")),
    )


def _check_arrays(path: str | Path, arrays: dict[str, np.ndarray]) -> None:
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf":
            raise InputError(f"{path}: the array {name!r} holds {array.dtype}, not numbers")
        if not array.size:
            raise InputError(f"{path}: the array {name!r} of the shape {array.shape} is empty")
    start = arrays.get("start", np.zeros(1))
    if start.size != 1 or start.item() != np.floor(start.item()):
        raise InputError(f"{path}: 'start' must be one state, not {start.tolist()}")


def _indexed(steps: Sequence):
    return constant(steps[0]) if len(steps) == 1 else lambda t: steps[t]


def _kernels(kernels) -> list[Kernel]:
    if isinstance(kernels, (list, tuple)) and not kernels:
        raise InputError("there must be at least one kernel, not an empty list")
    if isinstance(kernels, (list, tuple)) and not isinstance(kernels[0], np.ndarray):
        if isinstance(kernels[0], Kernel):
            return list(kernels)
        if isinstance(kernels[0], (list, tuple)) and kernels[0] and hasattr(kernels[0][0], "tocsr"):
            return [GeneralKernel.from_sparse(step) for step in kernels]
        if hasattr(kernels[0], "tocsr"):
            return [GeneralKernel.from_sparse(kernels)]
    dense = np.asarray(kernels, dtype=float)
    if dense.ndim == 3:
        return [GeneralKernel.from_dense(dense)]
    if dense.ndim == 4:
        return [GeneralKernel.from_dense(step) for step in dense]
    raise InputError(f"kernels must be (S, A, S) or (T, S, A, S), not {dense.shape}")


def _rewards(rewards: Array, states: int, actions: int) -> list[Reward]:
    if rewards.shape == (states,):
        return [Reward(next_state=rewards)]
    if rewards.shape == (states, actions):
        return [Reward(state_action=rewards)]
    if rewards.ndim == 2 and rewards.shape[1] == states:
        return [Reward(next_state=step) for step in rewards]
    if rewards.ndim == 3 and rewards.shape[1:] == (states, actions):
        return [Reward(state_action=step) for step in rewards]
    raise InputError(f"rewards of the shape {rewards.shape} fit neither (S,) nor (S, A) nor T of them")
