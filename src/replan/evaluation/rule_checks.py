"""A checker for anyone's rule: does it spend the budget, repeat itself, and know only what it declares?

The rule is run through missions; then every question is asked again in another order, from other states,
and in worlds that are the same up to that time and differ after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeGuard, cast

import numpy as np

from replan.errors import InputError
from replan.execute.mission import Mission
from replan.model.drift import piecewise
from replan.model.kernel import GeneralKernel, Kernel
from replan.model.reward import Reward
from replan.model.slip import SlipKernel
from replan.model.tvmdp import TVMDP, constant
from replan.schedule.budget import FIRST_UPDATE, next_update
from replan.schedule.rule import Context, Rule, draws, plans_ahead

LAW_TOLERANCE = 1e-9
MEMBERS = ("name", "knows", "uses_state", "paced", "decide")
KNOWLEDGE = ("nothing", "drift profile", "current kernel")

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

    @property
    def seen(self) -> dict[str, Any]:
        """What a context is made from, but for its time."""
        return {name: value for name, value in vars(self).items() if name != "time"}


def check_rule(rule: Rule | MakeRule, *missions: Mission, seed: int = 0, most: int = 20) -> list[RuleFinding]:
    """What is wrong with a rule, the first `most` findings; nothing found is an empty list.

    Give a function of the mission instead of a rule where the rule is made from one: it is then made anew in
    every changed world. A random rule is checked by its law and with a seed. Without missions two small grids
    are used.
    """
    found: list[RuleFinding] = []
    for mission in missions or _grids():
        try:
            found += _check(rule, mission, np.random.default_rng(seed), seed)
        except Exception as error:  # whatever a user's rule raises is a finding
            found.append(RuleFinding(f"raised {type(error).__name__}: {error}"))
    return list(dict.fromkeys(found))[:most]


def require_valid_rule(rule: Rule | MakeRule, *missions: Mission) -> None:
    """An `InputError` that names the first fault, if there is one."""
    if found := check_rule(rule, *missions, most=1):
        raise InputError(str(found[0]))


def _check(
    rule: Rule | MakeRule, mission: Mission, rng: np.random.Generator, seed: int
) -> Iterator[RuleFinding]:
    def bare(mission: Mission) -> Rule:
        return rule(mission) if _makes_rules(rule) else cast(Rule, rule)

    def seeded(mission: Mission) -> Rule:
        made = bare(mission)
        return made.with_seed(seed) if draws(made) else made

    if lacking := [name for name in MEMBERS if not hasattr(bare(mission), name)]:
        yield RuleFinding(f"is no rule: it lacks {', '.join(lacking)}")
        return
    if bare(mission).knows not in KNOWLEDGE:
        yield RuleFinding(f"declares knows = {bare(mission).knows!r}, not one of {', '.join(KNOWLEDGE)}")
        return
    questions = list(_run(seeded(mission), mission, rng))
    yield from _check_answers(seeded, mission, questions, rng)
    if draws(bare(mission)):
        updates = dict.fromkeys(replace(question, time=question.last_update) for question in questions)
        yield from _check_answers(bare, mission, list(updates), rng)


def _makes_rules(rule: Rule | MakeRule) -> TypeGuard[MakeRule]:
    return callable(rule) and not hasattr(rule, "decide")


def _check_answers(
    make: MakeRule, mission: Mission, questions: list[_Question], rng: np.random.Generator
) -> Iterator[RuleFinding]:
    """Each answer by itself, asked again, asked elsewhere, and asked where another future follows."""
    rule = make(mission)
    answers = {question: _answer(rule, mission, question) for question in questions}
    for question, answer in answers.items():
        yield from _check_form(answer, mission, question)
    for question in reversed(answers):
        if _answer(rule, mission, question) != answers[question]:
            yield RuleFinding("answers differently when it is asked again", question.time)
    if not rule.uses_state:
        for question in answers:
            elsewhere = replace(question, state=int(rng.integers(mission.world.states)))
            if _answer(rule, mission, elsewhere) != answers[question]:
                yield RuleFinding("depends on the state seen but declares uses_state = False", question.time)
    for question, answer in answers.items():
        for how, changed in _other_futures(mission, question.time, keep_bounds=rule.knows == "drift profile"):
            if _answer(make(changed), changed, question) != answer:
                yield RuleFinding(f"looks ahead: decides differently where {how}", question.time)
                break


def _run(rule: Rule, mission: Mission, rng: np.random.Generator) -> Iterator[_Question]:
    """Every question of one run, with a drawn state at every update."""
    earlier, time, left = 0, FIRST_UPDATE, mission.budget - 1
    while left > 0 and time < mission.horizon:
        at_update = _Question(time, time, left, int(rng.integers(mission.world.states)), earlier)
        if plans_ahead(rule) or draws(rule):
            yield at_update
        context_at = mission.context_at(rule, **at_update.seen)
        following, asked = next_update(rule, context_at, exact=mission.exact_budget)
        if not plans_ahead(rule):
            yield from (replace(at_update, time=t) for t, _ in asked)
        earlier, time, left = time, following, left - 1


def _answer(rule: Rule, mission: Mission, question: _Question) -> Any:
    """What the rule says: a time or a law at an update, a decision after it."""
    context = _context(rule, mission, question)
    if question.time > question.last_update:
        decision = rule.decide(context)
        return decision.update, decision.score, decision.threshold, dict(decision.terms)
    if plans_ahead(rule):
        return rule.next_update(context)
    assert draws(rule)
    return tuple(rule.next_update_law(context))


def _context(rule: Rule, mission: Mission, question: _Question) -> Context:
    return mission.context(rule, question.time, **question.seen)


def _check_form(answer: Any, mission: Mission, question: _Question) -> Iterator[RuleFinding]:
    """The wrapper that spends the budget needs a plain yes or no, or a whole time."""
    tau = question.last_update
    if question.time > tau:
        if not isinstance(answer[0], (bool, np.bool_)):
            yield RuleFinding(f"decides {answer[0]!r}, not True or False", question.time)
        if answer[1] is not None and np.isnan(answer[1]):
            yield RuleFinding("its score is not a number", question.time)
    elif isinstance(answer, tuple):
        yield from _check_law(np.array(answer), mission, question)
    elif not isinstance(answer, (int, np.integer)):
        yield RuleFinding(f"names the time {answer!r}, not a whole number", tau)
    elif not tau < answer <= mission.horizon:
        yield RuleFinding(f"names the time {answer}, not one of {tau + 1} to {mission.horizon}", tau)


def _check_law(law: np.ndarray, mission: Mission, question: _Question) -> Iterator[RuleFinding]:
    """A law cannot be clamped, so it must keep to the budget itself."""
    tau, latest = question.last_update, mission.horizon - question.budget_left
    if law.shape != (mission.horizon + 1,):
        yield RuleFinding(f"its law has the shape {law.shape}, not {(mission.horizon + 1,)}", tau)
    elif not ((law >= 0).all() and abs(law.sum() - 1) <= LAW_TOLERANCE):
        yield RuleFinding(f"its law is no distribution (sum {law.sum():.9g}, least {law.min():.3g})", tau)
    elif law[: tau + 1].any() or (mission.exact_budget and law[latest + 1 :].any()):
        yield RuleFinding(
            f"its law breaks the budget: the next update must lie in {tau + 1} to {latest}", tau
        )


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

    for how, kernel, drift in (
        ("the world stands still afterwards", still, 0.0),
        ("another world follows", blurred, 0.37),
    ):
        stated = bounds if keep_bounds else np.where(later, drift, bounds)
        yield how, replace(mission, world=replace(world, kernel=kernel, stated_bounds=stated))


def _grids() -> list[Mission]:
    """Two small grids, one with a burst in the middle and one with a burst at the end."""
    missions = []
    for horizon, budget, burst in ((14, 3, (0.3, 0.6, 0.03)), (12, 5, (0.7, 1.0, 0.05))):
        slip = piecewise(horizon, slip=0.05, quiet=0.004, bursts=[burst])
        distance = np.add.outer(np.arange(4), np.arange(4))[::-1, ::-1].reshape(-1)
        world = TVMDP(
            horizon=horizon,
            kernel=lambda t, slip=slip: SlipKernel((4, 4), slip[t]),
            reward=constant(Reward(next_state=-distance / 6)),
        )
        missions.append(Mission(world, budget, planning_horizon=4))
    return missions
