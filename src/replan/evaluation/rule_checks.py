"""A checker for rules: they spend the budget, repeat themselves and use only what they declare.

The rule is run through missions; then every question is asked again in another order, from other states,
and in worlds that are the same up to that time and differ after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from replan.errors import InputError
from replan.execute.mission import Mission
from replan.execute.robot import Robot
from replan.model.drift import piecewise
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Kernel, constant
from replan.model.reward import Reward
from replan.model.slip import SlipKernel
from replan.model.world import World
from replan.schedule.ask import decision_at, named_update
from replan.schedule.rule import Need, Rule, require_instance
from replan.schedule.spending import FIRST_UPDATE, Spending

MakeRule = Callable[[Mission], Rule]


@dataclass(frozen=True)
class RuleFinding:
    """One thing wrong with a rule, and at which time it showed."""

    what: str
    time: int | None = None

    def __str__(self) -> str:
        return self.what if self.time is None else f"{self.what} at t={self.time}"


@dataclass(frozen=True)
class _Question:
    """One thing asked of a rule in a run."""

    time: int
    last_update: int
    budget_left: int
    state: int
    earlier_update: int


def check_rule(rule: Rule | MakeRule, *missions: Mission, seed: int = 0, most: int = 20) -> list[RuleFinding]:
    """Check that a rule spends its budget, repeats itself and uses only what it declares.

    Parameters
    ----------
    rule : Rule or callable
        The rule. Give a function of the mission for a rule that is made from one: it is then made anew in
        every changed world.
    *missions : Mission
        Missions to run it on; two small grids if none is given.
    seed : int
        Seed of the draws.
    most : int
        Number of faults to return at most.

    Returns
    -------
    list of RuleFinding
        The first faults; an empty list if none is found.
    """
    if isinstance(rule, type) and issubclass(rule, Rule):
        require_instance(rule)
    found: list[RuleFinding] = []
    for mission in missions or _grids():
        try:
            found += _check(rule, mission, np.random.default_rng(seed), seed)
        except InputError as error:
            found.append(RuleFinding(str(error)))
        except Exception as error:  # whatever a user's rule raises is a finding
            found.append(RuleFinding(f"raised {type(error).__name__}: {error}"))
    return list(dict.fromkeys(found))[:most]


def require_valid_rule(rule: Rule | MakeRule, *missions: Mission) -> None:
    """An `InputError` that names the first fault, if there is one."""
    if found := check_rule(rule, *missions, most=1):
        name = rule.name if isinstance(rule, Rule) else "the rule"
        raise InputError(f"{name}: {found[0]}")


def _check(
    rule: Rule | MakeRule, mission: Mission, rng: np.random.Generator, seed: int
) -> Iterator[RuleFinding]:
    def make(mission: Mission) -> Rule:
        return rule if isinstance(rule, Rule) else rule(mission)

    made = make(mission)
    if not isinstance(made, Rule):
        yield RuleFinding("is no rule: it does not derive from replan.Rule")
        return
    if strange := [need for need in made.needs if need not in list(Need)]:
        yield RuleFinding(f"needs {strange[0]!r}, not one of {', '.join(Need)}")
        return
    questions = list(_run(made, mission, rng, seed))
    yield from _check_answers(make, mission, questions, rng)


def _check_answers(
    make: MakeRule, mission: Mission, questions: list[_Question], rng: np.random.Generator
) -> Iterator[RuleFinding]:
    """Check each answer by itself, asked again, asked elsewhere, and asked where another future follows."""
    rule = make(mission)
    answers = {question: _answer(rule, mission, question) for question in questions}
    for question, answer in answers.items():
        yield from _check_form(answer, mission, question)
    for question in reversed(answers):
        if _answer(rule, mission, question) != answers[question]:
            yield RuleFinding("answers differently when it is asked again", question.time)
    if Need.STATE not in rule.needs:
        for question in answers:
            elsewhere = replace(question, state=int(rng.integers(mission.world.states)))
            if _answer(rule, mission, elsewhere) != answers[question]:
                yield RuleFinding("depends on the state seen but does not declare it", question.time)
    keep_bounds = Need.DRIFT_AHEAD in rule.needs
    for question, answer in answers.items():
        for change, changed in _other_futures(mission, question.time, keep_bounds=keep_bounds):
            if _answer(make(changed), changed, question) != answer:
                yield RuleFinding(f"looks ahead: decides differently where {change}", question.time)
                break


def _run(rule: Rule, mission: Mission, rng: np.random.Generator, seed: int) -> Iterator[_Question]:
    """Yield every question of one run, with a drawn state at every update."""
    first = FIRST_UPDATE if mission.spending.first_is_forced else 0
    earlier, time, left = 0, first, mission.limit - first
    while left > 0 and time < mission.horizon - 1:
        state = int(rng.integers(mission.world.states))
        at_update = _Question(time, time, left, state, earlier)
        context = partial(mission.context, rule, mission.progress(time, left, earlier), state)
        named = named_update(rule, context(), state, seed=seed)
        yield at_update
        for following in range(time + 1, mission.horizon):
            if named is None or following == named:
                yield replace(at_update, time=following)
            if decision_at(rule, context(following), named).update:
                break
        else:
            return
        earlier, time, left = time, following, left - 1


def _answer(rule: Rule, mission: Mission, question: _Question) -> Any:
    """Return a decision after an update; at one the times or probabilities that the rule names, if any."""
    progress = mission.progress(question.last_update, question.budget_left, question.earlier_update)
    context = mission.context(rule, progress, question.state, question.time)
    if question.time > question.last_update:
        decision = rule.decide(context)
        return decision.update, decision.score, decision.threshold, dict(decision.terms)
    named = rule.next_update(context, np.array([question.state]))
    return None if named is None else np.asarray(named).tolist()


def _check_form(answer: Any, mission: Mission, question: _Question) -> Iterator[RuleFinding]:
    """Check that decisions are plain and named times lie within the budget."""
    tau = question.last_update
    if question.time > tau:
        if not isinstance(answer[0], (bool, np.bool_)):
            yield RuleFinding(f"decides {answer[0]!r}, not True or False", question.time)
        if answer[1] is not None and np.isnan(answer[1]):
            yield RuleFinding("its score is not a number", question.time)
    elif answer is not None:
        named = np.asarray(answer)
        if named.ndim == 2:  # probabilities were checked when the rule was run
            return
        if named.shape != (1,) or not np.issubdtype(named.dtype, np.integer):
            yield RuleFinding(f"names the time {answer!r}, not a whole number for each state", tau)
        elif not tau < named[0] <= mission.horizon:
            yield RuleFinding(f"names the time {named[0]}, not one of {tau + 1} to {mission.horizon}", tau)


def _other_futures(mission: Mission, time: int, *, keep_bounds: bool) -> Iterator[tuple[str, Mission]]:
    """The mission in worlds that are the same up to P_time and its past drift."""
    world, bounds = mission.world, mission.world.drift_bounds
    later = np.arange(len(bounds)) >= time

    def still(t: int) -> Kernel:
        return world.kernel(min(t, time))

    def blurred(t: int) -> Kernel:
        if t <= time:
            return world.kernel(t)
        general = world.kernel(t).general()
        share = general.probabilities.mean(axis=1, keepdims=True)
        return GeneralKernel(general.successors, np.repeat(share, general.actions, axis=1))

    for change, kernel, drift in (
        ("the world stands still afterwards", still, 0.0),
        ("another world follows", blurred, 0.37),
    ):
        stated = bounds if keep_bounds else np.where(later, drift, bounds)
        yield change, replace(mission, world=replace(world, kernel=kernel, stated_bounds=stated))


def _grids() -> list[Mission]:
    """Two small grids, one with a burst in the middle and one with a burst at the end."""
    missions = []
    for horizon, budget, burst in ((14, 3, (0.3, 0.6, 0.03)), (12, 5, (0.7, 1.0, 0.05))):
        slip = piecewise(horizon, slip=0.05, quiet=0.004, bursts=[burst])
        distance = np.add.outer(np.arange(4), np.arange(4))[::-1, ::-1].reshape(-1)
        world = World(
            horizon=horizon,
            kernel=lambda t, slip=slip: SlipKernel((4, 4), slip[t]),
            reward=constant(Reward(next_state=-distance / 6)),
        )
        missions.append(Mission(world, Robot(planning_horizon=4), Spending.exactly(budget)))
    return missions
