"""Any transition kernel, as lists of the successors of each state."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from replan import _loops
from replan.errors import InputError, read_array, shown
from replan.model.kernel import MAP_TOLERANCE, Array, Indices, Kernel, first_best, in_bands

ROW_TOLERANCE = 1e-6
"""Largest difference between 1 and the sum of a row that is taken for rounding."""
NO_REWARD, NO_VALUES = np.empty((0, 0)), np.empty(0)


class GeneralKernel:
    """Any kernel: successors shared by all actions of a state, one probability for each.

    Its attributes have the same form as the parameters, but in every row the successors are distinct and
    ascending; rows that have fewer than k are padded with their last successor at probability zero.

    Parameters
    ----------
    successors : array of shape (S, k)
        States to which a step can lead. A row may repeat a state; its probabilities are then added up.
    probabilities : array of shape (S, A, k)
        Probability of each successor.

    Raises
    ------
    InputError
        If the shapes do not fit together or a successor is not a state.
    """

    successors: Indices
    """(S, k) states to which a step can lead."""
    probabilities: Array
    """(S, A, k) probability of each successor."""

    def __init__(self, successors: ArrayLike, probabilities: ArrayLike) -> None:
        successors = np.asarray(successors)
        probabilities = read_array("probabilities", probabilities)
        if successors.ndim != 2 or probabilities.ndim != 3:
            raise InputError(
                f"a kernel takes successors (S, k) and probabilities (S, A, k), "
                f"not {successors.shape} and {probabilities.shape}"
            )
        if not probabilities.size:
            raise InputError("a kernel needs at least one state, one action and one successor")
        states, width = successors.shape
        if probabilities.shape[0] != states or probabilities.shape[2] != width:
            raise InputError(
                f"successors {successors.shape} and probabilities {probabilities.shape} do not fit together"
            )
        if not np.issubdtype(successors.dtype, np.integer):
            raise InputError("successors must be whole numbers")
        if successors.min() < 0 or successors.max() >= states:
            s = int(np.argwhere((successors < 0) | (successors >= states))[0, 0])
            raise InputError(f"a successor of s={s} is not a state (0 to {states - 1})")
        self.successors, self.probabilities = merge_successors(successors.astype(np.int64), probabilities)

    @classmethod
    def of_merged(cls, successors: Indices, probabilities: Array) -> Self:
        """Make a kernel from arrays in the form that the attributes have, unchecked."""
        kernel = cls.__new__(cls)
        kernel.successors, kernel.probabilities = successors, probabilities
        return kernel

    @classmethod
    def from_dense(cls, probabilities: ArrayLike) -> Self:
        """Make a kernel from an (S, A, S) array."""
        dense = read_array("a dense kernel", probabilities)
        if dense.ndim != 3 or dense.shape[0] != dense.shape[2] or not dense.size:
            raise InputError(f"a dense kernel has the shape (S, A, S), not {dense.shape}")
        possible = (dense != 0).any(axis=1)  # NaN counts as possible, so that checks can find it
        width = max(1, int(possible.sum(axis=1).max()))
        successors = np.argsort(~possible, axis=1, kind="stable")[:, :width]
        return cls(successors, np.take_along_axis(dense, successors[:, None, :], axis=2))

    @classmethod
    def from_sparse(cls, matrices) -> Self:
        """Make a kernel from A sparse (S, S) matrices, one per action."""
        from scipy.sparse import csr_array

        try:
            blocks = [csr_array(matrix, dtype=float) for matrix in matrices]
        except (TypeError, ValueError):
            raise InputError(f"a kernel takes a list of sparse matrices, not {shown(matrices)}") from None
        if not blocks:
            raise InputError("a kernel needs the matrix of at least one action")
        states = int(blocks[0].shape[0])  # pyright: ignore[reportOptionalSubscript]
        for a, block in enumerate(blocks):
            if block.shape != (states, states):
                raise InputError(
                    f"the sparse matrix of a={a} has the shape {block.shape}, not {(states, states)}"
                )
        widths = sum(np.diff(block.indptr) for block in blocks)
        successors = np.repeat(np.arange(states)[:, None], max(1, int(np.max(widths))), axis=1)
        probabilities = np.zeros((states, len(blocks), successors.shape[1]))
        used = np.zeros(states, dtype=np.int64)
        for a, block in enumerate(blocks):
            counts = np.diff(block.indptr)
            rows = np.repeat(np.arange(states), counts)
            slots = used[rows] + np.arange(block.nnz) - np.repeat(block.indptr[:-1], counts)
            successors[rows, slots] = block.indices
            probabilities[rows, a, slots] = block.data
            used += counts
        return cls(successors, probabilities)

    @property
    def states(self) -> int:
        """Number of states S."""
        return self.probabilities.shape[0]

    @property
    def actions(self) -> int:
        """Number of actions A."""
        return self.probabilities.shape[1]

    @cached_property
    def most_successors(self) -> int:
        """Greatest number of states to which one action leads from one state."""
        return int((self.probabilities != 0).sum(axis=2).max())

    @cached_property
    def row_fault(self) -> tuple[str, int, int] | None:
        """The fault of the first row that is no distribution, its state and action; None without a fault."""
        probabilities = self.probabilities
        sums = probabilities.sum(axis=2)
        if probabilities.min() >= -ROW_TOLERANCE and (np.abs(sums - 1.0) <= ROW_TOLERANCE).all():
            return None
        return next(row_faults(probabilities, least=-ROW_TOLERANCE, tolerance=ROW_TOLERANCE))

    @property
    def is_merged(self) -> bool:
        """Whether the arrays have the form that the attributes are to have; see `of_merged`."""
        successors, probabilities = self.successors, self.probabilities
        if successors.dtype != np.int64 or probabilities.dtype != np.float64:
            return False
        rises = np.diff(successors, axis=1)
        rows, slots = np.nonzero(rises == 0)
        return bool((rises >= 0).all() and not probabilities[rows, :, slots + 1].any())

    def dense(self) -> Array:
        """Return the kernel as an (S, A, S) array."""
        dense = np.zeros((self.states, self.actions, self.states))
        rows = np.arange(self.states)[:, None]
        np.add.at(dense.transpose(0, 2, 1), (rows, self.successors), self.probabilities.transpose(0, 2, 1))
        return dense

    def expect(self, values: Array) -> Array:
        """(S,) values of the next state -> (S, A) their expectation."""
        out = np.empty((self.states, self.actions))
        values = np.ascontiguousarray(values)
        in_bands(_loops.general.expect, len(out), len(out), self.successors, self.probabilities, values, out)
        return out

    def backup(
        self,
        values: Array,
        reward: Array | None = None,
        *,
        plus: Array | None = None,
        out: Array | None = None,
    ) -> Array:
        """(S,) max over actions of reward (S, A) + expect(values + plus), into `out` where given."""
        values = np.ascontiguousarray(values if plus is None else values + plus)
        if reward is not None:
            return (reward + self.expect(values)).max(axis=1, out=out)
        out = np.empty(self.states) if out is None else out
        in_bands(_loops.general.backup, len(out), len(out), self.successors, self.probabilities, values, out)
        return out

    def greedy(self, values: Array, reward: Array | None, tolerance: float) -> Indices:
        """(S,) the first action within the tolerance of the best reward (S, A) + expect(values)."""
        ahead = self.expect(values)
        return first_best(ahead if reward is None else ahead + reward, tolerance)

    def induction(
        self, steps: int, reward: Array | None, plus: Array | None, tolerance: float
    ) -> tuple[Array, Indices]:
        """(S,) values after `steps` backups from zero, and (S,) the greedy action one step before."""
        values, chosen = np.empty(self.states), np.empty(self.states, dtype=np.int64)
        _loops.general.induction(
            steps, self.successors, self.probabilities, NO_REWARD if reward is None else reward,
            NO_VALUES if plus is None else plus, tolerance, values, chosen,
        )  # fmt: skip
        return values, chosen

    def push(self, distributions: Array, actions: Indices) -> Array:
        """Move (R, S) distributions one step, row i under actions[i]; a sparse matrix stays sparse."""
        if isinstance(distributions, np.ndarray):
            return _loops.general.push(self.successors, self.probabilities, distributions, actions)
        row, states = np.repeat(np.arange(len(actions)), np.diff(distributions.indptr)), distributions.indices
        mass = distributions.data[:, None] * self.probabilities[states, actions[row]]
        rows = np.repeat(row, mass.shape[1])
        moved = type(distributions)(
            (mass.reshape(-1), (rows, self.successors[states].reshape(-1))), shape=distributions.shape
        )
        moved.eliminate_zeros()
        return moved

    def sample(self, states: Indices, actions: Indices, uniforms: Array) -> Indices:
        """(R,) next states by inversion of (R,) uniform numbers."""
        return _loops.general.sample(self.successors, self.probabilities, states, actions, uniforms)

    def most_likely(self) -> Indices:
        """(S, A) the MAP successor; among tied ones the lowest state index."""
        best = self.probabilities.max(axis=2, keepdims=True)
        slot = (self.probabilities >= best - MAP_TOLERANCE).argmax(axis=2)
        return np.take_along_axis(self.successors, slot, axis=1)

    def most_likely_of(self, states: Indices, actions: Indices) -> Indices:
        """(R,) the MAP successor of each state under its action."""
        rows = self.probabilities[states, actions]
        slot = (rows >= rows.max(axis=1, keepdims=True) - MAP_TOLERANCE).argmax(axis=1)
        return self.successors[states, slot]

    def entrywise_distance(self, other: Kernel) -> Array:
        """(S, A) max over s' of |P - P'|."""
        return np.abs(self._difference(other)).max(axis=2)

    def total_variation(self, other: Kernel) -> Array:
        """(S, A) half the sum over s' of |P - P'|."""
        return 0.5 * np.abs(self._difference(other)).sum(axis=2)

    def general(self) -> GeneralKernel:
        """Return this kernel."""
        return self

    def _difference(self, other: Kernel) -> Array:
        """(S, A, k) P - P' over the successors of both."""
        mine, theirs = self, other.general()
        if (mine.states, mine.actions) != (theirs.states, theirs.actions):
            raise InputError("the two kernels differ in their number of states or actions")
        if np.array_equal(mine.successors, theirs.successors):
            return mine.probabilities - theirs.probabilities
        successors = np.concatenate([mine.successors, theirs.successors], axis=1)
        signed = np.concatenate([mine.probabilities, -theirs.probabilities], axis=2)
        return merge_successors(successors, signed)[1]


