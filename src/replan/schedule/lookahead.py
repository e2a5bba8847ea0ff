"""`lookahead`: the next update by value, from the best updates in what the robot expects.

At an update the rule weighs every time for the next one: what the robot gains until then, plus what going on
from there is worth with all later updates placed best. That is `replan.skip.best` in the forecast, solved
anew at every update, and again when the drift bounds tell what was not expected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import ceil

import numpy as np

from replan.errors import InputError, require_numbers
from replan.forecast.base import Future
from replan.model.kernel import Array, Indices, Kernel, constant
from replan.planning.backward_induction import Plan, plan, plan_ahead, plans_of_all_lengths
from replan.schedule.rule import Context, Decision, Need, Rule, register
from replan.skip.acting import Propagation, UntilArrival, Update, Waiting, make_propagation
from replan.skip.best import EQUAL, Best, first_best
from replan.skip.walks import Course
from replan.skip.ways import BlindWays, SeeingWays, Ways

CANDIDATES_PER_UPDATE = 4  # at least; where the budget is large, times are not thinned out
UPDATES_WITHOUT_LIMIT = 4  # in place of the budget there


@register
@dataclass(frozen=True)
class Lookahead(Rule):
    """Place the next update where it is worth most in the mission's forecast.

    With a price it maximises the expected return minus the price of its updates.

    benchmarks/lookahead.py measures the effect of `tolerance` and `effort` on time and value.
    """

    tolerance: float = 1e-5
    """Probabilities below this are dropped."""
    effort: float = 1e11
    """Above this S^2 (T - tau)^2 B / 2, later updates are weighed at every 2nd, 3rd, ... time only."""

    name = "lookahead"
    needs = frozenset({Need.STATE})

    def __post_init__(self) -> None:
        require_numbers(tolerance=self.tolerance, effort=self.effort)
        if not 0 <= self.tolerance < 0.01:
            raise InputError(f"tolerance must lie between 0 and 0.01, not {self.tolerance}")
        if not self.effort > 0:
            raise InputError(f"effort must be positive, not {self.effort}")

    def decide(self, context: Context) -> Decision:
        """Decide whether this is the time that is best by what is known now."""
        state = np.array([context.state])
        if context.execution == "localised":
            gain = float(self._gains(context, state)[0])
            return Decision(gain > EQUAL, f"an update now gains {gain:.4g} over a later one", gain)
        worth, by_future = self._candidates(context, state)
        column, names = self._column(context), [future.name for future in _futures(context)]
        time = int(first_best(worth)[0, column])
        most = _return_of_knowing_all(context)
        losses = most - worth[0, :, column]
        terms = {"expected return": float(worth[0, time, column]), "expected loss": float(losses[time])}
        terms |= _preferences(names, by_future[:, 0, :, column], time)
        return Decision(
            context.time >= time, _reason(context, time, losses), terms["expected return"], terms=terms
        )

    def next_update(self, context: Context, states: Indices) -> Indices | None:
        """(R,) the best next update time (T: none); None where the forecast may be surprised.

        States that a single decision hardly ever reaches are left out of it, so a decision for many states at
        once can differ from it by as much as the tolerance is worth.
        """
        if context.execution == "localised" or context.forecast.reconsiders:
            return None
        return self._next_times(context, states)

    def updates(self, context: Context, states: Indices) -> np.ndarray:
        """(R,) whether the best update time is now or has passed."""
        if context.execution == "localised":
            return self._gains(context, states) > EQUAL
        return context.time >= self._next_times(context, states)

    def _next_times(self, context: Context, states: Indices) -> Indices:
        """(R,) the best next update of robots that saw `states`."""
        return first_best(self._candidates(context, states)[0])[:, self._column(context)]

    def _column(self, context: Context) -> int:
        left = _limit(context)
        return -1 if left is None else left - 1

    def _candidates(self, context: Context, states: Indices) -> tuple[Array, Array]:
        """(R, T + 1, C) worth of each next update by updates left, and (M, R, T + 1, C) weighed by future.

        Where many robots are asked about, or nothing is expected to move, all states are weighed at once, by
        all updates that may be left. Answers are kept until the next update; none is given for another.
        """
        left, together = _limit(context), context.kernel.states <= context.sizes.states_asked
        most = None if left is None else max(context.budget - 1, left)
        key = self, context.last_update, context.surprise, context.spending, context.latency, most
        if together and (len(states) > 1 or not context.forecast.moves):
            if key not in context.cache:
                context.cache[key] = self._weigh(context, most, None)
            worth, by_future = context.cache[key]
            return worth[states], by_future[:, states]
        alone = *key, left, states.tobytes()
        if alone not in context.cache:
            context.cache[alone] = self._weigh(context, left, states)
        return context.cache[alone]

    def _weigh(self, context: Context, limit: int | None, states: Indices | None) -> tuple[Array, Array]:
        """Weigh the candidates of robots that saw `states` (None: any state)."""
        best = self._best(context, limit, self.tolerance, self.stride(context))
        updates = [_in_force(context)] * len(_futures(context))
        by_future = best.solve(context.last_update, updates, states).candidates()
        return by_future.sum(axis=0), by_future

    def _gains(self, context: Context, states: Indices) -> Array:
        """(R,) what an update now gains over the best without, of robots that see their state."""
        begin, limit = context.earliest_update, min(context.budget, context.horizon - context.earliest_update)
        key = self, "gains", context.last_update, context.surprise, context.spending, context.latency, limit
        if key not in context.cache:
            best = self._best(context, limit, 0.0, 1)
            context.cache[key] = best.solve(begin, [_in_force(context)] * len(_futures(context)), asked=True)
        return context.cache[key].gains(context.time, states, min(context.budget_left, context.steps_left))

    def _best(self, context: Context, limit: int | None, tolerance: float, stride: int) -> Best:
        futures = _futures(context)
        forecast = context.forecast
        known = len(futures) == 1 and forecast.moves and not forecast.reconsiders
        ways = [(each.weight, ways_in(context, each, known=known, tolerance=tolerance)) for each in futures]
        spending = context.spending
        return Best(
            ways,
            told=forecast.reveals,
            limit=limit,
            exact=spending.exact,
            prices=context.price or 0.0,
            spacing=context.latency.spacing,
            stride=stride,
        )

    def stride(self, context: Context) -> int:
        """Return the distance between the times at which later updates are weighed."""
        tau, horizon = context.last_update, context.horizon
        columns, updates = context.budget, context.budget
        if _limit(context) is None:
            columns, updates = 1, UPDATES_WITHOUT_LIMIT
        work = context.kernel.states**2 * (horizon - tau) ** 2 / 2 * columns
        coarsest = max(1, (horizon - tau) // (CANDIDATES_PER_UPDATE * updates))
        return max(1, ceil(min((work / self.effort) ** 0.5, coarsest)))


def _futures(context: Context) -> list[Future]:
    """Return the futures that can come."""
    return [future for future in context.futures() if future.weight > 0]


def _return_of_knowing_all(context: Context) -> float:
    """Return what a robot that sees and knows everything from the last update on gains in the forecast."""
    begin, total = context.last_update, 0.0
    for future in _futures(context):
        best = plan(
            future.kernel(begin), context.reward, time=begin, horizon=context.horizon - begin,
            kernel_at=future.kernel,
        )  # fmt: skip
        total += future.weight * float(best.q_values_at(np.array([context.state])).max())
    return total


def _preferences(names: Sequence[str], worth: Array, time: int) -> dict[str, float]:
    """Return by how much each future prefers the time to the best one where nothing moves.

    `worth` is (M, T + 1), that of each time in each future.
    """
    if len(worth) < 2 or "stays" not in names:
        return {}
    instead = int(first_best(worth[[names.index("stays")], :, None])[0, 0])
    known = np.isfinite(worth[:, time]) & np.isfinite(worth[:, instead])
    gains = np.where(known, worth[:, time] - worth[:, instead], 0.0)
    return dict(zip(names, gains.tolist(), strict=True))


def _reason(context: Context, time: int, losses: Array) -> str:
    """Return what the chosen time is expected to lose, and what one half-way on either side of it would."""
    begin, horizon = context.last_update, context.horizon
    chosen = f"{losses[time]:z.3f} " + ("without another update" if time == horizon else f"at {time}")
    halfway = (begin + 1 + time) // 2, (time + horizon) // 2
    others = [u for u in halfway if u not in (time, horizon) and u < len(losses) and np.isfinite(losses[u])]
    against = " and ".join(f"{losses[u]:z.3f} at {u}" for u in others)
    return f"expected loss {chosen}" + (f", against {against}" if against else "")


def _limit(context: Context) -> int | None:
    """Return the updates left; None on a priced mission that can make one at every step."""
    if context.price is not None and context.budget_left >= context.horizon - 1 - context.last_update:
        return None
    return context.budget_left


def _in_force(context: Context) -> Update:
    """Return the update in force as the root of a programme."""
    return replace(
        context.update,
        time=context.last_update,
        propagation=context.propagation,
        name=("in force",),
        steps=context.arrival - context.last_update,
    )


def ways_in(context: Context, future: Future, *, known: bool, tolerance: float) -> Ways:
    """Return the ways of the robot in one future.

    If it is `known`, as a forecast's only one, later updates plan on it; else on the kernel that they see,
    taken to stay.
    """
    updates = _ExpectedUpdates(context, future, known=known)
    course = Course(
        horizon=context.horizon,
        kernel=future.kernel,
        reward=context.reward,
        update=updates,
        begin=context.last_update,
        durations=context.latency.durations,
        tolerance=tolerance,
    )
    updates.course = course
    seen = context.execution == "localised"
    return SeeingWays(course) if seen else BlindWays(course, _in_force(context))


class _ExpectedUpdates:
    """(time, the update in force, steps) -> the update that would be made then in a future."""

    course: Course

    def __init__(self, context: Context, future: Future, *, known: bool) -> None:
        self.context, self.future, self.known = context, future, known
        self.begin, self.horizon = context.last_update, context.horizon
        self.ties, self.rests_on = context.plan.ties, future.kernel(context.horizon - 1)
        same_reward = all(
            context.reward(t) is context.reward(self.begin) for t in range(self.begin, self.horizon)
        )
        self.steady = self.ties.kind != "random" and same_reward
        self._acting = cache(self._make)
        self._made: dict[tuple, Update] = {}

    def __call__(self, time: int, before: Update | None, steps: int) -> Update:
        """Return the update. Later ones depend on what acts until they arrive."""
        context = self.context
        plan_name = (time, steps) if not steps or before is None else (time, steps, *before.name[:2])
        if plan_name in self._made:
            return self._made[plan_name]
        kernel = self.future.kernel(max(time - 1, self.begin))
        made, acting = self._acting(*self._plan_key(kernel, time + steps))
        update = Update(time, kernel, made, acting, plan_name)
        if steps and before is not None:
            waiting = context.latency.waiting
            old = before.in_force if waiting is None else Waiting(waiting)
            expected = self.future.kernel if self.known else constant(kernel)
            propagation = UntilArrival(old, acting, expected, time, time + steps)
            update = Update(
                time, kernel, made, propagation, plan_name, steps=steps, before=before, waiting=waiting
            )
        self._made[plan_name] = update
        return update

    def _plan_key(self, kernel: Kernel, arrival: int) -> tuple[Kernel | None, int, int]:
        """Return what tells plans apart: the kernel, the arrival where it matters, and the steps planned."""
        if self.known:
            return None, 0, 0
        steps = max(min(self.context.planning_horizon, self.horizon - min(arrival, self.horizon - 1)), 1)
        alike = self.steady and kernel is self.rests_on
        return kernel, 0 if alike else min(arrival, self.horizon - 1), steps

    def _make(self, kernel: Kernel | None, arrival: int, steps: int) -> tuple[Plan, Propagation]:
        context, sizes = self.context, self.context.sizes
        if kernel is None:
            ahead, begin = self.future.kernel, self.begin + 1
            made = plan_ahead(
                ahead, context.reward, time=begin, end=self.horizon, horizon=context.planning_horizon,
                ties=self.ties,
            )  # fmt: skip
            return made, make_propagation(context.execution, made, ahead(begin), ahead, sizes=sizes)
        if self.steady and kernel is self.rests_on:
            made = self._lengths[steps - 1]
        else:
            made = plan(kernel, context.reward, time=arrival, horizon=steps, ties=self.ties)
        stacked = self._stacked(kernel) if context.execution == "belief" else None
        return made, make_propagation(
            context.execution, made, kernel, constant(kernel), stacked=stacked, sizes=sizes
        )

    @cached_property
    def _lengths(self) -> list[Plan]:
        """Plans of all lengths on the kernel that stays in the end."""
        longest = min(self.context.planning_horizon, self.horizon - self.begin)
        return plans_of_all_lengths(self.rests_on, self.context.reward(self.begin), self.ties, longest)

    def _stacked(self, kernel: Kernel):
        """Return the course's own lists of a kernel."""
        over = self.course.over_time
        for t in range(self.begin, self.horizon):
            if self.future.kernel(t) is kernel:
                one = slice(over.kernel_of[t], over.kernel_of[t] + 1)
                return over.successors[one], over.probabilities[one]
        return None
