"""The interface of an update rule: given what is known, update now or not, and why (section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol, TypeGuard, runtime_checkable

from replan.model.family import KernelFamily
from replan.model.kernel import Array, Indices, Kernel
from replan.model.reward import Reward
from replan.planning.backward_induction import Plan
from replan.skip.propagation import Execution

Knowledge = Literal["nothing", "drift profile", "current kernel"]


@dataclass(frozen=True)
class Context:
    """All that a rule may look at when it decides at `time`."""

    time: int  # t
    horizon: int  # T
    planning_horizon: int  # H
    budget: int  # B
    budget_left: int  # updates not yet spent
    last_update: int  # tau
    drift_bounds: Array = field(
        repr=False
    )  # epsilon_0..epsilon_{t-1}; all T-1 for a rule that knows the profile
    state: int  # seen at tau
    kernel: Kernel = field(repr=False)  # estimate made at tau
    plan: Plan = field(repr=False)  # made at tau
    reward: Callable[[int], Reward] = field(repr=False)
    execution: Execution = "map"
    earlier_update: int = 0  # the update before tau, 0: none; for a rule that compares estimates
    earlier_kernel: Kernel | None = field(default=None, repr=False)  # estimate made there
    current_kernel: Kernel | None = field(default=None, repr=False)  # P_t, for a rule that knows it
    declared_successors: Indices | None = field(
        default=None, repr=False
    )  # (S, k) where steps can lead, at any time; None: nothing is declared
    family: KernelFamily | None = field(default=None, repr=False)  # of which every kernel is a member


@dataclass(frozen=True)
class Decision:
    """Update or not, and why in numbers."""

    update: bool
    reason: str
    score: float | None = None
    threshold: float | None = None
    terms: Mapping[str, float] = field(default_factory=dict)  # each term of the score by name


@runtime_checkable
class Rule(Protocol):
    """A rule holds hyper-parameters and no hidden state. Make it a frozen dataclass.

    What it needs beyond the context it declares in `knows`; what it does not declare it does not get.
    """

    name: ClassVar[str]
    knows: ClassVar[Knowledge] = "nothing"
    uses_state: ClassVar[bool] = False  # whether the decision depends on the state seen at the last update
    paced: ClassVar[bool] = False  # whether the pacing limit L_t forces an update

    def decide(self, context: Context) -> Decision:
        """Update at context.time? Asked at every time after the last update, in order."""
        ...


@runtime_checkable
class PlansAhead(Rule, Protocol):
    """A rule that names its next update at once, since nothing is learned in between."""

    def next_update(self, context: Context) -> int:
        """The next update time, asked at an update (context.time == context.last_update)."""
        ...


@runtime_checkable
class PlansManyAhead(PlansAhead, Protocol):
    """A rule that answers for many states at once faster than one by one."""

    def next_updates(self, context: Context, states: Indices) -> Indices:
        """(R,) `next_update` of contexts that differ in the state alone."""
        ...


@runtime_checkable
class Explains(Rule, Protocol):
    """A rule that plans ahead and can put the time it named into numbers."""

    def explain(self, context: Context) -> Decision:
        """The score and its terms at the chosen time."""
        ...


@runtime_checkable
class RandomRule(Rule, Protocol):
    """A rule that draws its next update: its law makes exact evaluation possible."""

    def next_update_law(self, context: Context) -> Array:
        """(T + 1,) probability of each next update time; entry T: none."""
        ...

    def with_seed(self, seed: int) -> Rule:
        """The same rule with its draws fixed by a seed."""
        ...


def plans_ahead(rule: Rule) -> TypeGuard[PlansAhead]:
    """Whether the rule names its next update at once."""
    return hasattr(rule, "next_update")


def plans_many_ahead(rule: Rule) -> TypeGuard[PlansManyAhead]:
    """Whether the rule answers for many states at once."""
    return hasattr(rule, "next_updates")


def compares_estimates(rule: Rule) -> bool:
    """Whether the decision depends on the estimate before the last one, too: then it is in the context."""
    return getattr(rule, "compares_estimates", False)


def draws(rule: Rule) -> TypeGuard[RandomRule]:
    """Whether the rule draws its next update."""
    return hasattr(rule, "next_update_law")


def explains(rule: Rule) -> TypeGuard[Explains]:
    """Whether the rule puts the time it named into numbers."""
    return hasattr(rule, "explain")
