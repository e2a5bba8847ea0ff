"""Evidence of the slip between two updates, and the likelihood of the present slip from all of it.

Given the commanded actions, the probability of going from the state at one update to that at the next is, for
a slip rho that is constant in between, the sum over k of a_k rho^k (1 - rho)^(L - k), where a_k adds up all
ways to slip k times in L steps. A single transition is the case L = 1. A robot may also be carried away,
which no slip explains: a stretch less likely than `UNLIKELY` says nothing.

The slip of each stretch is represented by its average over the stretch, and two averages differ by at most
the difference of the averaged drift sums. The profile is the greatest log-likelihood over all paths of the
slip that end at a given one: a dynamic programme over stretches, on a grid of slips. The interval keeps every
slip whose profile is within log(2 / alpha) of the best. For single transitions and a slip that stays the same
this is Chernoff's bound, P(n KL(observed rate, true rate) >= x) <= 2 exp(-x); with drift and for whole
intervals its coverage is measured (docs/estimation.md).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from replan.errors import InputError
from replan.estimate.estimator import Learned, Observation
from replan.model.kernel import Array, Indices
from replan.model.slip import SlipKernel

CELLS = 400
GRID = (np.arange(CELLS) + 0.5) / CELLS  # slips strictly between 0 and 1
UNLIKELY = 1e-4  # at 1e-6 a robot that knows little takes some jumps for slip, and 92 % of its intervals hold

log = logging.getLogger(__name__)
CONFIDENCE = 0.95


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


def last_update(learned: Learned) -> tuple[int, int] | None:
    """Return the time and state of the last update that an estimator keeps, None if there was none."""
    last = learned["last_update"]
    return (int(last[0]), int(last[1])) if last.size else None


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


@dataclass(frozen=True)
class ParameterEstimate:
    """The estimate of a parameter at `time` and an interval that holds it with probability `confidence`."""

    name: str
    """Name of the parameter."""
    time: int
    """t."""
    value: float
    """Mean, of an angle the mean direction; or most likely value."""
    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval."""
    confidence: float = CONFIDENCE
    """Probability that the interval holds the parameter."""

    @property
    def width(self) -> float:
        """Width of the interval."""
        return self.high - self.low


@dataclass(frozen=True)
class SlipProfile:
    """Profile likelihood of the slip after some evidence."""

    values: Array
    """(G,) log-likelihood of the best path that ends at each slip of the grid."""
    centre: float | None = None
    """Place of the last stretch, in drift summed from time 0; None: no evidence yet."""

    @classmethod
    def of(cls, values: Array, centre: float) -> SlipProfile:
        """Return the profile of an estimator's arrays, in which NaN stands for no evidence."""
        return cls(values, None if np.isnan(centre) else float(centre))

    def add(self, evidence: SlipEvidence, drift: Array) -> SlipProfile:
        """Add a stretch; drift (T,) sums the bounds on the slip's change from time 0."""
        centre = float(drift[evidence.times].mean())
        moved = 0.0 if self.centre is None else abs(centre - self.centre)
        return SlipProfile(_spread(self.values, moved) + evidence.profile, centre)

    def at(
        self, time: int, drift: Array, *, prior: float, confidence: float = CONFIDENCE
    ) -> ParameterEstimate:
        """Return the slip at a time after the evidence; of equally likely ones the nearest to `prior`."""
        if self.centre is None:
            return ParameterEstimate("slip", time, prior, 0.0, 1.0, confidence)
        profile = _spread(self.values, drift[time] - self.centre)
        kept = np.flatnonzero(profile >= profile.max() - np.log(2 / (1 - confidence)))
        best = np.flatnonzero(profile >= profile.max() - 1e-9)
        half = 0.5 / CELLS
        slip = float(np.clip(prior, GRID[best[0]], GRID[best[-1]]))
        low, high = float(GRID[kept[0]] - half), float(GRID[kept[-1]] + half)
        return ParameterEstimate("slip", time, slip, low, high, confidence)


NO_EVIDENCE = SlipProfile(np.zeros(CELLS))


def _spread(values: Array, distance: float) -> Array:
    """(G,) the greatest value within `distance`, rounded up to whole cells."""
    cells = min(int(np.ceil(distance * CELLS - 1e-9)), CELLS)
    if cells <= 0:
        return values
    padded = np.concatenate([np.full(cells, -np.inf), values, np.full(cells, -np.inf)])
    return np.lib.stride_tricks.sliding_window_view(padded, 2 * cells + 1).max(axis=1)
