"""What a state seen at one update says about the slip since the state seen at the last.

Given the commanded actions, the probability of going from the one to the other is, for a slip rho that is
constant in between, the sum over k of a_k rho^k (1 - rho)^(L - k), where a_k adds up all ways to slip k
times in L steps. A single transition is the case L = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from replan.errors import InputError
from replan.model.kernel import Array, Indices


@dataclass(frozen=True)
class SlipEvidence:
    """One stretch of time, what it says about the slip in it, and when it was."""

    times: Indices  # (L,) the steps of the stretch
    coefficients: Array  # (L + 1,) a_k

    def log_likelihood(self, slips: Array) -> Array:
        """(G,) for (G,) values of the slip strictly between 0 and 1."""
        k = np.arange(len(self.coefficients))
        with np.errstate(divide="ignore"):
            logs = (
                np.log(self.coefficients) + k * np.log(slips)[:, None] + k[::-1] * np.log1p(-slips)[:, None]
            )
        highest = logs.max(axis=1)
        return highest + np.log(np.exp(logs - highest[:, None]).sum(axis=1))


def slip_evidence(
    destinations: Indices, law: Array, *, start: int, actions: Sequence[int], end: int, first_time: int
) -> SlipEvidence:
    """From `start` to `end` under the commanded `actions`; destinations (S, A) is where each move leads.

    Backwards over the steps: reach[k, s] is the probability of `end` from s, over all ways to slip k times.
    """
    reach = np.zeros((1, len(destinations)))
    reach[0, end] = 1.0
    for action in reversed(actions):
        ahead = reach[:, destinations]  # (k, S, A)
        reach = np.zeros((len(ahead) + 1, len(destinations)))
        reach[:-1] = ahead[:, :, action]
        reach[1:] += ahead @ law
    coefficients = reach[:, start]
    if not coefficients.any():
        raise InputError(
            f"t={first_time}: no slip at all leads from s={start} to s={end} in {len(actions)} steps"
        )
    return SlipEvidence(first_time + np.arange(len(actions)), coefficients)


def reachable(destinations: Indices, start: int, steps: int) -> np.ndarray:
    """(S,) bool: where a robot can be within `steps` moves, whatever it does."""
    inside = np.zeros(len(destinations), dtype=bool)
    inside[start] = True
    for _ in range(steps):
        inside[destinations[inside].ravel()] = True
    return inside
