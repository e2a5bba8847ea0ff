"""Settings of a mission that stay fixed, and the one place where updates and contexts are made from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from replan.errors import InputError
from replan.execute.validation import validate_kernel, validate_update
from replan.forecast.base import Evidence, Forecast, Future, mean_kernel
from replan.forecast.frozen import Frozen
from replan.model.family import KernelFamily
from replan.model.kernel import Array, Indices, Kernel
from replan.model.reward import Reward
from replan.planning.backward_induction import Plan, plan, plan_ahead
from replan.planning.ties import Ties
from replan.schedule.budget import FIRST_UPDATE, Prices, check_budget
from replan.schedule.rule import Context, Drift, Need, Rule
from replan.skip.propagation import Execution, Propagation, make_propagation

Planner = Callable[[Kernel, Callable[[int], Reward], int, int, Ties], Plan]
"""(kernel, reward, time, horizon, ties) -> plan."""


def plan_by_induction(kernel: Kernel, reward, time: int, horizon: int, ties: Ties) -> Plan:
    """Plan by backward induction, the default planner of an agent."""
    return plan(kernel, reward, time=time, horizon=horizon, ties=ties)


@dataclass(frozen=True, eq=False)
class Update:
    """Estimate, forecast, plan and propagation that an update at `time` puts in force."""

    time: int
    kernel: Kernel
    plan: Plan
    propagation: Propagation
    futures: tuple[Future, ...]
    """Expected from then on."""
    compared: int = 0
    """Time of the update before, where the forecast depends on it; 0 elsewhere."""
    cache: dict[Any, Any] = field(default_factory=dict, repr=False)
    """Results that rules keep while this update is in force (`Context.cache`)."""


@dataclass(frozen=True, eq=False)
class Progress:
    """Bookkeeping of a mission after an update: which plan is in force, and what is left."""

    update: Update
    """In force."""
    budget_left: int
    earlier: Update | None = None
    """In force before, None if that was the free plan of t = 0."""
    last_update: int = -1
    """Time of the last update; -1: that of the plan in force. Later if that update kept the plan."""

    def __post_init__(self) -> None:
        if self.last_update < 0:
            object.__setattr__(self, "last_update", self.update.time)

    def after(self, update: Update) -> Progress:
        """Return the progress after a further update."""
        earlier = self.update if self.update.time >= FIRST_UPDATE else None
        return Progress(update, self.budget_left - 1, earlier)

    def keeping(self, time: int) -> Progress:
        """Return the progress after an update at `time` that made no plan."""
        return Progress(self.update, self.budget_left - 1, self.earlier, time)

    def key(self, rule: Rule) -> tuple[int, int, int]:
        """Last update, updates left and earlier update: equal keys are equal contexts for the rule."""
        compares = Need.EARLIER_ESTIMATE in rule.needs and self.earlier is not None
        earlier = self.earlier.time if compares and self.earlier else self.update.compared
        return self.last_update, self.budget_left, earlier


@dataclass(kw_only=True, eq=False, repr=False)
class AgentConfig:
    """Settings that stay fixed during a mission."""

    horizon: int
    """T."""
    planning_horizon: int
    """H."""
    budget: int | None
    """B; None: prices alone."""
    reward: Callable[[int], Reward]
    nominal: Kernel
    """Planned on before the first update."""
    drift_bounds: Array
    """(T-1,) epsilon_t."""
    forecast: Forecast = field(default_factory=Frozen)
    """What the robot expects of the kernels after an update."""
    execution: Execution = "map"
    ties: Ties = field(default_factory=Ties)
    spend_all: bool = True
    """Spend exactly B updates; False: at most B. With prices B is a limit in any case."""
    prices: Prices | None = None
    """Of looks and plans. With prices the first update is not forced."""
    planner: Planner = plan_by_induction
    current_kernel: Callable[[int], Kernel] | None = None
    """t -> P_t, for rules that need it."""
    declared_successors: Indices | None = None
    """(S, k) states to which steps can lead at any time."""
    family: KernelFamily | None = None
    """Of which every kernel is a member."""

    def __post_init__(self) -> None:
        check_budget(self.budget, self.horizon, self.prices)
        bounds = np.asarray(self.drift_bounds, dtype=float)
        if bounds.shape != (self.horizon - 1,) or not (bounds >= 0).all():
            raise InputError(f"drift_bounds must be {self.horizon - 1} numbers of at least 0")
        self.drift_bounds = bounds
        if not callable(self.reward) or not isinstance(self.reward(0), Reward):
            raise InputError("reward must be a function of time that returns a Reward")
        if not isinstance(self.forecast, Forecast):
            raise InputError(f"forecast must be a Forecast, not {self.forecast!r}")
        if self.forecast.moves and self.planner is not plan_by_induction:
            raise InputError("a planner of one's own plans on one kernel: it needs the forecast frozen")

    @cached_property
    def drift(self) -> Drift:
        """The drift bounds and their sums."""
        return Drift.of(self.drift_bounds)

    @property
    def limit(self) -> int:
        """The most updates that can be made: B, or T - 1."""
        return check_budget(self.budget, self.horizon, self.prices)

    @property
    def must_spend(self) -> bool:
        """Whether all of the budget is spent."""
        return self.spend_all and self.prices is None

    def make_update(
        self,
        time: int,
        kernel: Kernel,
        earlier: tuple[int, Kernel] | None = None,
        *,
        kept: Plan | None = None,
    ) -> Update:
        """Forecast from an estimate, and the one before it, and plan for min(H, T - t) steps.

        `kept` is the plan that this made before, where it is known; on a forecast that moves it is made anew.
        """
        futures = self.forecast.futures(self.evidence(time, kernel, earlier))
        if not self.forecast.moves:
            horizon = min(self.planning_horizon, self.horizon - time)
            made = kept or self.planner(kernel, self.reward, time, horizon, self.ties)
            validate_update(kernel, made, time=time, execution=self.execution)
            return Update(time, kernel, made, make_propagation(self.execution, made, kernel), futures)
        expected = mean_kernel(futures)
        for t in range(time, self.horizon):
            validate_kernel(expected(t), like=self.nominal, origin="forecast")
        made = plan_ahead(
            expected, self.reward, time=time, end=self.horizon, horizon=self.planning_horizon, ties=self.ties
        )
        for each in (made, *made.later):
            validate_update(kernel, each, time=each.time, execution=self.execution)
        propagation = make_propagation(self.execution, made, kernel, expected)
        compared = earlier[0] if earlier is not None and self.forecast.compares else 0
        return Update(time, kernel, made, propagation, futures, compared)

    def evidence(
        self, time: int, kernel: Kernel, earlier: tuple[int, Kernel] | None, now: int | None = None
    ) -> Evidence:
        """Return what a forecast can see of an update at `time`, at `now` where a rule reconsiders."""
        bounds = self.drift_bounds[: time if now is None else now]
        return Evidence(time, self.horizon, kernel, self.nominal, bounds, earlier)

    def context(self, rule: Rule, progress: Progress, state: int, time: int | None = None) -> Context:
        """Return the context at `time` (None: at the last update itself) for a rule."""
        time = progress.last_update if time is None else time
        update = progress.update
        return Context(
            time=time,
            horizon=self.horizon,
            planning_horizon=self.planning_horizon,
            budget=self.limit,
            budget_left=progress.budget_left,
            last_update=progress.last_update,
            kernel=update.kernel,
            plan=update.plan,
            propagation=update.propagation,
            futures=update.futures,
            reward=self.reward,
            execution=self.execution,
            declared_successors=self.declared_successors,
            family=self.family,
            given={need: self._given(rule, need, progress, state, time) for need in rule.needs},
            cache=update.cache,
            prices=self.prices,
        )

    def _given(self, rule: Rule, need: Need, progress: Progress, state: int, time: int) -> Any:
        if need is Need.STATE:
            return state
        if need is Need.DRIFT_SO_FAR:
            return self.drift.until(time)
        if need is Need.DRIFT_AHEAD:
            return self.drift
        if need is Need.EARLIER_ESTIMATE:
            return None if progress.earlier is None else (progress.earlier.time, progress.earlier.kernel)
        if need is Need.BUDGET:
            if self.budget is None:
                raise InputError(f"the rule {rule.name} needs a budget: give one with the price")
            return self.budget
        if self.current_kernel is None:
            raise InputError("current_kernel is needed by the rule")
        return self.current_kernel(time)
