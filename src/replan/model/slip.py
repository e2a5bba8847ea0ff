"""Slip on a grid in closed form, the paper's equation (slip kernel) of "Simulation Environment".

With probability 1 - rho the commanded move is made, with probability rho a move drawn from the slip law
(`law`; uniform in the paper, leaning to one side it is wind). Moves are clipped at the border and at blocked
cells: a move into one stays. One gather of the values serves all five actions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from replan import _loops
from replan.errors import InputError, read_array, require_whole, shown
from replan.model.general_kernel import GeneralKernel, prepare_kernel
from replan.model.kernel import Array, Indices, Kernel, first_best, in_bands
from replan.model.sizes import require_memory

ACTIONS = ("right", "left", "down", "up", "stay")
STAY = ACTIONS.index("stay")
STEPS_PER_PASS = 8
"""Backups in one pass over a grid: three rows of values for each must fit into a core's cache."""
NUMBERS_KEPT = 1_000_000  # kernels over time are kept between calls where all of them hold fewer
NUMBERS_OF_A_KERNEL = 50  # beside those of its cells
UNIFORM, NO_CELL = np.full(len(ACTIONS), 1 / len(ACTIONS)), np.zeros(1, dtype=bool)
NOTHING, NONE_CHOSEN = np.empty(0), np.empty(0, dtype=np.int64)
MOVES = np.array([(0, 1), (0, -1), (1, 0), (-1, 0), (0, 0)])  # (A, 2) rows down, columns right


