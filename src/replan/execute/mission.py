"""One mission: a world, a robot in it and a way to spend updates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from replan.errors import InputError, require
from replan.estimate.estimator import Estimator, Tracked, TrueKernel
from replan.execute.robot import Robot
from replan.execute.task import Progress, Task, Update
from replan.model.kernel import Indices, Kernel
from replan.model.sizes import Sizes
from replan.model.slip import SlipKernel
from replan.model.world import World
from replan.schedule.rule import Context, Need, Rule, RunningEstimate
from replan.schedule.spending import Spending


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
        _ = self.task  # it checks robot, spending and reward

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
    def _updates(self) -> Callable[[int, int], Update]:
        def update(time: int, earlier: int) -> Update:
            before = (earlier, self.estimate(earlier)) if earlier else None
            return self.task.make_update(time, self.estimate(time), before)

        return lru_cache(maxsize=self._updates_kept)(update)

    @property
    def _updates_kept(self) -> int:
        states, horizon = self.world.states, self.horizon
        if self.robot.forecast.compares and self.sizes.keeps_pairs(states, horizon):
            return horizon**2
        return 4 * horizon if states <= self.sizes.updates_kept else 2

    def estimate(self, time: int) -> Kernel:
        """Return what an update at a time learns of the kernel."""
        if not isinstance(self.estimator, TrueKernel):
            raise InputError("estimates that depend on what was seen are sampled, not evaluated exactly")
        return self.world.kernel(max(time - 1, 0))

    def update(self, time: int, earlier: int = 0) -> Update:
        """Return the update at a time in the paper's simulator (0: the free plan before the first one).

        `earlier` is the time of the update before, 0 if there was none; only forecasts can depend on it.
        """
        return self._updates(time, earlier if self.robot.forecast.compares else 0)

    def with_spending(self, spending: Spending) -> Mission:
        """Return the mission with another way to spend; both share their updates."""
        other = replace(self, spending=spending)
        vars(other)["_updates"] = self._updates
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

    def after(self, progress: Progress, time: int) -> Progress:
        """Return the books after a further update at `time`."""
        return progress.after(self.update(time, progress.update.time))

    def running(self, time: int, update: Update) -> RunningEstimate:
        """Return the running estimate of a localised robot, with the update in force."""

        def make() -> Update:
            if isinstance(self.estimator, Tracked):
                return self.update(time, update.time)
            return self._kept(time, update)

        kernel = self.estimate(time) if isinstance(self.estimator, Tracked) else update.kernel
        return RunningEstimate(kernel, make)

    @cached_property
    def _kept(self) -> Callable[[int, Update], Update]:
        """Plans anew on the estimate of the update in force."""

        def keep(time: int, update: Update) -> Update:
            before = (update.time, update.kernel) if update.time else None
            return self.task.make_update(time, update.kernel, before)

        return lru_cache(maxsize=4 * self.horizon)(keep)

    def context(self, rule: Rule, progress: Progress, state: int, time: int | None = None) -> Context:
        """Return the context at `time` (None: at the last update itself) for a rule."""
        running = None
        if Need.RUNNING_ESTIMATE in rule.needs:
            self.task.require(rule)
            running = self.running(progress.last_update if time is None else time, progress.update)
        return self.task.context(rule, progress, state, time, running)
