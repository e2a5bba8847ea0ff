"""Lists of the states to which a step can lead at any time."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from replan.errors import InputError
from replan.model.kernel import Indices, merge_successors


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
