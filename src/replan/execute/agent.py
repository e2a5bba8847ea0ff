"""The skip-update loop for a robot (the paper's section 2.1 and Algorithm 1).

    agent.start(robot.look())
    while not agent.done:
        if agent.due().update:
            agent.update(robot.look())
        robot.do(agent.act())

Exceptions from the estimator, the planner or the rule are logged and warned about once, not raised. Without a
valid new plan the last one stays in force; the update is spent all the same. If the rule raises or is late,
only the budget can force an update.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from replan.errors import InputError
from replan.estimate.estimator import (
    Estimator,
    Observation,
    TrueKernel,
    validate_kernel,
    validate_look,
    validate_number,
)
from replan.execute import snapshot
from replan.execute.config import AgentConfig, Progress, Update
from replan.execute.deadline import DeadlineExceeded, Worker
from replan.execute.identity import describe_arguments
from replan.execute.memory import Event, Memory
from replan.execute.mission import Mission
from replan.execute.trial import check_limits, require_rule, try_out
from replan.model.kernel import Array, Kernel
from replan.planning.backward_induction import Plan
from replan.schedule.ask import FORCED, decision_at, named_update
from replan.schedule.budget import FIRST_UPDATE, Kind, forced_parts
from replan.schedule.rule import Decision, Rule
from replan.skip.propagation import likeliest

FREE_STEP = Decision(False, "the first step is free")
FIRST = Decision(True, "the first update")
JUST_UPDATED = Decision(False, "just updated")

EVENTS = {Kind.BOTH: "update", Kind.LOOK: "look", Kind.PLAN: "plan"}
"""Words of the log for the parts of an update."""


@dataclass(kw_only=True, eq=False, repr=False)
class Agent(AgentConfig):
    """Says at every step whether to update, what to do, and why."""

    rule: Rule
    estimator: Estimator
    time_limit: float | None = None
    """Seconds for the work of an update, and for a decision."""
    seed: int | None = None
    """Seed of the draws of a random rule."""
    log_length: int | None = None
    """Events kept in the log and in saved files, the newest; None: all."""
    trial: bool = True
    """Make one plan and one decision at construction, so that whatever cannot work is refused there."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.drift_bounds = self.drift.bounds
        check_limits(self.time_limit, self.log_length)
        require_rule(self, self.rule)
        self.forecast = self.forecast.informed_by(self.estimator)
        self.log: list[Event] = []
        self._memory: Memory | None = None
        self._decision: tuple[int, Decision] | None = None
        self._workers: dict[str, Worker] = {}  # by kind of work, from the first that has a time limit
        self._warned = False
        if self.trial:
            try_out(self, self.rule, seed=self.seed)

    @classmethod
    def on(cls, mission: Mission, rule: Rule, *, estimator: Estimator | None = None, **options) -> Self:
        """Make an agent for a mission in a known world, on true kernels unless an estimator is given."""
        given = {each.name: vars(mission.config)[each.name] for each in fields(AgentConfig)}
        settings = {**given, **options}
        return cls(rule=rule, estimator=estimator or mission.estimator, **settings)

    def start(self, state: int) -> None:
        """Begin at t = 0 in a state seen for free; the first step is planned on the nominal kernel."""
        state = validate_number(state, self.nominal.states)
        update = self.make_update(0, self.nominal)
        self._memory = Memory(
            0,
            state,
            Progress(update, self.budgets[0], plans_left=self.budgets[1]),
            update.propagation.begin(np.array([state])),
        )
        self.log = [Event(0, "start", state=state)]
        self._decision, self._warned = None, False

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
        """Whether late work still runs; until it ends the agent cannot be saved."""
        return any(worker.busy for worker in self._workers.values())

    def due(self) -> Decision:
        """Return whether to update now. The answer at one time stays the same however often it is asked."""
        now = self._now
        if self._decision is None or self._decision[0] != now.time:
            self._decision = (now.time, self._decide())
        return self._decision[1]

    def update(self, state: int | Array, previous: int | None = None) -> bool:
        """Spend an update on the state seen now and, where known, the one before.

        (S,) probabilities may stand in place of the state: belief execution goes on from them, likeliest-cell
        execution from their mode. Estimator and rule are given the mode, as if it had been seen.
        With two budgets it makes the part that is left once the other is spent. Returns True if a new plan is
        in force.
        """
        return self._spend(self._now.progress.kinds_left or Kind.BOTH, state, previous)

    def look(self, state: int | Array, previous: int | None = None) -> bool:
        """Spend a look on the state seen now and keep the plan. Returns whether it was allowed."""
        return self._spend(Kind.LOOK, state, previous)

    def replan(self) -> bool:
        """Spend a plan without a look: the estimate of the state is kept. Returns True if it is in force."""
        return self._spend(Kind.PLAN)

    def _spend(self, kind: Kind, state: int | Array | None = None, previous: int | None = None) -> bool:
        """Make these parts of an update, with the state seen now where it is one of them."""
        now, belief = self._now, None
        if Kind.LOOK in kind:
            state, belief = validate_look(state, self.nominal.states)
        else:
            state = int(likeliest(now.estimate)[0])
        if previous is not None:
            previous = validate_number(previous, self.nominal.states, "previous")
        if refusal := self._refusal(kind):
            self._record("refused update", refusal, state=state)
            return False
        decision, trouble = self.due(), None
        last = now.commanded[-1] if now.commanded else None
        seen = Observation(now.time, state, previous, last, tuple(now.commanded))
        try:
            if Kind.PLAN in kind:
                now.progress = now.progress.after(self._make(seen, kind), look=Kind.LOOK in kind)
            else:
                now.known = self._run("update", self._learn(seen, kind))
                now.progress = now.progress.keeping(now.time, kind)
        except Exception as error:
            trouble = f"{_described(error)}: the last plan stays in force"
            now.progress = now.progress.keeping(now.time, kind)
        now.state, now.named_update, now.named = state, None, False
        if Kind.LOOK in kind:
            now.commanded = []
            now.estimate = now.progress.update.propagation.begin(np.array([state]))
            if belief is not None and self.execution == "belief":
                now.estimate = belief[None, :]
        self._decision = None
        what = EVENTS[kind] if trouble is None else "kept plan"
        self._record(what, trouble or decision.reason, state, decision=decision)
        return trouble is None

    def act(self) -> int:
        """Return the action of this step; time moves on by one."""
        if self.done:
            raise InputError(f"all {self.horizon} steps have been taken")
        now = self._now
        propagation = now.progress.update.propagation
        actions = propagation.act(now.estimate, now.time)
        now.estimate = propagation.advance(now.estimate, actions, now.time)
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
        """Write everything that a later `restore` needs to go on from here.

        `attached` are plain values of the caller's that are kept in the same file (`snapshot.read_attached`).
        """
        self._require_idle()
        snapshot.write(path, self, attached)

    def restore(self, path: str | Path) -> None:
        """Go on from a file that `save` wrote. The agent must have been made with the same arguments."""
        self._require_idle()
        self._memory, self.log = snapshot.read(path, self)
        self._decision = None

    @property
    def _now(self) -> Memory:
        if self._memory is None:
            raise InputError("call start(state) first")
        return self._memory

    def _require_idle(self) -> None:
        if self.busy:
            raise InputError("the late work of an update still runs: the estimator is not at rest")

    def _refusal(self, kind: Kind) -> str | None:
        """Return why no update of that kind can be made now, or None."""
        now = self._now
        if now.progress.budget_left == 0:
            return "the budget is spent"
        if spent := kind & ~now.progress.kinds_left:
            return f"no {'look' if Kind.LOOK in spent else 'plan'} is left"
        if kind != Kind.BOTH and not self.parts:
            return "looks and plans have one budget: spend an update"
        if now.time < FIRST_UPDATE or self.done:
            return "updates begin at 1 and end with the horizon"
        if now.progress.last_update == now.time:
            return "updated at this time already"
        return None

    def _record(self, what: str, why: str = "", state: int | None = None, **details) -> None:
        self.log.append(Event(self._now.time, what, why, state, **details))
        if self.log_length is not None and len(self.log) >= 2 * self.log_length:
            del self.log[: -self.log_length]
        if what in ("kept plan", "failed rule") and not self._warned:
            self._warned = True
            warnings.warn(f"replan: at time {self._now.time}: {why}", stacklevel=4)

    def _decide(self) -> Decision:
        now = self._now
        if now.time < FIRST_UPDATE:
            return FREE_STEP
        if now.progress.last_update < FIRST_UPDATE and self.prices is None:
            return FIRST
        if now.progress.last_update == now.time:
            return JUST_UPDATED
        try:
            if "decision" in self._workers and self._workers["decision"].busy:
                raise DeadlineExceeded("an earlier decision still runs")
            now.named_update, decision = self._run("decision", partial(self._ask, replace(now)))
            now.named = True
            return decision
        except Exception as error:
            why = f"the rule failed: {_described(error)}"
            self._record("failed rule", why)
            left, steps = now.progress, self.horizon - now.time
            forced = forced_parts(left.looks_left, left.plans_left, steps) if self.must_spend else Kind(0)
            return Decision(bool(forced), FORCED if forced else why).restrict(forced)

    def _ask(self, now: Memory) -> tuple[int | None, Decision]:
        """Return the next update time that the rule names, and its decision; changes nothing."""
        context, named = partial(self.context, self.rule, now.progress, now.state), now.named_update
        if not now.named:
            named = named_update(self.rule, context(), now.state, seed=self.seed, spend_all=self.must_spend)
        return named, decision_at(self.rule, context(now.time), named, spend_all=self.must_spend)

    def _run(
        self, work: str, learn: Callable[[], Any], make: Callable[[Any], Any] = lambda learned: learned
    ) -> Any:
        """Run `learn`, then `make` on its result; with a time limit a `Worker` of that kind of work does."""
        if self.time_limit is None and work not in self._workers:
            return make(learn())
        return self._workers.setdefault(work, Worker()).run(learn, make, timeout=self.time_limit)

    def _make(self, seen: Observation, kind: Kind) -> Update:
        """Estimate, forecast and plan within the time limit."""
        now, before = self._now, self._now.progress.update
        earlier = (before.time, before.kernel) if before.time >= FIRST_UPDATE else None

        def make(kernel: Kernel) -> Update:
            return self.make_update(seen.time, validate_kernel(kernel, like=self.nominal), earlier)

        made = self._run("update", self._learn(seen, kind), make)
        now.known = made.kernel
        return made

    def _learn(self, seen: Observation, kind: Kind) -> Callable[[], Kernel]:
        """Return the call that estimates; after a plan alone it repeats the estimate of the last look.

        In the paper's simulator a plan shows the kernel of the step before, without a look.
        """
        if Kind.LOOK in kind or isinstance(self.estimator, TrueKernel):
            return partial(self.estimator.estimate, seen)
        return lambda known=self._now.known: self.nominal if known is None else known


def _described(error: Exception) -> str:
    return str(error) if isinstance(error, DeadlineExceeded) else f"{type(error).__name__}: {error}"
