"""One slip for the whole grid, or for each class of terrain, by maximum likelihood under the drift bound.

A few updates say almost nothing about each state and action; pooled, they say how slippery the ground is.
The evidence is either the last transition before each update, as in the paper, or the whole skip interval:
the state at one update given the state at the last and the commanded actions in between.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from replan.errors import InputError
from replan.estimate.drift_sums import DriftSums
from replan.estimate.estimator import Observation
from replan.estimate.slip_evidence import SlipEvidence, reachable, slip_evidence
from replan.estimate.slip_profile import CONFIDENCE, NO_EVIDENCE, SlipEstimate, SlipProfile
from replan.model.kernel import Indices, prepare_kernel
from replan.model.slip import SlipKernel

Evidence = Literal["transitions", "intervals"]
EVIDENCE: tuple[Evidence, ...] = ("transitions", "intervals")


class PooledSlip:
    """An estimator that knows the grid, where a slip goes and how fast kernels drift, but not the slip.

    `nominal` gives the grid, its law and the slip to assume before any evidence; `drift_bounds` is one
    number for every step or (T-1,) numbers, the epsilon_t of kernel entries; `terrain` (S,) numbers each
    cell's class.
    """

    def __init__(
        self,
        nominal: SlipKernel,
        drift_bounds: ArrayLike,
        *,
        evidence: Evidence = "transitions",
        terrain: ArrayLike | None = None,
        confidence: float = CONFIDENCE,
    ) -> None:
        if evidence not in EVIDENCE:
            raise InputError(f'evidence must be "transitions" or "intervals", not {evidence!r}')
        if not 0 < confidence < 1:
            raise InputError(f"confidence must lie between 0 and 1, not {confidence}")
        # An entry of the kernel changes by at most (1 - law) times the slip's change, and one by as much.
        self._drift = DriftSums(
            np.asarray(drift_bounds, dtype=float) / (1 - nominal.law.min()), states=0, actions=0
        )
        self.nominal = nominal
        self.evidence: Evidence = evidence
        self.confidence = confidence
        self.terrain = _classes(terrain, nominal.states)
        self._destinations = nominal.destinations()
        slips = np.broadcast_to(nominal.slip, (nominal.states,))
        classes = range(int(self.terrain.max()) + 1)
        self._prior = [
            float(slips[self.terrain == c].mean()) if (self.terrain == c).any() else 0.0 for c in classes
        ]
        self._profiles = [NO_EVIDENCE for _ in classes]
        self._last: tuple[int, int] | None = None  # time and state of the last update
        self.slips: tuple[SlipEstimate, ...] = tuple(
            profile.at(0, np.zeros(1), prior=prior, confidence=confidence)
            for profile, prior in zip(self._profiles, self._prior, strict=True)
        )
        prepare_kernel(nominal)

    def estimate(self, observation: Observation) -> SlipKernel:
        """Learn from the update, then give the kernel of the step before it; `slips` holds the intervals."""
        time = max(observation.time - 1, 0)
        drift = self._drift.up_to(time, 0, 0)
        for terrain, evidence in self._evidence_of(observation):
            self._profiles[terrain] = self._profiles[terrain].add(evidence, drift)
        self._last = (observation.time, observation.state)
        self.slips = tuple(
            profile.at(time, drift, prior=prior, confidence=self.confidence)
            for profile, prior in zip(self._profiles, self._prior, strict=True)
        )
        slip = np.array([estimate.slip for estimate in self.slips])
        per_cell = slip if len(slip) == 1 else slip[self.terrain]
        blocked = self.nominal.blocked if self.nominal.blocked.size > 1 else None
        return SlipKernel(self.nominal.shape, per_cell, law=self.nominal.law, blocked=blocked)

    def save(self) -> dict[str, np.ndarray]:
        """The profile of each class, where it stands, and the last update."""
        centres = [np.nan if profile.centre is None else profile.centre for profile in self._profiles]
        return {
            "profiles": np.array([profile.values for profile in self._profiles]),
            "centres": np.array(centres),
            "last_update": np.array(() if self._last is None else self._last, dtype=np.int64),
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take up what `save` gave."""
        self._profiles = [
            SlipProfile(values, None if np.isnan(centre) else float(centre))
            for values, centre in zip(arrays["profiles"], arrays["centres"], strict=True)
        ]
        last = arrays["last_update"]
        self._last = (int(last[0]), int(last[1])) if last.size else None

    def _evidence_of(self, seen: Observation) -> list[tuple[int, SlipEvidence]]:
        """What the update says, by class: the way to the last transition, then that transition."""
        if seen.previous_state is None or seen.previous_action is None:
            return self._stretch(seen.state, seen.commanded) if self.evidence == "intervals" else []
        last = self._between(seen.previous_state, (seen.previous_action,), seen.state, seen.time - 1)
        if self.evidence == "transitions":
            return [last]
        return [*self._stretch(seen.previous_state, seen.commanded[:-1]), last]

    def _stretch(self, end: int, actions: tuple[int, ...]) -> list[tuple[int, SlipEvidence]]:
        """From the last update to `end`, if it surely stayed within one class of terrain."""
        if self._last is None or not actions:
            return []
        time, start = self._last
        crossed = self.terrain[reachable(self._destinations, start, len(actions) - 1)]
        if (crossed != crossed[0]).any():
            return []
        return [self._between(start, actions, end, time)]

    def _between(self, start: int, actions: tuple[int, ...], end: int, time: int) -> tuple[int, SlipEvidence]:
        for name, value, limit in (("s", start, self.nominal.states), ("next", end, self.nominal.states)):
            if not 0 <= value < limit:
                raise InputError(f"t={time}: {name}={value} is not a state (0 to {limit - 1})")
        found = slip_evidence(
            self._destinations, self.nominal.law, start=start, actions=actions, end=end, first_time=time
        )
        return int(self.terrain[start]), found


def _classes(terrain: ArrayLike | None, states: int) -> Indices:
    classes = np.zeros(states, dtype=np.int64) if terrain is None else np.asarray(terrain).reshape(-1)
    if len(classes) != states or not np.issubdtype(classes.dtype, np.integer) or classes.min() < 0:
        raise InputError(f"terrain takes a class (0, 1, ...) for each of the {states} cells")
    return classes
