"""The interface of an update rule: update now or not, and why (section 3.2 of the paper)."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np

from replan.errors import InputError
from replan.forecast.base import Forecast, Future
from replan.model.family import Family
from replan.model.kernel import Array, Indices, Kernel
from replan.model.reward import Reward
from replan.model.sizes import Sizes
from replan.model.world import DriftBounds
from replan.planning.backward_induction import Plan
from replan.skip.acting import Execution, Propagation, Update
from replan.skip.latency import INSTANT, Latency
from replan.skip.spending import Spending


@dataclass(frozen=True, eq=False)
class RunningEstimate:
    """A localised robot's estimate of the present kernel, and what its judge would do with it."""

    kernel: Kernel = field(repr=False)
    """The estimate, of the kernel of the step before."""
    make: Callable[[int], Update] = field(repr=False)
    """Steps that an update takes -> the update that could be begun now, with the judge's plan."""


class Need(StrEnum):
    """Information that a rule gets only if it declares it in `needs`."""

    STATE = "state"
    """The state seen at the last update; that of a localised robot is the present one."""
    DRIFT_SO_FAR = "drift so far"
    """The drift bounds of the past, epsilon_0..epsilon_{t-1}."""
    DRIFT_AHEAD = "drift ahead"
    """The drift bounds of the whole horizon, epsilon_0..epsilon_{T-2}."""
    CURRENT_KERNEL = "current kernel"
    """The true kernel P_t."""
    EARLIER_ESTIMATE = "earlier estimate"
    """Time and estimate of the update before the last one."""
    BUDGET = "budget"
    """A budget: the rule is refused on a mission that has a price and no limit."""
    RUNNING_ESTIMATE = "running estimate"
    """The kernel as the robot knows it now, for localised robots: blind ones learn nothing in between."""


@dataclass(frozen=True)
class Context:
    """Everything that a rule can see when it decides at `time`."""

    time: int
    """t."""
    horizon: int
    """T."""
    planning_horizon: int
    """H."""
    spending: Spending
    """The budget or price of updates."""
    budget_left: int
    """Updates not yet spent."""
    last_update: int
    """tau, the time of the last update; 0 before the first."""
    update: Update = field(repr=False)
    """The update whose plan is in force: that of tau, or an earlier one if the plan of tau failed."""
    surprise: int
    """Last time at which a drift bound was not as forecast; tau if there was none."""
    forecast: Forecast = field(repr=False)
    """What kind of futures the robot expects."""
    reward: Callable[[int], Reward] = field(repr=False)
    """t -> reward."""
    execution: Execution = "map"
    declared_successors: Indices | None = field(default=None, repr=False)
    """(S, k) states to which steps can lead at any time; None: undeclared."""
    family: Family | None = field(default=None, repr=False)
    """The family that the world declares; None: undeclared."""
    sizes: Sizes = field(default_factory=Sizes, repr=False)
    """Sizes from which a rule may work in another way."""
    latency: Latency = INSTANT
    """The steps that updates take, and the action meanwhile."""
    given: Mapping[Need, Any] = field(default_factory=dict, repr=False)
    """The information that the rule declares in `needs`."""

    @property
    def kernel(self) -> Kernel:
        """The estimate that the plan in force was made on."""
        return self.update.kernel

    @property
    def plan(self) -> Plan:
        """The plan in force."""
        return self.update.plan

    @property
    def propagation(self) -> Propagation:
        """Acts on the plan between updates, from tau on."""
        failed = self.update.time < self.last_update
        return self.update.in_force if failed else self.update.propagation

    @property
    def cache(self) -> dict[Any, Any]:
        """Results that rules keep for as long as the update is in force."""
        return self.update.cache

    @property
    def budget(self) -> int:
        """B, or T - 1 on a mission without a limit."""
        return self.spending.most(self.horizon)

    @property
    def price(self) -> float | None:
        """Price of an update in units of reward; None if there is none."""
        return self.spending.price

    @property
    def steps_left(self) -> int:
        """T - t."""
        return self.horizon - self.time

    @property
    def arrival(self) -> int:
        """Time from which on the plan of tau is in force; tau if that plan failed."""
        return self.last_update if self.update.time < self.last_update else self.update.arrival

    @property
    def earliest_update(self) -> int:
        """The first time at which the next update can begin."""
        return max(self.last_update + 1, self.arrival)

    def futures(self) -> tuple[Future, ...]:
        """Return what is expected, with the drift bounds known by the last surprise."""
        known = self.surprise if self.forecast.reconsiders else self.update.time
        return self.update.expect(min(known, self.time))

    @property
    def estimate_time(self) -> int:
        """Time of the kernel that the estimate is of: the step before the update in force, or 0."""
        return max(self.update.time - 1, 0)

    @property
    def state(self) -> int:
        """The state seen at tau; that of a localised robot is the present one."""
        return self._get(Need.STATE)

    @property
    def drift_bounds(self) -> Array:
        """epsilon_0..epsilon_{t-1}, or (T-1,) for a rule that needs the drift ahead."""
        return self.drift.bounds

    @property
    def drift(self) -> DriftBounds:
        """The drift bounds and their sums."""
        return self._get(Need.DRIFT_AHEAD if Need.DRIFT_AHEAD in self.given else Need.DRIFT_SO_FAR)

    @property
    def current_kernel(self) -> Kernel:
        """P_t."""
        return self._get(Need.CURRENT_KERNEL)

    @property
    def earlier(self) -> tuple[int, Kernel] | None:
        """Time and estimate of the update before tau, None if there was none."""
        return self._get(Need.EARLIER_ESTIMATE)

    @property
    def running(self) -> RunningEstimate:
        """The kernel as it is known now, and the update that could be made of it."""
        return self._get(Need.RUNNING_ESTIMATE)

    def _get(self, need: Need) -> Any:
        if need not in self.given:
            raise InputError(f"the rule does not declare that it needs the {need}")
        return self.given[need]


