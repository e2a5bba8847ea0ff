"""Updates, and the books of a mission: which update is in force, and what is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from replan.forecast.base import Future
from replan.model.kernel import Indices, Kernel
from replan.planning.backward_induction import Plan
from replan.schedule.rule import Need, Rule
from replan.schedule.spending import FIRST_UPDATE
from replan.skip.propagation import Propagation

Key = tuple[int, ...]

PlanName = tuple[int, int, int]
"""Time of an update, that of the one before where the forecast depends on it, else 0, and its steps."""

Earlier = tuple[int, Kernel] | None
"""Time and estimate of the update before, None if there was none."""

Learned = Mapping[str, np.ndarray]
"""All that an estimator has learned, as arrays."""


@dataclass(frozen=True, eq=False)
class Update:
    """Estimate, forecast, plan and propagation that an update at `time` puts in force."""

    time: int
    kernel: Kernel
    plan: Plan
    propagation: Propagation
    expect: Callable[[int], tuple[Future, ...]] = field(repr=False)
    """now -> the futures expected after the update with the drift bounds known by now."""
    earlier: Earlier = None
    """The update before, where the forecast depends on it."""
    learned: Learned = field(default_factory=dict, repr=False)
    """Arrays of `Estimator.save` at the update, where the forecast continues from them."""
    cache: dict[Any, Any] = field(default_factory=dict, repr=False)
    """Results that rules keep while this update is in force (`Context.cache`)."""
    steps: int = 0
    """Steps from the beginning of the update to its arrival, from which on the plan is in force."""
    old: Update | None = None
    """The update whose plan is in force until the arrival; None: this one takes no time."""
    arrived: Propagation | None = None
    """The propagation that later updates go on with until they arrive; None: `propagation`."""
    waiting: int | None = None
    """The action until the arrival; None: the old plan acts on."""

    @property
    def arrival(self) -> int:
        """The first time at which the plan is in force."""
        return self.time + self.steps

    @property
    def name(self) -> PlanName:
        """Tells plans apart."""
        return self.time, self.compared, self.steps

    @property
    def identity(self) -> tuple[int, ...]:
        """Tells updates apart: their plans, and those that act until they arrive."""
        return self.name if self.old is None else (*self.name, *self.old.name)

    @property
    def in_force(self) -> Propagation:
        """The propagation from the arrival on."""
        return self.arrived or self.propagation

    def policy_at(self, time: int) -> Indices:
        """(S,) actions of a robot that sees its state."""
        if self.old is None or time >= self.arrival:
            return self.plan.at(time).policy
        if self.waiting is not None:
            return np.full(len(self.plan.policy), self.waiting)
        return self.old.plan.at(time).policy

    @property
    def futures(self) -> tuple[Future, ...]:
        """Expected from then on."""
        return self.expect(self.time)

    @property
    def compared(self) -> int:
        """Time of the update before, where the forecast depends on it; 0 elsewhere."""
        return 0 if self.earlier is None else self.earlier[0]


@dataclass(frozen=True, eq=False)
class Progress:
    """The books of a mission after an update: which plan is in force, and what is left."""

    update: Update
    """The update in force."""
    budget_left: int
    """Updates not yet spent."""
    last_update: int
    """Time of the last update; later than that of the update in force if its plan failed."""
    earlier: Update | None = None
    """The update before the one in force; None if that was the free plan of t = 0."""

    def after(self, update: Update) -> Progress:
        """Return the books after one more update."""
        return self.keeping(update.time).arrived(update)

    def keeping(self, time: int) -> Progress:
        """Return the books after an update at `time` that failed, or runs: it is spent, the plan is kept."""
        return replace(self, budget_left=self.budget_left - 1, last_update=time)

    def arrived(self, update: Update) -> Progress:
        """Return the books once the plan of the last update is in force."""
        earlier = self.update if self.update.time >= FIRST_UPDATE else None
        return replace(self, update=update, earlier=earlier)

    def key(self, rule: Rule) -> Key:
        """Return all that tells contexts of the rule apart, the last update first."""
        compares = Need.EARLIER_ESTIMATE in rule.needs and self.earlier is not None
        earlier = self.earlier.time if compares and self.earlier else self.update.compared
        return self.last_update, self.budget_left, earlier, *self.update.identity
