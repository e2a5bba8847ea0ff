"""`lookahead`: the next update by value, from a dynamic programme in a forecast of the dynamics.

Nothing is seen between updates, so at an update the rule can weigh every candidate for the next one: what
blind execution gains until then, plus what going on from there is worth with all later updates placed best.
It solves the programme anew at every update.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from math import ceil, inf
from typing import Literal, get_args

import numpy as np

from replan.errors import InputError
from replan.model.kernel import Array, Indices, Kernel
from replan.planning.backward_induction import Plan, plan
from replan.schedule.forecast import growing
from replan.schedule.rule import Context, Decision, Need, Rule
from replan.schedule.update_programme import Problem, Programme, solve
from replan.skip.segments import stack_world

Forecast = Literal["frozen", "grow", "profile"]
Drift = Literal["held", "known"]

ALL_STATES_LIMIT = 1_000  # up to so many states, exact evaluation gets the answers for all of them at once
CANDIDATES_PER_UPDATE = 4  # at least; where the budget is large, times are not thinned out
UPDATES_WITHOUT_LIMIT = 4  # in place of the budget there


@dataclass(frozen=True)
class Lookahead(Rule):
    """Place the next update where the forecast says that it is worth most.

    With prices it maximises the expected return minus the price of its updates.

    `frozen` holds the last estimate fixed. `grow` lets it drift on in the direction last seen, by the drift
    bounds: that of the last step `held`, and no further than the estimate was seen to move, or those of the
    steps ahead `known`. `profile` takes the kernels of the future as given.

    benchmarks/lookahead.py measures the effect of `tolerance` and `effort` on time and value.
    """

    forecast: Forecast = "frozen"
    profile: Callable[[int], Kernel] | None = field(default=None, repr=False)  # t -> P_t
    tolerance: float = 1e-5  # masses below this are dropped
    effort: float = (
        1e11  # S^2 (T - tau)^2 B / 2 above this: weigh later updates at every 2nd, 3rd, ... time only
    )
    drift: Drift = "held"  # the drift bounds ahead, for `grow`

    name = "lookahead"
    needs = frozenset({Need.STATE})

    def __post_init__(self) -> None:
        if self.forecast not in get_args(Forecast):
            raise InputError(f'forecast must be "frozen", "grow" or "profile", not {self.forecast!r}')
        if (self.forecast == "profile") != (self.profile is not None):
            raise InputError('forecast = "profile" and a profile of kernels go together')
        if self.drift not in get_args(Drift):
            raise InputError(f'drift must be "held" or "known", not {self.drift!r}')
        if not 0 <= self.tolerance < 0.01:
            raise InputError(f"tolerance must lie between 0 and 0.01, not {self.tolerance}")
        if not self.effort > 0:
            raise InputError(f"effort must be positive, not {self.effort}")
        needs = {Need.STATE}
        if self.forecast == "profile" or self.drift == "known":
            needs.add(Need.DRIFT_AHEAD)
        if self.forecast == "grow":
            needs |= {Need.EARLIER_ESTIMATE, Need.DRIFT_SO_FAR}
        object.__setattr__(self, "needs", frozenset(needs))

    def decide(self, context: Context) -> Decision:
        """Decide whether this is the time that is best according to the last update."""
        times, worth = self._choice(context, np.array([context.state]))
        due = context.time >= times[0]
        reason = f"the best next update is at {times[0]}"
        return Decision(due, reason, score=worth, terms={"expected return": worth})

    def next_update(self, context: Context, states: Indices) -> Indices:
        """(R,) the best next update time (T: none).

        States that a single decision hardly ever reaches are left out of it, so a decision for many states at
        once can differ from it by as much as the tolerance is worth.
        """
        return self._choice(context, states)[0]

    def _choice(self, context: Context, states: Indices) -> tuple[Indices, float]:
        """(R,) best next update times, and the return expected from the last update on in the first state."""
        together = len(states) > 1 and context.kernel.states <= ALL_STATES_LIMIT
        asked = np.arange(context.kernel.states) if together else np.asarray(states, dtype=np.int64)
        left = _limit(context)
        most = left if left is None or len(states) == 1 else max(context.budget - 1, left)
        earlier = context.earlier if self.forecast == "grow" else None
        key = (self, context.prices, left is None, self.stride(context), asked.tobytes(), earlier)
        key = key if together else (*key, most)
        if key not in context.cache or context.cache[key][0].shape[1] <= (most or 0):
            solution = self.solve(context, asked, most)
            context.cache[key] = solution.next_times, solution.best
        times, best = context.cache[key]
        rows = states if together else slice(None)
        column = -1 if left is None else left
        return times[rows, column], float(best[rows, column][0])

    def solve(self, context: Context, states: Indices, budget_left: int | None) -> Programme:
        """The dynamic programme behind the decision."""
        stride = self.stride(context)
        return solve(self.problem(context), context.last_update, states, budget_left, stride=stride)

    def stride(self, context: Context) -> int:
        """Return the distance between the times at which later updates are weighed."""
        tau, horizon = context.last_update, context.horizon
        columns, updates = context.budget, context.budget
        if _limit(context) is None:
            columns, updates = 1, UPDATES_WITHOUT_LIMIT
        work = context.kernel.states**2 * (horizon - tau) ** 2 / 2 * columns
        coarsest = max(1, (horizon - tau) // (CANDIDATES_PER_UPDATE * updates))
        return min(max(1, ceil((work / self.effort) ** 0.5)), coarsest)

    def problem(self, context: Context) -> Problem:
        """The world as forecast from the last update on."""
        kernel = self._forecast(context)
        along = stack_world(kernel, context.reward, first=context.last_update, horizon=context.horizon)

        @cache
        def plan_at(time: int) -> tuple[Plan, Kernel]:
            if time == context.last_update:
                return context.plan, context.kernel
            estimate = kernel(time - 1)
            horizon = min(context.planning_horizon, context.horizon - time)
            ties = context.plan.ties
            return plan(estimate, context.reward, time=time, horizon=horizon, ties=ties), estimate

        same_plans = (
            self.forecast == "frozen" and along.constant_reward and context.plan.ties.kind != "random"
        )
        return Problem(
            along,
            plan_at,
            context.execution,
            spend_all=context.prices is None,
            price=0.0 if context.prices is None else context.prices.update,
            shared_until=context.horizon - context.planning_horizon if same_plans else -1,
            tolerance=self.tolerance,
        )

    def _forecast(self, context: Context) -> Callable[[int], Kernel]:
        """t -> the kernel expected at t."""
        if self.profile is not None:
            return self.profile
        if self.forecast == "grow":
            earlier_update, earlier_kernel = context.earlier or (0, None)
            return growing(
                context.kernel,
                self.bounds(context),
                since=context.plan.time - 1,
                earlier=earlier_kernel,
                earlier_since=earlier_update - 1,
                at_most=1.0 if self.drift == "held" else inf,
            )
        return lambda t: context.kernel

    def bounds(self, context: Context) -> Array:
        """(T-1,) the drift bounds, those ahead of the last update known or that of the last step held."""
        if self.drift == "known":
            return context.drift_bounds
        past = context.drift_bounds[: context.last_update]
        return np.pad(past, (0, context.horizon - 1 - len(past)), mode="edge")


def _limit(context: Context) -> int | None:
    """Return the updates left; None on a priced mission that can make one at every step."""
    if context.prices is not None and context.budget_left >= context.horizon - 1 - context.last_update:
        return None
    return context.budget_left