@dataclass(frozen=True)
class Decision:
    """Whether to update, and why."""

    update: bool
    reason: str
    score: float | None = None
    threshold: float | None = None
    terms: Mapping[str, float] = field(default_factory=dict)
    """The terms of the score by name; one that is not known may be NaN."""

    @property
    def finite_terms(self) -> dict[str, float | None]:
        """The terms as JSON has them: None for a number that is not finite."""
        return {name: float(x) if math.isfinite(x) else None for name, x in self.terms.items()}


class Rule(ABC):
    """Base class of update rules. Subclasses are frozen dataclasses whose fields are hyper-parameters.

    `decide` is all that must be written. `needs` may depend on the hyper-parameters (set it in
    `__post_init__`). `name` defaults to the name of the class in lower case with hyphens.
    """

    name: str
    needs: frozenset[Need] = frozenset()
    exact_budget: bool = False
    """Whether localised robots too spend an exact budget by it, the first update at 1: the paper's rules."""
    weighs_the_state: bool = False
    """Whether it weighs the loss of not seeing the state, and so does not apply to localised robots."""

    def __init_subclass__(cls) -> None:
        if "name" not in vars(cls):
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()

    @classmethod
    def candidates(cls) -> Sequence[Rule]:
        """Return rules to choose from where one parameter set is tuned for many worlds; none by default."""
        return ()

    @abstractmethod
    def decide(self, context: Context) -> Decision:
        """Decide at context.time.

        It is called at the times after the last update in order, or, if `next_update` names a time, at that
        time alone; never once the budget is spent.
        """

    def updates(self, context: Context, states: Indices) -> np.ndarray | None:
        """(R,) bool, the decisions at context.time for many states seen; None: ask `decide` for each."""
        return None

    def next_update(self, context: Context, states: Indices) -> Indices | Array | None:
        """Name the next update time, at an update that reveals `states` (R,); context.time is its time.

        Returns (R,) times, T for none, or (R, T + 1) probabilities of each time for a rule that draws. The
        default, None, has `decide` asked at every step.
        """
        return None


RuleClass = TypeVar("RuleClass", bound=type[Rule])
RULES: dict[str, type[Rule]] = {}
"""Registered rule classes by name."""


def register(rule: RuleClass) -> RuleClass:
    """Add a rule class by its name; a decorator or a call.

    Parameters
    ----------
    rule : type
        A class that derives from `Rule`.

    Returns
    -------
    type
        The same class.
    """
    RULES[rule.name] = rule
    return rule


def require_instance(rule: object) -> None:
    """Raise `InputError` if this is not an instance of a rule."""
    if not isinstance(rule, Rule):
        what = f"an instance: {rule.__name__}()" if isinstance(rule, type) else "a Rule"
        raise InputError(f"rule must be {what}, not {rule!r}")
    if not (isinstance(rule.name, str) and rule.name and rule.name.isprintable()):
        raise InputError(f"the name of a rule must be a printable text, not {rule.name!r}")
