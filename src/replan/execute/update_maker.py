"""Makes the updates of an agent: at once, within a time limit, or in the background.

An update that takes time runs from the look until its plan is in force (convention 15). The work is done in
the background, or at once if the agent has no time limit; then its plan is held back until it is due. The
arrival is at the declared number of steps, or later if the work is not done by then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from replan.errors import InputError, require_word
from replan.estimate.estimator import Estimator, Observation, learns_between, validate_kernel, validate_number
from replan.execute.deadline import BackgroundWork, Worker, described
from replan.execute.identity import kernel_arrays, kernel_from
from replan.execute.mission import Earlier, Mission
from replan.model.kernel import Array, Indices, Kernel
from replan.model.streams import DURATION, uniforms
from replan.skip.acting import Update
from replan.skip.spending import FIRST_UPDATE

if TYPE_CHECKING:
    from replan.execute.snapshot import Memory


Arrival = Literal["declared", "told"]
"""When a plan comes in force: after the declared steps, or later once it is done; or when it is told."""


@dataclass(frozen=True, eq=False)
class BegunUpdate:
    """All that the work of an update depends on, so that a restored agent can do it again."""

    time: int
    """Time of the look."""
    state: int
    """The state seen."""
    belief: Array | None
    """(S,) probabilities that were given in place of the state."""
    seen: Observation | None
    """The observation that the estimator learns from; None if `kernel` is known already."""
    kernel: Kernel | None
    """The running estimate of a robot that learns at every step; None if the estimator is asked."""
    learned: Mapping[str, np.ndarray] | None = field(repr=False)
    """Arrays of the estimator before; None if it was not at rest, and the update cannot be saved."""
    steps: int | None
    """Steps until the arrival; None: the work itself takes the time."""


@dataclass(eq=False)
class RunningUpdate:
    """Work that was begun, and what has been told of it since."""

    begun: BegunUpdate
    job: BackgroundWork
    """Makes {steps: update}, a plan for each time at which it may arrive."""
    policy: Indices | None = None
    """(S,) actions that take the place of the plan's."""
    told: bool = False
    """Whether the arrival was told."""

    def arrival(self, time: int, arrival: Arrival, durations: tuple[int, ...]) -> int | None:
        """Return the number of steps whose plan arrives now; None if none does yet."""
        elapsed, steps = time - self.begun.time, self.begun.steps
        if not self.job.done:
            return None
        if arrival == "told":
            return durations[0] if self.told else None
        if steps is not None:
            return steps if elapsed >= steps else None
        if elapsed > durations[-1]:
            return durations[-1]
        return elapsed if elapsed in durations else None

    def arrived(self, made: Update, time: int) -> Update:
        """Return the update with its true number of steps."""
        elapsed = time - self.begun.time
        return made if made.steps == elapsed else replace(made, steps=elapsed)

    def estimate(self, update: Update, commanded: list[int], *, belief: bool) -> object:
        """Return the estimate of a blind robot: from the look, by the new kernels, through its actions."""
        propagation, begun = update.propagation, self.begun
        estimate = propagation.begin(np.array([begun.state]))
        if belief and begun.belief is not None:
            seen = begun.belief[None, :]
            estimate = replace(estimate, arriving=seen) if update.steps else seen
        for time, action in enumerate(commanded, start=begun.time):
            estimate = propagation.advance(estimate, np.array([action]), time)
        return estimate

    def fields(self) -> dict[str, Any]:
        """Return plain values from which the update can begin again, beside `arrays`."""
        begun = self.begun
        seen = None if begun.seen is None else vars(begun.seen)
        plain = {"time": begun.time, "state": begun.state, "steps": begun.steps}
        return {**plain, "told": self.told, "seen": seen}

    def arrays(self) -> dict[str, np.ndarray]:
        """Return arrays from which the update can begin again."""
        begun = self.begun
        arrays = {f"learned_{name}": array for name, array in (begun.learned or {}).items()}
        if begun.kernel is not None:
            arrays |= {f"kernel_{name}": array for name, array in kernel_arrays(begun.kernel).items()}
        given = {"belief": begun.belief, "policy": self.policy}
        return arrays | {name: np.asarray(array) for name, array in given.items() if array is not None}


