"""`lookahead`: the next update by value, from a dynamic programme in what the robot expects.

Nothing is seen between updates, so at an update the rule can weigh every candidate for the next one: what
blind execution gains until then, plus what going on from there is worth with all later updates placed best.
It solves the programme anew at every update. With several futures, what a candidate is worth is averaged over
them; from the next update on the robot is taken to know which one came.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import ceil

import numpy as np

from replan.errors import InputError
from replan.forecast.base import Future
from replan.model.kernel import Array, Indices
from replan.planning.backward_induction import plan, plan_ahead
from replan.schedule.rule import Context, Decision, Need, Rule
from replan.schedule.update_programme import Problem, Programme, solve
from replan.schedule.window_context import within_window
from replan.skip.propagation import Propagation, make_propagation
from replan.skip.segments import stack_world

ALL_STATES_LIMIT = 1_000  # up to so many states, exact evaluation gets the answers for all of them at once
CANDIDATES_PER_UPDATE = 4  # at least; where the budget is large, times are not thinned out
UPDATES_WITHOUT_LIMIT = 4  # in place of the budget there
EQUAL = 1e-12  # values this close are tied, and the earlier time wins


@dataclass(frozen=True)
class Lookahead(Rule):
    """Place the next update where it is worth most in the mission's forecast.

    With prices it maximises the expected return minus the price of its updates. Where looks and plans have
    budgets of their own it does both together as long as there are both. Then it looks and keeps the plan, or
    spaces plans evenly: a forecast that stands still expects nothing of a plan without a look.

    benchmarks/lookahead.py measures the effect of `tolerance` and `effort` on time and value.
    """

    tolerance: float = 1e-5  # masses below this are dropped
    effort: float = (
        1e11  # S^2 (T - tau)^2 B / 2 above this: weigh later updates at every 2nd, 3rd, ... time only
    )

    name = "lookahead"
    needs = frozenset({Need.STATE})

    def __post_init__(self) -> None:
        if not 0 <= self.tolerance < 0.01:
            raise InputError(f"tolerance must lie between 0 and 0.01, not {self.tolerance}")
        if not self.effort > 0:
            raise InputError(f"effort must be positive, not {self.effort}")

    def decide(self, context: Context) -> Decision:
        """Decide whether this is the time that is best according to the last update."""
        if context.looks_left == 0:
            at = _even_time(context)
            return Decision(context.time >= at, f"no look is left: the next plan is at {at}")
        times, worth = self._choice(context, np.array([context.state]))
        due = context.time >= times[0]
        reason = f"the best next update is at {times[0]}"
        return Decision(due, reason, score=worth, terms={"expected return": worth})

    def next_update(self, context: Context, states: Indices) -> Indices:
        """(R,) the best next update time (T: none).

        States that a single decision hardly ever reaches are left out of it, so a decision for many states at
        once can differ from it by as much as the tolerance is worth.
        """
        if context.looks_left == 0:
            return np.full(len(states), _even_time(context))
        return self._choice(context, states)[0]

    def _choice(self, context: Context, states: Indices) -> tuple[Indices, float]:
        """(R,) best next update times, and the return expected from the last update on in the first state."""
        context, states = within_window(context, states)
        together = len(states) > 1 and context.kernel.states <= ALL_STATES_LIMIT
        asked = np.arange(context.kernel.states) if together else np.asarray(states, dtype=np.int64)
        left = _limit(context)
        most = left if left is None or len(states) == 1 else max(context.looks - 1, left)
        key = (
            self,
            context.prices,
            context.plans_left == 0,
            left is None,
            self.stride(context),
            asked.tobytes(),
        )
        key = key if together else (*key, most)
        if key not in context.cache or context.cache[key][0].shape[1] <= (most or 0):
            context.cache[key] = self._weigh(context, asked, most)
        times, best = context.cache[key]
        rows = states if together else slice(None)
        column = -1 if left is None else left
        return times[rows, column], float(best[rows, column][0])

    def _weigh(self, context: Context, states: Indices, budget_left: int | None) -> tuple[Indices, Array]:
        """(R, B + 1) best next update times and their values, by updates left."""
        solutions = [self.solve(context, future, states, budget_left) for future in context.futures]
        if len(solutions) == 1:
            return solutions[0].next_times, solutions[0].best
        weights = [future.weight for future in context.futures]
        parts = zip(weights, solutions, strict=True)
        worth = sum(weight * solution.candidates() for weight, solution in parts)
        none = sum(w * solution.best[:, 0] for w, solution in zip(weights, solutions, strict=True))
        best = np.max(worth, axis=1, initial=-np.inf)
        times = (worth >= best[:, None] - EQUAL).argmax(axis=1)
        done = np.full((len(states), 1), context.horizon)
        return np.hstack([done, times]), np.hstack([np.asarray(none)[:, None], best])

    def solve(self, context: Context, future: Future, states: Indices, budget_left: int | None) -> Programme:
        """The dynamic programme in one future."""
        stride = self.stride(context)
        return solve(self.problem(context, future), context.last_update, states, budget_left, stride=stride)

    def stride(self, context: Context) -> int:
        """Return the distance between the times at which later updates are weighed."""
        tau, horizon = context.last_update, context.horizon
        columns, updates = context.looks, context.looks
        if _limit(context) is None:
            columns, updates = 1, UPDATES_WITHOUT_LIMIT
        work = context.kernel.states**2 * (horizon - tau) ** 2 / 2 * columns
        coarsest = max(1, (horizon - tau) // (CANDIDATES_PER_UPDATE * updates))
        return min(max(1, ceil((work / self.effort) ** 0.5)), coarsest)

    def problem(self, context: Context, future: Future) -> Problem:
        """The world as it goes on in one future, and robots that know this from their next update on."""
        begin, horizon = context.last_update, context.horizon
        along = stack_world(future.kernel, context.reward, first=begin, horizon=horizon)
        stays = len(along.successors) == 1
        later = _acting_on_the_estimate(context, future) if stays else _acting_on_the_future(context, future)

        kept = context.plans_left == 0

        def acting_from(time: int) -> Propagation:
            return context.propagation if kept or time == begin else later(time)

        same_plans = stays and along.constant_reward and context.plan.ties.kind != "random"
        return Problem(
            along,
            acting_from,
            spend_all=context.prices is None,
            price=0.0 if context.prices is None else context.prices.update,
            shared_until=(horizon if kept else horizon - context.planning_horizon) if same_plans else -1,
            tolerance=self.tolerance,
        )


def _limit(context: Context) -> int | None:
    """Return the looks left; None on a priced mission that can make one at every step."""
    if context.prices is not None and context.looks_left >= context.horizon - 1 - context.last_update:
        return None
    return context.looks_left


def _even_time(context: Context) -> int:
    """Return the time of the next plan where the rest of them is spaced evenly."""
    return context.last_update + ceil((context.horizon - context.last_update) / (context.plans_left + 1))


def _acting_on_the_estimate(context: Context, future: Future):
    """Time of an update -> propagation on a kernel that stays."""

    @cache
    def acting_from(time: int) -> Propagation:
        kernel, steps = future.kernel(time), min(context.planning_horizon, context.horizon - time)
        made = plan(kernel, context.reward, time=time, horizon=steps, ties=context.plan.ties)
        return make_propagation(context.execution, made, kernel)

    return acting_from


def _acting_on_the_future(context: Context, future: Future):
    """Time of an update -> propagation on kernels that move; a time has the same plan after any update."""

    @cache
    def acting() -> Propagation:
        begin, end, kernel = context.last_update + 1, context.horizon, future.kernel
        made = plan_ahead(
            kernel,
            context.reward,
            time=begin,
            end=end,
            horizon=context.planning_horizon,
            ties=context.plan.ties,
        )
        return make_propagation(context.execution, made, kernel(begin), kernel)

    return lambda time: acting()
