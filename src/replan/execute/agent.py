"""The skip-update loop for a robot (the paper's section 2.1 and Algorithm 1).

    agent.start(robot.look())
    while not agent.done:
        if agent.due().update:
            agent.update(robot.look())
        robot.do(agent.act())

Nothing that goes wrong in estimating or planning reaches the loop: the last plan stays in force, the log says
why, and the next update tries again. The look has been spent all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from replan.errors import InputError
from replan.estimate.estimator import Estimator, Observation
from replan.execute import snapshot
from replan.execute.deadline import within
from replan.execute.mission import Mission, known_bounds
from replan.model.kernel import Array, Kernel
from replan.model.reward import Reward
from replan.plan.backward_induction import Plan, plan
from replan.plan.ties import Ties
from replan.schedule.budget import FIRST_UPDATE, check_budget, clamp, decide, planned_decision
from replan.schedule.rule import Context, Decision, Rule, plans_ahead
from replan.skip.propagate import Execution, propagation

Planner = Callable[[Kernel, Callable[[int], Reward], int, int, Ties], Plan]


@dataclass(frozen=True)
class Event:
    """One line of the agent's log."""

    time: int
    what: str  # start, update, kept plan, refused update, act
    why: str = ""
    state: int | None = None
    action: int | None = None
    decision: Decision | None = None


@dataclass
class _Memory:
    """Everything that changes while the mission runs."""

    time: int
    budget_left: int
    last_update: int
    state: int  # seen last
    kernel: Kernel
    plan: Plan
    estimate: Any  # of the propagation
    planned_update: int | None = None
    commanded: list[int] = field(default_factory=list)  # since the last look


def plan_by_induction(kernel: Kernel, reward, time: int, horizon: int, ties: Ties) -> Plan:
    """The planner that an agent uses unless it is given another."""
    return plan(kernel, reward, time=time, horizon=horizon, ties=ties)


