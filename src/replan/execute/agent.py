"""The skip-update loop for a robot (the paper's section 2.1 and Algorithm 1).

    agent.start(robot.look())
    while not agent.done:
        if agent.due().update:
            agent.update(robot.look())
        robot.do(agent.act())

A localised robot says at every step where it is, `agent.due(state)` and `agent.act(state)`, if it knows.

An update may take time (`Robot.update_steps`). Then `update` begins it, the old plan stays in force until the
new one arrives, and `due` asks for no other meanwhile.

Exceptions from the estimator, the planner or the rule are logged and warned about once, not raised. Without a
valid new plan the last one stays in force; the update is spent all the same. If the rule raises or is late,
only the budget can force an update.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import takewhile
from pathlib import Path
from typing import Any, Self

import numpy as np

from replan.errors import InputError, require, require_whole
from replan.estimate.estimator import (
    Estimator,
    Learned,
    Observation,
    Tracked,
    learns_between,
    validate_kernel,
    validate_learned,
    validate_look,
    validate_number,
)
from replan.execute.deadline import DeadlineExceeded
from replan.execute.mission import Mission, require_world
from replan.execute.robot import Robot
from replan.execute.saved_agent import describe_arguments, read, write
from replan.execute.trial import try_out
from replan.execute.updates import Arrival, Memory, UpdateMaker
from replan.model.kernel import Array, Indices
from replan.model.sizes import Sizes
from replan.model.world import Knowledge
from replan.planning.backward_induction import Plan
from replan.schedule.questions import decision_at, forced, named_update, settled
from replan.schedule.rule import Decision, Need, Rule, RunningEstimate, require_instance
from replan.skip.acting import Update
from replan.skip.spending import Spending

NOT_AT_REST = "the late work of an update still runs: the estimator is not at rest"
LATE_UPDATES = 2
"""Updates in a row that take longer than the time limit, after which the agent says what to do."""


@dataclass(frozen=True)
class Event:
    """One line of the agent's log."""

    time: int
    what: str
    """start, act, update, kept plan, refused update, failed rule, kept estimate, state missing or, of updates
    that take time, arrival, late plan or cancelled update."""
    why: str = ""
    state: int | None = None
    action: int | None = None
    decision: Decision | None = None


