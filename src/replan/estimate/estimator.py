"""Interface of estimators, which learn as functions of a state, and those that are told the truth.

`TrueKernel` returns the true kernel; `nearby` has the view of a local costmap, true rows near the robot, and
elsewhere those last seen. States and estimates are checked here before a control loop acts on them.
"""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np

from replan.errors import InputError, require_whole
from replan.model.general_kernel import ROW_TOLERANCE, GeneralKernel
from replan.model.kernel import Array, Indices, Kernel
from replan.model.slip import SlipKernel
from replan.model.world import World

LATEST = 10_000_000
"""Of observations: a time in seconds is taken for a step otherwise, and estimators go from step to step."""
EXACT_ROWS = 1e-12
"""Difference up to which rows are not scaled."""


@dataclass(frozen=True)
class Observation:
    """A look at the state, with the transition that led to it if it was seen."""

    time: int
    """t of the update."""
    state: int
    """s_t."""
    previous_state: int | None = None
    """s_{t-1}, if it was seen."""
    previous_action: int | None = None
    """a_{t-1}."""
    commanded: tuple[int, ...] = ()
    """Every action since the last update or the start, a_{t-1} last."""

    def __post_init__(self) -> None:
        require_whole(time=self.time, state=self.state)
        if not 0 <= self.time <= LATEST:
            raise InputError(f"time must be a step of the mission, 0 to {LATEST}, not {self.time}")


Learned = Mapping[str, np.ndarray]
"""All that an estimator has learned: arrays of numbers by name, which nobody changes in place."""


@runtime_checkable
class Estimator(Protocol):
    """Estimates the kernel to plan with, the paper's P-hat_{t-1}. It keeps nothing itself."""

    def begin(self) -> Learned:
        """Return what is known before the first observation."""
        ...

    def estimate(self, learned: Learned, seen: Observation) -> tuple[Learned, Kernel]:
        """Return what is known after an observation, and the kernel to plan with at its time."""
        ...


@dataclass(frozen=True)
class TrueKernel:
    """P-hat_{t-1} = P_{t-1}, as in the paper's controlled simulator: the true kernel of the step before."""

    world: World
    """The world whose kernels are revealed."""

    def begin(self) -> Learned:
        """Return no arrays, since nothing is learned."""
        return {}

    def estimate(self, learned: Learned, seen: Observation) -> tuple[Learned, Kernel]:
        """Return the true kernel of the last transition."""
        return learned, self.world.kernel(max(seen.time - 1, 0))


@dataclass(frozen=True)
class Tracked(TrueKernel):
    """P_{t-1} at every step of a localised robot: sensing is cheap and only planning is dear."""


def learns_between(estimator: object) -> bool:
    """Return whether the estimator of a localised robot is told of every step, not only of updates."""
    return isinstance(estimator, Tracked) or not isinstance(estimator, TrueKernel)


def validate_number(value: Any, below: int, name: str = "state") -> int:
    """Return a whole number from 0 to below - 1 as a plain int, or raise `InputError`."""
    try:
        number = -1 if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number < below:
        given = " ".join(reprlib.repr(value).split())  # an array would take many lines
        raise InputError(f"{name} must be a whole number from 0 to {below - 1}, not {given}")
    return number


def validate_look(look: Any, states: int) -> tuple[int, Array | None]:
    """Return a state, or the mode of (S,) probabilities and these as an array; else raise `InputError`."""
    if np.ndim(look) == 0:
        return validate_number(look, states), None
    try:
        belief = np.array(look, dtype=float)
    except (TypeError, ValueError):
        belief = np.empty(0)
    if belief.shape != (states,) or not ((belief >= 0).all() and abs(belief.sum() - 1) <= ROW_TOLERANCE):
        raise InputError(f"a look is a state, or {states} probabilities that add up to 1")
    belief /= belief.sum()
    return int(belief.argmax()), belief


def require_estimator(estimator: object) -> None:
    """Raise `InputError` if an object is not an estimator, or is the class of one."""
    if isinstance(estimator, type) or not isinstance(estimator, Estimator):
        raise InputError(f"estimator must be an Estimator, not {estimator!r}")


def validate_learned(learned: Any) -> dict[str, np.ndarray]:
    """Return what an estimator has learned as arrays of numbers by name, or raise `InputError`."""
    if not isinstance(learned, Mapping):
        raise InputError(f"the estimator learned {type(learned).__name__}, not arrays by name")
    arrays = {str(name): np.asarray(array) for name, array in learned.items()}
    if strange := [name for name, array in arrays.items() if array.dtype.kind not in "biuf"]:
        raise InputError(f"the estimator learned {strange[0]!r}, which is no array of numbers")
    return arrays


