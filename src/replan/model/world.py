"""The time-varying Markov decision process of the paper's section 2.

Kernels and rewards are made when asked for, never T copies at once. The drift bound epsilon_t holds for the
change of the kernel in one step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from replan.errors import InputError, require, require_function, require_whole, shown
from replan.model.family import Family
from replan.model.general_kernel import GeneralKernel, successor_lists
from replan.model.kernel import Array, Indices, Kernel
from replan.model.past import Past
from replan.model.reward import Reward
from replan.model.sizes import require_memory
from replan.model.slip import STAY, SlipKernel

if TYPE_CHECKING:
    from replan.model.grid_map import GridMap
    from replan.model.reach import Reach

LARGEST_BOUND = 1 + 1e-9
"""Greatest change of a probability, with room for rounding."""


@dataclass(frozen=True, eq=False)
class DriftBounds:
    """Drift bounds of the times 0..n-1 and their sums, so that no rule adds them up at every step."""

    bounds: Array = field(repr=False)
    """(n,) epsilon."""
    sums: Array = field(repr=False)
    """(n + 1,) sum of the first i bounds."""

    @classmethod
    def of(cls, bounds: Array) -> DriftBounds:
        """Return these bounds with their sums."""
        return cls(bounds, np.concatenate([[0.0], np.cumsum(bounds)]))

    def until(self, time: int) -> DriftBounds:
        """Return the bounds before `time`."""
        return DriftBounds(self.bounds[:time], self.sums[: time + 1])


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The part of a world that a robot may be told. A real robot has knowledge and no world.

    Parameters
    ----------
    horizon : int
        T, the number of steps.
    nominal : Kernel
        The kernel of t = 0, or whatever is planned on before the first update.
    reward : callable
        t -> `Reward` of step t.
    drift_bounds : array of shape (T-1,), or callable
        epsilon_t, or a function that returns them when they are first needed.
    declared_successors : array of shape (S, k), optional
        States to which steps can lead at any time.
    family : Family, optional
        The family that the world declares.
    current_kernel : callable, optional
        t -> P_t, for rules that need the current kernel.
    waiting : int, optional
        The action that stays in place. On a grid of slip it is known.
    past : Past, optional
        Records of the steps before t = 0.

    Raises
    ------
    InputError
        If a part is not of that form.
    """

    horizon: int
    nominal: Kernel = field(repr=False)
    reward: Callable[[int], Reward] = field(repr=False)
    drift_bounds: Array | Callable[[], Array] = field(repr=False)
    declared_successors: Indices | None = field(default=None, repr=False)
    family: Family | None = field(default=None, repr=False)
    current_kernel: Callable[[int], Kernel] | None = field(default=None, repr=False)
    waiting: int | None = None
    past: Past | None = field(default=None, repr=False)

    @property
    def waiting_action(self) -> int | None:
        """The action that stays in place; None if there is none."""
        return STAY if self.waiting is None and isinstance(self.nominal, SlipKernel) else self.waiting

    def __post_init__(self) -> None:
        require_whole(horizon=self.horizon)
        if self.horizon < 2:
            raise InputError(f"horizon must be at least 2, not {self.horizon}")
        require(Kernel, nominal=self.nominal)
        if not callable(self.reward) or not isinstance(self.reward(0), Reward):
            raise InputError("reward must be a function of time that returns a Reward")
        check_rewards(self.reward, self.horizon, self.nominal)
        if not callable(self.drift_bounds):
            check_drift_bounds(self.drift_bounds, self.horizon)

    @cached_property
    def drift(self) -> DriftBounds:
        """The drift bounds and their sums."""
        stated = self.drift_bounds() if callable(self.drift_bounds) else self.drift_bounds
        return DriftBounds.of(check_drift_bounds(stated, self.horizon))


@dataclass(frozen=True)
class CheckedKernels:
    """The kernels of a world, each with the states and actions of the first, and distributions as rows.

    Compiled loops rely on the one, every figure on the other.
    """

    made: Callable[[int], Kernel]
    states: int
    actions: int

    @classmethod
    def of(cls, made: Callable[[int], Kernel]) -> CheckedKernels:
        """Make the kernels that a function of time returns."""
        if not callable(made) or not isinstance(first := made(0), Kernel):
            raise InputError("kernel must be a function of time that returns a Kernel")
        return cls(made, first.states, first.actions)

    def __call__(self, t: int) -> Kernel:
        """Return the kernel of a time. Raises `InputError` if its size or a row is wrong."""
        kernel = self.sized(t)
        if isinstance(kernel, GeneralKernel) and (fault := kernel.row_fault) is not None:
            what, s, a = fault
            raise InputError(f"{what} at t={t}, s={s}, a={a}")
        return kernel

    def sized(self, t: int) -> Kernel:
        """Return a kernel whose rows are not looked at."""
        kernel = self.made(t)
        if not isinstance(kernel, (SlipKernel, GeneralKernel, Kernel)):  # the protocol last: it takes long
            raise InputError(f"the kernel of time {t} is a {type(kernel).__name__}, not a Kernel")
        if kernel.states != self.states or kernel.actions != self.actions:
            raise InputError(
                f"the kernel of time {t} has {kernel.states} states and {kernel.actions} actions, "
                f"not {self.states} and {self.actions}"
            )
        return kernel