class Agent:
    """Says at every step whether to update, what to do, and why.

    Parameters
    ----------
    knowledge : Knowledge
        What the robot is told: horizon, nominal kernel, reward, drift bounds, declared structure.
    robot : Robot
        How it acts, estimates, forecasts and plans. It must have an estimator.
    spending : Spending
        The budget or price of updates.
    rule : Rule
        Decides when to update.
    time_limit : float, optional
        Seconds for the work of an update, and for a decision. Updates that take steps run in the background
        if there is a limit; else they are made at once, and their plans are held back until they are due.
    seed : int, optional
        Seed of the draws of a random rule, and of drawn durations where there is no time limit.
    log_length : int, optional
        Events kept in the log and in saved files, the newest; None keeps all.
    sizes : Sizes, optional
        Sizes from which work is done in another way.
    arrival : {"declared", "told"}
        When a new plan comes in force: after the steps that the robot declares, or as soon as it is done if
        that is later; or when `arrive` is called.
    trial : bool
        Make one estimate, one plan and one decision at construction, so that whatever cannot work is refused
        there.

    Raises
    ------
    InputError
        If something is missing, out of range or fails in the trial.
    """

    def __init__(
        self,
        knowledge: Knowledge,
        robot: Robot,
        spending: Spending,
        rule: Rule,
        *,
        time_limit: float | None = None,
        seed: int | None = None,
        log_length: int | None = None,
        sizes: Sizes | None = None,
        arrival: Arrival = "declared",
        trial: bool = True,
    ) -> None:
        sizes = Sizes() if sizes is None else sizes
        require(Sizes, sizes=sizes)
        require(bool, trial=trial)
        if seed is not None:
            require_whole(seed=seed)
        mission = Mission(knowledge, robot, spending, sizes)  # pyright: ignore[reportArgumentType]
        if robot.estimator is None:
            raise InputError("an agent needs a robot with an estimator")
        number = isinstance(time_limit, (int, float)) and not isinstance(time_limit, bool)
        if time_limit is not None and not (number and time_limit > 0):
            raise InputError(f"time_limit must be a positive number of seconds, not {time_limit!r}")
        if log_length is not None and not (isinstance(log_length, int) and log_length >= 1):
            raise InputError(f"log_length must be a whole number of at least 1, not {log_length!r}")
        self.estimator: Estimator = robot.estimator
        require_instance(rule)
        mission.require(rule)
        self.mission = mission
        _ = (
            knowledge.drift,
            mission.forecast,
            mission.spending_for(rule),
        )  # computed or refused here, not in the loop
        self.rule, self.seed, self.log_length = rule, seed, log_length
        self.log: list[Event] = []
        self._memory: Memory | None = None
        self._decision: tuple[int, Decision] | None = None
        self._maker = UpdateMaker(mission, self.estimator, time_limit=time_limit, arrival=arrival, seed=seed)
        self._warned, self._late_updates = False, 0
        if trial:
            try_out(self)

    @classmethod
    def on(cls, mission: Mission, rule: Rule, *, estimator: Estimator | None = None, **options: Any) -> Self:
        """Make an agent for a mission in a known world, on true kernels unless an estimator is given."""
        require_world(mission)
        robot = replace(mission.robot, estimator=mission.estimator if estimator is None else estimator)
        options = {"sizes": mission.sizes, **options}
        return cls(mission.world.knowledge, robot, mission.spending, rule, **options)

    @property
    def knowledge(self) -> Knowledge:
        """The knowledge of the robot."""
        return self.mission.knowledge

    @property
    def robot(self) -> Robot:
        """The robot, with its estimator, forecast and planner."""
        return self.mission.robot

    @property
    def spending(self) -> Spending:
        """The budget or price of updates."""
        return self.mission.spending_for(self.rule)

    @property
    def horizon(self) -> int:
        """T."""
        return self.mission.horizon

    @property
    def arrival(self) -> Arrival:
        """When new plans come in force."""
        return self._maker.arrival

    @property
    def time_limit(self) -> float | None:
        """Seconds for the work of an update, and for a decision."""
        return self._maker.time_limit

    @time_limit.setter
    def time_limit(self, seconds: float | None) -> None:
        self._maker.time_limit = seconds

    @property
    def learned(self) -> Learned:
        """The arrays of all that the estimator has learned."""
        return self._maker.learned

    def learn(self, change: Callable[..., Learned], *seen: Any) -> None:
        """Replace what is learned by `change(learned, *seen)`, for what is seen beside observations.

        The estimate in use changes with the next observation.
        """
        self._maker.learn(change, *seen)

    def start(self, state: int, *, policy: Indices | None = None) -> None:
        """Begin at t = 0 in a state seen for free; the first step is planned on the nominal kernel.

        A second start begins a new mission: what the estimator has learned is forgotten. `policy` as in
        `update`.
        """
        self._require_idle()
        self._maker.check_policy(policy)
        nominal = self.knowledge.nominal
        state = validate_number(state, nominal.states)
        update = self._maker.following(replace(self._free_update, cache={}), policy)
        estimate = update.propagation.begin(np.array([state]))
        self._memory = Memory(0, state, self.mission.beginning(update), estimate, nominal)
        self._maker.learned = validate_learned(self.estimator.begin())
        self.log = [Event(0, "start", state=state)]
        self._decision, self._warned, self._late_updates = None, False, 0
        self._maker.forget()

    @cached_property
    def _free_update(self) -> Update:
        """The plan of t = 0, made once: it depends neither on the state nor on the estimator."""
        return self.mission.make_update(0, self.knowledge.nominal)

    @property
    def time(self) -> int:
        """t, the step that `act` will take next."""
        return self._now.time

    @property
    def budget_left(self) -> int:
        """Updates not yet spent."""
        return self._now.progress.budget_left

    @property
    def done(self) -> bool:
        """Whether all T steps have been taken."""
        return self._now.time >= self.horizon

    @property
    def estimate(self) -> Any:
        """The likeliest state (map) or the (S,) belief about the state."""
        estimate = self._now.estimate
        return estimate[0] if isinstance(estimate, np.ndarray) else estimate.toarray()[0]

    @property
    def plan(self) -> Plan:
        """The plan in force."""
        return self._now.progress.update.plan

    @property
    def busy(self) -> bool:
        """Whether work still runs; unless it is that of a running update, the agent cannot be saved."""
        return self._maker.busy

    @property
    def updating(self) -> bool:
        """Whether an update has begun whose plan is not yet in force."""
        self._arrive()
        return self._now.pending is not None

    def due(self, state: int | None = None) -> Decision:
        """Return whether to update now. The answer at one time stays the same however often it is asked.

        A localised robot gives its present state; None stands for a state that is not known. The rule is then
        asked at the likeliest state. Once all T steps have been taken the answer is no, and no rule is asked.
        """
        self._arrive()
        self._see(state)
        now = self._now
        if self._decision is None or self._decision[0] != now.time:
            self._decision = (now.time, self._decide())
        return self._decision[1]

    def update(
        self,
        state: int | Array | None = None,
        previous: int | None = None,
        *,
        policy: Indices | None = None,
    ) -> bool:
        """Spend an update on the state seen now and, where known, the one before.

        (S,) probabilities may stand in place of the state: belief execution goes on from them, likeliest-cell
        execution from their mode. Estimator and rule are given the mode, as if it had been seen. A localised
        robot that does not know its state gives none. (S,) actions as `policy`, made by another planner, are
        put in force in place of those of the agent's own plan; belief execution, which needs values, and
        forecasts that move, which need a plan for every step, refuse them. Returns True if a new plan is in
        force, or will be: an update that takes time begins here.
        """
        self._maker.check_policy(policy)
        self._arrive()
        now, states, belief = self._now, self.knowledge.nominal.states, None
        if state is None and self.robot.sees:
            state = now.state
        else:
            state, belief = validate_look(state, states)
            if self.robot.sees:
                self._see(state)
        if previous is not None:
            previous = validate_number(previous, states, "previous")
        refusal = self.spending.refusal(
            left=now.progress.budget_left,
            time=now.time,
            last_update=now.progress.last_update,
            horizon=self.horizon,
            arrival=self._arrival,
        )
        if refusal is not None:
            self._record("refused update", refusal, state=state)
            return False
        decision = self.due()
        now.pending = self._maker.begin(now.observation(state, previous), policy, now)
        now.progress = now.progress.keeping(now.time)
        trouble = None if self._maker.takes_time else self._end_update(0)
        now.named_update, now.named, self._decision = None, False, None
        if not self.robot.sees:
            now.see(state, belief if self.robot.execution == "belief" else None)
            now.estimate_again()
        what = "update" if trouble is None else "kept plan"
        reason = decision.reason if decision.update else "made by the caller, though none was due"
        self._record(what, trouble or reason, state, decision=decision)
        return trouble is None

    def arrive(self, policy: Indices | None = None) -> None:
        """Say that the plan of the running update is here, for agents with arrival "told".

        It comes in force as soon as the agent's own work is done. (S,) actions as in `update`; None: the plan
        that the agent itself has made. To say that there is no plan, `cancel`.
        """
        pending = self._now.pending
        if pending is None:
            raise InputError("no update is running")
        self._maker.check_policy(policy)
        pending.told = True
        if policy is not None:
            pending.policy = policy
        self._arrive()

    def cancel(self) -> None:
        """Give up the running update. It is spent, and the old plan stays in force."""
        now = self._now
        if now.pending is None:
            raise InputError("no update is running")
        now.pending.work.abandoned = True
        self._drop_update("cancelled update", "the old plan stays in force")

    def act(self, state: int | None = None) -> int:
        """Return the action of this step; time moves on by one.

        A localised robot gives its present state. Where it is not known it acts by belief, pushed with the
        running estimate from where it was seen last.
        """
        if self.done:
            raise InputError(f"all {self.horizon} steps have been taken")
        self._arrive()
        self._see(state)
        now = self._now
        update, waiting = now.progress.update, self._maker.waiting
        if now.pending is not None and waiting is not None:
            actions = np.array([waiting])
        elif self.robot.sees and now.seen_at == now.time:
            actions = update.plan.at(now.time).policy[[now.state]]
        else:
            actions = update.in_force.act(now.estimate, now.time)
        if self.robot.sees:
            now.estimate = now.running.push(now.estimate, actions)
        else:
            now.estimate = update.in_force.advance(now.estimate, actions, now.time)
        action = int(actions[0])
        self._record("act", action=action)
        now.commanded.append(action)
        now.time += 1
        return action

    @cached_property
    def identity(self) -> dict[str, str]:
        """By name, the arguments that another agent must share to go on from a file that `save` wrote."""
        return describe_arguments(self)

    def save(self, path: str | Path, *, attached: Mapping[str, Any] | None = None) -> None:
        """Write everything that a later `restore` needs to go on from here; it begins a running update anew.

        `attached` are plain values of the caller's, kept in the same file (`saved_agent.read_attached`).
        """
        if not self._maker.is_known(self._now.pending):
            raise InputError(NOT_AT_REST)
        write(path, self, attached)

    def restore(self, path: str | Path) -> None:
        """Go on from a file that `save` wrote. The agent must have been made with the same arguments."""
        self._require_idle()
        now, log, learned = read(path, self)
        self._memory, self._maker.learned, self._decision = now, learned, None
        self.log = [
            Event(**{**each, "decision": each["decision"] and Decision(**each["decision"])}) for each in log
        ]
        self._maker.forget()
        if now.pending is not None:
            self._maker.work_on(now.pending, now.progress.update)

    @property
    def _now(self) -> Memory:
        if self._memory is None:
            raise InputError("call start(state) first")
        return self._memory

    def _require_idle(self) -> None:
        if self.busy:
            raise InputError(NOT_AT_REST)

    def _see(self, state: int | None) -> None:
        """Take in the state of a localised robot, and let its estimator learn from the way there."""
        if state is None:
            if self.robot.sees and self._now.time > self._now.seen_at:
                self._tell("state missing", "it acts by belief from where it was seen last", self._now.time)
                if isinstance(self.estimator, Tracked):  # it needs no state
                    self._learn(self._now.observation(self._now.state))
            return
        if not self.robot.sees:
            raise InputError(f"a robot of execution {self.robot.execution} tells its state at updates alone")
        now, state = self._now, validate_number(state, self.knowledge.nominal.states)
        learns = learns_between(self.estimator) and now.seen_at < now.time
        seen = now.observation(state, now.state if now.seen_at == now.time - 1 else None)
        now.see(state)
        now.estimate = now.progress.update.in_force.begin(np.array([state]))
        if learns:
            self._learn(seen)

    def _learn(self, seen: Observation) -> None:
        """Put the estimator's kernel in use. If it fails, the last estimate stays."""
        now = self._now
        try:
            kernel = self._maker.run("update", partial(self._maker.estimate, seen))
            if kernel is not now.running:
                now.running = validate_kernel(kernel, like=self.knowledge.nominal)
        except Exception as error:
            self._tell("kept estimate", f"{_described(error)}: the last estimate stays in use", now.time)

    def _tell(self, what: str, why: str, since: int) -> None:
        """Record once since a time what may be noticed several times."""
        recent = takewhile(lambda event: event.time >= since, reversed(self.log))
        if all(event.what != what for event in recent):
            self._record(what, why)

    @property
    def _arrival(self) -> int:
        """The time from which on the plan of the last update is in force; T + 1: not known yet."""
        return self._now.progress.update.arrival if self._now.pending is None else self.horizon + 1

    def _end_update(self, steps: int) -> str | None:
        """Put the plan of the running update in force. Return why the last one stays in force, if it does."""
        now, late, trouble = self._now, False, None
        pending = now.pending
        assert pending is not None
        try:
            self._maker.put_in_force(now, pending.work.outcome(self.time_limit)[steps])
        except Exception as error:
            late = isinstance(error, DeadlineExceeded)
            trouble = f"{_described(error)}: the last plan stays in force"
        if not self._maker.takes_time:
            self._count_late(late)
        if pending.seen is not None and pending.kernel is not None:
            now.running = pending.kernel
        now.pending = None
        return trouble

    def _count_late(self, late: bool) -> None:
        """Say once in a mission what to do about a planner that takes longer than the time limit."""
        if self._late_updates == LATE_UPDATES:
            return
        self._late_updates = self._late_updates + 1 if late else 0
        if self._late_updates == LATE_UPDATES:
            warnings.warn(
                f"replan: the last {LATE_UPDATES} updates took longer than time_limit={self.time_limit} s "
                "and their plans were lost: give a longer time_limit, or a robot with update_steps, "
                "the steps that an update takes, which goes on while its planner works",
                stacklevel=4,
            )

    def _arrive(self) -> None:
        """Put the plan of the running update in force, if it arrives now."""
        pending = self._now.pending
        if pending is None or self.done:
            return
        if (steps := self._maker.arriving(self._now)) is not None:
            trouble = self._end_update(steps)
            why = trouble or f"the plan begun at {pending.time} is in force"
            self._drop_update("arrival" if trouble is None else "kept plan", why)
        elif self.arrival == "declared" and self.time - pending.time > self._maker.durations[-1]:
            why = "the old plan stays in force until the new one is done"
            self._tell("late plan", why, pending.time + 1)

    def _drop_update(self, what: str, why: str) -> None:
        now = self._now
        now.pending, now.named_update, now.named, self._decision = None, None, False, None
        self._record(what, why)

    def _record(self, what: str, why: str = "", state: int | None = None, **details) -> None:
        self.log.append(Event(self._now.time, what, why, state, **details))
        if self.log_length is not None and len(self.log) >= 2 * self.log_length:
            del self.log[: -self.log_length]
        if what in ("kept plan", "kept estimate", "failed rule") and not self._warned:
            self._warned = True
            warnings.warn(f"replan: at time {self._now.time}: {why}", stacklevel=4)

    def _decide(self) -> Decision:
        now = self._now
        if self.done:
            return Decision(False, f"all {self.horizon} steps have been taken")
        left, steps = now.progress.budget_left, self.horizon - now.time
        known = settled(
            self.spending,
            time=now.time,
            last_update=now.progress.last_update,
            left=left,
            arrival=self._arrival,
        )
        if known is not None:
            return known
        try:
            if self._maker.is_busy_with("decision"):
                raise DeadlineExceeded("an earlier decision still runs")
            now.named_update, decision = self._maker.run("decision", partial(self._ask, replace(now)))
            now.named = True
            return decision
        except Exception as error:
            why = f"the rule failed: {_described(error)}"
            self._record("failed rule", why)
            must = self.spending.forces(left, steps)
            return Decision(must, forced(left, steps) if must else why)

    def _ask(self, now: Memory) -> tuple[int | None, Decision]:
        """Return the next update time that the rule names, and its decision; changes nothing."""
        state = now.state
        if self.robot.sees and now.seen_at < now.time:
            state = int(now.estimate.argmax())  # the likeliest one while it is missing
        context, named = partial(self.mission.context, self.rule, now.progress, state), now.named_update
        binding = not self.robot.sees or Need.STATE not in self.rule.needs
        if not now.named and binding:
            named = named_update(self.rule, context(), state, seed=self.seed)
        running = None
        if Need.RUNNING_ESTIMATE in self.rule.needs:
            possible = partial(self._maker.possible, now.time, now.running, now.progress.update)
            running = RunningEstimate(now.running, possible)
        return named, decision_at(self.rule, context(now.time, running), named)


def _described(error: Exception) -> str:
    """Return what went wrong in one line."""
    return str(error) if isinstance(error, DeadlineExceeded) else f"{type(error).__name__}: {error}"