def validate_kernel(kernel: Any, *, like: Kernel, origin: str = "estimator") -> Kernel:
    """Return a kernel that compiled loops can work with, or raise `InputError`.

    It must have the states and actions of another one, successors that are states, and rows that add up to 1
    within `ROW_TOLERANCE`; they are scaled to add up to 1. Kernels of other classes, or with numbers of
    another type, become `GeneralKernel`s.
    """
    if not isinstance(kernel, (SlipKernel, GeneralKernel, Kernel)):  # the protocol last: it takes long
        raise InputError(f"the {origin} returned {type(kernel).__name__}, not a kernel")
    if (kernel.states, kernel.actions) != (like.states, like.actions):
        raise InputError(
            f"the kernel of the {origin} has {kernel.states} states and {kernel.actions} actions, "
            f"not {like.states} and {like.actions}"
        )
    if isinstance(kernel, SlipKernel):
        if not (kernel.slip >= 0).all() or not (kernel.slip <= 1).all():
            raise InputError(f"the slip of the kernel of the {origin} does not lie between 0 and 1")
        return kernel
    lists = kernel.general()
    try:
        successors, probabilities = np.asarray(lists.successors), np.asarray(lists.probabilities, dtype=float)
    except (AttributeError, TypeError, ValueError):
        raise InputError(f"the {origin} returned {type(kernel).__name__}, not a kernel") from None
    states, actions = like.states, like.actions
    width = successors.shape[-1] if successors.ndim else 0
    shapes = (states, width), (states, actions, width)
    if (successors.shape, probabilities.shape) != shapes or not np.issubdtype(successors.dtype, np.integer):
        raise InputError(
            f"the kernel of the {origin} has successors and probabilities that do not fit together"
        )
    if successors.min() < 0 or successors.max() >= states:
        raise InputError(f"the kernel of the {origin} leads to a successor that is not a state")
    sums = probabilities.sum(axis=2)
    if not (probabilities.min() >= -ROW_TOLERANCE and (np.abs(sums - 1.0) <= ROW_TOLERANCE).all()):
        raise InputError(f"the rows of the kernel of the {origin} are not probabilities")
    exact = probabilities.min() >= 0 and (np.abs(sums - 1.0) <= EXACT_ROWS).all()
    if exact and isinstance(lists, GeneralKernel) and lists.is_merged:
        return lists
    clipped = np.maximum(probabilities, 0.0)
    return GeneralKernel(successors, clipped if exact else clipped / clipped.sum(axis=2, keepdims=True))


@dataclass
class Nearby:
    """The rows of states within a radius of a localised robot follow P_{t-1}; the others stay as last seen.

    On a grid the radius counts cells in a square, as a costmap does; elsewhere it counts steps.
    """

    world: World
    """The world that is seen."""
    radius: int = 3
    """Cells, or steps, that the sensors reach; 0: the state in which the robot is."""

    def __post_init__(self) -> None:
        if isinstance(self.radius, bool) or not isinstance(self.radius, int) or self.radius < 0:
            raise InputError(f"radius must be a whole number of at least 0, not {self.radius!r}")
        self._patched = lru_cache(maxsize=2)(self._patch)  # the same kernel while nothing new is seen

    def begin(self) -> Learned:
        """Return `shown`, (S,) the time of the kernel that each row is of."""
        return {"shown": np.zeros(self.world.states, dtype=np.int64)}

    def estimate(self, learned: Learned, seen: Observation) -> tuple[Learned, Kernel]:
        """Return the kernel with the rows around the robot as they were in the step before."""
        shown = learned["shown"].copy()
        shown[self._around(seen.state)] = self._first_of[max(seen.time - 1, 0)]
        return {"shown": shown}, self._patched(shown.tobytes())

    @cached_property
    def _first_of(self) -> Indices:
        """(T,) the first time that has the kernel of each time."""
        kernels = [self.world.kernel(t) for t in range(self.world.horizon)]
        first = {id(kernel): t for t, kernel in reversed(list(enumerate(kernels)))}
        return np.array([first[id(kernel)] for kernel in kernels])

    def _around(self, state: int) -> Indices:
        """Return the states within the radius."""
        if self.world.grid is not None:
            rows, columns = self.world.grid
            row, column = divmod(state, columns)
            down = np.abs(np.arange(rows) - row) <= self.radius
            across = np.abs(np.arange(columns) - column) <= self.radius
            return np.flatnonzero(np.logical_and.outer(down, across))
        reached, successors = np.array([state]), self.world.kernel(0).general().successors
        for _ in range(self.radius):
            reached = np.union1d(reached, successors[reached].ravel())
        return reached

    def _patch(self, shown: bytes) -> Kernel:
        """Return the kernel whose rows are of the times that they were seen at."""
        times, which = np.unique(np.frombuffer(shown, dtype=np.int64), return_inverse=True)
        if not times.any():
            return self.world.kernel(0)
        lists = [self.world.kernel(int(t)).general() for t in times]
        width = max(each.successors.shape[1] for each in lists)
        states, actions = lists[0].states, lists[0].actions
        successors, probabilities = np.empty((states, width), np.int64), np.zeros((states, actions, width))
        for number, each in enumerate(lists):
            rows, size = np.flatnonzero(which == number), each.successors.shape[1]
            successors[rows, :size] = each.successors[rows]
            successors[rows, size:] = each.successors[rows, -1:]
            probabilities[rows, :, :size] = each.probabilities[rows]
        return GeneralKernel.of_merged(successors, probabilities)
