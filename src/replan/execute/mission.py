"""One mission: a world, a budget of updates, and how the robot plans and acts in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import Any

from replan.errors import InputError
from replan.estimate.estimator import Estimator, TrueKernel
from replan.execute.config import AgentConfig, Progress, Update
from replan.forecast.base import Forecast, Frozen
from replan.model.kernel import Indices, Kernel
from replan.model.window import LARGE
from replan.model.world import World
from replan.planning.ties import Ties
from replan.schedule.budget import Kind, Prices, check_times
from replan.schedule.rule import Context, Rule
from replan.skip.propagation import Execution

ALL_KEPT = 10_000
"""States up to which all updates are kept; else the last two."""


@dataclass(frozen=True)
class Mission:
    """Everything but the rule. Immutable; updates are computed once."""

    world: World
    budget: int | None
    """B; None: prices alone, or two budgets."""
    planning_horizon: int
    """H."""
    ties: Ties = field(default_factory=Ties)
    execution: Execution = "map"
    spend_all: bool = True
    """Spend exactly B updates; False: at most B. With prices B is a limit in any case."""
    prices: Prices | None = None
    """Prices of looks and plans. With prices the first update is not forced."""
    forecast: Forecast = field(default_factory=Frozen)
    """Forecast of the kernels after an update."""
    looks: int | None = None
    """Budget of looks, where looks and plans have budgets of their own."""
    plans: int | None = None
    """Budget of plans, where looks and plans have budgets of their own."""

    config: AgentConfig = field(init=False, repr=False, compare=False)
    """The settings of an agent on this mission."""

    def __post_init__(self) -> None:
        config = AgentConfig(
            horizon=self.horizon,
            planning_horizon=self.planning_horizon,
            budget=self.budget,
            reward=self.world.reward,
            nominal=self.world.kernel(0),
            forecast=self.forecast,
            drift_bounds=lambda: self.world.drift_bounds,
            execution=self.execution,
            ties=self.ties,
            spend_all=self.spend_all,
            prices=self.prices,
            looks=self.looks,
            plans=self.plans,
            current_kernel=self.world.kernel,
            declared_successors=self.world.declared_successors,
            family=self.world.family,
        )
        object.__setattr__(self, "config", config)

    def options(self) -> dict[str, Any]:
        """Return the arguments that make this mission, by name."""
        return {each.name: vars(self)[each.name] for each in fields(Mission) if each.init}

    @property
    def is_whole(self) -> bool:
        """Whether the world has all states of the mission's, and is not part of a larger one."""
        return True

    def seen(self, states: Indices) -> Indices:
        """Return states as rules see them."""
        return states

    def unseen(self, states: Indices) -> Indices:
        """Return states that rules see as states of the world."""
        return states

    def within_reach(self) -> Mission:
        """Return an equal mission on the cells that its robot can reach, where its world is a large grid."""
        if self.world.states <= LARGE:
            return self
        from replan.execute.reach import on_window

        return on_window(self)

    @property
    def horizon(self) -> int:
        """T."""
        return self.world.horizon

    @cached_property
    def estimator(self) -> Estimator:
        """The paper's simulator: an update at t reveals P_{t-1}."""
        return TrueKernel(self.world)

    @cached_property
    def _updates(self) -> Callable[[int, int], Update]:
        def update(time: int, earlier: int) -> Update:
            before = (earlier, self.estimate(earlier)) if earlier else None
            return self.config.make_update(time, self.estimate(time), before)

        return lru_cache(maxsize=4 * self.horizon if self.world.states <= ALL_KEPT else 2)(update)

    def estimate(self, time: int) -> Kernel:
        """Return what an update at a time learns of the kernel."""
        return self.world.kernel(max(time - 1, 0))

    def update(self, time: int, earlier: int = 0) -> Update:
        """Return the update at a time in the paper's simulator (0: the free plan before the first one).

        `earlier` is the time of the update before, 0 if there was none; only forecasts can depend on it.
        """
        return self._updates(time, earlier if self.forecast.compares else 0)

    def with_budget(
        self,
        budget: int | None,
        *,
        prices: Prices | None = None,
        looks: int | None = None,
        plans: int | None = None,
    ) -> Mission:
        """Return the mission with another budget, with prices or two budgets; both share their updates."""
        other = replace(self, budget=budget, prices=prices, looks=looks, plans=plans)
        vars(other)["_updates"] = self._updates
        return other

    @property
    def required_budget(self) -> int:
        """B; raises `InputError` on a mission that has prices."""
        if self.budget is None or self.prices is not None:
            raise InputError("this needs one budget, without a price")
        return self.budget

    @property
    def limit(self) -> int:
        """The most updates that can be made: B, or T - 1; of two budgets the larger."""
        return self.config.limit

    @property
    def apart(self) -> bool:
        """Whether looks and plans have budgets of their own."""
        return self.looks is not None

    @property
    def priced_apart(self) -> bool:
        """Whether there are prices, and looks and plans have prices or budgets of their own."""
        return self.prices is not None and (self.prices.apart or self.apart)

    def check_times(self, times: Iterable[int]) -> tuple[int, ...]:
        """Return the update times as a tuple, or raise an `InputError` if this mission cannot take them."""
        return check_times(
            times,
            budget=self.limit,
            horizon=self.horizon,
            at_most=not self.config.must_spend,
            first_at_1=self.prices is None,
        )

    def beginning(self) -> Progress:
        """Return the bookkeeping before the first update."""
        looks, plans = self.config.budgets
        return Progress(self.update(0), looks, plans_left=plans)

    def progress(self, last_update: int, budget_left: int, earlier_update: int = 0) -> Progress:
        """Return the bookkeeping after an update at `last_update`, the one before it at `earlier_update`."""
        earlier = self.update(earlier_update) if earlier_update else None
        return Progress(self.update(last_update, earlier_update), budget_left, earlier)

    def after(self, progress: Progress, time: int, kind: Kind = Kind.BOTH) -> Progress:
        """Return the progress after a further update at `time`, or after a part of one."""
        if Kind.PLAN not in kind:
            return progress.keeping(time, kind)
        return progress.after(self.update(time, progress.update.time), look=Kind.LOOK in kind)

    def context(self, rule: Rule, progress: Progress, state: int, time: int | None = None) -> Context:
        """Return the context at `time` (None: at the last update itself) for a rule."""
        return self.config.context(rule, progress, state, time)
