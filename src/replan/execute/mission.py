"""One mission: a world, a budget of updates, and how the robot plans and acts in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from replan.estimate.estimator import Estimator, Observation
from replan.estimate.true_kernel import TrueKernel
from replan.model.kernel import Array, Kernel
from replan.model.tvmdp import TVMDP
from replan.planning.backward_induction import Plan, plan
from replan.planning.ties import Ties
from replan.schedule.budget import check_budget
from replan.schedule.rule import Context, Rule, compares_estimates
from replan.skip.propagation import Execution, Propagation, propagation


@dataclass(frozen=True)
class Update:
    """What an update at `time` leaves behind when the estimate depends on the time alone."""

    time: int
    kernel: Kernel
    plan: Plan
    propagation: Propagation


@dataclass(frozen=True)
class Mission:
    """Everything but the rule. Immutable; what is derived from it is computed once."""

    world: TVMDP
    budget: int  # B
    planning_horizon: int  # H
    ties: Ties = field(default_factory=Ties)
    execution: Execution = "map"
    exact_budget: bool = True  # spend exactly B, not at most B

    def __post_init__(self) -> None:
        check_budget(self.budget, self.world.horizon)

    @property
    def horizon(self) -> int:
        """T."""
        return self.world.horizon

    @cached_property
    def estimator(self) -> Estimator:
        """The paper's simulator: the true kernel of the step before."""
        return TrueKernel(self.world)

    @cached_property
    def _updates(self):
        @lru_cache(maxsize=4 * self.horizon if self.world.states <= 10_000 else 2)
        def update(time: int) -> Update:
            kernel = self.estimator.estimate(Observation(time, state=-1))
            made = plan(
                kernel,
                self.world.reward,
                time=time,
                horizon=min(self.planning_horizon, self.horizon - time),
                ties=self.ties,
            )
            return Update(time, kernel, made, propagation(self.execution, made, kernel))

        return update

    def update(self, time: int) -> Update:
        """The update at `time` (0: the free plan on P_0 before the first one)."""
        return self._updates(time)

    def context(
        self,
        rule: Rule,
        time: int,
        *,
        last_update: int,
        budget_left: int,
        state: int,
        earlier_update: int = 0,
        update: Update | None = None,
        earlier: Update | None = None,
        drift_bounds: Array | None = None,
    ) -> Context:
        """What the rule gets to see at `time`, and no more than it declares.

        `earlier_update` is the time of the update before the last one, 0 if there was none. `update` is what
        the last one left behind, `earlier` what the one before did and `drift_bounds` what is known of the
        drift, where they are not those of the paper's simulator.
        """
        if not compares_estimates(rule):
            earlier = None
        elif earlier_update and earlier is None:
            earlier = self.update(earlier_update)
        update = update or self.update(last_update)
        bounds = self.world.drift_bounds if drift_bounds is None else drift_bounds
        return Context(
            time=time,
            horizon=self.horizon,
            planning_horizon=self.planning_horizon,
            budget=self.budget,
            budget_left=budget_left,
            last_update=last_update,
            drift_bounds=known_bounds(rule, bounds, time),
            state=state,
            kernel=update.kernel,
            plan=update.plan,
            reward=self.world.reward,
            execution=self.execution,
            earlier_update=earlier.time if earlier else 0,
            earlier_kernel=earlier.kernel if earlier else None,
            current_kernel=self.world.kernel(time) if rule.knows == "current kernel" else None,
            declared_successors=self.world.declared_successors,
            family=self.world.family,
        )

    def context_at(self, rule: Rule, *, last_update: int, **seen: Any) -> Callable[[int], Context]:
        """The contexts after one update as a function of time; of the update itself for -1."""

        def at(time: int) -> Context:
            time = last_update if time < 0 else time
            return self.context(rule, time, last_update=last_update, **seen)

        return at


def known_bounds(rule: Rule, drift_bounds: Array, time: int) -> Array:
    """The drift bounds that the rule may see: those of the past, or all where it knows the profile."""
    return drift_bounds if rule.knows == "drift profile" else drift_bounds[: max(time, 0)]
