"""One slip for the whole grid, or for each class of terrain, by maximum likelihood under the drift bound.

A few updates say almost nothing about each state and action; pooled, they determine the slip.
The evidence is either the last transition before each update, as in the paper, or the whole skip interval:
the state at one update given the state at the last and the commanded actions in between.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from replan.errors import InputError, read_array, require, require_numbers, require_word
from replan.estimate.drift_bounds import DriftSums
from replan.estimate.estimator import Learned, Observation
from replan.estimate.slip_evidence import (
    CELLS,
    CONFIDENCE,
    ParameterEstimate,
    SlipModel,
    SlipProfile,
    Stretch,
    last_update,
    stretches,
)
from replan.model.general_kernel import prepare_kernel
from replan.model.kernel import Indices
from replan.model.slip import SlipKernel

EvidenceKind = Literal["transitions", "intervals"]
EVIDENCE_KINDS: tuple[EvidenceKind, ...] = ("transitions", "intervals")


def check_options(evidence: str, confidence: float) -> None:
    """Raise an `InputError` for an unknown kind of evidence, or a confidence that is no probability."""
    require_word(EVIDENCE_KINDS, evidence=evidence)
    require_numbers(confidence=confidence)
    if not 0 < confidence < 1:
        raise InputError(f"confidence must lie between 0 and 1, not {confidence}")


class PooledSlip:
    """Estimator of the slip of a grid whose slip law and drift bounds are known.

    Parameters
    ----------
    nominal : SlipKernel
        The grid, its slip law, and the slip to assume before any evidence.
    drift_bounds : array_like
        One number for every step or (T-1,) numbers: the epsilon_t of kernel entries.
    evidence : {"transitions", "intervals"}
        Whether it learns from the last transition before each update or from whole skip intervals.
    terrain : array_like, optional
        (S,) class of each cell. Cells of one class have one slip.
    confidence : float
        Probability with which the stated range of the slip holds.
    """

    def __init__(
        self,
        nominal: SlipKernel,
        drift_bounds: ArrayLike,
        *,
        evidence: EvidenceKind = "transitions",
        terrain: ArrayLike | None = None,
        confidence: float = CONFIDENCE,
    ) -> None:
        check_options(evidence, confidence)
        require(SlipKernel, nominal=nominal)
        self.nominal = nominal
        self.evidence: EvidenceKind = evidence
        self.confidence = confidence
        self.terrain = _classes(terrain, nominal.states)
        self._model = SlipModel(nominal)
        slips = np.broadcast_to(nominal.slip, (nominal.states,))
        steepness = nominal.steepness().max(axis=1)
        self._prior, self._drift = [], []
        for cells in (self.terrain == c for c in range(int(self.terrain.max()) + 1)):
            self._prior.append(float(slips[cells].mean()) if cells.any() else 0.0)
            self._drift.append(_slip_drift(drift_bounds, steepness[cells].max(initial=0.0)))
        prepare_kernel(nominal)

    def begin(self) -> Learned:
        """Return the profile of each class, the place of its evidence (none: NaN), and the last update."""
        classes, none = len(self._prior), np.empty(0, dtype=np.int64)
        return {
            "profiles": np.zeros((classes, CELLS)),
            "centres": np.full(classes, np.nan),
            "last_update": none,
        }

    def estimate(self, learned: Learned, seen: Observation) -> tuple[Learned, SlipKernel]:
        """Learn from the update and give the kernel of the step before it.

        Steps that no slip explains, such as those of a robot that was carried away, are logged and ignored.
        """
        profiles, centres = learned["profiles"].copy(), learned["centres"].copy()
        for stretch in self._stretches(last_update(learned), seen):
            if (evidence := self._model.evidence(stretch)) is not None:
                terrain = int(self.terrain[stretch.start])
                drift = self._drift[terrain].up_to(seen.time - 1, 0, 0)
                added = SlipProfile.of(profiles[terrain], centres[terrain]).add(evidence, drift)
                profiles[terrain], centres[terrain] = added.values, added.centre
        last = np.array([seen.time, seen.state])
        learned = {"profiles": profiles, "centres": centres, "last_update": last}
        slip = np.array([estimate.value for estimate in self.slips(learned)])
        return learned, self.nominal.with_slip(slip if len(slip) == 1 else slip[self.terrain])

    def slips(self, learned: Learned) -> tuple[ParameterEstimate, ...]:
        """Return the slip of each class, with its interval, in the step before the last update."""
        time = max((last_update(learned) or (0, 0))[0] - 1, 0)
        return tuple(
            SlipProfile.of(values, centre).at(
                time, drift.up_to(time, 0, 0), prior=prior, confidence=self.confidence
            )
            for values, centre, drift, prior in zip(
                learned["profiles"], learned["centres"], self._drift, self._prior, strict=True
            )
        )

    def _stretches(self, last: tuple[int, int] | None, seen: Observation) -> list[Stretch]:
        """Return the steps to learn from; the way to the last transition only if it stays in one class."""
        way, transition = stretches(last, seen)
        found = [] if transition is None else [transition]
        if way is not None and self.evidence == "intervals":
            crossed = self.terrain[self._model.reachable(way.start, len(way.actions) - 1)]
            if (crossed == crossed[0]).all():
                found.insert(0, way)
        return found


def _slip_drift(drift_bounds: ArrayLike, steepness: float) -> DriftSums:
    """Return bounds on the slip's change: those of an entry, divided by its change with the slip."""
    bounds = read_array("drift bounds", drift_bounds)
    return DriftSums(np.minimum(bounds / max(steepness, 1e-12), 1.0), states=0, actions=0)


def _classes(terrain: ArrayLike | None, states: int) -> Indices:
    classes = np.zeros(states, dtype=np.int64) if terrain is None else np.asarray(terrain).reshape(-1)
    if len(classes) != states or not np.issubdtype(classes.dtype, np.integer) or classes.min() < 0:
        raise InputError(f"terrain takes a class (0, 1, ...) for each of the {states} cells")
    return classes
