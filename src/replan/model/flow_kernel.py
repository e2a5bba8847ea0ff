"""The kernel of a vehicle that is carried along, with the displacements behind its probabilities."""

from __future__ import annotations

import numpy as np

from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Array, Indices


class FlowKernel(GeneralKernel):
    """A kernel of a vehicle that is carried along.

    Parameters
    ----------
    successors : array of shape (S, k)
        States to which a step can lead.
    probabilities : array of shape (S, A, k)
        Probability of each successor.
    land : array of shape (S,)
        Cells that are never entered.
    moves : array of shape (S, A, 2)
        Rows and columns by which each action moves the vehicle; drifting is the last action.
    """

    land: np.ndarray
    """(S,) bool: cells that are never entered."""
    moves: Array
    """(S, A, 2) rows and columns by which each action moves the vehicle; drifting is the last action."""

    def __init__(self, successors: Indices, probabilities: Array, land: np.ndarray, moves: Array) -> None:
        super().__init__(successors, probabilities)
        self.land, self.moves = land, np.broadcast_to(moves, (*self.probabilities.shape[:2], 2))

    @property
    def drift(self) -> Array:
        """(S, 2) rows and columns by which drifting moves the vehicle."""
        return self.moves[:, -1]