def row_faults(probabilities: Array, *, least: float, tolerance: float) -> Iterator[tuple[str, int, int]]:
    """Yield each fault of the rows of (S, A, k) probabilities, with its state and action."""
    with np.errstate(invalid="ignore"):
        sums = probabilities.sum(axis=2)
    for what, wrong in (
        ("probability is not a number", ~np.isfinite(probabilities).all(axis=2)),
        ("negative probability", (probabilities < least).any(axis=2)),
        ("probabilities sum to {:.9g}, not 1,", np.abs(sums - 1) > tolerance),
    ):
        for s, a in np.argwhere(wrong):
            yield what.format(sums[s, a]), int(s), int(a)


def merge_successors(successors: Indices, weights: Array) -> tuple[Indices, Array]:
    """Sort each row's successors and add up the weights of equal ones."""
    merged, slots = merged_slots(successors)
    return merged, in_slots(slots, weights, merged.shape[1])


def merged_slots(successors: Indices) -> tuple[Indices, Indices]:
    """Return (S, w) the distinct successors of (S, k) lists, ascending, and (S, k) where each one is there.

    Rows with fewer than w are padded with their last one.
    """
    order = np.argsort(successors, axis=1, kind="stable")
    ascending = np.take_along_axis(successors, order, axis=1)
    is_new = np.ones(successors.shape, dtype=bool)
    is_new[:, 1:] = ascending[:, 1:] != ascending[:, :-1]
    slot = is_new.cumsum(axis=1) - 1
    merged = np.repeat(ascending[:, -1:], int(slot.max()) + 1, axis=1)
    np.put_along_axis(merged, slot, ascending, axis=1)
    slots = np.empty_like(slot)
    np.put_along_axis(slots, order, slot, axis=1)
    return merged, slots


