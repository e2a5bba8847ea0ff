"""The skip-update loop for a robot (the paper's section 2.1 and Algorithm 1).

    agent.start(robot.look())
    while not agent.done:
        if agent.due().update:
            agent.update(robot.look())
        robot.do(agent.act())

Nothing that goes wrong in estimating, planning or deciding reaches the loop. Without a usable new plan the
last one stays in force, the log says why, and the next update tries again; the look has been spent all the
same. A rule that fails says nothing, and the budget is spent without it.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from replan.errors import InputError
from replan.estimate.estimator import Observation
from replan.execute import snapshot
from replan.execute.asking import Silent, ask
from replan.execute.deadline import Late, Worker
from replan.execute.equipment import Equipment, plan_by_induction
from replan.execute.memory import Event, Memory
from replan.execute.mission import Update
from replan.execute.usable import usable_kernel, usable_number
from replan.model.kernel import Kernel
from replan.planning.backward_induction import Plan
from replan.schedule.budget import FIRST_UPDATE
from replan.schedule.rule import Decision, Rule

__all__ = ["Agent", "Event", "plan_by_induction"]


class Agent(Equipment):
    """Says at every step whether to update, what to do, and why. `Equipment` tells its arguments."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.log: list[Event] = []
        self._memory: Memory | None = None
        self._decision: tuple[int, Decision] | None = None
        self._worker = Worker()

    def start(self, state: int) -> None:
        """Begin at t = 0 in a state seen for free; the first step is planned on the nominal kernel."""
        state = usable_number(state, self.nominal.states)
        in_force = self._make_update(self.nominal, 0)
        estimate = in_force.propagation.begin(_row(state))
        self._memory = Memory(0, self.budget, 0, state, in_force, estimate)
        self.log = [Event(0, "start", state=state)]
        self._decision = None

    @property
    def time(self) -> int:
        """t, the step that `act` will take next."""
        return self._now.time

    @property
    def budget_left(self) -> int:
        """Updates not yet spent."""
        return self._now.budget_left

    @property
    def done(self) -> bool:
        """Whether all T steps have been taken."""
        return self._now.time >= self.horizon

    @property
    def estimate(self) -> Any:
        """Where the agent believes itself to be: a state (map) or (S,) probabilities (belief)."""
        return self._now.estimate[0]

    @property
    def plan(self) -> Plan:
        """The plan in force."""
        return self._now.in_force.plan

    @property
    def busy(self) -> bool:
        """Whether the late work of an update still runs; until it ends the agent cannot be saved."""
        return self._worker.busy

    def due(self) -> Decision:
        """Update now? The answer at one time stays the same however often it is asked."""
        now = self._now
        if self._decision is None or self._decision[0] != now.time:
            self._decision = (now.time, self._decide())
        return self._decision[1]

    def update(self, state: int, previous: int | None = None) -> bool:
        """Spend an update: the state now and, where known, the one before. True if a new plan is in force."""
        now = self._now
        state = usable_number(state, self.nominal.states)
        if previous is not None:
            previous = usable_number(previous, self.nominal.states, "previous")
        if refusal := self._refusal():
            self._record("refused update", refusal, state=state)
            return False
        decision = self.due()
        trouble = self._replan(
            Observation(
                time=now.time,
                state=state,
                previous_state=previous,
                previous_action=now.commanded[-1] if now.commanded else None,
                commanded=tuple(now.commanded),
            )
        )
        now.budget_left -= 1
        now.last_update = now.time
        now.state = state
        now.commanded = []
        now.estimate = now.in_force.propagation.begin(_row(state))
        now.planned_update = None
        self._decision = None
        if trouble is None:
            self._record("update", decision.reason, state=state, decision=decision)
        else:
            self._record("kept plan", trouble, state=state, decision=decision)
        return trouble is None

    def act(self) -> int:
        """The action of this step; time moves on by one."""
        if self.done:
            raise InputError(f"all {self.horizon} steps have been taken")
        now = self._now
        how = now.in_force.propagation
        actions = how.act(now.estimate)
        now.estimate = how.advance(now.estimate, actions)
        action = int(actions[0])
        self._record("act", action=action)
        now.commanded.append(action)
        now.time += 1
        return action

    def save(self, path: str | Path) -> None:
        """Write all that a later `restore` needs to go on from here."""
        self._require_idle()
        snapshot.write(path, self._now, self.log, self.estimator.save(), identity=self._identity())

    def restore(self, path: str | Path) -> None:
        """Go on from what `save` wrote. The agent must have been made with the same arguments."""
        self._require_idle()
        memory, log, learned = snapshot.read(
            path,
            identity=self._identity(),
            nominal=self.nominal,
            reward=self.reward,
            horizon=self.horizon,
            execution=self.execution,
            ties=self.ties,
        )
        try:
            self.estimator.restore(learned)
        except snapshot.DAMAGED as error:
            raise snapshot.not_a_saved_agent(path, error) from error
        self._memory, self.log, self._decision = memory, log, None

    @property
    def _now(self) -> Memory:
        if self._memory is None:
            raise InputError("call start(state) first")
        return self._memory

    def _require_idle(self) -> None:
        if self.busy:
            raise InputError("the late work of an update still runs: the estimator is not at rest")

    def _refusal(self) -> str | None:
        """Why no update can be made now, or None."""
        now = self._now
        if now.budget_left == 0:
            return "the budget is spent"
        if now.time < FIRST_UPDATE or self.done:
            return "updates begin at 1 and end with the horizon"
        if now.last_update == now.time:
            return "updated at this time already"
        return None

    def _record(self, what: str, why: str = "", **details) -> None:
        self.log.append(Event(self._now.time, what, why, **details))

    def _decide(self) -> Decision:
        """What the rule says; where it fails, what the budget alone says."""
        try:
            return self._ask(self.rule)
        except Exception as error:
            why = f"the rule failed: {type(error).__name__}: {error}"
            self._record("failed rule", why)
            return self._ask(Silent(why))

    def _ask(self, rule: Rule) -> Decision:
        now = self._now
        return ask(rule, now, partial(self._context, rule, now), exact=self.exact_budget)

    def _replan(self, seen: Observation) -> str | None:
        """Estimate and plan; what went wrong, or None."""

        def make(kernel: Kernel) -> Update:
            return self._make_update(usable_kernel(kernel, like=self.nominal), seen.time)

        try:
            learn = partial(self.estimator.estimate, seen)
            made = self._worker.within(self.time_limit, learn, make)
        except Late as error:
            return f"{error}: the last one stays in force"
        except Exception as error:
            return f"{type(error).__name__}: {error}: the last plan stays in force"
        now = self._now
        if now.in_force.time >= FIRST_UPDATE:
            now.earlier_update, now.earlier_kernel = now.in_force.time, now.in_force.kernel
        now.in_force = made
        return None


def _row(state: int) -> np.ndarray:
    return np.array([state], dtype=np.int64)
