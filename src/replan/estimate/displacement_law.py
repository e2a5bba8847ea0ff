"""One law of displacements for each action, the same all over the grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from replan.estimate.drift_bounded_mle import DriftBoundedMLE
from replan.estimate.estimator import Observation
from replan.estimate.filling import Filling
from replan.model.kernel import GeneralKernel
from replan.model.slip import SlipKernel


class PooledLaw:
    """Drift-bounded maximum likelihood of the moves of each action, wherever they were made.

    Only cells from which the five moves lead to five different cells count, since elsewhere a move cannot
    be told.
    """

    def __init__(self, nominal: SlipKernel, drift_bounds: ArrayLike, *, filling: Filling = "nominal") -> None:
        self._destinations = nominal.destinations()
        ordered = np.sort(self._destinations, axis=1)
        self._clear: np.ndarray = np.all(np.diff(ordered, axis=1) > 0, axis=1)
        slip = float(np.mean(nominal.slip))
        law = np.tile(slip * nominal.law, (nominal.actions, 1)) + (1 - slip) * np.eye(nominal.actions)
        # A world of moves: from state 0 the "next state" is the move that was made.
        moves = np.tile(np.arange(nominal.actions), (nominal.actions, 1))
        self._moves = DriftBoundedMLE(
            GeneralKernel(moves, np.tile(law, (nominal.actions, 1, 1))), drift_bounds, filling=filling
        )

    def estimate(self, observation: Observation) -> GeneralKernel:
        """Learn the last transition if its move is clear, and give the kernel of that step."""
        state, seen = observation.previous_state, None
        if state is not None and observation.previous_action is not None and self._clear[state]:
            move = np.flatnonzero(self._destinations[state] == observation.state)
            if move.size:
                seen = Observation(observation.time, int(move[0]), 0, observation.previous_action)
        law = self._moves.estimate(seen or Observation(observation.time, 0)).general().probabilities[0]
        return GeneralKernel(self._destinations, np.tile(law, (len(self._destinations), 1, 1)))

    def save(self) -> dict[str, np.ndarray]:
        """The moves seen."""
        return self._moves.save()

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take up what `save` gave."""
        self._moves.restore(arrays)
