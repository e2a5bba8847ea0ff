"""A mission: a world, a robot in it and a way to spend updates. It makes updates, contexts and the books.

`evaluate` and rollouts know the world; an `Agent` has a mission of the `Knowledge` that its robot is told,
and estimates of its own. Everything else is one and the same here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from hashlib import blake2b
from typing import Any

import numpy as np

from replan.errors import InputError, require
from replan.estimate.estimator import Estimator, Tracked, TrueKernel, validate_kernel
from replan.execute.robot import Planner, Robot
from replan.forecast.base import Evidence, Forecast, Future, mean_kernel, validate_futures
from replan.model.kernel import Kernel, constant
from replan.model.reach import crop
from replan.model.sizes import Sizes
from replan.model.streams import DURATION, uniforms
from replan.model.world import Knowledge, World
from replan.planning.backward_induction import Plan, check_plan, plan_ahead
from replan.schedule.questions import decision_at, named_update
from replan.schedule.rule import Context, Decision, Need, Rule, RunningEstimate
from replan.skip.acting import UntilArrival, Update, Waiting, make_propagation
from replan.skip.latency import INSTANT, Latency
from replan.skip.spending import FIRST_UPDATE, Spending

Earlier = tuple[int, Kernel] | None
"""Time and estimate of the update before, None if there was none."""


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

    def key(self, rule: Rule) -> tuple[int, ...]:
        """Return all that tells contexts of the rule apart."""
        earlier = self.earlier if Need.EARLIER_ESTIMATE in rule.needs else None
        return self.last_update, self.budget_left, earlier.time if earlier else 0, *self.update.name


@dataclass(frozen=True)
class Mission:
    """Everything but the rule. Immutable; updates are computed once.

    Parameters
    ----------
    world : World
        An agent's mission has the `Knowledge` of its robot in place of a world.
    robot : Robot
    spending : Spending
    sizes : Sizes
        Sizes from which the mission is worked on in another way.

    Raises
    ------
    InputError
        If one of these is of another type, the budget does not fit into the steps, or the robot cannot act in
        this world.

    Examples
    --------
    >>> from replan import Robot, Spending, evaluate, load_setting, make_rule
    >>> world = load_setting("two-burst").build()
    >>> mission = Mission(world, Robot(planning_horizon=7), Spending.exactly(4))
    >>> round(evaluate(mission, make_rule("periodic")).regret, 3)
    0.772
    """

    world: World
    robot: Robot
    spending: Spending
    sizes: Sizes = field(default_factory=Sizes, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.world, Knowledge):
            require(World, world=self.world)
            require(Knowledge, knowledge=self.knowledge)  # made now: that checks the rewards
        require(Sizes, sizes=self.sizes)
        require(Robot, robot=self.robot)
        require(Spending, spending=self.spending)
        object.__setattr__(self, "spending", self.spending.spaced(self.latency.spacing))
        self.spending.most(self.horizon)
        if not self.robot.sees:
            self.spending.require_room(self.horizon)
        if (shortest := self.latency.durations[0][0]) >= self.horizon:
            raise InputError(f"updates of {shortest} steps never arrive in {self.horizon} steps")

    @cached_property
    def _made(self) -> _Made:
        return _Made(self)

    def with_spending(self, spending: Spending) -> Mission:
        """Return the mission with another way to spend; both share their updates."""
        other = replace(self, spending=spending)
        object.__setattr__(other, "_made", self._made)
        return other

    @property
    def horizon(self) -> int:
        """T."""
        return self.world.horizon

    @property
    def limit(self) -> int:
        """The most updates that can be made: B, or T - 1."""
        return self.spending.most(self.horizon)

    @cached_property
    def knowledge(self) -> Knowledge:
        """What the robot is told."""
        return self.world.knowledge if isinstance(self.world, World) else self.world

    @cached_property
    def latency(self) -> Latency:
        """The duration of updates and the action meanwhile. Raises `InputError` if the world has none."""
        if self.robot.durations == INSTANT.durations:
            return INSTANT
        return Latency(self.robot.durations, self.waiting)

    @property
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

    @cached_property
    def estimator(self) -> Estimator:
        """The robot's, or else the paper's simulator: an update at t, localised any t, reveals P_{t-1}."""
        return self.robot.estimator or (Tracked if self.robot.sees else TrueKernel)(self.world)

    @cached_property
    def cropped(self) -> Mission:
        """The mission on the states that its robot can reach, if they are few of many."""
        forecast, steps = self.robot.forecast, self.horizon + self.robot.planning_horizon
        large = self.world.states > self.sizes.whole_world and type(self) is Mission
        large &= self.robot.estimator is None or isinstance(self.robot.estimator, TrueKernel)
        if not large or self.robot.ties.kind == "random":
            return self
        sources = self.forecast.sources(self.horizon)
        world = None if sources is None else crop(self.world, steps, sources, share=self.sizes.part_share)
        if world is None:
            return self
        assert world.part is not None
        robot = replace(self.robot, forecast=forecast.within(world.part.kernel), estimator=None)
        return replace(self, world=world, robot=robot)

    # Updates.

    def update(self, time: int, before: Update | None = None, steps: int = 0) -> Update:
        """Return the update at a time in the paper's simulator (0: the free plan before the first one).

        `before` is the update in force; forecasts can depend on it, and its plan acts for the `steps` that
        the update takes.
        """
        earlier = before.time if before is not None and self.robot.forecast.compares else 0
        made = self._made.arrived(time, earlier, steps)
        return self._made.delayed(made, self._made.acting_alike(made, before)) if steps and before else made

    def estimate(self, time: int) -> Kernel:
        """Return what an update at a time learns of the kernel."""
        if not isinstance(self.estimator, TrueKernel):
            raise InputError("estimates that depend on what was seen are sampled, not evaluated exactly")
        return self.world.kernel(max(time - 1, 0))

    def make_update(
        self,
        time: int,
        kernel: Kernel,
        earlier: Earlier = None,
        *,
        steps: int = 0,
        learned: Mapping[str, np.ndarray] | None = None,
        planner: Planner | None = None,
    ) -> Update:
        """Forecast from an estimate, and the one before it, and plan for min(H, T - t) steps.

        With `steps`, the plan is made for the time at which it arrives, t + steps; `begun` adds what the
        robot does until then. A plan that arrives after the end is never used, and made for T - 1.

        The same arguments make the same update: a forecast sees what was `learned` then, not what has been
        learned since. `planner` is asked in place of the robot's; on a forecast that moves none is.
        """
        robot, reward, forecast = self.robot, self.knowledge.reward, self.forecast
        belief, begin = robot.execution != "map", min(time + steps, self.horizon - 1)
        learned = dict(learned or {}) if forecast.continues else {}
        expect = lru_cache(maxsize=None)(partial(self._expected, time, kernel, earlier, learned))
        name = time, earlier[0] if earlier and forecast.compares else 0, steps
        if not forecast.moves:
            horizon, planner = min(robot.planning_horizon, self.horizon - begin), planner or robot.planner
            made, later, expected = planner(kernel, reward, begin, horizon, robot.ties), 0, None
            if isinstance(made, Plan) and made.kernel is not kernel:
                validate_kernel(made.kernel, like=self.knowledge.nominal, origin="planner")
            judge = (
                None
                if planner is robot.judge
                else partial(robot.judge, kernel, reward, begin, horizon, robot.ties)
            )
        else:
            expected, later, judge = mean_kernel(expect(time)), self.horizon - begin - 1, None
            made = plan_ahead(
                expected,
                reward,
                time=begin,
                end=self.horizon,
                horizon=robot.planning_horizon,
                ties=robot.ties,
            )
        check_plan(made, kernel, time=begin, later=later, belief=belief)
        propagation = make_propagation(robot.execution, made, kernel, expected, sizes=self.sizes)
        return Update(
            time, kernel, made, propagation, name, expect, earlier if forecast.compares else None, learned,
            steps=steps, judge=judge,
        )  # fmt: skip

    def begun(self, made: Update, before: Update) -> Update:
        """Return an update that takes time: until it arrives another plan acts, or the robot waits."""
        if not made.steps:
            return made
        waiting, forecast = self.latency.waiting, self.forecast
        acting = before.in_force if waiting is None else Waiting(waiting)
        expected = mean_kernel(made.futures) if forecast.moves else constant(made.kernel)
        propagation = UntilArrival(acting, made.propagation, expected, made.time, made.arrival)
        name = (*made.name[:3], *before.name[:3])
        return replace(made, propagation=propagation, name=name, before=before, waiting=waiting, cache={})

    def _expected(
        self, time: int, kernel: Kernel, earlier: Earlier, learned: Mapping[str, np.ndarray], now: int
    ) -> tuple[Future, ...]:
        """Return what the forecast expects after an update at `time` with the drift bounds known by `now`."""
        known, bounds = self.knowledge, self.knowledge.drift.bounds[:now]
        evidence = Evidence(time, self.horizon, kernel, known.nominal, bounds, earlier, learned)
        futures = self.forecast.futures(evidence)
        return validate_futures(futures, known.nominal) if self.forecast.moves else futures

    # Books, and what rules are told.

    def beginning(self, update: Update | None = None) -> Progress:
        """Return the books before the first update, with the free plan of t = 0."""
        return Progress(update or self.update(0), self.limit, 0)

    def progress(self, last_update: int, budget_left: int, earlier_update: int = 0) -> Progress:
        """Return the books after an update at `last_update`, the one before it at `earlier_update`."""
        earlier = self.update(earlier_update) if earlier_update else None
        return Progress(self.update(last_update, earlier), budget_left, last_update, earlier)

    def after(self, progress: Progress, time: int, *, seed: int | None = None) -> Progress:
        """Return the books after a further update at `time`, whose duration may be drawn by a seed."""
        steps = self.latency.durations[0][0]
        if len(self.latency.durations) > 1:
            if seed is None:
                raise InputError("updates take a drawn number of steps: give a seed")
            steps = self.latency.drawn(float(uniforms(seed, time, DURATION)))
        return progress.after(self.update(time, progress.update, steps))

    def spending_for(self, rule: Rule) -> Spending:
        """Return how a rule may spend: a localised robot has to make no update, unless the rule is exact."""
        if not (rule.exact_budget and self.spending.exact):
            return self.allowed
        self.spending.require_room(self.horizon)
        return self.spending

    @property
    def allowed(self) -> Spending:
        """How a schedule may spend: a localised robot has to make no update."""
        return self.spending.unforced() if self.robot.sees else self.spending

    def check_times(self, times: Iterable[int]) -> tuple[int, ...]:
        """Return the update times as a tuple, or raise an `InputError` if this mission cannot take them."""
        return self.allowed.check_times(times, self.horizon)

    def require(self, rule: Rule) -> None:
        """Raise `InputError` if the rule needs what the mission does not have."""
        needs = rule.needs
        if strange := [need for need in needs if need not in list(Need)]:
            raise InputError(f"the rule {rule.name} needs {strange[0]!r}, not one of {', '.join(Need)}")
        if Need.CURRENT_KERNEL in needs and self.knowledge.current_kernel is None:
            raise InputError(f"the rule {rule.name} needs current_kernel")
        if Need.BUDGET in needs and self.spending.limit is None:
            raise InputError(f"the rule {rule.name} needs a budget: give one with the price")
        if Need.RUNNING_ESTIMATE in needs and not self.robot.sees:
            raise InputError(f"the rule {rule.name} is for localised robots: execution localised")
        if rule.weighs_the_state and self.robot.sees:
            raise InputError(
                f"the rule {rule.name} weighs the loss of not seeing the state: localised robots see theirs"
            )

    def context(
        self,
        rule: Rule,
        progress: Progress,
        state: int,
        time: int | None = None,
        running: RunningEstimate | None = None,
    ) -> Context:
        """Return the context at `time` (None: at the last update itself) for a rule.

        `running` is the running estimate of an agent's robot; that of the paper's simulator is known here.
        """
        time, known = progress.last_update if time is None else time, self.knowledge
        if running is None and Need.RUNNING_ESTIMATE in rule.needs and isinstance(self.world, World):
            running = self._made.running(time, progress.update)
        told = {
            Need.STATE: lambda: state,
            Need.DRIFT_SO_FAR: lambda: known.drift.until(time),
            Need.DRIFT_AHEAD: lambda: known.drift,
            Need.CURRENT_KERNEL: lambda: known.current_kernel and known.current_kernel(time),
            Need.EARLIER_ESTIMATE: lambda: (
                progress.earlier and (progress.earlier.time, progress.earlier.kernel)
            ),
            Need.BUDGET: lambda: self.spending.limit,
            Need.RUNNING_ESTIMATE: lambda: running,
        }
        surprise = progress.last_update
        if self.robot.forecast.reconsiders:
            surprise = self._made.surprise(surprise, time)
        return Context(
            time=time,
            horizon=self.horizon,
            planning_horizon=self.robot.planning_horizon,
            spending=self.spending_for(rule),
            budget_left=progress.budget_left,
            last_update=progress.last_update,
            update=progress.update,
            surprise=surprise,
            forecast=self.robot.forecast,
            reward=known.reward,
            execution=self.robot.execution,
            declared_successors=known.declared_successors,
            family=known.family,
            sizes=self.sizes,
            latency=self.latency,
            given={need: told[need]() for need in rule.needs},
        )


class _Made:
    """The updates that a mission has made, and what it knows of them."""

    def __init__(self, mission: Mission) -> None:
        self.mission, states, horizon = mission, mission.knowledge.nominal.states, mission.horizon
        durations, pairs = len(mission.robot.durations), horizon**2
        self.keeps_pairs = mission.sizes.keeps_pairs(states, horizon)
        kept = 4 * horizon * durations if states <= mission.sizes.updates_kept else 2
        if mission.robot.forecast.compares and self.keeps_pairs:
            kept = pairs * durations
        self.arrived = lru_cache(maxsize=kept)(self._arrived)
        self.delayed = lru_cache(maxsize=max(kept, pairs if self.keeps_pairs else 0))(mission.begun)
        self.running = lru_cache(maxsize=4 * horizon)(self._running)
        self.surprise = lru_cache(maxsize=4096)(self._surprise)
        self._first_alike: dict[tuple[int, int, bytes], Update] = {}

    def _arrived(self, time: int, earlier: int, steps: int, *, judged: bool = False) -> Update:
        """Return the update at a time, after one at another time, as `Mission.make_update` makes it."""
        mission, robot = self.mission, self.mission.robot
        before = (earlier, mission.estimate(earlier)) if earlier else None
        planner = robot.judge if judged else None
        return mission.make_update(time, mission.estimate(time), before, steps=steps, planner=planner)

    def acting_alike(self, made: Update, before: Update) -> Update:
        """Return the first update seen whose plan acts as that of another one until an update arrives."""
        mission, time, end = self.mission, made.time, min(made.arrival, self.mission.horizon)
        before = self.arrived(*before.name[:3])
        if mission.latency.waiting is not None:
            taken = b"waits"
        elif not self.keeps_pairs:
            return before
        elif mission.robot.sees:
            taken = b"".join(before.plan.at(t).policy.tobytes() for t in range(time, end))
        else:
            everyone = np.arange(mission.world.states)
            taken = before.propagation.commands(everyone, begin=time, steps=end - time).tobytes()
        return self._first_alike.setdefault((time, made.steps, blake2b(taken).digest()), before)

    def _running(self, time: int, before: Update) -> RunningEstimate:
        """Return the running estimate in the paper's simulator, with an update in force."""
        mission, robot = self.mission, self.mission.robot
        if isinstance(mission.estimator, Tracked):
            earlier, own = before.time if robot.forecast.compares else 0, robot.judge is not robot.planner
            judged = {"judged": True} if own else {}
            make = partial(self.arrived, time, earlier, **judged)
            return RunningEstimate(mission.estimate(time), lambda steps: make(steps=steps))
        known = (before.time, before.kernel) if before.time else None
        make = partial(mission.make_update, time, before.kernel, known, planner=robot.judge)
        return RunningEstimate(before.kernel, lru_cache(maxsize=None)(lambda steps: make(steps=steps)))

    def _surprise(self, update: int, time: int) -> int:
        bounds = self.mission.knowledge.drift.bounds[:time]
        return self.mission.forecast.surprise(bounds, update, self.mission.horizon)


