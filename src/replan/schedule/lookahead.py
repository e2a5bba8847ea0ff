"""`lookahead`: the next update by value, from a dynamic programme in what the robot expects.

Nothing is seen between updates, so at an update the rule can weigh every candidate for the next one: what
blind execution gains until then, plus what going on from there is worth with all later updates placed best.
It solves the programme anew at every update. With several futures, what a candidate is worth is averaged over
them (`replan.schedule.averaged_worth`), and again when the drift bounds tell what was not expected.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from replan.errors import InputError, require_numbers
from replan.forecast.base import Future
from replan.model.kernel import Array, Indices, constant
from replan.schedule.averaged_worth import (
    Candidates,
    Choices,
    ChosenUpdates,
    best_on_average,
    kept_beside,
    solved_future,
)
from replan.schedule.candidate_table import Problem
from replan.schedule.late_lookahead import (
    Accuracy,
    acting_on_the_future,
    acting_on_what_is_seen,
    knows_late_updates,
    weigh_late,
)
from replan.schedule.rule import Context, Decision, Need, Rule, register
from replan.schedule.score import compared
from replan.schedule.seeing_programme import EQUAL, gains_of_updating
from replan.schedule.update_programme import Programme, candidates_on_average, solve
from replan.schedule.window import within_window
from replan.skip.propagation import Propagation
from replan.skip.segments import commands, stack_world

CANDIDATES_PER_UPDATE = 4  # at least; where the budget is large, times are not thinned out
UPDATES_WITHOUT_LIMIT = 4  # in place of the budget there
MOVING = 2e-4  # of the effort goes into each of several futures
COARSER = 10  # times the tolerance holds in each of several futures


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
        if context.execution == "localised":
            gain = float(gains_of_updating(context, np.array([context.state]))[0])
            due = gain > EQUAL
            return Decision(due, compared(gain, EQUAL, due, "gain of an update now over a later one"), gain)
        chosen = self._chosen(context, np.array([context.state]))
        time, worth = int(chosen.times[0]), float(chosen.worth[0])
        most = _return_of_knowing_all(context)
        terms = {"expected return": worth, "expected loss": most - worth, **chosen.terms(0)}
        reason = _reason(context, time, most - worth, most - chosen.candidates)
        return Decision(context.time >= time, reason, score=worth, terms=terms)

    def next_update(self, context: Context, states: Indices) -> Indices | None:
        """(R,) the best next update time (T: none); None where the forecast may be surprised.

        States that a single decision hardly ever reaches are left out of it, so a decision for many states at
        once can differ from it by as much as the tolerance is worth.
        """
        return None if context.reconsiders else self._chosen(context, states).times

    def updates(self, context: Context, states: Indices) -> np.ndarray:
        """(R,) whether the best update time is now or has passed."""
        if context.execution == "localised":
            return gains_of_updating(context, states) > EQUAL
        return context.time >= self._chosen(context, states, several=True).times

    def _chosen(self, context: Context, states: Indices, *, several: bool = False) -> ChosenUpdates:
        """Return the best next update times of robots that saw `states`, which may be some of several."""
        context, states = within_window(context, np.asarray(states, dtype=np.int64))
        several = several or len(states) > 1
        together = several and context.kernel.states <= context.sizes.states_asked
        asked = np.arange(context.kernel.states) if together else np.asarray(states, dtype=np.int64)
        left = _limit(context)
        most = max(context.budget - 1, left) if several and left is not None else left
        key = (
            self,
            context.last_update,
            context.surprise,
            context.price,
            context.spending.exact,
            left is None,
            self.stride(context),
            asked.tobytes(),
            context.latency,
        )
        key = key if together else (*key, most)
        if key not in context.cache or context.cache[key].columns <= (most or 0):
            context.cache[key] = self._weigh(context, asked, most)
        return context.cache[key].of(states if together else slice(None), -1 if left is None else left)

    def _weigh(self, context: Context, states: Indices, budget_left: int | None) -> Choices:
        """Return the best next update by updates left."""
        futures = context.reconsidered()
        if knows_late_updates(context):
            still, moving = self.stride(context), self.stride(context, share=MOVING)
            return weigh_late(
                context,
                states,
                budget_left,
                still=Accuracy(still, self.tolerance),
                moving=Accuracy(moving, COARSER * self.tolerance),
            )
        if len(futures) == 1 and not context.reconsiders:
            solution = self.solve(context, futures[0], states, budget_left)
            alone = solution.candidates()[0] if len(states) == 1 else None
            return Choices(solution.next_times, solution.best, candidates=alone)
        if not context.reveals:
            return self._never_told(context, states, budget_left)
        still = self._still(context, states, budget_left)
        worth = np.stack([self._candidates(context, future, still, budget_left) for future in futures])
        worth[:, :, : max(context.surprise, context.last_update + 1)] = -np.inf
        return best_on_average(worth, futures, still)

    def _never_told(self, context: Context, states: Indices, budget_left: int | None) -> Choices:
        """Return the best next update by updates left, where updates do not tell which future it is.

        What later updates are worth does not depend on the present one as long as the futures are the same,
        as those of a given ensemble are.
        """
        futures, coarser = context.futures, replace(self, tolerance=COARSER * self.tolerance)
        begin, stride = context.last_update, self.stride(context, share=MOVING)
        problems = [coarser.problem(context, future, told=False) for future in futures]
        known: dict[str, Any] = {}
        if stride == 1 and len(states) == context.kernel.states:
            actions = coarser._actions(context, states)
            problems = [replace(problem, first_actions=actions) for problem in problems]
            others = tuple((future.kernel, future.weight) for future in futures[1:])
            key = (coarser, others, budget_left, *_decisive(context))
            known = kept_beside(futures[0].kernel, key, dict)
        worth, spent, values = candidates_on_average(
            problems,
            [future.weight for future in futures],
            begin,
            states,
            budget_left,
            stride=stride,
            values=known.get("values") if known.get("begin", begin) <= begin else None,
        )
        known.update(begin=min(begin, known.get("begin", begin)), values=values)
        return Choices.of_candidates(Candidates(states, worth, spent))

    def _candidates(
        self, context: Context, future: Future, still: Candidates, budget_left: int | None
    ) -> Array:
        """(R, T + 1, B) worth of each candidate in one of several futures."""
        if future.stays(context.kernel, context.last_update, context.horizon):
            return still.worth
        coarser, stride = (
            replace(self, tolerance=COARSER * self.tolerance),
            self.stride(context, share=MOVING),
        )
        return coarser._unforeseen(context, future, still.states, budget_left, stride, future.kernel).worth

    def _still(self, context: Context, states: Indices, budget_left: int | None) -> Candidates:
        """Return the candidates where the estimate stays, kept until the next update."""
        key = (
            self,
            context.last_update,
            context.price,
            context.spending.exact,
            states.tobytes(),
            budget_left,
        )
        if key not in context.cache:
            still, stride = Future("stays", 1.0, constant(context.kernel)), self.stride(context)
            found = self._unforeseen(context, still, states, budget_left, stride, context.kernel)
            context.cache[key] = found
        return context.cache[key]

    def _unforeseen(
        self,
        context: Context,
        future: Future,
        states: Indices,
        budget_left: int | None,
        stride: int,
        course: Any,
    ) -> Candidates:
        """Return the candidates of robots that are not told the future; `course` stands for its kernels."""
        begin, horizon, everyone = context.last_update, context.horizon, context.kernel.states
        if len(states) < everyone or not context.sizes.keeps_pairs(everyone, horizon):
            problem = self.problem(context, future, told=False)
            return Candidates.of(solve(problem, begin, states, budget_left, stride=stride))
        key = (self, begin, stride, budget_left, *_decisive(context))
        solved = solved_future(course, key, begin, budget_left, stride)
        return solved.candidates(
            self._actions(context, states), lambda: self.problem(context, future, told=False)
        )

    def _actions(self, context: Context, states: Indices) -> Indices:
        """(R, L) the actions of the plan in force, kept until the next update."""
        key = (commands, self.tolerance, context.last_update)
        if key not in context.cache:
            begin, steps = context.last_update, context.horizon - context.last_update
            context.cache[key] = commands(
                context.propagation, states, begin=begin, steps=steps, tolerance=self.tolerance
            )
        return context.cache[key]

    def solve(self, context: Context, future: Future, states: Indices, budget_left: int | None) -> Programme:
        """Solve the dynamic programme of robots that are told the only future."""
        problem, stride = self.problem(context, future), self.stride(context)
        return solve(problem, context.last_update, states, budget_left, stride=stride)

    def stride(self, context: Context, *, share: float = 1.0) -> int:
        """Return the distance between the times at which later updates are weighed."""
        tau, horizon = context.last_update, context.horizon
        columns, updates = context.budget, context.budget
        if _limit(context) is None:
            columns, updates = 1, UPDATES_WITHOUT_LIMIT
        work = context.kernel.states**2 * (horizon - tau) ** 2 / 2 * columns
        coarsest = max(1, (horizon - tau) // (CANDIDATES_PER_UPDATE * updates))
        return max(1, ceil(min((work / share / self.effort) ** 0.5, coarsest)))

    def problem(self, context: Context, future: Future, *, told: bool = True) -> Problem:
        """Return the world in one future, and how robots act in it after an update at each time.

        Robots that are told the future plan on it, others on the kernel that they see.
        """
        begin, horizon = context.last_update, context.horizon
        along = stack_world(future.kernel, context.reward, first=begin, horizon=horizon)
        replans = told and context.plans_ahead  # a robot on a forecast has a plan for every step
        if replans:
            later = acting_on_the_future(context, future)
        else:
            later = acting_on_what_is_seen(context, future, along)

        def acting_from(time: int) -> Propagation:
            return context.propagation if time == begin else later(time, 0)

        same_plans = along.constant_reward and context.plan.ties.kind != "random" and not replans
        at_rest = range(max(along.rests_from, begin) + 1, horizon - context.planning_horizon + 1)
        return Problem(
            along,
            acting_from,
            spend_all=context.spending.exact,
            price=context.price or 0.0,
            shared=at_rest if same_plans else range(0),
            tolerance=self.tolerance,
            sizes=context.sizes,
        )


def _return_of_knowing_all(context: Context) -> float:
    """Return what a robot that sees and knows everything from the last update on gains in the forecast."""
    context, (state,) = within_window(context, np.array([context.state]))
    key = (_return_of_knowing_all, context.last_update, context.surprise)
    if key not in context.cache:
        context.cache[key] = np.zeros(context.kernel.states)
        for future in context.reconsidered():
            values = np.zeros(context.kernel.states)
            for t in range(context.horizon - 1, context.last_update - 1, -1):
                values = context.reward(t).backup(future.kernel(t), values)
            context.cache[key] += future.weight * values
    return float(context.cache[key][state])


def _reason(context: Context, time: int, loss: float, losses: Array) -> str:
    """Return what the chosen time is expected to lose, and what one half-way on either side of it would."""
    begin, horizon = context.last_update, context.horizon
    chosen = f"{loss:z.3f} " + ("without another update" if time == horizon else f"at {time}")
    halfway = ((begin + 1 + time) // 2, (time + horizon) // 2)
    others = [u for u in halfway if u not in (time, horizon) and u < len(losses) and np.isfinite(losses[u])]
    against = " and ".join(f"{losses[u]:z.3f} at {u}" for u in others)
    return f"expected loss {chosen}" + (f", against {against}" if against else "")


def _decisive(context: Context) -> tuple[Any, ...]:
    """Return what later updates are worth by, beside the future and the rule."""
    return (
        *(context.spending, context.execution, context.sizes),
        *(context.planning_horizon, context.horizon, context.plan.ties, context.reward),
    )


def _limit(context: Context) -> int | None:
    """Return the updates left; None on a priced mission that can make one at every step."""
    if context.price is not None and context.budget_left >= context.horizon - 1 - context.last_update:
        return None
    return context.budget_left