@dataclass(frozen=True)
class World:
    """A world: a kernel and a reward for each of T steps, and a start state."""

    horizon: int
    """T, the number of steps."""
    kernel: Callable[[int], Kernel] = field(repr=False)
    """P_t for t in 0..T-1. It returns the same object while nothing changes."""
    reward: Callable[[int], Reward] = field(repr=False)
    """r_t for t in 0..T-1. It returns the same object while nothing changes."""
    start: int = 0
    """The state at t = 0."""
    stated_bounds: Array | None = field(default=None, repr=False)
    """(T-1,) epsilon_t; None: the true drift."""
    start_states: Indices | None = field(default=None, repr=False)
    """States over which dynamic regret takes its maximum; None: all."""
    grid: tuple[int, int] | None = None
    """Rows and columns, where the states are cells."""
    declared_successors: Indices | None = field(default=None, repr=False)
    """(S, k) states to which steps can lead, at any time; a row may repeat a state. None: not declared."""
    family: Family | None = field(default=None, repr=False)
    """Kernels by one or two parameters, of which one is near every P_t; None: not declared."""
    waiting: int | None = None
    """The action that stays in place; None: there is none, or the world is a grid of slip, which has one."""
    past: Past | None = field(default=None, repr=False)
    """Records of the steps before t = 0; None: there are none."""
    part: Reach | None = field(default=None, repr=False)
    """The states of a larger world that this one has; None: it is whole."""

    def __post_init__(self) -> None:
        require_whole(horizon=self.horizon, start=self.start)
        if self.horizon < 2:
            raise InputError(f"horizon must be at least 2, not {self.horizon}")
        for name in ("horizon", "start"):
            object.__setattr__(self, name, int(getattr(self, name)))
        if not isinstance(self.kernel, CheckedKernels):
            object.__setattr__(self, "kernel", CheckedKernels.of(self.kernel))
        if self.family is not None:
            require(Family, family=self.family)
        if not 0 <= self.start < self.states:
            raise InputError(f"start {self.start} is not a state (0 to {self.states - 1})")
        if self.stated_bounds is not None:
            bounds = check_drift_bounds(self.stated_bounds, self.horizon)
            object.__setattr__(self, "stated_bounds", bounds)
        if self.start_states is not None:
            object.__setattr__(self, "start_states", _check_states(self.start_states, self.states))
        if self.grid is not None:
            _check_grid(self.grid, self.states)
        if self.waiting is not None:
            require_whole(waiting=self.waiting)
            if not 0 <= self.waiting < self.actions:
                raise InputError(f"waiting {self.waiting} is not an action (0 to {self.actions - 1})")
        if self.past is not None:
            require(Past, past=self.past)
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

    def worst(self, regrets: Array) -> float:
        """Return the greatest of (S,) regrets over the start states."""
        return float((regrets if self.start_states is None else regrets[self.start_states]).max())

    def grid_map(self) -> GridMap | None:
        """Return what lies on the grid: walls, costs, goals, drift, flow. None if states are not cells."""
        from replan.model import grid_map

        return grid_map.grid_map(self)

    @cached_property
    def knowledge(self) -> Knowledge:
        """The part of the world that a robot may be told."""
        return Knowledge(
            horizon=self.horizon,
            nominal=self.kernel(0),
            reward=self.reward,
            drift_bounds=lambda: self.drift_bounds,
            declared_successors=self.declared_successors,
            family=self.family,
            current_kernel=self.kernel,
            waiting=self.waiting,
            past=self.past,
        )

    @cached_property
    def drift_bounds(self) -> Array:
        """(T-1,) epsilon_t: as stated, else the largest entrywise change from P_t to P_{t+1}."""
        if self.stated_bounds is not None:
            return self.stated_bounds
        return drift_bounds(self.kernel, self.horizon)

    @cached_property
    def local_drift_bounds(self) -> Array:
        """(T-1, S, A) epsilon_t(s, a): the largest entrywise change of each row of the kernel.

        Stated bounds scale those of each step; if nothing changes in a step, they
        hold everywhere.
        """
        local = local_drift_bounds(self.kernel, self.horizon)
        if self.stated_bounds is None:
            return local
        largest = local.max(axis=(1, 2), keepdims=True)
        shares = np.divide(local, largest, out=np.ones_like(local), where=largest > 0)
        return shares * self.stated_bounds[:, None, None]