def in_slots(slots: Indices, weights: Array, width: int) -> Array:
    """(S, A, width) sums of (S, A, k) weights by (S, k) slots."""
    sums = np.zeros((*weights.shape[:2], width))
    _loops.general.add_by_slot(slots, np.ascontiguousarray(weights, dtype=float), sums)
    return sums


def successor_lists(given: ArrayLike, states: int) -> Indices:
    """Check (S, k) lists and return them ascending, without repeats, padded with the last state."""
    lists = np.asarray(given)
    if lists.ndim != 2 or len(lists) != states or lists.shape[1] == 0:
        raise InputError(
            f"the possible successors must be a row of states for each of {states} states, not {lists.shape}"
        )
    if not np.issubdtype(lists.dtype, np.integer):
        raise InputError("possible successors must be whole numbers")
    if lists.min() < 0 or lists.max() >= states:
        s = int(np.argwhere((lists < 0) | (lists >= states))[0, 0])
        raise InputError(f"a possible successor of s={s} is not a state (0 to {states - 1})")
    return merge_successors(lists.astype(np.int64), np.zeros((states, 1, lists.shape[1])))[0]


def prepare_kernel(kernel: Kernel) -> None:
    """Call each method of a kernel once, so that what it needs is compiled or loaded before a mission."""
    values, row = np.zeros(kernel.states), np.zeros(1, dtype=np.int64)
    kernel.backup(values, plus=values)
    kernel.greedy(values, None, MAP_TOLERANCE)
    first_best(kernel.expect(values), MAP_TOLERANCE)
    kernel.push(np.eye(1, kernel.states), row)
    kernel.sample(row, row, np.zeros(1))
    kernel.most_likely()
    kernel.most_likely_of(row, row)
    kernel.entrywise_distance(kernel)
    if isinstance(kernel, GeneralKernel):
        kernel.induction(0, None, values, MAP_TOLERANCE)
