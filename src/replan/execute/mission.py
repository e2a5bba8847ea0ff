"""A mission: a world, a robot in it and a way to spend updates; and the schedule that a rule makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from hashlib import blake2b

import numpy as np

from replan.errors import InputError, require
from replan.estimate.estimator import Estimator, Tracked, TrueKernel
from replan.execute.robot import Robot
from replan.execute.task import PlanName, Progress, Task, Update
from replan.model.kernel import Indices, Kernel
from replan.model.sizes import Sizes
from replan.model.slip import SlipKernel
from replan.model.streams import DURATION, uniforms
from replan.model.world import World
from replan.schedule.ask import decision_at, named_update
from replan.schedule.rule import Context, Decision, Need, Rule, RunningEstimate
from replan.schedule.spending import Spending
from replan.skip.segments import commands


def require_mission(mission: object) -> None:
    """Raise `InputError` if something else, such as a setting, is given in place of a mission."""
    if isinstance(mission, str):
        raise InputError(
            f"mission must be a Mission, not {mission!r}: make_mission(load_setting(...)) makes one"
        )
    if not isinstance(mission, Mission):
        raise InputError(
            f"mission must be a Mission, not a {type(mission).__name__}: make_mission(setting) makes one"
        )


def require_instant(mission: Mission, what: str = "certificates hold") -> None:
    """Raise `InputError` if updates take time."""
    if not mission.task.latency.instant:
        raise InputError(f"{what} for updates that take no time: update_steps must be 0")


@dataclass(frozen=True)
class Mission:
    """Everything but the rule. Immutable; updates are computed once.

    Parameters
    ----------
    world : World
    robot : Robot
    spending : Spending
    sizes : Sizes
        Sizes from which the mission is worked on in another way.

    Raises
    ------
    InputError
        If one of these is of another type, the budget is larger than T - 1, or the reward is no function of
        time.

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
        require(World, world=self.world)
        object.__setattr__(self, "spending", self.task.spending)  # the task checks it, with robot and reward

    @cached_property
    def task(self) -> Task:
        """The robot with what it is told of the world; it makes updates and contexts."""
        return Task(self.world.knowledge, self.robot, self.spending, self.sizes)

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
        """Return an equal mission on the states that its robot can reach, if its world is large."""
        return self._within_reach

    @cached_property
    def _within_reach(self) -> Mission:
        if self.world.states <= self.sizes.whole_world:
            return self
        from replan.execute.reach import on_reach

        return on_reach(self)

    @cached_property
    def is_slip_grid(self) -> bool:
        """Whether every kernel of the world is slip on a grid."""
        return all(isinstance(self.world.kernel(t), SlipKernel) for t in range(self.horizon))

    @property
    def horizon(self) -> int:
        """T."""
        return self.world.horizon

    @property
    def limit(self) -> int:
        """The most updates that can be made: B, or T - 1."""
        return self.spending.most(self.horizon)

    @cached_property
    def estimator(self) -> Estimator:
        """The robot's, or else the paper's simulator: an update at t, localised any t, reveals P_{t-1}."""
        return self.robot.estimator or (Tracked if self.robot.sees else TrueKernel)(self.world)

    @cached_property
    def _updates(self) -> Callable[[int, int, int, bool], Update]:
        def update(time: int, earlier: int, steps: int, judged: bool) -> Update:
            before = (earlier, self.estimate(earlier)) if earlier else None
            planner = self.robot.judge if judged else None
            return self.task.make_update(time, self.estimate(time), before, steps=steps, planner=planner)

        return lru_cache(maxsize=self._updates_kept)(update)

    @cached_property
    def _delayed(self) -> Callable[[PlanName, PlanName], Update]:
        """(name of an update, name of the one that acts until it arrives) -> the update."""
        kept = max(self._updates_kept, self.horizon**2 if self._keeps_pairs else 0)
        return lru_cache(maxsize=kept)(
            lambda name, old: self.task.delayed(self.update(*name), self.update(*old))
        )

    @property
    def _keeps_pairs(self) -> bool:
        return self.sizes.keeps_pairs(self.world.states, self.horizon)

    @property
    def _updates_kept(self) -> int:
        states, horizon = self.world.states, self.horizon
        durations = len(self.robot.durations)
        if self.robot.forecast.compares and self._keeps_pairs:
            return horizon**2 * durations
        return 4 * horizon * durations if states <= self.sizes.updates_kept else 2

    def estimate(self, time: int) -> Kernel:
        """Return what an update at a time learns of the kernel."""
        if not isinstance(self.estimator, TrueKernel):
            raise InputError("estimates that depend on what was seen are sampled, not evaluated exactly")
        return self.world.kernel(max(time - 1, 0))

    def update(self, time: int, earlier: int = 0, steps: int = 0, *, judged: bool = False) -> Update:
        """Return the update at a time in the paper's simulator (0: the free plan before the first one).

        `earlier` is the time of the update before, 0 if there was none; only forecasts can depend on it. With
        `steps` it is the update once it has arrived, as `Task.make_update` returns it. If it is `judged`, the
        robot's judge makes the plan.
        """
        judged = judged and self.robot.judge is not self.robot.planner
        return self._updates(time, earlier if self.robot.forecast.compares else 0, steps, judged)

    def delayed(self, name: PlanName, old: PlanName) -> Update:
        """Return the update of a name, during which the robot goes on from the one of another name.

        Old plans that act alike until it arrives give the same update.
        """
        return self._delayed(name, self._alike(name[0], name[2], old)) if name[2] else self.update(*name)

    @cached_property
    def _alike(self) -> Callable[[int, int, PlanName], PlanName]:
        """(time, steps, name of a plan) -> the first plan seen that acts alike in these steps."""
        first: dict[tuple[int, int, bytes], PlanName] = {}

        def alike(time: int, steps: int, old: PlanName) -> PlanName:
            if self.task.latency.waiting is not None:
                return first.setdefault((time, steps, b"waits"), old)
            if not self._keeps_pairs:
                return old
            end, plan = min(time + steps, self.horizon), self.update(*old)
            if self.robot.sees:
                taken = b"".join(plan.policy_at(t).tobytes() for t in range(time, end))
            else:
                everyone = np.arange(self.world.states)
                taken = commands(
                    plan.propagation, everyone, begin=time, steps=end - time, tolerance=0.0
                ).tobytes()
            return first.setdefault((time, steps, blake2b(taken).digest()), old)

        return lru_cache(maxsize=None)(alike)

    def same_update(self, update: Update) -> Update:
        """Return this mission's update of the same name."""
        return self.update(*update.name) if update.old is None else self.delayed(update.name, update.old.name)

    def with_spending(self, spending: Spending) -> Mission:
        """Return the mission with another way to spend; both share their updates."""
        other = replace(self, spending=spending)
        vars(other).update(_updates=self._updates, _delayed=self._delayed, _alike=self._alike)
        return other

    def check_times(self, times: Iterable[int]) -> tuple[int, ...]:
        """Return the update times as a tuple, or raise an `InputError` if this mission cannot take them."""
        spending = self.spending.unforced() if self.robot.sees else self.spending
        return spending.check_times(times, self.horizon)

    def beginning(self) -> Progress:
        """Return the books before the first update."""
        return self.task.beginning(self.update(0))

    def progress(self, last_update: int, budget_left: int, earlier_update: int = 0) -> Progress:
        """Return the books after an update at `last_update`, the one before it at `earlier_update`."""
        earlier = self.update(earlier_update) if earlier_update else None
        return Progress(self.update(last_update, earlier_update), budget_left, last_update, earlier)

    def outcomes(self, progress: Progress, time: int) -> list[tuple[float, Progress]]:
        """Return the books after a further update at `time`, with the probability of each duration."""
        before = progress.update
        earlier = before.time if self.robot.forecast.compares else 0
        return [
            (probability, progress.after(self.delayed((time, earlier, steps), before.name)))
            for steps, probability in self.task.latency.durations
        ]

    def after(self, progress: Progress, time: int, *, seed: int | None = None) -> Progress:
        """Return the books after a further update at `time`, whose duration may be drawn by a seed."""
        outcomes = self.outcomes(progress, time)
        if len(outcomes) == 1:
            return outcomes[0][1]
        if seed is None:
            raise InputError("updates take a drawn number of steps: give a seed")
        steps = self.task.latency.drawn(float(uniforms(seed, time, DURATION)))
        return next(each for _, each in outcomes if each.update.steps == steps)

    def running(self, time: int, update: Update) -> RunningEstimate:
        """Return the running estimate of a localised robot, with the update in force."""

        def make(steps: int) -> Update:
            if isinstance(self.estimator, Tracked):
                return self.update(time, update.time, steps, judged=True)
            return self._kept(time, update, steps)

        kernel = self.estimate(time) if isinstance(self.estimator, Tracked) else update.kernel
        return RunningEstimate(kernel, make, lambda: update.judged)

    @cached_property
    def _kept(self) -> Callable[[int, Update, int], Update]:
        """Has the judge plan anew on the estimate of the update in force."""

        def keep(time: int, update: Update, steps: int) -> Update:
            before = (update.time, update.kernel) if update.time else None
            return self.task.make_update(time, update.kernel, before, steps=steps, planner=self.robot.judge)

        return lru_cache(maxsize=4 * self.horizon)(keep)

    def context(self, rule: Rule, progress: Progress, state: int, time: int | None = None) -> Context:
        """Return the context at `time` (None: at the last update itself) for a rule."""
        running = None
        if Need.RUNNING_ESTIMATE in rule.needs:
            self.task.require(rule)
            running = self.running(progress.last_update if time is None else time, progress.update)
        return self.task.context(rule, progress, state, time, running)


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