class SlipKernel:
    """A slippery grid; cell (i, j) is the state i * columns + j.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns.
    slip : float or array of shape (S,)
        Probability of a slip, of all cells or of each.
    law : array of shape (5,), optional
        Probability of each move, given a slip: right, left, down, up, stay. None: uniform.
    blocked : array of shape (S,), optional
        Cells that cannot be entered.

    Raises
    ------
    InputError
        If a number is not a probability or the sizes do not fit together.
    """

    shape: tuple[int, int]
    """Rows and columns."""
    slip: Array
    """(S,) probability of a slip, or (1,) if it is the same everywhere."""
    law: Array
    """(A,) slip law: probability of each move, given a slip."""
    blocked: np.ndarray
    """(S,) bool: blocked cells; (1,) False if there are none."""

    actions = len(ACTIONS)
    moves: Indices = MOVES
    """(A, 2) rows down and columns right of each action."""

    def __init__(
        self,
        shape: tuple[int, int],
        slip: ArrayLike,
        *,
        law: ArrayLike | None = None,
        blocked: ArrayLike | None = None,
    ) -> None:
        if not isinstance(shape, (Sequence, np.ndarray)) or isinstance(shape, str) or len(shape) != 2:
            raise InputError(f"shape must be rows and columns, not {shown(shape)}")
        require_whole(rows=shape[0], columns=shape[1])
        self.shape = (int(shape[0]), int(shape[1]))
        if min(self.shape) < 1:
            raise InputError(f"a grid needs at least one row and one column, not {self.shape}")
        self.slip = _per_cell(slip, self.states, "slip", float)
        if not (self.slip.min() >= 0 and self.slip.max() <= 1):
            raise InputError(f"slip must lie between 0 and 1, not {self.slip.min():g} to {self.slip.max():g}")
        self.law = UNIFORM if law is None else read_array("law", law)
        if self.law is not UNIFORM and (
            self.law.shape != (self.actions,) or not (self.law >= 0).all() or abs(self.law.sum() - 1) > 1e-9
        ):
            raise InputError("law must be five probabilities: " + ", ".join(ACTIONS))
        self.blocked = NO_CELL if blocked is None else _per_cell(blocked, self.states, "blocked", bool)

    @property
    def states(self) -> int:
        """Number of cells, blocked ones included."""
        return self.shape[0] * self.shape[1]

    def with_slip(self, slip: float | Array) -> SlipKernel:
        """Return the same grid with another slip."""
        blocked = self.blocked if self.blocked.size > 1 else None
        return SlipKernel(self.shape, slip, law=self.law, blocked=blocked)

    @property
    def _grid(self):
        return self.shape[0], self.shape[1], self.blocked, self.slip, self.law

    def expect(self, values: Array) -> Array:
        """(S,) values of the next state -> (S, A) their expectation."""
        values = np.ascontiguousarray(values)
        if self.blocked.size > 1:
            return _loops.stencil.expect(*self._grid, values)
        out = np.empty((*self.shape, self.actions))
        self._in_bands(_loops.grid_passes.expect, values, out)
        return out.reshape(-1, self.actions)

    def expect_at(self, values: Array, plus: Array | None, states: Indices) -> Array:
        """(C, A) `expect` of values + plus for a subset of states."""
        more = NOTHING if plus is None else plus
        return _loops.stencil.expect_at(*self._grid, values, more, states)

    def backup(
        self,
        values: Array,
        reward: Array | None = None,
        *,
        plus: Array | None = None,
        out: Array | None = None,
    ) -> Array:
        """(S,) max over actions of reward (S, A) + expect(values + plus), into `out` where given."""
        if reward is not None:
            return (reward + self.expect(values if plus is None else values + plus)).max(axis=1, out=out)
        out = np.empty(self.states) if out is None else out
        self._pass(1, values, plus, out=out)
        return out

    def greedy(self, values: Array, reward: Array | None, tolerance: float) -> Indices:
        """(S,) the first action within the tolerance of the best reward (S, A) + expect(values)."""
        if reward is not None:
            return first_best(self.expect(values) + reward, tolerance)
        chosen = np.empty(self.states, dtype=np.int64)
        self._pass(0, values, None, chosen=chosen, tolerance=tolerance)
        return chosen

    def induction(self, steps: int, plus: Array | None, tolerance: float) -> tuple[Array, Indices]:
        """(S,) values after `steps` backups from zero, and (S,) the greedy action one step before."""
        values: Array | None = None
        for _ in range((steps - 1) // STEPS_PER_PASS):
            after = np.empty(self.states)
            self._pass(STEPS_PER_PASS, values, plus, out=after)
            values, steps = after, steps - STEPS_PER_PASS
        out = np.empty(self.states) if steps else np.zeros(self.states)
        chosen = np.empty(self.states, dtype=np.int64)
        self._pass(steps, values, plus, out=out, chosen=chosen, tolerance=tolerance)
        return out, chosen

    def push(self, distributions: Array, actions: Indices) -> Array:
        """Move (R, S) distributions one step, row i under actions[i]; a sparse matrix stays sparse."""
        if not isinstance(distributions, np.ndarray):
            lists = distributions.indptr, distributions.indices, distributions.data
            return type(distributions)(
                _loops.stencil.push_lists(*self._grid, *lists, actions), shape=distributions.shape
            )
        distributions = np.ascontiguousarray(distributions)
        if self.blocked.size > 1:
            return _loops.stencil.push(*self._grid, distributions, actions)
        out = np.empty_like(distributions)
        cells = (len(out), *self.shape)
        _loops.grid_passes.push(
            self._slip_rows(), self.law, distributions.reshape(cells), actions, out.reshape(cells)
        )
        return out

    def sample(self, states: Indices, actions: Indices, uniforms: Array) -> Indices:
        """(R,) next states by inversion; a uniform number below 1 - slip gives the commanded move."""
        return _loops.stencil.sample(*self._grid, states, actions, uniforms)

    def most_likely(self) -> Indices:
        """(S, A) the MAP successor; among tied ones the lowest state index."""
        states, actions = np.divmod(np.arange(self.states * self.actions), self.actions)
        return self.most_likely_of(states, actions).reshape(-1, self.actions)

    def most_likely_of(self, states: Indices, actions: Indices) -> Indices:
        """(R,) the MAP successor of each state under its action."""
        return _loops.grid_passes.most_likely_of(*self._grid, states, actions)

    def entrywise_distance(self, other: Kernel) -> Array:
        """(S, A) max over s' of |P - P'|."""
        return self._distance(other)[0]

    def total_variation(self, other: Kernel) -> Array:
        """(S, A) half the sum over s' of |P - P'|."""
        return self._distance(other)[1]

    def general(self) -> GeneralKernel:
        """Return the same kernel as merged lists of successors."""
        require_memory(
            4 * self.states * self.actions * (self.actions + 1), f"a kernel of {self.states} cells"
        )
        destinations = self.destinations()
        probabilities = np.repeat((self._slip_column() * self.law)[:, None, :], self.actions, axis=1)
        commanded = np.arange(self.actions)
        probabilities[:, commanded, commanded] += 1 - self._slip_column()
        return GeneralKernel(destinations, probabilities)

    def under(self, policy: Indices) -> tuple[Indices, Array]:
        """(S, A) cells to which a step under (S,) actions can lead, and their probabilities; cells repeat."""
        probabilities = self._slip_column() * self.law
        probabilities[np.arange(self.states), policy] += 1 - self.slip
        return self.destinations(), probabilities

    def follow(self, policy: Indices, reward: Array, values: Array, steps: int) -> Array:
        """(S,) values `steps` steps before, under (S,) actions that earn (S,) reward in each step."""
        return _loops.stencil.follow(*self._grid, policy, reward, steps, values)

    def destinations(self) -> Indices:
        """(S, A) the cell that each move leads to, F(s, a) of the paper."""
        rows, columns = self.shape
        i, j = np.divmod(np.arange(self.states), columns)
        to_i = np.clip(i[:, None] + MOVES[:, 0], 0, rows - 1)
        to_j = np.clip(j[:, None] + MOVES[:, 1], 0, columns - 1)
        target = to_i * columns + to_j
        if self.blocked.size == 1:
            return target
        return np.where(self.blocked[target], np.arange(self.states)[:, None], target)

    def prepare(self) -> None:
        """Call each method once, so that what it needs is compiled or loaded before a mission."""
        prepare_kernel(self)

    def steepness(self) -> Array:
        """(S, A) the largest change of an entry for a unit change of the slip of all cells."""
        return self.with_slip(0.0).entrywise_distance(self.with_slip(1.0))

    def same_moves(self, other: SlipKernel) -> bool:
        """Return whether both kernels have the same shape and the same cells blocked."""
        if self.shape != other.shape or self.blocked.size != other.blocked.size:
            return False
        return self.blocked.size == 1 or np.array_equal(self.blocked, other.blocked)

    def differs_in_slip_alone(self, other: SlipKernel) -> bool:
        """Return whether moves and slip law are the same."""
        return self.same_moves(other) and (self.law is other.law or np.array_equal(self.law, other.law))

    def _in_bands(self, loop, values: Array, *further) -> None:
        slip, cells = self._slip_rows(), values.reshape(self.shape)
        in_bands(loop, self.shape[0], self.states, slip, self.law, cells, *further)

    def _pass(
        self,
        steps: int,
        values: Array | None,
        plus: Array | None,
        *,
        out: Array = NOTHING,
        chosen: Indices = NONE_CHOSEN,
        tolerance: float = 0.0,
    ) -> None:
        """Write values after `steps` backups of `values` (None: 0) to `out`, greedy actions to `chosen`."""
        in_bands(
            _loops.grid_passes.induction,
            self.shape[0],
            self.states,
            steps,
            self.slip.reshape(1, -1),
            self.law.reshape(1, -1),
            self.blocked,
            self._cells(values),
            self._cells(plus),
            tolerance,
            out.reshape(-1, *self.shape),
            chosen.reshape(-1, self.shape[1]),
        )

    def _cells(self, values: Array | None) -> Array:
        """(rows, columns), or one row of zeros for None."""
        if values is None:
            return np.zeros((1, self.shape[1]))
        return np.ascontiguousarray(values).reshape(self.shape)

    def _slip_rows(self) -> Array:
        if self.slip.size > 1:
            return self.slip.reshape(self.shape)
        return np.full((1, self.shape[1]), self.slip[0])

    def _slip_column(self) -> Array:
        return np.broadcast_to(self.slip, (self.states,))[:, None]

    def _distance(self, other: Kernel) -> tuple[Array, Array]:
        if not isinstance(other, SlipKernel) or not self.same_moves(other):
            mine = self.general()
            return mine.entrywise_distance(other), mine.total_variation(other)
        return _loops.stencil.distance(*self._grid, other.slip, other.law)


def _per_cell(value: ArrayLike, states: int, name: str, kind: type) -> np.ndarray:
    if isinstance(value, np.ndarray) and value.dtype == kind:
        array = value.reshape(-1)
    else:
        array = read_array(name, value).astype(kind).reshape(-1)
    if array.size not in (1, states):
        raise InputError(f"{name} has {array.size} entries where the grid has {states} cells")
    return np.ascontiguousarray(array)


def slip_over_time(
    shape: tuple[int, int], slip: Array, factor: Array, *, blocked: np.ndarray | None = None
) -> Callable[[int], SlipKernel]:
    """Return the kernels of a grid whose slip at t is slip[t] times (S,) or (1,) `factor`, within [0, 1].

    They are kept between calls where all of them together are small.
    """
    everywhere = np.clip(slip * factor, 0, 1)[:, None] if factor.size == 1 else None
    kept = (factor.size + NUMBERS_OF_A_KERNEL) * len(slip) <= NUMBERS_KEPT

    @lru_cache(maxsize=len(slip) if kept else 2)
    def kernel(t: int) -> SlipKernel:
        cells = np.clip(slip[t] * factor, 0, 1) if everywhere is None else everywhere[t]
        return SlipKernel(shape, cells, blocked=blocked)

    return kernel