class Agent:
    """Says at every step whether to update, what to do, and why."""

    def __init__(
        self,
        *,
        horizon: int,
        planning_horizon: int,
        budget: int,
        reward: Callable[[int], Reward],
        rule: Rule,
        estimator: Estimator,
        nominal: Kernel,
        drift_bounds: Array,
        execution: Execution = "map",
        ties: Ties | None = None,
        exact_budget: bool = True,
        time_limit: float | None = None,
        planner: Planner = plan_by_induction,
        current_kernel: Callable[[int], Kernel] | None = None,
    ) -> None:
        """`nominal` is planned on before the first update; `time_limit` (seconds) bounds an update's work.

        `drift_bounds` (T-1,) are the epsilon_t; `current_kernel` serves a rule that knows P_t.
        """
        self.horizon = horizon
        self.planning_horizon = planning_horizon
        self.budget = check_budget(budget, horizon)
        self.reward = reward
        self.rule = rule
        self.estimator = estimator
        self.nominal = nominal
        self.drift_bounds = np.asarray(drift_bounds, dtype=float)
        self.execution: Execution = execution
        self.ties = ties or Ties()
        self.exact_budget = exact_budget
        self.time_limit = time_limit
        self.planner = planner
        self.current_kernel = current_kernel
        self.log: list[Event] = []
        self._memory: _Memory | None = None
        self._decision: tuple[int, Decision] | None = None
        if rule.knows == "current kernel" and current_kernel is None:
            raise InputError(f"the rule {rule.name} needs current_kernel")

    @classmethod
    def on(cls, mission: Mission, rule: Rule, *, estimator: Estimator | None = None, **options) -> Agent:
        """An agent for a mission in a known world, the paper's simulator unless an estimator is given."""
        world = mission.world
        return cls(
            horizon=mission.horizon,
            planning_horizon=mission.planning_horizon,
            budget=mission.budget,
            reward=world.reward,
            rule=rule,
            estimator=estimator or mission.estimator,
            nominal=world.kernel(0),
            drift_bounds=options.pop("drift_bounds", world.drift_bounds),
            execution=mission.execution,
            ties=mission.ties,
            exact_budget=mission.exact_budget,
            current_kernel=world.kernel,
            **options,
        )

    def start(self, state: int) -> None:
        """Begin at t = 0 in a state seen for free; the first step is planned on the nominal kernel."""
        made = self.planner(self.nominal, self.reward, 0, min(self.planning_horizon, self.horizon), self.ties)
        estimate = self._propagation(made, self.nominal).begin(_row(state))
        self._memory = _Memory(0, self.budget, 0, int(state), self.nominal, made, estimate)
        self.log = [Event(0, "start", state=int(state))]
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
        return self._now.plan

    def due(self) -> Decision:
        """Update now? The answer at one time stays the same however often it is asked."""
        now = self._now
        if self._decision is None or self._decision[0] != now.time:
            self._decision = (now.time, self._decide(now))
        return self._decision[1]

    def update(self, state: int, previous: int | None = None) -> bool:
        """Spend an update: the state now and, where known, the one before. True if a new plan is in force."""
        now = self._now
        if now.budget_left == 0 or now.time < FIRST_UPDATE or self.done:
            why = (
                "the budget is spent"
                if now.budget_left == 0
                else "updates begin at 1 and end with the horizon"
            )
            self._record("refused update", why, state=state)
            return False
        decision = self.due()
        observation = Observation(
            time=now.time,
            state=int(state),
            previous_state=None if previous is None else int(previous),
            previous_action=now.commanded[-1] if now.commanded else None,
            commanded=tuple(now.commanded),
        )
        trouble = self._replan(observation)
        now.budget_left -= 1
        now.last_update = now.time
        now.state = int(state)
        now.commanded = []
        now.estimate = self._propagation(now.plan, now.kernel).begin(_row(state))
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
        how = self._propagation(now.plan, now.kernel)
        actions = how.act(now.estimate)
        now.estimate = how.advance(now.estimate, actions)
        action = int(actions[0])
        self._record("act", action=action)
        now.commanded.append(action)
        now.time += 1
        return action

    def save(self, path: str | Path) -> None:
        """Write all that a later `restore` needs to go on from here."""
        snapshot.write(path, self._now, self.log, self.estimator.save(), identity=self._identity())

    def restore(self, path: str | Path) -> None:
        """Go on from what `save` wrote. The agent must have been made with the same arguments."""
        fields, self.log, learned = snapshot.read(
            path, identity=self._identity(), ties=self.ties, reward=self.reward
        )
        self._memory = _Memory(**fields)
        self.estimator.restore(learned)
        self._decision = None

    @property
    def _now(self) -> _Memory:
        if self._memory is None:
            raise InputError("call start(state) first")
        return self._memory

    def _identity(self) -> dict[str, str]:
        return {
            "horizon": str(self.horizon),
            "planning_horizon": str(self.planning_horizon),
            "budget": str(self.budget),
            "rule": repr(self.rule),
            "execution": self.execution,
            "ties": str(self.ties),
        }

    def _propagation(self, made: Plan, kernel: Kernel):
        return propagation(self.execution, made, kernel)

    def _record(self, what: str, why: str = "", **details) -> None:
        self.log.append(Event(self._now.time, what, why, **details))

    def _context(self, time: int) -> Context:
        now = self._now
        return Context(
            time=time,
            horizon=self.horizon,
            planning_horizon=self.planning_horizon,
            budget=self.budget,
            budget_left=now.budget_left,
            last_update=now.last_update,
            drift_bounds=known_bounds(self.rule, self.drift_bounds, time),
            state=now.state,
            kernel=now.kernel,
            plan=now.plan,
            reward=self.reward,
            execution=self.execution,
            current_kernel=self.current_kernel(time)
            if self.current_kernel and self.rule.knows == "current kernel"
            else None,
        )

    def _decide(self, now: _Memory) -> Decision:
        if now.time < FIRST_UPDATE:
            return Decision(False, "the first step is free")
        if now.last_update < FIRST_UPDATE:
            return Decision(True, "the first update")
        if now.last_update == now.time:
            return Decision(False, "just updated")
        if not plans_ahead(self.rule) or now.budget_left == 0:
            return decide(self.rule, self._context(now.time), exact=self.exact_budget)
        if now.planned_update is None:
            at_update = self._context(now.last_update)
            now.planned_update = clamp(self.rule.next_update(at_update), at_update, exact=self.exact_budget)
        when = now.planned_update
        if now.time == when:
            return planned_decision(self.rule, self._context(when))
        return Decision(now.time >= when, f"planned at {now.last_update} for {when}")

    def _replan(self, observation: Observation) -> str | None:
        """Estimate and plan; what went wrong, or None."""
        now = self._now
        horizon = min(self.planning_horizon, self.horizon - now.time)

        def work() -> tuple[Kernel, Plan]:
            kernel = self.estimator.estimate(observation)
            return kernel, self.planner(kernel, self.reward, observation.time, horizon, self.ties)

        try:
            now.kernel, now.plan = within(self.time_limit, work)
        except TimeoutError:
            return f"no plan within {self.time_limit} s: the last one stays in force"
        except Exception as error:
            return f"{type(error).__name__}: {error}: the last plan stays in force"
        return None


def _row(state: int) -> np.ndarray:
    return np.array([state], dtype=np.int64)
