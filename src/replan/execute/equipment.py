"""What an agent is made with: everything that stays the same while the mission runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from replan.errors import InputError
from replan.estimate.estimator import Estimator
from replan.execute.deadline import check_time_limit
from replan.execute.identity import rule_text, world_text
from replan.execute.memory import Memory
from replan.execute.mission import Mission, Update, known_bounds
from replan.execute.usable import usable_update
from replan.model.family import KernelFamily
from replan.model.kernel import Array, Indices, Kernel
from replan.model.reward import Reward
from replan.planning.backward_induction import Plan, plan
from replan.planning.ties import Ties
from replan.schedule.budget import check_budget
from replan.schedule.rule import Context, Rule, compares_estimates, draws
from replan.skip.propagation import Execution

Planner = Callable[[Kernel, Callable[[int], Reward], int, int, Ties], Plan]


def plan_by_induction(kernel: Kernel, reward, time: int, horizon: int, ties: Ties) -> Plan:
    """The planner that an agent uses unless it is given another."""
    return plan(kernel, reward, time=time, horizon=horizon, ties=ties)


@dataclass(kw_only=True, eq=False, repr=False)
class Equipment:
    """The arguments of an agent, and what follows from them alone.

    `nominal` is planned on before the first update; `time_limit` (seconds) bounds an update's work;
    `drift_bounds` (T-1,) are the epsilon_t; `current_kernel` serves a rule that knows P_t;
    `declared_successors` (S, k) say where steps can lead, and `family` which kernels are possible, for a rule
    that bounds what drift can do.
    """

    horizon: int  # T
    planning_horizon: int  # H
    budget: int  # B
    reward: Callable[[int], Reward]
    rule: Rule
    estimator: Estimator
    nominal: Kernel
    drift_bounds: Array
    execution: Execution = "map"
    ties: Ties = field(default_factory=Ties)
    exact_budget: bool = True  # spend exactly B, not at most B
    time_limit: float | None = None
    planner: Planner = plan_by_induction
    current_kernel: Callable[[int], Kernel] | None = None
    declared_successors: Indices | None = None
    family: KernelFamily | None = None

    def __post_init__(self) -> None:
        check_budget(self.budget, self.horizon)
        check_time_limit(self.time_limit)
        self.drift_bounds = np.asarray(self.drift_bounds, dtype=float)
        if self.rule.knows == "current kernel" and self.current_kernel is None:
            raise InputError(f"the rule {self.rule.name} needs current_kernel")
        if draws(self.rule) and getattr(self.rule, "seed", 0) is None:
            raise InputError(f"the rule {self.rule.name} draws its times: take its with_seed")

    @classmethod
    def on(cls, mission: Mission, rule: Rule, *, estimator: Estimator | None = None, **options) -> Self:
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
            declared_successors=world.declared_successors,
            family=world.family,
            **options,
        )

    def _make_update(self, kernel: Kernel, time: int) -> Update:
        """A plan on the kernel and all that follows from it."""
        horizon = min(self.planning_horizon, self.horizon - time)
        made = self.planner(kernel, self.reward, time, horizon, self.ties)
        return usable_update(kernel, made, self.execution)

    def _context(self, rule: Rule, now: Memory, time: int) -> Context:
        """What the rule gets to see, and no more than it declares."""
        told = self.current_kernel if rule.knows == "current kernel" else None
        return Context(
            time=time,
            horizon=self.horizon,
            planning_horizon=self.planning_horizon,
            budget=self.budget,
            budget_left=now.budget_left,
            last_update=now.last_update,
            drift_bounds=known_bounds(rule, self.drift_bounds, time),
            state=now.state,
            kernel=now.in_force.kernel,
            plan=now.in_force.plan,
            reward=self.reward,
            execution=self.execution,
            earlier_update=now.earlier_update if compares_estimates(rule) else 0,
            earlier_kernel=now.earlier_kernel if compares_estimates(rule) else None,
            current_kernel=None if told is None else told(time),
            declared_successors=self.declared_successors,
            family=self.family,
        )

    def _identity(self) -> dict[str, str]:
        """What another agent must share to go on from what this one saved."""
        return {
            "horizon": str(self.horizon),
            "planning_horizon": str(self.planning_horizon),
            "budget": str(self.budget),
            "exact_budget": str(self.exact_budget),
            "rule": rule_text(self.rule),
            "estimator": type(self.estimator).__qualname__,
            "world": world_text(self.nominal, self.reward(0), self.drift_bounds),
            "execution": self.execution,
            "ties": str(self.ties),
        }
