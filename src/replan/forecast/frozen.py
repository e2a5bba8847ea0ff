"""`frozen`: nothing moves, as the paper's robot believes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from replan.forecast.base import Evidence, Forecast, Future
from replan.model.kernel import Kernel
from replan.model.tvmdp import constant


@dataclass(frozen=True)
class Frozen(Forecast):
    """Hold the estimate."""

    @property
    def moves(self) -> bool:
        """Whether the expected kernels may differ from the estimate: never."""
        return False

    def sources(self, horizon: int) -> Iterable[Kernel]:
        """Return no kernels: the estimates are all."""
        return ()

    def futures(self, evidence: Evidence) -> tuple[Future, ...]:
        """Return the estimate, held fixed."""
        return (Future("stays", 1.0, constant(evidence.kernel)),)
