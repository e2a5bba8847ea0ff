"""Settings of a mission that stay fixed, and the one place where updates and contexts are made from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from replan.errors import InputError
from replan.estimate.estimator import validate_kernel
from replan.forecast.base import Evidence, Forecast, Frozen, Future, mean_kernel
from replan.model.family import Family
from replan.model.kernel import Array, Indices, Kernel
from replan.model.reward import Reward
from replan.planning.backward_induction import Plan, check_plan, plan, plan_ahead
from replan.planning.ties import Ties
from replan.schedule.budget import FIRST_UPDATE, Kind, Prices, check_budgets
from replan.schedule.rule import Context, Drift, Need, Rule
from replan.skip.propagation import Execution, Propagation, check_execution, make_propagation

Key = tuple[int, int, int, int, int, bool]

Earlier = tuple[int, Kernel] | None
"""Time and estimate of the update before, None if there was none."""

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
    expect: Callable[[int], tuple[Future, ...]] = field(repr=False)
    """now -> the futures expected after the update with the drift bounds known by now."""
    earlier: Earlier = None
    """The update before, where the forecast depends on it."""
    cache: dict[Any, Any] = field(default_factory=dict, repr=False)
    """Results that rules keep while this update is in force (`Context.cache`)."""

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
    """Bookkeeping of a mission after an update: which plan is in force, and what is left."""

    update: Update
    """The update in force."""
    looks_left: int
    earlier: Update | None = None
    """The update before it; None if that was the free plan of t = 0."""
    last_update: int = -1
    """Time of the last look or plan; -1: that of the plan in force. Later if the plan was kept."""
    plans_left: int = -1
    """-1: as many as looks."""
    last_look: int = -1
    """-1: at the last update."""

    def __post_init__(self) -> None:
        if self.last_update < 0:
            object.__setattr__(self, "last_update", self.update.time)
        if self.plans_left < 0:
            object.__setattr__(self, "plans_left", self.looks_left)
        if self.last_look < 0:
            object.__setattr__(self, "last_look", self.last_update)

    @property
    def budget_left(self) -> int:
        """Updates left; where looks and plans have budgets of their own, the larger rest."""
        return max(self.looks_left, self.plans_left)

    @property
    def kinds_left(self) -> Kind:
        """The parts of an update that are left."""
        return Kind((self.looks_left > 0) * Kind.LOOK + (self.plans_left > 0) * Kind.PLAN)

    def left_after(self, kind: Kind) -> int:
        """Return the updates left after one more of that kind."""
        return max(self.looks_left - (Kind.LOOK in kind), self.plans_left - (Kind.PLAN in kind))

    @property
    def kind(self) -> Kind:
        """The parts of the last update."""
        looked, planned = self.last_look == self.last_update, self.update.time == self.last_update
        return Kind(looked * Kind.LOOK + planned * Kind.PLAN)

    def after(self, update: Update, *, look: bool = True) -> Progress:
        """Return the progress after a plan, with a look or alone."""
        return Progress(
            update,
            self.looks_left - look,
            self.update if self.update.time >= FIRST_UPDATE else None,
            plans_left=self.plans_left - 1,
            last_look=update.time if look else self.last_look,
        )

    def keeping(self, time: int, kind: Kind = Kind.BOTH) -> Progress:
        """Return the progress after an update at `time` that made no plan: a look, or a plan that failed."""
        look, plan = Kind.LOOK in kind, Kind.PLAN in kind
        return Progress(
            self.update,
            self.looks_left - look,
            self.earlier,
            time,
            self.plans_left - plan,
            time if look else self.last_look,
        )

    def key(self, rule: Rule) -> Key:
        """Return all that tells contexts of the rule apart, the last update first."""
        compares = Need.EARLIER_ESTIMATE in rule.needs and self.earlier is not None
        earlier = self.earlier.time if compares and self.earlier else self.update.compared
        left = self.looks_left, self.plans_left
        looked = self.last_look == self.last_update
        return self.last_update, *left, earlier, self.update.time, looked


@dataclass(kw_only=True, eq=False, repr=False)
class AgentConfig:
    """Settings that stay fixed during a mission."""

    horizon: int
    """T."""
    planning_horizon: int
    """H."""
    budget: int | None
    """B; None: prices alone, or two budgets."""
    reward: Callable[[int], Reward]
    nominal: Kernel
    """Planned on before the first update."""
    drift_bounds: Array | Callable[[], Array]
    """(T-1,) epsilon_t, or a function that returns them when they are asked for: they take T kernels."""
    forecast: Forecast = field(default_factory=Frozen)
    """Forecast of the kernels after an update."""
    execution: Execution = "map"
    ties: Ties = field(default_factory=Ties)
    spend_all: bool = True
    """Spend exactly B updates; False: at most B. With prices B is a limit in any case."""
    prices: Prices | None = None
    """Prices of looks and plans. With prices the first update is not forced."""
    looks: int | None = None
    """Budget of looks, where looks and plans have budgets of their own."""
    plans: int | None = None
    """Budget of plans, where looks and plans have budgets of their own."""
    planner: Planner = plan_by_induction
    current_kernel: Callable[[int], Kernel] | None = None
    """t -> P_t, for rules that need it."""
    declared_successors: Indices | None = None
    """(S, k) states to which steps can lead at any time."""
    family: Family | None = None
    """The family that the world declares."""

    def __post_init__(self) -> None:
        self.budgets = check_budgets(
            self.budget, self.horizon, prices=self.prices, looks=self.looks, plans=self.plans
        )
        """The most looks and the most plans that can be made."""
        if not callable(self.drift_bounds):
            self.drift_bounds = self.drift.bounds
        if not callable(self.reward) or not isinstance(self.reward(0), Reward):
            raise InputError("reward must be a function of time that returns a Reward")
        check_execution(self.execution)
        if not isinstance(self.forecast, Forecast):
            raise InputError(f"forecast must be a Forecast, not {self.forecast!r}")
        if self.forecast.moves and self.planner is not plan_by_induction:
            raise InputError("a planner of one's own plans on one kernel: it needs the forecast frozen")

    @cached_property
    def drift(self) -> Drift:
        """The drift bounds and their sums."""
        stated = self.drift_bounds() if callable(self.drift_bounds) else self.drift_bounds
        bounds = np.asarray(stated, dtype=float)
        if bounds.shape != (self.horizon - 1,) or not (bounds >= 0).all():
            raise InputError(f"drift_bounds must be {self.horizon - 1} numbers of at least 0")
        return Drift.of(bounds)

    @property
    def limit(self) -> int:
        """The most updates that can be made: B, or T - 1; of two budgets the larger."""
        return max(self.budgets)

    @property
    def parts(self) -> bool:
        """Whether a look or a plan can be made alone: they have budgets of their own, or prices."""
        return self.looks is not None or self.prices is not None

    @property
    def must_spend(self) -> bool:
        """Whether all of the budget is spent."""
        return self.spend_all and self.prices is None

    def make_update(
        self, time: int, kernel: Kernel, earlier: Earlier = None, *, kept: Plan | None = None
    ) -> Update:
        """Forecast from an estimate, and the one before it, and plan for min(H, T - t) steps.

        `kept` is the plan that this made before, where it is known; on a forecast that moves it is made anew.
        """
        expect = lru_cache(maxsize=None)(partial(self.expected, time, kernel, earlier))
        if not self.forecast.moves:
            horizon = min(self.planning_horizon, self.horizon - time)
            made = kept or self.planner(kernel, self.reward, time, horizon, self.ties)
            check_plan(made, kernel, time=time, belief=self.execution == "belief")
            return Update(time, kernel, made, make_propagation(self.execution, made, kernel), expect)
        expected = mean_kernel(expect(time))
        for t in range(time, self.horizon):
            validate_kernel(expected(t), like=self.nominal, origin="forecast")
        made = plan_ahead(
            expected, self.reward, time=time, end=self.horizon, horizon=self.planning_horizon, ties=self.ties
        )
        for each in (made, *made.later):
            check_plan(each, kernel, time=each.time, belief=self.execution == "belief")
        propagation = make_propagation(self.execution, made, kernel, expected)
        return Update(time, kernel, made, propagation, expect, earlier if self.forecast.compares else None)

    @cached_property
    def _surprise(self) -> Callable[[int, int], int]:
        return lru_cache(maxsize=4096)(
            lambda update, time: self.forecast.surprise(self.drift.bounds[:time], update, self.horizon)
        )

    def expected(self, time: int, kernel: Kernel, earlier: Earlier, now: int) -> tuple[Future, ...]:
        """Return what the forecast expects after an update at `time` with the drift bounds known by `now`."""
        bounds = self.drift.bounds[:now]
        return self.forecast.futures(Evidence(time, self.horizon, kernel, self.nominal, bounds, earlier))

    def context(self, rule: Rule, progress: Progress, state: int, time: int | None = None) -> Context:
        """Return the context at `time` (None: at the last update itself) for a rule."""
        time = progress.last_update if time is None else time
        update, (looks, plans) = progress.update, self.budgets
        surprise = progress.last_update
        if self.forecast.reconsiders:
            surprise = self._surprise(surprise, time)
        return Context(
            time=time,
            horizon=self.horizon,
            planning_horizon=self.planning_horizon,
            looks=looks,
            plans=plans,
            looks_left=progress.looks_left,
            plans_left=progress.plans_left,
            last_update=progress.last_update,
            kernel=update.kernel,
            plan=update.plan,
            propagation=update.propagation,
            expect=lambda now: update.expect(min(now, time)),
            surprise=surprise,
            reconsiders=self.forecast.reconsiders,
            reward=self.reward,
            execution=self.execution,
            declared_successors=self.declared_successors,
            family=self.family,
            given={need: self._given(rule, need, progress, state, time) for need in rule.needs},
            cache=update.cache,
            prices=self.prices,
            parts=self.parts,
        )

    def limit_for(self, rule: Rule) -> int:
        """Return the most updates that can be made, for a rule that needs a budget; raises without one."""
        if self.budget is None and self.looks is None:
            raise InputError(f"the rule {rule.name} needs a budget: give one with the price")
        return self.limit

    def _given(self, rule: Rule, need: Need, progress: Progress, state: int, time: int) -> Any:
        if need == Need.STATE:
            return state
        if need == Need.DRIFT_SO_FAR:
            return self.drift.until(time)
        if need == Need.DRIFT_AHEAD:
            return self.drift
        if need == Need.EARLIER_ESTIMATE:
            return None if progress.earlier is None else (progress.earlier.time, progress.earlier.kernel)
        if need == Need.BUDGET:
            return self.limit_for(rule)
        if need != Need.CURRENT_KERNEL:
            raise InputError(f"the rule {rule.name} needs {need!r}, not one of {', '.join(Need)}")
        if self.current_kernel is None:
            raise InputError("current_kernel is needed by the rule")
        return self.current_kernel(time)