def _check_states(given: ArrayLike, states: int) -> Indices:
    """Return states as an array. Raises `InputError` if there are none, or something else among them."""
    listed = np.asarray(given)
    if listed.ndim != 1 or not listed.size or not np.issubdtype(listed.dtype, np.integer):
        raise InputError(f"start_states must be a list of states, not {shown(given)}")
    if listed.min() < 0 or listed.max() >= states:
        raise InputError(f"start_states must lie between 0 and {states - 1}, not {shown(given)}")
    return listed


def _check_grid(grid: object, states: int) -> None:
    if not isinstance(grid, tuple) or len(grid) != 2:
        raise InputError(f"grid must be rows and columns, not {shown(grid)}")
    require_whole(rows=grid[0], columns=grid[1])
    if min(grid) < 1 or grid[0] * grid[1] != states:
        raise InputError(f"a grid of {grid[0]} x {grid[1]} cells does not have {states} states")


def check_drift_bounds(stated: ArrayLike, horizon: int) -> Array:
    """Return (T-1,) drift bounds as an array. Raises `InputError` if one is negative or not finite."""
    try:
        bounds = np.asarray(stated, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"drift bounds must be {horizon - 1} numbers (T - 1), not {shown(stated)}") from None
    if bounds.shape != (horizon - 1,):
        raise InputError(f"drift bounds must be {horizon - 1} numbers (T - 1), not {bounds.shape}")
    if not (valid := np.isfinite(bounds) & (bounds >= 0)).all():
        raise InputError(f"drift bound {np.argmin(valid)} is negative or not finite")
    if bounds.max(initial=0.0) > LARGEST_BOUND:
        raise InputError(
            f"drift bound {np.argmax(bounds)} is {bounds.max():g}: probabilities change by 1 at most"
        )
    return bounds


def check_rewards(reward: Callable[[int], Reward], horizon: int, kernel: Kernel) -> None:
    """Raise `InputError` if a reward is not one of the kernel's states and actions."""
    before = None
    for t in range(horizon):
        now = reward(t)
        if now is before:
            continue
        require(Reward, **{f"the reward of time {t}": now})
        now.check(kernel.states, kernel.actions, time=t)
        before = now


def drift_bounds(kernel: Callable[[int], Kernel], horizon: int) -> Array:
    """(T-1,) epsilon_t, the largest entrywise change from P_t to P_{t+1}."""
    bounds = np.zeros(horizon - 1)
    now, steepness = kernel(0), None
    for t in range(horizon - 1):
        following = kernel(t + 1)
        if following is not now:
            if (
                isinstance(now, SlipKernel)
                and isinstance(following, SlipKernel)
                and now.slip.size == following.slip.size == 1
                and now.differs_in_slip_alone(following)
            ):
                steepness = float(now.steepness().max()) if steepness is None else steepness
                bounds[t] = abs(float(following.slip[0]) - float(now.slip[0])) * steepness
            else:
                bounds[t], steepness = now.entrywise_distance(following).max(), None
        now = following
    return bounds


def local_drift_bounds(kernel: Callable[[int], Kernel], horizon: int) -> Array:
    """Compute the largest entrywise change of each state and action at every step; its maximum is epsilon_t.

    Parameters
    ----------
    kernel : callable
        The kernel of each time.
    horizon : int
        T.

    Returns
    -------
    ndarray
        (T-1, S, A) changes from P_t to P_{t+1}.
    """
    require_function(kernel=kernel)
    require_whole(horizon=horizon)
    if horizon < 1:
        raise InputError(f"horizon must be at least 1, not {horizon}")
    now = kernel(0)
    require(Kernel, **{"the kernel of time 0": now})
    require_memory(horizon * now.states * now.actions, f"drift bounds of {horizon} steps")
    bounds = np.zeros((horizon - 1, now.states, now.actions))
    for t in range(horizon - 1):
        following = kernel(t + 1)
        if following is not now:
            bounds[t] = now.entrywise_distance(following)
        now = following
    return bounds
