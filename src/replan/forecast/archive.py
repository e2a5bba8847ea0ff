"""`archive`: an ensemble of what the past did.

From times in the past at which the world was most like the estimate, at the same hour of a daily cycle if
there is one, the changes that followed then are applied to the estimate: each is one future. That the
estimate stays is one more, as likely as each of them: a few records are a small sample. Only records from
before the mission are used.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from replan.errors import InputError, require, require_whole
from replan.estimate.estimator import Estimator
from replan.forecast.base import Evidence, Forecast, Future, KernelAt
from replan.model.kernel import Indices, Kernel, constant
from replan.model.past import Past
from replan.model.world import Knowledge


@dataclass(frozen=True)
class Archive(Forecast):
    """Expect changes that occurred before the mission, or none."""

    members: int = 4
    """Number of futures from the past, at most."""
    past: Past | None = field(default=None, repr=False)
    """Records; None: those of the world."""

    reveals = False

    def __post_init__(self) -> None:
        require_whole(members=self.members)
        if self.past is not None:
            require(Past, past=self.past)
        if self.members < 1:
            raise InputError(f"an archive needs at least one member, not {self.members}")

    def informed_by(self, knowledge: Knowledge, estimator: Estimator | None) -> Archive:
        """Return the forecast with the past of the world, unless it has one.

        Raises `InputError` if there is none, or it is too short for a mission.
        """
        past = self.past or knowledge.past
        if past is None:
            raise InputError("the forecast archive needs a world with a past, such as wind or a field")
        if past.length <= knowledge.horizon:
            raise InputError(
                f"the forecast archive needs more than {knowledge.horizon} steps before the mission, "
                f"not {past.length}"
            )
        return replace(self, past=past)

    def futures(self, evidence: Evidence) -> tuple[Future, ...]:
        """Return one future for each of the chosen times in the past, and one that stays."""
        assert self.past is not None, "informed_by comes first"
        starts = self._starts(self.past, evidence)
        share = 1 / (len(starts) + 1)
        changing = (
            Future(
                f"as {self.past.length - start} steps before",
                share,
                self._course(self.past, evidence.kernel, int(start), evidence.since),
            )
            for start in starts
        )
        return (*changing, Future("stays", share, constant(evidence.kernel)))

    def _starts(self, past: Past, evidence: Evidence) -> Indices:
        """(M,) records most like the estimate, at its phase if possible, with enough records after them."""
        enough = past.length - (evidence.horizon - 1 - evidence.since)
        phase = (past.length + evidence.since) % past.period
        starts = np.arange(phase, enough, past.period)
        starts = starts if len(starts) else np.arange(enough)
        apart = np.array([past.distance(evidence.kernel, int(start)) for start in starts])
        return starts[np.argsort(apart, kind="stable")[: self.members]]

    def _course(self, past: Past, kernel: Kernel, start: int, since: int) -> KernelAt:
        """t -> the estimate, changed as the past did from `start` on."""
        return lru_cache(maxsize=None)(lambda t: past.changed(kernel, start, max(t - since, 0)))
