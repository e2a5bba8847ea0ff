"""Makes the updates of an agent: at once, within a time limit, or in the background.

Every update begins with a look and ends when its plan is in force, or has failed. One that takes no time does
so in the same step. One that takes time runs until its plan arrives (convention 15): its work is done in the
background, or at once if the agent has no time limit; then its plan is held back until it is due. The arrival
is at the declared number of steps, or later if the work is not done by then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from replan.errors import InputError, require_word
from replan.estimate.estimator import (
    Estimator,
    Learned,
    Observation,
    learns_between,
    validate_kernel,
    validate_learned,
)
from replan.execute.deadline import Work, Worker
from replan.execute.mission import Earlier, Mission, Progress
from replan.model.kernel import Array, Indices, Kernel
from replan.model.streams import DURATION, uniforms
from replan.skip.acting import BothEstimates, Update
from replan.skip.spending import FIRST_UPDATE

Arrival = Literal["declared", "told"]
"""When a plan comes in force: after the declared steps, or later once it is done; or when it is told."""


@dataclass(eq=False)
class RunningUpdate:
    """An update that has begun, with all that its work depends on, so that it can be done again."""

    time: int
    """Time of the look."""
    seen: Observation | None
    """The observation that the estimator learns from; None if `kernel` is known already."""
    kernel: Kernel | None
    """The estimate: of a robot that learns at every step, else that of this update once it is made."""
    learned: Learned | None = field(repr=False)
    """Arrays of the estimator before the work; None if it waits for earlier work."""
    steps: int | None
    """Steps until the arrival; None: the work itself takes the time."""
    policy: Indices | None = None
    """(S,) actions that take the place of the plan's."""
    told: bool = False
    """Whether the arrival was told."""
    work: Work = field(init=False, repr=False)
    """Makes {steps: update}, a plan for each time at which it may arrive."""


@dataclass
class Memory:
    """State of an agent in mid-mission."""

    time: int
    state: int
    """Seen last."""
    progress: Progress
    estimate: Any
    """State estimate of the propagation: (1,) the likeliest state, or (1, S) the belief."""
    running: Kernel
    """The estimate of the kernel in use now; that of the last update unless the robot is localised."""
    named_update: int | None = None
    """The next update time, if the rule named one."""
    named: bool = False
    """Whether the rule was asked for it since the last update."""
    commanded: list[int] = field(default_factory=list)
    """Actions since the state was seen."""
    seen_at: int = 0
    """Time at which the state was seen last: at the last update, or by a localised robot."""
    belief: Array | None = None
    """(S,) probabilities that were given in place of the state."""
    pending: RunningUpdate | None = None
    """The update that has begun and whose plan is not yet in force."""

    def observation(self, state: int, previous: int | None = None) -> Observation:
        """Return what a look at the state shows now."""
        last = self.commanded[-1] if self.commanded else None
        return Observation(self.time, state, previous, last, tuple(self.commanded))

    def see(self, state: int, belief: Array | None = None) -> None:
        """Keep the state that is seen now, or the probabilities of which it is the mode."""
        self.state, self.belief, self.seen_at, self.commanded = state, belief, self.time, []

    def estimate_again(self) -> None:
        """Propagate the estimate from the last look, with the plan in force, through the actions since."""
        update = self.progress.update
        acts = update.propagation if update.time == self.seen_at else update.in_force
        estimate = acts.begin(np.array([self.state]))
        if self.belief is not None:
            seen = self.belief[None, :]
            estimate = replace(estimate, arriving=seen) if isinstance(estimate, BothEstimates) else seen
        for time, action in enumerate(self.commanded, start=self.seen_at):
            estimate = acts.advance(estimate, np.array([action]), time)
        self.estimate = estimate


