"""The part that a mission and an agent share: it makes updates, contexts and the books of a mission."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from replan.errors import InputError, require
from replan.estimate.estimator import validate_kernel
from replan.execute.robot import Planner, Robot, plan_by_induction
from replan.forecast.base import Evidence, Forecast, Future, KernelAt, mean_kernel, validate_futures
from replan.model.kernel import Indices, Kernel, constant
from replan.model.sizes import Sizes
from replan.model.world import Knowledge
from replan.planning.backward_induction import Plan, check_plan, plan_ahead
from replan.schedule.rule import Context, Need, Rule, RunningEstimate
from replan.schedule.spending import FIRST_UPDATE, Spending
from replan.skip.latency import INSTANT, DelayedPropagation, Latency, WaitingPropagation
from replan.skip.propagation import Propagation, make_propagation

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
    judge: Callable[[], Plan] | None = field(default=None, repr=False)
    """Makes the judge's plan on the same estimate; None: the judge made `plan`."""

    @cached_property
    def judged(self) -> Plan:
        """The judge's plan on the same estimate and for the same time as `plan`."""
        return self.plan if self.judge is None else self.judge()

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


@dataclass(frozen=True, eq=False)
class Task:
    """A robot, what it knows and what it may spend."""

    knowledge: Knowledge
    robot: Robot
    spending: Spending
    sizes: Sizes = field(default_factory=Sizes, repr=False)

    def __post_init__(self) -> None:
        require(Knowledge, knowledge=self.knowledge)
        require(Sizes, sizes=self.sizes)
        require(Robot, robot=self.robot)
        require(Spending, spending=self.spending)
        object.__setattr__(self, "spending", self.spending.spaced(self.latency.spacing))
        self.spending.most(self.horizon)
        if not self.robot.sees:
            self.spending.require_room(self.horizon)
        if (shortest := self.latency.durations[0][0]) >= self.horizon:
            raise InputError(f"updates of {shortest} steps never arrive in {self.horizon} steps")

    @property
    def horizon(self) -> int:
        """T."""
        return self.knowledge.horizon

    @cached_property
    def latency(self) -> Latency:
        """The duration of updates and the action meanwhile. Raises `InputError` if the world has none."""
        if self.robot.durations == INSTANT.durations:
            return INSTANT
        return Latency(self.robot.durations, self.waiting)

    @cached_property
    def waiting(self) -> int | None:
        """The action while an update runs; None: the old plan acts on. Raises `InputError` as `latency`."""
        if self.robot.meanwhile == "go-on":
            return None
        if (waiting := self.knowledge.waiting_action) is None:
            raise InputError('meanwhile = "wait" needs a world with an action that stays: this one has none')
        return waiting

    @cached_property
    def forecast(self) -> Forecast:
        """The robot's, told what the robot knows and learns with."""
        return self.robot.forecast.informed_by(self.knowledge, self.robot.estimator)

    def beginning(self, update: Update) -> Progress:
        """Return the books before the first update, with the free plan of t = 0."""
        return Progress(update, self.spending.most(self.horizon), update.time)

    def make_update(
        self,
        time: int,
        kernel: Kernel,
        earlier: Earlier = None,
        *,
        steps: int = 0,
        learned: Learned | None = None,
        planner: Planner | None = None,
    ) -> Update:
        """Forecast from an estimate, and the one before it, and plan for min(H, T - t) steps.

        With `steps`, the plan is made for the time at which it arrives, t + steps; `delayed` adds what the
        robot does until then. A plan that arrives after the end is never used, and made for T - 1.

        The same arguments make the same update: a forecast sees what was `learned` then, not what has been
        learned since. `planner` is asked in place of the robot's; on a forecast that moves none is.
        """
        robot, reward = self.robot, self.knowledge.reward
        forecast, belief = self.forecast, robot.execution != "map"
        learned = dict(learned or {}) if forecast.continues else {}
        expect = lru_cache(maxsize=None)(partial(self.expected, time, kernel, earlier, learned=learned))
        begin = min(time + steps, self.horizon - 1)
        if not forecast.moves:
            horizon = min(robot.planning_horizon, self.horizon - begin)
            planner = planner or robot.planner
            made = planner(kernel, reward, begin, horizon, robot.ties)
            if isinstance(made, Plan) and made.kernel is not kernel:
                validate_kernel(made.kernel, like=self.knowledge.nominal, origin="planner")
            check_plan(made, kernel, time=begin, belief=belief)
            propagation = make_propagation(robot.execution, made, kernel, sizes=self.sizes)
            judge = partial(robot.judge, kernel, reward, begin, horizon, robot.ties)
            judge = None if planner is robot.judge else judge
            return Update(time, kernel, made, propagation, expect, steps=steps, judge=judge)
        expected = mean_kernel(expect(time))
        made = plan_ahead(
            expected, reward, time=begin, end=self.horizon, horizon=robot.planning_horizon, ties=robot.ties
        )
        later = self.horizon - begin - 1
        check_plan(made, kernel, time=begin, later=later, belief=belief)
        propagation = make_propagation(robot.execution, made, kernel, expected, sizes=self.sizes)
        before = earlier if forecast.compares else None
        return Update(time, kernel, made, propagation, expect, before, learned, steps=steps)

    def delayed(self, made: Update, old: Update) -> Update:
        """Return an update during which the robot goes on with the plan of `old`, or waits.

        `made` is the update as `make_update` returns it.
        """
        if not made.steps:
            return made
        waiting = self.latency.waiting
        acting = old.in_force if waiting is None else WaitingPropagation(waiting)
        expected = mean_kernel(made.futures) if self.forecast.moves else constant(made.kernel)
        propagation = DelayedPropagation(acting, made.propagation, expected, made.time, made.arrival)
        return replace(
            made, propagation=propagation, old=old, arrived=made.propagation, waiting=waiting, cache={}
        )

    @property
    def judges_plainly(self) -> bool:
        """Whether the judge plans by backward induction on one kernel, for now, without random ties."""
        robot = self.robot
        by_induction = robot.judge is plan_by_induction and not self.forecast.moves
        return by_induction and robot.ties.kind != "random" and self.latency == INSTANT

    def same_plan(self, made: Update, kernel: Kernel, time: int) -> bool:
        """Return whether the judge would make the same plan again at a later time on a kernel.

        Both updates take the same number of steps.
        """
        before, begin = made.plan.time, made.plan.time + time - made.time
        horizon = min(self.robot.planning_horizon, self.horizon - before)
        steps, reward = range(horizon), self.knowledge.reward
        return (
            made.kernel is kernel
            and not self.forecast.moves
            and self.robot.ties.kind != "random"
            and begin + horizon <= self.horizon
            and all(reward(begin + h) is reward(before + h) for h in steps)
        )

    def expected(
        self, time: int, kernel: Kernel, earlier: Earlier, now: int, *, learned: Learned | None = None
    ) -> tuple[Future, ...]:
        """Return what the forecast expects after an update at `time` with the drift bounds known by `now`."""
        known = self.knowledge
        bounds = known.drift.bounds[:now]
        futures = self.forecast.futures(
            Evidence(time, self.horizon, kernel, known.nominal, bounds, earlier, learned or {})
        )
        return validate_futures(futures, self._validated) if self.forecast.moves else futures

    @cached_property
    def _validated(self) -> Callable[[KernelAt], KernelAt]:
        """Expected kernels, each validated once when it is asked for; futures that share them still do."""

        made: WeakValueDictionary[KernelAt, KernelAt] = WeakValueDictionary()

        def validated(kernel: KernelAt) -> KernelAt:
            if (kept := made.get(kernel)) is not None:
                return kept
            known: dict[int, tuple[Kernel, Kernel]] = {}

            def at(t: int) -> Kernel:
                expected = kernel(t)
                if t not in known or known[t][0] is not expected:
                    valid = validate_kernel(expected, like=self.knowledge.nominal, origin="forecast")
                    known[t] = expected, valid
                return known[t][1]

            made[kernel] = at
            return at

        return validated

    @cached_property
    def _surprise(self) -> Callable[[int, int], int]:
        forecast, drift = self.forecast, self.knowledge.drift
        return lru_cache(maxsize=4096)(
            lambda update, time: forecast.surprise(drift.bounds[:time], update, self.horizon)
        )

    def spending_for(self, rule: Rule) -> Spending:
        """Return how a rule may spend: a localised robot has to make no update, unless the rule is exact."""
        free = self.robot.sees and not (rule.exact_budget and self.spending.exact)
        if free:
            return self.spending.unforced()
        self.spending.require_room(self.horizon)
        return self.spending

    def context(
        self,
        rule: Rule,
        progress: Progress,
        state: int,
        time: int | None = None,
        running: RunningEstimate | None = None,
    ) -> Context:
        """Return the context at `time` (None: at the last update itself) for a rule.

        `running` is the running estimate of a localised robot, for rules that need it.
        """
        time = progress.last_update if time is None else time
        known, robot, update = self.knowledge, self.robot, progress.update
        surprise, stays = progress.last_update, update.time < progress.last_update
        if robot.forecast.reconsiders:
            surprise = self._surprise(surprise, time)
        return Context(
            time=time,
            horizon=self.horizon,
            planning_horizon=robot.planning_horizon,
            spending=self.spending_for(rule),
            budget_left=progress.budget_left,
            last_update=progress.last_update,
            kernel=update.kernel,
            plan=update.plan,
            propagation=update.in_force if stays else update.propagation,
            expect=lambda now: update.expect(min(now, time)),
            surprise=surprise,
            reconsiders=robot.forecast.reconsiders,
            reveals=robot.forecast.reveals,
            reward=known.reward,
            execution=robot.execution,
            declared_successors=known.declared_successors,
            family=known.family,
            sizes=self.sizes,
            given={
                need: running
                if need == Need.RUNNING_ESTIMATE
                else self._given(rule, need, progress, state, time)
                for need in rule.needs
            },
            cache=update.cache,
            latency=self.latency,
            arrival=progress.last_update if stays else update.arrival,
            estimated_at=update.time,
        )

    def require(self, rule: Rule) -> None:
        """Raise `InputError` if the rule needs what the task does not have."""
        if strange := [need for need in rule.needs if need not in list(Need)]:
            raise InputError(f"the rule {rule.name} needs {strange[0]!r}, not one of {', '.join(Need)}")
        if Need.CURRENT_KERNEL in rule.needs and self.knowledge.current_kernel is None:
            raise InputError(f"the rule {rule.name} needs current_kernel")
        if Need.BUDGET in rule.needs and self.spending.limit is None:
            raise InputError(f"the rule {rule.name} needs a budget: give one with the price")
        if Need.RUNNING_ESTIMATE in rule.needs and not self.robot.sees:
            raise InputError(f"the rule {rule.name} is for localised robots: execution localised")
        if rule.weighs_the_state and self.robot.sees:
            raise InputError(
                f"the rule {rule.name} weighs the loss of not seeing the state: localised robots see theirs"
            )

    def _given(self, rule: Rule, need: Need, progress: Progress, state: int, time: int) -> Any:
        if need == Need.STATE:
            return state
        if need == Need.DRIFT_SO_FAR:
            return self.knowledge.drift.until(time)
        if need == Need.DRIFT_AHEAD:
            return self.knowledge.drift
        if need == Need.EARLIER_ESTIMATE:
            return None if progress.earlier is None else (progress.earlier.time, progress.earlier.kernel)
        if need == Need.CURRENT_KERNEL and self.knowledge.current_kernel is not None:
            return self.knowledge.current_kernel(time)
        if need != Need.BUDGET or self.spending.limit is None:
            self.require(rule)  # says what the task does not have
        return self.spending.limit