def require_world(mission: Any) -> None:
    """Raise `InputError` if this is not a mission in a known world."""
    if not isinstance(mission, Mission):
        what = repr(mission) if isinstance(mission, str) else f"a {type(mission).__name__}"
        raise InputError(f"mission must be a Mission, not {what}: make_mission(setting) makes one")
    if not isinstance(mission.world, World):
        raise InputError("this needs a mission in a known world, not one of a robot's knowledge")


def require_instant(mission: Mission, what: str = "certificates hold") -> None:
    """Raise `InputError` if updates take time."""
    if not mission.latency.instant:
        raise InputError(f"{what} for updates that take no time: update_steps must be 0")


@dataclass(frozen=True)
class Timeline:
    """Update times and the decisions behind them."""

    times: tuple[int, ...]
    """Times of the updates."""
    decisions: tuple[tuple[int, Decision], ...] = field(repr=False)
    """(t, decision), as far as the rule was asked."""


def make_timeline(
    mission: Mission,
    rule: Rule,
    *,
    seed: int | None = None,
    explain: bool = True,
    only_updates: bool = False,
) -> Timeline:
    """Return the timeline of a rule that does not depend on the states seen, with the draws of `seed`.

    Without `explain` a rule that names its times is not asked to put them into numbers. With `only_updates`
    the decisions against an update are not kept, whose number grows with the horizon.
    """
    if Need.STATE in rule.needs:
        raise InputError(f"{rule.name} depends on the states seen: its times come from a rollout")
    start, progress = mission.world.start, mission.beginning()
    times: list[int] = []
    decisions: list[tuple[int, Decision]] = []
    while progress.budget_left:
        context = partial(mission.context, rule, progress, start)
        named = named_update(rule, context(), start, seed=seed)
        following = mission.horizon
        for t in range(context().earliest_update, mission.horizon) if named is None else [named]:
            if t == mission.horizon or (named is not None and not explain):
                following = t
                break
            decision = decision_at(rule, context(t), named)
            if decision.update or not only_updates:
                decisions.append((t, decision))
            if decision.update:
                following = t
                break
        if following == mission.horizon:
            break
        times.append(following)
        if len(times) < mission.limit:
            progress = mission.after(progress, following, seed=seed)
        else:
            break
    return Timeline(tuple(times), tuple(decisions))
