"""`mixture`: several models of the drift, weighed by how well each foretold what was then seen.

The models: the world stays as it is, goes on as it moved, turns back, returns to the nominal kernel, becomes
more random, or moves as given from outside. At an update each model says what it would have foretold at the
update before; the closer that comes to the estimate, the more it weighs. Weights depend on these two
estimates and their times alone, from fixed priors, so that evaluation stays exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from replan.errors import InputError
from replan.forecast.base import Evidence, Forecast, Future, KernelAt
from replan.forecast.given import Given
from replan.forecast.trend import STILL, moving, onwards, towards, towards_chance
from replan.model.kernel import Kernel
from replan.model.tvmdp import constant

Model = Callable[[Evidence], KernelAt]

PRIORS = {
    "stays": 0.4,
    "goes on": 0.2,
    "turns back": 0.1,
    "returns to nominal": 0.1,
    "more chance": 0.2,
    "as given": 1.0,
}


def _stays(evidence: Evidence) -> KernelAt:
    return constant(evidence.kernel)


def _goes_on(evidence: Evidence) -> KernelAt:
    return moving(evidence, onwards(evidence)) if evidence.earlier else constant(evidence.kernel)


def _turns_back(evidence: Evidence) -> KernelAt:
    if evidence.earlier is None:
        return constant(evidence.kernel)
    return moving(evidence, towards(evidence.kernel, evidence.earlier[1]))


def _returns(evidence: Evidence) -> KernelAt:
    return moving(evidence, towards(evidence.kernel, evidence.nominal))


def _more_chance(evidence: Evidence) -> KernelAt:
    return moving(evidence, towards_chance(evidence.kernel))


MODELS: dict[str, Model] = {
    "stays": _stays,
    "goes on": _goes_on,
    "turns back": _turns_back,
    "returns to nominal": _returns,
    "more chance": _more_chance,
}


@dataclass(frozen=True)
class Mixture(Forecast):
    """Weigh models of the drift by how well they foretold the last estimate."""

    given: Given | None = None
    """A further model, from outside."""
    sharpness: float = 3.0
    """By how many powers of e a model that foretold nothing falls behind one that foretold all."""
    floor: float = 0.02
    """Least weight of a model."""
    priors: Mapping[str, float] = field(default_factory=lambda: PRIORS, repr=False)
    """Weights before anything was foretold, by name; they need not add up to 1."""

    compares = True

    def __post_init__(self) -> None:
        if not (self.sharpness >= 0 and 0 <= self.floor < 1 / len(PRIORS)):
            raise InputError(f"a mixture needs sharpness >= 0 and a floor from 0 to {1 / len(PRIORS):.3g}")

    def futures(self, evidence: Evidence) -> tuple[Future, ...]:
        """Return one future for each model that differs from the others, weighed."""
        models = dict(MODELS)
        if self.given is not None:
            models["as given"] = self.given.course
        weights = self._weights(evidence, models)
        merged: dict[str, Future] = {}
        for name, model in models.items():
            course = model(evidence)
            still = all(course(t) is evidence.kernel for t in (evidence.time, evidence.horizon - 1))
            label = "stays" if still else name
            before = merged[label].weight if label in merged else 0.0
            merged[label] = Future(
                label, before + weights[name], course if label not in merged else merged[label].kernel
            )
        return tuple(merged.values())

    def _weights(self, evidence: Evidence, models: Mapping[str, Model]) -> dict[str, float]:
        """By model, adding up to 1."""
        prior = np.array([self.priors[name] for name in models])
        weights = prior * np.exp(-self.sharpness * self._misses(evidence, models))
        weights = np.maximum(weights / weights.sum(), self.floor)
        return dict(zip(models, weights / weights.sum(), strict=True))

    def _misses(self, evidence: Evidence, models: Mapping[str, Model]) -> np.ndarray:
        """(M,) distance of the kernel foretold from the one seen, in units of the change seen; at most 1."""
        if evidence.earlier is None:
            return np.zeros(len(models))
        then, kernel = evidence.earlier
        moved = _distance(kernel, evidence.kernel)
        if moved <= STILL:
            return np.zeros(len(models))
        before = (0, evidence.nominal) if then > 1 else None
        at_the_time = replace(evidence, time=then, kernel=kernel, earlier=before)
        foretold = [model(at_the_time)(evidence.since) for model in models.values()]
        return np.minimum([_distance(each, evidence.kernel) / moved for each in foretold], 1.0)


def _distance(one: Kernel, other: Kernel) -> float:
    """Mean over states and actions of the total variation."""
    return float(one.total_variation(other).mean())
