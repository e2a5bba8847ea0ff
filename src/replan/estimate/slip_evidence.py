"""Evidence of the slip: a state seen at one update, given the state seen at the last.

Given the commanded actions, the probability of going from the one to the other is, for a slip rho that is
constant in between, the sum over k of a_k rho^k (1 - rho)^(L - k), where a_k adds up all ways to slip k
times in L steps. A single transition is the case L = 1.

A robot may also be carried away, which no slip explains. The likelihood is therefore taken to be at least
`UNLIKELY`: a stretch that is less likely than that says nothing.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from replan.errors import InputError
from replan.estimate.estimator import Observation
from replan.model.kernel import Array, Indices
from replan.model.slip import SlipKernel

CELLS = 400
GRID = (np.arange(CELLS) + 0.5) / CELLS  # slips strictly between 0 and 1
UNLIKELY = 1e-4  # at 1e-6 a robot that knows little takes some jumps for slip, and 92 % of its intervals hold

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Stretch:
    """Steps between two states that were seen."""

    time: int
    """Time of the first step."""
    start: int
    """State at the beginning."""
    actions: tuple[int, ...]
    """Actions commanded, one a step."""
    end: int
    """State at the end."""


@dataclass(frozen=True)
class SlipEvidence:
    """Likelihood of the slip in one stretch of time."""

    times: Indices
    """(L,) steps of the stretch."""
    coefficients: Array
    """(L + 1,) a_k."""

    def log_likelihood(self, slips: Array) -> Array:
        """(G,) for (G,) values of the slip strictly between 0 and 1."""
        k = np.arange(len(self.coefficients))
        with np.errstate(divide="ignore"):
            logs = (
                np.log(self.coefficients) + k * np.log(slips)[:, None] + k[::-1] * np.log1p(-slips)[:, None]
            )
            highest = np.maximum(logs.max(axis=1), -700.0)  # the logarithm of an impossible stretch is -inf
            return highest + np.log(np.exp(logs - highest[:, None]).sum(axis=1))

    @cached_property
    def profile(self) -> Array:
        """(G,) log-likelihood on `GRID`, at least that of a robot that was carried away."""
        return np.maximum(self.log_likelihood(GRID), np.log(UNLIKELY))

    @property
    def is_contradiction(self) -> bool:
        """Whether no slip at all makes the stretch likely enough to say anything."""
        return bool(self.profile.max() <= np.log(UNLIKELY))


class SlipModel:
    """A grid on which all but the slip is known, as estimators see it."""

    def __init__(self, nominal: SlipKernel) -> None:
        self.destinations = nominal.destinations()
        self.law = nominal.law

    def evidence(self, stretch: Stretch) -> SlipEvidence | None:
        """Return the evidence of a stretch; None, with a line in the log, where no slip explains it."""
        states = len(self.destinations)
        for name, state in (("s", stretch.start), ("next", stretch.end)):
            if not 0 <= state < states:
                raise InputError(f"t={stretch.time}: {name}={state} is not a state (0 to {states - 1})")
        found = slip_evidence(self.destinations, self.law, stretch)
        if not found.is_contradiction:
            return found
        log.warning(
            "t=%d: no slip leads from s=%d to s=%d in %d steps; nothing is learned from them",
            *(stretch.time, stretch.start, stretch.end, len(stretch.actions)),
        )
        return None

    def reachable(self, start: int, steps: int) -> np.ndarray:
        """(S,) bool: where a robot can be within `steps` moves, whatever it does."""
        inside = np.zeros(len(self.destinations), dtype=bool)
        inside[start] = True
        for _ in range(steps):
            inside[self.destinations[inside].ravel()] = True
        return inside


def stretches(last: tuple[int, int] | None, seen: Observation) -> tuple[Stretch | None, Stretch | None]:
    """Return the way from the last update to the last transition, and that transition.

    `last` is the time and state of the last update. A part that was not seen is None.
    """
    way, transition = None, None
    end, steps = seen.state, seen.time - last[0] if last else 0
    actions = seen.commanded[-steps:] if 0 < steps <= len(seen.commanded) else ()
    if seen.previous_state is not None and seen.previous_action is not None:
        end, actions = seen.previous_state, actions[:-1]
        transition = Stretch(seen.time - 1, end, (seen.previous_action,), seen.state)
    if last and actions:
        way = Stretch(*last, actions, end)
    return way, transition


def slip_evidence(destinations: Indices, law: Array, stretch: Stretch) -> SlipEvidence:
    """Return the evidence of a stretch; destinations (S, A) is where each move leads.

    Backwards over the steps: reach[k, s] is the probability of the end from s, over all ways to slip k times.
    """
    reach = np.zeros((1, len(destinations)))
    reach[0, stretch.end] = 1.0
    for action in reversed(stretch.actions):
        ahead = reach[:, destinations]  # (k, S, A)
        reach = np.zeros((len(ahead) + 1, len(destinations)))
        reach[:-1] = ahead[:, :, action]
        reach[1:] += ahead @ law
    return SlipEvidence(stretch.time + np.arange(len(stretch.actions)), reach[:, stretch.start])