class UpdateMaker:
    """Estimates and plans for an agent, in threads of its own if there is a time limit."""

    def __init__(
        self,
        mission: Mission,
        estimator: Estimator,
        *,
        time_limit: float | None,
        arrival: Arrival,
        seed: int | None,
    ) -> None:
        require_word(get_args(Arrival), arrival=arrival)
        self.mission, self.estimator, self.time_limit, self.seed = mission, estimator, time_limit, seed
        self.arrival: Arrival = arrival
        self.durations = tuple(steps for steps, _ in mission.latency.durations)
        self.takes_time = arrival == "told" or not mission.latency.instant
        self.waiting = mission.waiting if self.takes_time else None  # refused here if there is no such action
        if arrival == "declared" and len(self.durations) > 1 and time_limit is None and seed is None:
            raise InputError("updates take a drawn number of steps: give a seed, or a time limit")
        self.learned: Learned = validate_learned(estimator.begin())
        self._possible: dict[int, Update] = {}  # by steps: those that a localised robot could make
        self._workers: dict[str, Worker] = {}  # by kind of work, from the first that has a time limit

    @property
    def busy(self) -> bool:
        """Whether work still runs."""
        return any(worker.busy for worker in self._workers.values())

    def is_busy_with(self, work: str) -> bool:
        """Return whether one kind of work still runs."""
        return work in self._workers and self._workers[work].busy

    def forget(self) -> None:
        """Drop what was made for the plan in force before."""
        self._possible = {}

    def run(self, work: str, do: Callable[[], Any]) -> Any:
        """Return the result of one kind of work, within the time limit if there is one."""
        return self._begin(work, Work(do)).outcome(self.time_limit)

    def learn(self, change: Callable[..., Learned], *seen: Any) -> None:
        """Replace what is learned by `change(learned, *seen)`, after work that still runs."""

        def replace_learned() -> None:
            self.learned = validate_learned(change(self.learned, *seen))

        if self.is_busy_with("update"):
            self._workers["update"].begin(Work(replace_learned))
        else:
            replace_learned()

    def estimate(self, seen: Observation) -> Kernel:
        """Let the estimator learn from an observation and return its kernel as it is."""
        learned, kernel = self.estimator.estimate(self.learned, seen)
        self.learned = validate_learned(learned)
        return kernel

    def possible(self, time: int, kernel: Kernel, before: Update, steps: int = 0) -> Update:
        """Return the update that could be made now on the running estimate, with the judge's plan."""
        last = self._possible.get(steps)
        if last is None or last.kernel is not kernel or last.time != time:
            if last is not None and self._same_plan(last, kernel, time):
                plan = replace(last.plan, time=last.plan.time + time - last.time)
                last = replace(last, time=time, plan=plan, cache={})
            else:
                judge = self.mission.robot.judge
                last = self.mission.make_update(
                    time, kernel, _earlier(before), steps=steps, learned=self.learned, planner=judge
                )
            self._possible[steps] = last
        return last

    def begin(self, seen: Observation, policy: Indices | None, now: Memory) -> RunningUpdate:
        """Begin an update. Without a time limit its work is done here."""
        known, steps = self.mission.robot.sees and learns_between(self.estimator), None
        if self.arrival == "declared" and self.time_limit is None:
            number = 0.0 if self.seed is None else float(uniforms(self.seed, now.time, DURATION))
            steps = self.mission.latency.drawn(number)
        running = RunningUpdate(
            now.time,
            None if known else seen,
            now.running if known else None,
            self.learned if known else None,
            steps,
            policy,
        )
        self.work_on(running, now.progress.update)
        return running

    def work_on(self, running: RunningUpdate, before: Update) -> None:
        """Begin the work of an update, for the first time or again after a restart."""
        work = Work(partial(self._estimated, running), partial(self._plans, running, before))
        running.work = self._begin("plan" if running.seen is None else "update", work)

    def is_known(self, pending: RunningUpdate | None) -> bool:
        """Return whether all is known from which an agent can go on: no other work has yet to learn."""
        if pending is None:
            return not self.busy
        return pending.learned is not None and not (pending.seen is None and self.is_busy_with("update"))

    def arriving(self, now: Memory) -> int | None:
        """Return the number of steps whose plan arrives now; None if none does yet."""
        pending = now.pending
        if pending is None or not pending.work.done():
            return None
        if self.arrival == "told":
            return self.durations[0] if pending.told else None
        elapsed, durations = now.time - pending.time, self.durations
        if pending.steps is not None:
            durations = (pending.steps,)
        arrives = elapsed in durations or elapsed > durations[-1]
        return min(elapsed, durations[-1]) if arrives else None

    def put_in_force(self, now: Memory, made: Update) -> None:
        """Put the plan of the running update in force, or the policy that takes its place."""
        pending = now.pending
        assert pending is not None
        made, elapsed = self.following(made, pending.policy), now.time - pending.time
        made = made if made.steps == elapsed else replace(made, steps=elapsed)
        now.progress = now.progress.arrived(self.mission.begun(made, now.progress.update))
        if elapsed and not self.mission.robot.sees:
            now.estimate_again()

    def check_policy(self, policy: Indices | None) -> None:
        """Raise `InputError` if a policy is given to a robot that cannot follow it."""
        if policy is not None and self.mission.robot.execution == "belief":
            raise InputError("a belief is weighed with the values of a plan: a policy has none")
        if policy is not None and self.mission.forecast.moves:
            raise InputError("a policy is for one kernel: it needs the forecast frozen")
        try:
            np.asarray(policy)
        except ValueError:
            raise InputError("a policy is one action for each state") from None

    def following(self, made: Update, policy: Indices | None) -> Update:
        """Return an update with (S,) actions in place of those of its plan."""
        if policy is None:
            return made
        self.forget()  # it may depend on the plan in force
        steps, plan = made.plan.time - made.time, replace(made.plan, policy=np.asarray(policy))
        changed = self.mission.make_update(
            made.time, made.kernel, made.earlier, steps=steps, learned=made.learned, planner=lambda *_: plan
        )
        return replace(changed, steps=made.steps, judge=lambda: made.judged)

    def _begin(self, kind: str, work: Work) -> Work:
        """Have work done: at once, or with a time limit by the `Worker` of its kind."""
        if self.time_limit is None and kind not in self._workers:
            work.do()
            return work
        return self._workers.setdefault(kind, Worker()).begin(work)

    def _estimated(self, running: RunningUpdate) -> Kernel:
        if running.seen is not None:
            running.learned = self.learned
            running.kernel = validate_kernel(self.estimate(running.seen), like=self.mission.knowledge.nominal)
        assert running.kernel is not None
        return running.kernel

    def _plans(self, running: RunningUpdate, before: Update, kernel: Kernel) -> dict[int, Update]:
        """Return an update for each number of steps after which it may arrive."""
        robot, durations, told = self.mission.robot, self.durations, self.arrival == "told"
        if running.seen is None and robot.planner is robot.judge:
            make = partial(self.possible, running.time, kernel, before)
        else:
            learned = running.learned if running.seen is None else self.learned
            make = partial(self.mission.make_update, running.time, kernel, _earlier(before), learned=learned)
        if told and self.mission.forecast.moves:
            return {durations[0]: make()}  # it has a plan for every step at which it may arrive
        if running.steps is not None:
            durations = (running.steps,)
        return {steps: make(steps=steps) for steps in (durations[:1] if told else durations)}

    def _same_plan(self, made: Update, kernel: Kernel, time: int) -> bool:
        """Return whether the judge would make the same plan again at a later time on a kernel.

        Both updates take the same number of steps.
        """
        mission, robot = self.mission, self.mission.robot
        before, begin = made.plan.time, made.plan.time + time - made.time
        horizon, reward = min(robot.planning_horizon, mission.horizon - before), mission.knowledge.reward
        return (
            made.kernel is kernel
            and not mission.forecast.moves
            and robot.ties.kind != "random"
            and begin + horizon <= mission.horizon
            and all(reward(begin + h) is reward(before + h) for h in range(horizon))
        )


def _earlier(before: Update) -> Earlier:
    return (before.time, before.kernel) if before.time >= FIRST_UPDATE else None