def begun_from(
    fields: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    *,
    like: Kernel,
    horizon: int,
    durations: tuple[int, ...],
) -> BegunUpdate:
    """Return what `RunningUpdate.fields` and `RunningUpdate.arrays` were made from, validated."""
    kernel, seen, steps = None, fields["seen"], fields["steps"]
    if steps is not None and validate_number(steps, durations[-1] + 1, "steps of an update") not in durations:
        raise ValueError(f"an update of {steps} steps")
    if seen is not None:
        seen = Observation(**{**seen, "commanded": tuple(seen["commanded"])})
    else:
        kernel = validate_kernel(kernel_from(without_prefix("kernel_", arrays)), like=like)
    return BegunUpdate(
        time=validate_number(fields["time"], horizon, "time of an update"),
        state=validate_number(fields["state"], like.states),
        belief=arrays.get("belief"),
        seen=seen,
        kernel=kernel,
        learned=without_prefix("learned_", arrays),
        steps=steps,
    )


def without_prefix(prefix: str, entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries whose names begin with a prefix, named without it."""
    return {name.removeprefix(prefix): each for name, each in entries.items() if name.startswith(prefix)}


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
        self.waiting = (
            mission.waiting if self.takes_time else None
        )  # refused here where there is no such action
        if arrival == "declared" and len(self.durations) > 1 and time_limit is None and seed is None:
            raise InputError("updates take a drawn number of steps: give a seed, or a time limit")
        self._possible: dict[int, Update] = {}  # by steps: those that a localised robot could make
        self._workers: dict[str, Worker] = {}  # by kind of work, from the first that has a time limit

    @property
    def learns_at_every_step(self) -> bool:
        """Whether the estimate is known before an update begins."""
        return self.mission.robot.sees and learns_between(self.estimator)

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

    def run(
        self, work: str, learn: Callable[[], Any], make: Callable[[Any], Any] = lambda learned: learned
    ) -> Any:
        """Run `learn`, then `make` on its result; with a time limit a `Worker` of that kind of work does."""
        if self.time_limit is None and work not in self._workers:
            return make(learn())
        return self._workers.setdefault(work, Worker()).run(learn, make, timeout=self.time_limit)

    def possible(self, time: int, kernel: Kernel, before: Update, steps: int = 0) -> Update:
        """Return the update that could be made now on the running estimate, with the judge's plan."""
        last = self._possible.get(steps)
        if last is None or last.kernel is not kernel or last.time != time:
            if last is not None and self._same_plan(last, kernel, time):
                plan = replace(last.plan, time=last.plan.time + time - last.time)
                last = replace(last, time=time, plan=plan, cache=dict(last.cache))
            else:
                learned = self.estimator.save() if self.mission.forecast.continues else None
                last = self.mission.make_update(
                    time,
                    kernel,
                    _earlier(before),
                    steps=steps,
                    learned=learned,
                    planner=self.mission.robot.judge,
                )
            self._possible[steps] = last
        return last

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

    def make(self, seen: Observation, now: Memory) -> Update:
        """Estimate, forecast and plan within the time limit; the estimate becomes the running one."""
        before, robot = now.progress.update, self.mission.robot
        if self.learns_at_every_step and robot.planner is robot.judge:
            return self.run("update", partial(self.possible, seen.time, now.running, before))
        if self.learns_at_every_step:
            return self.run(
                "plan", partial(self.mission.make_update, seen.time, now.running, _earlier(before))
            )

        def make(kernel: Kernel) -> Update:
            learned = self.estimator.save() if self.mission.forecast.continues else None
            now.running = valid = validate_kernel(kernel, like=self.mission.knowledge.nominal)
            return self.mission.make_update(seen.time, valid, _earlier(before), learned=learned)

        return self.run("update", partial(self.estimator.estimate, seen), make)

    @property
    def takes_time(self) -> bool:
        """Whether updates are not done in the step in which they begin."""
        return self.arrival == "told" or not self.mission.latency.instant

    def start(
        self, seen: Observation, belief: Array | None, policy: Indices | None, now: Memory
    ) -> RunningUpdate:
        """Begin an update that takes time."""
        known, learned, steps = self.learns_at_every_step, None, None
        if not self.busy:
            learned = {name: np.array(array) for name, array in self.estimator.save().items()}
        if self.arrival == "declared" and self.time_limit is None:
            number = 0.0 if self.seed is None else float(uniforms(self.seed, now.time, DURATION))
            steps = self.mission.latency.drawn(number)
        begun = BegunUpdate(
            time=now.time,
            state=seen.state,
            belief=belief,
            seen=None if known else seen,
            kernel=now.running if known else None,
            learned=learned,
            steps=steps,
        )
        return self.resume(begun, now.progress.update, policy)

    def resume(self, begun: BegunUpdate, before: Update, policy: Indices | None = None) -> RunningUpdate:
        """Begin the work of an update, for the first time or again after a restart."""
        durations = self.durations if begun.steps is None else (begun.steps,)
        learn = partial(self._estimated, begun)
        make = partial(self._plans, begun, before, durations[:1] if self.arrival == "told" else durations)
        if self.time_limit is None:
            job = BackgroundWork(learn, make)
            job.run()
            job.finished.set()
        else:
            work = "plan" if begun.seen is None else "update"
            job = self._workers.setdefault(work, Worker()).begin(learn, make)
        return RunningUpdate(begun, job, policy)

    def _estimated(self, begun: BegunUpdate) -> Kernel:
        if begun.seen is None:
            assert begun.kernel is not None
            return begun.kernel
        return validate_kernel(self.estimator.estimate(begun.seen), like=self.mission.knowledge.nominal)

    def _plans(
        self, begun: BegunUpdate, before: Update, durations: tuple[int, ...], kernel: Kernel
    ) -> dict[int, Update]:
        """Return an update for each number of steps after which it may arrive."""
        learned = None
        if self.mission.forecast.continues:
            learned = begun.learned if begun.seen is None else self.estimator.save()
        make = partial(self.mission.make_update, begun.time, kernel, _earlier(before), learned=learned)
        if self.arrival == "told" and self.mission.forecast.moves:
            return {durations[0]: make()}  # it has a plan for every step at which it may arrive
        return {steps: make(steps=steps) for steps in durations}

    def is_late(self, now: Memory) -> bool:
        """Return whether the running update is past its declared time."""
        assert now.pending is not None
        return self.arrival == "declared" and now.time - now.pending.begun.time > self.durations[-1]

    def arrive(self, now: Memory) -> tuple[str, str] | None:
        """Put the plan of the running update in force if it arrives now.

        Returns how the update ended and why, None if it still runs.
        """
        pending = now.pending
        assert pending is not None
        steps = pending.arrival(now.time, self.arrival, self.durations)
        if steps is None:
            return None
        begun = pending.begun
        try:
            made = self.following(pending.job.outcome()[steps], pending.policy)
        except Exception as error:
            return "kept plan", f"{described(error)}: the last plan stays in force"
        update = self.mission.begun(pending.arrived(made, now.time), now.progress.update)
        now.progress = now.progress.arrived(update)
        if not self.mission.robot.sees:
            belief = self.mission.robot.execution == "belief"
            now.estimate = pending.estimate(update, now.commanded, belief=belief)
        if begun.seen is not None:
            now.running = made.kernel
        return "arrival", f"the plan begun at {begun.time} is in force"

    def check_policy(self, policy: Indices | None) -> None:
        """Raise `InputError` if a policy is given to a robot that cannot follow it."""
        if policy is not None and self.mission.robot.execution == "belief":
            raise InputError("a belief is weighed with the values of a plan: a policy has none")
        if policy is not None and self.mission.forecast.moves:
            raise InputError("a policy is for one kernel: it needs the forecast frozen")

    def following(self, made: Update, policy: Indices | None) -> Update:
        """Return an update with (S,) actions in place of those of its plan."""
        if policy is None:
            return made
        self.forget()  # it may depend on the plan in force
        steps, plan = made.plan.time - made.time, replace(made.plan, policy=np.asarray(policy))
        changed = self.mission.make_update(
            made.time,
            made.kernel,
            made.earlier,
            steps=steps,
            learned=made.learned,
            planner=lambda *_: plan,
        )
        return replace(changed, steps=made.steps, judge=lambda: made.judged)


def _earlier(before: Update) -> Earlier:
    return (before.time, before.kernel) if before.time >= FIRST_UPDATE else None
