"""The questions of the checker of rules, asked as robots ask them and as exact evaluation does.

And the worlds in which they are asked again: the same in all that a rule is told, and other ones elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from replan.execute.mission import Mission
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Kernel
from replan.schedule.questions import decision_at, decisions_at, named_update
from replan.schedule.rule import Context, Need, Rule
from replan.skip.spending import FIRST_UPDATE

SEVERAL = 3
"""States of a question to a rule that needs the state; exact evaluation asks for several at once."""
OTHER_BOUND = 0.37
"""Drift bound of other worlds."""


@dataclass(frozen=True)
class Question:
    """One thing asked of a rule in a run."""

    time: int
    last_update: int
    budget_left: int
    states: tuple[int, ...]
    """Seen at the last update: by the robot of the run, then by others that are asked for with it."""
    earlier_update: int
    step_by_step: bool
    """Whether the rule decides step by step, and does not name its next update."""

    @property
    def at_update(self) -> bool:
        """Whether this is the question for the next update, asked at an update."""
        return self.time == self.last_update

    def context_at(self, rule: Rule, mission: Mission) -> Callable[[int, int | None], Context]:
        """Return the function from state and time to the context of this question."""
        progress = mission.progress(self.last_update, self.budget_left, self.earlier_update)
        return partial(mission.context, rule, progress)


@dataclass(frozen=True)
class RuleAnswer:
    """The answers to one question, by the way in which it was asked."""

    alone: Any
    """For the first state: the decision with its score and terms, or the times that were named."""
    together: list[Any]
    """For each state, all asked together as in exact evaluation; empty where that does not ask."""
    each: list[Any]
    """For each state, asked for that state only."""


def run_through(rule: Rule, mission: Mission, seed: int) -> Iterator[tuple[Question, int | bool | None]]:
    """Yield every question of one run, with drawn states at every update, and the rule's answer in it."""
    rng = np.random.default_rng(seed)
    spending = mission.spending_for(rule)
    first = FIRST_UPDATE if spending.first_is_forced else 0
    binding = not mission.robot.sees or Need.STATE not in rule.needs
    earlier, time, left = 0, first, mission.limit - first
    several = min(SEVERAL if Need.STATE in rule.needs else 1, mission.world.states)
    while left > 0 and time < mission.horizon - 1:
        states = tuple(rng.choice(mission.world.states, several, replace=False).tolist())
        context = partial(mission.context, rule, mission.progress(time, left, earlier), states[0])
        named = named_update(rule, context(), states[0], seed=seed) if binding else None
        at_update = Question(time, time, left, states, earlier, named is None)
        yield at_update, named
        for following in range(time + 1, mission.horizon):
            update = bool(decision_at(rule, context(following), named).update)
            if named is None or following == named:
                yield replace(at_update, time=following), update
            if update:
                break
        else:
            return
        earlier, time, left = time, following, left - 1


def answer(rule: Rule, mission: Mission, question: Question) -> RuleAnswer:
    """Ask one question as a robot asks it, and as exact evaluation does."""
    context_at, states = question.context_at(rule, mission), np.array(question.states)
    if question.at_update:
        context = context_at(question.states[0], None)
        each = [_plain(rule.next_update(context_at(int(s), None), np.array([s]))) for s in states]
        together = _plain(rule.next_update(context, states))
        return RuleAnswer(each[0], [] if together is None else [[row] for row in together], each)
    alone = _contents(rule, context_at(question.states[0], question.time))
    if not question.step_by_step:
        return RuleAnswer(alone, [], [])
    together = decisions_at(rule, context_at, states, question.time).tolist()
    is_forced = mission.spending_for(rule).forces(question.budget_left, mission.horizon - question.time)
    others = [decision_at(rule, context_at(int(s), question.time), None).update for s in states[1:]]
    return RuleAnswer(alone, together, [bool(update) for update in (alone[0] or is_forced, *others)])


def _contents(rule: Rule, context: Context) -> tuple[Any, ...]:
    """Return all of a decision but its reason; numbers that are NaN as None, so that they are equal."""
    decision = rule.decide(context)
    terms = {name: _number(value) for name, value in decision.terms.items()}
    return decision.update, _number(decision.score), _number(decision.threshold), terms


def _number(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def _plain(named: Any) -> list[Any] | None:
    return None if named is None else np.asarray(named).tolist()


def other_futures(mission: Mission, time: int, *, keep_bounds: bool) -> Iterator[tuple[str, Mission]]:
    """The mission in worlds that are the same up to P_time and its past drift."""
    world, bounds = mission.world, mission.world.drift_bounds
    later = np.arange(len(bounds)) >= time

    def still(t: int) -> Kernel:
        return world.kernel(min(t, time))

    for change, kernel, drift in (
        ("the world stands still afterwards", still, 0.0),
        ("another world follows", _blurred_after(mission, time), OTHER_BOUND),
    ):
        stated = bounds if keep_bounds else np.where(later, drift, bounds)
        yield change, replace(mission, world=replace(world, kernel=kernel, stated_bounds=stated))


def last_told(question: Question, needs: Set[Need]) -> int:
    """Return the time of the last kernel that a rule with these needs is told of, by an estimate or as it is.

    An update at tau reveals P_{tau-1}.
    """
    if Need.CURRENT_KERNEL in needs:
        return question.time
    return max((question.time if Need.RUNNING_ESTIMATE in needs else question.last_update) - 1, 0)


def other_untold(mission: Mission, last: int, needs: Set[Need]) -> tuple[str, Mission]:
    """The mission in a world of which a rule is told the same, with other kernels after the time `last`.

    Where neither rule nor forecast uses drift bounds, these differ too.
    """
    change, bounds = "kernels that it was not told of differ", mission.world.drift_bounds
    if not (mission.forecast.moves or needs & {Need.DRIFT_SO_FAR, Need.DRIFT_AHEAD}):
        change, bounds = "kernels and drift bounds that it was not told of differ", OTHER_BOUND - bounds / 3
    world = replace(mission.world, kernel=_blurred_after(mission, last), stated_bounds=bounds)
    return change, replace(mission, world=world)


def _blurred_after(mission: Mission, time: int) -> Callable[[int], Kernel]:
    """t -> the kernel, after `time` with the same mean row for all actions."""
    world = mission.world

    def blurred(t: int) -> Kernel:
        if t <= time:
            return world.kernel(t)
        general = world.kernel(t).general()
        share = general.probabilities.mean(axis=1, keepdims=True)
        return GeneralKernel(general.successors, np.repeat(share, general.actions, axis=1))

    return blurred
